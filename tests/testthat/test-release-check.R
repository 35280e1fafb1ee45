# Releases from files whose parts contradict each other.

skip_if_not_installed("jsonlite")

doctored <- function(method = "gram", calibration = "tight", epsilon = 1, delta = 1e-6,
                     rng = "secure", bounds = c(-1, 1), change = identity) {
  p <- toy_panel(25, 5, 2)
  withr::local_seed(1)
  release <- dp_release(p$donors,
    target = p$target, T0 = 5, epsilon = epsilon, delta = delta, bounds = bounds, method = method,
    calibration = calibration, control = dp_control(rng = rng)
  )
  path <- withr::local_tempfile(fileext = ".json")
  write_release(change(release), path, allow_not_private = TRUE)
  read_release(path)
}

expect_caught <- function(..., change, regexp = NULL) {
  expect_error(doctored(..., change = change), regexp, class = "dpsc_error_release")
}

edit <- function(part, field, value) {
  function(release) {
    release[[part]][field] <- list(value)
    release
  }
}

every_kind <- list(
  list("gram", "tight", 1e-6), list("gram", "tight", 0), list("output", "tight", 1e-6),
  list("output", "tight", 0), list("output", "published", 1e-6), list("output", "published", 0),
  list("objective", "tight", 1e-6), list("objective", "tight", 0),
  list("objective", "published", 1e-6), list("objective", "published", 0)
)

for_every_kind <- function(run, kinds = every_kind) {
  for (kind in kinds) {
    run(function(...) expect_caught(kind[[1L]], kind[[2L]], delta = kind[[3L]], ...))
  }
}

test_that("unedited releases of every kind can be read", {
  for (kind in every_kind) {
    for (epsilon in c(1e-2, 1, 50)) {
      for (rng in c("secure", "R")) {
        release <- doctored(kind[[1L]], kind[[2L]], epsilon, kind[[3L]], rng)
        expect_null(release_problem(release))
      }
    }
    expect_null(release_problem(doctored(kind[[1L]], kind[[2L]], Inf, kind[[3L]])))
  }
})

test_that("a seeded release whose field `holds` was changed is detected", {
  # Plants faults 61.
  for_every_kind(function(caught) {
    caught(rng = "R", change = function(release) {
      release$privacy$holds <- !release$privacy$holds
      release
    }, regexp = "guarantee in the privacy record")
  }, Filter(function(kind) kind[[2L]] == "tight", every_kind))
  # A false claim about the source of the noise makes the record consistent again, but not the
  # budget.
  expect_caught(rng = "R", change = function(release) {
    release$privacy[c("holds", "epsilon")] <- list(TRUE, 0.1)
    release
  })
})

test_that("edits that falsely claim a valid guarantee or exact noise are detected in a file", {
  # Plants faults 62.
  expect_caught("objective", "published",
    change = edit("privacy", "holds", TRUE), regexp = "guarantee in the privacy record"
  )
  expect_caught("objective", "tight",
    change = edit("privacy", "exact", TRUE), regexp = "guarantee in the privacy record"
  )
  expect_caught("gram",
    epsilon = Inf, change = edit("privacy", "holds", TRUE),
    regexp = "guarantee in the privacy record"
  )
})

test_that("reading a release replaces edited text on its guarantee by the package's text", {
  release <- doctored(change = edit("privacy", "theorem", "perfect secrecy (Shannon, 1949)"))
  expect_match(release$privacy$theorem, "proofs/gram.md")
  release <- doctored("objective", "published", change = edit("privacy", "reason", ""))
  expect_match(release$privacy$reason, "unbounded")
})

