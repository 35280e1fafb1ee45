# Several rows of one person in blocks: attacks on proofs/person.md, section 4.

block_people <- function(n = 600, most = 5, seed = 3) {
  withr::local_seed(seed)
  id <- rep(seq_len(n), sample(seq_len(most), n, TRUE))
  out <- data.frame(
    id = id, a = stats::runif(n, -1, 1)[id], b = stats::runif(length(id), -1, 1),
    e = stats::runif(length(id), -1, 1)
  )
  out$y <- pmin(pmax(0.8 * out$a - 0.5 * out$b + stats::rnorm(length(id), sd = 0.1), -1), 1)
  out
}

block_bounds <- list(y = c(-1, 1), a = c(-1, 1), b = c(-1, 1), e = c(-1, 1))

blocks_select <- function(data, ..., epsilon = 2) {
  force(data)
  withr::local_seed(5)
  dp_select(y ~ a + b + e, data,
    epsilon = epsilon, size = 2, bounds = block_bounds, control = dp_control(rng = "R"), ...
  )
}

blocks_aggregate <- function(data, statistic = function(x) mean(x$a), ...) {
  force(data)
  withr::local_seed(5)
  dp_aggregate(data, statistic,
    epsilon = 4, lower = -1, upper = 1, fallback = 1, control = dp_control(rng = "R"), ...
  )
}

test_that("in dp_aggregate() all rows of a person are in one block and in one half of that block", {
  data <- block_people(200)
  data <- data[withr::with_seed(2, sample(nrow(data))), ]
  whole <- as.vector(table(data$id))
  seen <- list()
  statistic <- function(rows) {
    seen[[length(seen) + 1L]] <<- rows
    0
  }
  fit <- blocks_aggregate(data, statistic, blocks = 20, person = ~id, method = "mean")
  expect_identical(fit$nobs, 200L)
  for (rows in seen) expect_identical(as.vector(table(rows$id)), whole[sort(unique(rows$id))])
  # There are 20 blocks of 10 people, and both halves of each block.
  people <- vapply(seen, function(rows) length(unique(rows$id)), 0L)
  expect_identical(as.vector(table(people)), c(40L, 20L))
})

test_that("with one row per person `person` changes no dp_aggregate() release and no selection", {
  data <- block_people(most = 1)
  for (method in c("mean", "median", "winsorised")) {
    expect_identical(
      blocks_aggregate(data, method = method, person = ~id)$release,
      blocks_aggregate(data, method = method)$release
    )
  }
  for (method in c("ranks", "votes", "blocks", "subsamples")) {
    epsilon <- if (method == "subsamples") 60 else 4
    plain <- blocks_select(data, method = method, refit = FALSE, epsilon = epsilon)
    by_person <- blocks_select(data, method = method, person = ~id, epsilon = epsilon)
    expect_identical(by_person$selected, plain$selected)
  }
  # A person whose rows are all repeated k times has the same votes as before.
  several <- block_people()
  again <- several[rep(seq_len(nrow(several)), each = 3), ]
  for (method in c("ranks", "votes")) {
    picked <- function(data) blocks_select(data, method = method, person = ~id)$selected
    expect_identical(picked(again), picked(several))
  }
  expect_identical(blocks_select(several, person = ~id)$method, "ranks")
})

# The values of a selection by ranks before noise, with one random circle for all data.
rank_values <- function(data, person, epsilon = 50) {
  calls <- dpsc:::record_and_replay(
    dpsc:::as_hooked(audit_mechanism(function(people, control) {
      dp_select(y ~ a + b + k, people,
        epsilon = epsilon, size = 3, method = "ranks", refit = FALSE, person = person,
        bounds = c(block_bounds[1:3], list(k = c(FALSE, TRUE))), control = control
      )
    })), data$here, data$there
  )
  list(
    here = lapply(calls, `[[`, "value"), there = lapply(calls, function(call) call$other$value),
    calls = calls
  )
}

