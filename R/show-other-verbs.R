# Methods on regressions for generics of other packages. They use `coef()`, `vcov()` and public
# facts, and cost nothing.

#' Private regressions in other packages
#'
#' Fits of [dp_lm()] and [dp_glm()] work with packages `parameters`, `marginaleffects`, `emmeans`,
#' `effects`, `car` and `lmtest`. All results are computed from [coef()][dp_estimates] and
#' [vcov()][dp_estimates], and spend no budget.
#'
#' Averages over people are unavailable, since no fit contains people's rows. If a function needs
#' data, give public rows as `newdata` (`marginaleffects`) or `data` (`emmeans`, `effects`).
#' Otherwise `emmeans` and `effects` use artificial rows within `bounds`: the means of numeric
#' variables are the middles of their bounds, and all levels are equally frequent. Use `at =`,
#' `fixed.predictors =` or `xlevels =` for other values.
#'
#' `car::Anova()` tests each term given all other terms (`type = "III"`), as `anova()` does, or
#' given all other terms except those that contain it (`type = "II"`). The argument `test.statistic`
#' of `car::Anova()`, and the argument `test` of `waldtest()`, is `"F"` (the default for [dp_lm()])
#' or `"Chisq"`. `waldtest()` compares a fit with a submodel, which is a fit by `update()`, a
#' formula such as `. ~ . - x`, or the names or numbers of terms to omit. By default all terms are
#' omitted.
#'
#' @param object,model,formula,x,fit (`dp_lm` or `dp_glm`)\cr a fit.
#' @param scale,k unused.
#' @param ... unused, or arguments of the generic.
#' @return The values of the generics:
#'   * `parameters::parameters()`: a table with `Parameter`, `Coefficient`, `SE`, and the confidence
#'     limits and tests of `tidy()`.
#'   * `car::Anova()`, `lmtest::waldtest()`: Wald tests with the total covariance, `NA` if a
#'     coefficient is not identified. For `epsilon = Inf` and `vcov = "const"` these tests equal the
#'     tests of [stats::lm()]. `anova()` of a private fit tests each term given all other terms;
#'     `anova()` of an `lm` fit tests terms sequentially.
#'   * `marginaleffects::predictions()`, `slopes()` and `comparisons()` (with `newdata`),
#'     `hypotheses()`, `emmeans::emmeans()`, `effects::Effect()` and related functions: the results
#'     of these packages.
#'   * `terms()`: the terms of the formula.
#'   * `model.matrix()`: the model matrix of the public rows in `data`.
#'   * `logLik()`, `AIC()`, `BIC()`, `step()`, `deviance()`, `hatvalues()`, `simulate()`,
#'     `model.frame()`, `sandwich::estfun()`, `residuals()` and `fitted()`: an error, since the
#'     results would be values of single people, or sums of such values that were not released.
#' @section Errors: `dpsc_error_argument`.
#' @name dp_other_verbs
NULL

# Refused generics ---------------------------------------------------------------------------------

#' @param what (`string`)\cr the name of the result, for the start of a sentence.
#' @noRd
refusing <- function(verb, what) {
  force(what)
  function(object, ...) door(verb, abort_of_people(what, verb, object$privacy$private))
}

abort_of_people <- function(what, name, private = TRUE) {
  abort(c(
    if (private) {
      "{what} depend on single people's rows, which a private fit does not contain."
    } else {
      "{what} depend on single people's rows, which a fit does not contain, even without privacy."
    },
    i = "For predictions at public rows, use {.code predict(fit, newdata = )}."
  ), "argument")
}

#' @rdname dp_estimates
#' @export
residuals.dp_regression <- refusing("residuals", "Residuals")

#' @rdname dp_estimates
#' @export
fitted.dp_regression <- refusing("fitted", "Fitted values")

#' @rdname dp_other_verbs
#' @importFrom stats logLik deviance hatvalues extractAIC
#' @export
deviance.dp_regression <- refusing("deviance", "The deviance and its parts")

#' @rdname dp_other_verbs
#' @export
logLik.dp_regression <- refusing("logLik", "The log-likelihood and its parts")

#' @rdname dp_other_verbs
#' @export
extractAIC.dp_regression <- function(fit, scale, k, ...) {
  refusing("step", "The log-likelihood and its parts")(fit)
}

