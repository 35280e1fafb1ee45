# Growing releases with covariates: in each look at the data a covariate is a column of a person's
# row.

# The outcome of these people after the treatment depends on x1 and the group g, with a slope per
# period.
growing_covariates <- function(n = 300, T0 = 6, T1 = 4, seed = 1, slope = rep(0.3, T1), k = 1) {
  withr::local_seed(seed)
  x1 <- stats::runif(n + k, 20, 80)
  x1[n + seq_len(k)] <- 70
  g <- sample(c("a", "b", "c"), n + k, TRUE)
  g[n + seq_len(k)] <- "b"
  level <- stats::rnorm(n + k, 50, 6)
  y <- level + matrix(stats::rnorm((n + k) * (T0 + T1), 0, 2), n + k)
  y[n + seq_len(k), ] <- 50
  post <- T0 + seq_len(T1)
  added <- outer(x1 - 50, slope) + 5 * (g == "b")
  y[, post] <- y[, post] + added
  data <- data.frame(
    unit = rep(sprintf("u%04d", seq_len(n + k)), T0 + T1),
    week = rep(seq_len(T0 + T1), each = n + k), y = as.vector(y),
    on = as.integer(outer(seq_len(n + k), seq_len(T0 + T1), function(i, t) i > n & t > T0)),
    x1 = x1, g = g
  )
  list(data = data[sample(nrow(data)), ], n = n, T0 = T0, T1 = T1, x1 = x1,
    bounds = list(y = c(0, 100), x1 = c(0, 100), g = c("a", "b", "c")))
}

until <- function(p, week) p$data[p$data$week <= week, ]

covariates_start <- function(p, formula = y ~ on | x1 + g, data = until(p, p$T0 + 1), ...,
                             bounds = p$bounds, epsilon = 6, monitor = p$T1 - 1, rng = "R") {
  dp_synth(formula, data, c("unit", "week"),
    epsilon = epsilon, bounds = bounds, monitor = monitor, control = dp_control(rng = rng), ...
  )
}

test_that("a fit with `monitor` and covariates can be updated, written, read and updated again", {
  withr::local_seed(41)
  p <- growing_covariates()
  start <- covariates_start(p)
  monitor <- start$release$statistics$monitor
  expect_equal(monitor$covariates, c((70 - 50) / 50, 1, -1))
  expect_null(release_problem(start$release))
  fit <- update(start, until(p, 8))
  expect_identical(fit$release$panel$covariates, start$release$panel$covariates)
  expect_equal(fit$covariates, start$covariates)
  expect_equal(fit$counterfactual[, 1:7], start$counterfactual[, 1:7])
  expect_length(coef(fit), 3)
  expect_equal(tidy(update(fit)), tidy(fit))
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile()
  write_release(fit$release, path, allow_not_private = TRUE)
  back <- read_release(path)
  expect_identical(back, fit$release)
  own <- dp_synth(back, target = fit$target, covariates = fit$covariates)
  expect_equal(tidy(own), tidy(fit))
  expect_error(dp_synth(back, target = fit$target, covariates = fit$covariates + c(1, 0, 0)),
    class = "dpsc_error_monitor")
  fit <- update(own, p$data, index = c("unit", "week"), formula = y ~ on | x1 + g)
  expect_identical(monitor_left(fit), 0L)
  damaged <- back
  damaged$statistics$monitor$covariates <- NULL
  expect_type(release_problem(damaged), "character")
  damaged$statistics$monitor$covariates <- c(0, 0)
  expect_type(release_problem(damaged), "character")
})

test_that("updates read covariates as the first release does, in memory and from a table", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(220, 5, 3)
  data <- with_covariates_in(p$data)
  first <- data[data$week <= 2006, ]
  con <- sqlite_of(data)
  DBI::dbWriteTable(con, "first", first)
  begin <- function(x) {
    seeded(x, formula = on_covariates, bounds = covariate_bounds, epsilon = 6, fun = dp_synth,
      monitor = 2, seed = 42)
  }
  nameless <- function(fit) {
    fit$release$statistics$monitor$id <- NULL
    fit[c("formula", "index")] <- NULL
    fit
  }
  start <- begin(first)
  declared <- known_covariates(start$release$panel$covariates, c("age", "g", "member"))
  expect_identical(declared$age, covariate_bounds$age)
  expect_identical(declared$g[-1], c("b", "c"))
  read <- function(data, declared) {
    read_panel(y ~ on, data, c("unit", "week"), covariates = declared)$covariates
  }
  expect_identical(read(data, declared), read(first, covariate_bounds[-1]))
  whole <- withr::with_seed(43, update(start, data))
  table <- withr::with_seed(43, update(begin(in_sqlite(con, name = "first", block = 60)),
    in_sqlite(con, block = 60)))
  expect_identical(nameless(table), nameless(whole))
  # One level of this factor equals the placeholder for the unnamed first level.
  odd <- data.frame(name = c("g: another", "g: other"), lower = 0, upper = 1)
  levels <- known_covariates(odd, "g")$g
  expect_identical(levels[-1], c("another", "other"))
  expect_false(levels[[1]] %in% levels[-1])
})

