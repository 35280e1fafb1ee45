# Private linear regression: plan, charge, draw. Only R/ppl-lm-columns.R (one row at a time) and C++
# code (inst/include/dpsc/release/lm_release.hpp) use a row's values.

#' Linear regression under differential privacy
#'
#' The private counterpart of [stats::lm()] for data with one row per person. One private release
#' gives coefficients, standard errors, intervals, tests, submodels and predictions. Neighbouring
#' data sets arise by replacing one person's row. The number of rows, `formula` and `bounds` are
#' public.
#'
#' The fit begins with a private search for the medians and scales of all numeric variables, so
#' bounds that are ten or a hundred times too wide increase the errors only slightly. A few rounds
#' then release noisy moments of whitened regressors and of the residuals from the previous round's
#' fit. The estimates combine the rounds, weighted by the inverse of the known noise variances.
#'
#' If the norm of a row's regressors exceeds a limit, the regressors and the residual are shrunk by
#' one factor, which keeps least squares consistent if the mean is linear in the regressors. The
#' limit depends on the released share of the rarest level that is visible above the noise. In
#' addition the residual is clipped, at .85 standard deviations where the noise is large and at a
#' higher bound where the noise is small (Huber's regression). The limit and the clipping bound
#' minimise the variance of the noise plus half of the squared bias that is usual in real data.
#'
#' Where the noise is small enough, the third round uses a wide clipping bound. If the wide bound
#' moves the level of the outcome or the slopes by more than the noise does, errors are taken to be
#' skewed, and the last rounds also use a wide bound. A wide bound is also used if the expected
#' error is no larger than with a narrow bound. Clipping bounds therefore grow with the budget, up
#' to the outcome's range, and the fit approaches the fit of `lm()` as epsilon grows.
#'
#' @section Distance from lm():
#' The privacy part of the covariance (`vcov(type = "privacy")`) describes the distance from the fit
#' of `lm()` to the same rows. It includes the noise and the effect of clipping, which is computed
#' from released numbers alone. With skewed errors the intercept is extrapolated from its values
#' under several clipping bounds, and the privacy part for slopes includes the bias implied by the
#' changes of the slopes between these bounds. With heavy tails the privacy part includes the
#' expected difference between robust slopes and slopes of `lm()`. For CPS wages (`AER::CPS1988`,
#' nine slopes) the largest difference from a slope of `lm()` is 3.5 standard errors of `lm()` at
#' epsilon 1 (median over runs), 2.3 at epsilon 2, 1.1 at epsilon 4 and .2 at epsilon 10,000. At
#' these budgets 92 to 100 % of the intervals from the privacy part contain the slope of `lm()`.
#'
#' Where the budget does not permit a wide clipping bound, or the effect of the bound is not
#' visible, standard errors include an allowance for the usual distance from the fit of `lm()` due
#' to nonlinear means and skewed errors. In regressions on data of real people the distance along
#' the worst whitened direction is about .03 standard deviations of the residuals. Where noise would
#' hide such a distance, the allowance is 1.5 times the usual one. It is not an upper bound. In CPS
#' wages at epsilon = .5, 95 % of the intervals contain the slope of `lm()`. In 172 of 189 settings
#' (21 regressions on samples from real data, 1,000 to 20,000 people, epsilon .5 to 4) the intervals
#' contain at least 88 % of the coefficients of `lm()` for the whole data. In 20 further
#' regressions, mostly on small tables, coverage is lower: 77 to 85 % on average with 5,000 or
#' 20,000 people and an epsilon of .5 or 1 (91 to 93 % by `lm()` itself), and 93 to 97 % at epsilon
#' 4. Coverage is lower if means are far from linear, if tails are heavy (as for numbers of visits),
#' or if a few values of a regressor are far from all other values. Such values determine the slope
#' of `lm()` and have less weight in `dp_lm()`: use the logarithm of the regressor. One more
#' regression, with population density as regressor, has coverage below 88 % in 7 of 9 settings.
#'
#' The effect of clipping cannot be estimated where noise hides the tails, as with rare gross
#' outliers, to which the fit is robust and `lm()` is not. With 1 % of outliers at a distance of 15
#' standard deviations, 5,000 people and epsilon = 1, the intercept is 5 standard errors from the
#' intercept of `lm()`, and no interval contains the intercept of `lm()`. If more than 2 % of the
#' residuals lie beyond three standard deviations, the printed fit notes that the slopes belong to a
#' robust regression. With many people the note appears at a smaller share, if residuals beyond
#' three standard deviations can move a slope by a standard error. If no residual is clipped, the
#' note does not appear.
#'
#' @section Errors of estimates:
#' Standard errors and intervals cover sampling error and privacy noise together. They assume errors
#' of constant variance unless `vcov = "HC"`, which spends a tenth of the budget on second moments
#' of the scores for a sandwich estimator. The sandwich estimator is worthwhile if n sqrt(rho) is at
#' least about 400 p, for n people, p columns and a budget of rho in zero-concentrated differential
#' privacy. Half a percent of the budget is spent on two counts where they are informative: the
#' number of rows used, and the number of residuals beyond three standard deviations.
#'
#' @section Bounds:
#' `bounds` is a list named by *variable*: `c(lower, upper)` for a number, all possible levels for a
#' factor (the first level is the baseline), `c(FALSE, TRUE)` for a logical or 0/1 variable. An
#' entry may also be named by the text of an expression: see [dp_bounds] for the convention of all
#' functions. Bounds must be known before the data are seen. Numbers outside the bounds are moved to
#' the nearest bound; a level that is not listed counts as missing. A warning appears if the
#' released numbers contradict the bounds. Part of the budget is spent on the medians and scales of
#' numeric variables; factors and logicals need no budget of this kind. For a variable with numeric
#' codes, list the codes and write `factor(code)` in the formula.
#'
#' @section Formula:
#' Use functions of one row only (`log()`, `sqrt()`, `I()`, comparisons, `:` and `*`). Functions of
#' several rows (`poly()`, `scale()`, `cut()`, splines) are refused. Polynomials can be written as
#' `I(x^2)`, which is computed from the privately standardised variable if the formula also contains
#' the lower orders. The intercept is always included.
#'
#' @section Missing values and subsets:
#' A row with a missing value, or outside `subset`, has weight zero. The public number of rows
#' remains `nrow(data)`; the number of rows with missing values is private. `weights` are case
#' weights as in [stats::lm()]. Rows with weights far below `max_weight` contribute little.
#'
#' @section People in a database:
#' With [dp_table()] or [dp_files()] rows are read in blocks, about nine times. If the rows of a
#' round take more than 1 GB of memory (at 4 bytes per number), they are read once per query, about
#' twenty times, and only one block is in memory at a time. Seeded results equal the results for the
#' data frame, bit for bit.
#'
#' With `compute = "database"` the database engine computes all sums in about 30 queries, and no row
#' leaves the database. Variables must then be columns, powers or products of columns together with
#' their lower orders, or comparisons. Create other variables, such as a logarithm, in a view or by
#' `mutate()` on a lazy `tbl`, and give their bounds. `subset` may compare columns with constants
#' and with each other, and combine comparisons by `&`, `|`, `!`; `weights` must be a column.
#'
#' @section Budgets that are too small:
#' The element `plan` of the result is public and known before noise is drawn. Its flag `resolved`
#' states whether the budget resolves the moments of all columns (n sqrt(rho) is at least 12 p^1.5,
#' in the symbols above). Its flag `located` states whether medians can be found. If medians cannot
#' be found, no coefficient would be identified, and the call is refused before the charge. The
#' fit reports slopes that the noisy moments do not resolve as *not identified at this budget*.
#' Their intervals contain all slopes that are compatible with the noisy moments (after Anderson and
#' Rubin), and their p-values are from the same test. If this set is unbounded, there is no p-value,
#' and intervals contain all slopes that the standard deviation of the outcome allows. The same
#' report appears for a level whose share is hidden by the noise (with coefficient `NA`), and for
#' slopes that are impossible within the bounds. A number that noise does not distinguish from a
#' constant, for example because its bounds are far too wide, has no slope (`NA`), and then the
#' intercept is `NA`, too; `update()` gives the model without this column at no cost. Identified
#' slopes keep the intervals and tests of their standard errors, which hold their level if other
#' slopes are not identified. With `epsilon = Inf` a column that is a combination of earlier columns
#' has coefficient `NA`, as in `lm()`.
#'
#' @param formula (`formula`)\cr `outcome ~ regressors`; `.` stands for all other names in `bounds`.
#' @param data (`data.frame`, [dp_chunks()] of them, [dp_table()], [dp_files()], [dp_workers()] or
#'   [dp_sources()], PRIVATE)\cr one row per person.
#' @param epsilon (`number`, positive)\cr privacy loss. `Inf`: NOT PRIVATE, the estimates of `lm()`.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With `delta = 0` the noise is about
#'   twice as large.
#' @param bounds (`list`, PUBLIC)\cr see the section Bounds.
#' @param subset (`expression`)\cr a condition on columns of `data`, evaluated row by row; its
#'   result is private.
#' @param weights (`expression`)\cr case weights: a column of `data` or a function of one row;
#'   PRIVATE.
#' @param max_weight (`number`, positive, PUBLIC)\cr the largest weight; larger weights are reduced
#'   to this value. `NULL`: the upper bound of the weights' column in `bounds`.
#' @param vcov (`string`)\cr standard errors for sampling: `"const"` if errors have constant
#'   variance, `"HC"` if their variances differ. With a column in `person`, `"HC"` is the default
#'   and clusters errors by person; `"const"` is then valid, but its standard errors may be too
#'   large, by a factor of up to the square root of the number of rows per person.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used. `rng = "R"`: NOT PRIVATE.
#' @param method (`string`)\cr `"moments"`: the method of this page. `"ops"` and `"adaops"`: one
#'   draw from a posterior distribution, as in Wang (2018, 2019), with corrected constants. These
#'   two methods return coefficients only, and are several times less accurate than `"moments"`. See
#'   [dp_paper-methods].
#' @param settings (`list`, PUBLIC)\cr `ridge`, the penalty of `"ops"`, or `condition`, the largest
#'   acceptable condition number for `"adaops"`. Both refer to columns scaled so that rows have
#'   length at most 1. By default a public rule sets these values.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people;
#'   neighbours arise by replacing all rows of one person. `"row"`, also assumed for `NULL`:
#'   each row is a different person. A column requires method `"moments"`, and rows in memory, in
#'   chunks, or in one table or set of files; see [dp_person].
#' @param ... unused; an unknown argument causes an error.
#' @return An object of class `dp_lm` (for method `"moments"`; otherwise `dp_paper`):
#'   * `coefficients`: estimates, intercept first. RELEASED.
#'   * `covariance`: three matrices, `total`, `privacy` and `sampling`. RELEASED.
#'   * `sigma` (the residual standard error), `r.squared`, and `identified` (one flag per
#'     coefficient). RELEASED.
#'   * `release`: noisy medians and scales, the moments of every round, counts, and second moments
#'     of scores. RELEASED.
#'   * `columns`, `plan`, `nobs`: the columns implied by formula and bounds, the plan with the
#'     shares of the budget, and the number of rows. PUBLIC.
#'   * `privacy`: budget, definition of neighbours, theorem, steps, and whether the privacy
#'     guarantee holds. PUBLIC.
#'
#'   The object contains no row, fitted value, residual, model frame or environment.
#' @section Privacy:
#' A fit protects one person's whole row against an adversary who knows all other rows. In
#' neighbouring data sets one row is replaced, or with `person = ~ id` all rows of one person. The
#' guarantee follows by adaptive composition: of Gaussian differential privacy if `delta > 0` (Dong,
#' Roth and Su, 2022), and of pure differential privacy if `delta = 0`. The noise is exact integer
#' noise. The proof is in `proofs/regression.md`.
#' @section Errors:
#' `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`, `dpsc_error_budget`. All these
#' errors occur before any budget is spent, and depend on public facts only: formula, bounds, sizes,
#' and the names, types and number of columns. The guarantee does not cover failures of a database
#' engine, a worker or a reader of [dp_chunks()].
#' @references
#' Dong, J., Roth, A. and Su, W. (2022). Gaussian Differential Privacy. JRSS B.
#'
#' Wang, Y.-X. (2018). Revisiting Differentially Private Linear Regression. UAI.
#'
#' White, H. (1980). A Heteroskedasticity-Consistent Covariance Matrix Estimator. Econometrica.
#'
#' Anderson, T. and Rubin, H. (1949). Estimation of the Parameters of a Single Equation in a
#' Complete System of Stochastic Equations. Annals of Mathematical Statistics.
#' @seealso [lm_path()], [dp_plan_lm()], [write_release()], [dp_ledger()],
#'   `vignette("private-regression")`.
#' @examples
#' n <- 20000
#' people <- data.frame(age = runif(n, 18, 80), region = sample(c("n", "s"), n, TRUE))
#' people$wage <- exp(1 + 0.02 * people$age + 0.3 * (people$region == "s") + rnorm(n, sd = 0.5))
#' fit <- dp_lm(log(wage) ~ age + region, people,
#'   epsilon = 1, delta = 1e-6,
#'   bounds = list(wage = c(1, 1000), age = c(0, 120), region = c("n", "s"))
#' )
#' fit
#' confint(fit)
#' update(fit, . ~ . - region) # free: from the same release
#' predict(fit, data.frame(age = 40, region = "s"), interval = "confidence")
#' @export
dp_lm <- function(formula, data, epsilon, delta = 1e-6, bounds, subset = NULL, weights = NULL,
                  max_weight = NULL, vcov = c("const", "HC"), ledger = NULL,
                  control = dp_control(), method = "moments",
                  settings = list(), person = NULL, ...) door("dp_lm", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  if (!missing(data) && !is.data.frame(data)) data <- source_of_tbl(data)
  check_every_bound(formula, if (!missing(bounds)) bounds, if (!missing(data)) data)
  check_given(missing(data), "data", "one row per person")
  choice <- list(subset = substitute(subset), weights = substitute(weights), max_weight = 1)
  record <- mechanism_table$dp_lm[[check_choice(method, names(mechanism_table$dp_lm))]]
  person <- check_person(person, record, method, data)
  # Rows of one person are correlated, so errors for independent rows would be wrong.
  if (missing(vcov) && !is.null(person$column)) vcov <- "HC"
  vcov <- check_choice(vcov, c("const", "HC"))
  columns <- lm_columns(formula, bounds)
  columns$person <- person
  budget <- checked_budget(epsilon, delta, ledger, control)
  columns$weighted <- !is.null(choice$weights)
  if (columns$weighted || !is.null(max_weight)) {
    choice$max_weight <- largest_weight(choice$weights, max_weight, bounds, budget$private)
  }
  if (!is.data.frame(data)) refuse_needed(data, record$needs, method, budget$private)
  source <- lm_source(columns, data, choice, budget$private)
  on.exit(close_donors(source$table))
  public <- lm_public(budget, columns, source$n, vcov, choice$max_weight)
  if (!is.data.frame(data)) public$assumes <- assumptions_of(data)
  if (record$gives == "draw") {
    return(lm_by_posterior(columns, public, source$table, method, settings, ledger))
  }
  made <- make_release(new_request(lm_record(), public, source$table, ledger))
  fit <- new_lm(columns, public, made$plan, made$drawn)
  warn_doubts(lm_doubts(fit))
  with_charge(fit, made$charge)
})

