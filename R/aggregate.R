#' Any statistic under differential privacy: sample and aggregate
#'
#' The people are split at random into disjoint blocks, the statistic is computed on each, and a
#' middle of the answers is released. One person moves one answer, whatever the statistic is: it may
#' be a model fit, a correlation, anything that takes rows and gives a few numbers.
#'
#' What is estimated is the statistic *of a block* of `n / blocks` people, so what has a bias in
#' small samples keeps it. Means, counts, regressions have mechanisms of their own ([dp_lm()],
#' [dp_stream_sum()], [dp_select()]) that are several to many times more accurate.
#'
#' @section Methods:
#' * `"median"`: the median over blocks, each statistic on its own, by the exponential mechanism on
#'   262,144 cells between `lower` and `upper`. A box ten times too wide costs little.
#' * `"mean"`: the mean of the clipped answers plus discrete Laplace (`delta = 0`) or Gaussian
#'   noise, as in Thakurta (2013, section 3.2.1). Its noise is as wide as the box.
#'
#' @section The statistic:
#' It must look at nothing but its argument: not at the whole table in the workspace, and it must
#' not keep anything from one block for the next (`<<-`, files). Random numbers start from fresh
#' seeds in every block; factors come as text and attributes are dropped, since levels know of
#' everybody. Where it fails, gives something else than `length(lower)` numbers, or `NA`, the answer
#' of that block is `fallback`. So a mistake in the statistic costs the budget and releases
#' `fallback`: give `example`, made-up rows on which it has to work first. How long it takes is not
#' protected.
#'
#' @param data (`data.frame`, `matrix` or `vector`, PRIVATE)\cr one row (entry) a person.
#' @param statistic (`function`)\cr of some people's rows; returns `length(lower)` numbers.
#' @param blocks (`count` or `NULL`, PUBLIC)\cr how many blocks; `NULL`: so many that released
#'   quantiles stand clear of the noise (240 / epsilon for one statistic with its spread), 30 at
#'   least and half of the people at most.
#' @param lower,upper (`numeric`, PUBLIC)\cr limits of each statistic, in its units; answers are
#'   moved into them. Their names are the statistics' names.
#' @param epsilon (`number`)\cr privacy loss. `Inf`: NOT PRIVATE.
#' @param delta (`number`, in \[0, 1))\cr failure probability. It helps `"mean"` with several
#'   statistics, and `"median"` with many.
#' @param method (`string`)\cr see Methods.
#' @param spread (`flag`)\cr also release the quartiles over blocks, from which
#'   standard errors follow: a third of the budget each. Only `"median"`.
#' @param fallback (`numeric`, PUBLIC)\cr answer of a block where the statistic fails; `NULL`: the
#'   middle of the limits.
#' @param example (`any`, PUBLIC)\cr made-up rows like `data`.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before anything is drawn.
#' @param control (`dp_control`)\cr only `rng` is used.
#' @return An object of class `dp_aggregate`:
#'   * `estimate`: one number a statistic. RELEASED.
#'   * `quantiles`: with `spread`, the quartiles over blocks. RELEASED.
#'   * `std.error`, `privacy.se`: see [tidy.dp_aggregate()]; `NA` where the budget does not identify
#'     the statistic (`plan$identified`). RELEASED.
#'   * `plan`, `privacy`: blocks, limits, cost; neighbours, theorem, whether it holds. PUBLIC.
#'
#'   It holds no row, no answer of a block, and not the statistic.
#' @section Privacy:
#' Neighbours replace one person's row; the number of rows is public. One row lies in one block, so
#' one row of the table of answers is replaced. `"median"`: exponential mechanism on ranks, each
#' loss moves by one rank at most, up on one side and down on the other; pure. `"mean"`: Laplace or
#' Gaussian mechanism. Proof: `proofs/papers.md`, section 1.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`,
#'   `dpsc_error_budget`; from public facts, and from the statistic of your `example`.
#' @references
#' Nissim, K., Raskhodnikova, S. and Smith, A. (2007). Smooth Sensitivity and Sampling in Private
#' Data Analysis. STOC.
#'
#' Smith, A. (2011). Privacy-preserving Statistical Estimation with Optimal Convergence Rates. STOC.
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
                         method = c("median", "mean"), spread = method == "median",
                         fallback = NULL, example = NULL, ledger = NULL, control = dp_control()) {
  call <- public_call("dp_aggregate")
  check_given(missing(data), "data", "one row a person", call)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept", call)
  check_given(missing(lower) || missing(upper), "lower, upper", "public limits of the statistic",
    call)
  if (!is.function(statistic)) {
    abort(c(
      "{.arg statistic} must be a function of rows.", x = "It is {describe(statistic)}."
    ), "argument", call)
  }
  method <- check_choice(method, c("median", "mean"), call = call)
  spread <- check_flag(spread, call = call) && aggregate_methods()[[method]]$by_rank
  budget <- checked_budget(epsilon, delta, ledger, control, call)
  limits <- aggregate_limits(lower, upper, fallback, call)
  data <- plain_rows(data, call)
  facts <- aggregate_facts(rows_of_data(data), blocks, limits, method, spread, budget, call)
  plan <- aggregate_plan(facts, budget, call)
  if (!is.null(example)) check_example(statistic, example, facts, call)
  promise <- aggregate_promise(budget, plan, facts)
  if (budget$private) spend(ledger, plan$cost, "sample and aggregate", call, promise)
  drawn <- aggregate_order_cpp(facts$n, facts$blocks, budget$rng)
  answers <- block_answers(data, statistic, facts, drawn$order, drawn$seeds)
  released <- if (budget$private) {
    aggregate_release_cpp(answers, facts$core, budget$rng)
  } else {
    raw_aggregate(answers, facts$core)
  }
  new_aggregate(released, facts, plan, promise)
}

