# All pairs of covariates, gaps, several dates, protection of everyone and several outcomes. Without
# privacy every combination equals the combined simple fits, and with a large budget it is close to
# them. An error for a refused combination gives a remedy and costs no budget.

grid_panel <- function(several, n = 600, m = 120) {
  dates <- if (several) rep(c(5, 7), each = m) else rep(5, m)
  p <- staggered_covariates(n = n, dates = dates, seed = 7)
  withr::local_seed(8)
  p$data$y <- pmin(pmax(p$data$y + 4 * p$data$on, 0), 100)
  p$data$z <- pmin(pmax(5 + (p$data$y - 50) / 20 + stats::rnorm(nrow(p$data), 0, 0.3), 0), 10)
  p$data <- p$data[order(p$data$unit, p$data$time), ]
  # Some cells are missing, but each unit has an observed value before the treatment.
  gone <- stats::runif(nrow(p$data)) < 0.05 & p$data$time > 1
  p$holes <- p$data
  p$holes$y[gone] <- NA
  p$holes$z[gone] <- NA
  p$filled <- p$holes
  for (column in c("y", "z")) {
    p$filled[[column]] <- stats::ave(p$holes[[column]], p$data$unit, FUN = function(x) {
      stats::approx(which(!is.na(x)), x[!is.na(x)], seq_along(x), rule = 2)$y
    })
  }
  p$roster <- dp_roster(p$units, c(rep(NA, n), dates + 1), seq_len(9))
  p$limits <- list(y = c(0, 100), z = c(0, 10), x1 = c(0, 100), g = c("a", "b", "c"))
  p
}

grid_cells <- expand.grid(
  covariates = c(FALSE, TRUE), gaps = c(FALSE, TRUE), several = c(FALSE, TRUE),
  outcomes = c(FALSE, TRUE)
)

grid_fit <- function(p, cell, protect, epsilon, ...) {
  left <- if (cell$outcomes) "cbind(y, z)" else "y"
  right <- if (cell$covariates) "on | x1 + g" else "on"
  used <- c("y", if (cell$outcomes) "z", if (cell$covariates) c("x1", "g"))
  holes <- if (cell$gaps) list(na = "interpolate", roster = p$roster)
  withr::local_seed(3)
  suppressWarnings(do.call(dp_synth, c(list(
    stats::as.formula(paste(left, "~", right)), if (cell$gaps) p$holes else p$data,
    c("unit", "time"), epsilon = epsilon, bounds = p$limits[used], protect = protect,
    control = dp_control(rng = if (is.finite(epsilon)) "R" else "secure"), ...
  ), holes)))
}

# The effects of a fit by outcome and cohort.
grid_effects <- function(fit) {
  outcomes <- if (inherits(fit, "dp_outcomes")) fit$outcomes else list(y = fit)
  lapply(outcomes, function(one) {
    cohorts <- if (inherits(one, "dp_cohorts")) one$cohorts else list(one)
    lapply(unname(cohorts), function(cohort) unname(effects(cohort)[1L, ]))
  })
}

# The expected effects come from fits of one outcome and one date, with rows filled by hand.
grid_oracle <- function(p, cell) {
  data <- if (cell$gaps) p$filled else p$data
  right <- if (cell$covariates) "on | x1 + g" else "on"
  first <- stats::ave(ifelse(data$on == 1, data$time, Inf), data$unit, FUN = min)
  lapply(c(y = "y", if (cell$outcomes) c(z = "z")), function(outcome) {
    lapply(sort(unique(first[is.finite(first)])), function(from) {
      fit <- suppressWarnings(dp_synth(stats::as.formula(paste(outcome, "~", right)),
        data[first %in% c(from, Inf), ], c("unit", "time"),
        epsilon = Inf, bounds = p$limits[c(outcome, if (cell$covariates) c("x1", "g"))]
      ))
      unname(effects(fit)[1L, ])
    })
  })
}

