# The methods of dp_select(), with one record each, which contains everything that depends on the
# method.

#' Record of a method of selection
#'
#' @param core (`string`)\cr the name of the method in the core.
#' @param theorem (`string`)\cr the theorem of `proofs/selection.md` that proves its privacy.
#' @param shares (`function`: facts, budget)\cr the split of a private budget: `exponent` (epsilon
#'   of one choice) and `rho_step`, or `select_rho`, which determines both; `epsilon` and `delta` of
#'   a test; `fit_rho`, `rho`, `cost`.
#' @param pick (`function`: candidates, method, constants, shares, rng)\cr the selection.
#' @param ... fields that differ from the defaults:
#'   * `picks` (`function`: constants), `sums` (`function`: constants, location): the number of
#'     choices that are drawn, and the number of sums that are released besides.
#'   * `blocks` (`function`: n): disjoint blocks of rows that vote.
#'   * `check` (`function`: facts): refuses unsupported requests.
#'   * `complete` (`function`: constants, facts): the checked constants of the method.
#'   * `subsets` (`function`): constants of random subsets, see [subset_constants()].
#'   * `person` (`string`): the access to rows that the method needs for people with several rows,
#'     for ranks and votes of blocks.
#'   * `locates` (`string`): the variables with private medians and scales, which are `"all"`
#'     numeric variables (before the choices), the `"picked"` variables, or `"none"`.
#'   * `hurdle` (`string`): the quantity that decides a choice and has a known smallest detectable
#'     value, the clipped `"covariance"` or the `"rank correlation"`; otherwise `"none"`.
#'   * `assumes` (`string` or `NULL`): uncertified assumptions of the theorem.
#' @noRd
selector <- function(core, theorem, shares, pick, ...) {
  fields <- with_fields(list(
    core = core, theorem = paste0(theorem, " (proofs/selection.md)"), shares = shares,
    pick = pick,
    picks = function(constants) constants$size, sums = function(constants, location) 0,
    blocks = function(n) max(2, floor(n / 50)), check = function(facts) NULL,
    complete = function(constants, facts) constants, subsets = function(...) NULL,
    locates = "none", hurdle = "none", assumes = NULL, person = NULL
  ), list(...))
  do.call(new_mechanism, c(list("dp_select", title = "a selection", needs = "rows"), fields))
}

solver_assumption <- paste(
  "the computed minimiser is as close to the exact minimiser as its optimality conditions imply,",
  "up to an allowance for rounding errors that is asserted and not certified"
)

#' Methods that choose variables, or supports, one after the other
#' @noRd
choosing <- function(core, theorem, ...) {
  selector(core, theorem, choice_shares, pick_by_choices, ...)
}

#' Methods that propose a support, test its stability, and release it or abstain
#' @noRd
testing <- function(core, theorem, ...) {
  selector(core, theorem, test_shares, pick_by_test, ...)
}

