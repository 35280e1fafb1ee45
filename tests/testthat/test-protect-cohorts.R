# protect = "everyone" with several adoption dates: one account for the donors and one per cohort.

protected_cohorts_of <- function(n = 300, m = 60, T0 = c(5, 7), T1 = 4, seed = 3, effect = 0) {
  p <- protected_panel_of(n = n, m = m * length(T0), T0 = T0[[1]], T1 = T1, seed = seed)
  p$T0 <- rep(T0, each = m)
  last <- ncol(p$group)
  for (i in seq_along(p$T0)) {
    post <- seq.int(p$T0[[i]] + 1, last)
    p$group[i, post] <- pmin(p$group[i, post] + effect, 1)
  }
  p
}

test_that("every protected cohort spends the whole budget, and the ledger is charged once", {
  p <- protected_cohorts_of(n = 500, m = 100, T0 = c(5, 6, 7))
  for (delta in c(1e-6, 0)) {
    ledger <- dp_ledger(8, 1e-6)
    fit <- protected_fit(p, epsilon = 8, delta = delta, control = dp_control(), ledger = ledger)
    expect_s3_class(fit, "dp_cohorts")
    expect_identical(nrow(as.data.frame(ledger)), 1L)
    steps <- fit$release$privacy$steps
    expect_identical(unique(steps$account), c("donors", paste("cohort", 1:3)))
    for (account in split(steps, steps$account)) {
      spent <- if (delta > 0) sum(account$mu^2) / gdp_budget_cpp(8, delta)^2 else
        sum(account$epsilon) / 8
      expect_lte(spent, 1 + 1e-9)
      expect_gt(spent, 1 - 1e-6)
    }
    expect_identical(fit$release$panel$treated, rep(100L, 3))
    expect_match(fit$release$privacy$neighbours, "donor or treated")
    expect_null(release_problem(fit$release))
    expect_false(anyNA(tidy(fit, "cohort")$std.error))
  }
  expect_output(print(fit), "protects everyone")
  # A released past has no residuals, so none are printed.
  expect_true(all(tidy(fit, "event")$kind == "effect"))
  expect_match(report(fit)$guarantee, "donor or treated person")
})

test_that("no step for a cohort or for the donors depends on another cohort's rows", {
  p <- protected_cohorts_of(n = 300, m = 100)
  q <- p
  first <- p$T0 == 5
  q$group[first, ] <- -q$group[first, ]
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder, protected_hooks(recorder))
  run <- function(p) {
    scope$dp_release.matrix(p$donors,
      target = p$group, T0 = p$T0, epsilon = 8, bounds = c(-1, 1), protect = "everyone",
      control = dp_control(rng = "R")
    )
  }
  calls <- record_and_replay(list(
    recorder = recorder, run = function(p) withr::with_seed(1, run(p))
  ), p, q)
  release <- attr(calls, "result")
  moved <- vapply(calls, function(call) any(call$value != call$other$value), NA)
  expect_setequal(release$privacy$steps$account[moved], "cohort 1")
})

test_that("an audit of several cohorts finds no loss above the budget and detects faults", {
  # Plants faults 21, 22.
  p <- protected_cohorts_of(n = 150, m = 60)
  extreme <- rep_len(c(1, -1), 9)
  replaced <- function(part, i, row) {
    p[[part]][i, ] <- row
    p
  }
  people <- list(
    donors = list("donors", 1), `cohort 1` = list("group", 1), `cohort 2` = list("group", 61)
  )
  for (account in names(people)) {
    for (row in list(extreme, -extreme, c(rep(-1, 7), 1, 1))) {
      other <- replaced(people[[account]][[1]], people[[account]][[2]], row)
      table <- withr::with_seed(4, audit_protected(p, other, epsilon = 6))
      expect_identical(unique(table$account[table$moved]), account)
      expect_lte(max(table$ratio), 1 + 1e-9)
      expect_lte(sum(table$share[table$moved]), 1 + 1e-6)
    }
  }
  # The fault is steps drawn with a budget that is not charged.
  loose <- function(group) {
    group$epsilon <- 3 * group$epsilon
    group
  }
  last <- replaced("group", 61, extreme)
  table <- withr::with_seed(4, audit_protected(p, last, loose, epsilon = 6))
  expect_gt(sum(table$share[table$moved]), 2)
  # The fault is a person in two cohorts.
  twice <- function(recorder) {
    hooks <- protected_hooks(recorder)
    honest <- hooks$treated_release_cpp
    kept <- NULL
    hooks$treated_release_cpp <- function(rows, group, ...) {
      if (group$T0 == 5) kept <<- rows[1, ] else rows[1, ] <- kept
      honest(rows, group, ...)
    }
    hooks
  }
  table <- withr::with_seed(4, audit_protected(
    p, replaced("group", 1, extreme), epsilon = 6, hooks = twice
  ))
  expect_setequal(unique(table$account[table$moved]), c("cohort 1", "cohort 2"))
})

