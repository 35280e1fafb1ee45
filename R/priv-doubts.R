# Contradictions between released numbers and their bounds: wrong units, misspelt levels, impossible
# slopes. They cost no budget, since no code here uses people's rows. bench/doubts.R estimates the
# rate of false alarms.

# The scale if half of the people share one value, up to the finest radius (see location.hpp).
shared_scale <- 0.5

#' Sentences about bounds that contradict the released numbers
#' @param numbers (`data.frame`)\cr one row per number: `name`, `lower`, `upper`, `end` (-1 at the
#'   lower bound, 1 at the upper bound, otherwise 0), `narrow` (flag), and optionally `alone`
#'   (whether hardly any value differs from the bound, see [is_natural_end()]).
#' @param few (`flag`)\cr whether fewer than half of the rows are used.
#' @return Strings, one per contradiction.
#' @noRd
doubt_words <- function(numbers, few = FALSE) {
  if (isTRUE(few)) {
    # If few rows count, no other fact is known.
    return(paste(
      "Fewer than half of the rows count. Are the levels in bounds spelt as in the data? A row",
      "with a missing value or an unlisted level, or outside the subset, has weight zero."
    ))
  }
  alone <- numbers$alone %||% rep(FALSE, NROW(numbers))
  natural <- mapply(is_natural_end, numbers$lower, numbers$upper, numbers$end, alone)
  at <- numbers$end != 0 & !natural
  ends <- ifelse(numbers$end < 0, numbers$lower, numbers$upper)
  c(
    sprintf(
      "Nearly all values of %s are at their bound %s. Are the bounds in the units of the data?",
      numbers$name[at], vapply(ends[at], format_value, "")
    ),
    sprintf(
      paste(
        "The values of %s spread over about a thousandth of their bounds' width. Are the bounds",
        "in the units of the data?"
      ), numbers$name[!at & numbers$end == 0 & numbers$narrow]
    )
  )
}

#' Is a bound a plausible value for many people, such as no cost, no event, or an event?
#' @param alone (`flag`)\cr whether released numbers show that hardly any value differs from the
#'   bound. Nobody records an event that happens to everybody; a rare event is plausible.
#' @noRd
is_natural_end <- function(lower, upper, end, alone = FALSE) {
  (end < 0 && lower == 0) || (!alone && upper - lower == 1 && lower == round(lower))
}

#' The sentences as lines of a print
#' @noRd
doubt_lines <- function(doubts) {
  if (length(doubts)) strwrap(doubts, 90L, prefix = "  ")
}

#' Warning after a release with doubtful bounds
#' @noRd
warn_doubts <- function(doubts) {
  if (length(doubts)) {
    # The doubts are passed as values, since a name may contain a brace.
    shown <- rlang::set_names(paste0("{doubts[[", seq_along(doubts), "]]}"), "x")
    warn(c("The released numbers suggest that {.arg bounds} are wrong.", shown), "bounds")
  }
}

# Regressions --------------------------------------------------------------------------------------

#' Doubts from a private regression's medians, scales and moments
#' @param fit (`dp_lm`, `dp_glm`).
#' @param spread (`number`)\cr the standard deviation of the outcome around the fit, in outcome
#'   units, or `NA`.
#' @noRd
regression_doubts <- function(fit, spread = NA_real_) {
  release <- fit$release
  if (!fit$privacy$private || isFALSE(fit$plan$located) || is.null(release$median)) {
    return(character())
  }
  numbers <- lapply(seq_along(fit$columns$variables), function(j) {
    variable <- fit$columns$variables[[j]]
    is_outcome <- j == length(fit$columns$variables)
    if (variable$kind == "level") {
      NULL
    } else if (is_outcome && isTRUE(fit$family %in% c("binomial", "poisson"))) {
      outcome_facts(fit, variable)
    } else {
      number_facts(fit, variable, j, spread)
    }
  })
  numbers <- do.call(rbind, numbers)
  doubt_words(numbers %||% data.frame(), few_rows(fit))
}

