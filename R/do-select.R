#' Select variables privately, then regress on them
#'
#' `dp_select()` privately selects the few variables that predict an outcome (the *support*), and
#' estimates their slopes, from a table with one row per person. Most methods spend the larger part
#' of the budget on the selection, and the remainder on a linear regression on the selected
#' variables. Neighbouring data sets arise by replacing one person's row; the number of rows is
#' public.
#'
#' @section Methods:
#' * `"ranks"` (default): selects one variable at a time by the exponential mechanism on Kendall's
#'   rank correlations with residuals. Wide bounds and long tails do not increase the errors. The
#'   residuals come from noisy regression steps if, by public facts, these steps have little noise;
#'   otherwise the outcome itself replaces the residuals. For an outcome with two values, at least
#'   half of all pairs of people are tied. The default is then `"pursuit"` (`"screening"` if
#'   regression steps have much noise), provided that medians and scales are found.
#' * `"pursuit"`: selects one variable at a time by clipped correlations and orthogonal regression
#'   steps, which distinguish between variables that can replace each other. For a numeric outcome
#'   this method is the default only if the noise of its steps is negligible (20 candidates, 20,000
#'   people and `size = 2`: epsilon at least 2).
#' * `"gram"`: releases noisy moments of all variables once. The selection, selections of other
#'   sizes and the fit then have no further cost.
#' * `"screening"`: selects variables by their correlations in one step; for uncorrelated variables.
#' * `"votes"`: lets disjoint blocks of people vote; wide bounds do not increase the errors.
#' * `"frank-wolfe"`: selects variables by Frank-Wolfe iterations on an l1 ball.
#' * `"exhaustive"`: applies the exponential mechanism to all supports; for few candidates, and less
#'   accurate than the other methods.
#' * `"blocks"`: selects the support that blocks of people select most often, if it is stable.
#' * `"subsamples"`: selects the support that overlapping random subsets select most often
#'   (Thakurta, 2013, Algorithm 6.1), with corrections that make the method private. The method is
#'   for reproduction: at epsilon = 1 a subset contains one person in 442 (one in 561 with a refit),
#'   and the call is refused if there are too few rows for subsets of `8 + 5 size` people.
#'   `"blocks"` needs only a sixth to a twelfth as many people.
#' * `"stability"`: selects the support of a Huberised LASSO if, by a certificate, replacing several
#'   people would not change it; for thousands of people and nearly orthogonal supports.
#' * `"lasso"`: applies the corrected test of Thakurta (2013); for hundreds of thousands of people.
#'
#' `"pursuit"`, `"gram"`, `"screening"` and `"frank-wolfe"` first find the median and the scale of
#' every numeric variable, with at most 40 % of the budget. They clip each variable, within its
#' bounds, at 1.2 robust standard deviations from the median for the selection, and at 4 for the
#' refit; `"gram"` uses 3 for both. Bounds that are far too wide therefore increase the errors only
#' slightly. With n people, p numeric variables (the outcome included) and a zero-concentrated
#' budget rho, these searches need about `n sqrt(rho / p) >= 31`. Bounds replace medians and scales
#' if there are fewer people, for a variable with the same value for half of the people, and for a
#' variable with bounds 0 and 1. `"ranks"` finds medians and scales only for the outcome and the
#' selected variables, with at most 20 % of the budget, and needs about `n sqrt(rho) >= 54 sqrt(size
#' + 1)`. With fewer people and some 0/1 candidates, up to 40 % are for the outcome alone. Slopes
#' are for the clipped variables (the print gives the ranges), and can differ from those of `lm()`.
#'
#' The last four methods propose a support and release it only if a test shows its stability.
#' Otherwise they abstain (`$abstained`), at the same cost. Proofs: `proofs/selection.md`.
#'
#' In synthetic control, select features of the pre-period from a release, at no cost, or covariates
#' of donors by `"ranks"`. Never select donors: membership in a support is private.
#'
#' @param x (`formula` or `dp_selection`)\cr `outcome ~ candidates`, where `.` stands for all other
#'   names in `bounds`; or a selection by `"gram"`, for which another `size` costs nothing.
#' @param data (`data.frame`, PRIVATE)\cr one row per person. In a row with a missing value all
#'   scaled variables count as zero; with `person = ~ id` the row is left out if there are others.
#' @param epsilon,delta (`number`)\cr privacy loss (`Inf`: NOT PRIVATE); failure probability, not 0.
#' @param size (`count`, PUBLIC)\cr the largest number of variables. Do not choose it by the data.
#' @param bounds (`list`, PUBLIC)\cr see [dp_bounds].
#' @param method (`string` or `NULL`)\cr see Methods. With `epsilon = Inf`, `NULL` means `"gram"`
#'   (`"pursuit"` for more than 200 candidates).
#' @param refit (`flag`)\cr whether to release a regression on the selected variables.
#' @param share (`number`, in (0, 1))\cr share of the budget for the selection, as opposed to the
#'   refit, after medians and scales are paid; not used by `"gram"`.
#' @param radius (`number` or `NULL`)\cr the largest norm of a row of scaled variables in a release
#'   of moments. `NULL`: the default of [dp_online()].
#' @param settings (`list`)\cr public constants, with defaults in brackets. `blocks`: the number of
#'   blocks (one per 50 people; 80 for method `"blocks"`). `subsets`: the number of subsets for
#'   `"subsamples"` (the published number, if there are enough people). `ball`: the l1 radius of
#'   scaled coefficients (size/2). `iterations` of `"frank-wolfe"` (12). For `"stability"` and
#'   `"lasso"`: `penalty`, per person (.035); `tau`, the residual beyond which the loss is linear
#'   (.6); and per person `psi`, the curvature, and `kappa`, two bounds on the sizes of columns (the
#'   values with the largest certificate).
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people;
#'   neighbours arise by replacing all rows of one person. `"ranks"`, `"votes"`, `"blocks"`
#'   and `"subsamples"` accept a column. `"ranks"` is then the default for every outcome: a person
#'   contributes the mean over their rows, and a pair of people the mean over all pairs of their
#'   rows, which takes time. In the other three methods all rows of a person are in the same blocks
#'   or subsets. With a column there is no refit: fit the selected variables by [dp_lm()]. `"row"`,
#'   also assumed for `NULL`: each row is a different person. See [dp_person].
#' @param ... unused.
#' @return An object of class `dp_selection`: `$selected` (names, in the order of selection),
#'   `$abstained`, `$coefficients` (in units of the variables), `$method`, `$privacy` and `$steps`
#'   (one row per kind of noise step); with `"gram"` also the noisy `$moments`. RELEASED or PUBLIC;
#'   NOT PRIVATE for `epsilon = Inf`. No other field contains scores, counts, gaps or distances.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`,
#' `dpsc_error_budget`.
#' @references
#' Dwork, C. and Lei, J. (2009). Differential Privacy and Robust Statistics. STOC.
#'
#' Kendall, M. G. (1938). A New Measure of Rank Correlation. Biometrika 30.
#'
#' Talwar, K., Thakurta, A. and Zhang, L. (2015). Nearly-Optimal Private LASSO. NeurIPS.
#'
#' Thakurta, A. (2013). Differentially Private Convex Optimization for Empirical Risk Minimization
#' and High-dimensional Regression. Dissertation.
#'
#' Thakurta, A. and Smith, A. (2013). Differentially Private Feature Selection via Stability
#' Arguments, and the Robustness of the Lasso. COLT.
#' @examples
#' n <- 4000
#' rows <- as.data.frame(matrix(runif(n * 30, -1, 1), n))
#' rows$y <- 0.5 * rows$V3 - 0.4 * rows$V7 + rnorm(n, sd = 0.2)
#' bounds <- c(list(y = c(-1.5, 1.5)), stats::setNames(rep(list(c(-1, 1)), 30), paste0("V", 1:30)))
#' found <- dp_select(y ~ ., rows, epsilon = 2, size = 2, bounds = bounds)
#' found
#' tidy(found, conf.int = TRUE)
#' @export
dp_select <- function(x, ...) {
  door("dp_select", pays = TRUE, check_argument_names(...names(), "dp_select"))
  UseMethod("dp_select")
}