#' The methods by name
#' @noRd
selectors <- function() {
  list(
    ranks = selector("ranks",
      "exponential mechanism on rank correlations with residuals, Theorem 1a",
      choice_shares, pick_by_ranks,
      sums = function(constants, location) rank_sums(constants$size, location),
      locates = "picked", hurdle = "rank correlation", person = "rows"
    ),
    pursuit = choosing("pursuit",
      "exponential mechanism on clipped residual correlations, Theorem 1",
      sums = function(constants, location) constants$size + constants$intercept,
      locates = "all", hurdle = "covariance"
    ),
    gram = selector("gram",
      "moments with Gaussian noise; selection is post-processing", moment_shares, pick = NULL,
      check = check_gram_candidates, locates = "all"
    ),
    screening = choosing("screening",
      "peeling by the exponential mechanism, Theorem 1",
      sums = function(constants, location) as.numeric(constants$intercept),
      locates = "all", hurdle = "covariance"
    ),
    votes = choosing("votes",
      "exponential mechanism on votes of disjoint blocks, Theorem 2", person = "rows"
    ),
    `frank-wolfe` = choosing("frank-wolfe",
      "exponential mechanism on vertices, Theorem 1", complete = iterations_for_size,
      locates = "all"
    ),
    exhaustive = choosing("exhaustive",
      "exponential mechanism over supports, Theorem 5", picks = function(constants) 1,
      check = check_supports
    ),
    blocks = testing("blocks",
      "propose, test, release on votes of disjoint blocks, Theorem 2", blocks = function(n) 80,
      person = "rows"
    ),
    subsamples = testing("subsamples",
      "propose, test, release on votes of overlapping subsets, Theorem 2",
      subsets = subset_constants, person = "rows"
    ),
    stability = testing("stability",
      "propose, test, release with the k-step certificate, Theorem 4", complete = check_psi,
      assumes = solver_assumption
    ),
    lasso = testing("lasso",
      "propose, test, release with the repaired LASSO test, Theorem 3", complete = check_psi,
      assumes = solver_assumption
    )
  )
}

# Shares -------------------------------------------------------------------------------------------

#' Shares of a choice and of the refit, which uses the remaining budget
#' @noRd
selection_share <- function(facts) if (facts$refit) facts$share else 1

choice_shares <- function(facts, budget) {
  share <- selection_share(facts)
  list(
    select_rho = share * budget$rho, epsilon = 0, delta = 0, fit_rho = (1 - share) * budget$rho,
    rho = budget$rho, cost = budget$cost
  )
}

test_shares <- function(facts, budget) {
  share <- selection_share(facts)
  list(
    exponent = 0, rho_step = 0, epsilon = share * budget$epsilon, delta = share * budget$delta,
    fit_rho = if (facts$refit) {
      cdp_rho_cpp((1 - share) * budget$epsilon, (1 - share) * budget$delta)
    } else {
      0
    },
    rho = NA_real_,
    cost = new_cost("approximate", epsilon = budget$epsilon, delta = budget$delta)
  )
}

moment_shares <- function(facts, budget) {
  list(
    exponent = 0, rho_step = 0, epsilon = 0, delta = 0, fit_rho = budget$rho, rho = budget$rho,
    cost = budget$cost
  )
}

# Share of the budget of the choices that the sums released beside them receive.
sums_share <- 0.15

#' Sums besides the choices by ranks: a step after each pick except the last, and the mean of the
#' outcome
#' @noRd
rank_sums <- function(size, location) {
  if (is.null(location)) 0 else location$steps * (size - 1) + location$centred
}

# Picks --------------------------------------------------------------------------------------------

pick_by_choices <- function(candidates, method, constants, shares, rng) {
  select_pick_cpp(candidates, method, constants, rng)
}

#' @return The picks, with attribute `location`: `median` and `scale` of all columns.
#' @noRd
pick_by_ranks <- function(candidates, method, constants, shares, rng) {
  location <- shares$location
  exact <- is.infinite(constants$exponent)
  facts <- c(constants[c("size", "exponent", "rho_step")], list(
    location = location$exponent %||% 0, locate_picks = location$picks %||% FALSE,
    steps = location$steps %||% exact, centred = location$centred %||% exact
  ))
  if (exact) facts$rho_step <- Inf
  half <- which(constants$zero_one)
  candidates[, half] <- 2 * candidates[, half] - 1
  if (!is.null(constants$rows)) {
    # A person without a row that counts has one missing row.
    facts$rows <- pmax(1, constants$rows)
    at <- which(rep(constants$rows > 0, facts$rows))
    counting <- candidates
    candidates <- matrix(NaN, sum(facts$rows), ncol(counting))
    candidates[at, ] <- counting
  }
  found <- select_ranks_cpp(candidates, constants$numbers, facts, rng)
  structure(found$order, location = found[c("median", "scale")])
}