#' @noRd
number_facts <- function(fit, variable, j, spread) {
  median <- fit$release$median[[j]]
  scale <- fit$release$scale[[j]]
  shared <- scale == shared_scale
  cells <- location_bits(median)
  width <- variable$upper - variable$lower
  own <- if (j == length(fit$columns$variables)) {
    # For a fitted constant only the noise remains.
    spread / width
  } else {
    column_spread(fit, j) * scale / 2
  }
  end <- if (shared && cells >= 10L && 1 - abs(median) <= 2^-cells && isTRUE(own < 0.04)) {
    sign(median)
  } else {
    0
  }
  # If about half of the people share one value, a small budget may give a small scale by chance.
  surely <- isTRUE(fit$plan$signal >= 1500)
  is_outcome <- j == length(fit$columns$variables)
  alone <- if (is_outcome) {
    isTRUE(own < 5e-5) && nobody_inside(fit$release$rounds, end)
  } else {
    # With more noise a share of 1 % could be overlooked.
    isTRUE(own < 0.02) && fit$release$rounds[[1L]]$sd[[1L]] < 0.002
  }
  data.frame(
    name = variable$name, lower = variable$lower, upper = variable$upper, end = end,
    narrow = (!shared && scale < 0.002 && surely) || (shared && is_outcome && isTRUE(own < 0.002)),
    alone = alone
  )
}

#' An outcome of a model without a median: its mean, from the intercept's own equation
#'
#' At the minimiser the weighted sum of the outcome minus its mean is the intercept's ridge plus
#' noise. It takes all people with the regressors' mean, so that the mean is known approximately.
#' @noRd
outcome_facts <- function(fit, variable) {
  release <- fit$release
  level <- release$theta[[1L]]
  events <- fit$family == "binomial"
  mean <- if (events) stats::plogis(level) else capped_mean(level, release$span)
  pull <- release$ridge * level / fit$nobs
  noise <- release$kappa * sqrt(length(release$theta) + 1) / fit$nobs
  below <- (variable$upper - mean - pull) / variable$upper
  noise <- noise / variable$upper
  # Counts up to a limit are common, and so are frequent events.
  few <- if (events) 0.01 else 0.02
  at <- variable$lower == 0 && below - 2 * noise < 0.002 && max(0, below) + 2 * noise < few
  data.frame(
    name = variable$name, lower = variable$lower, upper = variable$upper, end = as.numeric(at),
    narrow = FALSE, alone = at
  )
}

#' Mean of capped counts (inst/proofs/glm.md, section 1)
#' @noRd
capped_mean <- function(t, cap) {
  middle <- log(cap / 2)
  if (t <= middle) exp(t) else cap - cap / 2 * exp(middle - t)
}

#' Do the residuals around a median at a bound exclude that 3 % of the outcomes lie elsewhere?
#'
#' In the first round a value inside the bounds has the clipped residual `clip`, on one side. Later
#' rounds clip such a value to almost nothing, so that the standard deviation alone is no evidence.
#' @noRd
nobody_inside <- function(rounds, end) {
  first <- if (length(rounds)) rounds[[1L]]
  if (is.null(first) || end == 0) {
    return(FALSE)
  }
  inside <- -end * first$residual / first$clip
  noise <- first$sd[[5L]] / first$clip
  inside - 2 * noise < 0.002 && max(0, inside) + 2 * noise < 0.03
}

#' The number of bisections of the range that located a median, the middle of a cell
#' @noRd
location_bits <- function(median) {
  odd <- (median + 1) * 2^(3:20)
  which(odd == round(odd))[1L] + 2L
}

#' Upper limit of a variable's released standard deviation, in units of its scale; clipped rows have
#' less weight
#' @noRd
column_spread <- function(fit, j) {
  at <- column_of_variable(fit$columns, j)
  # Only the method of rounds releases moments.
  round <- if (length(fit$release$rounds)) fit$release$rounds[[1L]]
  if (is.na(at) || is.null(round)) {
    return(NA_real_)
  }
  sqrt(max(0, round$covariance[at, at] + 2.5 * round$sd[[1L]]))
}

