# Code for figures that all drawing verbs share.

#' Checks of a figure's arguments, and of the package that draws it
#' @param purpose (`string`)\cr "to plot a fit."
#' @noRd
start_picture <- function(purpose, ...) {
  check_no_dots(...)
  rlang::check_installed("ggplot2", purpose, call = rlang::caller_env())
}

#' A method of `plot()` that prints the figure of a method of `autoplot()`, and returns it
#' @param draw (`function`)\cr the method of `autoplot()`; the result has the same arguments.
#' @noRd
plot_by <- function(draw) {
  arguments <- formals(draw)
  names(arguments)[[1L]] <- "x"
  given <- lapply(names(arguments), as.name)
  names(given) <- ifelse(names(arguments) == "...", "", names(formals(draw)))
  drawn <- as.call(c(quote(draw), given))
  rlang::new_function(arguments, bquote(door("plot", print_picture(.(drawn)))))
}

print_picture <- function(picture) {
  print(picture)
  invisible(picture)
}
