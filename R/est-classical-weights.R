# Closed-form estimators: ridge weights, least squares on the largest singular values, and
# difference-in-differences. NOT PRIVATE.

complete_penalised <- function(raw, settings) {
  if (is.null(settings$lambda)) {
    abort(c(
      "Estimator {.val penalised} needs a penalty {.arg lambda}.",
      i = paste(
        "Give it in {.code dp_control(settings = )}. At 0 the fit is the simplex fit; at large",
        "values it is the nearest donor. Start with 0.1."
      )
    ), "argument")
  }
  c(
    list(lambda = check_number(settings$lambda, 0, arg = "lambda")),
    complete_balanced(raw, settings)
  )
}

complete_ridge <- function(raw, settings) {
  list(lambda = check_number(
    settings$lambda %||% raw$T0, 0, open = "min", arg = "lambda"
  ))
}

complete_elastic <- function(raw, settings) {
  if (is.null(settings$lambda)) {
    abort(c(
      "Estimator {.val elastic} needs a penalty {.arg lambda}.",
      i = paste(
        "Give it in {.code dp_control(settings = )}, on the scale of squared outcomes summed over",
        "the pre-treatment periods."
      )
    ), "argument")
  }
  list(
    lambda = check_number(settings$lambda, 0, open = "min", arg = "lambda"),
    alpha = check_number(settings$alpha %||% 1, 0, 1, arg = "alpha")
  )
}

fit_elastic <- function(donors, target, T0, settings) {
  pre <- seq_len(T0)
  fit <- elastic_fit_cpp(
    donors[, pre, drop = FALSE], target[pre], settings$lambda, settings$alpha
  )
  c(fit, list(intercept = 0, counterfactual = drop(crossprod(donors, fit$weights))))
}

fit_ridge <- function(donors, target, T0, settings) {
  lambda <- settings$lambda
  pre <- seq_len(T0)
  x <- donors[, pre, drop = FALSE]
  moment <- crossprod(x)
  diag(moment) <- diag(moment) + lambda
  root <- chol(moment)
  weights <- drop(x %*% backsolve(root, backsolve(root, target[pre], transpose = TRUE)))
  path <- drop(crossprod(donors, weights))
  residual <- target[pre] - path[pre]
  list(
    weights = weights, intercept = 0, counterfactual = path,
    objective = sum(residual^2) + lambda * sum(weights^2),
    kkt = 2 * max(abs(lambda * weights - drop(x %*% residual)))
  )
}

fit_hsvt <- function(donors, target, T0, settings) {
  pre <- seq_len(T0)
  parts <- svd(donors[, pre, drop = FALSE])
  rank <- min(settings$rank, max(sum(parts$d > 1e-10 * parts$d[[1L]]), 1L))
  kept <- seq_len(rank)
  parts$u <- parts$u[, kept, drop = FALSE]
  parts$v <- parts$v[, kept, drop = FALSE]
  scores <- drop(crossprod(parts$v, target[pre]))
  weights <- drop(parts$u %*% (scores / parts$d[kept]))
  path <- drop(crossprod(donors, weights))
  list(
    weights = weights, intercept = 0, counterfactual = path,
    objective = sum((target[pre] - drop(parts$v %*% scores))^2), kkt = NA_real_
  )
}

# Singular values above the threshold of Gavish and Donoho (2014) for an unknown noise level.
complete_hsvt <- function(raw, settings) {
  rank <- settings$rank
  pre <- raw$donors[, seq_len(raw$T0), drop = FALSE]
  values <- svd(pre, nu = 0L, nv = 0L)$d
  largest <- sum(values > 1e-10 * values[[1L]])
  if (largest == 0L) {
    abort("All donors are zero before the treatment: there is nothing to fit.", "argument")
  }
  if (is.null(rank)) {
    shape <- min(dim(pre)) / max(dim(pre))
    factor <- 0.56 * shape^3 - 0.95 * shape^2 + 1.82 * shape + 1.43
    rank <- min(max(sum(values > factor * stats::median(values)), 1L), largest)
  }
  list(rank = check_count(rank, 1, largest, arg = "rank"))
}

fit_did <- function(donors, target, T0, settings) {
  pre <- seq_len(T0)
  average <- colMeans(donors)
  intercept <- mean(target[pre]) - mean(average[pre])
  list(
    weights = rep(1 / nrow(donors), nrow(donors)), intercept = intercept,
    counterfactual = average + intercept,
    objective = sum((target[pre] - average[pre] - intercept)^2), kkt = NA_real_
  )
}
