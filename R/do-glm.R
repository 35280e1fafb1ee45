# Private generalised linear models: check, plan, charge, draw. Each method has a record in
# R/mech-glm-*.R. Only R/ppl-lm-columns.R and C++ code use a row's values.

#' Generalised linear models under differential privacy
#'
#' The private counterpart of [stats::glm()] for data with one row per person. The function fits
#' logistic regressions, Poisson regressions with capped counts, and linear regressions that are
#' robust to outliers. Standard errors and intervals cover sampling error and privacy noise
#' together.
#'
#' The default method perturbs the objective: a random linear term, drawn once, is added to the
#' negative log-likelihood, and the minimiser of the sum is released. Before this step, part of the
#' budget is spent on the medians and scales of the numeric variables and on the covariance of the
#' regressors, so bounds ten times too wide increase the errors only slightly.
#'
#' Rows whose scaled regressors have a norm (*length*) above a limit R have smaller weights, which
#' depend on the regressors alone (see Estimand). R^2 is at least the number of coefficients. R^2
#' exceeds this number if there are enough people, or if the rows of a rare group need a larger
#' limit. The share of such a group is released: it is the smallest share of a 0/1 regressor's
#' value, or of a factor's level, that is visible above the noise. The proof needs a ridge of size 2
#' R^2 / epsilon, which shrinks slopes towards zero when there are few people.
#'
#' A logistic loss has its smallest curvature where its slope is largest. With a ridge of this size,
#' the curvature of one person's loss adds almost nothing to the privacy loss from its slope, and
#' the remaining budget is available for the linear term.
#'
#' @section Families:
#' * `"binomial"` (logit): the outcome is a number with bounds `c(0, 1)`, a logical, or one of two
#'   levels, the second of which is the event. A number may also be a share between 0 and 1, as in
#'   fractional logit models (Papke and Wooldridge, 1996). Standard errors are computed from the
#'   variance p (1 - p) of 0/1 outcomes, which is an upper limit for shares.
#' * `"poisson"` (log): the outcome is a count with bounds `c(0, most)`. A cap is found privately
#'   with 2 % of the budget. Counts and fitted means near the cap are reduced by a function that
#'   leaves means below half of the cap unchanged. With `intervals` another twentieth of the budget
#'   is spent on the sum of squared scores, so that standard errors include a quasi-likelihood
#'   dispersion of at least one.
#' * `"gaussian"`: log-cosh loss, which is approximately quadratic for residuals within one standard
#'   deviation of the outcome and linear for larger residuals. With skewed errors the coefficients
#'   differ from those of `lm()`, and intervals do not contain the latter. For least squares use
#'   [dp_lm()]. With `epsilon = Inf` the fit is least squares.
#'
#' @section Estimand:
#' If the model is correct, the weights of rows change only the efficiency. If the model is not
#' correct, as for every real outcome, `coef()` estimates the coefficients of the weighted fit. The
#' budget and the number of columns determine a threshold for the number of people. Below this
#' threshold, the weight of a row is inversely proportional to its length, and the noise is
#' smallest. Above the threshold, rows shorter than R have weight one, and R grows with the number
#' of people: the estimand tends to the estimand of `glm()`, and the noise grows in proportion to R.
#'
#' In six real data sets with 20,000 people, the inversely proportional weights moved coefficients
#' by 1.2 to 2.2 standard errors of `glm()` (root mean square over coefficients). Equal weights
#' within R moved coefficients by 0.7 to 1.8 standard errors for the smallest R, and by at most 0.9
#' standard errors for twice this R. `settings = list(length = 2)` sets R to twice its smallest
#' value; `settings = list(length = 0)` sets inversely proportional weights.
#'
#' @section Bounds, formulas, missing values: As in [dp_lm()], `bounds` gives the range or all
#' levels of every variable, and formulas may use functions of one row only. A row with a missing
#' value, or outside `subset`, has weight zero, and the number of such rows is private. `weights`
#' are case weights, for example of a survey. Rows with weights far below `max_weight` contribute
#' little.
#'
#' @section Budgets that are too small: A coefficient is marked as *not identified at this budget*
#' unless the rows contain at least twice as much information about the coefficient as the ridge
#' that privacy needs. A marked coefficient is shrunk towards zero, and its interval is unreliable.
#' If public facts show that no slope would be identified, the call is refused, unless it gives
#' `penalty` or `constraints`. Columns are whitened only if, given epsilon and the numbers of people
#' and columns, whitening is expected to reduce the error. Otherwise columns are scaled by their
#' bounds, and tight bounds reduce the errors.
#'
#' @param formula (`formula`)\cr `outcome ~ regressors`; `.` stands for all other names in `bounds`.
#' @param data (`data.frame`, [dp_chunks()] of them, [dp_files()], [dp_table()] or [dp_sources()],
#'   PRIVATE)\cr one row per person. Blocks are read one after the other, and the optimiser keeps
#'   the rows in memory, at 4 bytes per number. The method needs rows, so `compute = "database"` is
#'   refused.
#' @param family (`string` or `family`)\cr see Families. `quasipoisson()` and `quasibinomial()` give
#'   the same fits as `poisson()` and `binomial()`.
#' @param epsilon (`number`, positive)\cr privacy loss. `Inf`: NOT PRIVATE, the estimates of
#'   `glm()`.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With `delta = 0` columns are not
#'   whitened, and with many columns the noise is larger.
#' @param bounds (`list`, PUBLIC)\cr see [dp_bounds].
#' @param method (`string`)\cr `"objective"` is the default. The other methods are from papers: they
#'   give coefficients without standard errors, scale columns by `bounds`, and fit the binomial
#'   family unless stated otherwise. `"output"` is output perturbation. `"objective-public"`,
#'   `"kst"` and `"cms"` are three calibrations of objective perturbation; `"kst"` also fits linear
#'   models with coefficients in a box. `"napp"` uses stages with fresh noise and fits every family.
#'   For a lasso, an elastic net or a group penalty use `"objective"` with `penalty`. The proofs are
#'   in `proofs/papers.md`.
#' @param calibration (`string` or `NULL`)\cr `"tight"`: the constants that this package proves.
#'   `"published"`: the constants of the paper, for `"output"`, `"kst"`, `"cms"` and `"napp"`;
#'   `"napp"` is then NOT PRIVATE. `NULL`: `"tight"`.
#' @param intervals (`flag`)\cr whether to spend a tenth of the budget on a noisy information
#'   matrix, from which standard errors are computed. Decide before the release.
#' @param penalty (`list` or `NULL`, PUBLIC)\cr `lasso`, `ridge`, `group`: weights of penalties, as
#'   in `glmnet`. Three penalties are added to the mean loss: `lasso` times the sum of the absolute
#'   slopes, half of `ridge` times the sum of squared slopes, and for each term `group` times the
#'   square root of its number of slopes times the norm of its slopes. Slopes are for columns scaled
#'   by their released standard deviations. Slopes can be exactly zero, at no further cost. With
#'   `ridge` alone there are standard errors, which refer to the ridge fit of the population and not
#'   to slopes without a ridge; with `lasso` or `group` there are none. `group` excludes `lasso` and
#'   `constraints`.
#' @param constraints (`list` or `NULL`, PUBLIC)\cr constraints on slopes, in the formula's units.
#'   `lower`, `upper`: one number for all slopes, or numbers named by coefficient. `A`, `b`: `A %*%
#'   slopes <= b`, with one row per constraint; the columns of `A` are in the order of the slopes or
#'   named. `simplex = TRUE`: slopes of at least zero with sum one. Constraints are part of the
#'   minimisation and cost nothing; limits and zeros are exact. With constraints there are no
#'   standard errors. `after = TRUE`: the release is a fit without constraints, and its coefficients
#'   are moved to the nearest feasible coefficients, in the metric of their errors.
#' @param settings (`list`, PUBLIC)\cr for `"objective"`: `length`, the ratio of the limit R to its
#'   smallest value (from 1 to 100), or 0 (see Estimand); with `NULL` it depends only on public
#'   facts. For the papers' methods: `ridge`, for columns scaled so that rows have length at most 1;
#'   `NULL`: a value from public facts. For `"napp"` also `stages` (default 2), and with published
#'   constants `iterations` (default 20) and `target` (the weight of the lasso, default 1). In
#'   linear models, where all columns and the outcome lie in \[-1, 1\], `"kst"` takes `box` (the
#'   largest coefficient, default 1) and `"napp"` takes `tau` (the residual beyond which the loss is
#'   linear, default 1/4).
#' @param subset (`expression`)\cr a condition on columns of `data`, evaluated row by row; its
#'   result is private.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used. `rng = "R"`: NOT PRIVATE.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people;
#'   neighbours arise by replacing all rows of one person. `"row"`, also assumed for `NULL`:
#'   each row is a different person. A column requires method `"objective"`, and rows in memory, in
#'   chunks, or read by this process from one table or set of files; see [dp_person]. Standard
#'   errors in Poisson regressions, and standard errors with `weights`, are then clustered by
#'   person. Other standard errors assume that all rows of a person are equal. If the rows differ,
#'   these standard errors are too large, by a factor of up to the square root of the number of rows
#'   per person.
#' @param offset (`formula` or `string`, PUBLIC)\cr a known part of each person's linear predictor:
#'   for example `~ log(years)` for rates of counts, or `~ logit` for known log odds. The offset is
#'   an expression of columns with limits in `bounds`. These columns are clipped like all columns,
#'   and a `.` in the formula does not include them. The values of the offset are private like the
#'   values of any column. The offset costs only the share of the budget for its median, which is
#'   found together with the regressors' medians. Predictions need the columns of the offset. Counts
#'   are capped without regard to exposure. In simulations with exposures that differ by a factor of
#'   25, slopes had a bias of about 1 %, and intervals had coverage .93 to .98
#'   (`bench/results/offset.csv`). An offset requires method `"objective"`.
#' @param weights (`expression`)\cr case weights: a column of `data` or a function of one row;
#'   PRIVATE. Coefficients maximise the weighted likelihood. Their standard errors assume that
#'   people are drawn independently, and are robust to weights that depend on the outcome. With
#'   `intervals` another twentieth of the budget is spent on second moments of the scores. Weights
#'   require method `"objective"` and no `penalty`.
#' @param max_weight (`number`, positive, PUBLIC)\cr the largest weight; larger weights are reduced
#'   to this value. `NULL`: the upper bound of the weights' column in `bounds`. The ridge and the
#'   noise are as large as if all people had this weight, so their effect is greatest if the mean
#'   weight is far below `max_weight`.
#' @param ... unused; an unknown argument causes an error.
#' @return An object of class `dp_glm`:
#'   * `coefficients`: estimates, intercept first. RELEASED.
#'   * `covariance`: the matrices `total`, `privacy` (noise, and the possible bias from the ridge)
#'     and `sampling`, or `NULL`. RELEASED.
#'   * `identified`: one flag per coefficient. RELEASED.
#'   * `release`: the released results of the mechanism. RELEASED.
#'   * `columns`, `plan`, `nobs`, `family`, `method`: the columns, the plan with the shares of the
#'     budget, the number of rows, the family and the method. PUBLIC.
#'   * `privacy`: budget, definition of neighbours, theorem, steps, and whether the privacy
#'     guarantee holds. PUBLIC.
#'
#'   The object contains no row, fitted value, residual, model frame or environment.
#' @section Privacy:
#' A fit protects one person's whole row against an adversary who knows all other rows. In
#' neighbouring data sets one row is replaced, or with `person = ~ id` all rows of one person. The
#' guarantee is for one pair (epsilon, delta), which a ledger charges. It implies no guarantee at a
#' smaller epsilon. The proof is in `proofs/glm.md`.
#'
#' The linear term is drawn by comparing random digits, so that it is an exact draw, rounded. The
#' optimiser stops at a small gradient; the bound on this gradient, rounding included, is part of
#' the proof. Exact noise on a public grid covers the remaining error. With `delta = 0` the noise is
#' exact except with a probability below `exp(-60)`, and the printed fit states that the noise is
#' not exact. If the minimiser is not found, the fit is returned and charged, every coefficient is
#' `NA`, and none counts as identified. The guarantee covers neither this event nor the failures
#' listed under Errors. The event did not occur in 1,500 fits to uninformative data within bounds up
#' to a million times too wide, nor in 20,000 problems with penalties or limits that were designed
#' to be hard (`tests/core` in the source package runs 800 such problems). Methods that need no
#' `delta` guarantee `delta = 0`, whichever value is given.
#' @section Errors:
#' `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`, `dpsc_error_budget`. All these
#' errors occur before any budget is spent, and depend on public facts only: formula, bounds, sizes,
#' and the names, types and number of columns. The guarantee does not cover failures of a database
#' engine, a worker or a reader of [dp_chunks()].
#' @references
#' Kifer, D., Smith, A. and Thakurta, A. (2012). Private Convex Empirical Risk Minimization and
#' High-dimensional Regression. COLT.
#'
#' Papke, L. E. and Wooldridge, J. M. (1996). Econometric Methods for Fractional Response Variables.
#' Journal of Applied Econometrics 11, 619-632.
#'
#' Redberg, R., Koskela, A. and Wang, Y.-X. (2023). Improving the Privacy and Practicality of
#' Objective Perturbation for Differentially Private Linear Learners. NeurIPS.
#' @seealso [dp_lm()], [dp_ledger()], `vignette("private-regression")`.
#' @examples
#' n <- 10000
#' people <- data.frame(age = runif(n, 18, 80), region = sample(c("n", "s"), n, TRUE))
#' people$ill <- runif(n) < plogis(-3 + 0.05 * people$age + 0.5 * (people$region == "s"))
#' fit <- dp_glm(ill ~ age + region, people, "binomial",
#'   epsilon = 1, delta = 1e-6,
#'   bounds = list(ill = c(FALSE, TRUE), age = c(0, 120), region = c("n", "s"))
#' )
#' fit
#' confint(fit)
#' predict(fit, data.frame(age = 40, region = "s"), type = "response", interval = "confidence")
#' @export
dp_glm <- function(formula, data, family = "binomial", epsilon, delta = 1e-6, bounds,
                   method = "objective", calibration = NULL, intervals = TRUE, penalty = NULL,
                   constraints = NULL, settings = list(), subset = NULL, ledger = NULL,
                   control = dp_control(), person = NULL, offset = NULL, weights = NULL,
                   max_weight = NULL, ...) door("dp_glm", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(epsilon), "epsilon", "the privacy loss you accept")
  if (!missing(data) && !is.data.frame(data)) data <- source_of_tbl(data)
  if (!is.null(offset)) offset <- said_offset(offset)
  whole <- if (is.null(offset)) formula else formula_with(formula, offset)
  check_every_bound(whole, if (!missing(bounds)) bounds, if (!missing(data)) data)
  check_given(missing(data), "data", "one row per person")
  choice <- list(subset = substitute(subset), weights = substitute(weights), max_weight = 1)
  family <- check_family(family)
  columns <- lm_columns(formula, bounds, glm_families[[family]]$outcome, offset)
  asked <- list(
    family = family, method = method, calibration = calibration, intervals = intervals,
    penalty = penalty, constraints = constraints, settings = settings, offset = columns$offset,
    weights = choice$weights
  )
  given <- c("penalty", "constraints", "settings")
  if (any(lengths(asked[given]) > 0L)) asked[given] <- bare_options(asked[given])
  budget <- checked_budget(epsilon, delta, ledger, control)
  if (!is.null(choice$weights) || !is.null(max_weight)) {
    choice$max_weight <- largest_weight(choice$weights, max_weight, bounds, budget$private)
    columns$weighted <- TRUE
  }
  record <- mechanism_table$dp_glm[[check_choice(method, names(mechanism_table$dp_glm))]]
  if (!is.null(person)) columns$person <- check_person(person, record, method, data)
  if (!is.data.frame(data)) refuse_needed(data, record$needs, method, budget$private)
  source <- lm_source(columns, data, choice, budget$private)
  on.exit(close_donors(source$table))
  public <- glm_public(budget, columns, source$n, asked, choice$max_weight)
  if (!is.data.frame(data)) public$assumes <- assumptions_of(data)
  made <- make_release(new_request(glm_record(), public, source$table, ledger))
  if (!public$private) {
    return(new_glm(columns, public, list(), raw_glm(made$drawn, columns, family)))
  }
  fit <- new_glm(columns, public, made$plan, made$drawn)
  warn_doubts(regression_doubts(fit))
  with_charge(fit, made$charge)
})