test_that("with one row per person `person` does not change rank correlations, even with a gap", {
  data <- block_people(300, most = 1)
  data$k <- data$b + data$e > 0
  data$a[7] <- NA
  both <- list(here = data, there = data)
  with_person <- withr::with_seed(4, rank_values(both, ~id))
  without <- withr::with_seed(4, rank_values(both, NULL))
  labels <- function(x) vapply(x$calls, `[[`, "", "label")
  expect_identical(labels(with_person), labels(without))
  # Medians and scales count in fractions of a person. All other values are the same whole numbers.
  same <- !grepl("median|scale", labels(without))
  expect_gt(sum(same), 4)
  expect_identical(with_person$here[same], without$here[same])
})

test_that("several rows of a person change a selection by ranks no more than one row does", {
  withr::local_seed(21)
  others <- block_people(60, most = 3)
  others$id <- others$id + 10
  others$k <- others$b + others$e > 0
  hostile <- function(rows) {
    corner <- function() sample(c(-1, 1, NA, 0.4), rows, TRUE, c(5, 5, 1, 1))
    data.frame(id = 1, a = corner(), b = corner(), e = 0, y = corner(),
      k = sample(c(TRUE, FALSE), rows, TRUE))
  }
  for (epsilon in c(4, 60)) {
    verb <- audit_mechanism(function(people, control) {
      dp_select(y ~ a + b + k, people,
        epsilon = epsilon, size = 3, refit = FALSE, person = ~id, control = control,
        bounds = c(block_bounds[1:3], list(k = c(FALSE, TRUE)))
      )
    })
    reached <- 0
    for (i in 1:12) {
      sizes <- sample(c(1, 1, 2, 5, 40), 2)
      audit <- dp_audit(verb, rbind(hostile(sizes[[1]]), others),
        rbind(hostile(sizes[[2]]), others), n_runs = 1, mode = "replay"
      )
      expect_false(audit$violated)
      reached <- max(reached, audit$table$ratio)
    }
    expect_gt(reached, 0.2)
  }
})

test_that("an audit detects a selection by ranks that takes a person's rows for different people", {
  withr::local_seed(22)
  others <- block_people(60, most = 1)
  one <- data.frame(id = 1, a = rep(1, 20), b = 1, e = 0, y = 1)
  verb <- audit_mechanism(function(people, control) {
    dp_select(y ~ a + b + e, people,
      epsilon = 4, size = 1, method = "ranks", refit = FALSE, bounds = block_bounds,
      control = control
    )
  })
  audit <- dp_audit(verb, rbind(one, others), rbind(transform(one, a = -1), others),
    n_runs = 1, mode = "replay"
  )
  expect_true(audit$violated)
})

test_that("audits of methods by blocks find no loss above the budget for a person's many rows", {
  withr::local_seed(12)
  others <- block_people(300, most = 3)
  others$id <- others$id + 10
  hostile <- function(rows) {
    corner <- function() sample(c(-1, 1, NA), rows, TRUE)
    data.frame(id = 1, a = corner(), b = corner(), e = corner(), y = corner())
  }
  verbs <- list(
    mean = function(people, control) {
      dp_aggregate(people, function(x) max(x$a, na.rm = TRUE),
        epsilon = 4, lower = -1, upper = 1, blocks = 20, method = "mean", person = ~id,
        control = control
      )
    },
    winsorised = function(people, control) {
      dp_aggregate(people, function(x) nrow(x),
        epsilon = 4, lower = 0, upper = 100, blocks = 20, person = ~id, control = control
      )
    },
    votes = function(people, control) {
      dp_select(y ~ a + b + e, people,
        epsilon = 4, size = 1, bounds = block_bounds, method = "votes", person = ~id,
        control = control
      )
    },
    blocks = function(people, control) {
      dp_select(y ~ a + b + e, people,
        epsilon = 4, size = 1, bounds = block_bounds, method = "blocks", person = ~id,
        control = control
      )
    }
  )
  for (verb in verbs) {
    for (i in 1:4) {
      sizes <- sample(c(1, 2, 60), 2)
      audit <- dp_audit(audit_mechanism(verb), rbind(hostile(sizes[[1]]), others),
        rbind(hostile(sizes[[2]]), others), n_runs = 1, mode = "replay"
      )
      expect_false(audit$violated)
    }
  }
})

