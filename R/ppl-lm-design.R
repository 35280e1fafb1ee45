# A regression's columns in the core's form.

#' The columns in the core's form
#' @noRd
lm_design <- function(columns) {
  lower <- vapply(columns$variables, `[[`, 0, "lower")
  upper <- vapply(columns$variables, `[[`, 0, "upper")
  list(
    names = vapply(columns$variables, `[[`, "", "name"), centre = (lower + upper) / 2,
    half = (upper - lower) / 2,
    indicator = vapply(columns$variables, function(x) x$kind == "level", NA),
    columns = lapply(columns$columns, `[`, c("variables", "powers")),
    weighted = isTRUE(columns$weighted), person = !is.null(columns$person$column)
  )
}