test_that("a stated budget below the spent budget is detected, even after further edits", {
  # Plants faults 63.
  for_every_kind(function(caught) {
    caught(change = edit("privacy", "epsilon", 0.5), regexp = "cost")
    caught(change = function(release) {
      release$privacy$epsilon <- 0.5
      if (release$privacy$delta > 0 && !is.na(release$privacy$rho)) {
        release$privacy$rho <- cdp_rho(0.5, release$privacy$delta)
      }
      release
    }, regexp = "cost")
    # The costs of the steps are changed as well, but not the noise.
    caught(change = function(release) {
      if ("gaussian" %in% release$privacy$steps$law) {
        release$privacy$steps$epsilon <- release$privacy$steps$epsilon * 2
      } else {
        release$privacy$epsilon <- 0.5
        release$privacy$steps$epsilon <- release$privacy$steps$epsilon / 2
        release$privacy$steps$rho <- release$privacy$steps$rho / 2
        if (!is.na(release$privacy$rho)) release$privacy$rho <- release$privacy$rho / 2
      }
      release
    }, regexp = "cost")
  })
  composed <- every_kind[c(1, 3)]
  for_every_kind(function(caught) {
    caught(change = edit("privacy", "rho", 1e-3), regexp = "cost")
    caught(change = edit("privacy", "rho", NA_real_), regexp = "cost")
    caught(change = edit("privacy", "delta", 1e-9), regexp = "cost")
  }, composed)
})

test_that("steps with missing noise, missing cost or wrong noise are detected in a file", {
  # Plants faults 64.
  step <- function(column, value) {
    function(release) {
      release$privacy$steps[[column]][1L] <- value
      release
    }
  }
  for_every_kind(function(caught) {
    caught(change = step("law", "none"))
    for (bad in list(0, -1, Inf, NA_real_)) {
      caught(change = step("scale", bad))
      caught(change = step("sensitivity", bad))
    }
    caught(change = function(release) {
      release$privacy$steps[c("epsilon", "rho")] <- NA_real_
      release
    })
    caught(change = function(release) {
      release$privacy$steps <- release$privacy$steps[0L, ]
      release
    })
  })
})

test_that("a file whose estimator assumes other noise than the release's steps is refused", {
  # Plants faults 65.
  for_every_kind(function(caught) {
    for (field in c("weights_variance", "post_variance")) {
      caught(change = edit("settings", field, 0), regexp = "noise")
      caught(change = edit("settings", field, -1))
      caught(change = edit("settings", field, Inf))
      caught(change = edit("settings", field, 1e9), regexp = "noise")
    }
    caught(change = function(release) {
      release$bounds <- lapply(release$bounds, `*`, rep(c(1, 3), c(6, 1)))
      release$bounds$lower[1L] <- -100
      release
    })
    caught(change = edit("panel", "n", 1e6))
  }, Filter(function(kind) kind[[1L]] != "gram" && kind[[3L]] == 0, every_kind))
  expect_caught("output", epsilon = Inf, change = edit("settings", "post_variance", 1))
})

test_that("privacy fields that contradict the kind of a release are detected", {
  expect_caught(epsilon = Inf, change = edit("privacy", "rho", 0.02), regexp = "budget")
  expect_caught(epsilon = Inf, change = edit("privacy", "delta", 1e-6), regexp = "budget")
  private <- doctored("output")
  expect_caught("output", epsilon = Inf, change = function(release) {
    release$privacy <- private$privacy
    release
  })
  expect_caught("output", change = function(release) {
    release$bounds$upper[2L] <- Inf
    release
  }, regexp = "bounds")
  for (bad in c("none", "mine", "")) expect_caught(change = edit("privacy", "rng", bad))
  expect_caught(change = edit("privacy", "neighbours", "replace one value"))
})

