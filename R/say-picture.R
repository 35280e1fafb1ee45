# Pictures: what all verbs that draw have in common.

#' Checks of a picture's arguments, and of the package that draws
#' @param purpose (`string`)\cr "to plot a fit."
#' @noRd
start_picture <- function(purpose, ...) {
  check_no_dots(...)
  rlang::check_installed("ggplot2", purpose)
}

#' The method of `plot()` that prints the picture of a method of `autoplot()`, and returns it
#' @param draw (`function`)\cr the method; its arguments are those of the result.
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
