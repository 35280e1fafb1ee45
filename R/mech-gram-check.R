# Check that the reported noise of a release by method "gram" agrees with its steps, from which each
# part is recomputed.

#' Does the noise that a gram release reports agree with its steps?
#' @noRd
gram_noise_conflict <- function(release) {
  s <- release$statistics
  noise <- c(s$mean_sd, s$moment_sd)
  private <- release$privacy$private
  extra <- list(
    s$rounds, s$intervals, s$cohorts$intervals, s$treated, s$cohorts$treated, s$target, s$monitor
  )
  base <- base_release(release)
  first_fault(
    "The release is marked not private, but it reports noise." =
      !private && (any(noise != 0) || !all(vapply(extra, is.null, NA))),
    "The release is marked private, but it contains statistics without noise." = private &&
      (any(noise == 0) || !is.null(s$leave_one_out) || !is.null(s$cohorts$leave_one_out)),
    # Some releases of version 0.1.0 contain no rounds.
    "The noise of the statistics does not match the noise steps." =
      private && !is.null(s$rounds) && !rounds_agree(base)
  ) %||% if (private) {
    treated_conflict(release) %||% target_conflict(base) %||% intervals_conflict(base)
  }
}

#' The steps of the release on donors
#' @noRd
donor_steps <- function(release) {
  steps <- base_release(release)$privacy$steps
  if (is.null(steps$account)) {
    return(steps)
  }
  # The steps before and after the treated group serve that group and are left out.
  steps[steps$account == "donors" & !seq_len(nrow(steps)) %in% unlist(group_looks(release)), ]
}

#' Positions of the steps that read the donors for a protected group
#' @return A list: `look`, a matrix of two rows and one column per group, and `control`, one entry
#'   per group.
#' @noRd
group_looks <- function(release) {
  steps <- release$privacy$steps
  groups <- length(release$panel$treated)
  # Releases of versions up to 0.2.0 contain no step before the treated group.
  before <- which(steps$account != "donors")[1L] - 1L
  asked <- !is.null(protected_groups(release)[[1L]]$x$look)
  list(
    look = matrix(before - 2L * groups + seq_len(2L * groups), 2L)[, asked & seq_len(groups) > 0L,
      drop = FALSE
    ],
    control = nrow(steps) - groups + seq_len(groups)
  )
}

#' Does the noise of protected groups agree with the steps of their accounts?
#' @noRd
treated_conflict <- function(release) {
  groups <- protected_groups(release)
  steps <- release$privacy$steps
  accounts <- unique(steps$account)
  if (is.null(groups)) {
    if (is.null(accounts)) return(NULL)
    return("Results of some charged noise steps are missing.")
  }
  several <- !is.null(release$statistics$cohorts)
  names <- if (several) cohort_account(seq_along(groups)) else "treated"
  if (!identical(accounts, c("donors", names))) {
    return("The treated group's noise steps do not match its release.")
  }
  looks <- group_looks(release)
  for (g in seq_along(groups)) {
    control <- steps[looks$control[[g]], ]
    problem <- group_conflict(groups[[g]], steps[steps$account == names[[g]], ], control) %||%
      if (ncol(looks$look)) look_conflict(groups[[g]], steps[looks$look[, g], ])
    if (!is.null(problem)) {
      return(problem)
    }
  }
}

#' Does the noise of one group agree with its steps?
#' @param group (`list`)\cr from [protected_groups()].
#' @param steps,control (`data.frame`)\cr the steps on the group, and the last step on the donors.
#' @noRd
group_conflict <- function(group, steps, control) {
  x <- group$x
  release <- group$release
  # Releases of versions up to 0.2.0 contain no estimate of the group's place.
  placed <- !is.null(x$place)
  problem <- if (placed) place_conflict(x$place, steps[1L, ])
  if (!is.null(problem)) {
    return(problem)
  }
  if (placed) steps <- steps[-1L, ]
  moments <- steps[steps$law != "exponential", ]
  count <- length(x$rounds)
  if (nrow(steps) != 2L * count || nrow(moments) != count || control$account != "donors" ||
        control$law == "exponential") {
    return("The treated group's noise steps do not match its release.")
  }
  rounds <- lapply(x$rounds, function(round) c(list(loadings = x$loadings), round))
  last <- rounds[[count]]
  donors <- c(x$control, last[c("loadings", "origin", "radius")])
  asked <- c(split(moments, seq_len(count)), list(control))
  made <- mapply(round_of_step, c(x$rounds, list(donors)), asked)
  # The donors are clipped around a separate centre.
  donors$origin <- donor_origin(x)
  own <- vapply(rounds, function(round) round_noise(round, release, group$m)$mean, 0)
  # Versions that used only the mean of the last round wrote no such field.
  weights <- x$weights %||% c(x$of_first %||% 0, 1 - (x$of_first %||% 0))
  kept <- vapply(x$rounds, function(round) round$kept %||% 1, 0)
  pooled <- sqrt(sum((weights * own / kept)^2))
  said <- vapply(x$rounds, function(round) round$mean_sd %||% NA_real_, 0)
  if (!all(made) || !about_equal(x$mean_sd, pooled) ||
        (!anyNA(said) && !all(mapply(about_equal, said, own))) ||
        !about_equal(x$control$mean_sd, round_noise(donors, release)$mean)) {
    "The noise of the treated group's statistics does not match the noise steps."
  }
}