#' @rdname dp_other_verbs
#' @importFrom stats AIC
#' @export
AIC.dp_regression <- refusing("AIC", "The log-likelihood and its parts")

#' @rdname dp_other_verbs
#' @importFrom stats BIC
#' @export
BIC.dp_regression <- refusing("BIC", "The log-likelihood and its parts")

#' @rdname dp_other_verbs
#' @export
hatvalues.dp_regression <- function(model, ...) door("hatvalues", {
  abort_of_people("Hat values", "hatvalues", model$privacy$private)
})

#' @rdname dp_other_verbs
#' @importFrom stats model.frame
#' @export
model.frame.dp_regression <- function(formula, ...) door("model.frame", {
  abort_of_people("The values of a model frame", "model.frame", formula$privacy$private)
})

#' @rdname dp_other_verbs
#' @export
simulate.dp_regression <- refusing("simulate", "Outcomes drawn at the people's own regressors")

#' @exportS3Method sandwich::estfun
estfun.dp_regression <- function(x, ...) door("estfun", {
  abort_of_people("Scores", "estfun", x$privacy$private)
})

# Results that follow from public facts ------------------------------------------------------------

#' @rdname dp_other_verbs
#' @importFrom stats terms
#' @export
terms.dp_regression <- function(x, ...) stats::terms(stats::formula(x))

#' @rdname dp_other_verbs
#' @param data (`data.frame`, PUBLIC)\cr the rows.
#' @importFrom stats model.matrix
#' @export
model.matrix.dp_regression <- function(object, data, ...) door("model.matrix", {
  check_given(missing(data), "data", "public rows, since no fit contains people's rows")
  linear_predictor(object, data)$x
})

#' Artificial rows within the bounds, with numeric values spread evenly around the middles and
#' equally frequent levels
#'
#' Rows are mirrored pairs, so that means are the middles of the bounds. Values are multiples of
#' square roots of primes, so that no column is a linear combination of other columns.
#' @param outcome (`string` or `NULL`)\cr a column of zeros and ones with this name.
#' @return A data frame. PUBLIC.
#' @noRd
public_rows <- function(fit) {
  regressors <- fit$columns$variables[-length(fit$columns$variables)]
  names <- unique(unlist(lapply(regressors, symbols_of)))
  unknown <- setdiff(names, names(fit$columns$given))
  if (length(unknown)) {
    abort(c(
      "{.arg data} is required: public rows.",
      x = "The fit's {.arg bounds} have no limits for {.code {unknown}} itself."
    ), "argument")
  }
  half <- 50L * (length(fit$columns$columns) + 2L)
  rows <- lapply(seq_along(names), function(j) {
    share <- (seq_len(half) * sqrt(small_primes[[(j - 1L) %% length(small_primes) + 1L]])) %% 1
    public_column(fit$columns$given[[names[[j]]]], c(share, 1 - share))
  })
  as.data.frame(stats::setNames(rows, names), optional = TRUE)
}
small_primes <- c(2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71)

#' @param share (`numeric` in \[0, 1\])\cr positions within the bounds.
#' @noRd
public_column <- function(bound, share) {
  if (is.null(bound$levels)) {
    return(bound$lower + share * (bound$upper - bound$lower))
  }
  value <- plain_bound(bound)[pmin(floor(share * length(bound$levels)) + 1, length(bound$levels))]
  if (identical(bound$levels, c("FALSE", "TRUE"))) {
    as.logical(value)
  } else if (is.character(value)) {
    factor(value, levels = bound$levels)
  } else {
    value
  }
}

# parameters and insight ---------------------------------------------------------------------------

#' @exportS3Method insight::get_parameters
get_parameters.dp_regression <- function(x, ...) {
  estimate <- moved_coef(x)
  data.frame(Parameter = names(estimate), Estimate = unname(estimate))
}

# For numerical derivatives marginaleffects changes the coefficients; `coef()` always returns the
# fitted coefficients.
moved_coef <- function(fit) fit$moved %||% stats::coef(fit)

# marginaleffects ----------------------------------------------------------------------------------

