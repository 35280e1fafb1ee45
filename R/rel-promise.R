# What a release promises, and whether the promise holds.

#' Is there noise, and from the operating system?
#' @param drawn (`list`)\cr `private`, `rng`.
#' @noRd
is_kept <- function(drawn) drawn$private && identical(drawn$rng, "secure")

#' Why a promise is not kept that rests on the noise alone; `""`: it is
#' @noRd
unkept_reason <- function(drawn) {
  if (!drawn$private) {
    "epsilon = Inf: no noise was added"
  } else if (typeof(drawn$rng) == "externalptr") {
    "the noise was recorded by an audit"
  } else if (!is_kept(drawn)) {
    "the noise came from R's generator and can be reproduced from its seed"
  } else {
    ""
  }
}

#' What a promise that is kept rests on, and nobody checks; one that is not kept rests on nothing
#' @param assumes (`string` or `NULL`).
#' @noRd
assumed <- function(drawn, assumes) {
  if (is_kept(drawn) && !is.null(assumes)) list(assumes = assumes)
}

exact_laws <- c("discrete_gaussian", "discrete_laplace", "exponential")

#' @param record (`list`)\cr of a method of dp_lm().
#' @noRd
lm_promise <- function(public, record) {
  list(
    holds = is_kept(public), theorem = if (public$private) record$theorem(public) else "",
    reason = unkept_reason(public), exact = !public$private || record$gives == "moments"
  )
}

assumed_words <- function(privacy) {
  if (!is.null(privacy$assumes)) paste0(" Assumed: ", privacy$assumes, ".")
}
