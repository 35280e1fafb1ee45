# Readers of chunks: the conditions that they signal, and rows that change between two passes.

chunk_fit <- function(chunks, ledger = NULL, epsilon = 1, fun = dp_release) {
  p <- toy_panel(12, 5, 2)
  fun(chunks, p$target, p$T0, epsilon = epsilon, bounds = c(-1, 1), ledger = ledger)
}

# A reader of two blocks that returns `other` instead of block 2 at the k-th reading of block 2.
changing <- function(k, other) {
  donors <- toy_panel(12, 5, 2)$donors
  reads <- 0L
  dp_chunks(function(i) {
    if (i == 1) {
      return(donors[1:6, ])
    }
    reads <<- reads + 1L
    if (reads >= k) other(donors[7:12, ]) else donors[7:12, ]
  }, 2)
}

changes <- list(
  function(x) -x, function(x) x[6:1, ], function(x) x[, 7:1],
  function(x) replace(x, 1, x[[1]] + 1e-12),
  function(x) replace(x, 1, NA), function(x) x[1:5, ], function(x) x > 0, function(x) format(x),
  function(x) as.data.frame(x), function(x) stop("gone"), function(x) NULL
)

test_that("rows that change after the first pass are detected, and the error reports the charge", {
  # Plants faults 60.
  reads <- 0L
  donors <- toy_panel(12, 5, 2)$donors
  chunk_fit(dp_chunks(function(i) {
    reads <<- reads + (i == 2)
    donors[seq(6 * i - 5, 6 * i), ]
  }, 2), dp_ledger(5, 1e-6))
  expect_gte(reads, 3)
  for (other in changes) {
    for (k in 2:reads) {
      ledger <- dp_ledger(5, 1e-6)
      release <- NULL
      error <- tryCatch(release <- chunk_fit(changing(k, other), ledger), error = identity)
      expect_s3_class(error, c("dpsc_error_reader", "dpsc_error_panel", "dpsc_error"))
      expect_match(conditionMessage(error), "stays spent", label = deparse(other))
      expect_match(conditionMessage(error), "^Block 2")
      expect_null(release)
      expect_identical(nrow(as.data.frame(ledger)), 1L)
    }
  }
})

test_that("errors of a reader before the charge, or without privacy, report no spending", {
  ledger <- dp_ledger(5, 1e-6)
  for (other in changes[c(5, 7:11)]) {
    error <- tryCatch(chunk_fit(changing(1, other), ledger), error = identity)
    expect_s3_class(error, "dpsc_error_panel")
    expect_match(conditionMessage(error), "nothing was spent")
    expect_no_match(sub("nothing was spent", "", conditionMessage(error)), "spent")
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  error <- tryCatch(chunk_fit(changing(2, function(x) -x), epsilon = Inf), error = identity)
  expect_s3_class(error, "dpsc_error_reader")
  expect_no_match(sub("nothing was spent", "", conditionMessage(error)), "spent")
})

test_that("a block of donors that changes between two passes is not used", {
  used <- 0L
  statistic <- function(block) {
    force(block)
    used <<- used + 1L
    list(sum = sum(block))
  }
  chunks <- changing(2, function(x) -x)
  p <- toy_panel(12, 5, 2)
  panel <- panel_from_donors(chunks, p$target, p$T0)
  expect_error(sum_over_donors(panel$donors, statistic), class = "dpsc_error_reader")
  expect_identical(used, 1L)
})

test_that("rows with equal values in another storage type count as unchanged", {
  donors <- matrix(rep_len(c(-1L, 0L, 1L), 84), 12)
  reads <- 0L
  chunks <- dp_chunks(function(i) {
    reads <<- reads + 1L
    block <- donors[if (i == 1) 1:6 else 7:12, ]
    if (reads %% 2L == 0L) storage.mode(block) <- "double"
    block
  }, 2)
  p <- toy_panel(12, 5, 2)
  chunks <- panel_from_donors(chunks, p$target, p$T0)$donors
  again <- lapply(c(1, 2, 1, 1, 2), function(i) read_block(chunks, i))
  expect_equal(again[[2L]], donors[7:12, ])
  # Names appear or disappear between passes.
  expect_identical(unname(again[[1L]]), donors[1:6, ] + 0L)
})

test_that("warnings and messages from a user's reader of chunks are not passed on", {
  p <- canary_panel()
  loud <- dp_chunks(function(i) {
    warning(paste(p$donors[i, ], collapse = " "))
    message(paste(p$donors[i, ], collapse = " "))
    rlang::inform(rownames(p$donors)[[i]])
    p$donors[20 * (i - 1) + 1:20, ]
  }, 2)
  conditions <- canary_conditions(
    fit <- dp_synth(loud, p$target, p$T0, epsilon = 1, bounds = p$bounds)
  )
  expect_length(conditions, 0L)
  said <- utils::capture.output(
    invisible(dp_synth(loud, p$target, p$T0, epsilon = 1, bounds = p$bounds)),
    type = "message"
  )
  expect_identical(said, character())
  expect_s3_class(fit, "dp_synth")
})