#' @rdname dp_select
#' @export
dp_select.default <- function(x, ...) door("dp_select", pays = TRUE, {
  abort(c(
    "The first argument must be a formula or a selection.", x = "It is {describe(x)}."
  ), "argument")
})

#' @rdname dp_select
#' @export
dp_select.formula <- function(x, data, epsilon, delta = 1e-6, size, bounds, method = NULL,
                              refit = TRUE, share = 0.8, radius = NULL, settings = list(),
                              ledger = NULL, control = dp_control(), person = NULL,
                              ...) door("dp_select", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  check_given(missing(size), "size", "the largest number of variables to select")
  if (!missing(data) && !is.data.frame(data)) data <- source_of_tbl(data)
  check_every_bound(x, if (!missing(bounds)) bounds, if (!missing(data)) data)
  columns <- new_columns(x, bounds, "gaussian")
  several <- !is.null(said_person(person)$column)
  if (is.null(method) && several) method <- "ranks"
  records <- mechanism_table$dp_select
  needs <- if (is.null(method)) "rows" else records[[check_choice(method, names(records))]]$needs
  refuse_source(data, needs, "{.fn dp_select}")
  person <- check_person(person, records[[method %||% "ranks"]], method, data)
  if (several) refit <- check_no_refit(refit, missing(refit))
  people <- selection_people(table_of_rows(columns, data, batch = FALSE), data, person)
  if (people$n < 2L) {
    abort("{.arg data} must have at least two {if (several) 'people' else 'rows'}.", "data")
  }
  facts <- list(
    n = people$n, p = length(columns$names) - columns$intercept, intercept = columns$intercept,
    share = check_number(share, 0, 1, open = c("min", "max")),
    refit = check_flag(refit), numbers = sum(number_places(columns))
  )
  facts$indicators <- count_indicators(columns)
  if (!is.null(person)) facts$person <- person
  facts$size <- check_count(size, 1, facts$p)
  budget <- stream_budget(epsilon, delta, ledger, control)
  if (budget$private && budget$delta < 1e-300) {
    abort("{.fn dp_select} needs {.arg delta} above 1e-300.", "argument")
  }
  method <- choose_selection(method, facts, budget)
  constants <- selection_constants(settings, facts, method)
  radius <- if (!is.null(radius)) check_number(radius, 0, open = "min")
  public <- c(budget, list(
    budget = budget, columns = columns, facts = facts, method = method, constants = constants,
    subsets = settings$subsets, radius = radius
  ))
  made <- make_release(new_request(selection_record(), public, people, ledger))
  warn_doubts(made$drawn$doubts)
  with_charge(made$drawn, made$charge)
})

