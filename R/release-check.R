# Do the parts of a release that was read agree with each other? What one part says and another
# implies is computed again, so that a damaged or doctored file is noticed. It is no proof of
# origin: whoever recomputes everything cannot be caught without a signature.

#' What contradicts what in a release, in words, or `NULL`
#'
#' Types and sizes were checked before, by `find_release_problem()`. Every check takes the release
#' and returns a string or `NULL`.
#' @param release (`dp_release`)\cr parts of the right types and sizes.
#' @noRd
release_conflict <- function(release) {
  general <- list(record_conflict, promise_conflict)
  private <- list(step_conflict, method_checks()[[release$method]]$cost)
  noise <- list(method_checks()[[release$method]]$noise)
  checks <- c(general, if (release$privacy$private) private, noise)
  for (check in checks) {
    problem <- check(release)
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' What each method adds
#' @return A list by method of `cost` (of private releases: do the steps add up to what is
#'   promised?) and `noise` (is the noise that the statistics report that of the steps?).
#' @noRd
method_checks <- function() {
  list(
    gram = list(cost = composed_conflict, noise = gram_noise_conflict),
    output = list(cost = composed_conflict, noise = vertical_noise_conflict),
    objective = list(cost = added_conflict, noise = vertical_noise_conflict)
  )
}

# Sums and products that are computed again may differ in the last digits.
read_tolerance <- 1e-9
at_most <- function(x, limit) isTRUE(x <= limit * (1 + read_tolerance))
about_equal <- function(x, y) at_most(x, y) && at_most(y, x)

#' The record in itself: where noise came from, whose neighbours, and what a release without has
#' @noRd
record_conflict <- function(release) {
  privacy <- release$privacy
  finite <- all(is.finite(unlist(release$bounds[c("lower", "upper")])))
  if (!privacy$rng %in% c("secure", "R") ||
      !identical(privacy$neighbours, neighbours_of(release$panel$treated))) {
    return("The privacy record is wrong.")
  }
  if (privacy$private && !finite) {
    return("A private release needs finite bounds.")
  }
  empty <- is.null(privacy$steps) && is.na(privacy$rho) && privacy$delta == 0
  if (!privacy$private && !empty) {
    "A release without privacy has a budget."
  }
}

#' Does the promise follow from method, calibration, steps and source of the noise?
#'
#' The words of the promise are the package's own: [read_release()] writes them anew.
#' @noRd
promise_conflict <- function(release) {
  promise <- read_promise(release)
  if (!identical(promise[c("holds", "exact")], release$privacy[c("holds", "exact")])) {
    "What the privacy record promises does not follow from the method and the noise."
  }
}

read_promise <- function(release) {
  privacy <- release$privacy
  public <- list(
    private = privacy$private, method = release$method, calibration = release$calibration,
    delta = privacy$delta, control = list(rng = privacy$rng), treated = release$panel$treated,
    monitor = release$statistics$monitor$announced
  )
  guarantee(public, list(steps = privacy$steps))
}

#' Is every step of a known law, and charged no less than its noise costs?
#' @noRd
step_conflict <- function(release) {
  steps <- release$privacy$steps
  numbers <- c("sensitivity", "scale", "epsilon", "rho")
  positive <- function(x) is.numeric(x) && all(is.finite(x)) && all(x > 0)
  typed <- nrow(steps) > 0L && is.character(steps$step) && is.character(steps$law) &&
    positive(steps$sensitivity) && positive(steps$scale) &&
    all(vapply(steps[numbers], function(x) is.numeric(x) || all(is.na(x)), NA)) &&
    all(steps$epsilon > 0, steps$rho > 0, na.rm = TRUE)
  if (!typed || !all(steps$law %in% c(exact_laws, "gamma_norm", "gaussian"))) {
    return("The noise steps are wrong.")
  }
  ratio <- steps$sensitivity / steps$scale
  pure <- steps$law %in% c("discrete_laplace", "gamma_norm") |
    (steps$law == "exponential" & is.na(steps$rho))
  composed <- steps$law %in% c("discrete_gaussian", "exponential") & !pure
  charged <- all(mapply(at_most, ratio[pure], steps$epsilon[pure])) && if (in_shifts(steps)) {
    choice <- steps$law[composed] == "exponential"
    shift <- ratio[composed]
    shift[choice] <- vapply(shift[choice], exponential_step_mu_cpp, 0)
    all(mapply(at_most, shift, steps$mu[composed])) &&
      all(mapply(at_most, steps$rho[composed], steps$mu[composed]^2 / 2))
  } else {
    rho <- ifelse(steps$law == "exponential", ratio^2 / 8, ratio^2 / 2)
    all(mapply(at_most, rho[composed], steps$rho[composed]))
  }
  if (!charged) "A noise step has less noise than its cost says."
}

#' Methods whose steps compose: for delta > 0 in Gaussian shifts or in zCDP, else epsilons add up
#'
#' Gamma-norm noise (`"output"` as published) is pure whatever delta is.
#' @noRd
composed_conflict <- function(release) {
  steps <- release$privacy$steps
  # Disjoint groups have an account each.
  for (account in split(steps, steps$account %||% rep("donors", nrow(steps)))) {
    problem <- account_conflict(account, release$privacy)
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' @noRd
account_conflict <- function(steps, privacy) {
  fits <- if (privacy$delta == 0 || all(steps$law == "gamma_norm")) {
    is.na(privacy$rho) && at_most(sum(steps$epsilon), privacy$epsilon)
  } else if (in_shifts(steps)) {
    mu <- gdp_budget_cpp(privacy$epsilon, privacy$delta)
    about_equal(privacy$rho, mu^2 / 2) && at_most(sum(steps$mu^2), mu^2)
  } else {
    about_equal(privacy$rho, cdp_rho_cpp(privacy$epsilon, privacy$delta)) &&
      at_most(sum(steps$rho), privacy$rho)
  }
  if (!fits) "The cost of the noise steps is not that of the release."
}

#' Method objective: epsilons add up; a Gaussian step of its own is converted at half of delta
#' @noRd
added_conflict <- function(release) {
  privacy <- release$privacy
  steps <- privacy$steps
  rho <- sum(steps$rho, na.rm = TRUE)
  converted <- if (rho > 0 && in_shifts(steps)) {
    gdp_epsilon_cpp(sqrt(sum(steps$mu^2, na.rm = TRUE)), privacy$delta / 2)
  } else if (rho > 0) {
    cdp_epsilon_cpp(rho, privacy$delta / 2)
  } else {
    0
  }
  complete <- all(!is.na(steps$epsilon) | !is.na(steps$rho)) && (rho == 0 || privacy$delta > 0)
  total <- sum(steps$epsilon, na.rm = TRUE) + converted
  if (!complete || !is.na(privacy$rho) || !at_most(total, privacy$epsilon)) {
    "The cost of the noise steps is not that of the release."
  }
}

#' Is the noise that the vertical estimator reckons with that of the steps?
#'
#' The first step is that of the weights, the last that of the outcomes. Objective perturbation
#' divides by a curvature of `lambda` at least.
#' @noRd
vertical_noise_conflict <- function(release) {
  settings <- release$settings
  privacy <- release$privacy
  panel <- release$panel
  if (!privacy$private) {
    if (settings$weights_variance != 0 || settings$post_variance != 0) {
      return("A release without privacy reports noise.")
    }
    return(NULL)
  }
  steps <- privacy$steps
  first <- noise_variance(steps$law[[1L]], steps$scale[[1L]], panel$n)
  last <- nrow(steps)
  post <- noise_variance(steps$law[[last]], steps$scale[[last]], panel$n * panel$T1)
  half <- new_bounds(cbind(release$bounds$lower, release$bounds$upper), panel$T0 + panel$T1)$half
  sensitivity <- post_sensitivity(panel$T1, sqrt(mean(half[-seq_len(panel$T0)]^2)))
  weights <- if (release$method == "output") {
    about_equal(settings$weights_variance, first)
  } else {
    settings$weights_variance > 0 && at_most(settings$weights_variance, first / settings$lambda^2)
  }
  if (!weights || !about_equal(settings$post_variance, post) || last < 2L ||
      !about_equal(sensitivity, steps$sensitivity[[last]])) {
    "The noise of the statistics is not that of the noise steps."
  }
}

#' Is the noise that a gram release reports that of its steps?
#' @noRd
gram_noise_conflict <- function(release) {
  s <- release$statistics
  noise <- c(s$mean_sd, s$moment_sd)
  if (!release$privacy$private) {
    extra <- list(
      s$rounds, s$intervals, s$cohorts$intervals, s$treated, s$cohorts$treated, s$target, s$monitor
    )
    if (any(noise != 0) || !all(vapply(extra, is.null, NA))) {
      return("A release without privacy reports noise.")
    }
    return(NULL)
  }
  if (any(noise == 0) || !is.null(s$leave_one_out) || !is.null(s$cohorts$leave_one_out)) {
    return("A private release holds statistics without noise.")
  }
  # Some releases of version 0.1.0 hold no rounds.
  if (!is.null(s$rounds) && !rounds_agree(base_release(release))) {
    return("The noise of the statistics is not that of the noise steps.")
  }
  treated_conflict(release) %||% target_conflict(base_release(release)) %||%
    intervals_conflict(base_release(release)) %||% growing_conflict(release)
}

#' The steps that look at donors
#' @noRd
donor_steps <- function(release) {
  steps <- base_release(release)$privacy$steps
  if (is.null(steps$account)) {
    return(steps)
  }
  # Without the last ones, which come after the treated.
  last <- nrow(steps) - length(release$panel$treated)
  steps[steps$account == "donors" & seq_len(nrow(steps)) <= last, ]
}

#' Is the noise of protected groups that of their accounts' steps?
#' @noRd
treated_conflict <- function(release) {
  groups <- protected_groups(release)
  steps <- release$privacy$steps
  accounts <- unique(steps$account)
  if (is.null(groups)) {
    if (is.null(accounts)) return(NULL)
    return("Noise steps were paid for of which nothing is there.")
  }
  several <- !is.null(release$statistics$cohorts)
  names <- if (several) cohort_account(seq_along(groups)) else "treated"
  if (!identical(accounts, c("donors", names))) {
    return("The treated group's steps are not those of its release.")
  }
  for (g in seq_along(groups)) {
    control <- steps[nrow(steps) - length(groups) + g, ]
    problem <- group_conflict(groups[[g]], steps[steps$account == names[[g]], ], control)
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' Is the noise of one group that of its steps?
#' @param group (`list`)\cr from [protected_groups()].
#' @param steps,control (`data.frame`)\cr the group's own, and the last look at the donors.
#' @noRd
group_conflict <- function(group, steps, control) {
  x <- group$x
  release <- group$release
  moments <- steps[steps$law != "exponential", ]
  if (nrow(steps) != 4L || nrow(moments) != 2L || control$account != "donors" ||
        control$law == "exponential") {
    return("The treated group's steps are not those of its release.")
  }
  last <- c(list(loadings = x$loadings), x$rounds[[2L]])
  donors <- c(x$control, last[c("loadings", "origin", "radius")])
  made <- mapply(round_of_step, list(x$rounds[[1L]], last, donors), list(
    moments[1L, ], moments[2L, ], control
  ))
  # The donors are cut about their own centre.
  donors$origin <- x$rounds[[1L]]$origin
  noise <- c(
    round_noise(last, release, group$m)$mean, round_noise(donors, release)$mean
  )
  if (!all(made) || !about_equal(x$mean_sd, noise[[1L]]) ||
        !about_equal(x$control$mean_sd, noise[[2L]])) {
    "The noise of the treated group's statistics is not that of the noise steps."
  }
}

#' Is the correction for the target that of the last two steps?
#' @noRd
target_conflict <- function(release) {
  x <- release$statistics$target
  steps <- release$privacy$steps
  paid <- sum(steps$step == "sum for the target")
  if (is.null(x)) {
    if (paid > 0L) return("Noise steps were paid for of which nothing is there.")
    return(NULL)
  }
  last <- steps[nrow(steps), ]
  if (paid != 1L || last$step != "sum for the target" || last$law != "discrete_gaussian") {
    return("The correction for the target is not that of the noise steps.")
  }
  # Rows as long as the radius have half the sensitivity, less what rounding may add.
  longest <- (last$sensitivity / 2 - sqrt(release$panel$T1) / 2) * (1 - 2^-40)
  if (!about_equal(x$sd, last$scale * x$radius / (longest * release$panel$n))) {
    "The noise of the statistics is not that of the noise steps."
  }
}

rounds_agree <- function(release) {
  s <- release$statistics
  steps <- donor_steps(release)
  count <- length(s$rounds)
  moments <- steps[which(steps$law != "exponential")[seq_len(count)], ]
  made <- vapply(seq_len(count), function(i) round_of_step(s$rounds[[i]], moments[i, ]), NA)
  noise <- round_noise(s$rounds[[count]], release)
  all(made) && about_equal(s$mean_sd, noise$mean) && about_equal(s$moment_sd, noise$moment)
}

#' Does a step's record say what the round was made with?
#' @noRd
round_of_step <- function(round, step) {
  bound <- round$clipped^2 + round$constant^2
  d <- length(round$origin)
  old <- !is.null(round$radii)
  if (step$law == "discrete_gaussian") {
    least <- if (old) sqrt(2) * bound / sqrt(round$noise) else shift_of_round(round)
    cost <- if (old) sqrt(2 * step$rho) else step$mu
    return(about_equal(step$sensitivity, sqrt(2) * bound) &&
      about_equal(step$scale, sqrt(round$noise)) && at_most(least, cost))
  }
  sensitivity <- if (old) {
    (d + 2) * bound
  } else {
    laplace_gram_sensitivity_cpp(round$clipped, round$constant, d)
  }
  about_equal(step$sensitivity, sensitivity) && at_most(sensitivity / round$noise, step$epsilon) &&
    about_equal(step$scale, if (old) 2 * round$noise else round$noise)
}

shift_of_round <- function(round) {
  if (round$noise <= 32) {
    return(Inf)
  }
  gaussian_step_mu_cpp(round$clipped^2 + round$constant^2, round$noise)
}

#' Deviations that a round's noise has in the statistics: of the mean, and on the diagonal
#' @noRd
round_noise <- function(round, release, n = release$panel$n) {
  empty <- matrix(0, 0L, nrow(round$loadings))
  grid <- row_integers_cpp(
    empty, core_scale(rows_scale(release)), round$loadings, round$origin, round$radius,
    round$clipped
  )
  shrunk <- if (is.null(round$radii)) {
    (round$clipped - sqrt(length(round$origin)) / 2) * (1 - 2^-40)
  } else {
    round$clipped
  }
  step <- grid$unit * grid$radius / shrunk
  sigma <- if (release$privacy$delta > 0) sqrt(round$noise) else 2 * round$noise
  list(mean = sigma / sqrt(2) * step / (round$constant * n), moment = sigma * step^2 / n)
}

#' Are calibrated intervals those of five steps, or of two for a group, whose tails are not asked?
#' @noRd
intervals_conflict <- function(release) {
  x <- release$statistics$intervals %||% release$statistics$cohorts$intervals
  steps <- donor_steps(release)
  rounds <- max(2L, length(release$statistics$rounds))
  # Of each round a radius and moments; of the target's own as many.
  count <- nrow(steps) - 2L * (rounds + !is.null(release$statistics$target))
  if (is.null(x)) {
    if (count > 0L) return("Noise steps were paid for of which nothing is there.")
    return(NULL)
  }
  group <- isTRUE(x$group)
  # A group's factors say nothing: they are 1.
  bare <- all(c(x$average, x$period, x$band) == 1)
  if (count != (if (group) 2L else 5L) || (group && !bare) || x$tail > 0.5) {
    return("The intervals are not those of the noise steps.")
  }
  # The second moment's noise is a share of the clip's square that follows from its step; of several
  # cohorts each has one, and one person moves them all.
  step <- steps[steps$law != "exponential", ][rounds + 1L, ]
  laplace <- step$law == "discrete_laplace"
  cohorts <- length(x$second)
  sigma <- step$scale * if (laplace) sqrt(2) * cohorts else sqrt(cohorts)
  rows <- ceiling(release$panel$n / ceiling(release$panel$n / 10000))
  if (!about_equal(x$second_sd, sigma / step$sensitivity * x$clip^2 / rows)) {
    "The noise of the statistics is not that of the noise steps."
  }
}
