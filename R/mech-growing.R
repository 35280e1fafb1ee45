# A growing release uses method "gram" at once, with a part of the budget, and then makes one small
# release with fresh noise for each announced period. All are paid for at the start. Only C++ code
# reads a person's row (inst/include/dpsc/release/growing_release.hpp).

#' Check `monitor`
#' @return A whole number, or `NULL`.
#' @noRd
check_monitor <- function(monitor) {
  if (is.null(monitor)) {
    return(NULL)
  }
  if (identical(as.vector(monitor), Inf)) {
    abort(c(
      "{.arg monitor} must be finite: an endless release cannot be paid for in advance.",
      x = paste(
        "Such a release would need a limit on each person's total contribution over all periods,",
        "computed from past values each time; a revised value would break this limit undetected."
      ),
      i = "Announce a number of periods. Four times as many periods double the noise of a period."
    ), "monitor")
  }
  number <- is_number(monitor) && monitor == round(monitor) && monitor >= 1 && monitor <= 1000
  if (!number) {
    abort(c(
      "{.arg monitor} must be the number of further periods to pay for, from 1 to 1,000.",
      x = "It is {describe_value(monitor)}."
    ), "monitor")
  }
  as.integer(monitor)
}

#' Budget and steps of a growing release
#' @return As [plan_gram()], with `public`, the facts of the first release, and `id`.
#' @noRd
plan_growing <- function(public) {
  each <- planned(growing_plan_cpp(growing_facts(public)), "so many periods")
  first <- with_share(public, each$share)
  plan <- plan_gram(first)
  months <- each$steps[rep(1:2, public$monitor), ]
  plan$steps <- rbind(plan$steps, months)
  rownames(plan$steps) <- NULL
  plan$cost <- whole_cost(first)
  plan$public <- first
  plan$id <- paste(as.character(state_id_cpp()), collapse = "")
  plan
}

#' @param public (`list`)\cr public facts, with the total `epsilon`.
#' @noRd
growing_facts <- function(public) {
  list(n = public$n, epsilon = public$epsilon, delta = public$delta, periods = public$monitor)
}

#' The first release, and the record of its further periods
#' @return As [run_gram()], with `monitor`, a list: `announced` and `drawn`, numbers of periods;
#'   `epsilon` of the first release; `id`, a hash; `paid` (`flag`: was a ledger charged?); `target`
#'   (T0, scaled units) and `size`; `covariates` of the target (q, scaled units), if any; `periods`,
#'   a list with one release per period: `means` (8), `radius`, `sd`. RELEASED.
#' @noRd
run_growing <- function(plan, donors, public) {
  statistics <- run_gram(plan, donors, plan$public)
  # Two releases from one seed contain the same numbers but are two releases.
  id <- if (identical(public$control$rng, "secure")) {
    monitor_id(statistics, public$paid)
  } else {
    plan$id
  }
  statistics$monitor <- c(list(
    announced = public$monitor, drawn = 0L, epsilon = plan$public$epsilon,
    id = id, paid = public$paid, target = public$y, size = public$sizes, periods = list()
  ), if (!is.null(public$between)) list(covariates = public$between))
  statistics
}

#' The name of a growing release, a hash of the numbers in its first release and of whether a ledger
#' was charged
#'
#' With another name periods could be drawn again, but a file with another name contradicts its
#' numbers.
#' @param statistics (`list`)\cr the statistics of the release. RELEASED.
#' @noRd
monitor_id <- function(statistics, paid) {
  statistics$monitor <- NULL
  numbers_of <- function(x) {
    if (is.list(x)) unlist(lapply(unname(x), numbers_of)) else if (is.numeric(x)) as.double(x)
  }
  # Adding 0 removes the sign of zero.
  numbers <- numbers_of(statistics) + 0
  rlang::hash(list(numbers, isTRUE(paid)))
}

#' Covariates of the mean of several targets, in the mechanism's units, or `NULL`
#' @param covariates (`list` or `NULL`)\cr the covariates of a panel. Its `target` is public.
#' @noRd
mean_between <- function(covariates, size) {
  if (!is.null(covariates)) {
    scaled_covariates(mean_target(covariates$target, size), covariates$columns)[1L, ]
  }
}

#' Draw one more period
#' @param release (`dp_release`).
#' @param base (`list`)\cr from `growing_base()`.
#' @param donors (`matrix` or `dp_chunks`, outcome units)\cr all earlier periods and the new period,
#'   with covariates after the periods before the treatment. PRIVATE.
#' @param scale (`dpsc_bounds`)\cr the bounds of the same periods.
#' @return A list: `means`, `radius`, `sd`. RELEASED.
#' @noRd
draw_period <- function(release, base, donors, scale) {
  q <- NROW(release$panel$covariates)
  growing_release_cpp(
    donors, facts_of_growing(release), base, release$statistics$monitor$periods,
    insert_scale(scale, q, release$panel$T0), release$privacy$rng
  )
}

#' @noRd
facts_of_growing <- function(release) {
  list(
    n = release$panel$n, epsilon = release$privacy$epsilon, delta = release$privacy$delta,
    periods = release$statistics$monitor$announced
  )
}

#' Fault in the growing part of a release, or `NULL`
#' @noRd
growing_problem <- function(release) {
  x <- release$statistics$monitor
  if (is.null(x)) {
    return(NULL)
  }
  is_count <- function(n) is_number(n) && n == round(n) && n >= 0
  fits <- function(one) {
    is.list(one) && is_vector_of(one$means, 8L) &&
      all(vapply(one[c("radius", "sd")], is_amount, NA))
  }
  ok <- is.list(x) && is_count(x$announced) && x$announced >= 1 && is_count(x$drawn) &&
    is.list(x$periods) && length(x$periods) <= x$drawn && x$drawn <= x$announced &&
    length(x$periods) < release$panel$T1 && all(vapply(x$periods, fits, NA)) &&
    is_number(x$epsilon) && x$epsilon > 0 && is_string(x$id) &&
    is_flag(x$paid) && is_vector_of(x$target, release$panel$T0) &&
    is.numeric(x$covariates %||% 0) && all(is.finite(x$covariates)) &&
    length(x$covariates) == NROW(release$panel$covariates) &&
    is.numeric(x$size) && length(x$size) >= 1L && all(x$size >= 1)
  if (!ok) "The announced periods do not match the statistics."
}

#' Are the steps of the announced periods correct, and does their noise agree with the statistics?
#' @noRd
growing_conflict <- function(release) {
  x <- release$statistics$monitor
  if (is.null(x)) {
    return(NULL)
  }
  # Releases of version 0.2.0 and seeded releases have random identifiers.
  named <- at_most_version(release$privacy$version, "0.2.0") || release$privacy$rng != "secure" ||
    identical(x$id, monitor_id(release$statistics, x$paid))
  if (!named) {
    return("The identifier of the growing release does not match its numbers and its ledger.")
  }
  steps <- release$privacy$steps
  count <- 2L * x$announced
  plan <- growing_plan_cpp(facts_of_growing(release))
  made <- plan$steps[rep(1:2, x$announced), ]
  same <- function(column) {
    isTRUE(all.equal(made[[column]], utils::tail(steps[[column]], count)))
  }
  agrees <- function(one) isTRUE(all.equal(one$sd, plan$noise * one$radius))
  first_fault(
    "The noise steps of the announced periods do not match the release." =
      nrow(steps) <= count || !all(vapply(c("law", "scale", "sensitivity"), same, NA)),
    "The noise of the new periods does not match the noise steps." =
      !all(vapply(x$periods, agrees, NA))
  )
}
