# Noise passed in by an audit. It records or replays every draw of a verb, can be used in this audit
# only, and makes no release that counts as private.

people_of <- function(n = 400) {
  withr::local_seed(3)
  data <- data.frame(a = stats::runif(n, -1, 1), b = stats::runif(n, -1, 1))
  data$y <- pmin(pmax(data$a / 2 + stats::rnorm(n) / 4, -1), 1)
  data$on <- as.integer(stats::runif(n) < stats::plogis(2 * data$a))
  data
}

handed_bounds <- list(y = c(-1, 1), a = c(-1, 1), b = c(-1, 1))

# Fits that draw noise, as functions of people and control.
drawing_fits <- function() {
  bounds <- handed_bounds
  coded <- list(on = c(0, 1), a = c(-1, 1), b = c(-1, 1))
  select <- function(method, ..., epsilon = 2) {
    function(people, control) {
      dp_select(y ~ a + b, people,
        epsilon = epsilon, size = 1, bounds = bounds, method = method, refit = FALSE,
        control = control, ...
      )
    }
  }
  glm_by <- function(method, delta = 1e-6) {
    function(people, control) {
      dp_glm(on ~ a + b, people,
        epsilon = 4, delta = delta, bounds = coded, method = method, control = control
      )
    }
  }
  list(
    lm = function(people, control) {
      dp_lm(y ~ a + b, people, epsilon = 2, bounds = bounds, control = control)
    },
    posterior = function(people, control) {
      dp_lm(y ~ a + b, people, epsilon = 2, bounds = bounds, method = "ops", control = control)
    },
    adaptive = function(people, control) {
      dp_lm(y ~ a + b, people,
        epsilon = 2, bounds = bounds, method = "adaops", control = control
      )
    },
    glm = glm_by("objective"), offset = function(people, control) {
      dp_glm(on ~ a, people,
        epsilon = 4, bounds = coded, offset = ~ I(20 * b), control = control
      )
    },
    weighted = function(people, control) {
      dp_glm(on ~ a, people,
        epsilon = 4, bounds = coded, weights = abs(b), max_weight = 1, control = control
      )
    },
    output = glm_by("output"), kst = glm_by("kst"), box = function(people, control) {
      dp_glm(y ~ a + b, people, "gaussian",
        epsilon = 4, bounds = bounds, method = "kst", settings = list(box = 1e6), control = control
      )
    },
    stages = function(people, control) {
      dp_glm(y ~ a + b, people, "gaussian",
        epsilon = 4, bounds = bounds, method = "napp", control = control
      )
    },
    aggregate = function(people, control) {
      dp_aggregate(people, function(x) mean(x$a),
        epsilon = 4, lower = -1, upper = 1, blocks = 20, control = control
      )
    },
    describe = function(people, control) {
      dp_describe(~ a + y + factor(on), people,
        epsilon = 2, bounds = c(bounds, list(on = c(0, 1))), control = control
      )
    },
    pursuit = select("pursuit"), screening = select("screening"), votes = select("votes"),
    walk = select("frank-wolfe"), exhaustive = select("exhaustive"),
    stability = select("stability", epsilon = 8), lasso = select("lasso", epsilon = 8)
  )
}

# The first person is at one corner of the bounds in the first data set, and at the opposite corner
# in the second.
corner_pair <- function() {
  here <- there <- people_of()
  here[1, ] <- list(-1, 1, 1, 0L)
  there[1, ] <- list(1, -1, -1, 1L)
  list(here, there)
}

replayed <- function(verb, pair = corner_pair(), n_runs = 1) {
  dp_audit(audit_mechanism(verb), pair[[1]], pair[[2]], n_runs = n_runs, mode = "replay")
}

test_that("dp_lm(), dp_glm(), dp_select(), dp_aggregate() and dp_describe() pass replay audits", {
  fits <- drawing_fits()
  for (name in names(fits)) {
    audit <- withr::with_seed(6, replayed(fits[[name]]))
    expect_false(audit$violated, label = name)
    expect_gt(nrow(audit$table), 1)
    expect_identical(audit$table$observed[nrow(audit$table)], 0)
  }
})

test_that("dp_online(), dp_stream_sum() and dp_select() with a refit pass replay audits", {
  bounds <- handed_bounds
  verbs <- list(
    refit = function(people, control) {
      dp_select(y ~ a + b, people, epsilon = 2, size = 1, bounds = bounds, control = control)
    },
    gram = function(people, control) {
      dp_select(y ~ a + b, people,
        epsilon = 2, size = 1, bounds = bounds, method = "gram", control = control
      )
    },
    online = function(people, control) {
      update(dp_online(y ~ a + b, 1, horizon = 400, bounds = bounds, control = control), people)
    },
    iterates = function(people, control) {
      update(dp_online(y ~ a + b, 1,
        horizon = 400, bounds = bounds, method = "pgiga", radius = 2, ball = 2, psi = 1,
        control = control
      ), people)
    },
    sum = function(people, control) {
      update(dp_stream_sum(c(-1, 1), 1, horizon = 400, control = control), people$a)
    }
  )
  for (name in names(verbs)) {
    audit <- withr::with_seed(6, replayed(verbs[[name]]))
    expect_false(audit$violated, label = name)
    # The neighbours are as far apart as the bounds allow, so an audit without any difference would
    # be wrong.
    expect_gt(audit$observed$ratio, 0.01)
  }
})

