# Protection of the donors only, or of everyone in the panel.

# The estimators of `dp_synth()` that need raw donors ("ridge" and "did" use a release).
raw_estimators <- c(
  "simplex", "demeaned", "hsvt", "penalised", "predictors", "augmented", "sdid", "factor", "mcnnm",
  "elastic"
)

is_classical <- function(method) method %in% raw_estimators

#' Request for a panel that is read again; `protect` was checked before the release
#' @param hide (`flag`)\cr whether the treated units are protected.
#' @noRd
plain_request <- function(hide = FALSE) {
  list(private = TRUE, hide = hide, quiet = hide, keep_names = FALSE)
}

#' Check `protect`
#' @param request (`list`)\cr from [panel_request()].
#' @param k (`count`)\cr number of treated units.
#' @param people (`flag`)\cr whether `protect` is also required for one treated unit.
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
          "{.code protect = \"donors\"} protects only the donors. The treated units' data count as",
          "public, and their mean is published without noise."
        ),
        i = if (k > 1L) {
          paste(
            "{.code protect = \"everyone\"} protects the donors and the treated units, if each",
            "treated unit is one person. Noise is added to the mean of the treated people."
          )
        } else {
          paste(
            "A single treated person cannot be protected: noise that protects one person hides",
            "that person's outcome. If the target is the mean of a group, give its {.arg size}."
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
    "Only {.code method = {.val {request$guarding}}} can protect treated people."
  } else if (!is.null(request$size) && any(request$size != 1)) {
    "Each treated unit must be one person, so {.arg size} must be 1."
  }
  if (!is.null(problem)) {
    abort(c(
      "{.code protect = \"everyone\"} cannot be used here.",
      x = problem,
      i = "{.code protect = \"donors\"} protects the donors; the treated units' data are public."
    ), "protect")
  }
  protect
}

#' Require `protect` now and, for a single treated unit, before any error about the unit's rows
#' @param ask (`function` or `NULL`)\cr a function from [ask_protect()].
#' @param treated (`vector`)\cr units of the treated rows.
#' @return A function without arguments.
#' @noRd
ask_of_units <- function(ask, treated) {
  k <- length(unique(treated))
  if (is.null(ask) || k == 0L) {
    return(function() NULL)
  }
  ask(k)
  function() ask(k, failing = TRUE)
}

#' Check `protect`, and remove protected people from the target
#'
#' In the public `target` the middle of the bounds replaces protected people's values, so that code
#' for targets cannot use these values.
#' @param panel (`dpsc_panel`).
#' @return `panel` with `size`; if everyone is protected, with `treated` (m x T matrix, PRIVATE).
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
  # With several dates each person belongs to one date.
  panel$size <- if (is.null(panel$adopted)) nrow(panel$treated) else rep(1, nrow(panel$treated))
  panel
}

#' Is the fit for the group that its release protects, and not for a public target?
#' @noRd
is_released_group <- function(fit) isTRUE(fit$protected)

#' Refuse functions that are unavailable for a protected group
#' @noRd
check_not_protected <- function(fit, what) {
  if (is_released_group(fit)) {
    abort(c(
      "{what} needs the treated unit's own data, and here treated people are protected.",
      i = "Only the released path of these people, with noise, is available."
    ), "argument")
  }
}
