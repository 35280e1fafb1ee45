# Exact-loss audits: the privacy loss of each output, and delta(epsilon) with confidence limits.

# delta(epsilon) >= (1 - exp(-t)) P(loss > epsilon + t) for every t. These are the values of t used.
loss_margins <- c(1e-3, 0.1, 0.5, 2)

#' @noRd
audit_loss <- function(mechanism, pair, claimed, n_runs, level, log_density, ...) {
  loss <- if (is.null(log_density)) {
    loss_of_release(mechanism)
  } else {
    loss_of_density(as_black_box(mechanism, ...), log_density)
  }
  losses <- repeat_runs(n_runs, function(i) {
    c(loss(pair$data, pair$neighbour), loss(pair$neighbour, pair$data))
  })
  losses <- matrix(unlist(losses), 2L)
  if (ncol(losses) != n_runs || anyNA(losses)) {
    abort("{.arg log_density} must return one number, which must not be missing.", "argument")
  }
  # The two directions share the error probability.
  tail <- (1 - level) / 2
  table <- do.call(rbind, lapply(1:2, function(i) {
    audit_loss_table(losses[i, ], claimed, tail, c("data", "neighbour")[[i]])
  }))
  grid <- seq(0, max(2 * claimed$epsilon, min(max(losses) * 1.1, 10 * claimed$epsilon + 1)),
    length.out = 81
  )
  list(
    observed = list(
      epsilon = max(0, table$epsilon), delta = max(table$delta.low), loss = max(losses)
    ),
    violated = any(table$delta.low > claimed$delta), note = NULL, table = table,
    curve = audit_loss_curve(losses, grid, tail)
  )
}

#' @noRd
loss_of_density <- function(run, log_density) {
  function(from, to) {
    output <- run(from)
    log_density(output, from) - log_density(output, to)
  }
}

#' Exact loss of a release: the sum of the losses of its noise calls
#' @noRd
loss_of_release <- function(mechanism) {
  if (is.function(mechanism)) {
    abort(c(
      "Mode {.val loss} needs {.arg log_density} if {.arg mechanism} is a function.",
      i = "Give the log-density of an output as a function of the output and the panel."
    ), "argument")
  }
  if (identical(mechanism$method, "objective") && identical(mechanism$calibration, "tight")) {
    abort(c(
      "Mode {.val loss} cannot audit method {.val objective} with calibration {.val tight}.",
      x = paste(
        "Outputs lie on faces of the constraint set. These faces have different dimensions, so the",
        "outputs have no common density."
      ),
      i = "Use mode {.val blackbox} or {.val replay}."
    ), "argument")
  }
  hooked <- as_hooked(mechanism)
  function(from, to) {
    calls <- record_and_replay(hooked, from, to)
    if (is.null(calls)) {
      return(Inf)
    }
    sum(vapply(calls, call_loss, numeric(1)))
  }
}

#' Log-ratio of the probabilities of a call's output under the two panels
#' @noRd
call_loss <- function(call) {
  if (isTRUE(is.finite(call$log_curvature))) return(linear_loss(call))
  if (isTRUE(is.infinite(call$log_curvature))) {
    abort(c(
      "The density of the noise step {.val {call$label}} is unknown.",
      i = "Use mode {.val blackbox} or {.val replay}."
    ), "argument")
  }
  here <- call$output - call$value
  there <- call$output - call$other$value
  size <- function(z) sqrt(sum(z^2))
  switch(call$law,
    discrete_gaussian = sum((there^2 - here^2) / (2 * call$scale)),
    gaussian = sum(there^2 - here^2) / (2 * call$scale^2),
    discrete_laplace = , laplace = sum((abs(there) - abs(here)) / call$scale),
    gamma_norm = (size(there) - size(here)) / call$scale,
    exponential = {
      log_law <- function(losses) {
        log_mass <- call$offset - call$scale * losses
        log_mass - max(log_mass) - log(sum(exp(log_mass - max(log_mass))))
      }
      # The outputs of a choice are numbered from 0.
      if (length(call$output) > 1L) {
        joint_log_law(call$value, call$scale, call$output) -
          joint_log_law(call$other$value, call$scale, call$output)
      } else {
        log_law(call$value)[[call$output + 1]] - log_law(call$other$value)[[call$output + 1]]
      }
    }
  )
}

