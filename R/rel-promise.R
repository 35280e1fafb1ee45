# The promise of a release, and the check of its validity.

#' Is there noise, and does it come from the operating system's generator?
#' @param drawn (`list`)\cr `private`, `rng`.
#' @noRd
is_kept <- function(drawn) !nzchar(unkept_reason(drawn))

#' The reason why a guarantee that depends on the noise alone is not valid; `""` if it is valid
#' @noRd
unkept_reason <- function(drawn) {
  if (!drawn$private) {
    "epsilon = Inf: no noise was added"
  } else if (typeof(drawn$rng) == "externalptr") {
    "the noise was recorded by an audit"
  } else if (!identical(drawn$rng, "secure")) {
    "the noise came from R's generator and can be reproduced from its seed"
  } else {
    ""
  }
}

#' Unchecked assumptions of a valid guarantee; `NULL` for a guarantee that is not valid
#' @param assumes (`string` or `NULL`).
#' @noRd
assumed <- function(drawn, assumes) {
  if (!is.null(assumes) && is_kept(drawn)) list(assumes = assumes)
}

#' Words on the definition of neighbours
#' @param treated (`count` or `NULL`)\cr number of protected treated people.
#' @param named (`flag`)\cr whether the donors' identifiers were declared public and are released.
#' @noRd
neighbours_of <- function(treated, named = FALSE) {
  if (named) {
    return("replace one donor's row; identifiers are public")
  }
  if (is.null(treated)) "replace one donor's row" else "replace one person's row, donor or treated"
}

#' The guarantee of a release, its theorem, and whether it is valid
#' @return A list: `holds` (flag), `theorem`, `reason` (strings), `exact` (flag: no floating-point
#'   noise), and `assumes` (string) if it depends on an assumption. PUBLIC.
#' @noRd
guarantee <- function(public, plan, assumes = NULL) {
  if (!public$private) {
    return(list(holds = FALSE, theorem = "", reason = unkept_reason(public), exact = TRUE))
  }
  drawn <- list(private = TRUE, rng = public$control$rng)
  mechanism <- mechanism_table$dp_synth[[public$method]]
  reason <- if (public$calibration == "published") mechanism$published_fails
  reason <- reason %||% unkept_reason(drawn)
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
  c(list(
    holds = !nzchar(reason), theorem = theorem, reason = reason,
    exact = all(plan$steps$law %in% exact_laws)
  ), if (!is.null(assumes)) assumed(drawn, assumes))
}

#' Privacy record of a result, with budget, guarantee and origin of the noise
#' @param budget (`list`)\cr `private`, `epsilon`, `delta`, `rng`.
#' @param ... further fields (`neighbours`, `theorem`, `steps`), and exceptions.
#' @return A list. PUBLIC.
#' @noRd
privacy_facts <- function(budget, ...) {
  said <- list(...)
  facts <- list(
    private = budget$private, holds = is_kept(budget), reason = unkept_reason(budget),
    epsilon = budget$epsilon, delta = budget$delta, rho = NA_real_, rng = budget$rng,
    exact = TRUE, version = own_version()
  )
  facts[names(said)] <- said
  facts
}

exact_laws <- c("discrete_gaussian", "discrete_laplace", "exponential")

#' @param record (`list`)\cr the record of a method of dp_lm().
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