#' @exportS3Method marginaleffects::get_coef
get_coef.dp_regression <- function(model, ...) moved_coef(model)

#' @exportS3Method marginaleffects::set_coef
set_coef.dp_regression <- function(model, coefs, ...) {
  model$moved <- stats::setNames(coefs, names(stats::coef(model)))
  model
}

#' @exportS3Method marginaleffects::get_vcov
get_vcov.dp_regression <- function(model, ...) stats::vcov(model)

#' @exportS3Method marginaleffects::get_predict
get_predict.dp_regression <- function(model, newdata, type = "response", ...) {
  rows <- linear_predictor(model, newdata)
  value <- drop(rows$x %*% moved_coef(model)) + rows$offset
  if (inherits(model, "dp_glm") && !identical(type, "link")) {
    value <- glm_families[[model$family]]$mean(value)
  }
  data.frame(rowid = newdata$rowid %||% seq_len(nrow(newdata)), estimate = unname(value))
}

# emmeans ------------------------------------------------------------------------------------------

#' @exportS3Method emmeans::recover_data
recover_data.dp_regression <- function(object, data = NULL, ...) door("recover_data", {
  call <- str2lang(paste0(class(object)[[1L]], "()"))
  emmeans::recover_data(call, stats::delete.response(stats::terms(object)), NULL,
    data = data %||% public_rows(object), ...
  )
})

#' @exportS3Method emmeans::emm_basis
emm_basis.dp_regression <- function(object, trms, xlev, grid, ...) door("emm_basis", {
  misc <- list()
  if (inherits(object, "dp_glm")) {
    family <- family.dp_glm(object)
    misc <- list(
      tran = family$link, inv.lbl = if (family$family == "poisson") "rate" else "prob"
    )
    if (family$link == "identity") misc <- list()
  }
  list(
    X = linear_predictor(object, grid)$x, bhat = unname(stats::coef(object)),
    nbasis = matrix(NA_real_), V = stats::vcov(object),
    dffun = function(k, dfargs) dfargs$df, dfargs = list(df = degrees_of(object)), misc = misc
  )
})

# effects ------------------------------------------------------------------------------------------

#' @exportS3Method effects::Effect
Effect.dp_regression <- function(focal.predictors, mod, data = NULL, ...) door("Effect", {
  outcome <- ".outcome"
  rows <- data %||% public_rows(mod)
  rows[[outcome]] <- rep(0:1, length.out = nrow(rows))
  formula <- stats::formula(mod)
  formula[[2L]] <- as.name(outcome)
  # model.frame() is found in this environment.
  environment(formula) <- topenv(environment(stats::glm))
  family <- if (inherits(mod, "dp_glm")) family.dp_glm(mod) else stats::gaussian()
  # The default method of package effects builds a glm from the formula and replaces its
  # coefficients and covariance.
  fake <- suppressWarnings(stats::glm(formula, family, rows,
    control = stats::glm.control(epsilon = Inf, maxit = 1)
  ))
  fake$coefficients <- stats::coef(mod)[names(stats::coef(fake))]
  fake$vcov <- stats::vcov(mod)[names(fake$coefficients), names(fake$coefficients)]
  fake$df.residual <- degrees_of(mod)
  # The call of this fit is evaluated again.
  fake$call[c("formula", "family", "data")] <- list(formula, family, rows)
  class(fake) <- c("fakeeffmod", class(fake))
  effects::Effect(focal.predictors, fake, ...)
})

# car and lmtest -----------------------------------------------------------------------------------

usual_test <- function(fit, test) {
  if (is.null(test)) return(if (is.finite(degrees_of(fit))) "F" else "Chisq")
  check_choice(test, c("F", "Chisq"))
}

