#' Any statistic under differential privacy: sample and aggregate
#'
#' People are split at random into disjoint blocks, the statistic is computed on each block, and a
#' private centre of the blocks' answers is released. One person changes only one answer, whether
#' the statistic is a model fit, a correlation, or any other function from rows to a few numbers.
#'
#' The estimand is the statistic *of a block*, a part of the data with `n / blocks` of the n people.
#' With `correct = TRUE` the answer of a block is twice the statistic of the block minus the mean of
#' the statistics of its two halves. This correction removes the part of the small-sample bias that
#' is inversely proportional to the number of people (Quenouille, 1949). Blocks of fewer than four
#' people are not corrected. The remaining bias is not included in the standard error. For means,
#' counts, regressions and selections use [dp_describe()], [dp_stream_sum()], [dp_lm()] and
#' [dp_select()]. Their errors are several times smaller than the errors of `dp_aggregate()`.
#'
#' @section Methods:
#' * `"winsorised"`: first releases the median of the answers and the median distance from this
#'   median, both by the exponential mechanism on a grid, each with a quarter of the statistic's
#'   share of the budget. The number of cells follows from this share and from the number of blocks:
#'   if all answers are equal, a draw finds their cell with probability .98 or more (at most 262,144
#'   cells). It then clips the answers to within six standard deviations of the median (estimated
#'   from the median distance), and releases their mean with discrete Laplace or Gaussian noise.
#'   Several statistics have equal shares of the budget. Limits that are ten times too wide increase
#'   the error only slightly, and skewed answers cause little bias. This method needs about 96 /
#'   epsilon blocks per statistic; with fewer blocks, and if you give neither `method` nor `spread`,
#'   the function uses `"median"` without `spread`.
#' * `"median"`: releases the median over blocks, for each statistic separately, by the exponential
#'   mechanism on 262,144 cells between `lower` and `upper`. Limits that are ten times too wide
#'   increase the error only slightly.
#' * `"mean"`: releases the mean of the clipped answers with discrete Laplace noise (`delta = 0`) or
#'   Gaussian noise, as in Thakurta (2013, section 3.2.1). The noise is proportional to the width of
#'   the limits.
#'
#' @section The statistic: The statistic must use its argument only. The statistic must not read the
#' whole table from the workspace, nor values stored by another block (`<<-`, files). Every block
#' starts from a new random seed. Factors become text, since levels depend on all people, and
#' attributes other than the class of dates are removed. If the statistic fails or does not return
#' `length(lower)` numbers, the answer of that block is `fallback`, which also replaces single
#' numbers that are `NA`. A statistic that always fails therefore spends the budget and releases
#' `fallback`, with a warning if the released numbers show the failure. To prevent such a charge,
#' give `example`: simulated rows on which the statistic must work before anything is charged. If
#' `lower` and `upper` have no names, the names of the answer for `example` become the names of the
#' statistics. The computing time of the statistic is not protected.
#'
#' @section Intervals: Intervals need the released spread over blocks: method `"winsorised"`, or
#' `"median"` with `spread`. They are not available if a block contains fewer than 30 people, or if
#' the number of blocks is too small for the noise. The printed result gives the reason. In
#' simulations with 10,000 people and epsilon = 1 the coverage was .85 (standard deviations of
#' lognormal data) to .99 (`bench/results/aggregate.csv`). Coverage can be lower than in these
#' simulations for a statistic with heavy tails in small samples.
#'
#' @param data (`data.frame`, `matrix` or `vector`, PRIVATE)\cr one row or entry per person.
#'   `person = ~ id` requires a data frame.
#' @param statistic (`function`)\cr a function that takes the rows of a block's people and returns
#'   `length(lower)` numbers.
#' @param blocks (`count` or `NULL`, PUBLIC)\cr number of blocks. `NULL`: at least 30 blocks, and
#'   enough blocks for little noise (for one statistic about 192 / epsilon by `"winsorised"`, 240 /
#'   epsilon by `"median"` with `spread`, 50 / epsilon by `"mean"`), but no more than one block per
#'   30 people, and at least two blocks.
#' @param lower,upper (`numeric`, PUBLIC)\cr limits of each statistic, in its units; answers are
#'   clipped to these limits. The names of `lower`, or otherwise of `upper`, become the names of the
#'   statistics.
#' @param epsilon (`number`)\cr privacy loss. `Inf`: NOT PRIVATE.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With a positive value the noise of
#'   `"mean"` is Gaussian, which reduces it if there are several statistics. The other methods use
#'   `delta` only if it reduces their noise, as it does for many statistics; otherwise the guarantee
#'   has `delta = 0`.
#' @param method (`string`)\cr see Methods.
#' @param spread (`flag`)\cr for `"median"` only: whether to release also the quartiles over blocks,
#'   from which standard errors are computed. The median and each quartile then use a third of the
#'   budget.
#' @param correct (`flag`)\cr whether to reduce small-sample bias by means of the two halves of each
#'   block.
#' @param fallback (`numeric`, PUBLIC)\cr answer of a block if the statistic fails. `NULL`: the
#'   middle of the limits.
#' @param example (`any`, PUBLIC)\cr simulated rows like `data`.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people. All
#'   rows of a person are then in one block, halves and counts refer to people, and neighbouring
#'   data sets arise by replacing all rows of one person. `statistic` receives all rows of the
#'   block's people, including the column of identifiers. `"row"`, also assumed for `NULL`: each row
#'   is a different person. See [dp_person].
#' @param ... unused; an unknown argument causes an error.
#' @return An object of class `dp_aggregate`:
#'   * `estimate`: one number per statistic. RELEASED.
#'   * `quantiles`: the quartiles over blocks (with `spread`), or the median and the standard
#'     deviation over blocks (method `"winsorised"`). RELEASED.
#'   * `std.error`, `privacy.se`: standard errors as in [dp_aggregate-methods], or `NA` if no spread
#'     over blocks was released, if the budget does not identify the statistic (`plan$identified`),
#'     or if blocks are too small. With `"mean"` only `std.error` is `NA`. RELEASED.
#'   * `release`: the noisy numbers from which the other results are computed, on the scale where
#'     the width of the limits is 1. RELEASED.
#'   * `plan`: blocks, limits and cost. PUBLIC.
#'   * `privacy`: budget, definition of neighbours, theorem, and whether the privacy guarantee
#'     holds. PUBLIC.
#'
#'   The object contains neither rows, nor answers of blocks, nor the statistic.
#' @section Privacy:
#' In neighbouring data sets one person's row is replaced, or with `person = ~ id` all rows of one
#' person. The number of people is public. Each person is in one block, so between neighbours one
#' row of the table of answers changes. `"median"` is the exponential mechanism on ranks and gives
#' pure differential privacy: the error of each cell's rank changes by at most one, upwards on one
#' side of the median and downwards on the other. `"mean"` is the Laplace or the Gaussian mechanism,
#' and `"winsorised"` is the adaptive composition of exponential and additive mechanisms. The proof
#' is in `proofs/papers.md`, section 1.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`,
#'   `dpsc_error_budget`. These errors depend only on public facts and on the statistic of your
#'   `example`. The warning `dpsc_warning_fallback` depends on released numbers.
#' @references
#' Nissim, K., Raskhodnikova, S. and Smith, A. (2007). Smooth Sensitivity and Sampling in Private
#' Data Analysis. STOC.
#'
#' Smith, A. (2011). Privacy-preserving Statistical Estimation with Optimal Convergence Rates. STOC.
#'
#' Quenouille, M. H. (1949). Approximate Tests of Correlation in Time-Series. Journal of the Royal
#' Statistical Society B 11.
#'
#' Thakurta, A. (2013). Differentially Private Convex Optimization for Empirical Risk Minimization
#' and High-dimensional Regression. Pennsylvania State University.
#' @examples
#' n <- 5000
#' people <- data.frame(income = rlnorm(n, 10), age = runif(n, 18, 90))
#' ratio <- function(rows) c(quantile(rows$income, 0.9) / median(rows$income))
#' found <- dp_aggregate(people, ratio,
#'   lower = c(ratio = 1), upper = 20, epsilon = 1,
#'   example = data.frame(income = c(1, 2, 3), age = 20)
#' )
#' found
#' tidy(found, conf.int = TRUE)
#' @export
dp_aggregate <- function(data, statistic, blocks = NULL, lower, upper, epsilon, delta = 0,
                         method = "winsorised", spread = method == "median", fallback = NULL,
                         example = NULL, correct = TRUE, ledger = NULL, control = dp_control(),
                         person = NULL, ...) door("dp_aggregate", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(data), "data", "one row per person")
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  check_given(missing(lower), "lower", "the public lower limit of each statistic")
  check_given(missing(upper), "upper", "the public upper limit of each statistic")
  if (!is.function(statistic)) {
    abort(c(
      "{.arg statistic} must be a function of a block's rows.", x = "It is {describe(statistic)}."
    ), "argument")
  }
  chosen <- !missing(method) || !missing(spread)
  # Quartiles over blocks exist for method median only.
  if (missing(method) && chosen) method <- "median"
  method <- check_choice(method, names(mechanism_table$dp_aggregate))
  record <- mechanism_table$dp_aggregate[[method]]
  spread <- check_flag(spread) && record$by_rank
  correct <- check_flag(correct)
  budget <- checked_budget(epsilon, delta, ledger, control)
  limits <- aggregate_limits(lower, upper, fallback)
  if (!is.null(example)) limits$names <- check_example(statistic, example, limits)
  refuse_source(data, record$needs, "{.fn dp_aggregate}")
  person <- check_person(person, record, method, data)
  given <- data
  data <- plain_rows(given)
  # Plain numbers would merge people whose 64-bit identifiers differ in the last digits.
  rows <- rows_of_people(if (is.null(person$column)) data else given, person)
  public <- c(budget, list(budget = budget, chosen = chosen, statistic = statistic))
  public["person"] <- list(person)
  public$facts_of <- function(method, spread) {
    facts <- aggregate_facts(rows$n, blocks, limits, method, spread, budget)
    facts$correct <- correct
    facts["person"] <- list(person)
    facts
  }
  public[c("method", "spread")] <- list(method, spread)
  people <- list(data = data, rows = rows$of)
  made <- make_release(new_request(aggregate_record(), public, people, ledger))
  out <- new_aggregate(made$drawn, made$plan$facts, made$plan, made$promise)
  warn_of_fallback(out)
  with_charge(out, made$charge)
})

