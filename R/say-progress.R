# Progress while people's rows are read: a cli bar, shown after two seconds in interactive sessions.
# It counts blocks and statements, whose number follows from public facts.

waiting <- new.env(parent = emptyenv())

#' Begin to wait; of nested waits the outermost has the bar
#' @return Is this the outermost?
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

#' One block or statement more; the bar is made when there was time enough to want one
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