#' @noRd
selection_record <- function() {
  list(
    plan = function(request) {
      public <- request$public
      facts <- public$facts
      shares <- selection_shares(public$method, facts, public$budget)
      selector <- mechanism_table$dp_select[[public$method]]
      moments_of <- function(p) moments_plan(p, shares$fit_rho, public$budget)
      list(
        cost = shares$cost, shares = shares,
        steps = selection_steps(public$method, facts, public$budget, shares),
        constants = c(
          public$constants, selector$subsets(public$subsets, facts$n, shares)
        ),
        select = if (is.null(selector$pick)) moments_of(facts$p + facts$intercept),
        fit = if (facts$refit) moments_of(facts$size + facts$intercept)
      )
    },
    refuse = function(request, plan) {
      if (request$public$private) {
        check_selection_draws(request$public$method, plan$shares, plan$constants)
        check_subset_people(plan$constants, request$public$facts)
      }
    },
    promise = function(request, plan) {
      public <- request$public
      selection_privacy(public$budget, public$method, plan$shares, public$facts$person)
    },
    label = function(request, plan) paste0("selection by method \"", request$public$method, "\""),
    run = function(request, plan, rows) run_selection(rows, request$public, plan)
  )
}

#' The rows for the selection, in the order of people if people have several rows
#' @return A list: `table`, `rows` (each person's number of used rows; PRIVATE) and `n`.
#' @noRd
selection_people <- function(table, data, person) {
  if (is.null(person$column)) {
    return(list(table = table, n = nrow(table)))
  }
  people <- people_of(data, person)
  people$of[is.nan(table[, 1L])] <- 0L
  made <- rows_by_person(table, people)
  last <- ncol(made$table)
  list(
    table = made$table[, -last, drop = FALSE], n = made$n,
    rows = as.double(tabulate(made$table[, last], made$n))
  )
}

#' Refuse a refit for people with several rows, which would need moments of the means over rows
#' @noRd
check_no_refit <- function(refit, omitted) {
  if (!omitted && check_flag(refit)) {
    abort(c(
      "{.code refit = TRUE} is not available with {.arg person}.",
      i = "Set {.code refit = FALSE}; fit the selected variables by {.fn dp_lm} with {.arg person}."
    ), "argument")
  }
  FALSE
}

#' @rdname dp_select
#' @export
dp_select.dp_selection <- function(x, size, ...) door("dp_select", {
  check_no_dots(...)
  if (is.null(x$moments)) {
    abort(c(
      "Only a selection by {.code method = \"gram\"} contains moments to select from.",
      i = "This selection is by {.val {x$method}}; a new selection by {.val gram} spends budget."
    ), "argument")
  }
  x$facts$size <- check_count(size, 1, x$facts$p)
  select_from_moments(x)
})