test_that("a release by method gram with noise unlike its rounds or steps is detected", {
  # Plants faults 66.
  calibrated <- function(change, delta, regexp = NULL) {
    p <- toy_panel(400, 5, 2)
    withr::local_seed(1)
    release <- dp_release(p$donors,
      target = p$target, T0 = 5, epsilon = 2, delta = delta, bounds = c(-1, 1)
    )
    path <- withr::local_tempfile(fileext = ".json")
    write_release(change(release), path)
    expect_error(read_release(path), regexp, class = "dpsc_error_release")
  }
  statistic <- function(field, factor) {
    function(release) {
      release$statistics[[field]] <- release$statistics[[field]] * factor
      release
    }
  }
  in_round <- function(i, field, value) {
    function(release) {
      release$statistics$rounds[[i]][[field]] <- value(release$statistics$rounds[[i]][[field]])
      release
    }
  }
  for (delta in c(0, 1e-6)) {
    for (field in c("mean_sd", "moment_sd")) {
      for (factor in c(0.5, 1 + 1e-6, 0)) {
        calibrated(statistic(field, factor), delta, "noise")
      }
    }
    for (i in seq_len(if (delta > 0) 3 else 2)) {
      for (field in c("noise", "clipped", "constant")) {
        calibrated(in_round(i, field, function(x) 2 * x), delta, "noise")
      }
    }
    last <- if (delta > 0) 3L else 2L
    calibrated(in_round(last, "radius", function(x) 2 * x), delta, "noise")
    calibrated(function(release) {
      release$panel$n <- 500
      release
    }, delta, "noise")
    # The second moment of the intervals has the noise of its step, and the intervals have five
    # steps.
    calibrated(function(release) {
      release$statistics$intervals$second_sd <- release$statistics$intervals$second_sd / 3
      release
    }, delta, "noise")
    calibrated(function(release) {
      release$statistics$intervals <- NULL
      release
    }, delta, "charged noise steps are missing")
    calibrated(function(release) {
      steps <- release$privacy$steps
      release$privacy$steps <- steps[!grepl("placebo|tail", steps$step), ]
      release
    }, delta, "intervals")
    # A choice has less noise than its stated cost implies.
    calibrated(function(release) {
      release$privacy$steps$scale[5L] <- release$privacy$steps$scale[5L] / 2
      release
    }, delta, "cost")
    calibrated(function(release) {
      release$privacy$epsilon <- 1
      release
    }, delta, "cost")
  }
  calibrated(function(release) {
    release$privacy$steps$mu <- release$privacy$steps$mu / 2
    release
  }, 1e-6, "cost")
  # The noise of the round for the target equals the noise of the last step, and both steps of this
  # round are present.
  in_target <- function(field, factor) {
    function(release) {
      release$statistics$target[[field]] <- release$statistics$target[[field]] * factor
      release
    }
  }
  calibrated(in_target("sd", 0.5), 1e-6, "noise")
  calibrated(in_target("radius", 2), 1e-6, "noise")
  calibrated(in_target("mean", NA), 1e-6, "sizes")
  calibrated(function(release) {
    release$statistics$target <- NULL
    release
  }, 1e-6, "charged noise steps are missing")
  calibrated(function(release) {
    release$privacy$steps <- release$privacy$steps[1:11, ]
    release
  }, 1e-6, "target")
  calibrated(function(release) {
    release$privacy$rho <- release$privacy$rho / 2
    release
  }, 1e-6, "cost")
})

test_that("a private release with raw statistics and a raw release with noise are detected", {
  # Plants faults 67.
  raw <- doctored(epsilon = Inf)
  expect_caught(change = function(release) {
    release$statistics <- raw$statistics
    release
  }, regexp = "without noise")
  expect_caught(change = function(release) {
    release$statistics$leave_one_out <- raw$statistics$leave_one_out
    release
  }, regexp = "without noise")
  private <- doctored()
  expect_caught(epsilon = Inf, change = function(release) {
    release$statistics <- private$statistics
    release
  }, regexp = "reports noise")
  for (field in c("penalty", "n", "rows")) {
    expect_caught(epsilon = Inf, change = function(release) {
      release$statistics$leave_one_out[[field]] <- NULL
      release
    }, regexp = "statistics")
  }
})
