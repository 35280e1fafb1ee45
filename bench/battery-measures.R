# One cell of the battery: releases, targets without effect, and their measures. Sourced after
# battery-designs.R (see bench/battery.R).

# The features of the installed version. Version 0.1.0 lacks `size`, uses rows of one kind only, and
# gives no bands for single targets. The adapter below makes the same table for both versions, so
# that both can be judged.
has_argument <- function(generic, class, name) {
  name %in% names(formals(utils::getS3method(generic, class, envir = asNamespace("dpsc"))))
}
sized <- has_argument("dp_synth", "dp_release", "size")
unit_rows <- has_argument("tidy", "dp_synth", "type")
code_label <- function() if (sized && unit_rows) "current" else "0.1.0"

muffled <- function(code) suppressWarnings(suppressMessages(code))

fit_donors <- function(panel, epsilon, target, size = panel$size, delta = 1e-6) {
  arguments <- list(
    panel$donors, target = target, T0 = panel$T0, epsilon = epsilon, delta = delta,
    bounds = panel$bounds, control = dpsc::dp_control(rng = "R")
  )
  if (has_argument("dp_synth", "matrix", "size")) arguments$size <- size
  muffled(do.call(dpsc::dp_synth, arguments))
}

fit_targets <- function(release, targets, size) {
  arguments <- list(release, target = targets)
  if (sized) arguments$size <- size
  muffled(do.call(dpsc::dp_synth, arguments))
}

tidy_units <- function(fit, simultaneous = FALSE) {
  muffled(dpsc::tidy(fit,
    conf.int = TRUE, conf.level = 0.95, simultaneous = simultaneous, type = "unit"
  ))
}

# Matrices of size k x (1 + T1), with the average first, then the periods.
by_target <- function(table, column, k) matrix(table[[column]], k, byrow = TRUE)

#' Numbers of a fit for each of its targets
#' @return A list of k x (1 + T1) matrices `estimate`, `se`, `privacy`, `low`, `high`, `p`, of k x
#'   T1 matrices `band_low`, `band_high` (all periods of one target together), and `joint` (k), the
#'   p-value of the test of no effect in any period.
read_fit <- function(fit, size = 1) {
  k <- nrow(unit_targets(fit))
  if (unit_rows) {
    table <- tidy_units(fit)
    bands <- unit_bands(fit, size)
  } else {
    table <- dpsc:::effect_table(fit)
    table$p.value <- 2 * stats::pnorm(-abs(table$estimate / table$std.error))
    half <- stats::qnorm(0.975) * table$std.error
    table$conf.low <- table$estimate - half
    table$conf.high <- table$estimate + half
    half <- by_target(table, "std.error", k)[, -1L, drop = FALSE] *
      stats::qnorm((1 + 0.95^(1 / fit$release$panel$T1)) / 2)
    estimate <- by_target(table, "estimate", k)[, -1L, drop = FALSE]
    bands <- list(low = estimate - half, high = estimate + half)
  }
  list(
    estimate = by_target(table, "estimate", k), se = by_target(table, "std.error", k),
    privacy = by_target(table, "privacy.se", k), low = by_target(table, "conf.low", k),
    high = by_target(table, "conf.high", k), p = by_target(table, "p.value", k),
    band_low = bands$low, band_high = bands$high, joint = joint_p(fit, k)
  )
}

# The band of one target covers its periods jointly. If a version widens the bands of a fit with
# several targets for the number of targets, the bands come from fits of single targets.
unit_bands <- function(fit, size) {
  targets <- unit_targets(fit)
  k <- nrow(targets)
  of <- function(fit) {
    table <- tidy_units(fit, simultaneous = TRUE)
    limits <- function(column) {
      by_target(table, column, nrow(unit_targets(fit)))[, -1L, drop = FALSE]
    }
    list(low = limits("conf.low"), high = limits("conf.high"))
  }
  one <- function(i) {
    of(fit_targets(fit$release, targets[i, , drop = FALSE], size))
  }
  together <- of(fit)
  first <- which(!is.na(together$high[, 1L]))
  if (k == 1L || !length(first)) return(together)
  alone <- one(first[[1L]])$high[1L, ]
  if (isTRUE(all.equal(alone, together$high[first[[1L]], ]))) return(together)
  single <- lapply(seq_len(k), one)
  list(
    low = do.call(rbind, lapply(single, `[[`, "low")),
    high = do.call(rbind, lapply(single, `[[`, "high"))
  )
}