choose_selection <- function(method, facts, budget) {
  if (is.null(method)) {
    if (budget$private) return(default_selection(facts, budget))
    return(if (facts$p <= 200) "gram" else "pursuit")
  }
  method <- check_choice(method, names(mechanism_table$dp_select))
  mechanism_table$dp_select[[method]]$check(facts)
  method
}

#' The default method: ranks, except for an outcome with two values, for which half of all pairs are
#' tied, and if the noise of orthogonal steps is negligible
#' @noRd
default_selection <- function(facts, budget) {
  shares <- selection_shares("pursuit", facts, budget)
  if (is.null(shares$location)) {
    return("ranks")
  }
  noise <- step_noise(facts, budget$rho - shares$location$rho, facts$size + 1)
  if (facts$numbers != facts$p - facts$indicators) {
    return(if (noise < orthogonal_step_noise) "pursuit" else "ranks")
  }
  if (noise < largest_step_noise) "pursuit" else "screening"
}

selection_constants <- function(settings, facts, method) {
  known <- c("blocks", "subsets", "ball", "iterations", "penalty", "tau", "psi", "kappa")
  if (!is.list(settings) || !all(rlang::names2(settings) %in% known)) {
    abort("{.arg settings} must be a list with names among {.val {known}}.", "argument")
  }
  number <- function(name, default, ...) {
    check_number(settings[[name]] %||% default, 0, open = "min", arg = name)
  }
  # A kappa of 0 requests the value with the largest certificate.
  kappa <- settings$kappa %||% c(0, 0)
  if (!is.numeric(kappa) || length(kappa) != 2L ||
      !all(is.finite(kappa) & (kappa > 0 | is.null(settings$kappa)))) {
    abort("{.code kappa} in {.arg settings} must be two positive numbers.", "argument")
  }
  selector <- mechanism_table$dp_select[[method]]
  blocks <- selector$blocks(facts$n)
  constants <- list(
    size = facts$size, intercept = facts$intercept,
    blocks = check_count(settings$blocks %||% min(blocks, facts$n), 2, facts$n, arg = "blocks"),
    ball = number("ball", facts$size / 2),
    iterations = check_count(settings$iterations %||% 12, 1, 1000, arg = "iterations"),
    penalty = facts$n * number("penalty", 0.035), tau = number("tau", 0.6),
    psi = if (is.null(settings$psi)) 0 else number("psi", 1),
    kappa1 = kappa[[1L]], kappa2 = kappa[[2L]]
  )
  selector$complete(constants, facts)
}

#' Split of the budget
#' @return A list, see [selector()]. PUBLIC.
#' @noRd
selection_shares <- function(method, facts, budget) {
  if (!budget$private) {
    return(list(exponent = Inf, rho_step = Inf, epsilon = Inf, delta = 0, fit_rho = Inf,
      cost = budget$cost, rho = NA_real_))
  }
  location <- selection_location(method, facts, budget)
  left <- budget
  if (!is.null(location)) left$rho <- budget$rho - location$rho
  shares <- mechanism_table$dp_select[[method]]$shares(facts, left)
  if (!is.null(location)) shares$rho <- budget$rho
  c(shares, list(location = location))
}

#' Exponents of single choices, by rho = picks (exponent^2 / 8) + sums rho_step
#' @noRd
choice_budget <- function(method, shares, constants) {
  if (is.null(shares$select_rho)) {
    return(shares[c("exponent", "rho_step")])
  }
  selector <- mechanism_table$dp_select[[method]]
  # The number of steps that release sums beside the choices.
  sums <- selector$sums(constants, shares$location)
  for_sums <- if (sums) sums_share else 0
  list(
    exponent = sqrt(8 * (1 - for_sums) * shares$select_rho / selector$picks(constants)),
    rho_step = if (sums) for_sums * shares$select_rho / sums else 0
  )
}

#' Can the core's samplers draw the noise of the selection, by public facts?
#'
#' In the core, sums of integers in units of 2^-20 have sensitivity three (greedy.hpp), and a
#' distance has sensitivity 1026 (votes.hpp).
#' @noRd
check_selection_draws <- function(method, shares, constants) {
  rho_step <- choice_budget(method, shares, constants)$rho_step
  fits <- if (shares$epsilon > 0) {
    1026 / shares$epsilon < 2^39
  } else {
    rho_step == 0 || 3 * 2^20 / sqrt(2 * rho_step) < 2^30
  }
  if (!fits) {
    abort(c(
      "{.arg epsilon} is too small for this selection: the noise would exceed the sampler's range.",
      i = "Give a larger {.arg epsilon}."
    ), "argument")
  }
}