#' @noRd
aggregate_record <- function() {
  list(
    plan = function(request) {
      public <- request$public
      plan_of <- function(method, spread) {
        facts <- public$facts_of(method, spread)
        c(aggregate_plan(facts, public$budget), list(facts = facts))
      }
      plan <- plan_of(public$method, public$spread)
      # If the blocks are too few for three numbers, by public facts, the whole budget pays for one
      # number.
      if (!public$chosen && !plan$identified) plan_of("median", FALSE) else plan
    },
    promise = function(request, plan) aggregate_promise(request$public$budget, plan, plan$facts),
    label = function(request, plan) "sample and aggregate",
    run = function(request, plan, rows) {
      public <- request$public
      facts <- plan$facts
      drawn <- aggregate_order_cpp(facts$n, 3L * facts$blocks, public$rng)
      answers <- block_answers(
        rows$data, public$statistic, facts, drawn$order, drawn$seeds, rows$rows
      )
      if (!public$private) {
        return(raw_aggregate(answers, facts$core))
      }
      aggregate_release_cpp(answers, facts$core, public$rng)
    }
  )
}

aggregate_limits <- function(lower, upper, fallback) {
  size <- max(length(lower), length(upper))
  ok <- is.numeric(lower) && is.numeric(upper) && size > 0L &&
    all(c(length(lower), length(upper)) %in% c(1L, size)) && all(is.finite(c(lower, upper))) &&
    all(lower < upper) && all(is.finite(upper - lower))
  if (!ok) {
    abort(c(
      paste(
        "{.arg lower} and {.arg upper} must contain one finite limit per statistic, with each",
        "lower limit below the upper limit."
      ),
      x = "They are {describe_value(lower)} and {describe_value(upper)}."
    ), "bounds")
  }
  given <- names(lower) %||% names(upper)
  named <- length(given) == size
  names <- if (named) given else paste0("statistic", if (size > 1L) seq_len(size))
  lower <- rep_len(as.double(lower), size)
  upper <- rep_len(as.double(upper), size)
  middle <- lower + (upper - lower) / 2
  fallback <- fallback %||% middle
  if (!is.numeric(fallback) || !length(fallback) %in% c(1L, size) ||
      !all(is.finite(fallback)) || any(fallback < lower | fallback > upper)) {
    abort(c(
      "{.arg fallback} must be numbers within the limits, one per statistic.",
      x = "It is {describe_value(fallback)}."
    ), "bounds")
  }
  list(
    names = as.character(names), named = named, lower = lower, upper = upper,
    fallback = rep_len(as.double(fallback), size)
  )
}

