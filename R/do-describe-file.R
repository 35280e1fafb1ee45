# Descriptions in files: what follows from public facts is computed again.

#' @export
file_parts.dp_description <- function(x) {
  list(
    n = x$nobs, formula = x$columns$text, by = x$columns$by,
    bounds = lapply(x$columns$given, plain_bound), whole = x$columns$whole,
    thousandths = x$facts$quantiles, delta = x$facts$delta, privacy = x$privacy,
    statistics = x$release, person = x$columns$person
  )
}

#' @export
file_object.dp_description <- function(parts, fail) {
  tryCatch(description_of(unclass(parts)), error = function(e) {
    fail("Its parts do not fit together.")
  })
}

#' @noRd
description_of <- function(parts) {
  privacy <- parts$privacy
  read <- function(text) if (!is.null(text)) stats::as.formula(str2lang(text), env = baseenv())
  for (name in parts$whole) parts$bounds[[name]] <- as.integer(parts$bounds[[name]])
  columns <- describe_columns(read(parts$formula), read(parts$by), parts$bounds)
  columns["person"] <- list(read_person(parts$person))
  budget <- checked_budget(privacy$epsilon, parts$delta, NULL, dp_control(rng = privacy$rng))
  n <- check_count(parts$n, 1)
  thousandths <- as.integer(parts$thousandths)
  stopifnot(identical(thousandths, check_quantiles(thousandths / 1000)))
  public <- suppressWarnings(describe_public(budget, columns, n, thousandths))
  public$assumes <- privacy$assumes
  plan <- describe_plan(public)
  promise <- describe_promise(public, plan)
  out <- new_description(columns, public, list(drawn = parts$statistics, plan = plan,
    promise = promise))
  out$privacy["version"] <- list(privacy$version)
  # Numbers that do not fit the columns stop here.
  description_table(out, 0.95)
  out
}