#' @noRd
lm_record <- function() {
  list(
    plan = function(request) lm_plan(request$public),
    refuse = function(request, plan) check_located(request$public, plan),
    promise = function(request, plan) lm_promise(request$public, mechanism_table$dp_lm$moments),
    label = function(request, plan) "linear regression",
    run = function(request, plan, rows) {
      public <- request$public
      if (!public$private) {
        return(lm_raw_cpp(rows, public$facts$design, public$vcov == "HC"))
      }
      lm_release_cpp(rows, public$facts, public$rng)
    }
  )
}

#' All public facts of a regression
#' @param budget (`list`)\cr from `checked_budget()`.
#' @noRd
lm_public <- function(budget, columns, n, vcov, max_weight) {
  p <- length(columns$columns)
  if (n <= .Machine$integer.max) n <- as.integer(n)
  if (n <= p + 1) {
    abort(c(
      if (is.null(columns$person$column)) {
        "There must be more rows than coefficients."
      } else {
        "There must be more people than coefficients."
      },
      x = paste(
        "{if (is.null(columns$person$column)) 'Rows' else 'People'}: {n}.",
        "Coefficients, including the intercept: {p + 1}."
      )
    ), "data")
  }
  if (budget$private && budget$delta >= 1 / n) warn_of_delta(budget$delta, n)
  c(budget, list(
    n = n, vcov = vcov, max_weight = max_weight, facts = list(
      n = n, epsilon = budget$epsilon, delta = budget$delta, scores = vcov == "HC",
      design = lm_design(columns)
    )
  ))
}