test_that("dp_synth() with chunks, a covariate, two outcomes or update() passes replay audits", {
  panel <- sim_panel(n = 60, T0 = 6, T1 = 2)
  moved <- panel$donors
  moved[1, ] <- rep_len(c(1, -1), ncol(moved))
  pair <- list(panel$donors, moved)
  long <- lapply(pair, function(donors) {
    rows <- rbind(donors, panel$target)
    data.frame(
      unit = sprintf("u%02d", c(row(rows))), time = c(col(rows)), y = c(rows), z = -c(rows),
      on = as.integer(row(rows) == nrow(rows) & col(rows) > 6), age = c(row(rows)) / nrow(rows)
    )
  })
  index <- c("unit", "time")
  bounds <- list(y = c(-1, 1), age = c(0, 1), z = c(-1, 1))
  chunks <- function(donors, control) {
    dp_synth(dp_chunks(list(donors[1:20, ], donors[21:60, ])),
      target = panel$target, T0 = 6, epsilon = 2, bounds = c(-1, 1), control = control
    )
  }
  covariate <- function(data, control) {
    dp_synth(y ~ on | age, data, index, epsilon = 2, bounds = bounds[1:2], control = control)
  }
  outcomes <- function(data, control) {
    dp_synth(cbind(y, z) ~ on, data, index, epsilon = 2, bounds = bounds[-2], control = control)
  }
  updated <- function(donors, control) {
    first <- dp_synth(donors[, 1:7],
      target = panel$target[1:7], T0 = 6, epsilon = 2, bounds = c(-1, 1), monitor = 1,
      control = control
    )
    update(first, donors, target = panel$target)
  }
  expect_false(withr::with_seed(2, replayed(chunks, pair))$violated)
  expect_false(withr::with_seed(2, replayed(covariate, long))$violated)
  expect_false(withr::with_seed(2, replayed(outcomes, long))$violated)
  expect_false(withr::with_seed(2, replayed(updated, pair))$violated)
})

test_that("replay audits detect bounds or methods set by data, missing noise and halved costs", {
  pair <- corner_pair()
  regression <- drawing_fits()$lm
  # The fault is that one person determines the bounds.
  own <- function(people, control) {
    dp_lm(y ~ a, people, epsilon = 2, bounds = list(y = c(-1, 1), a = range(people$a)),
      control = control
    )
  }
  wide <- pair
  wide[[1]]$a[1] <- -7
  expect_true(withr::with_seed(1, replayed(own, wide))$violated)
  # The fault is a number returned without noise.
  beside <- function(people, control) {
    fit <- regression(people, control)
    fit$coefficients[[1]] <- mean(people$y)
    fit
  }
  expect_true(withr::with_seed(1, replayed(beside))$violated)
  # The fault is that only half of the spent budget is recorded.
  half <- function(people, control) {
    fit <- regression(people, control)
    fit$privacy$steps$mu <- fit$privacy$steps$mu / 2
    fit
  }
  expect_true(withr::with_seed(1, replayed(half))$violated)
  # The fault is a method that depends on the people.
  chosen <- function(people, control) {
    if (people$a[[1]] > 0) drawing_fits()$pursuit(people, control) else regression(people, control)
  }
  audit <- withr::with_seed(1, replayed(chosen))
  expect_true(audit$violated)
  expect_match(audit$note, "sequence of noise calls")
})

test_that("noise from an audit works in that audit only and marks the fit as not private", {
  people <- people_of()
  regression <- drawing_fits()$lm
  kept <- NULL
  spy <- function(people, control) {
    kept <<- list(control = control, fit = regression(people, control))
    kept$fit
  }
  expect_false(replayed(spy)$violated)
  expect_false(kept$fit$privacy$holds)
  expect_match(paste(cli::ansi_strip(capture.output(print(kept$fit))), collapse = " "),
    "NOT PRIVATE"
  )
  # Afterwards the noise object is empty and cannot be used.
  expect_error(noise_calls_cpp(kept$control$rng)$calls[[1]])
  ledger <- dp_ledger(1, 1e-6)
  refused <- function(control) {
    expect_error(
      dp_lm(y ~ a, people,
        epsilon = 1, bounds = handed_bounds[c("y", "a")], ledger = ledger, control = control
      ), "audit", class = "dpsc_error_argument"
    )
  }
  refused(kept$control)
  # After saving and reading, the pointer is empty.
  saved <- dp_control()
  saved$rng <- unserialize(serialize(noise_recorder_cpp("R"), NULL))
  refused(saved)
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(dp_control(rng = noise_recorder_cpp("R")), class = "dpsc_error_argument")
  expect_error(write_release(kept$fit, tempfile()), class = "dpsc_error")
})

test_that("a function without `control` is refused, as is an audit without `epsilon` and `mode`", {
  expect_error(audit_mechanism(function(people) 1), "control", class = "dpsc_error_argument")
  verb <- audit_mechanism(drawing_fits()$lm)
  expect_output(print(verb), "makes a private release, to be audited")
  pair <- corner_pair()
  expect_error(dp_audit(verb, pair[[1]], pair[[2]]), class = "dpsc_error_argument")
})