#' @noRd
glm_record <- function() {
  list(
    plan = function(request) if (request$public$private) glm_plan(request$public),
    refuse = function(request, plan) check_hopeful(request$public, plan),
    promise = function(request, plan) glm_promise(request$public),
    label = function(request, plan) "generalised linear model",
    run = function(request, plan, rows) {
      public <- request$public
      if (!public$private) {
        return(gather_rows(rows))
      }
      tryCatch(
        mechanism_table$dp_glm[[public$method]]$run(plan, rows, public),
        # A failure is part of the result, which stays charged. An error would reveal the failure
        # outside the result.
        `dpsc::solver_failed` = function(e) list(failed = TRUE)
      )
    }
  )
}

#' @noRd
glm_public <- function(budget, columns, n, asked, max_weight = 1) {
  public <- lm_public(budget, columns, n, "const", max_weight)
  methods <- mechanism_table$dp_glm
  public$family <- asked$family
  public$method <- check_choice(asked$method, names(methods), arg = "method")
  public$person <- columns$person
  record <- methods[[public$method]]
  if (!asked$family %in% record$families) {
    abort(c(
      "Method {.val {public$method}} fits {.or {.val {record$families}}} only.",
      x = "{.arg family} is {.val {asked$family}}."
    ), "argument")
  }
  public$calibration <- check_choice(
    asked$calibration %||% record$calibrations[[1L]], record$calibrations,
    arg = "calibration"
  )
  public$options <- check_glm_options(asked, record, public$method)
  response <- columns$variables[[length(columns$variables)]]
  public$facts <- c(public$facts, list(
    family = asked$family, upper = response$upper, intervals = public$options$intervals
  ))
  public$facts$offset <- columns$offset$at
  if (!is.null(record$prepare)) public <- record$prepare(public, columns)
  reason <- if (!is.null(record$refuse)) record$refuse(public)
  if (!is.null(reason)) {
    abort(c(
      "Method {.val {public$method}} cannot be used with these arguments.", x = "{reason}"
    ), "argument")
  }
  public
}