test_that("combined covariates, gaps, dates and outcomes give the effects of separate fits", {
  for (several in c(FALSE, TRUE)) {
    p <- grid_panel(several)
    half <- c(y = 50, z = 5)
    for (i in which(grid_cells$several == several)) {
      cell <- grid_cells[i, ]
      oracle <- grid_oracle(p, cell)
      for (protect in c("donors", "everyone")) {
        label <- paste(c(protect, names(cell)[unlist(cell)]), collapse = " ")
        raw <- grid_effects(grid_fit(p, cell, protect, Inf))
        expect_equal(raw, oracle, tolerance = 1e-6, label = label)
        fit <- grid_fit(p, cell, protect, 200)
        private <- grid_effects(fit)
        for (outcome in names(oracle)) {
          away <- vapply(seq_along(oracle[[outcome]]), function(g) {
            abs(mean(private[[outcome]][[g]]) - mean(oracle[[outcome]][[g]]))
          }, 0)
          expect_lt(max(away), 0.02 * half[[outcome]], label = paste(label, outcome))
        }
        first <- if (cell$outcomes) fit$outcomes[[1L]] else fit
        expect_identical(isTRUE(first$protected), protect == "everyone", label = label)
        table <- tidy(fit, conf.int = TRUE)
        expect_false(anyNA(table$conf.low[table$term == "average"]), label = label)
      }
    }
  }
})

test_that("the error for a refused combination of options gives a remedy, and nothing is spent", {
  one <- grid_panel(FALSE, n = 120, m = 40)
  many <- grid_panel(TRUE, n = 120, m = 40)
  mean_only <- one$data[one$data$unit %in% one$units[1:121], ]
  refused <- list(
    everyone_output = list(y ~ on, one$data, protect = "everyone", method = "output"),
    everyone_one = list(y ~ on, mean_only, protect = "everyone"),
    everyone_size = list(y ~ on, one$data, protect = "everyone", size = 3),
    everyone_small = list(y ~ on, one$data, protect = "everyone", epsilon = 0.05),
    everyone_monitor = list(y ~ on, one$data, protect = "everyone", monitor = 3),
    dates_output = list(y ~ on, many$data, protect = "donors", method = "output"),
    dates_objective = list(y ~ on, many$data, protect = "donors", method = "objective"),
    dates_monitor = list(y ~ on, many$data, protect = "donors", monitor = 3),
    covariates_output = list(y ~ on | x1, mean_only, method = "output"),
    outcomes_output = list(cbind(y, z) ~ on, mean_only, method = "output"),
    outcomes_monitor = list(cbind(y, z) ~ on, mean_only, monitor = 3),
    outcomes_bounds = list(cbind(y, z) ~ on, mean_only, bounds = c(0, 100)),
    gaps_error = list(y ~ on, one$holes, protect = "everyone"),
    gaps_roster = list(y ~ on, one$holes, protect = "donors", na = "interpolate"),
    unprotected = list(y ~ on, one$data)
  )
  for (name in names(refused)) {
    call <- refused[[name]]
    used <- all.vars(call[[1L]])
    limits <- one$limits[setdiff(used, "on")]
    if (length(limits) == 1L) limits <- limits[[1L]]
    # A refused call leaves the ledger unchanged.
    ledger <- dp_ledger(5, 1e-6)
    given <- utils::modifyList(
      list(index = c("unit", "time"), epsilon = 1, bounds = limits, ledger = ledger), call[-(1:2)]
    )
    error <- tryCatch(
      suppressWarnings(do.call(dp_synth, c(call[1:2], given))), error = identity
    )
    expect_s3_class(error, "dpsc_error")
    expect_match(conditionMessage(error), "\n(i|x|\u2139|\u2716) ", label = name)
    expect_identical(nrow(as.data.frame(ledger)), 0L, label = paste("charges of", name))
  }
})