test_that("predictors of a new period include the covariates", {
  withr::local_seed(44)
  p <- growing_covariates(n = 2000)
  fit <- update(covariates_start(p, epsilon = 60), until(p, 8))
  base <- growing_base(fit$release)
  frame <- growing_frame_cpp(base, fit$release$statistics$monitor$periods)
  k <- length(frame$aim) - 1
  # The columns are six periods, three covariates, one and two periods after the treatment, and the
  # new period.
  expect_identical(dim(frame$loadings), c(12L, 2L + as.integer(k)))
  expect_gt(max(abs(frame$loadings[7:9, 1])), 0.1)
  expect_gt(max(abs(frame$loadings[7:9, 3])), 0.1)
  expect_equal(frame$loadings[10:12, -(1:2)], matrix(0, 3, k))
  # For the target the prediction is the counterfactual of the previous period.
  row <- c(base$target, (fit$counterfactual[1, 7:8] - 50) / 50)
  row[12] <- row[11]
  expect_lt(abs(sum(frame$loadings[, 1] * row) - frame$origin[1]), 1e-8)
})

test_that("covariates reduce the errors of new periods, even if the covariates' slopes change", {
  errors <- function(formula, names, slope) {
    vapply(1:8, function(seed) {
      p <- growing_covariates(n = 1500, seed = seed, slope = slope)
      fit <- withr::with_seed(seed, {
        start <- covariates_start(p, formula, bounds = p$bounds[names])
        update(start, p$data)
      })
      mean(coef(fit)[-(1:2)]^2)
    }, 0)
  }
  for (slope in list(rep(0.3, 4), c(0.3, 0.2, 0.1, 0))) {
    with <- sqrt(mean(errors(y ~ on | x1 + g, c("y", "x1", "g"), slope)))
    without <- sqrt(mean(errors(y ~ on, "y", slope)))
    expect_lt(with, 0.8 * without)
  }
})

test_that("an update with covariates other than the fit's is refused, and nothing is drawn", {
  withr::local_seed(45)
  p <- growing_covariates(n = 200)
  start <- covariates_start(p)
  someone <- p$data$unit == "u0007"
  target <- p$data$unit == "u0201"
  refused <- function(data, ..., class = "dpsc_error_covariate", words = NULL) {
    seen <- expect_error(update(start, data, ...), words, class = class)
    expect_no_match(conditionMessage(seen), "u0007")
  }
  refused(p$data, formula = y ~ on)
  refused(p$data, formula = y ~ on | x1)
  refused(p$data, formula = y ~ on | g + x1, words = "same order")
  refused(p$data, formula = y ~ on | x1 + week)
  # One donor's covariate would turn that donor into a target.
  refused(p$data, formula = y ~ I(on > 0 | x1 > 200) | x1 + g, class = "dpsc_error_panel",
    words = "computed from a covariate")
  refused(p$data[c("unit", "week", "y", "on", "x1")])
  refused(transform(p$data, x1 = ifelse(someone, NA, x1)))
  refused(transform(p$data, x1 = ifelse(target, 30, x1)), class = "dpsc_error_monitor",
    words = "target's covariates")
  wide <- matrix(50, 200, 10)
  expect_error(update(start, wide, target = rep(50, 10)), class = "dpsc_error")
  plain <- covariates_start(p, y ~ on, bounds = p$bounds["y"])
  expect_error(update(plain, p$data, formula = y ~ on | x1), class = "dpsc_error_covariate")
  for (fit in list(start, plain)) {
    expect_null(session$monitors[[fit$release$statistics$monitor$id]])
  }
  # A changed value of one person causes no error, and no message reveals the change.
  fit <- update(start, transform(p$data, x1 = ifelse(someone, 99, x1), g = ifelse(someone, "c", g)))
  expect_identical(monitor_left(fit), 0L)
})

