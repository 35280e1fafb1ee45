# na = "interpolate" fills each row separately, and nothing else depends on gaps.

gap_panel <- function(n = 60, m = 1, T0 = 5, T1 = 2, seed = 1) {
  withr::local_seed(seed)
  y <- 40 + 5 * matrix(stats::rnorm((n + m) * (T0 + T1)), n + m) + stats::rnorm(n + m, 0, 8)
  units <- sprintf("u%04d", seq_len(n + m))
  periods <- 2000 + seq_len(T0 + T1)
  list(
    y = y, n = n, T0 = T0, data = data.frame(
      unit = rep(units, length(periods)), time = rep(periods, each = n + m), y = as.vector(y)
    ),
    roster = dp_roster(
      unit = units, from = ifelse(seq_len(n + m) > n, periods[T0 + 1], NA), periods = periods
    )
  )
}

gap_rows <- function(p, data = p$data, bounds = c(0, 100), ...) {
  panel <- read_panel(
    y ~ treated, data, c("unit", "time"), p$roster, bounds, private = TRUE, ...
  )
  rbind(panel$donors, panel$target)
}

gap_fit <- function(p, data = p$data, epsilon = 4, ..., fun = dp_synth) {
  fun(y ~ treated,
    data = data, index = c("unit", "time"), epsilon = epsilon, bounds = c(0, 100),
    na = "interpolate", roster = p$roster, ...
  )
}

test_that("gaps are filled by linear interpolation, at the ends by the nearest observed value", {
  filled <- function(row, T0 = 4) interpolate_rows(matrix(row, 1), T0, rep(50, length(row)))[1, ]
  expect_equal(filled(c(NA, 2, NA, NA, 8, NA)), c(2, 2, 4, 6, 8, 8))
  expect_equal(filled(c(1, NA, NA, NA, NA, NA)), rep(1, 6))
  expect_equal(filled(c(NA, NA, NA, NA, 3, 4)), rep(50, 6))
  expect_equal(filled(rep(NA, 6)), rep(50, 6))
  expect_equal(filled(1:6), 1:6)
  # The results are compared with approx(), row by row.
  withr::local_seed(1)
  rows <- matrix(stats::rnorm(600), 100)
  rows[sample(600, 200)] <- NA
  known <- rowSums(!is.na(rows[, 1:4])) > 0
  expect_gt(sum(known), 90)
  slow <- t(apply(rows[known, ], 1, function(row) {
    at <- which(!is.na(row))
    if (length(at) == 1L) rep(row[at], 6) else stats::approx(at, row[at], 1:6, rule = 2)$y
  }))
  expect_equal(interpolate_rows(rows, 4, rep(0, 6))[known, ], slow)
  # Huge values of one person are also numbers.
  huge <- interpolate_rows(matrix(c(1.7e308, NA, -1.7e308, NA), 1), 2, rep(0, 4))
  expect_true(all(is.finite(huge)))
})

test_that("interpolation leaves a panel without gaps unchanged, for any order of rows", {
  p <- gap_panel(m = 2)
  expect_equal(gap_rows(p), p$y, ignore_attr = TRUE)
  expect_identical(gap_rows(p, p$data[sample(nrow(p$data)), ]), gap_rows(p))
})

