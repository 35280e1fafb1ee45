# The online algorithms of Thakurta (2013), chapter 5, for reproduction.

#' Does a method of streams have separate noise for each iterate?
#' @noRd
has_own_noise <- function(method) !is.null(mechanism_table$dp_online[[method]]$printed)

chapter_five <- function() Filter(has_own_noise, names(mechanism_table$dp_online))

#' A stream of iterates with separate noise
#' @param request (`list`)\cr the checked request of the user; `psi` may be `NULL`.
#' @noRd
open_iterates <- function(columns, learner, budget, request) {
  method <- request$method
  horizon <- request$horizon
  most <- mechanism_table$dp_online[[method]]$most(learner$family)
  if (!is.finite(horizon) || horizon < 2 || horizon > most) {
    longest <- format(most, big.mark = ",", scientific = FALSE)
    abort("{.val {method}} needs a finite {.arg horizon}, from 2 to {longest}.", "argument")
  }
  if (request$batch || request$participation[["times"]] > 1) {
    abort("{.val {method}} accepts only one row per step, and each person once.", "argument")
  }
  chosen <- mechanism_table$dp_online[[method]]
  facts <- list(
    method = chosen$core, family = learner$family, published = request$calibration == "published",
    columns = learner$columns, horizon = as.double(horizon), radius = learner$radius,
    clip = learner$clip, ball = learner$ball, psi = learner$psi, rho = budget$rho,
    epsilon = if (budget$private) budget$epsilon else 0, delta = budget$delta
  )
  if (facts$published && budget$private && !chosen$once &&
      facts$epsilon / 3 >= log(4 / facts$delta) / 2) {
    limit <- format(signif(1.5 * log(4 / facts$delta), 3))
    abort("With the published constants {.arg epsilon} must be below about {limit}.", "argument")
  }
  if (is.null(request$psi)) facts$psi <- learner$psi <- iterates_psi(facts, budget$private)
  sizes <- iterates_plan_cpp(facts)
  what <- paste0("stream by method \"", method, "\"")
  learner$method <- method
  plan <- list(
    facts = list(noise = "by iterate", horizon = facts$horizon), calibration = request$calibration,
    iterates = facts
  )
  shown <- list(what = what, columns = columns, learner = learner, plan = plan, batch = FALSE)
  start_stream(
    "dp_online", shown, budget, request$ledger, iterates_privacy(budget, facts, sizes, chosen),
    function() iterates_open_cpp(facts)
  )
}

#' The ridge with the smallest error; the error is the shrinkage of coefficients plus noise that
#' decreases with the ridge
#'
#' The assumed norm of the coefficients is half the ball's radius, and the assumed curvature of the
#' losses is the public guess `facts$psi`.
#' @return A number. PUBLIC.
#' @noRd
iterates_psi <- function(facts, private) {
  curvature <- facts$psi
  if (!private) {
    return(curvature / 20)
  }
  noise <- sqrt(facts$columns * mean(iterates_plan_cpp(facts)$sd^2)) * curvature
  psi <- curvature * 2^(-12:12)
  bias <- psi / (psi + curvature)
  psi[[which.min(bias^2 + pmin(2, 2 * noise / psi / facts$ball)^2)]]
}

iterates_privacy <- function(budget, facts, sizes, record) {
  privacy_facts(budget,
    holds = is_kept(budget) && !facts$published,
    reason = if (budget$private && facts$published) {
      paste("the constants are as published by Thakurta (2013), and", record$printed)
    } else {
      unkept_reason(budget)
    },
    rho = if (budget$private && !facts$published) budget$rho else NA_real_,
    neighbours = "replace one entry of the stream, which may not react to released values",
    theorem = if (facts$published) {
      "Thakurta (2013), chapter 5, as printed"
    } else {
      "noiseless iterates as one Gaussian mechanism (proofs/streams.md, Theorem 5)"
    },
    steps = data.frame(
      step = if (record$once) "average" else "iterates", law = "discrete_gaussian",
      sensitivity = max(sizes$sensitivity), scale = max(sizes$sd), epsilon = NA_real_,
      rho = if (facts$published || !budget$private) NA_real_ else budget$rho
    ),
    exact = FALSE, integers = TRUE, assumes = paste(
      "the error of each step's minimiser is within the allowance for it in the sensitivity, which",
      "is asserted and not certified"
    )
  )
}