test_that("no person's past, new periods or covariates change a draw by more than charged", {
  # Plants faults 17.
  withr::local_seed(46)
  n <- 300
  flat <- data.frame(
    unit = rep(seq_len(n + 1), 9), week = rep(1:9, each = n + 1),
    y = stats::runif(9 * (n + 1), -0.1, 0.1), x1 = rep(stats::runif(n + 1, -0.1, 0.1), 9)
  )
  flat$on <- as.integer(flat$unit == n + 1 & flat$week > 5)
  # The outcomes and the covariate of one person differ in each look.
  world <- function(y, x1) {
    lapply(1:4, function(k) {
      at <- flat$unit == 1
      flat$y[at] <- y(k)
      flat$x1[at] <- x1(k)
      flat[flat$week <= 5 + k, ]
    })
  }
  past <- rep(c(1, -1), length.out = 5)
  turn <- list(
    world(function(k) c(past, 1, 1, 1, 1), function(k) 1e300),
    world(function(k) c(past, -1, -1, -1, -1), function(k) -1)
  )
  revised <- list(
    world(function(k) c((-1)^k * past, rep((-1)^k, 4)), function(k) (-1)^k),
    world(function(k) c(past, rep((-1)^(k + 1), 4)), function(k) (-1)^(k + 1))
  )
  replay <- function(pair, ...) {
    recorder <- new_recorder()
    scope <- hooked_namespace(recorder, c(list(
      gram_release_cpp = core_hook(recorder), growing_release_cpp = growing_hook(recorder)
    ), list(...)))
    audit_replay(list(recorder = recorder, ours = TRUE, run = function(looks) {
      fit <- suppressWarnings(scope$dp_synth.formula(y ~ on | x1, looks[[1]], c("unit", "week"),
        epsilon = 4, bounds = list(y = c(-1, 1), x1 = c(-1, 1)), monitor = 3,
        control = dp_control(rng = "R")
      ))
      for (look in looks[-1]) {
        fit <- scope$update_growing(fit, look, formula = y ~ on | x1, index = c("unit", "week"))
      }
      fit$release$privacy
    }), pair, 2)
  }
  largest <- 0
  for (pair in list(turn, revised)) {
    audit <- replay(pair)
    expect_false(audit$violated)
    months <- audit$table[grepl("of the period", audit$table$call), ]
    expect_identical(nrow(months), 6L)
    largest <- max(largest, months$ratio[months$law == "discrete_gaussian"])
  }
  expect_gt(largest, 0.8)
  # The fault is covariates relative to the donors' mean, so that one person changes every row.
  expect_true(replay(revised, insert_covariates = function(rows, between, T0) {
    insert_covariates(rows, sweep(between, 2, colMeans(between)) * 5, T0)
  })$violated)
})

test_that("an updated fit and its print contain no donor's outcomes or covariates", {
  withr::local_seed(47)
  p <- growing_covariates(n = 200)
  fit <- update(covariates_start(p, rng = "secure"), p$data)
  donors <- p$data$unit != "u0201"
  secrets <- unique(c(p$data$y[donors], p$data$x1[donors], (p$data$x1[donors] - 50) / 50))
  expect_no_canary(list(fit, tidy(fit), utils::capture.output(print(fit))), secrets, "fit")
})

test_that("updates from a table with covariates and gaps equal updates from a data frame", {
  skip_if_not_installed("RSQLite")
  p <- long_panel(200, 5, 3)
  data <- with_covariates_in(p$data)
  units <- sort(unique(data$unit))
  gone <- !data$unit %in% treated_of(data) & data$week %% 3 == 0 & data$unit < "u4"
  data$age[data$week == 2002 & data$unit < "u3"] <- NA
  holes <- data[!gone, ]
  roster <- function(upto) {
    dp_roster(units, ifelse(units %in% treated_of(data), 2006, NA), 2001:upto)
  }
  con <- sqlite_of(holes)
  begin <- function(x) {
    seeded(x, formula = on_covariates, bounds = covariate_bounds, epsilon = 6, fun = dp_synth,
      monitor = 2, seed = 48, na = "interpolate", roster = roster(2006))
  }
  grown <- lapply(list(holes, in_sqlite(con, block = 70)), function(x) {
    start <- begin(x)
    fit <- withr::with_seed(49, update(start, x, na = "interpolate", roster = roster(2008)))
    fit$release$statistics$monitor$id <- NULL
    fit$release
  })
  expect_identical(grown[[2]], grown[[1]])
  expect_length(grown[[1]]$statistics$monitor$periods, 2)
})

test_that("an update reads numbers, flags and dates whose levels were given as text", {
  withr::local_seed(42)
  p <- growing_covariates()
  codes <- list(c("1", "2", "3"), c("FALSE", "TRUE"), c("-1", "0", "10"))
  for (levels in codes) {
    of <- p
    of$data$g <- utils::type.convert(levels[match(p$data$g, c("a", "b", "c"))], as.is = TRUE)
    if (is.logical(of$data$g)) of$data$g[is.na(of$data$g)] <- FALSE
    start <- covariates_start(of, bounds = c(p$bounds[c("y", "x1")], list(g = levels)))
    fit <- update(start, until(of, 8))
    expect_identical(fit$release$panel$covariates, start$release$panel$covariates)
  }
  expect_identical(other_level(c("2024-01-01", "0")), "1")
  expect_identical(other_level("another"), "not another")
})