joint_p <- function(fit, k) {
  test <- if (unit_rows) {
    view <- dpsc:::fit_view(fit, "unit")
    function(i) dpsc:::any_effect_test(view, i)
  } else {
    function(i) dpsc:::moment_test(fit, i)
  }
  vapply(seq_len(k), function(i) as.numeric(test(i)$p.value %||% NA_real_), 0)
}

# Version 0.1.0 fitted every target separately and stored no units.
unit_targets <- function(fit) fit$units$target %||% fit$target

`%||%` <- rlang::`%||%`

# A refused release gives no numbers, and all its intervals count as refused.
judge <- function(panel, epsilon, own = 1L) {
  tryCatch({
    first <- fit_donors(panel, epsilon, panel$targets[own, ])
    fresh <- fit_targets(first$release, panel$targets[-own, , drop = FALSE], panel$size)
    list(own = read_fit(first, panel$size), fresh = read_fit(fresh, panel$size))
  }, dpsc_error = function(e) conditionMessage(e))
}

# The true effect is 0. The error against the signal is the prediction minus the expected outcome.
against_signal <- function(read, targets, signal, T0) {
  read$estimate[, -1L, drop = FALSE] - (after(targets, T0) - signal)
}

#' All releases of one block (design, n, T0, kind of target), for its epsilons on the same panels
#' @param block (one row of the grid).
#' @return A data frame, one row for each epsilon.
judge_block <- function(block, source = designs) {
  started <- proc.time()[["elapsed"]]
  design <- source[[block$design]] %||% block$design
  seed <- seed_of(block$design, block$target, block$n, block$T0)
  draw <- function(r) {
    draw_panel(design, block$n, block$T0, block$T1, block$people + 1L, block$target, seed + r)
  }
  epsilons <- as.numeric(strsplit(block$epsilons, " ")[[1L]])
  runs <- lapply(seq_len(block$releases), function(r) {
    panel <- draw(r)
    results <- lapply(epsilons, function(epsilon) {
      set.seed(seed + 7919L * r + round(1000 * min(epsilon, 1e4)))
      judge(panel, epsilon)
    })
    list(panel = panel[c("targets", "signal")], results = results)
  })
  panel <- draw(1L)
  ratios <- vapply(epsilons, function(epsilon) {
    set.seed(seed + round(1000 * min(epsilon, 1e4)))
    privacy_ratio(panel, epsilon, block$repeats)
  }, 0)
  cells <- lapply(seq_along(epsilons), function(j) {
    measure(lapply(runs, function(run) run$results[[j]]), lapply(runs, `[[`, "panel"), panel)
  })
  cells <- do.call(rbind, cells)
  exact <- which(is.infinite(epsilons))
  cells$to_inf <- if (length(exact)) cells$rmse / cells$rmse[[exact]] else NA_real_
  cells$signal_to_inf <- if (length(exact)) {
    cells$rmse_signal / cells$rmse_signal[[exact]]
  } else {
    NA_real_
  }
  cells$privacy_ratio <- ratios
  data.frame(
    block[c("design", "target")], n = nrow(panel$donors), T0 = panel$T0, T1 = panel$T1,
    epsilon = epsilons, releases = block$releases, people = block$people, cells,
    seconds = (proc.time()[["elapsed"]] - started) / length(epsilons), row.names = NULL
  )
}

# The seeds are the same for every grid.
seed_of <- function(...) {
  text <- utf8ToInt(paste(..., sep = "/"))
  Reduce(function(hash, letter) (hash * 31 + letter) %% 1e8, text, 7)
}

