# Workers: sums come from other processes, and one process draws the noise.

local_workers <- function(open, calibrate = TRUE, count = 2L, env = parent.frame()) {
  withr::local_envvar(R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep))
  cluster <- parallel::makeCluster(count)
  withr::defer(parallel::stopCluster(cluster), envir = env)
  list(cluster = cluster, source = dp_workers(cluster, open, calibrate))
}

# A function with separate data, independent of the test.
opener <- function(shards) {
  function(i) shards[[i]]
}

test_that("workers with rows in databases give the release of the data frame, with intervals", {
  skip_on_cran()
  skip_if_not_installed("RSQLite")
  p <- long_panel(300, 5, 2)
  units <- sort(unique(p$data$unit), method = "radix")
  folder <- withr::local_tempdir()
  paths <- file.path(folder, c("north", "south"))
  for (i in 1:2) {
    con <- DBI::dbConnect(RSQLite::SQLite(), paths[[i]])
    DBI::dbWriteTable(con, "panel", p$data[(p$data$unit %in% units[1:150]) == (i == 1), ])
    DBI::dbDisconnect(con)
  }
  open <- function(i) {
    con <- DBI::dbConnect(RSQLite::SQLite(), paths[[i]])
    dpsc::dp_table(con, "panel", c("unit", "week"), compute = "database")
  }
  environment(open) <- list2env(list(paths = paths), parent = globalenv())
  w <- local_workers(open)
  expect_identical(seeded(w$source), seeded(p$data))
})

test_that("workers give the release of pooled rows, but a worker cannot make a release itself", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  p <- long_panel(300, 5, 2)
  donors <- donors_of(p$data)
  shards <- list(donors[1:130, ], dp_chunks(list(donors[131:200, ], donors[201:300, ])))
  release <- function(x) {
    withr::local_seed(5)
    dp_release(x, p$target, 5, epsilon = 1, bounds = c(-1, 1), control = by_seed)
  }
  w <- local_workers(opener(shards))
  reference <- release(donors)
  expect_output(print(w$source), "2 workers")
  expect_identical(release(w$source), reference)
  # A second call gives the same release, also in combination with rows in this process.
  expect_identical(release(w$source), reference)
  p2 <- rbind(donors, donors[1:20, ])
  expect_identical(release(dp_sources(list(w$source, donors[1:20, ]))), release(p2))

  # A worker draws no noise, for any question and any rows.
  tried <- parallel::clusterCall(w$cluster, function(donors, target, people) {
    message_of <- function(code) tryCatch(code, error = function(e) class(e)[[1L]])
    c(
      message_of(dpsc::dp_release(donors, target, 5, epsilon = 1, bounds = c(-1, 1))),
      message_of(dpsc::dp_synth(donors, target, 5, epsilon = 1, bounds = c(-1, 1))),
      message_of(dpsc::dp_lm(b ~ a, people, epsilon = 1, bounds = list(a = c(0, 1), b = c(0, 1))))
    )
  }, donors, p$target, data.frame(a = stats::runif(50), b = stats::runif(50)))
  expect_identical(unlist(tried), rep("dpsc_error_worker", 6))

  # A second coordinator finds the workers busy while the first one uses them.
  ask <- function(token) {
    ask_workers(w$source, "prepare", same_task(w$source, list(
      token = token, design = list(periods = 1:7), grid = NULL, calibrated = FALSE
    )))
  }
  ask("first")
  expect_error(ask("second"), class = "dpsc_error_worker")
  expect_error(release(w$source), class = "dpsc_error_worker")
  expect_error(
    ask_workers(w$source, "ask", same_task(w$source, list(token = "second", question = list()))),
    class = "dpsc_error_worker"
  )
  ask_workers(w$source, "close", same_task(w$source, list(token = "first")))
  expect_identical(release(w$source), reference)
})

