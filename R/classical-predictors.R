# Predictors of the classical estimators: one row a donor, matched by name.

#' Check predictors, and bring them into the order of the donors
#' @param given (`list`)\cr `donors`, a matrix with one row a donor, and `target`, one value a
#'   predictor.
#' @return The same, as doubles. NOT PRIVATE.
#' @noRd
check_predictors <- function(given, donors, call) {
  ok <- is.list(given) && is.matrix(given$donors) && is.numeric(given$donors) &&
    ncol(given$donors) >= 1L && is.numeric(given$target) &&
    length(given$target) == ncol(given$donors)
  if (!ok) {
    abort(c(
      "The setting {.arg predictors} has not the right form.",
      i = "A list of {.code donors}, one row a donor, and {.code target}, one value a predictor."
    ), "argument", call)
  }
  given <- match_predictors(given, donors, call)
  if (!all(is.finite(given$donors)) || !all(is.finite(given$target))) {
    abort("The predictors must be finite.", "argument", call)
  }
  storage.mode(given$donors) <- "double"
  list(donors = given$donors, target = as.double(given$target))
}

#' Predictors in the order of the donors, and the target's in the order of the columns
#'
#' By name, never by position where there are names: a shuffled matrix would give a wrong fit
#' without a sign. Rows of other units are left out.
#' @noRd
match_predictors <- function(given, donors, call) {
  donor_names <- rownames(donors)
  # Donors that came without names are numbered.
  if (identical(donor_names, as.character(seq_len(nrow(donors))))) {
    donor_names <- NULL
  }
  own <- rownames(given$donors)
  if (!is.null(own)) {
    at <- match(donor_names %||% seq_len(nrow(donors)), own)
    lacking <- sum(is.na(at))
    if (lacking > 0L || anyDuplicated(own)) {
      abort(c(
        "The rows of the predictors do not match the donors by name.",
        x = if (lacking > 0L) "Without a row of their name: {lacking} of {nrow(donors)} donors.",
        x = if (anyDuplicated(own)) "Some row names are there more than once.",
        i = "Name the rows of {.code predictors$donors} exactly as the units are named."
      ), "argument", call)
    }
    given$donors <- given$donors[at, , drop = FALSE]
  } else if (!is.null(donor_names) || nrow(given$donors) != nrow(donors)) {
    abort(c(
      "The predictors cannot be matched with the donors.",
      x = if (!is.null(donor_names)) "The donors have names, the rows of the predictors have none.",
      x = if (is.null(donor_names)) {
        "There are {nrow(donors)} donors and {nrow(given$donors)} rows."
      },
      i = "Give {.code predictors$donors} one row a donor, with the donors' names as row names."
    ), "argument", call)
  }
  columns <- colnames(given$donors)
  named <- names(given$target)
  if (!is.null(columns) && !is.null(named)) {
    if (anyDuplicated(columns) || !setequal(columns, named)) {
      abort(c(
        "The predictors of the target are not those of the donors.",
        i = "{.code names(predictors$target)} must be {.code colnames(predictors$donors)}."
      ), "argument", call)
    }
    given$target <- given$target[columns]
  }
  given
}