check_glm_options <- function(asked, record, method) {
  taken <- function(name) name %in% record$options
  given <- c(
    penalty = !is.null(asked$penalty), constraints = !is.null(asked$constraints),
    settings = length(asked$settings) > 0L, offset = !is.null(asked$offset),
    weights = !is.null(asked$weights)
  )
  refused <- names(given)[given & !vapply(names(given), taken, NA)]
  if (length(refused)) {
    abort(c(
      "Method {.val {method}} does not accept {.or {.arg {refused}}}.",
      i = "Omit {.arg {refused}}."
    ), "argument")
  }
  if (!is.list(asked$settings)) {
    abort("{.arg settings} must be a list.", "argument")
  }
  intervals <- check_flag(asked$intervals, arg = "intervals")
  list(
    intervals = intervals && taken("intervals"), penalty = asked$penalty,
    constraints = asked$constraints, settings = asked$settings
  )
}

#' Budget and steps of a model
#' @noRd
glm_plan <- function(public) {
  planned(mechanism_table$dp_glm[[public$method]]$plan(public), "this model")
}

#' Refuse fits that cannot succeed by the plan of the method
#' @noRd
check_hopeful <- function(public, plan) {
  refuse <- mechanism_table$dp_glm[[public$method]]$hopeless
  if (public$private && !is.null(refuse)) refuse(public, plan)
}