#' @return The support, or `NULL` if the method abstains.
#' @noRd
pick_by_test <- function(candidates, method, constants, shares, rng) {
  select_stable_cpp(candidates, method, constants, shares$epsilon, shares$delta, rng)
}

# Checks and constants -----------------------------------------------------------------------------

check_supports <- function(facts) {
  if (choose(facts$p, facts$size) > 1e6) {
    abort(c(
      "{.code method = \"exhaustive\"} would compare more than a million supports.",
      i = "Use {.code method = \"pursuit\"}, which lists no supports and finds more variables."
    ), "argument")
  }
}

check_gram_candidates <- function(facts) {
  if (facts$p > 400) {
    abort("{.code method = \"gram\"} accepts at most 400 candidates.", "argument")
  }
}

check_psi <- function(constants, facts) {
  if (constants$psi > 0 && constants$psi * facts$n <= facts$size) {
    abort("{.arg psi} times the number of rows must exceed {.arg size}.", "argument")
  }
  constants
}

#' Number of Frank-Wolfe steps, which exceeds the number of selected variables
#' @noRd
iterations_for_size <- function(constants, facts) {
  constants$size <- constants$iterations
  constants
}

#' Rate and number of random subsets
#'
#' The published values are epsilon / (32 log(1/delta)) and log(n/delta) / rate^2. If there are too
#' few people for this number of subsets, the number is twice the number at which subsets are
#' balanced. The method is private for any number.
#' @noRd
subset_constants <- function(subsets, n, shares) {
  nominal <- if (is.finite(shares$epsilon)) shares else list(epsilon = 1, delta = 1e-6)
  rate <- min(0.5, nominal$epsilon / (32 * log(1 / nominal$delta)))
  printed <- ceiling(log(n / nominal$delta) / rate^2)
  if (subset_members(printed, n, rate) > most_members) {
    printed <- ceiling(12 * max(log(n), 2) / rate)
  }
  subsets <- check_count(subsets %||% printed, 2, arg = "subsets")
  # Subsets are drawn again until no person is in more than twice the mean number of subsets.
  unbalanced <- n * stats::pbinom(floor(2 * subsets * rate), subsets, rate, lower.tail = FALSE)
  if (unbalanced > 0.5 || 2 * subsets * rate < 1) {
    abort(c(
      paste(
        "{.arg subsets} is too small: some person would probably be in more than twice the mean",
        "number of subsets."
      ),
      i = paste(
        "Set {.arg subsets} to {signif(log(n) * 6 / rate, 2)}, which is enough for these people",
        "and this budget."
      )
    ), "argument")
  }
  if (subset_members(subsets, n, rate) > most_members) {
    abort(c(
      paste(
        "The subsets of {.val subsamples} would contain too many people:",
        "{signif(n * rate * subsets, 2)} in total."
      ),
      i = "Give fewer {.arg subsets} in {.arg settings}, or use {.code method = \"blocks\"}."
    ), "argument")
  }
  list(subsets = subsets, rate = rate)
}

most_members <- 5e7

subset_members <- function(subsets, n, rate) subsets * (1 + n * rate)

#' Refuse, before the charge, subsets that are too small to agree on a support
#' @noRd
check_subset_people <- function(constants, facts) {
  if (is.null(constants$rate)) {
    return(invisible())
  }
  least <- ceiling(subset_people(facts) / constants$rate)
  if (facts$n < least) {
    abort(c(
      paste(
        "{.val subsamples} needs at least {format(least, big.mark = \",\")} people at this",
        "{.arg epsilon}."
      ),
      x = "A subset would contain about {signif(facts$n * constants$rate, 2)} people.",
      i = "Use {.code method = \"blocks\"}, which needs a sixth to a twelfth of the people."
    ), "argument")
  }
}

#' Number of people in a subset that can find a support
#' @noRd
subset_people <- function(facts) 8 + 5 * facts$size
