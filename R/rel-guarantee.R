# What a release promises.

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

#' What a release promises, by which theorem, and whether the promise holds
#' @return A list: `holds` (flag), `theorem`, `reason` (strings), `exact` (flag: no floating-point
#'   noise), and `assumes` (string) where it rests on something. PUBLIC.
#' @noRd
guarantee <- function(public, plan, assumes = NULL) {
  if (!public$private) {
    return(list(holds = FALSE, theorem = "", reason = unkept_reason(public), exact = TRUE))
  }
  mechanism <- mechanisms()[[public$method]]
  theorem <- mechanism$theorem(public, plan$steps)
  if (!is.null(public$treated)) {
    theorem <- paste0(
      sub(")$", "", theorem), "), for donors and treated each (adaptive parallel composition, ",
      "proofs/treated.md)"
    )
  }
  if (!is.null(public$monitor)) {
    theorem <- sub("proofs/gram.md)", "proofs/gram.md, proofs/growing.md)", theorem, fixed = TRUE)
  }
  fails <- if (public$calibration == "published") mechanism$published_fails
  drawn <- list(private = TRUE, rng = public$control$rng)
  c(list(
    holds = is.null(fails) && is_kept(drawn), theorem = theorem,
    reason = fails %||% unkept_reason(drawn),
    exact = all(plan$steps$law %in% exact_laws)
  ), assumed(drawn, assumes))
}

#' What a promise that is kept rests on, and nobody checks; one that is not kept rests on nothing
#' @param assumes (`string` or `NULL`).
#' @noRd
assumed <- function(drawn, assumes) {
  if (is_kept(drawn) && !is.null(assumes)) list(assumes = assumes)
}

exact_laws <- c("discrete_gaussian", "discrete_laplace", "exponential")

#' @noRd
lm_promise <- function(public) {
  list(
    holds = is_kept(public),
    theorem = if (!public$private) {
      ""
    } else if (public$delta == 0) {
      paste("adaptive composition of pure differential privacy (Dwork and Roth, 2014;",
        "proofs/regression.md)")
    } else {
      paste("adaptive composition of Gaussian differential privacy (Dong, Roth and Su, 2022;",
        "proofs/regression.md)")
    },
    reason = unkept_reason(public), exact = TRUE
  )
}

assumed_words <- function(privacy) {
  if (!is.null(privacy$assumes)) paste0(" Assumed: ", privacy$assumes, ".")
}