test_that("an audit detects a person whose rows are in several blocks", {
  withr::local_seed(12)
  others <- block_people(300, most = 3)
  many <- others[rep(1, 60), ]
  verb <- function(people, control) {
    dp_aggregate(people, function(x) 2 * any(x$a >= 1) - 1,
      epsilon = 4, lower = -1, upper = 1, blocks = 20, method = "mean", control = control
    )
  }
  audit <- dp_audit(audit_mechanism(verb), rbind(transform(many, a = 1), others),
    rbind(transform(many, a = -1), others), n_runs = 1, mode = "replay"
  )
  expect_true(audit$violated)
})

test_that("methods without a proof for several rows per person are refused before the charge", {
  ledger <- dp_ledger(epsilon = 50, delta = 1e-5)
  data <- block_people(200)
  select <- function(...) {
    dp_select(y ~ a + b + e, data,
      epsilon = 2, size = 1, bounds = block_bounds, person = ~id, ledger = ledger, ...
    )
  }
  able <- c("ranks", "votes", "blocks", "subsamples")
  for (method in setdiff(names(mechanism_table$dp_select), able)) {
    expect_error(select(method = method), class = "dpsc_error_argument")
  }
  expect_error(select(refit = TRUE), "refit = FALSE", class = "dpsc_error_argument")
  data <- transform(data, id = 1)
  expect_error(select(), "at least two people", class = "dpsc_error_data")
  data <- block_people(200)
  expect_error(
    dp_aggregate(as.matrix(data), mean,
      lower = 0, upper = 1, epsilon = 1, person = ~id, ledger = ledger
    ),
    class = "dpsc_error_data"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # If none of a person's rows counts, the person's answer is treated like any other.
  gone <- transform(data, y = NA_real_)
  expect_identical(blocks_select(gone, person = ~id)$facts$n, 200L)
  for (fit in list(blocks_select(data, person = ~id), blocks_aggregate(data, person = ~id))) {
    file <- withr::local_tempfile(fileext = ".json")
    write_release(fit, file, allow_not_private = TRUE)
    expect_identical(read_release(file)$privacy$neighbours, fit$privacy$neighbours)
    expect_match(fit$privacy$neighbours, "all rows of one person")
  }
  declared <- blocks_aggregate(data, person = "row")
  expect_match(declared$privacy$neighbours, "as declared")
})

test_that("rank correlations between people are means over all pairs of their rows", {
  withr::local_seed(23)
  for (run in 1:5) {
    rows <- sample(1:4, 5, TRUE)
    who <- rep(1:5, rows)
    table <- matrix(sample(c(-1, -0.3, 0, 0.5, 1), 3 * length(who), TRUE), ncol = 3)
    recorder <- dpsc:::new_recorder()
    recorder$start("record")
    dpsc:::select_ranks_cpp(table, c(TRUE, TRUE, TRUE), list(
      size = 1, exponent = 1, rho_step = 1, location = 0, locate_picks = FALSE, steps = FALSE,
      centred = FALSE, rows = rows
    ), recorder$noise)
    recorder$collect()
    # With five people all pairs are in the circle, in both orders.
    known <- vapply(1:2, function(j) {
      pair <- function(i, k) {
        signs <- outer(table[who == i, j], table[who == k, j], function(a, b) sign(a - b)) *
          outer(table[who == i, 3], table[who == k, 3], function(a, b) sign(a - b))
        round(2^20 * mean(signs))
      }
      sum(vapply(1:5, function(i) sum(vapply(setdiff(1:5, i), pair, 0, i = i)), 0))
    }, 0)
    expect_equal(recorder$calls[[1L]]$value, 5 * 2 * 4 * 2^20 - abs(known), tolerance = 1e-12)
  }
})