#' The column that equals a variable
#' @noRd
column_of_variable <- function(columns, j) {
  match(TRUE, vapply(columns$columns, function(column) {
    identical(as.integer(column$variables), as.integer(j)) && all(column$powers == 1L)
  }, NA))
}

#' Are fewer than half of the rows used, with certainty?
#' @noRd
few_rows <- function(fit) {
  counts <- fit$release$counts
  if (!is.null(counts)) {
    return(counts[["rows"]] + 3 * counts[["sd"]] < fit$nobs / 2)
  }
  # Only the method of rounds releases weights.
  rounds <- fit$release$rounds
  if (!length(rounds)) {
    return(FALSE)
  }
  weights <- vapply(rounds, `[[`, 0, "weight")
  sure <- length(weights) >= 3L || isTRUE(rounds[[1L]]$sd[[1L]] < 0.03)
  !isTRUE(fit$columns$weighted) && sure && max(weights) < 0.45
}

#' Slopes that are impossible for values within the bounds
#'
#' The slope of an indicator is impossible if it exceeds the width of the outcome's bounds. For a
#' numeric variable, the slope times the variable's standard deviation given the other variables is
#' at most half of this width. The check uses twice this limit and the lower limit of the released
#' standard deviation, since clipping of rows reduces standard deviations.
#' @param fit (`dp_lm`)\cr a fit with `coefficients`.
#' @return One flag for each column with a coefficient.
#' @noRd
impossible_slopes <- function(fit) {
  variables <- fit$columns$variables
  outcome <- variables[[length(variables)]]
  slopes <- fit$coefficients[-1L]
  round <- if (length(fit$release$rounds)) fit$release$rounds[[1L]]
  partial <- tryCatch(1 / diag(solve(round$covariance)), error = function(e) NULL)
  uses <- table(unlist(lapply(fit$columns$columns, `[[`, "variables")))
  vapply(seq_along(fit$kept), function(i) {
    k <- fit$kept[[i]]
    column <- fit$columns$columns[[k]]
    j <- column$variables
    alone <- length(j) == 1L && all(column$powers == 1L) && uses[[as.character(j)]] == 1L
    if (!alone || is.na(slopes[[i]])) {
      return(FALSE)
    }
    variable <- variables[[j]]
    reach <- if (variable$kind == "level") {
      1
    } else if (!is.null(partial)) {
      half <- (variable$upper - variable$lower) / 2
      half * fit$release$scale[[j]] * sqrt(max(0, partial[[k]] - 3 * round$sd[[1L]]))
    } else {
      0
    }
    abs(slopes[[i]]) * reach > outcome$upper - outcome$lower
  }, NA)
}

#' Columns of numbers whose variance the released moments do not tell from zero
#'
#' Nothing limits the slope of such a column: the outcome's standard deviation limits a slope times
#' the column's own. Columns of levels are limited by the outcome's bounds.
#' @return One flag for each column with a coefficient.
#' @noRd
hidden_columns <- function(fit) {
  rounds <- fit$release$rounds
  if (!length(rounds)) {
    return(logical(length(fit$kept)))
  }
  # On the diagonal the noise is sqrt(2) times as large.
  noise <- 2.5 * sqrt(2) * rounds[[1L]]$sd[[1L]]
  # With more noise the variance of a usual column, about 1, is not told from zero either.
  vapply(fit$kept, function(k) {
    used <- fit$columns$columns[[k]]$variables
    numbers <- vapply(fit$columns$variables[used], function(v) v$kind != "level", NA)
    # Another scale was drawn too large by chance.
    scale <- fit$release$scale[used]
    still <- all(numbers) && all(scale == shared_scale | scale < 0.002)
    still && noise < 0.25 && rounds[[1L]]$covariance[k, k] < noise
  }, NA)
}

# Selections and streams ---------------------------------------------------------------------------

