# Selections in files: values that follow from public facts and released values are recomputed.

selection_released <- c(
  "abstained", "location", "moments", "doubts", "hurdle", "selected", "coefficients", "covariance",
  "scaled"
)

#' @export
file_parts.dp_selection <- function(x) {
  x <- unclass(x)
  list(
    formula = x$columns$text, bounds = x$columns$given, method = x$method, facts = x$facts,
    privacy = x$privacy, release = x[names(x) %in% selection_released]
  )
}

#' @noRd
#' @exportS3Method
object_again.dp_selection <- function(parts) {
  privacy <- parts$privacy
  formula <- formula_of(parts$formula)
  columns <- new_columns(formula, parts$bounds, "gaussian")
  facts <- parts$facts
  p <- length(columns$names) - columns$intercept
  facts[c("p", "intercept")] <- list(p, columns$intercept)
  if (!is.null(parts$release$location)) {
    stopifnot(all(lengths(parts$release$location[c("median", "scale")]) == facts$p + 1L))
    facts$numbers <- sum(number_places(columns))
    if (!is.null(facts$indicators)) facts$indicators <- count_indicators(columns)
  }
  facts$person <- read_person(facts$person)
  facts$size <- check_count(facts$size, 1, facts$p)
  budget <- stream_budget(
    privacy$epsilon, privacy$delta, NULL, dp_control(rng = privacy$rng)
  )
  method <- check_choice(parts$method, names(mechanism_table$dp_select))
  shares <- selection_shares(method, facts, budget)
  out <- structure(c(list(
    method = method, facts = facts,
    columns = fitted_columns(columns, parts$release$location, method),
    abstained = parts$release$abstained,
    privacy = selection_privacy(budget, method, shares, facts$person),
    rng = budget$rng, steps = selection_steps(method, facts, budget, shares)
  ), parts$release[names(parts$release) != "abstained"]), class = "dp_selection")
  selection_again(out)
}

#' Recompute values from released moments, or from slopes in units of the columns
#' @noRd
selection_again <- function(x) {
  if (!is.null(x$moments)) {
    return(select_from_moments(x))
  }
  at <- x$scaled$places
  names <- x$columns$names
  stopifnot(all(x$selected %in% names), all(at %in% seq_along(names)))
  if (!is.null(at)) {
    units <- unscaling(x$columns)
    map <- units$map[at, at, drop = FALSE]
    x$coefficients <- stats::setNames(drop(map %*% x$scaled$theta) + units$shift[at], names[at])
  }
  x
}
