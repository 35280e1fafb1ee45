# Regressors in a formula, `outcome ~ treated | x1 + x2`, for the estimators on raw data that model
# outcomes. A column gives its values in every period, or one value per unit if it is constant over
# time.

#' Regressors of the units of a panel from long data
#'
#' `over(x, periods)`, and a column that is constant over time for every unit, give one value per
#' unit. The first level of a factor or of strings is the reference.
#' @inheritParams formula_predictors
#' @param gaps (`flag`)\cr whether missing values are filled, separately for each unit.
#' @return `NULL` without terms; otherwise a list of `predictors`, as from `formula_predictors()`,
#'   and `covariates`, a list of `donors` (n x T x p), `target` (T x p) and `treated` (k x T x p).
#'   Each is `NULL` if the formula contains no such term.
#' @section Errors: `dpsc_error_panel`, `dpsc_error_covariate`.
#' @noRd
formula_regressors <- function(parts, data, index, panel, gaps) {
  if (is.null(parts$terms)) {
    return(NULL)
  }
  rows <- panel_rows(data, index, panel)
  windows <- vapply(parts$terms, is_window, NA)
  found <- lapply(parts$terms[!windows], function(term) {
    regressor_cells(term, environment(parts$formula), data, rows, gaps)
  })
  cells <- unlist(found, recursive = FALSE)
  # Whether the values of a unit are the same in all periods.
  still <- vapply(cells, function(x) all(x == x[, 1L]), NA)
  units <- c(
    lapply(parts$terms[windows], function(term) {
      without_first_level(unit_means(
        term, environment(parts$formula), data, rows, panel$T0
      ))
    }),
    lapply(names(cells)[still], function(name) {
      matrix(cells[[name]][, 1L], dimnames = list(NULL, name))
    })
  )
  predictors <- if (length(units)) {
    split_predictor_rows(check_predictor_rows(do.call(cbind, units)), panel, !any(windows))
  }
  list(predictors = predictors, covariates = split_cells(cells[!still], panel))
}

#' One term's values by unit and period
#' @return A list of matrices, units x periods, by name.
#' @noRd
regressor_cells <- function(term, environment, data, rows, gaps) {
  values <- without_first_level(term_columns(term, environment, data, rows))
  known <- which(!is.na(rows$unit))
  out <- lapply(seq_len(ncol(values)), function(k) {
    cells <- matrix(NA_real_, rows$n_units, rows$n_times)
    cells[cbind(rows$unit[known], rows$time[known])] <- values[known, k]
    cells[!is.finite(cells)] <- NA
    if (gaps) {
      cells <- interpolate_rows(cells, rows$n_times, rep(NA_real_, rows$n_times))
    }
    lost <- sum(is.na(cells))
    if (lost > 0L) {
      abort(c(
        "Regressors must be known for every unit in every period, also after the treatment.",
        x = if (gaps) {
          "{.code {colnames(values)[[k]]}} is missing in all periods of some unit."
        } else {
          "{.code {colnames(values)[[k]]}} is missing for {lost} pair{?s} of unit and period."
        },
        i = paste(
          "Fill the gaps of this regressor, omit it, or use one value per unit:",
          "{.code over(x, periods)} is a mean over some periods before the treatment."
        )
      ), "covariate")
    }
    cells
  })
  rlang::set_names(out, colnames(values))
}

#' Indicators of all levels except the first level, the reference; numbers are unchanged
#' @noRd
without_first_level <- function(values) {
  if (isTRUE(attr(values, "levels"))) values[, -1L, drop = FALSE] else values
}

#' Covariates, separately for donors and treated units
#' @param cells (`list`)\cr a list of matrices, units x periods.
#' @noRd
split_cells <- function(cells, panel) {
  if (!length(cells)) {
    return(NULL)
  }
  all <- array(
    unlist(cells), c(dim(cells[[1L]]), length(cells)), list(
      c(panel$donor_names, rownames(panel$target)), NULL, names(cells)
    )
  )
  donors <- seq_along(panel$donor_names)
  treated <- all[-donors, , , drop = FALSE]
  list(donors = all[donors, , , drop = FALSE], target = colMeans(treated), treated = treated)
}