#' Coverage, widths, sizes and errors of one cell
measure <- function(results, panels, panel) {
  made <- !vapply(results, is.character, NA)
  half <- diff(panel$bounds) / 2
  empty <- c(
    cover_average = NA, cover_se = NA, cover_period = NA, cover_period_se = NA, cover_band = NA,
    cover_band_se = NA, cover_own = NA,
    size_average = NA, size_period = NA, size_joint = NA, width = NA, width_period = NA,
    se_min = NA, se_median = NA, refused = 1, rmse = NA, rmse_signal = NA, q95 = NA
  )
  if (!any(made)) return(as.data.frame(as.list(empty)))
  fresh <- lapply(results[made], `[[`, "fresh")
  own <- lapply(results[made], `[[`, "own")
  stack <- function(reads, part) do.call(rbind, lapply(reads, `[[`, part))
  inside <- function(low, high) low <= 0 & 0 <= high
  cover <- inside(stack(fresh, "low"), stack(fresh, "high"))
  band <- inside(stack(fresh, "band_low"), stack(fresh, "band_high"))
  all_inside <- function(low, high) rowSums(!inside(low, high)) == 0
  # The Monte Carlo error of a mean over targets, from the variation between releases.
  between <- function(of) {
    by_release <- vapply(fresh, function(read) mean(of(read), na.rm = TRUE), 0)
    stats::sd(by_release, na.rm = TRUE) / sqrt(sum(!is.na(by_release)))
  }
  error <- stack(fresh, "estimate")
  widths <- (stack(fresh, "high") - stack(fresh, "low")) / 2
  q95 <- apply(abs(error), 2L, stats::quantile, 0.95)
  relative <- apply(widths, 2L, stats::median, na.rm = TRUE) / ifelse(q95 > 0, q95, NA)
  p <- stack(fresh, "p")
  rmse <- sqrt(colMeans(error^2))
  se <- stack(fresh, "se")[, 1L] / rmse[[1L]]
  refused <- is.na(stack(fresh, "low")[, 1L])
  signal <- if (!is.null(panel$signal)) {
    do.call(rbind, Map(function(read, panel_r) {
      against_signal(
        read, panel_r$targets[-1L, , drop = FALSE], panel_r$signal[-1L, , drop = FALSE], panel$T0
      )
    }, fresh, panels[made]))
  }
  mean_of <- function(x) mean(x, na.rm = TRUE)
  data.frame(
    cover_average = mean_of(cover[, 1L]),
    cover_se = between(function(read) inside(read$low[, 1L], read$high[, 1L])),
    cover_period = mean_of(cover[, -1L]),
    cover_period_se = between(function(read) inside(read$low[, -1L], read$high[, -1L])),
    cover_band = mean_of(rowSums(!band) == 0),
    cover_band_se = between(function(read) all_inside(read$band_low, read$band_high)),
    cover_own = mean_of(inside(stack(own, "low")[, 1L], stack(own, "high")[, 1L])),
    size_average = mean_of(p[, 1L] < 0.05), size_period = mean_of(p[, -1L] < 0.05),
    size_joint = mean_of(unlist(lapply(fresh, `[[`, "joint")) < 0.05),
    width = relative[[1L]], width_period = stats::median(relative[-1L]),
    se_min = if (all(is.na(se))) NA_real_ else min(se, na.rm = TRUE),
    se_median = stats::median(se, na.rm = TRUE),
    refused = (sum(refused) + sum(!made) * nrow(fresh[[1L]]$low)) /
      (length(results) * nrow(fresh[[1L]]$low)),
    rmse = sqrt(mean(error[, 1L]^2)) / half,
    rmse_signal = if (is.null(signal)) NA_real_ else sqrt(mean(signal^2)) / half,
    q95 = q95[[1L]] / half
  )
}