#' Budget and steps of a regression
#' @return A list: `cost`, `steps`, `shares`, `signal`, `resolved`, `located`. PUBLIC.
#' @noRd
lm_plan <- function(public) {
  if (!public$private) {
    return(list(cost = NULL, steps = NULL, resolved = TRUE, located = TRUE))
  }
  plan <- planned(lm_plan_cpp(public$facts), "this regression")
  gaussian <- public$delta > 0
  spent <- if (gaussian) sqrt(sum(plan$steps$mu^2)) else sum(plan$steps$epsilon)
  stopifnot(sum(plan$shares) <= 1 + 1e-12, spent <= plan$total * (1 + 1e-9))
  plan$cost <- new_cost("gdp", public$epsilon, mu = plan$total, pure = !gaussian)
  plan
}

#' Refuse a fit if, by its plan, no median can be found and hence no coefficient would be identified
#' @section Errors: `dpsc_error_argument`, before the charge.
#' @noRd
check_located <- function(public, plan) {
  if (plan$located) {
    return(invisible(NULL))
  }
  located <- function(n, epsilon) {
    facts <- utils::modifyList(public$facts, list(n = n, epsilon = epsilon))
    isTRUE(tryCatch(lm_plan_cpp(facts)$located, `dpsc::budget_too_small` = function(e) FALSE))
  }
  abort_unidentified(public, located, c(
    x = "Noise hides the medians of the outcome and the regressors."
  ), "dp_plan_lm")
}

