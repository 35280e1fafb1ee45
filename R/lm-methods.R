# What people read off a private regression. All of it is post-processing of the release.

#' Read a private regression
#'
#' The verbs of [stats::lm()] on a [dp_lm()]. None of them spends budget: they read the release.
#' Fitted values, residuals, hat values and model frames of the people do not exist in any object.
#'
#' @param object,x,fitted (`dp_lm`)\cr a fit.
#' @param parm (`character` or `integer`)\cr which coefficients.
#' @param level,conf.level (`number`, in (0, 1))\cr coverage of intervals.
#' @param type (`string`)\cr `"total"`: about the population. `"privacy"`: what the noise adds,
#'   about what `lm()` on these rows would have said. `"sampling"`: what `lm()` itself would be off.
#' @param newdata (`data.frame`, PUBLIC)\cr rows to predict; required.
#' @param interval (`string`)\cr `"none"`, `"confidence"` (of the mean) or `"prediction"` (of one
#'   person's outcome, in the formula's units).
#' @param formula. (`formula`)\cr a submodel, as [stats::update()] takes it: columns of the released
#'   model only.
#' @param conf.int (`flag`)\cr add limits.
#' @param ... for `anova()` a submodel; otherwise unused.
#' @return
#' * `vcov()`: a matrix. `confint()`: a matrix with one row a coefficient.
#' * `predict()`: a vector, or a matrix with columns `fit`, `lwr`, `upr`.
#' * `update()`: a `dp_lm` of the submodel, from the same release: free. Its sampling errors assume
#'   one variance: scores were released at the full model's residuals.
#' * `anova()`: a Wald F test with the total covariance, of every term, or of what a submodel leaves
#'   out. Differences of residual sums of squares would be mostly noise.
#' * `tidy()`: `term`, `estimate`, `std.error`, `privacy.se`, `statistic`, `p.value`, and
#'   `conf.low`, `conf.high`. `glance()`: one row of facts, with the noisy number of rows that count
#'   (`used`) and the noisy share of residuals that are clipped. `augment()`: `newdata` with
#'   `.fitted` and `.se.fit`.
#' * `plot()`, `autoplot()`: slopes with limits of sampling alone and with privacy; the latter
#'   object is drawn by ggplot2.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_data`.
#' @importFrom stats anova df.residual sigma
#' @name dp_lm-methods
NULL

#' @rdname dp_lm-methods
#' @export
coef.dp_lm <- function(object, ...) {
  object$coefficients
}

#' @rdname dp_lm-methods
#' @export
vcov.dp_lm <- function(object, type = c("total", "privacy", "sampling"), ...) {
  object$covariance[[check_choice(type, c("total", "privacy", "sampling"),
    call = public_call("vcov"))]]
}

#' @rdname dp_lm-methods
#' @export
confint.dp_lm <- function(object, parm, level = 0.95, type = c("total", "privacy", "sampling"),
                          ...) {
  call <- public_call("confint")
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  estimate <- object$coefficients
  error <- sqrt(diag(vcov.dp_lm(object, type)))
  q <- stats::qt((1 + level) / 2, object$df.residual)
  out <- cbind(estimate - q * error, estimate + q * error)
  honest <- if (type[[1L]] == "total") uncontradicted(object, level)
  ends_known <- !is.na(honest[, 1L])
  out[ends_known, ] <- honest[ends_known, ]
  ends <- c((1 - level) / 2, (1 + level) / 2)
  dimnames(out) <- list(names(estimate), paste(format(100 * ends, trim = TRUE, digits = 3L), "%"))
  if (missing(parm)) {
    return(out)
  }
  known <- if (is.character(parm)) parm %in% rownames(out) else parm %in% seq_len(nrow(out))
  if (!all(known)) {
    abort(c(
      "{.arg parm} must name coefficients of the fit.",
      i = "They are {.val {rownames(out)}}."
    ), "argument", call)
  }
  out[parm, , drop = FALSE]
}

#' Limits of the slopes that noisy moments do not contradict, where the budget does not resolve them
#' @return A matrix with one row a coefficient: `NA` where there are none, or none are needed.
#' @noRd
uncontradicted <- function(fit, level) {
  out <- matrix(NA_real_, length(fit$coefficients), 2L)
  full <- length(fit$kept) == length(fit$columns$columns)
  if (!fit$privacy$private || !full || fit$plan$resolved && all(fit$identified)) {
    return(out)
  }
  limits <- lm_anderson_cpp(
    fit$release, lm_design(fit$columns), fit$nobs, stats::qchisq(level, 1)
  )
  open <- !is.finite(limits[, 1L]) | !is.finite(limits[, 2L])
  # Without medians, what the outcome's spread allows is not known either.
  limits[open, ] <- if (fit$plan$located) NA else rep(c(-Inf, Inf), each = sum(open))
  out[-1L, ] <- limits
  if (any(open) && !fit$plan$located) out[1L, ] <- c(-Inf, Inf)
  out
}