#' What is taken of the blocks' answers, a record each
#'
#' `by_rank`: are quantiles chosen, or answers added up? `theorem` (function of: is the noise
#' Gaussian?); `ranks` and `noise` (functions of a plan): how many ranks the noise is worth, and its
#' deviation on the sum of the answers, in widths of the limits; `NA` where there is none.
#' @noRd
aggregate_methods <- function() {
  list(
    median = list(
      by_rank = TRUE,
      theorem = function(gaussian) "exponential mechanism on ranks of disjoint blocks",
      # Ranks of the released median are off by about a Laplace draw of scale 1 / exponent.
      ranks = function(plan) sqrt(2) / plan$exponent, noise = function(plan) NA_real_
    ),
    mean = list(
      by_rank = FALSE,
      theorem = function(gaussian) {
        paste(if (gaussian) "Gaussian" else "Laplace", "mechanism on answers of disjoint blocks")
      },
      ranks = function(plan) NA_real_,
      noise = function(plan) {
        (if (plan$gaussian) sqrt(plan$scale) else sqrt(2) * plan$scale) / 2^plan$grid
      }
    )
  )
}

aggregate_limits <- function(lower, upper, fallback, call) {
  size <- max(length(lower), length(upper))
  ok <- is.numeric(lower) && is.numeric(upper) && size > 0L &&
    all(c(length(lower), length(upper)) %in% c(1L, size)) && all(is.finite(c(lower, upper))) &&
    all(lower < upper) && all(is.finite(upper - lower))
  if (!ok) {
    abort(c(
      "{.arg lower} and {.arg upper} must be finite numbers, one a statistic, lower below upper.",
      x = "They are {describe(lower)} and {describe(upper)}."
    ), "bounds", call)
  }
  names <- names(lower) %||% names(upper)
  if (is.null(names) || length(names) != size) {
    names <- if (size == 1L) "statistic" else paste0("statistic", seq_len(size))
  }
  lower <- rep_len(as.double(lower), size)
  upper <- rep_len(as.double(upper), size)
  middle <- lower + (upper - lower) / 2
  fallback <- fallback %||% middle
  if (!is.numeric(fallback) || !length(fallback) %in% c(1L, size) ||
      !all(is.finite(fallback)) || any(fallback < lower | fallback > upper)) {
    abort(c(
      "{.arg fallback} must be numbers within the limits, one a statistic.",
      x = "It is {describe(fallback)}."
    ), "bounds", call)
  }
  list(
    names = as.character(names), lower = lower, upper = upper,
    fallback = rep_len(as.double(fallback), size)
  )
}

#' @return A list: `n`, `blocks`, limits, `method`, `core` (what the core is told). PUBLIC.
#' @noRd
aggregate_facts <- function(n, blocks, limits, method, spread, budget, call) {
  if (n < 4L) abort("{.arg data} must have four rows at least.", "data", call)
  by_rank <- aggregate_methods()[[method]]$by_rank
  core <- list(
    blocks = 2, names = limits$names, epsilon = budget$epsilon, delta = budget$delta,
    mean = !by_rank, percents = if (spread) c(50L, 25L, 75L) else 50L
  )
  if (is.null(blocks)) {
    wanted <- if (budget$private) default_blocks(core, call) else 30
    blocks <- min(max(30, wanted), floor(n / 2))
  } else {
    blocks <- check_count(blocks, 2, n, call = call)
  }
  core$blocks <- as.double(blocks)
  c(list(n = n, blocks = blocks, method = method, spread = spread, core = core), limits)
}