#' Doubts from released second moments of scaled columns
#' @param columns (`list`)\cr from [new_columns()].
#' @param moments (`list`)\cr `moments`, with the outcome last, and `sd`, the standard deviation of
#'   the noise on an entry.
#' @param rows (`count`)\cr the number of rows.
#' @param places (`integer`)\cr the positions of the moments in `columns$names`.
#' @noRd
moment_doubts <- function(columns, moments, rows, places = seq_along(columns$names)) {
  M <- moments$moments
  noise <- moments$sd / rows
  if (!columns$intercept || noise > 0.01 || rows < 1) {
    return(character())
  }
  count <- M[1L, 1L]
  if (count + 3 * moments$sd < rows / 2) {
    return(doubt_words(data.frame(), TRUE))
  }
  scaled <- unlist(lapply(columns$regressors, function(column) {
    rep(list(column), length(column_names(column, TRUE)))
  }), recursive = FALSE)
  scaled <- c(list(NULL), scaled, list(columns$outcome))[c(places, length(columns$names) + 1L)]
  facts <- lapply(seq_along(scaled), function(k) {
    column <- scaled[[k]]
    # The location of a located variable is sufficient evidence.
    if (is.null(column) || !is.null(column$levels) || !is.null(column$deviation)) {
      return(NULL)
    }
    mean <- M[1L, k] / count
    square <- M[k, k] / count
    spread_within <- function(doubt) sqrt(max(0, square - mean^2 + 2.5 * doubt)) / 2
    spread <- spread_within(noise)
    # The bound on the standard deviation allows for the noise of all three sums.
    widest <- spread_within(noise * sqrt(1 + 4 * mean^2 + (2 * mean^2 - square)^2))
    # Many amounts lie near a lower bound, but hardly ever near an upper bound.
    near <- if (mean > 0) 0.02 + 2 * noise else if (noise < 0.001) noise else 0
    at <- 1 - abs(mean) < near && spread < 0.04 && noise < 0.003
    data.frame(
      name = column$name, lower = column$lower, upper = column$upper,
      end = if (at) sign(mean) else 0, narrow = widest < 0.001, alone = widest < 0.04
    )
  })
  doubt_words(do.call(rbind, facts) %||% data.frame())
}

# Panels -------------------------------------------------------------------------------------------

#' Doubts from a release of a panel, by the donors' variation and the target's position
#'
#' Donors' moments describe differences, so their level comes from the target, or from the protected
#' group's released path. Values near a bound raise no doubt if many true values are plausible at
#' this bound.
#' @param target (`numeric` or `NULL`)\cr the public target before the treatment, outcome units.
#' @noRd
panel_doubts <- function(release, target = NULL) {
  statistics <- release$statistics
  bounds <- lapply(release$bounds, `[[`, 1L)
  path <- statistics$treated$path
  if (!is.numeric(path)) path <- NULL
  if (!release$privacy$private || !is.matrix(statistics$covariance) || !length(bounds$lower) ||
        (is.null(path) && is.null(target))) {
    return(character())
  }
  half <- (bounds$upper - bounds$lower) / 2
  level <- if (is.null(path)) {
    mean((target - bounds$lower) / half - 1)
  } else {
    mean(path[seq_len(min(release$panel$T0, length(path)))])
  }
  off <- if (is.null(path)) 0.05 else 0.05 + 4 * max(statistics$treated$mean_sd)
  spread <- sqrt(max(0, diag(statistics$covariance) + 2.5 * max(statistics$moment_sd)))
  end <- if (1 - abs(level) < off) sign(level) else 0
  # Values of donors who had an event and of donors who had none differ more.
  if (spread >= 0.001 || is_natural_end(bounds$lower, bounds$upper, end, alone = TRUE)) {
    return(character())
  }
  # The position at a bound can be shown only for a path with little noise.
  if (off > 0.1) end <- 0
  doubt_words(data.frame(
    name = release$panel$outcome, lower = bounds$lower, upper = bounds$upper, end = end,
    narrow = TRUE, alone = TRUE
  ))
}

#' Doubts from a fit, or from a release alone
#' @noRd
fit_doubts <- function(fit) {
  target <- if (!is_released_group(fit)) fit$target[, seq_len(fit$release$panel$T0)]
  panel_doubts(fit$release, target)
}