#' @return A list: `n`, `blocks`, limits, `method`, `core` (arguments for the core). PUBLIC.
#' @noRd
aggregate_facts <- function(n, blocks, limits, method, spread, budget) {
  if (n < 4L) abort("{.arg data} must have rows of at least four people.", "data")
  record <- mechanism_table$dp_aggregate[[method]]
  core <- list(
    blocks = 2, names = limits$names, epsilon = budget$epsilon, delta = budget$delta,
    mean = record$mean, located = record$located,
    percents = if (spread) c(50L, 25L, 75L) else 50L
  )
  if (is.null(blocks)) {
    wanted <- if (budget$private) default_blocks(core) else 30
    blocks <- max(2, min(max(30, wanted), floor(n / least_block)))
  } else {
    blocks <- check_count(blocks, 2, n)
  }
  core$blocks <- as.double(blocks)
  c(list(n = n, blocks = blocks, method = method, spread = spread, core = core), limits)
}

# In smaller blocks, a statistic's small-sample bias is no longer small relative to its error.
least_block <- 30

#' Number of blocks beyond the outermost released quantile, in units of the noise on ranks
#'
#' For a value v, a cell beyond all answers has weight exp(-v) relative to a cell at the quantile.
#' Method `"winsorised"` has the number of cells that keeps a remote cell rare, so at least 6 is
#' needed for 12 cells; `"median"` has 262,144 cells.
#' @noRd
clearance <- function(core, exponent, blocks) {
  exponent * blocks * min(core$percents) / 100
}

