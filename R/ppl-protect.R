# Who is protected: the donors, or everyone in the panel.

#' Check `protect`
#' @param k (`count`)\cr treated units.
#' @param size (`numeric` or `NULL`)\cr as the user gave it.
#' @param people (`flag`)\cr is one treated unit asked about as well?
#' @return `"donors"` or `"everyone"`.
#' @section Errors: `dpsc_error_protect`.
#' @noRd
check_protect <- function(protect, k, private, method, size, people = FALSE) {
  if (is.null(protect)) {
    if (private && (k > 1L || people)) {
      abort(c(
        "{.arg protect} is required: it must be said who is protected.",
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
            "If it is a person who is to be protected, too, this cannot be done: whatever protects",
            "one person tells nothing about that person. Of a group give its {.arg size}."
          )
        }
      ), "protect")
    }
    return("donors")
  }
  protect <- check_choice(protect, c("donors", "everyone"))
  if (protect == "donors" || !private) {
    return("donors")
  }
  problem <- if (k == 1L) {
    "Only one unit is treated: whatever protects one person tells nothing about that person."
  } else if (!identical(method[[1L]], "gram")) {
    "Only {.code method = \"gram\"} can protect the treated."
  } else if (!is.null(size) && any(size != 1)) {
    "Each treated unit must be one person: {.arg size} counts them."
  }
  if (!is.null(problem)) {
    abort(c(
      "{.code protect = \"everyone\"} needs a group of treated people.",
      x = problem,
      i = "{.code protect = \"donors\"} protects the donors and takes the treated for public."
    ), "protect")
  }
  protect
}

#' Is each treated unit one person, as far as `size` says?
#' @noRd
is_single_person <- function(size) is.null(size) || !is.numeric(size) || !all(size > 1)

#' What asks who is protected as soon as it is known how many are treated
#'
#' One treated unit of no `size` may be a person or a clinic: it is asked about only where something
#' is wrong with its rows, before that is said.
#' @return A function of the number of treated units, and whether their rows fail a check.
#' @noRd
ask_protect <- function(protect, private, method, size) {
  function(k, failing = FALSE) {
    people <- is_single_person(size) && (failing || !is.null(size))
    check_protect(protect, k, private, method, size, people)
  }
}

#' Ask at once where targets are given as rows of a matrix
#' @noRd
ask_of_target <- function(target, protect, private, method, size) {
  k <- if (is.matrix(target)) nrow(target) else 1L
  if (k > 0L) check_protect(protect, k, private, method, size)
}

#' A panel whose treated units are people to protect
#'
#' They leave `target`, which is public; the middle of the bounds stands there, so that nothing that
#' looks at a target sees them.
#' @param panel (`dpsc_panel`).
#' @return `panel` with `treated` (m x T matrix, PRIVATE).
#' @noRd
protected_panel <- function(panel, bounds) {
  panel$treated <- unname(panel$target)
  periods <- panel$T0 + panel$T1
  middle <- if (is.null(bounds)) numeric(periods) else new_bounds(bounds, periods)$centre
  panel$target <- matrix(middle, 1L, dimnames = list(NULL, NULL))
  # Of several dates each person is of one.
  panel$size <- if (is.null(panel$adopted)) nrow(panel$treated) else rep(1, nrow(panel$treated))
  panel
}

#' Check `protect`, and put protected people out of the target's place
#' @return The panel: with `treated` and `size` where everyone is protected.
#' @noRd
guard_panel <- function(panel, protect, private, method, size, bounds) {
  protect <- check_protect(protect, nrow(panel$target), private, method, size)
  if (protect == "donors") {
    return(panel)
  }
  protected_panel(panel, bounds)
}

#' Are the treated people to protect?
#' @noRd
hides_treated <- function(protect, private) private && identical(protect, "everyone")

#' Are treated units to stay unnamed in messages, as people are?
#' @noRd
hides_names <- function(protect, private, size) {
  hides_treated(protect, private) || (private && is_single_person(size))
}

count_words <- function(n) formatC(n, format = "d", big.mark = ",")

#' Is the fit that of the group which its release protects? It may be of a public target, too.
#' @noRd
is_released_group <- function(fit) isTRUE(fit$protected)

#' Refuse what a fit of a protected group cannot do
#' @noRd
check_not_protected <- function(fit, what) {
  if (is_released_group(fit)) {
    abort(c(
      "{what} needs the treated unit's own data, and here the treated are protected.",
      i = "What is known of them is the released path, which carries noise."
    ), "argument")
  }
}
