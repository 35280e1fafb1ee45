# Private generalised linear models: check, plan, charge, draw. A method is its record in
# R/mech-glm.R; only R/ppl-lm-columns.R and C++ use a row's values.

#' Generalised linear models under differential privacy
#'
#' The private counterpart of [stats::glm()] for data with one row per person: logistic regression,
#' Poisson regression with capped counts, and a linear regression that is robust to outliers, with
#' standard errors and intervals that cover sampling error and privacy noise together.
#'
#' The default method perturbs the objective: a random linear term, drawn once, is added to the
#' log-likelihood, and the minimiser is released. Before this step a part of the budget is spent on
#' the medians and scales of the numeric variables and on the covariance of the regressors, so that
#' bounds may be ten times too wide. Rows longer than a limit R have smaller weights, by a function
#' of the regressors alone (see Estimand). R^2 is at least the number of coefficients. R is larger
#' if there are enough people, or if the rows of a rare group need a larger limit, according to the
#' released share of the rarest value of a 0/1 regressor, or level of a factor, that the noise
#' leaves visible. The proof needs a ridge of size 2 R^2 / epsilon, which shrinks slopes towards
#' zero when there are few people.
#'
#' A logistic loss has its smallest curvature where its slope is largest. Once the ridge has that
#' size, the curvature of one person's loss costs almost nothing beside its slope, and the whole
#' budget is left for the linear term.
#'
#' @section Families:
#' * `"binomial"` (logit): the outcome is a number with bounds `c(0, 1)`, a logical, or one of two
#'   levels, the second of which is the event.
#' * `"poisson"` (log): a count with bounds `c(0, most)`. A cap is found privately (2 % of the
#'   budget). Counts and fitted means are bent towards the cap by a function that leaves means below
#'   half of the cap unchanged. With `intervals` another twentieth of the budget goes to the sum of
#'   squared scores, so that standard errors include the dispersion of quasi-likelihood, of at least
#'   one.
#' * `"gaussian"`: log-cosh loss, approximately squares within one standard deviation of the outcome
#'   and absolute values beyond. For least squares use [dp_lm()].
#'
#' @section Estimand:
#' If the model holds, the weights of rows change only the efficiency. If it does not hold, as for
#' every real outcome, `coef()` estimates the fit with these weights. Below a number of people that
#' the budget and the number of columns determine, a row's weight is in inverse proportion to its
#' length, which needs the least noise. Above this number of people, rows shorter than R have weight
#' one, and R grows with the number of people: the estimand tends to the estimand of `glm()`, and
#' the noise grows in proportion to R. In six real data sets with 20,000 people the weights in
#' inverse proportion to length moved coefficients by 1.2 to 2.2 standard errors of `glm()` (root
#' mean square over coefficients); equal weights within R moved them by 0.7 to 1.8 standard errors
#' for the shortest R, and by at most 0.9 for twice this R. `settings = list(length = 2)` sets R to
#' twice its shortest value; `settings = list(length = 0)` sets weights in inverse proportion to
#' length.
#'
#' @section Bounds, formulas, missing values: As in [dp_lm()] `bounds` names every variable, with a
#' range or with all its levels, and formulas may use functions of one row only. A row with a
#' missing value, or outside `subset`, has weight zero, and the number of such rows is private.
#' `weights` are case weights, for example of a survey: they are cut to `max_weight`, and rows with
#' weights far below it contribute accordingly little.
#'
#' @section Budgets that are too small:
#' A coefficient is marked as *not identified at this budget* unless the rows carry at least twice
#' as much information about it as the ridge that privacy needs. A marked coefficient is shrunk to
#' zero, and its interval is not to be trusted. Columns are whitened only if n, epsilon and the
#' number of columns promise a gain; otherwise columns are scaled by their bounds, and tight bounds
#' reduce the errors.
#'
#' @param formula (`formula`)\cr `outcome ~ regressors`; `.` is every other name of `bounds`.
#' @param data (`data.frame`, [dp_chunks()] of them, [dp_files()], [dp_table()] or [dp_sources()],
#'   PRIVATE)\cr one row per person. Blocks are read one after the other; the optimiser's data stay
#'   in memory, at 4 bytes per number. The method needs rows, so `compute = "database"` is refused.
#' @param family (`string` or `family`)\cr see Families. `quasipoisson()` and `quasibinomial()` are
#'   the same as `poisson()` and `binomial()`.
#' @param epsilon (`number`, positive)\cr privacy loss. `Inf`: NOT PRIVATE, the estimates of
#'   `glm()`.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With 0 the noise is larger, and
#'   columns are not whitened.
#' @param bounds (`list`, PUBLIC)\cr see [dp_bounds].
#' @param method (`string`)\cr `"objective"` is the default. The papers' methods give coefficients
#'   without standard errors, take columns in the units of `bounds`, and are for the binomial family
#'   unless stated otherwise: `"output"` (output perturbation), `"objective-public"`, `"kst"` and
#'   `"cms"` (objective perturbation by three calibrations; `"kst"` also fits linear models on a
#'   box), and `"napp"` (stages with fresh noise, for every family). For a lasso, an elastic net or
#'   a group penalty use `"objective"` with `penalty`. Proofs: `proofs/papers.md`.
#' @param calibration (`string` or `NULL`)\cr `"tight"`: the constants proved here. `"published"`: a
#'   paper's constants, for methods that have them. `NULL`: the first calibration of the method.
#' @param intervals (`flag`)\cr whether to spend a tenth of the budget on a noisy information
#'   matrix, without which there are no standard errors. Decide before the release.
#' @param penalty (`list` or `NULL`, PUBLIC)\cr `lasso`, `ridge`, `group`: weights per person, as in
#'   `glmnet`. The objective is the mean loss plus `lasso` times the sum of the absolute slopes,
#'   half of `ridge` times the sum of their squares, and for each term `group` times the square root
#'   of its number of slopes times their norm. Slopes are for columns scaled by their released
#'   standard deviations. Zeros are exact, and cost nothing. With `ridge` alone there are standard
#'   errors, which refer to the population's own ridge fit and not to slopes without a ridge.
#' @param constraints (`list` or `NULL`, PUBLIC)\cr constraints on slopes, in the formula's units.
#'   `lower`, `upper`: one number for all slopes, or numbers named by coefficient. `A`, `b`: `A %*%
#'   slopes <= b`, with one row per constraint, and columns in the slopes' order or named.
#'   `simplex = TRUE`: slopes of at least zero with sum one. Constraints are part of the
#'   minimisation and cost nothing; bounds and zeros are exact. `after = TRUE`: the release is a fit
#'   without constraints, and its coefficients are moved to the nearest feasible coefficients, in
#'   the metric of their errors.
#' @param settings (`list`, PUBLIC)\cr for `"objective"`: `length`, the ratio of the limit R to the
#'   shortest limit, or 0 (see Estimand; `NULL`: a public rule). For the papers' methods: `ridge`,
#'   in units in which rows have length at most 1 (`NULL`: a public rule). For `"napp"` also
#'   `stages` (default 2), and as published `iterations` (20) and `target` (the lasso's weight, 1).
#'   For linear models, where all columns and the outcome lie in \[-1, 1\], `"kst"` takes `box` (1),
#'   the largest coefficient, and `"napp"` takes `tau` (1/4), the residual beyond which the loss is
#'   linear.
#' @param subset (`expression`)\cr a condition on columns of `data`, evaluated row by row; its
#'   result is private.
#' @param ledger (`dp_ledger` or `NULL`)\cr charged before any noise is drawn.
#' @param control (`dp_control`)\cr only `rng` is used. `rng = "R"`: NOT PRIVATE.
#' @param person (`formula` or `string`, PUBLIC)\cr `~ id`: the column that identifies people;
#'   neighbours then replace all rows of one person. `"row"`, also assumed for `NULL`: each row is a
#'   different person. A column requires method `"objective"` and rows in memory, in chunks, or read
#'   here from one table or set of files; see [dp_person]. Standard errors of counts, and standard
#'   errors with `weights`, are then clustered by person. Other standard errors assume that a
#'   person's rows are copies of each other; if they differ, the errors are too large by a factor of
#'   up to the square root of the number of rows per person.
#' @param offset (`formula` or `string`, PUBLIC)\cr a known part of each person's linear predictor:
#'   `~ log(years)` for rates of counts, `~ logit` for known log odds. It is an expression of
#'   columns with limits in `bounds`; these columns are clipped like all columns, and are not
#'   included in a `.` of the formula. The offset is private like any column. It costs only the
#'   share of the budget for its median, which is found with the regressors' medians. Predictions
#'   need its columns. Counts are capped without regard to exposure. In simulations with exposures
#'   that differ by a factor of 25, slopes were off by 1 %, which reduces coverage with 20,000
#'   people (.92 at epsilon 4; .92 to .98 over all cells of `bench/results/offset.csv`). An offset
#'   requires method `"objective"`.
#' @param weights (`expression`)\cr case weights: a column of `data` or a function of one row;
#'   PRIVATE. Coefficients maximise the weighted likelihood, and standard errors are for this
#'   estimate (robust to weights that depend on the outcome; people are drawn independently). With
#'   `intervals` another twentieth of the budget goes to the scores' second moments. Weights require
#'   method `"objective"` and no `penalty`.
#' @param max_weight (`number`, positive, PUBLIC)\cr the largest weight counted. `NULL`: the upper
#'   bound of a column of weights in `bounds`. Ridge and noise are as large as if all people had
#'   this weight, so they matter the more, the further the mean weight is below it.
#' @return An object of class `dp_glm`:
#'   * `coefficients`: estimates, intercept first. RELEASED.
#'   * `covariance`: `total`, `privacy` (noise, and the possible bias from the ridge), `sampling`;
#'     or `NULL`. RELEASED.
#'   * `identified`: a flag for each coefficient. RELEASED.
#'   * `release`: the mechanism's results. RELEASED.
#'   * `columns`, `plan`, `nobs`, `family`, `method`: the request, and shares of the budget. PUBLIC.
#'   * `privacy`: budget, neighbours, theorem, steps, whether the promise holds. PUBLIC.
#'
#'   It holds no row, fitted value, residual, model frame or environment.
#' @section Privacy:
#' A fit protects one person's whole row against an adversary who knows all other rows. Neighbours
#' replace one row, or with `person = ~ id` all rows of one person. The guarantee is one pair
#' (epsilon, delta), and does not hold at a smaller epsilon; a ledger charges this pair. The linear
#' term is drawn by comparing random digits, so that it is a true draw, rounded. The minimiser is
#' found up to a gradient whose bound, rounding included, is part of the proof. The remaining error
#' is covered by exact noise on a public grid (for `delta = 0` except for linear terms with a
#' probability below `exp(-60)`; the print then states that the noise is not exact). If the
#' minimiser is not found, the fit is returned and charged, with `NA` for coefficients that are not
#' identified; this event is the only one that the guarantee does not cover. It did not occur in
#' 1,500 fits of uninformative people, within bounds up to a million times too wide, nor in 20,000
#' penalised problems designed to be hard (`tests/core` of the sources). Methods that need no
#' `delta` promise 0, for any given value. Proof: `proofs/glm.md`.
#' @section Errors:
#' `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_data`, `dpsc_error_budget`. All come
#' before any budget is spent, and depend on public facts only: names, types and number of columns,
#' formula, bounds, sizes. The guarantee does not cover failures of an engine, a worker or a reader
#' of [dp_chunks()].
#' @references
#' Kifer, D., Smith, A. and Thakurta, A. (2012). Private Convex Empirical Risk Minimization and
#' High-dimensional Regression. COLT.
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
                   max_weight = NULL) door("dp_glm", pays = TRUE, {
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
        # An error would reveal the failure in another way: this result names its fault and stays
        # charged.
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
    abort(c("Method {.val {public$method}} cannot do this.", x = "{reason}"), "argument")
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
    abort("Method {.val {method}} takes no {.arg {refused}}.", "argument")
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

#' Refuse fits that cannot succeed according to the method's plan
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

#' Maximum likelihood without privacy: the fit of glm()
#' @noRd
raw_glm <- function(table, columns, family) {
  table <- table[stats::complete.cases(table), , drop = FALSE]
  x <- model_columns(columns, table)
  y <- table[, length(columns$variables)]
  known <- if (!is.null(columns$offset)) table[, columns$offset$at]
  weight <- if (isTRUE(columns$weighted)) pmax(table[, length(columns$variables) + 1L], 0)
  # Counts vary more than the model says: their errors come from the scores.
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

#' Maximum likelihood of rows with weights: NOT PRIVATE
#' @noRd
glm_of_rows <- function(x, y, family, weights = NULL, offset = NULL) {
  if (family == "binomial") y <- as.double(y >= 0.5)
  suppressWarnings(stats::glm.fit(
    x, y, weights = weights %||% rep(1, length(y)), offset = offset, family = family_law(family)
  ))
}

#' Maximum likelihood in which each person counts once, with errors from the people's scores (White,
#' 1982; Liang and Zeger, 1986): NOT PRIVATE
#' @param who (`numeric`)\cr the person of each row.
#' @param weights (`numeric` or `NULL`)\cr the rows' weights; a row of weight zero is absent.
#' @noRd
raw_glm_by_person <- function(x, y, who, family, offset = NULL, weights = NULL) {
  weights <- weights %||% rep(1, length(y))
  share <- weights / pmax(1, stats::ave(as.double(weights > 0), who, FUN = sum))
  fit <- glm_of_rows(x, y, family, share, offset)
  known <- which(!is.na(fit$coefficients))
  V <- matrix(NA_real_, ncol(x), ncol(x))
  # Links are canonical.
  scores <- rowsum(x[, known, drop = FALSE] * (share * (fit$y - fit$fitted.values)), who)
  bread <- chol2inv(fit$qr$qr[seq_along(known), seq_along(known), drop = FALSE])
  n <- nrow(scores)
  V[known, known] <- bread %*% crossprod(scores) %*% bread * n / max(1, n - length(known))
  list(coefficients = unname(fit$coefficients), sampling = V, rows = n)
}

#' @noRd
new_glm <- function(columns, public, plan, release) {
  # A method that needs no delta promises delta = 0.
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