default_blocks <- function(core) {
  if (core$mean) {
    return(ceiling(50 * length(core$names) / core$epsilon))
  }
  plan <- planned(aggregate_plan_cpp(core), "this statistic")
  ceiling((if (core$located) 12 else 10) / clearance(core, plan$exponent, 1))
}

#' Budget of an aggregate, and its noise in ranks
#' @noRd
aggregate_plan <- function(facts, budget) {
  if (!budget$private) {
    return(list(cost = NULL, ranks = 0, identified = TRUE, cells = 18))
  }
  plan <- planned(aggregate_plan_cpp(facts$core), "this statistic")
  spent <- if (plan$gaussian) sqrt(sum(plan$steps$mu^2)) else sum(plan$steps$epsilon)
  stopifnot(spent <= plan$total * (1 + 1e-9))
  plan$cost <- new_cost("gdp", budget$epsilon, mu = plan$total, pure = !plan$gaussian)
  plan$ranks <- mechanism_table$dp_aggregate[[facts$method]]$ranks(plan)
  # Method median without quartiles releases no standard deviation, so the error is unknown.
  needed <- if (facts$core$located || facts$spread) 6 else 10
  plan$identified <- facts$core$mean ||
    clearance(facts$core, plan$exponent, facts$blocks) >= needed
  plan
}

aggregate_promise <- function(budget, plan, facts) {
  gaussian <- isTRUE(plan$gaussian)
  theorem <- mechanism_table$dp_aggregate[[facts$method]]$theorem(gaussian)
  privacy_facts(budget,
    delta = if (gaussian) budget$delta else 0, neighbours = person_neighbours(facts$person),
    steps = plan$steps, theorem = paste(theorem, "(proofs/papers.md)")
  )
}

