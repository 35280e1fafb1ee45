# Progress while people's rows are read: a cli bar, shown after two seconds in interactive sessions.
# The bar counts blocks and statements, whose number follows from public facts.

waiting <- new.env(parent = emptyenv())

#' Start a wait; if waits are nested, only the outermost has a progress bar
#' @return `TRUE` for the outermost wait.
#' @noRd
start_waiting <- function() {
  first <- is.null(waiting$since)
  if (first) waiting$since <- proc.time()[["elapsed"]]
  first
}

#' @param first (`flag`)\cr from [start_waiting()].
#' @noRd
stop_waiting <- function(first) {
  if (!first) {
    return(invisible())
  }
  if (!is.null(waiting$bar)) cli::cli_progress_done(id = waiting$bar)
  rm(list = ls(waiting), envir = waiting)
}

#' Count a further block or statement; the bar appears after its delay
#' @noRd
tick_waiting <- function(after = 2) {
  if (is.null(waiting$since) || proc.time()[["elapsed"]] - waiting$since < after) {
    return(invisible())
  }
  if (is.null(waiting$bar)) {
    waiting$bar <- cli::cli_progress_bar("Reading people's rows", total = NA, .envir = waiting,
      .auto_close = FALSE, clear = TRUE
    )
  }
  cli::cli_progress_update(id = waiting$bar)
}