#' @noRd
glm_promise <- function(public) {
  promise <- if (public$private) {
    mechanism_table$dp_glm[[public$method]]$promise(public)
  } else {
    list(theorem = "", exact = TRUE)
  }
  promise$neighbours <- person_neighbours(public$person)
  reason <- unkept_reason(public)
  if (nzchar(reason)) promise[c("holds", "reason")] <- list(FALSE, reason)
  promise
}

#' Maximum likelihood estimates without privacy, as by glm()
#' @noRd
raw_glm <- function(table, columns, family) {
  table <- table[stats::complete.cases(table), , drop = FALSE]
  x <- model_columns(columns, table)
  y <- table[, length(columns$variables)]
  known <- if (!is.null(columns$offset)) table[, columns$offset$at]
  weight <- if (isTRUE(columns$weighted)) pmax(table[, length(columns$variables) + 1L], 0)
  # Counts vary more than the Poisson model predicts, so their errors come from the scores.
  if (!is.null(weight) || !is.null(columns$person$column) || family == "poisson") {
    who <- if (is.null(columns$person$column)) seq_along(y) else table[, ncol(table)]
    return(raw_glm_by_person(x, y, who, family, known, weight))
  }
  fit <- glm_of_rows(x, y, family, offset = known)
  known <- which(!is.na(fit$coefficients))
  V <- matrix(NA_real_, ncol(x), ncol(x))
  dispersion <- if (family == "gaussian") sum(fit$residuals^2) / fit$df.residual else 1
  V[known, known] <- dispersion *
    chol2inv(fit$qr$qr[seq_along(known), seq_along(known), drop = FALSE])
  list(coefficients = unname(fit$coefficients), sampling = V, rows = nrow(x))
}