#' @noRd
new_lm <- function(columns, public, plan, release) {
  privacy <- c(list(
    private = public$private, epsilon = public$epsilon, delta = public$delta,
    rho = plan$rho %||% NA_real_, neighbours = person_neighbours(columns$person),
    steps = plan$steps,
    rng = public$rng, version = own_version()
  ), lm_promise(public, mechanism_table$dp_lm$moments), assumed(public, public$assumes))
  fit <- structure(list(
    coefficients = NULL, covariance = NULL, sigma = NULL, r.squared = NULL, identified = NULL,
    df.residual = NULL, kept = seq_along(columns$columns), text = columns$text,
    terms = columns$terms, nobs = public$n, release = release, columns = columns,
    vcov = public$vcov, max_weight = public$max_weight,
    plan = plan[c("shares", "signal", "resolved", "located")], privacy = privacy
  ), class = c("dp_lm", "dp_regression"))
  estimate_lm(fit)
}

#' Estimates for a model's remaining columns, from its release
#' @noRd
estimate_lm <- function(fit) {
  p <- length(fit$columns$columns)
  if (!fit$privacy$private) {
    estimate <- lm_raw_estimate_cpp(fit$release, fit$kept)
  } else {
    estimate <- lm_estimate_cpp(
      fit$release, lm_design(fit$columns), fit$nobs, if (length(fit$kept) < p) fit$kept
    )
  }
  names <- c("(Intercept)", vapply(fit$columns$columns, `[[`, "", "name"))
  own <- c(1L, fit$kept + 1L)
  named <- function(V) {
    V <- V[own, own, drop = FALSE]
    dimnames(V) <- list(names[own], names[own])
    V
  }
  fit$coefficients <- stats::setNames(estimate$coefficients[own], names[own])
  privacy <- named(estimate$privacy)
  sampling <- named(estimate$sampling)
  fit$covariance <- list(total = privacy + sampling, privacy = privacy, sampling = sampling)
  fit$sigma <- sqrt(estimate$residual * weight_scale(fit, estimate$rows))
  fit$r.squared <- estimate$r.squared
  # Eigenvalues of the whitened moments below the upper edge of the noise are uninformative.
  known <- fit$plan$located & estimate$identified > 1
  absurd <- fit$privacy$private & beyond_bounds(fit, fit$coefficients[-1L])
  if (fit$privacy$private) {
    known <- known & !absurd & !impossible_slopes(fit)
    hidden <- !known & fit$plan$located & hidden_columns(fit)
    absurd <- absurd | hidden
    intercept <- all(known)
  } else {
    intercept <- TRUE
  }
  fit$identified <- stats::setNames(c(intercept, known), names[own])
  # If the medians are not found either, such a slope is only noise.
  if (!fit$plan$located && any(estimate$identified <= 1)) {
    fit$coefficients[c(TRUE, estimate$identified <= 1)] <- NA
    fit$sigma <- fit$r.squared <- NA_real_
  }
  # An unknown slope makes the level at zero unknown, too.
  fit$coefficients[c(fit$privacy$private && any(hidden), absurd)] <- NA
  fit$df.residual <- (fit$release$rows %||% fit$nobs) - length(own)
  if (!fit$privacy$private) fit <- without_dependent(fit)
  fit$robust <- estimate$robust
  fit
}

