# The door of the package: every exported function's code runs behind one of these, which puts what
# the user called on our conditions. Below it nobody knows the user's call.

# How many charges were made in this session, whether or not a ledger took them.
charges <- new.env(parent = emptyenv())
charges$made <- 0

#' Note that noise is paid for: what fails from now on was not free
#' @noRd
note_charge <- function() {
  charges$made <- charges$made + 1
}

#' Run an exported function's code
#'
#' Of nested doors the outermost, which the user called, has the last word. The call is the
#' function's name alone: arguments may hold people.
#' @param verb (`string`)\cr the function that the user called.
#' @param code (`expression`)\cr evaluated where it was written, so that `missing()`, `substitute()`
#'   and `return()` work as without a door.
#' @return What `code` gives.
#' @noRd
door <- function(verb, code) {
  withCallingHandlers(code,
    dpsc_error = function(e) stop(as_called(e, verb)),
    dpsc_warning = function(w) {
      warning(as_called(w, verb))
      tryInvokeRestart("muffleWarning")
    }
  )
}

#' The same for a function that may charge: an error before the charge says that nothing was spent
#' @noRd
paying_door <- function(verb, code) {
  before <- charges$made
  withCallingHandlers(
    door(verb, code),
    dpsc_error = function(e) if (charges$made == before) stop(as_unspent(e))
  )
}

as_called <- function(condition, verb) {
  condition$call <- call(verb)
  # A verb of ours has a page of its own; a method of another's has that of its class.
  if (is.function(get0(verb, topenv(), inherits = FALSE))) {
    words <- sub("The help page", paste0("`?", verb, "`"), help_words, fixed = TRUE)
    condition$message <- sub(help_words, words, condition$message, fixed = TRUE)
  }
  condition
}

unspent <- "Nothing was released and nothing was spent."

#' @noRd
as_unspent <- function(condition) {
  if (!grepl(unspent, condition$message, fixed = TRUE)) {
    line <- rlang::format_error_bullets(c(i = unspent))
    condition$message <- paste0(condition$message, "\n", line)
  }
  condition
}

# What this process holds for a coordinator.
worker_state <- new.env(parent = emptyenv())

#' Refuse to draw noise in a process that holds rows for another
#' @section Errors: `dpsc_error_worker`.
#' @noRd
check_draws_here <- function() {
  if (isTRUE(worker_state$holds)) {
    abort(c(
      "This process is a worker: it sums rows for a coordinator and draws no noise.",
      i = "Make the release where {.fn dp_workers} was called."
    ), "worker")
  }
}