#' Weighted maximum likelihood estimates. NOT PRIVATE.
#' @noRd
glm_of_rows <- function(x, y, family, weights = NULL, offset = NULL) {
  suppressWarnings(stats::glm.fit(
    x, y, weights = weights %||% rep(1, length(y)), offset = offset, family = family_law(family)
  ))
}

#' Maximum likelihood estimates in which each person counts once, with standard errors from the
#' people's scores (White, 1982; Liang and Zeger, 1986). NOT PRIVATE.
#' @param who (`numeric`)\cr the person of each row.
#' @param weights (`numeric` or `NULL`)\cr the rows' weights; a row of weight zero is absent.
#' @noRd
raw_glm_by_person <- function(x, y, who, family, offset = NULL, weights = NULL) {
  weights <- weights %||% rep(1, length(y))
  share <- weights / pmax(1, stats::ave(as.double(weights > 0), who, FUN = sum))
  fit <- glm_of_rows(x, y, family, share, offset)
  known <- which(!is.na(fit$coefficients))
  V <- matrix(NA_real_, ncol(x), ncol(x))
  # The formula for the scores requires canonical links.
  scores <- rowsum(x[, known, drop = FALSE] * (share * (fit$y - fit$fitted.values)), who)
  bread <- chol2inv(fit$qr$qr[seq_along(known), seq_along(known), drop = FALSE])
  n <- nrow(scores)
  V[known, known] <- bread %*% crossprod(scores) %*% bread * n / max(1, n - length(known))
  list(coefficients = unname(fit$coefficients), sampling = V, rows = n)
}

