# The request for a panel, and who is protected: the donors, or everyone in it.

#' Request for a panel, before its people are read
#'
#' @param ... the user's arguments, by name: `epsilon` (`NULL`: missing), `delta`, `bounds`,
#'   `method`, `calibration`, `estimator`, `size`, `ledger`, `control`, `protect`, `monitor`.
#' @return A list: these; `private`; `guarding`, methods that can protect the treated, where that is
#'   asked for; `classical`, is the estimator one on raw donors? Also rules for messages about the
#'   treated and donors: `hide` (they are protected: no message), `quiet` (no name; is each treated
#'   unit one person, judged by `size`?), `ask` (a function that asks who is protected, of the
#'   number of treated units and whether their rows fail a check; may be `NULL`), `keep_names` (the
#'   donors' names are public).
#' @noRd
panel_request <- function(..., control) {
  check_control(control)
  request <- list(..., control = control)
  size <- request$size
  single <- is.null(size) || !is.numeric(size) || !all(size > 1)
  # An epsilon that is missing or wrong counts as finite: its own check comes later.
  request$private <- !(is_number(request$epsilon) && request$epsilon == Inf)
  request$classical <- isTRUE(request$estimator %in% raw_estimators)
  request$hide <- request$private && identical(request$protect, "everyone")
  if (request$hide) request$guarding <- methods_with("everyone")
  request$quiet <- request$hide || (request$private && single)
  request$keep_names <- request$control$donor_names || request$classical
  # One treated unit of no `size` may be a person or a clinic: `protect` is required only if its
  # rows have a fault, before any message about them.
  request$ask <- function(k, failing = FALSE) {
    check_protect(request, k, people = single && (failing || !is.null(size)))
  }
  request
}

#' The panel of donors by themselves, a matrix, chunks or a source, and of targets
#' @param request (`list`)\cr from [panel_request()].
#' @noRd
donors_panel <- function(x, target, T0, times, request) {
  # `protect` is required before any error about a target.
  if (!missing(target)) check_protect(request, if (is.matrix(target)) nrow(target) else 1L)
  panel <- panel_from_donors(x, target, T0, times, hide = request$quiet)
  if (request$keep_names) panel$donor_names <- rownames(x)
  panel$bounds <- request$bounds
  panel
}

#' The request of a panel that is read again: who is protected was asked when it was released
#' @param hide (`flag`)\cr are the treated protected?
#' @noRd
plain_request <- function(hide = FALSE) {
  list(private = TRUE, hide = hide, quiet = hide, keep_names = FALSE)
}

#' Check `protect`
#' @param request (`list`)\cr from [panel_request()].
#' @param k (`count`)\cr treated units.
#' @param people (`flag`)\cr is one treated unit asked about as well?
#' @return `"donors"` or `"everyone"`.
#' @section Errors: `dpsc_error_protect`.
#' @noRd
check_protect <- function(request, k, people = FALSE) {
  protect <- request$protect
  if (is.null(protect)) {
    if (request$private && (k > 1L || people)) {
      abort(c(
        "{.arg protect} is required: state who is protected.",
        x = if (k == 1L) "One unit is treated." else "{k} units are treated.",
        i = paste(
          "{.code protect = \"donors\"}: the donors. The treated units' data count as public:",
          "their mean is published without noise."
        ),
        i = if (k > 1L) {
          paste(
            "{.code protect = \"everyone\"}: the donors and each of the treated units, where these",
            "are people, too. Their mean gets noise."
          )
        } else {
          paste(
            "A single treated person cannot be protected as well: noise that protects one person",
            "hides that person's outcome. For a group give its {.arg size}."
          )
        }
      ), "protect")
    }
    return("donors")
  }
  protect <- check_choice(protect, c("donors", "everyone"))
  if (protect == "donors" || !request$private) {
    return("donors")
  }
  problem <- if (k == 1L) {
    "Only one unit is treated, and noise that protects one person hides that person's outcome."
  } else if (!isTRUE(request$method %in% request$guarding)) {
    "Only {.code method = {.val {request$guarding}}} can protect the treated."
  } else if (!is.null(request$size) && any(request$size != 1)) {
    "Each treated unit must be one person: {.arg size} counts them."
  }
  if (!is.null(problem)) {
    abort(c(
      "{.code protect = \"everyone\"} needs a group of treated people.",
      x = problem,
      i = "{.code protect = \"donors\"} protects the donors; the treated units' data are public."
    ), "protect")
  }
  protect
}

#' Check `protect`, and put protected people out of the target's place
#'
#' They leave `target`, which is public; the middle of the bounds stands there, so that nothing that
#' looks at a target sees them.
#' @param panel (`dpsc_panel`).
#' @return `panel` with `size`; where everyone is protected, with `treated` (m x T matrix, PRIVATE).
#' @noRd
guard_panel <- function(panel, request) {
  k <- nrow(panel$target)
  if (check_protect(request, k) == "donors") {
    size <- request$size
    panel$size <- if (is.null(size)) rep(1, k) else check_size(size, k)
    return(panel)
  }
  panel$treated <- unname(panel$target)
  bounds <- panel$bounds
  periods <- panel$T0 + panel$T1
  middle <- if (is.null(bounds)) numeric(periods) else new_bounds(bounds, periods)$centre
  panel$target <- matrix(middle, 1L, dimnames = list(NULL, NULL))
  # Of several dates each person is of one.
  panel$size <- if (is.null(panel$adopted)) nrow(panel$treated) else rep(1, nrow(panel$treated))
  panel
}
