# What a release promises.

#' Are the steps' costs Gaussian shifts? Version 0.1.0 counted in zCDP.
#' @noRd
in_shifts <- function(steps) is.numeric(steps$mu) && any(!is.na(steps$mu))

#' What a release promises, by which theorem, and whether the promise holds
#' @return A list: `holds` (flag), `theorem`, `reason` (strings), `exact` (flag: no floating-point
#'   noise). PUBLIC.
#' @noRd
guarantee <- function(public, plan) {
  if (!public$private) {
    return(list(
      holds = FALSE, theorem = "", reason = "epsilon = Inf: no noise was added", exact = TRUE
    ))
  }
  theorem <- switch(paste(public$method, public$calibration),
    "output tight" = "exact sensitivity of ridge weights (leave-one-out identity, proofs/ridge.md)",
    "output published" =
      "Rho, Cummings and Misra (2023), Theorem 3.1, whose noise is larger than needed",
    "objective tight" = paste(
      "objective perturbation over a bounded set, face by face (Kifer, Smith and Thakurta, 2012,",
      "repaired, proofs/objective.md)"
    ),
    "objective published" = "Rho, Cummings and Misra (2023), Theorem 3.4, whose proof fails",
    if (public$delta == 0) {
      "adaptive composition of pure differential privacy (Dwork and Roth, 2014; proofs/gram.md)"
    } else if (in_shifts(plan$steps)) {
      paste(
        "adaptive composition of Gaussian differential privacy (Dong, Roth and Su, 2022;",
        "proofs/gram.md)"
      )
    } else {
      # Version 0.1.0.
      paste(
        "adaptive composition of zero-concentrated differential privacy (Bun and Steinke, 2016;",
        "proofs/gram.md)"
      )
    }
  )
  if (!is.null(public$treated)) {
    theorem <- paste0(
      sub(")$", "", theorem), "), for donors and treated each (adaptive parallel composition, ",
      "proofs/treated.md)"
    )
  }
  if (!is.null(public$monitor)) {
    theorem <- sub("proofs/gram.md)", "proofs/gram.md, proofs/growing.md)", theorem, fixed = TRUE)
  }
  false <- public$method == "objective" && public$calibration == "published"
  seeded <- !identical(public$control$rng, "secure")
  list(
    holds = !false && !seeded, theorem = theorem,
    reason = if (false) {
      paste(
        "the published proof bounds the gradient on ||f||_1 <= 1, but the minimiser ranges over",
        "all of R^n, where one donor's influence is unbounded"
      )
    } else if (seeded) {
      "the noise came from R's generator and can be reproduced from its seed"
    } else {
      ""
    },
    exact = all(plan$steps$law %in% exact_laws)
  )
}

exact_laws <- c("discrete_gaussian", "discrete_laplace", "exponential")

#' Variance of one coordinate of a step's noise
#' @param dimension (`count`)\cr of what the noise is added to.
#' @noRd
noise_variance <- function(law, scale, dimension) {
  if (law == "gamma_norm") (dimension + 1) * scale^2 else scale^2
}

#' @noRd
lm_promise <- function(public) {
  seeded <- !identical(public$rng, "secure")
  list(
    holds = public$private && !seeded,
    theorem = if (!public$private) {
      ""
    } else if (public$delta == 0) {
      paste("adaptive composition of pure differential privacy (Dwork and Roth, 2014;",
        "proofs/regression.md)")
    } else {
      paste("adaptive composition of Gaussian differential privacy (Dong, Roth and Su, 2022;",
        "proofs/regression.md)")
    },
    reason = if (!public$private) {
      "epsilon = Inf: no noise was added"
    } else if (seeded) {
      "the noise came from R's generator and can be reproduced from its seed"
    } else {
      ""
    },
    exact = TRUE
  )
}
