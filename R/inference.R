# Intervals and p-values from a release: post-processing, no privacy is spent.
#
# The counterfactual misses the truth for two reasons that are independent and reported apart: a
# unit drawn like the donors strays from its own prediction, and the release carries noise of known
# law.

#' Covariance of the estimated effects of one target over the post-period
#' @param fit (`dp_synth`).
#' @param i (`count`)\cr which target.
#' @param parts (`character`)\cr `"prediction"`, `"privacy"` or both.
#' @return A T1 x T1 matrix, squared outcome units; `NA` where a part is not known.
#' @noRd
effect_covariance <- function(fit, i, parts = c("prediction", "privacy")) {
  Reduce(`+`, fit$variance[[i]][parts])
}

#' The parts of the variance that a fit can speak of
#' @noRd
known_parts <- function(fit) {
  variance <- fit$variance[[1L]]
  c(
    if (!anyNA(variance$prediction)) "prediction",
    if (fit$release$privacy$private && !anyNA(variance$privacy)) "privacy"
  )
}

#' Effects with standard errors: one row for each target's average and for each of its periods
#' @return A data frame: `target`, `term`, `estimate`, `std.error`, `privacy.se`.
#' @noRd
effect_table <- function(fit) {
  T1 <- fit$release$panel$T1
  parts <- known_parts(fit)
  averaging <- rbind(rep(1 / T1, T1), diag(T1))
  effect <- effects.dp_synth(fit)
  rows <- lapply(seq_len(nrow(effect)), function(i) {
    se <- function(parts) {
      if (!length(parts)) return(rep(NA_real_, T1 + 1L))
      sqrt(pmax(rowSums((averaging %*% effect_covariance(fit, i, parts)) * averaging), 0))
    }
    data.frame(
      target = rownames(effect)[[i]], term = c("average", colnames(effect)),
      estimate = drop(averaging %*% effect[i, ]), std.error = se(parts),
      privacy.se = se(intersect(parts, "privacy"))
    )
  })
  out <- do.call(rbind, rows)
  rownames(out) <- NULL
  out
}

#' Normal quantile of an interval
#'
#' Simultaneous over m statements by Sidak's inequality (1967), which holds for normal errors
#' however they are correlated.
#' @noRd
interval_quantile <- function(level, statements = 1) {
  stats::qnorm((1 + level^(1 / statements)) / 2)
}

#' Interval half-widths of an effect table
#' @param simultaneous (`flag`)\cr over all periods and targets; the averages of k targets over k.
#' @noRd
interval_width <- function(table, level, simultaneous = FALSE) {
  average <- table$term == "average"
  m <- if (simultaneous) ifelse(average, sum(average), sum(!average)) else 1
  interval_quantile(level, m) * table$std.error
}

#' p-value of the moment-based placebo test of no effect in any period
#'
#' What in-space placebos estimate by refitting every donor, from moments alone: the squared length
#' of the effects in units of their covariance, against its chi-squared law.
#' @return A list with `statistic`, `df`, `p.value`, or `NULL` if the covariance is not known.
#' @noRd
moment_test <- function(fit, i) {
  if (!"prediction" %in% known_parts(fit)) {
    return(NULL)
  }
  effect <- effects.dp_synth(fit)[i, ]
  spectrum <- eigen(effect_covariance(fit, i), symmetric = TRUE)
  keep <- spectrum$values > max(spectrum$values) * 1e-10
  if (!any(keep)) {
    return(NULL)
  }
  along <- crossprod(spectrum$vectors[, keep, drop = FALSE], effect)
  statistic <- sum(along^2 / spectrum$values[keep])
  list(
    statistic = statistic, df = sum(keep),
    p.value = stats::pchisq(statistic, sum(keep), lower.tail = FALSE)
  )
}

normal_p <- function(statistic) 2 * stats::pnorm(-abs(statistic))