test_that("a person's gaps and extra rows change only this person's row, and no message", {
  p <- gap_panel(n = 40, m = 30)
  whole <- gap_rows(p)
  of <- function(unit) p$data$unit == unit
  changes <- list(
    nobody = p$data[!of("u0003"), ],
    one_month_gone = p$data[!(of("u0003") & p$data$time == 2004), ],
    treated_gone = p$data[!(of("u0041") & p$data$time > 2005), ],
    treated_absent = p$data[!of("u0041"), ],
    missing = replace(p$data, "y", list(replace(p$data$y, of("u0003"), NA))),
    infinite = replace(p$data, "y", list(replace(p$data$y, which(of("u0003"))[2], Inf))),
    no_unit = replace(p$data, "unit", list(replace(p$data$unit, of("u0003"), NA))),
    no_time = replace(p$data, "time", list(replace(p$data$time, which(of("u0003"))[1], NA))),
    twice = rbind(p$data, transform(p$data[of("u0003"), ], y = -99)),
    stranger = rbind(p$data, data.frame(unit = "x", time = 2001:2007, y = 1)),
    strange_month = rbind(p$data, data.frame(unit = "u0003", time = 1999, y = 1))
  )
  for (name in names(changes)) {
    rows <- gap_rows(p, changes[[name]])
    touched <- if (grepl("treated", name)) 41L else 3L
    expect_identical(rows[-touched, ], whole[-touched, ], label = name)
    expect_true(all(is.finite(rows)))
    # The shapes of all messages and printed objects are the same.
    said <- function(data) {
      fit <- NULL
      text <- canary_conditions(fit <- suppressMessages(withr::with_seed(1, gap_fit(p, data,
        protect = "everyone", epsilon = 8, control = dp_control(rng = "R")
      ))))
      list(length(text), fit$release$panel, fit$release$privacy, dim(fit$target))
    }
    expect_identical(said(changes[[name]]), said(p$data), label = name)
  }
  # This is the only observation of a month.
  lonely <- p$data[p$data$time != 2003 | p$data$unit == "u0003", ]
  none <- p$data[p$data$time != 2003, ]
  expect_identical(gap_rows(p, lonely)[-3, ], gap_rows(p, none)[-3, ])
  expect_identical(dim(gap_rows(p, none)), dim(whole))
})

test_that("people with gaps keep their covariates or get the middle of the bounds", {
  p <- gap_panel(n = 40)
  p$data$age <- 30
  p$data$sex <- "m"
  data <- p$data[p$data$unit != "u0001", ]
  data$age[data$unit == "u0002" & data$time < 2005] <- NA
  data$sex[data$unit == "u0002" & data$time < 2003] <- NA
  # In a public unit a gap is not a separate level either.
  treated <- p$roster$unit[!is.na(p$roster$from)][[1L]]
  data$sex[data$unit == treated & data$time == 2001] <- NA
  limits <- split_bounds(
    list(y = c(0, 100), age = c(0, 80), sex = c("f", "m")), c("age", "sex"), TRUE,
    quote(y)
  )
  found <- read_panel(
    y ~ treated, data, c("unit", "time"), p$roster, c(0, 100), covariates = limits$covariates
  )$covariates$donors
  expect_equal(found[1:3, ], cbind(c(40, 30, 30), c(0, 1, 1)))
})

test_that("an error requests missing declarations about gaps before anything is spent", {
  p <- gap_panel()
  ledger <- dp_ledger(1, 1e-6)
  fails <- function(..., class = "dpsc_error_roster") {
    for (fun in list(dp_synth, dp_release)) {
      expect_error(fun(y ~ treated,
        data = p$data, index = c("unit", "time"), epsilon = 1, bounds = c(0, 100),
        ledger = ledger, ...
      ), class = class)
    }
  }
  fails(na = "interpolate")
  fails(roster = p$roster)
  fails(na = "drop", class = "dpsc_error_argument")
  other <- dp_roster(seq_len(61), c(rep(NA, 60), 2006), 2001:2007)
  fails(na = "interpolate", roster = other)
  units <- sprintf("u%04d", 1:61)
  fails(na = "interpolate", roster = dp_roster(units, rep(NA, 61), 2001:2007))
  # One of the two dates is too early.
  two <- dp_roster(units, c(rep(NA, 59), 2002, 2006), 2001:2007)
  fails(na = "interpolate", roster = two, protect = "donors", class = "dpsc_error_panel")
  early <- dp_roster(units, c(rep(NA, 60), 2002), 2001:2007)
  fails(na = "interpolate", roster = early, class = "dpsc_error_protect")
  fails(na = "interpolate", roster = early, protect = "donors")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(dp_roster(c(1, 1), c(NA, 3), 1:4), class = "dpsc_error_roster")
  expect_error(dp_roster(1:2, c(NA, 9), 1:4), class = "dpsc_error_roster")
  expect_error(dp_roster(1:2, NA, 1:4), class = "dpsc_error_roster")
  expect_error(dp_roster(1:2, c(NA, 3), c(1, 3, 2, 4)), class = "dpsc_error_roster")
  expect_output(print(p$roster), "60 donors, 1 treated, 7 periods")
})