#' @exportS3Method car::Anova
Anova.dp_regression <- function(mod, type = c("II", "III"), test.statistic = NULL,
                                ...) door("Anova", {
  check_no_dots(...)
  if (is.numeric(type)) type <- c("I", "II", "III")[type]
  type <- check_choice(type, c("II", "III"))
  test <- usual_test(mod, test.statistic)
  stats::vcov(mod)
  sets <- term_places(mod$columns, kept_columns(mod))
  rows <- lapply(names(sets), function(name) {
    above <- if (type == "II") unlist(sets[containing(name, names(sets))]) else integer()
    with <- wald_statistic(c(sets[[name]], above), mod)
    without <- if (length(above)) wald_statistic(above, mod) else list(df = 0, value = 0)
    wald_row(list(value = with$value - without$value, df = with$df - without$df), mod, test)
  })
  table <- do.call(rbind, rows)
  rownames(table) <- names(sets)
  structure(table, class = c("anova", "data.frame"), heading = c(
    paste0(
      "Wald tests, type ", type, if (mod$privacy$private) ", with sampling and privacy noise"
    ),
    paste("Model:", mod$text), unkept_heading(mod)
  ))
})

#' Terms that contain this term and further variables
#' @noRd
containing <- function(name, names) {
  parts <- strsplit(names, ":", fixed = TRUE)
  own <- strsplit(name, ":", fixed = TRUE)[[1L]]
  names[vapply(parts, function(part) all(own %in% part) && length(part) > length(own), NA)]
}

kept_columns <- function(fit) fit$kept %||% seq_along(fit$columns$columns)

#' @exportS3Method lmtest::waldtest
waldtest.dp_regression <- function(object, ..., test = NULL) door("waldtest", {
  test <- usual_test(object, test)
  others <- list(...)
  if (length(others) > 1L || length(rlang::names2(others)) && nzchar(rlang::names2(others)[[1L]])) {
    abort(c(
      "{.fn waldtest} compares this fit with one other model of the same release.",
      i = "Its only other argument is {.arg test}: the fit gives the covariance."
    ), "argument")
  }
  pair <- wald_pair(object, if (length(others)) others[[1L]])
  found <- wald_statistic(pair$places, pair$full)
  row <- wald_row(found, pair$full, test)
  rest <- degrees_of(pair$full)
  sign <- if (pair$dropped) -1 else 1
  full_first <- c(rest, rest + found$df)
  table <- data.frame(
    Res.Df = if (pair$dropped) full_first else rev(full_first), Df = c(NA, sign * row$Df),
    rbind(NA, row[-1L]), check.names = FALSE
  )
  rownames(table) <- 1:2
  structure(table, class = c("anova", "data.frame"), heading = c(
    "Wald test\n", paste0("Model ", 1:2, ": ", pair$text, collapse = "\n"), unkept_heading(object)
  ))
})

#' Two nested models of one release
#' @return A list: `full`, the larger fit; `places`, the positions of the terms that the smaller fit
#'   omits; `dropped`, whether the second model is the smaller model; `text`, the formulas of both
#'   models.
#' @noRd
wald_pair <- function(object, other) {
  if (inherits(other, "dp_lm") && inherits(object, "dp_lm")) {
    pair <- nested_fits(object, other)
    if (is.null(pair)) abort_not_nested()
    return(c(pair, list(text = c(object$text, other$text))))
  }
  sets <- term_places(object$columns, kept_columns(object))
  gone <- terms_left_out(object, other, names(sets))
  kept <- setdiff(names(sets), gone)
  left <- if (length(kept)) paste(kept, collapse = " + ") else "1"
  list(
    full = object, places = unlist(sets[gone], use.names = FALSE), dropped = TRUE,
    text = c(object$text, paste(plain_text(stats::formula(object)[[2L]]), "~", left))
  )
}

abort_not_nested <- function() {
  abort(c(
    "The models are not nested, or not from one release.",
    i = paste(
      "Give a formula such as {.code . ~ . - x}, names or numbers of terms, or, for {.fn dp_lm}, a",
      "fit by {.fn update}."
    )
  ), "argument")
}

#' @param other (`formula`, `character`, `numeric` or `NULL`).
#' @noRd
terms_left_out <- function(object, other, names) {
  if (is.null(other)) {
    return(names)
  }
  if (is.numeric(other) && all(other %in% seq_along(names))) other <- names[other]
  if (inherits(other, "formula")) {
    new <- stats::update(stats::formula(object), other)
    labels <- attr(stats::terms(new), "term.labels")
    if (!all(labels %in% names)) abort_not_nested()
    other <- setdiff(names, labels)
  }
  if (!is.character(other) || !length(other) || !all(other %in% names)) abort_not_nested()
  unique(other)
}