#' @rdname dp_lm-methods
#' @export
nobs.dp_lm <- function(object, ...) {
  object$nobs
}

#' @rdname dp_lm-methods
#' @export
formula.dp_lm <- function(x, ...) {
  stats::as.formula(str2lang(x$text), env = baseenv())
}

#' @rdname dp_lm-methods
#' @export
df.residual.dp_lm <- function(object, ...) {
  object$df.residual
}

#' @rdname dp_lm-methods
#' @export
sigma.dp_lm <- function(object, ...) {
  object$sigma
}

#' @rdname dp_lm-methods
#' @export
residuals.dp_lm <- function(object, ...) {
  abort_of_people("Residuals", "residuals")
}

#' @rdname dp_lm-methods
#' @export
fitted.dp_lm <- function(object, ...) {
  abort_of_people("Fitted values", "fitted")
}

abort_of_people <- function(what, name) {
  abort(c(
    "{what} are values of single people: a private fit does not have them.",
    i = "{.code predict(fit, newdata = )} predicts for public rows."
  ), "argument", public_call(name))
}

#' @rdname dp_lm-methods
#' @export
predict.dp_lm <- function(object, newdata, interval = c("none", "confidence", "prediction"),
                          level = 0.95, ...) {
  call <- public_call("predict")
  check_given(missing(newdata), "newdata", "public rows to predict", call)
  interval <- check_choice(interval, c("none", "confidence", "prediction"), call = call)
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  x <- lm_matrix(object$columns, newdata, call)[, names(object$coefficients), drop = FALSE]
  fit <- drop(x %*% object$coefficients)
  names(fit) <- rownames(newdata)
  if (interval == "none") {
    return(fit)
  }
  variance <- rowSums((x %*% object$covariance$total) * x)
  if (interval == "prediction") variance <- variance + object$sigma^2
  reach <- stats::qt((1 + level) / 2, object$df.residual) * sqrt(variance)
  cbind(fit = fit, lwr = fit - reach, upr = fit + reach)
}

#' @rdname dp_lm-methods
#' @export
update.dp_lm <- function(object, formula., ...) {
  call <- public_call("update")
  check_no_dots(..., call = call)
  check_given(missing(formula.), "formula.", "the submodel", call)
  if (!inherits(formula., "formula")) {
    abort("{.arg formula.} must be a formula.", "argument", call)
  }
  new <- stats::update(formula.dp_lm(object), formula.)
  terms <- stats::terms(new)
  if (attr(terms, "intercept") != 1L) check_lm_terms(terms, call)
  same <- identical(plain_text(new[[2L]]), plain_text(formula.dp_lm(object)[[2L]]))
  kept <- submodel_columns(object$columns, attr(terms, "term.labels"))
  if (!same || is.null(kept)) {
    abort(c(
      "A submodel can only leave terms of the released model out.",
      x = "Released: {.code {object$columns$text}}.",
      i = "Another outcome or other terms need another {.fn dp_lm}, which spends budget."
    ), "argument", call)
  }
  object$kept <- kept
  object$text <- plain_text(new)
  object$terms <- attr(terms, "term.labels")
  estimate_lm(object)
}

#' Which columns the terms of a submodel are, or `NULL`
#' @noRd
submodel_columns <- function(columns, labels) {
  plain <- function(x) {
    vapply(strsplit(gsub(" ", "", x), ":", fixed = TRUE), function(part) {
      paste(sort(part), collapse = ":")
    }, "")
  }
  which <- match(plain(labels), plain(columns$terms))
  if (anyNA(which)) {
    return(NULL)
  }
  terms <- vapply(columns$columns, `[[`, 0L, "term")
  which(terms %in% which)
}

#' @rdname dp_lm-methods
#' @export
anova.dp_lm <- function(object, ...) {
  call <- public_call("anova")
  others <- list(...)
  terms <- vapply(object$columns$columns, `[[`, 0L, "term")[object$kept]
  if (!length(others)) {
    sets <- lapply(unique(terms), function(term) which(terms == term))
    names(sets) <- object$columns$terms[unique(terms)]
    fit <- object
  } else {
    other <- others[[1L]]
    ok <- length(others) == 1L && inherits(other, "dp_lm") &&
      identical(other$release, object$release)
    nested <- ok && (all(other$kept %in% object$kept) || all(object$kept %in% other$kept)) &&
      length(other$kept) != length(object$kept)
    if (!nested) {
      abort(c(
        "{.fn anova} compares two nested fits of one release.",
        i = "Make the smaller one with {.fn update}."
      ), "argument", call)
    }
    fit <- if (length(object$kept) > length(other$kept)) object else other
    small <- if (length(object$kept) > length(other$kept)) other else object
    sets <- list(which(!fit$kept %in% small$kept))
    names(sets) <- paste("without", paste(
      names(fit$coefficients)[-1L][sets[[1L]]], collapse = ", "
    ))
  }
  out <- do.call(rbind, lapply(sets, wald_test, fit = fit))
  structure(out,
    class = c("anova", "data.frame"),
    heading = c("Wald tests with sampling and privacy noise", paste0("Model: ", fit$text))
  )
}

