# Descriptions in files: values that follow from public facts are recomputed.

#' @export
file_parts.dp_description <- function(x) {
  list(
    n = x$nobs, formula = x$columns$text, by = x$columns$by,
    bounds = lapply(x$columns$given, plain_bound), whole = x$columns$whole,
    thousandths = x$facts$quantiles, delta = x$facts$delta, privacy = x$privacy,
    statistics = x$release, person = x$columns$person
  )
}

#' @noRd
#' @exportS3Method
object_again.dp_description <- function(parts) {
  privacy <- parts$privacy
  for (name in parts$whole) parts$bounds[[name]] <- as.integer(parts$bounds[[name]])
  columns <- describe_columns(
    formula_of(parts$formula), if (!is.null(parts$by)) formula_of(parts$by), parts$bounds
  )
  columns["person"] <- list(read_person(parts$person))
  budget <- budget_again(privacy, parts$delta)
  n <- check_count(parts$n, 1)
  thousandths <- as.integer(parts$thousandths)
  stopifnot(identical(thousandths, check_quantiles(thousandths / 1000)))
  public <- describe_public(budget, columns, n, thousandths)
  public$assumes <- privacy$assumes
  plan <- describe_plan(public)
  promise <- describe_promise(public, plan)
  out <- new_description(columns, public, list(drawn = parts$statistics, plan = plan,
    promise = promise))
  # Numbers that do not match the columns are an error.
  description_table(out, 0.95)
  out
}
