# The release: its requirements, the order of its steps, its print, and its invariances.

every_method <- list(
  c("gram", "tight"), c("output", "tight"), c("output", "published"), c("objective", "tight"),
  c("objective", "published")
)

small_panel <- function(n = 60, T0 = 6, T1 = 2, k = 1) toy_panel(n, T0, T1, k)

# A release or fit of the panel with noise from R's generator.
draw <- function(p, fun = dp_release, ..., epsilon = 1, bounds = c(-1, 1), rng = "R",
                 donors = p$donors, target = p$target, control = dp_control(rng = rng)) {
  fun(donors,
    target = target, T0 = p$T0, epsilon = epsilon, bounds = bounds, control = control, ...
  )
}

printed <- function(x) utils::capture.output(print(x))
statistics_of <- function(x) serialize(x$statistics, NULL)

test_that("an invalid argument of a release causes an error before anything is spent", {
  p <- small_panel()
  ledger <- dp_ledger(5, 1e-6)
  withr::local_seed(1)
  state <- .Random.seed
  expect_refused <- function(class, ...) {
    for (fun in list(dp_release, dp_synth)) {
      arguments <- list(p$donors,
        target = p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), ledger = ledger,
        control = dp_control(rng = "R")
      )
      changed <- list(...)
      arguments[names(changed)] <- changed
      arguments <- Filter(function(a) !identical(a, "absent"), arguments)
      expect_error(do.call(fun, arguments), class = paste0("dpsc_error_", class))
      expect_identical(nrow(as.data.frame(ledger)), 0L)
      expect_identical(.Random.seed, state)
    }
  }
  for (bad in list(0, -1, NA, NaN, -Inf, "1", TRUE, c(1, 2), numeric(), list(1), 1i, "absent")) {
    expect_refused("argument", epsilon = bad)
  }
  for (bad in list(1, -1e-9, NA, 2, "0", c(0, 0), Inf)) expect_refused("argument", delta = bad)
  for (bad in list(
    "absent", 1, c(1, -1), c(0, 0), c(-Inf, 1), c(0, NA), c("a", "b"), c(0, 1, 2),
    matrix(0:1, 3, 2), matrix(0:1, 2, 8), list(0, 1), data.frame(0, 1), -1:1
  )) {
    expect_refused("bounds", bounds = bad)
  }
  for (bad in list("Gram", NA_character_, 1, c("gram", "output"), character())) {
    expect_refused("argument", method = bad)
    expect_refused("argument", calibration = bad)
  }
  for (bad in list(list(), "R", NULL, list(rng = "R"), dp_control)) {
    expect_refused("argument", control = bad)
  }
  for (bad in list(5, list(epsilon = 5), new.env(), "ledger")) {
    expect_refused("argument", ledger = bad)
  }
  for (bad in list("6", NA, 2.5, c(6, 7), Inf)) expect_refused("argument", T0 = bad)
  for (bad in list(0, 1, -1, 8, 100)) expect_refused("panel", T0 = bad)
  expect_refused("argument", T0 = "absent")
  expect_refused("argument", target = "absent")
  expect_refused("panel", target = 1:3)
  expect_refused("panel", times = 1:3)
  expect_refused("argument", epsilom = 1)
  expect_refused("argument", seed = 1)
  expect_refused("argument", epsilon = 1e-15)
  expect_refused("argument", epsilon = 1e-15, delta = 0)
})