test_that("a fit with gaps, dates and factors contains no unit's name and keeps its dates", {
  p <- gap_panel(n = 400)
  p$data$time <- as.Date("2024-01-01") + 30 * (p$data$time - 2001)
  days <- as.Date("2024-01-01") + 30 * (0:6)
  p$data$unit <- factor(p$data$unit)
  p$roster <- dp_roster(
    factor(levels(p$data$unit)), c(rep(as.Date(NA), 400), days[6]), days
  )
  data <- p$data[-sample(which(p$data$unit != "u0401"), 500), ]
  fit <- gap_fit(p, data)
  expect_identical(fit$release$panel$times, days)
  expect_identical(fit$release$panel$n, 400L)
  expect_false(holds_text(fit, "u0003"))
  expect_s3_class(gap_fit(p, data, epsilon = Inf), "dp_synth")
})

test_that("with a roster, a donor's rows under the name of a public target are refused", {
  people <- sprintf("p%02d", 1:40)
  d <- expand.grid(t = 1:8, k = 1:40)
  d$id <- people[d$k]
  d$y <- sin(7 * d$k) + cos(d$t * d$k) / 4
  d$on <- as.integer(d$k == 40 & d$t > 5)
  roster <- dp_roster(people, ifelse(1:40 == 40, 6L, NA), 1:8)
  of <- function(data, ...) {
    dp_synth(y ~ on, data, c("id", "t"), epsilon = 40, bounds = c(-2, 2), na = "interpolate",
      roster = roster, control = dp_control(rng = "R"), ...)
  }
  target <- of(d, protect = "donors")$target
  expect_equal(as.double(target)[1:3], d$y[d$k == 40][1:3])
  renamed <- d
  renamed$id[d$k == 10] <- "p40"
  expect_error(of(renamed, protect = "donors"), "treated, has several rows",
    class = "dpsc_error_panel")
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    con <- withr::local_db_connection(DBI::dbConnect(RSQLite::SQLite(), ":memory:"))
    DBI::dbWriteTable(con, "people", renamed)
    expect_error(
      dp_synth(y ~ on, dp_table(con, "people", c("id", "t")), epsilon = 40, bounds = c(-2, 2),
        na = "interpolate", roster = roster, protect = "donors"),
      "treated, has several rows", class = "dpsc_error_panel"
    )
  }
  # Of several rows of a donor the first counts, as before.
  renamed$id[d$k == 10] <- "p11"
  expect_s3_class(of(renamed, protect = "donors"), "dp_synth")
  # Such rows change two rows, so that the guarantee names what it assumes.
  fit <- suppressWarnings(
    dp_synth(y ~ on, d, c("id", "t"), epsilon = 40, bounds = c(-2, 2), na = "interpolate",
      roster = roster, protect = "donors")
  )
  expect_match(fit$release$privacy$assumes, "person's own identifier of the roster")
  expect_output(print(fit), "own identifier")
})

test_that("with a roster or without, an identifier that nothing can read is nobody's, or refused", {
  people <- enc2utf8(sprintf("z\u00e9%02d", 1:61))
  d <- expand.grid(t = 1:8, k = 1:61)
  d$y <- sin(d$k * d$t)
  d$on <- as.integer(d$k == 61 & d$t > 5)
  d$id <- iconv(people, "UTF-8", "latin1")[d$k]
  roster <- dp_roster(people, ifelse(1:61 == 61, 6L, NA), 1:8)
  of <- function(data, ...) {
    withr::local_seed(2)
    suppressWarnings(dp_synth(y ~ on, data, c("id", "t"), epsilon = 10, bounds = c(-1, 1),
      protect = "donors", control = dp_control(rng = "R"), ...))
  }
  usual <- of(d, na = "interpolate", roster = roster)
  gone <- of(d[d$k != 10, ], na = "interpolate", roster = roster)
  for (mark in c("bytes", "unknown")) {
    lost <- rep("p\xff", 8)
    Encoding(lost) <- mark
    e <- d
    e$id[e$k == 10] <- lost
    expect_equal(tidy(of(e, na = "interpolate", roster = roster)), tidy(gone))
    expect_error(of(e), class = "dpsc_error_panel")
    # One person's cell does not decide how the names of others are compared.
    both <- d
    both$id[both$t > 4] <- people[both$k[both$t > 4]]
    expect_equal(tidy(of(both)), tidy(of(d)))
  }
  expect_false(isTRUE(all.equal(tidy(usual), tidy(gone))))
})