test_that("no worker's rows are counted twice, whichever process sums the rows", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  p <- long_panel(200, 5, 2)
  donors <- donors_of(p$data)
  release <- function(x) {
    withr::local_seed(5)
    dp_release(x, p$target, 5, epsilon = 1, bounds = c(-1, 1), control = by_seed)
  }
  reference <- release(donors)
  # Shards of equal size, whose counts do not reveal a fault.
  open <- opener(list(donors[1:100, ], donors[101:200, ]))
  own <- send_tasks
  calls <- 0L
  # The tasks go to their workers in turn, crosswise, or both to one worker.
  orders <- list(1:2, 2:1, c(1L, 1L), c(2L, 2L))
  with_internal("send_tasks", function(cluster, ...) {
    calls <<- calls + 1L
    own(cluster[orders[[1L + calls %% 4L]]], ...)
  }, {
    w <- local_workers(open)
    for (k in 1:3) expect_identical(release(w$source), reference)
  })
  expect_gt(calls, 20)
  with_internal("send_tasks", function(cluster, ...) own(cluster[c(1L, 1L)], ...), {
    ledger <- dp_ledger(3, 1e-6)
    expect_error(
      dp_release(w$source, p$target, 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
      class = "dpsc_error_worker"
    )
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  })
  # A process that stores rows for a later dp_workers() does not answer for an earlier one.
  again <- dp_workers(w$cluster, open, TRUE)
  expect_error(release(w$source), class = "dpsc_error_worker")
  expect_identical(release(again), reference)
})

test_that("workers with rows in memory or in a database give the dp_lm() fit of a data frame", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  skip_if_not_installed("RSQLite")
  withr::local_seed(2)
  people <- data.frame(x = stats::runif(900, -1, 1), g = sample(c("a", "b"), 900, TRUE))
  people$y <- people$x + (people$g == "b") + stats::rnorm(900, 0, 0.3)
  path <- withr::local_tempfile(fileext = ".sqlite")
  con <- DBI::dbConnect(RSQLite::SQLite(), path)
  DBI::dbWriteTable(con, "people", people[501:900, ])
  DBI::dbDisconnect(con)
  open <- function(i) {
    if (i == 1L) {
      return(half)
    }
    con <- DBI::dbConnect(RSQLite::SQLite(), path)
    dpsc::dp_table(con, "people", compute = "database")
  }
  environment(open) <- list2env(list(half = people[1:500, ], path = path), parent = globalenv())
  w <- local_workers(open, calibrate = FALSE)
  fit <- function(data, formula = y ~ x + g, epsilon = 2) {
    withr::local_seed(6)
    dp_lm(formula, data,
      epsilon = epsilon, bounds = list(y = c(-4, 4), x = c(-1, 1), g = c("a", "b")),
      subset = x > -0.9, control = dp_control(rng = "R")
    )
  }
  reference <- fit(people)
  expect_identical(fit(w$source), reference)
  # After a failure of one worker no worker remains busy.
  expect_error(fit(w$source, exp(y) ~ x), class = "dpsc_error_argument")
  expect_error(fit(w$source, epsilon = Inf), class = "dpsc_error_argument")
  expect_identical(fit(w$source), reference)
  twice <- rbind(people, people[1:50, ])
  expect_identical(fit(dp_sources(list(w$source, people[1:50, ]))), fit(twice))
})

test_that("donors' rows leave workers only if the user permits it", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  p <- long_panel(300, 5, 2)
  donors <- donors_of(p$data)
  w <- local_workers(opener(list(donors[1:150, ], donors[151:300, ])), calibrate = FALSE)
  fit <- function(x, intervals) {
    withr::local_seed(6)
    dp_release(x, p$target, 5,
      epsilon = 2, bounds = c(-1, 1),
      control = dp_control(rng = "R", intervals = intervals)
    )
  }
  expect_error(fit(w$source, TRUE), class = "dpsc_error_argument")
  expect_identical(fit(w$source, FALSE), fit(donors, FALSE))
})

