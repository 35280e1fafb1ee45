# Can what a release says of a protected group be true?

#' What is wrong with the statistics of a treated group that was read, or `NULL`
#' @noRd
treated_problem <- function(release) {
  x <- release$statistics$treated
  m <- release$panel$treated
  if (is.null(x) && is.null(m)) {
    return(NULL)
  }
  is_array <- function(x, size) {
    is.numeric(x) && identical(dim(x), as.integer(size)) && all(is.finite(x))
  }
  is_amount <- function(x) is_number(x) && is.finite(x) && x > 0
  is_path <- function(x, size) is.numeric(x) && length(x) == size && all(is.finite(x))
  periods <- release$panel$T0 + NROW(release$panel$covariates) + release$panel$T1
  d <- length(x$mean)
  fits <- release$method == "gram" && is_number(m) && m >= 2 && m == round(m) &&
    is.list(x) && is.numeric(x$mean) && all(is.finite(x$mean)) &&
    d == release$statistics$pre + release$statistics$demean + release$panel$T1 &&
    is_array(x$loadings, c(periods, d)) && is_array(x$moves, c(periods, d + release$panel$T1)) &&
    is_path(x$path, periods) && is_path(x$lean, periods) &&
    is_number(x$second) && is.finite(x$second) && is_amount(x$mean_sd) &&
    is_amount(x$second_sd) && is_amount(x$own_variance) && length(x$rounds) == 2L &&
    is_path(x$control$mean, d) &&
    all(vapply(x$control[c("mean_sd", "clipped", "constant", "noise")], is_amount, NA)) &&
    all(vapply(x$rounds, function(round) {
      is.list(round) && length(round$origin) == d &&
        all(vapply(round[c("radius", "exponent", "clipped", "constant", "noise")], is_amount, NA))
    }, NA))
  if (!fits) "The treated group's statistics do not fit the sizes of the panel."
}