test_that("estimators that need the donors' raw data are refused if epsilon is finite", {
  p <- small_panel()
  ledger <- dp_ledger(5, 1e-6)
  for (estimator in c("simplex", "demeaned", "hsvt", "penalised", "predictors", "lasso", NA)) {
    expect_error(draw(p, dp_synth, estimator = estimator, ledger = ledger),
      class = "dpsc_error_argument"
    )
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("dp_release() and dp_synth() refuse misspelt arguments and inputs of unknown class", {
  p <- small_panel()
  long <- list(y ~ treated, p$data, c("unit", "time"), epsilon = 1, bounds = c(-1, 1))
  chunks <- dp_chunks(list(p$donors))
  wide <- list(target = p$target, T0 = 6, epsilon = 1, bounds = c(-1, 1))
  for (fun in list(dp_release, dp_synth)) {
    expect_error(do.call(fun, c(long, methd = "gram")), "methd", class = "dpsc_error_argument")
    expect_error(do.call(fun, c(list(p$donors), wide, bonds = 1)), class = "dpsc_error_argument")
    expect_error(do.call(fun, c(list(chunks), wide, bonds = 1)), class = "dpsc_error_argument")
    for (bad in list(p$data, 1:3, "y ~ x", NULL, list(), mean)) {
      expect_error(fun(bad), class = "dpsc_error_argument")
    }
  }
  release <- draw(p)
  expect_error(dp_synth(release, p$target, epsilon = 1), class = "dpsc_error_argument")
  expect_error(dp_synth(release), class = "dpsc_error_argument")
  expect_error(dp_synth(release, 1:3), class = "dpsc_error_panel")
  expect_error(dp_synth(release, p$target, estimator = "lasso"), class = "dpsc_error_argument")
})

test_that("a release that exceeds its ledger's budget runs no step and changes no charge", {
  p <- small_panel()
  for (method in every_method[1:4]) {
    ledger <- dp_ledger(1.2, 1e-6)
    again <- function() {
      draw(p, method = method[[1L]], calibration = method[[2L]], ledger = ledger, rng = "secure")
    }
    again()
    before <- as.data.frame(ledger)
    expect_identical(nrow(before), 1L)
    ran <- FALSE
    withr::with_seed(1, {
      state <- .Random.seed
      spies <- dpsc:::mechanism_table
      spies$dp_synth <- lapply(spies$dp_synth, function(one) {
        utils::modifyList(one, list(run = function(...) ran <<- TRUE))
      })
      with_internal("mechanism_table", spies, {
        expect_error(again(), class = "dpsc_error_budget")
      })
      expect_identical(.Random.seed, state)
    })
    expect_false(ran)
    expect_identical(as.data.frame(ledger), before)
  }
})

test_that("a ledger refuses releases without a valid guarantee before any noise is drawn", {
  p <- small_panel()
  ledger <- dp_ledger(100, 1e-3)
  for (method in every_method) {
    withr::with_seed(1, {
      state <- .Random.seed
      error <- expect_error(
        draw(p, method = method[[1L]], calibration = method[[2L]], ledger = ledger),
        "only for a release with a valid guarantee", class = "dpsc_error_budget"
      )
      expect_identical(.Random.seed, state)
    })
    expect_match(conditionMessage(error), "Nothing was released and nothing was spent")
  }
  expect_error(
    draw(p,
      method = "objective", calibration = "published", ledger = ledger, rng = "secure"
    ),
    "unbounded", class = "dpsc_error_budget"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("chunks, estimators and bounds that a method cannot use are refused before the charge", {
  p <- small_panel()
  ledger <- dp_ledger(5, 1e-6)
  chunks <- dp_chunks(list(p$donors[1:20, ], p$donors[21:60, ]))
  for (method in c("output", "objective")) {
    expect_error(
      dp_synth(chunks, p$target, p$T0, 1, bounds = c(-1, 1), method = method, ledger = ledger),
      class = "dpsc_error"
    )
    expect_error(draw(p, dp_synth, method = method, estimator = "did", ledger = ledger),
      class = "dpsc_error_argument"
    )
    expect_error(
      draw(p, method = method, calibration = "published", bounds = c(-0.01, 0.01), ledger = ledger),
      class = "dpsc_error_bounds"
    )
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("the charge precedes the draw, so a failure in the draw stays charged", {
  p <- small_panel()
  ledger <- dp_ledger(5, 1e-6)
  reads <- 0
  chunks <- dp_chunks(function(i) {
    reads <<- reads + 1
    if (reads > 1 && nrow(as.data.frame(ledger))) stop("disk")
    p$donors
  }, 1)
  expect_error(dp_synth(chunks, p$target, p$T0, 1, bounds = c(-1, 1), ledger = ledger),
    class = "dpsc_error_panel"
  )
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("chunks that change between two passes cause an error and give no release", {
  p <- small_panel()
  second <- list(
    p$donors[, 1:3], p$donors[1:3, ], rbind(p$donors, p$donors), replace(p$donors, 1, NA),
    replace(p$donors, 1, Inf), "text", as.data.frame(p$donors)
  )
  for (other in second) {
    reads <- 0
    chunks <- dp_chunks(function(i) {
      reads <<- reads + 1
      if (reads > 1) other else p$donors
    }, 1)
    expect_error(dp_synth(chunks, p$target, p$T0, 1, bounds = c(-1, 1)), class = "dpsc_error_panel")
  }
})

test_that("a ledger is charged the cost recorded in the release", {
  p <- small_panel()
  for (method in every_method[1:4]) {
    for (delta in c(0, 1e-6)) {
      ledger <- dp_ledger(1, delta)
      release <- draw(p,
        method = method[[1L]], calibration = method[[2L]], ledger = ledger, delta = delta,
        rng = "secure"
      )
      charged <- as.data.frame(ledger)
      expect_identical(nrow(charged), 1L)
      expect_identical(charged$epsilon, 1)
      steps <- release$privacy$steps
      if (charged$kind == "zcdp") {
        expect_equal(cdp_epsilon(charged$rho, delta), 1, tolerance = 1e-6)
        expect_lte(sum(steps$rho), charged$rho * (1 + 1e-9))
        expect_identical(release$privacy$rho, charged$rho)
      } else if (charged$kind == "gdp") {
        expect_equal(gdp_epsilon_cpp(charged$mu, delta), 1, tolerance = 1e-9)
        expect_lte(sum(steps$mu^2), charged$mu^2 * (1 + 1e-9))
        expect_lte(sum(steps$rho), charged$rho * (1 + 1e-9))
        expect_identical(charged$rho, charged$mu^2 / 2)
      } else if (delta == 0 && !any(is.na(steps$epsilon))) {
        expect_lte(sum(steps$epsilon), 1 + 1e-9)
      }
    }
  }
})

test_that("a release with epsilon = Inf is marked NOT PRIVATE and cannot use a ledger", {
  p <- small_panel()
  for (method in c("gram", "output", "objective")) {
    for (bounds in list(NULL, c(-1, 1))) {
      fit <- draw(p, dp_synth, epsilon = Inf, bounds = bounds, method = method, rng = "secure")
      expect_match(printed(fit), "NOT PRIVATE", all = FALSE)
      expect_match(printed(fit$release), "NOT PRIVATE", all = FALSE)
      expect_match(printed(summary(fit)), "NOT PRIVATE", all = FALSE)
      expect_false(any(grepl("  private: ", c(printed(fit), printed(fit$release)))))
      expect_false(glance(fit)$private)
      expect_false(fit$release$privacy$holds)
    }
    ledger <- dp_ledger(1e6, 1e-6)
    expect_error(draw(p, epsilon = Inf, method = method, ledger = ledger),
      class = "dpsc_error_budget"
    )
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
  expect_error(draw(p, epsilon = Inf, bounds = c(1, -1)), class = "dpsc_error_bounds")
})

test_that("at small and large epsilon every method gives finite effects", {
  p <- small_panel()
  for (method in c("gram", "output", "objective")) {
    # With fewer donors the first call would be refused as uninformative.
    for (epsilon in c(if (method == "gram") 0.1 else 1e-3, 1e3, 1e9)) {
      fit <- withr::with_seed(1, draw(p, dp_synth, epsilon = epsilon, method = method))
      expect_true(all(is.finite(effects(fit))))
    }
  }
})

test_that("prints of a seeded release, fit and summary state NOT PRIVATE because of the seed", {
  p <- small_panel()
  fit <- draw(p, dp_synth)
  for (x in list(fit, fit$release, summary(fit))) {
    expect_match(printed(x), "NOT PRIVATE", all = FALSE)
    expect_match(paste(printed(x), collapse = " "), "reproduced\\s+from its\\s+seed")
  }
  expect_false(glance(fit)$private)
  fit <- draw(p, dp_synth, rng = "secure")
  for (x in list(fit, fit$release, summary(fit))) {
    expect_match(printed(x), "  private: epsilon = 1, delta = 1e-06", fixed = TRUE, all = FALSE)
    expect_false(any(grepl("NOT PRIVATE", printed(x))))
  }
  expect_true(glance(fit)$private)
})

test_that("prints of published objective perturbation give the reason that it is not private", {
  p <- small_panel()
  for (rng in c("secure", "R")) {
    fit <- draw(p, dp_synth, method = "objective", calibration = "published", rng = rng)
    for (x in list(fit, fit$release, summary(fit))) {
      text <- gsub("\\s+", " ", paste(printed(x), collapse = " "))
      expect_match(text, "NOT PRIVATE")
      expect_match(text, "does not hold, because the published proof bounds the gradient")
    }
    expect_false(glance(fit)$private)
  }
})

test_that("prints of each method and calibration with a valid guarantee state the guarantee", {
  p <- small_panel()
  reason <- c(
    "composition of Gaussian differential privacy", "leave-one-out", "Theorem 3.1", "bounded set"
  )
  for (i in 1:4) {
    method <- every_method[[i]]
    fit <- draw(p, dp_synth, rng = "secure", method = method[[1L]], calibration = method[[2L]])
    for (x in list(fit, fit$release, summary(fit))) {
      text <- gsub("\\s+", " ", paste(printed(x), collapse = " "))
      expect_match(text, "private: epsilon = 1, delta = 1e-06")
      expect_match(text, "neighbouring data sets arise by replacing one donor's row", fixed = TRUE)
      expect_match(text, reason[[i]])
    }
    # The noise of gram and of tight output perturbation is integer noise.
    expect_identical(any(grepl("floating point", printed(fit))), i > 2)
  }
  pure <- printed(draw(p, rng = "secure", delta = 0))
  expect_match(pure, "pure differential privacy", all = FALSE)
})

test_that("the lines of a printed release match the snapshot, apart from numbers", {
  p <- small_panel()
  shape <- function(x) {
    text <- sub("^    id [0-9a-f]{32}$", "    id #", printed(x))
    gsub("[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?", "#", text)
  }
  for (method in every_method) {
    release <- draw(p, rng = "secure", method = method[[1L]], calibration = method[[2L]])
    expect_snapshot(writeLines(shape(release)))
    expect_snapshot(writeLines(shape(summary(release))))
  }
})

test_that("in a private release a delta of 1/n or more causes a warning, a smaller delta none", {
  p <- small_panel(n = 50)
  expect_warning(draw(p, delta = 0.02), class = "dpsc_warning_delta")
  expect_warning(draw(p, delta = 0.5, method = "objective"), class = "dpsc_warning_delta")
  expect_no_warning(draw(p, delta = 0.0199))
  expect_no_warning(draw(p, delta = 0))
  expect_no_warning(draw(p, delta = 0.5, epsilon = Inf))
})

test_that("a panel of two donors, two periods before the treatment and one after is released", {
  p <- small_panel(n = 2, T0 = 2, T1 = 1)
  for (method in every_method) {
    for (delta in c(0, 1e-6)) {
      fit <- draw(p, dp_synth,
        method = method[[1L]], calibration = method[[2L]], delta = delta, epsilon = 10
      )
      expect_identical(dim(effects(fit)), c(1L, 1L))
      expect_true(is.finite(effects(fit)))
      expect_output(print(summary(fit)))
    }
    fit <- draw(p, dp_synth, epsilon = Inf, method = method[[1L]], calibration = method[[2L]])
    expect_true(is.finite(effects(fit)))
  }
})

test_that("constant targets, constant donors and values far out of bounds give finite effects", {
  p <- small_panel()
  for (method in c("gram", "output", "objective")) {
    for (donors in list(p$donors, 0 * p$donors, 0 * p$donors + 0.5, 1e6 * p$donors)) {
      for (target in list(p$target, 0 * p$target, 0 * p$target + 0.3)) {
        fit <- draw(p, dp_synth, donors = donors, target = target, method = method)
        expect_true(all(is.finite(effects(fit))))
      }
    }
  }
})

test_that("every method and calibration clips values outside the bounds", {
  p <- small_panel()
  wild <- 2 * p$donors
  clipped <- pmax(pmin(wild, 1), -1)
  expect_gt(sum(wild != clipped), 100)
  for (method in every_method) {
    for (delta in c(0, 1e-6)) {
      statistics <- lapply(list(wild, clipped), function(donors) {
        withr::with_seed(3, statistics_of(draw(p,
          donors = donors, method = method[[1L]], calibration = method[[2L]], delta = delta
        )))
      })
      expect_identical(statistics[[1L]], statistics[[2L]], label = paste(method, collapse = " "))
    }
  }
  # The bounds differ by period.
  bounds <- cbind(-seq(0.3, 1, length.out = 8), seq(0.4, 0.9, length.out = 8))
  clipped <- sweep(sweep(p$donors, 2, bounds[, 1], pmax), 2, bounds[, 2], pmin)
  target <- matrix(0.1 * 1:8 / 8, 1)
  for (method in every_method) {
    releases <- lapply(list(p$donors, clipped), function(donors) {
      withr::with_seed(3, draw(p,
        donors = donors, target = target, bounds = bounds, method = method[[1L]],
        calibration = method[[2L]]
      ))
    })
    expect_identical(releases[[1L]], releases[[2L]], label = paste(method, collapse = " "))
  }
})

test_that("only releases by method gram can be fitted to targets with another pre-period", {
  p <- small_panel(k = 2)
  one <- draw(p, target = p$target[1, ])
  ledger <- dp_ledger(1, 1e-6)
  draw(p, target = p$target[1, ], ledger = ledger, rng = "secure")
  release <- withr::with_seed(2, draw(p, target = p$target[1, ]))
  fit <- withr::with_seed(2, draw(p, dp_synth, target = p$target[1, ]))
  withr::with_seed(1, {
    state <- .Random.seed
    again <- dp_synth(release, p$target[1, ])
    other <- dp_synth(release, p$target[2, ])
    expect_identical(.Random.seed, state)
  })
  expect_identical(effects(again), effects(fit))
  expect_identical(other$release, release)
  expect_false(isTRUE(all.equal(predict(other), predict(fit))))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  for (method in c("output", "objective")) {
    release <- draw(p, target = p$target[1, ], method = method)
    expect_s3_class(dp_synth(release, p$target[1, ]), "dp_synth")
    expect_error(dp_synth(release, p$target[2, ]), class = "dpsc_error_argument")
    # Values after the treatment may differ.
    later <- p$target[1, ] + rep(0:1, c(6, 2))
    expect_equal(unname(effects(dp_synth(release, later))[1, ]),
      unname(effects(dp_synth(release, p$target[1, ]))[1, ]) + 1
    )
  }
})

test_that("several treated units share one release", {
  p <- small_panel(k = 3)
  ledger <- dp_ledger(1, 1e-6)
  draw(p, dp_synth, ledger = ledger, rng = "secure", protect = "donors")
  fit <- withr::with_seed(1, draw(p, dp_synth, protect = "donors"))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_identical(rownames(effects(fit_view(fit, "unit"))), rownames(p$target))
  expect_identical(rownames(effects(fit)), "mean of 3 treated units")
  long <- withr::with_seed(1, dp_synth(y ~ treated, p$data, c("unit", "time"), 1,
    bounds = c(-1, 1), control = dp_control(rng = "R"), protect = "donors"
  ))
  expect_equal(unname(effects(long)), unname(effects(fit)))
  expect_identical(statistics_of(long$release), statistics_of(fit$release))
  expect_identical(
    unique(tidy(fit, type = "unit")$target), c("target01", "target02", "target03")
  )
  # Methods "output" and "objective" use the group's mean.
  fit <- draw(p, dp_synth, method = "output", protect = "donors")
  expect_identical(dim(effects(fit)), c(1L, 2L))
  expect_output(print(fit), "mean of 3 treated units")
})

test_that("integer and double outcomes give the same release", {
  p <- small_panel()
  donors <- matrix(as.integer(round(100 * p$donors)), 60)
  doubles <- donors + 0
  for (method in every_method) {
    releases <- lapply(list(donors, doubles), function(x) {
      withr::with_seed(4, draw(p,
        donors = x, target = round(100 * p$target), bounds = c(-100L, 100L),
        method = method[[1L]], calibration = method[[2L]]
      ))
    })
    expect_identical(releases[[1L]], releases[[2L]])
  }
})

test_that("chunks in different sizes and orders give the statistics of one matrix, bit for bit", {
  p <- small_panel(n = 301)
  for (delta in c(0, 1e-6)) {
    whole <- withr::with_seed(4, draw(p, delta = delta))
    splits <- list(
      list(1:301), list(1:100, 101:301), as.list(1:301), list(301:2, 1), list(150:1, 301:151)
    )
    for (split in splits) {
      chunks <- dp_chunks(lapply(split, function(rows) p$donors[rows, , drop = FALSE]))
      release <- withr::with_seed(4, draw(p, donors = chunks, delta = delta))
      expect_identical(statistics_of(release), statistics_of(whole))
      expect_identical(release$privacy, whole$privacy)
    }
    read <- dp_chunks(function(i) p$donors[seq(i, 301, by = 7), ], 7)
    release <- withr::with_seed(4, draw(p, donors = read, delta = delta))
    expect_identical(statistics_of(release), statistics_of(whole))
  }
})

test_that("dp_chunks() refuses arguments other than a list of blocks or a reader with a count", {
  p <- small_panel()
  for (bad in list(p$donors, p$data, list(), NULL, 1, "file")) {
    expect_error(dp_chunks(bad), class = "dpsc_error_argument")
  }
  expect_error(dp_chunks(function(i) i), class = "dpsc_error_argument")
  expect_error(dp_chunks(function(i) i, 0), class = "dpsc_error_argument")
  expect_error(dp_chunks(list(p$donors), 1), class = "dpsc_error_argument")
  fit <- function(...) draw(p, donors = dp_chunks(list(...)))
  expect_error(fit(p$donors, p$donors[, -1]), class = "dpsc_error_panel")
  expect_error(fit(p$donors, NULL), class = "dpsc_error_panel")
  expect_error(fit(p$donors, p$data), class = "dpsc_error_panel")
  expect_error(fit(p$donors[0, ]), class = "dpsc_error_panel")
  expect_error(fit(p$donors[0, ], p$donors[1, , drop = FALSE]), class = "dpsc_error_panel")
  expect_s3_class(fit(p$donors[0, ], p$donors), "dp_release")
  expect_output(print(dp_chunks(list(p$donors, p$donors))), "2 blocks")
})

test_that("the order of the rows of long data does not change the release", {
  p <- small_panel()
  shuffled <- p$data[rev(seq_len(nrow(p$data))), ]
  sorted <- p$data[order(p$data$unit, p$data$time), ]
  for (method in every_method) {
    releases <- lapply(list(p$data, shuffled, sorted), function(data) {
      withr::with_seed(5, dp_release(y ~ treated, data, c("unit", "time"), 1,
        bounds = c(-1, 1), method = method[[1L]], calibration = method[[2L]],
        control = dp_control(rng = "R")
      ))
    })
    expect_identical(releases[[2L]], releases[[1L]])
    expect_identical(releases[[3L]], releases[[1L]])
  }
})

test_that("secure noise leaves R's generator unchanged; noise from R's generator advances it", {
  p <- small_panel()
  withr::local_seed(6)
  state <- .Random.seed
  for (method in every_method) {
    a <- draw(p, rng = "secure", method = method[[1L]], calibration = method[[2L]])
    b <- draw(p, rng = "secure", method = method[[1L]], calibration = method[[2L]])
    expect_identical(.Random.seed, state)
    expect_false(identical(a$statistics, b$statistics))
  }
  first <- draw(p)
  expect_false(identical(.Random.seed, state))
  expect_false(identical(draw(p)$statistics, first$statistics))
})

test_that("a target mostly outside the bounds is refused, and a target partly outside is fitted", {
  p <- toy_panel(20, 5, 2)
  ledger <- dp_ledger(5, 1e-6)
  for (method in c("gram", "output", "objective")) {
    expect_error(
      dp_release(p$donors,
        target = 1e300 * p$target, T0 = 5, epsilon = 1, bounds = c(-1, 1), method = method,
        ledger = ledger
      ),
      class = "dpsc_error_bounds"
    )
    # Most of the pre-period lies outside the bounds: one or two of five values are inside.
    for (target in list(5 + p$target, replace(5 + p$target, 2, 0), replace(5 + p$target, 1:2, 0))) {
      expect_error(
        dp_synth(p$donors,
          target = target, T0 = 5, epsilon = 1, bounds = c(-1, 1), method = method, ledger = ledger
        ),
        "bounds.*miss the target", class = "dpsc_error_bounds"
      )
    }
    # Values after the treatment contain the effect, so they may be anywhere.
    expect_no_warning(
      dp_synth(p$donors,
        target = replace(p$target, 6:7, 5), T0 = 5, epsilon = 1, bounds = c(-1, 1), method = method
      )
    )
    # The target is public, and donors like it are clipped, so a warning is appropriate.
    expect_warning(
      fit <- dp_synth(p$donors,
        target = replace(p$target, 1:2, 5), T0 = 5, epsilon = 1, bounds = c(-1, 1), method = method
      ),
      class = "dpsc_warning_bounds"
    )
    expect_true(all(is.finite(predict(fit))))
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})