test_that("a release for everyone with several dates is read back, fitted to targets and checked", {
  skip_if_not_installed("jsonlite")
  p <- protected_cohorts_of(n = 400, m = 100)
  fit <- protected_fit(p, epsilon = 6, control = dp_control())
  file <- withr::local_tempfile()
  write_release(fit$release, file)
  again <- read_release(file)
  expect_identical(again, fit$release)
  expect_equal(tidy(dp_synth(again), "group_time"), tidy(fit, "group_time"))
  expect_equal(tidy(update(fit)), tidy(fit))
  public <- dp_synth(again, target = p$group[c(1, 101), ], T0 = c(5, 7))
  expect_s3_class(public, "dp_cohorts")
  expect_null(public$protected)
  changed <- function(change) release_problem(change(fit$release))
  expect_type(changed(function(r) {
    r$statistics$cohorts$treated[[2]]$mean_sd <- r$statistics$cohorts$treated[[2]]$mean_sd / 2
    r
  }), "character")
  expect_type(changed(function(r) {
    r$statistics$cohorts$treated <- r$statistics$cohorts$treated[1]
    r
  }), "character")
  expect_type(changed(function(r) {
    r$panel$treated <- c(100L, 300L)
    r
  }), "character")
  expect_type(changed(function(r) {
    r$privacy$steps <- r$privacy$steps[r$privacy$steps$account != "cohort 2", ]
    r
  }), "character")
  expect_error(pdp(fit$release, p$donors), class = "dpsc_error_argument")
  expect_error(conformal(fit$cohorts[[1]]), class = "dpsc_error_argument")
})

test_that("a fit of several dates, its file, prints and plots contain no treated person's value", {
  p <- protected_cohorts_of(n = 300, m = 80)
  parts <- lapply(c(5, 7), function(T0) {
    list(donors = p$donors, group = p$group[p$T0 == T0, ])
  })
  secrets <- unique(c(protected_secrets(p), unlist(lapply(parts, protected_secrets))))
  fit <- protected_fit(p, control = dp_control(), epsilon = 6)
  things <- list(
    fit, summary(fit), tidy(fit, "group_time", conf.int = TRUE), vcov(fit), augment(fit),
    report(fit), utils::capture.output(print(fit), print(summary(fit)), print(fit$release))
  )
  for (thing in things) expect_no_canary(thing, secrets, "fit")
  skip_if_not_installed("ggplot2")
  for (type in c("event", "cohort", "calendar", "path")) {
    expect_no_canary(ggplot2::ggplot_build(ggplot2::autoplot(fit, type = type)), secrets, type)
  }
  results <- crossings_of(function(scope) {
    scope[["dp_release.matrix"]](p$donors,
      target = p$group, T0 = p$T0, epsilon = 6, bounds = c(-1, 1), protect = "everyone"
    )
  })
  expect_no_canary(results, secrets, "crossings")
})