#' Blocks beyond the outermost released quantile, in units of the noise on ranks
#'
#' A cell beyond all answers is drawn with a weight of exp(-this) against one at the quantile; the
#' box has 262,144 cells. From 6 on the intervals cover (simulated, boxes of 20 to 1,000 spreads).
#' @noRd
clearance <- function(core, exponent, blocks) {
  exponent * blocks * min(core$percents) / 100
}

default_blocks <- function(core, call) {
  if (core$mean) {
    return(ceiling(50 * length(core$names) / core$epsilon))
  }
  ceiling(10 / clearance(core, planned_draws(core, call)$exponent, 1))
}

#' What an aggregate spends, and how many ranks its noise is worth
#' @noRd
aggregate_plan <- function(facts, budget, call) {
  if (!budget$private) {
    return(list(cost = NULL, ranks = 0, identified = TRUE))
  }
  plan <- planned_draws(facts$core, call)
  spent <- if (plan$gaussian) sqrt(sum(plan$steps$mu^2)) else sum(plan$steps$epsilon)
  stopifnot(spent <= plan$total * (1 + 1e-9))
  plan$cost <- if (plan$gaussian) {
    new_cost("gdp", epsilon = budget$epsilon, mu = plan$total)
  } else {
    new_cost("pure", epsilon = budget$epsilon)
  }
  plan$ranks <- aggregate_methods()[[facts$method]]$ranks(plan)
  plan$identified <- facts$core$mean ||
    clearance(facts$core, plan$exponent, facts$blocks) >= 6
  plan
}

planned_draws <- function(core, call) {
  tryCatch(aggregate_plan_cpp(core), `dpsc::budget_too_small` = function(e) {
    abort(c(
      "{.arg epsilon} is too small: the noise would not fit the exact sampler.",
      i = "Nothing was released and nothing was spent."
    ), "argument", call)
  })
}

aggregate_promise <- function(budget, plan, facts) {
  list(
    private = budget$private, holds = is_kept(budget),
    reason = unkept_reason(budget),
    epsilon = budget$epsilon, delta = if (isTRUE(plan$gaussian)) budget$delta else 0,
    rho = NA_real_, neighbours = "replace one person's row", steps = plan$steps,
    theorem = paste0(
      aggregate_methods()[[facts$method]]$theorem(isTRUE(plan$gaussian)), " (proofs/papers.md)"
    ), rng = budget$rng, exact = TRUE, version = own_version()
  )
}

check_example <- function(statistic, example, facts, call) {
  state <- hold_state()
  between_blocks(state)
  answer <- quiet_answer(statistic, plain_rows(example, call), length(facts$lower))
  restore_state(state)
  if (anyNA(answer)) {
    abort(c(
      "{.arg statistic} does not give {length(facts$lower)} number{?s} on {.arg example}.",
      i = "Nothing was released and nothing was spent."
    ), "argument", call)
  }
}

#' Without noise: NOT PRIVATE
#' @noRd
raw_aggregate <- function(answers, core) {
  if (core$mean) {
    return(matrix(colMeans(answers)))
  }
  t(apply(answers, 2L, stats::quantile, probs = core$percents / 100, names = FALSE))
}

new_aggregate <- function(released, facts, plan, promise) {
  width <- facts$upper - facts$lower
  values <- facts$lower + width * matrix(released, length(width))
  out <- list(
    estimate = stats::setNames(values[, 1L], facts$names), quantiles = NULL,
    std.error = rep(NA_real_, length(width)), privacy.se = rep(NA_real_, length(width)),
    nobs = facts$n, method = facts$method,
    plan = c(
      facts[c("blocks", "lower", "upper", "fallback", "spread")], plan[c("ranks", "identified")]
    ),
    privacy = promise
  )
  if (facts$spread) {
    out$quantiles <- values[, 2:3, drop = FALSE]
    dimnames(out$quantiles) <- list(facts$names, c("25%", "75%"))
  }
  if (facts$spread && plan$identified) {
    one <- pmax(values[, 3L] - values[, 2L], 0) / diff(stats::qnorm(c(0.25, 0.75)))
    # The median of k answers has 1.25 times the error of their mean; a rank is one over the
    # density at the median.
    out$privacy.se <- plan$ranks * one * sqrt(2 * pi) / facts$blocks
    out$std.error <- sqrt((1.25 * one)^2 / facts$blocks + out$privacy.se^2)
  } else if (promise$private) {
    out$privacy.se <- width * aggregate_methods()[[facts$method]]$noise(plan) / facts$blocks
  }
  structure(out, class = "dp_aggregate")
}