#' @return The names of the statistics, from the limits or otherwise from the answer. PUBLIC.
#' @noRd
check_example <- function(statistic, example, limits) {
  state <- hold_state()
  between_blocks(state)
  part <- plain_rows(example)
  answer <- quiet_answer(statistic, part, length(limits$lower))
  given <- if (!anyNA(answer)) tryCatch(names(statistic(part)), error = function(e) NULL)
  restore_state(state)
  if (anyNA(answer)) {
    abort(c(
      paste(
        "For {.arg example}, {.arg statistic} fails or does not return",
        "{length(limits$lower)} number{?s}."
      )
    ), "argument")
  }
  if (limits$named || is.null(given)) limits$names else given
}

#' The aggregate without noise: NOT PRIVATE
#' @noRd
raw_aggregate <- function(answers, core) {
  if (core$mean || core$located) {
    middle <- apply(answers, 2L, stats::median)
    return(cbind(colMeans(answers), middle, apply(answers, 2L, stats::sd), deparse.level = 0))
  }
  t(apply(answers, 2L, stats::quantile, probs = core$percents / 100, names = FALSE))
}

new_aggregate <- function(released, facts, plan, promise) {
  width <- facts$upper - facts$lower
  released <- matrix(released, length(width))
  none <- rep(NA_real_, length(width))
  values <- facts$lower + width * pmin(pmax(released, 0), 1)
  out <- list(
    estimate = stats::setNames(values[, 1L], facts$names), quantiles = NULL,
    std.error = none, privacy.se = none, nobs = facts$n, method = facts$method,
    plan = c(
      facts[c("blocks", "lower", "upper", "fallback", "spread", "correct")], facts["person"],
      plan[c("ranks", "identified", "cells")],
      list(large = floor(facts$n / facts$blocks) >= least_block, delta = facts$core$delta)
    ),
    release = released, privacy = promise
  )
  errors <- aggregate_errors(released, values, width, facts, plan)
  if (!is.null(errors$quantiles)) {
    out$quantiles <- errors$quantiles
    rownames(out$quantiles) <- facts$names
  }
  if (plan$identified && out$plan$large && !is.null(errors$std.error)) {
    out[c("std.error", "privacy.se")] <- errors[c("std.error", "privacy.se")]
  } else if (promise$private && facts$core$mean) {
    noise <- mechanism_table$dp_aggregate[[facts$method]]$noise(plan)
    out$privacy.se <- width * noise / facts$blocks
  }
  structure(out, class = "dp_aggregate")
}

#' Released standard deviation over blocks, and the resulting standard errors
#' @noRd
aggregate_errors <- function(released, values, width, facts, plan) {
  if (facts$core$located) {
    spread <- width * released[, 3L]
    noise <- if (is.null(plan$scale)) 0 else added_deviation(plan)
    privacy <- pmin(width, 6 * spread) * noise / facts$blocks
    # The relative error of the standard deviation is about one sixth, so its square may be 1.2
    # times too small.
    return(list(
      quantiles = cbind(median = values[, 2L], spread = spread), privacy.se = privacy,
      std.error = sqrt(1.2 * (spread^2 / facts$blocks + privacy^2))
    ))
  }
  if (!facts$spread) {
    return(NULL)
  }
  one <- pmax(values[, 3L] - values[, 2L], 0) / diff(stats::qnorm(c(0.25, 0.75)))
  # The standard error of the median of k answers is 1.25 times the standard error of their mean.
  # One rank corresponds to the inverse density at the median.
  privacy <- plan$ranks * one * sqrt(2 * pi) / facts$blocks
  list(
    quantiles = cbind("25%" = values[, 2L], "75%" = values[, 3L]), privacy.se = privacy,
    std.error = sqrt((1.25 * one)^2 / facts$blocks + privacy^2)
  )
}

#' Was the standard deviation over blocks released?
#' @noRd
has_spread <- function(x) !is.null(x$quantiles)