#' @noRd
new_glm <- function(columns, public, plan, release) {
  # For a method that needs no delta, the promised delta is 0.
  pure <- identical(plan$cost$kind, "pure")
  privacy <- c(list(
    private = public$private, epsilon = public$epsilon, delta = if (pure) 0 else public$delta,
    steps = plan$steps, rng = public$rng, version = own_version()
  ), glm_promise(public), assumed(public, public$assumes))
  fit <- structure(list(
    coefficients = NULL, covariance = NULL, identified = NULL, family = public$family,
    method = public$method, calibration = public$calibration, text = columns$text,
    terms = columns$terms, nobs = public$n, release = release, columns = columns,
    plan = plan[setdiff(names(plan), c("cost", "steps"))], public = public, privacy = privacy
  ), class = c("dp_glm", "dp_regression"))
  estimate_glm(fit)
}

#' Estimates from a release
#' @noRd
estimate_glm <- function(fit) {
  size <- length(fit$columns$columns) + 1L
  estimate <- if (isTRUE(fit$release$failed)) {
    list(coefficients = rep(NA_real_, size), identified = numeric(size))
  } else if (fit$privacy$private) {
    mechanism_table$dp_glm[[fit$method]]$estimate(fit$release, fit$public)
  } else {
    c(fit$release[c("coefficients", "sampling")], list(
      privacy = 0 * fit$release$sampling, identified = rep(Inf, length(fit$release$coefficients))
    ))
  }
  names <- c("(Intercept)", vapply(fit$columns$columns, `[[`, "", "name"))
  named <- function(V) if (!is.null(V)) matrix(V, length(names), dimnames = list(names, names))
  fit$coefficients <- stats::setNames(as.double(estimate$coefficients), names)
  if (!is.null(estimate$privacy)) {
    privacy <- named(estimate$privacy)
    sampling <- named(estimate$sampling)
    fit$covariance <- list(total = privacy + sampling, privacy = privacy, sampling = sampling)
  }
  fit$identified <- stats::setNames(estimate$identified > 1, names)
  fit
}