#' @param table (`matrix`)\cr scaled rows. PRIVATE.
#' @param public,plan (`list`)\cr the public facts of the request, and the plan of its record.
#'   PUBLIC.
#' @noRd
run_selection <- function(people, public, plan) {
  table <- people$table
  columns <- public$columns
  facts <- public$facts
  method <- public$method
  budget <- public$budget
  shares <- plan$shares
  constants <- plan$constants
  first <- if (facts$intercept) 1L else integer()
  result <- list(
    method = method, facts = facts, columns = columns, abstained = FALSE,
    privacy = selection_privacy(budget, method, shares, facts$person), rng = budget$rng,
    steps = plan$steps
  )
  selector <- mechanism_table$dp_select[[method]]
  picks_first <- selector$locates == "picked"
  if (!picks_first) {
    result$location <- find_location(table, columns, shares$location, budget$rng)
  }
  doubts_of <- function(moments, ...) {
    unique(c(
      location_doubts(columns, result$location),
      moment_doubts(result$columns, moments, facts$n, ...)
    ))
  }
  if (is.null(selector$pick)) {
    result$columns <- fitted_columns(columns, result$location, method)
    refitted <- rescaled_table(table, columns, result$columns)
    result$moments <- selection_moments(refitted, result$columns, plan$select, public$radius,
      budget$rng)
    if (budget$private) result$doubts <- doubts_of(result$moments)
    return(select_from_moments(structure(result, class = "dp_selection")))
  }
  near <- rescaled_table(table, columns, located_columns(columns, result$location, "choice"))
  candidates <- if (length(first)) near[, -1L, drop = FALSE] else near
  constants[c("exponent", "rho_step")] <- choice_budget(method, shares, constants)
  constants$rows <- people$rows
  constants[c("numbers", "zero_one")] <- list(number_places(columns), zero_one_places(columns))
  picked <- selector$pick(candidates, selector$core, constants, shares, budget$rng)
  if (picks_first) result$location <- location_of_picks(picked, shares$location)
  result$columns <- fitted_columns(columns, result$location, method)
  if (!is.null(picked)) picked <- utils::head(picked, facts$size)
  result$abstained <- is.null(picked)
  constants$located <- !is.null(result$location)
  result$hurdle <- covariance_hurdle(method, facts, constants)
  used <- as.integer(picked) + length(first)
  result$selected <- columns$names[used]
  if (facts$refit && length(c(first, used))) {
    part <- c(first, used, ncol(table))
    refitted <- rescaled_table(table, columns, result$columns)
    moments <- selection_moments(
      refitted[, part, drop = FALSE], sub_columns(result$columns, used),
      if (length(used) == facts$size) plan$fit, public$radius, budget$rng, shares$fit_rho, budget
    )
    if (budget$private) {
      result$doubts <- doubts_of(moments, c(first, used))
    }
    result <- add_fit(result, moments, seq_len(length(part) - 1L), c(first, used))
  }
  structure(result, class = "dp_selection")
}

selection_privacy <- function(budget, method, shares, person) {
  record <- mechanism_table$dp_select[[method]]
  privacy_facts(budget,
    rho = shares$rho, neighbours = person_neighbours(person), theorem = record$theorem,
    exact = is.null(record$assumes), integers = TRUE, assumes = record$assumes
  )
}

#' The steps of a selection (location, choices or a test, moments), or `NULL` without privacy
#' @param shares (`list`)\cr from [selection_shares()].
#' @return A data frame: `step`, `law`, `epsilon` or `rho`. PUBLIC.
#' @noRd
selection_steps <- function(method, facts, budget, shares) {
  if (!budget$private) {
    return(NULL)
  }
  sums <- mechanism_table$dp_select[[method]]$sums(facts, shares$location)
  choices <- shares$select_rho %||% 0
  for_sums <- if (sums) sums_share * choices else 0
  # With a stability test, the moments receive the rest of epsilon.
  rest <- if (shares$epsilon > 0 && shares$fit_rho > 0) budget$epsilon - shares$epsilon else NA
  steps <- data.frame(
    step = c("medians and scales", "choices", "sums beside choices", "stability test", "moments"),
    law = c("exponential", "exponential", "discrete_gaussian", "discrete_laplace",
      "discrete_gaussian"),
    epsilon = c(NA, NA, NA, shares$epsilon, rest),
    rho = c(shares$location$rho %||% 0, choices - for_sums, for_sums, NA, shares$fit_rho)
  )
  steps[pmax(steps$epsilon, steps$rho, na.rm = TRUE) > 0, ]
}