wald_test <- function(set, fit) {
  b <- fit$coefficients[set + 1L]
  V <- fit$covariance$total[set + 1L, set + 1L, drop = FALSE]
  spectrum <- eigen(V, symmetric = TRUE)
  keep <- spectrum$values > 1e-12 * max(spectrum$values)
  f <- sum(crossprod(spectrum$vectors[, keep, drop = FALSE], b)^2 / spectrum$values[keep]) /
    sum(keep)
  data.frame(
    Df = sum(keep), Res.Df = fit$df.residual, F = f,
    `Pr(>F)` = stats::pf(f, sum(keep), fit$df.residual, lower.tail = FALSE), check.names = FALSE
  )
}

#' @rdname dp_lm-methods
#' @export
tidy.dp_lm <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  call <- public_call("tidy")
  error <- sqrt(diag(x$covariance$total))
  statistic <- unname(x$coefficients / error)
  out <- data.frame(
    term = names(x$coefficients), estimate = unname(x$coefficients), std.error = unname(error),
    privacy.se = unname(sqrt(diag(x$covariance$privacy))), statistic = statistic,
    p.value = 2 * stats::pt(-abs(statistic), x$df.residual)
  )
  if (check_flag(conf.int, call = call)) {
    limits <- confint.dp_lm(x, level = conf.level)
    out$conf.low <- unname(limits[, 1L])
    out$conf.high <- unname(limits[, 2L])
  }
  out
}

#' @rdname dp_lm-methods
#' @export
glance.dp_lm <- function(x, ...) {
  data.frame(
    r.squared = x$r.squared, sigma = x$sigma, df = length(x$kept), df.residual = x$df.residual,
    nobs = x$nobs, epsilon = x$privacy$epsilon, delta = x$privacy$delta, rho = x$privacy$rho,
    private = x$privacy$holds, resolved = x$plan$resolved, located = x$plan$located,
    identified = all(x$identified), used = lm_counts(x)[["used"]],
    clipped = lm_counts(x)[["clipped"]]
  )
}

#' Rows that count, and the share of them whose residuals are clipped: noisy, or `NA`
#' @noRd
lm_counts <- function(x) {
  if (!x$privacy$private) {
    return(c(used = x$release$rows, clipped = 0))
  }
  counts <- x$release$counts
  if (is.null(counts)) {
    return(c(used = NA_real_, clipped = NA_real_))
  }
  used <- min(max(counts[["rows"]], 1), x$nobs)
  c(used = used, clipped = min(max(counts[["clipped"]] / used, 0), 1))
}

#' @rdname dp_lm-methods
#' @export
augment.dp_lm <- function(x, newdata, ...) {
  call <- public_call("augment")
  check_given(missing(newdata), "newdata", "public rows to predict", call)
  m <- lm_matrix(x$columns, newdata, call)[, names(x$coefficients), drop = FALSE]
  newdata$.fitted <- drop(m %*% x$coefficients)
  newdata$.se.fit <- sqrt(rowSums((m %*% x$covariance$total) * m))
  newdata
}

#' @rdname dp_lm-methods
#' @export
plot.dp_lm <- function(x, level = 0.95, ...) {
  picture <- autoplot.dp_lm(x, level, ...)
  print(picture)
  invisible(picture)
}

#' @rdname dp_lm-methods
#' @exportS3Method ggplot2::autoplot
autoplot.dp_lm <- function(object, level = 0.95, ...) {
  call <- public_call("plot")
  check_no_dots(..., call = call)
  level <- check_number(level, 0, 1, open = c("min", "max"), call = call)
  rlang::check_installed("ggplot2", "to plot a fit.")
  # Those that may be printed: none where the noise leaves a coefficient unknown.
  total <- confint.dp_lm(object, level = level)
  sampling <- confint.dp_lm(object, level = level, type = "sampling")
  data <- data.frame(
    term = names(object$coefficients), estimate = object$coefficients, lower = total[, 1L],
    upper = total[, 2L], inner_lower = sampling[, 1L], inner_upper = sampling[, 2L]
  )
  limits <- paste(format(100 * level), "% limits")
  plot_slopes(data[data$term != "(Intercept)", ], paste("Slopes of", object$text), limits)
}