#' Reported privacy standard error over the observed one of releases, same panel
#'
#' Of the release's own target and ten others, pooled.
privacy_ratio <- function(panel, epsilon, repeats) {
  if (is.infinite(epsilon) || repeats < 2) return(NA_real_)
  panel$targets <- panel$targets[seq_len(min(11L, nrow(panel$targets))), , drop = FALSE]
  if (nrow(panel$targets) < 2L) return(NA_real_)
  reads <- lapply(seq_len(repeats), function(r) judge(panel, epsilon))
  reads <- reads[!vapply(reads, is.character, NA)]
  if (length(reads) < 2L) return(NA_real_)
  average <- function(part) {
    vapply(reads, function(read) c(read$own[[part]][1L, 1L], read$fresh[[part]][, 1L]),
      numeric(nrow(panel$targets)))
  }
  sqrt(mean(average("privacy")^2) / mean(apply(average("estimate"), 1L, stats::var)))
}

# Acceptance of a private cell. Coverage is at most two Monte Carlo errors below 0.93. If the same
# estimator without privacy also covers less than 0.93, the limit is that coverage minus 0.03. The
# median standard error is at least a third of the root mean square error. The share of refusals is
# shown. Average, periods and band have separate Monte Carlo errors; cells of older runs contain
# only the error of the average.
acceptance <- function(cells) {
  cells <- as.data.frame(cells)
  cell <- do.call(paste, cells[c("design", "target", "n", "T0", "T1")])
  exact <- cells[is.infinite(cells$epsilon), ]
  exact <- exact[match(cell, cell[is.infinite(cells$epsilon)]), ]
  of <- c("cover_average", "cover_period", "cover_band")
  short <- vapply(of, function(column) {
    bar <- pmin(0.93, ifelse(exact[[column]] < 0.93, exact[[column]] - 0.03, 0.93), na.rm = TRUE)
    cells[[column]] < bar - 2 * monte_carlo_error(cells, column)
  }, logical(nrow(cells)))
  fails <- data.frame(
    coverage = rowSums(matrix(short %in% TRUE, nrow(cells))) > 0,
    se = (cells$se_median < 1 / 3) %in% TRUE
  )
  fails[is.infinite(cells$epsilon), ] <- FALSE
  fails
}

monte_carlo_error <- function(cells, column) {
  own <- cells[[if (column == "cover_average") "cover_se" else paste0(column, "_se")]]
  if (is.null(own)) return(cells$cover_se)
  ifelse(is.na(own), cells$cover_se, own)
}

print_battery <- function(cells) {
  fails <- acceptance(cells)
  private <- is.finite(cells$epsilon)
  failed <- rowSums(fails) > 0
  cat(sum(private), "private cells;", sum(private & !failed), "pass. Failing:",
    paste(names(fails), colSums(fails), collapse = ", "), "\n")
  cat("Coverage of the average, private cells: least",
    signif(min(cells$cover_average[private], na.rm = TRUE), 3), "median",
    signif(stats::median(cells$cover_average[private], na.rm = TRUE), 3), "\n")
  cat("More than half of the intervals refused:", sum(cells$refused[private] > 0.5), "cells\n")
  shown <- cells[failed, c(
    "design", "target", "n", "T0", "epsilon", "cover_average", "cover_se", "cover_period",
    "cover_period_se", "cover_band", "cover_band_se", "se_median", "refused"
  )]
  numbers <- vapply(shown, is.numeric, NA)
  shown[numbers] <- lapply(shown[numbers], signif, 3)
  if (nrow(shown)) {
    wide <- options(width = 200)
    on.exit(options(wide))
    print(shown, row.names = FALSE)
  }
  invisible(fails)
}

# The results of several versions of the code are stored in one table, distinguished by `code`.
save_results <- function(table, file) {
  table <- cbind(code = code_label(), table)
  numbers <- vapply(table, is.double, NA)
  table[numbers] <- lapply(table[numbers], signif, 4)
  file <- file.path("bench", "results", file)
  if (file.exists(file)) {
    before <- utils::read.csv(file)
    before <- before[before$code != code_label(), , drop = FALSE]
    # Columns that a version lacks are NA for this version.
    before[setdiff(names(table), names(before))] <- rep(NA, nrow(before))
    table[setdiff(names(before), names(table))] <- NA
    table <- rbind(before[names(table)], table)
  }
  utils::write.csv(table, file, row.names = FALSE)
}
