# Audits of any verb. The audit supplies the noise and computes the cost of each call from the noise
# used.

#' A call of a verb whose noise is recorded
#' @return As [as_hooked()]; `run` returns `privacy` and the released `numbers`.
#' @noRd
hooked_verb <- function(mechanism, recorder) {
  list(recorder = recorder, verb = TRUE, run = function(people) {
    fit <- run_verb(mechanism, people, recorder$noise)
    privacy <- fit$privacy %||% fit$release$privacy %||% fit$state$privacy
    list(privacy = privacy, numbers = released_numbers(fit))
  })
}

#' @param noise (external pointer or `NULL`)\cr the audit's noise.
#' @noRd
run_verb <- function(mechanism, people, noise = NULL) {
  control <- mechanism$control
  if (!is.null(noise)) control$rng <- noise
  # Messages about numbers of people and delta do not concern the audit.
  suppressWarnings(mechanism$verb(people, control), classes = "dpsc_warning")
}

#' Numbers that a fit releases: coefficients, sums, effects
#' @noRd
released_numbers <- function(fit) {
  table <- generics::tidy(fit)
  unlist(lapply(as.list(table), function(x) if (is.numeric(x)) as.double(x) else as.character(x)))
}

#' One record and replay of a verb as a table with one row per noise call (a single row if the verb
#' declares one budget for all calls), and a row for the released values
#'
#' `declared` and `observed` are in units of the verb's account: mu, rho or epsilon.
#' @noRd
verb_rows <- function(calls) {
  ran <- attr(calls, "result")
  steps <- steps_of_calls(calls, ran$privacy$steps)
  whole <- if (is.null(steps)) whole_budget(ran$privacy)
  rows <- do.call(rbind, lapply(seq_along(calls), function(k) {
    verb_row(calls[[k]], if (!is.null(steps)) steps[k, ], whole)
  }))
  if (!is.null(whole)) {
    rows <- rbind(rows, summed_row("all calls", whole$most, sum(rows$observed)))
  }
  # Given the answers of all noise calls, the released numbers must not depend on the people.
  same <- identical(ran$numbers, attr(calls, "again")$numbers)
  rows <- rbind(rows, summed_row("released numbers, given the noise", 0, if (same) 0 else Inf))
  rows$ratio <- ifelse(rows$observed == 0, 0, rows$observed / rows$declared)
  account <- steps$account
  account_rows(rows, if (!is.null(account)) c(account, rep(NA, nrow(rows) - length(account))))
}

#' The declared step of each call, matched by label, otherwise by order if distributions agree,
#' otherwise by distribution
#' @noRd
steps_of_calls <- function(calls, steps) {
  streamed <- vapply(calls, `[[`, "", "label") %in% c("node of a stream", "iterate")
  if (is.null(steps) || all(streamed)) return(NULL)
  laws <- vapply(calls, `[[`, "", "law")
  labels <- vapply(calls, `[[`, "", "label")
  # Steps are matched by name, since a plan may list them in another order and number its stages.
  known <- sub(", stage [0-9]+$", "", steps$step)
  named <- match(make.unique(labels), make.unique(known))
  if (length(named) == nrow(steps) && !anyNA(named)) return(steps[named, ])
  if (identical(laws, steps$law)) return(steps)
  left <- seq_len(nrow(steps))
  order <- vapply(laws, function(law) {
    at <- left[match(law, steps$law[left])]
    left <<- setdiff(left, at)
    at
  }, 0L)
  if (anyNA(order) || length(left)) {
    abort("The noise calls differ from the list in the release's record.", "internal")
  }
  steps[order, ]
}

#' @param whole (`list`)\cr from [whole_budget()], for a call without a separate step.
#' @noRd
verb_row <- function(call, step, whole) {
  account <- if (is.null(step)) whole$account else account_of(step)
  declared <- switch(account,
    mu = step$mu, scaled = step$sensitivity / step$scale, step$epsilon
  )
  data.frame(
    call = call$label, law = call$law, size = length(call$value),
    declared = declared %||% whole$most, observed = call_cost(call, account)
  )
}

#' A budget that is declared for all calls together, zero-concentrated or pure
#' @noRd
whole_budget <- function(privacy) {
  if (is_number(privacy$rho)) {
    list(account = "rho", most = privacy$rho)
  } else {
    list(account = "epsilon", most = privacy$epsilon)
  }
}

#' Unit of a step's declared cost
#' @noRd
account_of <- function(step) {
  if (is_number(step$mu) && is.finite(step$mu)) {
    "mu"
  } else if (is_number(step$epsilon) && is.finite(step$epsilon)) {
    "epsilon"
  } else {
    "scaled"
  }
}

#' Cost of the observed shift under the noise of a replayed call
#' @param account (`string`)\cr `"mu"`, `"rho"`, `"epsilon"` or `"scaled"`, a shift over its scale.
#' @noRd
call_cost <- function(call, account) {
  move <- call$other$value - call$value
  # The exact log-ratio of a known density is more informative than a shift.
  if (account != "scaled" && is.finite(call$log_curvature)) return(abs(linear_loss(call)))
  over <- ifelse(move == 0, 0, abs(move) / call$scale)
  exponent <- call$scale[[1L]] * diff(range(move))
  switch(call$law,
    exponential = switch(account,
      mu = exponential_step_mu_cpp(exponent), rho = exponent^2 / 8, exponent
    ),
    discrete_gaussian = {
      mu <- sqrt(sum(over * abs(move)))
      if (account == "rho") mu^2 / 2 else mu
    },
    gaussian = sqrt(sum(over^2)),
    gamma_norm = sqrt(sum(move^2)) / call$scale[[1L]],
    sum(over)
  )
}

summed_row <- function(name, declared, observed) {
  data.frame(call = name, law = "", size = NA, declared = declared, observed = observed)
}

#' Loss of unconstrained objective perturbation, from the Jacobian and the density of the linear
#' term, which the minimiser determines
#' @noRd
linear_loss <- function(call) {
  log_noise <- function(b) {
    if (call$law == "gaussian") -sum(b^2) / (2 * call$scale^2) else -sqrt(sum(b^2)) / call$scale
  }
  call$log_curvature - call$other$log_curvature +
    log_noise(call$value) - log_noise(call$other$value)
}
