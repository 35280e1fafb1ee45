# Progress is visible during long calls, and an interrupt leaves ledger and engine in order.

test_that("the progress bar of the outermost call starts after a delay and then disappears", {
  expect_true(start_waiting())
  expect_false(start_waiting())
  tick_waiting(after = 1e6)
  expect_null(waiting$bar)
  tick_waiting(after = 0)
  expect_false(is.null(waiting$bar))
  tick_waiting(after = 0)
  stop_waiting(FALSE)
  expect_false(is.null(waiting$bar))
  stop_waiting(TRUE)
  expect_identical(ls(waiting), character())
  # Nothing is in progress.
  tick_waiting(after = 0)
  expect_identical(ls(waiting), character())
})

test_that("a progress bar changes no random number and disappears after a release or an error", {
  p <- toy_panel(60, 5, 2)
  chunks <- dp_chunks(list(p$donors[1:30, ], p$donors[31:60, ]))
  seeded_release <- function() {
    withr::local_seed(3)
    dp_release(chunks, p$target, 5, 1, bounds = c(-1, 1), control = dp_control(rng = "R"))
  }
  plain <- seeded_release()
  own <- tick_waiting
  with_bar <- with_internal("tick_waiting", function(after) own(after = 0), seeded_release())
  expect_identical(with_bar, plain)
  expect_identical(ls(waiting), character())
  broken <- dp_chunks(function(i) stop("no"), count = 2)
  expect_error(
    dp_release(broken, p$target, 5, 1, bounds = c(-1, 1)), class = "dpsc_error_reader"
  )
  expect_identical(ls(waiting), character())
})

test_that("cancelling at an SQL statement leaves a correct ledger and no temporary table", {
  p <- long_panel(150, 4, 2)
  con <- sqlite_of(p$data)
  people <- data.frame(x = p$data$y, y = p$data$y)
  DBI::dbWriteTable(con, "people", people)
  kept <- function() {
    DBI::dbGetQuery(con, "SELECT name FROM sqlite_temp_master WHERE name LIKE 'dpsc%'")$name
  }
  cancel_at <- function(k, state, own) {
    function(con, text, fetch = FALSE, charged = FALSE, what = "") {
      state$asked <- state$asked + 1L
      state$charged <- charged
      if (state$asked == k) {
        rlang::cnd_signal(structure(class = c("interrupt", "condition"), list()))
        stop("not interrupted")
      }
      own(con, text, fetch, charged, what)
    }
  }
  run <- list(
    panel = function(compute, ledger) {
      seeded(in_sqlite(con, compute = compute, calibrate = TRUE, block = 60),
        ledger = ledger, rng = "secure", protect = "donors"
      )
    },
    people = function(compute, ledger) {
      dp_lm(y ~ x, dp_table(con, "people", compute = compute, block = 500), 4,
        bounds = list(x = c(-1, 1), y = c(-1, 1)), ledger = ledger
      )
    }
  )
  for (kind in names(run)) {
    for (compute in c("here", "database")) {
      seen <- c(before = 0, after = 0)
      all <- list2env(list(asked = 0L, charged = FALSE))
      with_internal("run_sql", cancel_at(Inf, all, run_sql), {
        suppressWarnings(run[[kind]](compute, dp_ledger(9, 1e-5)))
      })
      for (k in unique(round(seq(2, all$asked, length.out = 16)))) {
        ledger <- dp_ledger(9, 1e-5)
        state <- list2env(list(asked = 0L, charged = FALSE))
        outcome <- with_internal("run_sql", cancel_at(k, state, run_sql), {
          tryCatch(
            {
              suppressWarnings(run[[kind]](compute, ledger))
              "done"
            },
            interrupt = function(e) "cancelled"
          )
        })
        if (outcome == "done") next
        label <- paste(kind, compute, k)
        expect_identical(nrow(as.data.frame(ledger)), as.integer(state$charged), label = label)
        expect_identical(kept(), character(), label = label)
        expect_identical(ls(waiting), character(), label = label)
        seen <- seen + c(!state$charged, state$charged)
      }
      expect_gt(seen[["before"]], 0)
      expect_gt(seen[["after"]], 0)
    }
  }
})
