# Effects of several cohorts in per cent of their counterfactuals, and summed over time, from the
# tables of effects. No code here reads donors.

#' A table of effects in another measure
#' @param table (`data.frame`)\cr from [tidy.dp_cohorts()] with limits.
#' @return `table` with `estimate`, `conf.low` and `conf.high` in the other measure, without
#'   standard errors and tests of effects, and without rows before the adoption.
#' @noRd
measured_cohorts <- function(fit, type, measure, level, simultaneous) {
  table <- cohort_table(fit, type, level, simultaneous)
  table <- table[table$kind == "effect", ]
  values <- if (measure == "percent") {
    percent_cohorts(fit, type, table, level, simultaneous)
  } else {
    if (type != "event") {
      abort(c(
        "{.code measure = \"cumulative\"} needs {.code type = \"event\"}.",
        x = "Effects are summed over the time since adoption.",
        i = "For one cohort, use {.code as.data.frame(fit$cohorts[[1]], type = \"cumulative\")}."
      ), "argument")
    }
    table <- table[table$term != "average", ]
    cumulative_cohorts(fit, table, level, simultaneous)
  }
  out <- data.frame(table[c("term", "cohort", "period", "event", "cohorts", "people")], values)
  rownames(out) <- NULL
  out
}

#' Effects in per cent of the average counterfactual of the same cohorts and periods
#' @noRd
percent_cohorts <- function(fit, type, table, level, simultaneous) {
  parts <- cohort_contrasts(fit, type)$parts
  average <- function(of) {
    each <- lapply(fit$cohorts, function(one) {
      values <- of(one)
      c(mean(values), values)
    })
    vapply(parts, function(part) {
      sum(part$weight * mapply(function(g, row) each[[g]][[row + 1L]], part$g, part$row))
    }, 0)
  }
  post <- function(one) one$release$panel$T0 + seq_len(one$release$panel$T1)
  base <- average(function(one) one$counterfactual[1L, post(one)])
  observed <- average(function(one) one$target[1L, post(one)])
  share <- percent_of(observed, base)
  limits <- if (is_released_group(fit)) {
    statements <- if (simultaneous) sum(table$term != "average") else 1
    error <- average(function(one) one$base_error)
    share <- known_share(share, base, error)
    width <- interval_quantile(level, statements) * error
    stats::setNames(
      share_limits(table$conf.low, table$conf.high, base, width), c("conf.low", "conf.high")
    )
  } else {
    list(
      conf.low = percent_of(observed, observed - table$conf.low),
      conf.high = percent_of(observed, observed - table$conf.high)
    )
  }
  data.frame(estimate = share, limits)
}

#' Sums of the average effects up to each time since adoption
#'
#' Averages at later times are over fewer cohorts. A sum is therefore the total effect for a person
#' who, at each time, resembles the cohorts with at least this time since adoption.
#' @noRd
cumulative_cohorts <- function(fit, table, level, simultaneous) {
  covariance <- cohort_covariance(fit, "event")[table$term, table$term, drop = FALSE]
  summing <- lower.tri(covariance, diag = TRUE) + 0
  error <- sqrt(pmax(diag(summing %*% covariance %*% t(summing)), 0))
  wider <- if (simultaneous) max(1, table$band.error / table$std.error) else 1
  width <- wider * interval_quantile(level, if (simultaneous) nrow(table) else 1) * error
  total <- cumsum(table$estimate)
  data.frame(estimate = total, conf.low = total - width, conf.high = total + width)
}