#' Does the noise on the group's location agree with its step?
#' @param step (`data.frame`)\cr a step, one row.
#' @noRd
place_conflict <- function(place, step) {
  gaussian <- step$law == "discrete_gaussian"
  one <- step$sensitivity / if (gaussian) sqrt(2) else 2 * sqrt(2)
  sd <- step$scale * if (gaussian) 1 else sqrt(2)
  said <- step$law %in% c("discrete_gaussian", "discrete_laplace") &&
    about_equal(place$counts_sd, sd / one)
  if (!said) "The location of the treated group does not match its noise step."
}

#' Does the noise on the share of a shift that remains after clipping, measured on donors, agree
#' with its step?
#' @param steps (`data.frame`)\cr a choice, and a step with noise.
#' @noRd
look_conflict <- function(group, steps) {
  look <- group$x$look
  points <- length(look$kept)
  gaussian <- steps$law[[2L]] == "discrete_gaussian"
  one <- steps$sensitivity[[2L]] / if (gaussian) sqrt(points) else points
  sd <- steps$scale[[2L]] * if (gaussian) 1 else sqrt(2)
  said <- all(steps$account == "donors") && steps$law[[1L]] == "exponential" &&
    steps$law[[2L]] %in% c("discrete_gaussian", "discrete_laplace") &&
    about_equal(look$kept_sd, sd / (one * group$release$panel$n)) &&
    about_equal(group$x$kept, group$x$rounds[[length(group$x$rounds)]]$kept)
  if (!said) "The first release of the donors does not match its noise steps."
}

#' Does the correction for the target agree with the last two steps?
#' @noRd
target_conflict <- function(release) {
  x <- release$statistics$target
  steps <- release$privacy$steps
  paid <- sum(steps$step == "sum for the target")
  if (is.null(x)) {
    if (paid > 0L) return("Results of some charged noise steps are missing.")
    return(NULL)
  }
  last <- steps[nrow(steps), ]
  if (paid != 1L || last$step != "sum for the target" || last$law != "discrete_gaussian") {
    return("The correction for the target does not match the noise steps.")
  }
  # A row as long as the radius has half of the sensitivity, minus the effect of rounding.
  longest <- (last$sensitivity / 2 - sqrt(release$panel$T1) / 2) * (1 - 2^-40)
  if (!about_equal(x$sd, last$scale * x$radius / (longest * counted_donors(release)))) {
    "The noise of the statistics does not match the noise steps."
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

#' Does a step's record agree with the constants of its round?
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

#' Standard deviations of a round's noise in the statistics: on the mean, and on the diagonal
#' @noRd
round_noise <- function(round, release, n = counted_donors(release)) {
  empty <- matrix(0, 0L, nrow(round$loadings))
  grid <- row_integers_cpp(
    empty, rows_scale(release), round$loadings, round$origin, round$radius,
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

#' Do calibrated intervals agree with their steps: five, or three for a group, which needs no tails?
#' @noRd
intervals_conflict <- function(release) {
  x <- release$statistics$intervals %||% release$statistics$cohorts$intervals
  steps <- donor_steps(release)
  rounds <- max(2L, length(release$statistics$rounds))
  # Each round, including the target's round, has a step for its radius and a step for its moments.
  count <- nrow(steps) - 2L * (rounds + !is.null(release$statistics$target))
  if (is.null(x)) {
    if (count > 0L) return("Results of some charged noise steps are missing.")
    return(NULL)
  }
  group <- isTRUE(x$group)
  # A group does not use these factors, so they are 1.
  bare <- all(c(x$average, x$period, x$band) == 1)
  # Up to version 0.2.0 a group had one range of errors.
  if (count != (if (group) 2L + !is.null(x$calm) else 5L) || (group && !bare) || x$tail > 0.5) {
    return("The intervals do not match the noise steps.")
  }
  # The noise of the second moment is a share of the square of the clipping bound; the step
  # determines the share. With several cohorts each cohort has such a second moment, and one person
  # changes them all.
  step <- steps[steps$law != "exponential", ][rounds + 1L, ]
  laplace <- step$law == "discrete_laplace"
  cohorts <- length(x$second)
  sigma <- step$scale * if (laplace) sqrt(2) * cohorts else sqrt(cohorts)
  sd <- x$second_sd * (release$statistics$share %||% 1)
  if (!calibrates(sigma / step$sensitivity * x$clip^2 / sd, release$panel$n)) {
    "The noise of the statistics does not match the noise steps."
  }
}

#' Is this a possible number of calibrating donors? Up to 10,000 donors, all donors are used; of
#' more donors, between 10,000 and 100,000 (every k-th donor in versions up to 0.2.0)
#' @noRd
calibrates <- function(rows, n) {
  if (n <= 10000 || about_equal(rows, ceiling(n / ceiling(n / 10000)))) {
    return(n > 10000 || about_equal(rows, n))
  }
  about_equal(rows, round(rows)) && round(rows) >= 10000 && round(rows) <= min(n, 1e5)
}