test_that("protected cohorts accept covariates, chunks, a roster, tables, two outcomes and did", {
  p <- staggered_covariates(n = 500, dates = rep(c(5, 7), each = 100))
  run <- function(...) {
    withr::local_seed(2)
    dp_synth(..., epsilon = 6, protect = "everyone", control = dp_control(rng = "R"))
  }
  index <- c("unit", "time")
  with <- run(y ~ on | x1 + g, p$data, index, bounds = p$bounds)
  expect_null(release_problem(with$release))
  plain <- run(y ~ on, p$data, index, bounds = c(0, 100))
  people <- c(p$y, p$x1)
  for (fit in list(with, plain)) expect_no_canary(fit, people, "people")
  donors <- seq_len(p$n)
  chunks <- run(dp_chunks(list(p$y[1:200, ], p$y[201:500, ])),
    target = p$y[-donors, ], T0 = p$dates, bounds = c(0, 100)
  )
  expect_equal(tidy(chunks, "group_time"), tidy(plain, "group_time"))
  roster <- dp_roster(p$units, c(rep(NA, p$n), p$dates + 1), 1:9)
  gaps <- run(y ~ on, p$data, index, bounds = c(0, 100), na = "interpolate", roster = roster)
  expect_equal(tidy(gaps, "group_time"), tidy(plain, "group_time"))
  did <- run(y ~ on, p$data, index, bounds = c(0, 100), estimator = "did")
  expect_false(anyNA(tidy(did, "cohort")$estimate))
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite())
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbWriteTable(con, "people", p$data)
  table <- run(y ~ on, dp_table(con, "people", index), bounds = c(0, 100))
  expect_equal(tidy(table, "group_time"), tidy(plain, "group_time"))
  # Everyone is also protected with two outcomes.
  p$data$z <- p$data$y / 10
  two <- run(cbind(y, z) ~ on, p$data, index, bounds = list(y = c(0, 100), z = c(0, 10)))
  expect_true(all(vapply(two$outcomes, function(fit) isTRUE(fit$protected), NA)))
})

test_that("protected cohorts' effects at epsilon = 100 are within 0.03 of those without privacy", {
  p <- protected_cohorts_of(n = 3000, m = 300, effect = 0.2)
  raw <- dp_synth(p$donors, target = p$group, T0 = p$T0, epsilon = Inf)
  fit <- withr::with_seed(1, protected_fit(p, epsilon = 100))
  expect_lt(max(abs(coef(fit, "cohort") - coef(raw, "cohort"))), 0.03)
})

test_that("a cohort that is too small for the budget is refused, and nothing is spent", {
  p <- protected_cohorts_of(n = 300, m = 60)
  keep <- c(1:60, 61:63)
  ledger <- dp_ledger(2, 1e-6)
  expect_error(
    dp_synth(p$donors,
      target = p$group[keep, ], T0 = p$T0[keep], epsilon = 2, bounds = c(-1, 1),
      protect = "everyone", ledger = ledger
    ),
    "group of 3 treated people is too small", class = "dpsc_error_argument"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("dp_audit() finds no violation in releases for everyone, with one or with two dates", {
  p <- protected_cohorts_of(n = 150, m = 60)
  panel <- rbind(p$donors, p$group)
  for (T0 in list(5, p$T0)) {
    ours <- audit_mechanism("gram",
      T0 = T0, epsilon = 6, protect = "everyone", treated = 120
    )
    expect_output(print(ours), "which protects everyone")
    for (person in c(1, 151, 270)) {
      other <- panel
      other[person, ] <- rep_len(c(1, -1), 9)
      audit <- withr::with_seed(6, dp_audit(ours, panel, other, n_runs = 2, mode = "replay"))
      expect_false(audit$violated)
      moved <- unique(audit$table$account[audit$table$observed > 0])
      expect_identical(moved, if (person == 1) "donors" else if (length(T0) == 1) "treated" else
        if (person == 151) "cohort 1" else "cohort 2")
    }
  }
  # A person who affects two accounts was charged for only one.
  table <- data.frame(observed = c(0, 1, 1), ratio = c(0, 0.5, 0.5))
  expect_identical(account_rows(table, c("a", "b", "b"))$ratio, table$ratio)
  expect_identical(account_rows(table, c("a", "a", "b"))$ratio, c(0, Inf, Inf))
  expect_error(
    audit_mechanism("gram", T0 = 5:7, epsilon = 1, protect = "everyone", treated = 5),
    class = "dpsc_error_argument"
  )
})