test_that("a failing worker reveals nothing about its rows, and the charge remains", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  p <- long_panel(200, 5, 2)
  donors <- donors_of(p$data)
  half <- donors[1:100, ]
  open <- function(i) {
    reads <- 0L
    dpsc::dp_chunks(function(block) {
      reads <<- reads + 1L
      if (i == 2 && reads > 3L) stop("secret-row")
      half
    }, 1)
  }
  environment(open) <- list2env(list(half = half), parent = globalenv())
  w <- local_workers(open)
  ledger <- dp_ledger(3, 1e-6)
  error <- tryCatch(
    dp_release(w$source, p$target, 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
    error = identity
  )
  expect_s3_class(error, "dpsc_error_worker")
  expect_match(conditionMessage(error), "stays spent")
  expect_no_match(conditionMessage(error), "secret")
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(local_workers(function(i) stop("secret")), class = "dpsc_error_worker")
  expect_error(local_workers(function(i) "a table"), class = "dpsc_error_argument")
  expect_error(dp_workers(3, identity), class = "dpsc_error_argument")
})

test_that("a worker's chunks that change between two reads, or contain gaps, stop a release", {
  # Plants faults 104.
  skip_on_cran()
  skip_if_not_installed("parallel")
  p <- long_panel(200, 5, 2)
  donors <- donors_of(p$data)
  # In each read the first row differs; with `late` the second block only has a gap.
  open <- function(i) {
    reads <- 0L
    dpsc::dp_chunks(function(block) {
      reads <<- reads + 1L
      out <- half
      if (late) {
        if (block == 2L) out[3L, 2L] <- NA
      } else {
        out[1L, ] <- reads %% 3L - 1
      }
      out
    }, count = 2)
  }
  for (late in c(FALSE, TRUE)) {
    environment(open) <- list2env(list(half = donors[1:100, ], late = late), parent = globalenv())
    w <- local_workers(open, count = 1L)
    ledger <- dp_ledger(3, 1e-6)
    error <- tryCatch(
      dp_release(w$source, p$target, 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
      error = identity
    )
    expect_s3_class(error, c("dpsc_error_panel", "dpsc_error_worker"), exact = FALSE)
    expect_match(conditionMessage(error), if (late) "missing|finite" else "changed between two")
    expect_identical(inherits(error, "dpsc_error_reader"), !late)
    # As for chunks in this process, the second pass comes after the charge.
    expect_identical(nrow(as.data.frame(ledger)), as.integer(!late))
  }
})

test_that("after an interrupted call on a cluster, its stale answers are refused before a charge", {
  # Plants faults 105.
  skip_on_cran()
  skip_if_not_installed("parallel")
  withr::local_seed(2)
  rows <- data.frame(x = stats::runif(800))
  rows$y <- rows$x
  w <- local_workers(opener(list(rows[1:400, ], rows[401:800, ])), calibrate = FALSE)
  ledger <- dp_ledger(100, 1e-6)
  fit <- function() {
    dp_lm(y ~ x, w$source, epsilon = 0.5, bounds = list(x = c(0, 1), y = c(0, 1)),
      ledger = ledger)
  }
  # The answers that an interrupted call leaves in the sockets.
  leave <- function(...) parallel:::sendCall(w$cluster[[1L]], ...)
  leave(identity, list(1))
  for (k in 1:3) expect_error(fit(), class = "dpsc_error_worker")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # These stale answers are answers to another call of this package.
  w <- local_workers(opener(list(rows[1:400, ], rows[401:800, ])), calibrate = FALSE)
  leave(dpsc:::worker_task, list(
    list(), task = "open", opening = w$source$opening, call = "earlier"
  ))
  for (k in 1:3) {
    expect_error(fit(), "earlier call, which was interrupted", class = "dpsc_error_worker")
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("an unclassed failure of a source after the charge is classed and hides its text", {
  skip_on_cran()
  skip_if_not_installed("parallel")
  withr::local_seed(2)
  rows <- data.frame(x = stats::runif(800))
  rows$y <- rows$x
  w <- local_workers(opener(list(rows[1:400, ], rows[401:800, ])), calibrate = FALSE)
  ledger <- dp_ledger(100, 1e-6)
  error <- with_internal("add_sums", function(...) stop("secret"), tryCatch(
    dp_lm(y ~ x, w$source, epsilon = 0.5, bounds = list(x = c(0, 1), y = c(0, 1)),
      ledger = ledger),
    error = identity
  ))
  expect_s3_class(error, "dpsc_error_engine")
  expect_match(conditionMessage(error), "stays spent")
  expect_no_match(conditionMessage(error), "secret")
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})