#' Without privacy, slopes of columns that depend on earlier ones are missing, as in lm()
#' @noRd
without_dependent <- function(fit) {
  lost <- !fit$identified
  fit$coefficients[lost] <- NA
  fit$covariance <- lapply(fit$covariance, function(V) {
    V[lost, ] <- V[, lost] <- NA
    V
  })
  fit$df.residual <- fit$df.residual + sum(lost)
  fit
}

#' Contradictions between a regression's released numbers and its bounds
#' @noRd
lm_doubts <- function(fit) {
  if (!fit$privacy$private) {
    return(character())
  }
  names <- names(fit$coefficients[-1L])
  lost <- fit$plan$located & is.na(fit$coefficients[-1L])
  hidden <- lost & hidden_columns(fit)
  wide <- names[impossible_slopes(fit) | (lost & !hidden)]
  c(
    regression_doubts(fit, fit$sigma),
    if (length(wide)) paste0(
      "These slopes are not identified, because they are larger than the bounds allow: ",
      paste(wide, collapse = ", "), "."
    ),
    if (any(hidden)) paste0(
      "Noise hides that these columns vary at all, so they have no slope: ",
      paste(names[hidden], collapse = ", "), ". Are the bounds in the units of the data? ",
      "update() gives the model without them at no cost."
    )
  )
}

#' Slopes of 0/1 columns that exceed the width of the outcome's bounds and are therefore noise
#' @noRd
beyond_bounds <- function(fit, slopes) {
  variables <- fit$columns$variables
  response <- variables[[length(variables)]]
  width <- response$upper - response$lower
  own <- vapply(fit$columns$columns[fit$kept], function(column) {
    length(column$variables) == 1L && variables[[column$variables]]$kind == "level"
  }, NA)
  own & abs(unname(slopes)) > width
}

#' Factor from the weighted mean of squared residuals to the variance of an error with weight one
#' @noRd
weight_scale <- function(fit, rows) {
  if (!fit$columns$weighted) {
    return(1)
  }
  if (!fit$privacy$private) {
    return(fit$max_weight * fit$release$weight / rows)
  }
  rounds <- fit$release$rounds
  fit$max_weight * max(rounds[[length(rounds)]]$weight, 0.1) * fit$nobs / rows
}
