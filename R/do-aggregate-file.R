# Aggregates in files: values that follow from public facts and released values are recomputed.

#' @export
file_parts.dp_aggregate <- function(x) {
  c(list(
    n = x$nobs, method = x$method, names = names(x$estimate)
  ), x$plan[c("blocks", "lower", "upper", "fallback", "spread", "correct", "delta")], list(
    privacy = x$privacy, release = x$release, person = x$plan$person
  ))
}

#' @noRd
#' @exportS3Method
object_again.dp_aggregate <- function(parts) {
  privacy <- parts$privacy
  limits <- aggregate_limits(
    stats::setNames(parts$lower, parts$names), parts$upper, parts$fallback
  )
  budget <- budget_again(privacy, parts$delta)
  stopifnot(is.matrix(parts$release), nrow(parts$release) == length(parts$lower))
  facts <- aggregate_facts(
    as.integer(check_count(parts$n, 4)), parts$blocks, limits, check_choice(parts$method,
      names(mechanism_table$dp_aggregate)), check_flag(parts$spread), budget
  )
  facts$correct <- check_flag(parts$correct)
  facts["person"] <- list(read_person(parts$person))
  plan <- aggregate_plan(facts, budget)
  new_aggregate(parts$release, facts, plan, aggregate_promise(budget, plan, facts))
}