#' Log-probability of a joint choice, in which a tuple has weight exp(-exponent times largest loss)
#' @param losses (`numeric`)\cr the lists of losses one after another, each with the same number of
#'   candidates.
#' @param at (`numeric`)\cr the choice from every list, from 0.
#' @noRd
joint_log_law <- function(losses, exponent, at) {
  lists <- matrix(losses, ncol = length(at))
  levels <- sort(unique(losses))
  # The number of tuples up to a level is a product of counts, computed in logarithms.
  upto <- rowSums(log(apply(lists, 2L, function(own) findInterval(levels, sort(own)))))
  before <- c(-Inf, upto[-length(upto)])
  log_mass <- upto + log1p(-exp(pmin(0, before - upto))) - exponent * levels
  log_mass <- log_mass[is.finite(upto)]
  total <- max(log_mass) + log(sum(exp(log_mass - max(log_mass))))
  -exponent * max(lists[cbind(at + 1, seq_along(at))]) - total
}

#' Lower and upper confidence limits of delta(epsilon) = E (1 - exp(epsilon - loss))+
#'
#' The limits combine the empirical Bernstein bound (Maurer and Pontil, 2009, Theorem 4) and
#' Clopper-Pearson limits for the events `loss > epsilon + t`, each at a share of the tail
#' probability.
#' @noRd
delta_limits <- function(loss, epsilon, tail) {
  x <- pmax(-expm1(epsilon - loss), 0)
  n <- length(x)
  share <- tail / (length(loss_margins) + 1)
  radius <- function(log_odds) {
    if (n < 2L) 1 else sqrt(2 * stats::var(x) * log_odds / n) + 7 * log_odds / (3 * (n - 1))
  }
  margins <- vapply(loss_margins, function(t) {
    -expm1(-t) * clopper_lower(sum(loss > epsilon + t), n, share)
  }, numeric(1))
  above <- sum(loss > epsilon)
  upper <- if (above == n) 1 else stats::qbeta(1 - tail / 2, above + 1, n - above)
  c(
    estimate = mean(x), low = max(0, mean(x) - radius(log(2 / share)), margins),
    high = min(1, upper, mean(x) + radius(log(4 / tail)))
  )
}

clopper_lower <- function(k, n, tail) {
  if (k == 0) 0 else stats::qbeta(tail, k, n - k + 1)
}

#' Lower confidence bound on epsilon at a given delta
#'
#' The events are nested, so the supremum over epsilon needs no correction: if `c` losses of `n` are
#' enough for a limit above delta, epsilon is above the c-th largest loss minus the margin.
#' @noRd
epsilon_lower <- function(loss, delta, tail) {
  n <- length(loss)
  loss <- sort(loss, decreasing = TRUE)
  bounds <- vapply(loss_margins, function(t) {
    limits <- -expm1(-t) * stats::qbeta(tail / length(loss_margins), seq_len(n), n:1)
    enough <- which(limits > delta)
    if (length(enough)) loss[[enough[[1L]]]] - t else -Inf
  }, numeric(1))
  max(bounds)
}

#' @noRd
audit_loss_table <- function(loss, claimed, tail, from) {
  limits <- delta_limits(loss, claimed$epsilon, tail)
  data.frame(
    from = from, epsilon.claimed = claimed$epsilon, delta.estimate = limits[["estimate"]],
    delta.low = limits[["low"]], delta.high = limits[["high"]],
    epsilon = epsilon_lower(loss, claimed$delta, tail),
    share.above = mean(loss > claimed$epsilon), largest.loss = max(loss), runs = length(loss)
  )
}

#' @noRd
audit_loss_curve <- function(losses, grid, tail) {
  do.call(rbind, lapply(grid, function(epsilon) {
    limits <- apply(losses, 1L, delta_limits, epsilon = epsilon, tail = tail)
    data.frame(
      epsilon = epsilon, estimate = max(limits["estimate", ]), low = max(limits["low", ]),
      high = max(limits["high", ])
    )
  }))
}
