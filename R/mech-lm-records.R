# The records of the methods of dp_lm() for the table of methods.

#' @noRd
moments_mechanism <- function() {
  new_mechanism("dp_lm", title = "moments of people's rows", needs = "sums", gives = "moments",
    theorem = moments_theorem, person = "sums"
  )
}

moments_theorem <- function(public) {
  composition_theorem(if (public$delta == 0) "pure" else "Gaussian", "regression")
}

#' Records of methods that release one draw from a posterior distribution
#' @noRd
posterior_mechanisms <- function() {
  list(
    ops = new_mechanism("dp_lm",
      title = "one posterior sample", needs = "rows", options = "ridge", gives = "draw",
      core = "ops", adaptive = FALSE,
      source = "Wang, Fienberg and Smola (2015); Wang (2019)",
      theorem = function(public) {
        "one Gaussian posterior draw, repaired (proofs/papers.md, Theorem 2)"
      }
    ),
    adaops = new_mechanism("dp_lm",
      title = "one posterior sample, with a ridge from a noisy eigenvalue", needs = "rows",
      options = "condition", gives = "draw", core = "adaops", adaptive = TRUE,
      source = "Wang (2019), Algorithm 1, repaired",
      theorem = function(public) {
        "noisy smallest eigenvalue, then one posterior draw (proofs/papers.md, Theorem 3)"
      }
    )
  )
}
