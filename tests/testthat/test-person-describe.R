# Several rows of one person in dp_describe(): attacks on proofs/person.md, section 7.

visit_bounds <- list(
  age = c(0L, 120L), cost = c(0, 1e4), ill = c(FALSE, TRUE), kind = letters[1:3],
  arm = c("new", "old", "other")
)

# Visits of people: rows in several groups, with missing cells.
visits <- function(n = 1200, most = 5, seed = 8) {
  withr::local_seed(seed)
  id <- rep(sample(n), sample(seq_len(most), n, TRUE))
  rows <- length(id)
  out <- data.frame(
    id = id, age = round(stats::runif(n, 18, 90))[id], cost = stats::rgamma(rows, 2, scale = 500),
    ill = stats::runif(rows) < 0.3, kind = sample(letters[1:3], rows, TRUE),
    arm = sample(c("new", "old", "other"), rows, TRUE)
  )
  out$cost[sample(rows, rows / 20)] <- NA
  out$arm[sample(rows, rows / 50)] <- "none"
  out[sample(rows), ]
}

visited <- function(data, ..., formula = ~ age + cost + ill + kind, epsilon = 2, delta = 1e-6,
                    bounds = visit_bounds) {
  force(data)
  withr::local_seed(5)
  dp_describe(formula, data,
    epsilon = epsilon, delta = delta, bounds = bounds, control = dp_control(rng = "R"), ...
  )
}

test_that("one row per person gives the same description as without `person`, bit for bit", {
  data <- visits(most = 1)
  shuffled <- data[withr::with_seed(3, sample(nrow(data))), ]
  few <- visits(400, most = 1)
  few$cost[withr::with_seed(2, stats::runif(400)) < 0.85] <- 0
  for (by in list(NULL, ~arm)) {
    for (delta in c(0, 1e-6)) {
      plain <- visited(data, by = by, delta = delta)
      by_person <- visited(shuffled, by = by, delta = delta, person = ~id)
      expect_identical(by_person$release, plain$release)
      expect_identical(by_person[c("plan", "steps", "nobs")], plain[c("plan", "steps", "nobs")])
      expect_identical(
        visited(few, by = by, delta = delta, formula = ~ cost + ill, person = ~id)$release,
        visited(few, by = by, delta = delta, formula = ~ cost + ill)$release
      )
    }
  }
  declared <- visited(data, person = "row")
  expect_identical(declared$release, visited(data)$release)
  expect_match(declared$privacy$neighbours, "as declared")
})

test_that("repeating all rows k times changes no description, even if people's row counts differ", {
  data <- visits()
  for (by in list(NULL, ~arm)) {
    for (delta in c(0, 1e-6)) {
      once <- visited(data, by = by, delta = delta, person = ~id)
      for (k in c(2, 7)) {
        rows <- withr::with_seed(k, sample(rep(seq_len(nrow(data)), k)))
        expect_identical(
          visited(data[rows, ], by = by, delta = delta, person = ~id)$release, once$release
        )
      }
      expect_identical(once$nobs, 1200L)
      raw <- function(data) tidy(visited(data, by = by, epsilon = Inf, person = ~id))
      expect_equal(raw(data[rows, ]), raw(data))
    }
  }
})

test_that("chunks, tables and files of people's rows give the same description as a data frame", {
  data <- visits(500)
  data <- data[!is.na(data$cost), ]
  data$cost <- round(data$cost, 6)
  known <- visited(data, by = ~arm, person = ~id)
  blocks <- unname(split(data, rep_len(1:4, nrow(data))))
  expect_identical(visited(dp_chunks(blocks), by = ~arm, person = ~id)$release, known$release)
  expect_identical(known$nobs, length(unique(data$id)))
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(data, "people")
  for (block in c(50, 1e5)) {
    here <- dp_table(con, "people", compute = "here", block = block)
    expect_identical(visited(here, by = ~arm, person = ~id)$release, known$release)
  }
  expect_identical(DBI::dbListTables(con), "people")
  skip_if_not_installed("duckdb")
  file <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(data, file, row.names = FALSE)
  expect_identical(visited(dp_files(file), by = ~arm, person = ~id)$release, known$release)
})

# The rows of one person are at the limits of each step.
hostile_visits <- function(rows, arms = c("new", "old", "other", "none")) {
  arms <- sample(arms, sample(length(arms), 1))
  data.frame(
    id = 1e6, age = sample(c(0, 120, NA, 50), rows, TRUE),
    cost = sample(c(0, 1e4, 900, NA), rows, TRUE, c(3, 3, 1, 1)), ill = sample(c(TRUE, FALSE, NA),
      rows, TRUE), kind = sample(c("a", "c", "x"), rows, TRUE), arm = sample(arms, rows, TRUE)
  )
}

test_that("in no step of dp_describe() do several rows of a person cost more than one row", {
  withr::local_seed(12)
  others <- visits(300, most = 3)
  # The number of people is public, so a person without a counting row still has a row.
  gone <- transform(hostile_visits(1), age = NA, cost = NA, ill = NA, kind = "x", arm = "none")
  some <- function(i) {
    if (stats::runif(1) < 0.1) gone else hostile_visits(sample(c(1, 2, 3, 7, 40), 1))
  }
  for (by in list(NULL, ~arm)) {
    for (delta in c(0, 1e-6)) {
      verb <- audit_mechanism(function(people, control) {
        dp_describe(~ age + cost + ill + kind, people,
          by = by, epsilon = 2, delta = delta, bounds = visit_bounds, person = ~id,
          control = control
        )
      })
      reached <- 0
      for (k in 1:10) {
        pair <- lapply(1:2, some)
        audit <- dp_audit(verb, rbind(others, pair[[1]]), rbind(pair[[2]], others),
          n_runs = 1, mode = "replay"
        )
        expect_false(audit$violated)
        reached <- max(reached, audit$table$ratio)
        # The released numbers depend on the people only through the noise.
        expect_identical(utils::tail(audit$table$observed, 1), 0)
      }
      expect_lte(reached, 1)
      expect_gt(reached, 0.4)
    }
  }
})

# The largest ratio of a step's cost to its allowance, for two sets of people with the same noise.
# The choices of a column are one step in all groups together.
described_steps <- function(verb, found, here, there) {
  calls <- dpsc:::record_and_replay(dpsc:::as_hooked(audit_mechanism(verb)), here, there)
  plan <- found$plan
  q <- found$facts$quantiles / 1000
  label <- vapply(calls, `[[`, "", "label")
  base <- sub(" in group [0-9]+$", "", label)
  nth <- stats::ave(seq_along(label), label, FUN = seq_along)
  move <- lapply(calls, function(call) call$other$value - call$value)
  is_choice <- vapply(calls, `[[`, "", "law") == "exponential"
  late <- isTRUE(plan$late) & sub("moments of", "reach of", label) %in% base
  sums <- ifelse(grepl("^levels", label), "table", ifelse(grepl("^sizes", label), "sizes",
    ifelse(late, "after", "moments")))
  size <- if (plan$gaussian) function(x) sqrt(sum(x^2)) else function(x) sum(abs(x))
  out <- vapply(which(!is_choice), function(k) size(move[[k]]) / plan[[sums[[k]]]]$sensitivity, 0)
  names(out) <- sub(" .*", "", label[!is_choice])
  key <- paste(base, ifelse(grepl("^(quantiles|reach)", base) & !plan$gaussian, 0, nth))
  for (at in split(which(is_choice), key[is_choice])) {
    range <- vapply(at, function(k) calls[[k]]$scale[[1L]] * diff(range(move[[k]])), 0)
    of <- sub(" .*", "", base[[at[[1L]]]])
    first <- nth[[at[[1L]]]]
    exponent <- switch(of, reach = plan$tail, plan$exponents[[first]])
    a <- switch(of, reach = 1, quantiles = max(q, 1 - q), max(q[[first]], 1 - q[[first]]))
    if (found$facts$groups < 2) a <- 0
    out <- c(out, stats::setNames(if (plan$gaussian) {
      sum(range^2) / max((2 * exponent)^2, 2 * (2 * exponent * a)^2)
    } else {
      sum(range) / (exponent * max(2, 4 * a))
    }, of))
  }
  tapply(out, names(out), max)
}

test_that("no person changes a step of dp_describe() beyond its sensitivity; some attain 70 %", {
  withr::local_seed(31)
  others <- visits(200, most = 3)
  # Corners of each step, as one row or as several rows.
  corner <- function(arm, high, ...) {
    data.frame(id = 1e6, age = 120 * high, cost = 1e4 * high, ill = high == 1,
      kind = if (high) "a" else "c", arm = arm, ...)
  }
  spread <- function(high) do.call(rbind, lapply(c("new", "old", "other"), corner, high))
  gone <- transform(corner("none", 0), age = NA, cost = NA, ill = NA)
  pairs <- list(
    list(corner("new", 0), corner("old", 1)), list(corner("new", 1), corner("new", 0)),
    list(rbind(corner("new", 0), corner("old", 1)), rbind(corner("new", 1), corner("old", 0))),
    list(spread(1), spread(0)), list(spread(0), corner("new", 1)), list(gone, spread(1)),
    list(gone, corner("old", 1)),
    list(rbind(corner("new", 1), corner("old", 1))[c(1, 1, 2), ], corner("other", 0))
  )
  pairs <- c(pairs, lapply(1:8, function(i) lapply(sample(c(1, 3, 30), 2), hostile_visits)))
  for (by in list(NULL, ~arm)) {
    for (delta in c(0, 1e-6)) {
      call <- function(people, control) {
        dp_describe(~ age + cost + ill + kind, people,
          by = by, epsilon = 8, delta = delta, bounds = visit_bounds, person = ~id,
          control = control
        )
      }
      found <- call(rbind(others, gone), dp_control(rng = "R"))
      worst <- lapply(pairs, function(pair) {
        described_steps(call, found, rbind(others, pair[[1]]), rbind(others, pair[[2]]))
      })
      worst <- apply(do.call(rbind, worst), 2, max)
      expect_lte(max(worst), 1 + 1e-9)
      expect_gt(min(worst), 0.7)
    }
  }
})

test_that("an audit detects a description that adds up a person's rows", {
  # Plants faults 86.
  withr::local_seed(13)
  others <- visits(300, most = 2)
  verb <- audit_mechanism(function(people, control) {
    dp_describe(~ cost + ill, people,
      epsilon = 2, delta = 0, bounds = visit_bounds, control = control
    )
  })
  one <- data.frame(id = 1e6, age = 50, cost = rep(1e4, 3), ill = TRUE, kind = "a", arm = "new")
  two <- transform(one, cost = 0, ill = FALSE)
  audit <- dp_audit(verb, rbind(others, one), rbind(others, two), n_runs = 1, mode = "replay")
  expect_true(audit$violated)
})

test_that("quantile losses over 60 groups stay within a person's bound, and rounding raises them", {
  # Plants faults 87.
  withr::local_seed(14)
  q <- 333
  groups <- 60
  # The rows of one person are in the first half of the groups, the rows of the other person in the
  # second half.
  range_of <- function(g, rounded) {
    others <- 2^20 * as.double(stats::rpois(4, 3))
    share <- floor(2^20 * 2 / groups)
    here <- others + share * (seq_len(4) == 1 + g %% 4) * (g <= groups / 2)
    there <- others + share * (seq_len(4) == 1 + g %% 4) * (g > groups / 2)
    losses <- function(counts) place_losses_cpp(counts, q) / 2^20
    own <- if (rounded) function(counts) floor(losses(counts)) else losses
    diff(range(own(there) - own(here)))
  }
  cost <- function(rounded) {
    max(vapply(1:40, function(i) sum(vapply(seq_len(groups), range_of, 0, rounded)), 0))
  }
  allowed <- 4 * max(q, 1000 - q)
  expect_lte(cost(FALSE), allowed)
  expect_gt(cost(TRUE), cost(FALSE) * 1.02)
})

test_that("mean sums in many groups stay within the bound unless rounded to the nearest integer", {
  # Plants faults 88.
  withr::local_seed(15)
  one <- 2^8
  row <- function(k) {
    z <- sample(c(-1, 1, stats::runif(1, -1, 1)), 1)
    round(one * c(k, z, k * z^2, k * z^4, k * sample(0:1, 1)))
  }
  # The rows of a person are in different groups, some of which contain both people.
  person <- function(m, k, rounding, shared) {
    out <- matrix(0, 5, 400)
    for (g in seq_len(m) + if (shared) 0 else 200) out[, g] <- out[, g] + row(k)
    rounding(out / m)
  }
  worst <- function(rounding, k, size) {
    max(vapply(1:300, function(i) {
      m <- sample(c(1, 2, 5, 40, 100, 150, 200), 2)
      shared <- i %% 2 == 0
      size(person(m[[1]], k, rounding, FALSE) - person(m[[2]], k, rounding, shared))
    }, 0))
  }
  absolute <- function(x) sum(abs(x))
  root <- function(x) sqrt(sum(x^2))
  expect_lte(worst(trunc, 0.25, absolute), 4 * one)
  expect_lte(worst(trunc, 0.5, root), sqrt(4.25) * one + 6)
  expect_gt(worst(round, 0.25, absolute), 4 * one + 6)
})

test_that("a joint choice by losses in fractions of a unit has the stated probabilities", {
  losses <- list(c(-700, 300, 900, 2000), c(100, -250, 400, 1e6), c(0, 0, 500, 800))
  parts <- lapply(losses, function(x) 2^20 * x)
  expect_identical(
    withr::with_seed(3, joint_choice_cpp(parts, 0.001, 50L, "R", 20L))[c("weight", "drawn")],
    withr::with_seed(3, joint_choice_cpp(losses, 0.001, 50L, "R"))[c("weight", "drawn")]
  )
  # A fraction of a unit of loss multiplies the weight by exp(-exponent times the fraction).
  parts[[1]][[2]] <- parts[[1]][[2]] + 2^20 / 3
  law <- function(found) {
    share <- found$weight / max(found$weight) / found$tuples
    rev(cumsum(rev(share))) / sum(share * found$tuples)
  }
  moved <- joint_choice_cpp(lapply(parts, trunc), 0.001, 0L, "R", 20L)
  at <- match(trunc(300 * 2^20 + 2^20 / 3), moved$loss)
  ratio <- law(moved)[[at + 1]] / law(moved)[[at]]
  expect_equal(log(ratio), -0.001 * (moved$loss[[at + 1]] - moved$loss[[at]]) / 2^20,
    tolerance = 1e-6)
})

test_that("without privacy each person has weight one in each variable of a description", {
  data <- visits(300)
  raw <- function(...) tidy(suppressWarnings(visited(data, epsilon = Inf, person = ~id, ...)))
  of <- function(found, variable, statistic, group = NA) {
    found$estimate[found$variable == variable & found$statistic %in% statistic &
      found$group %in% group]
  }
  share <- function(counts) counts / pmax(1, stats::ave(as.double(counts), data$id, FUN = sum))
  found <- raw()
  w <- share(!is.na(data$cost))
  x <- ifelse(w > 0, data$cost, 0)
  expect_equal(of(found, "cost", "n"), length(unique(data$id[w > 0])))
  middle <- sum(w * x) / sum(w)
  expect_equal(of(found, "cost", "mean"), middle)
  expect_equal(of(found, "cost", "sd"), sqrt(sum(w * (x - middle)^2) / (sum(w) - 1)))
  expect_equal(of(found, "ill", "share"), c(1 - mean(tapply(data$ill, data$id, mean)),
    mean(tapply(data$ill, data$id, mean))))
  # By ranks, half of the people's weight is below the median.
  median <- of(found, "cost", "q0.5")
  expect_lt(abs(sum(w * (x < median)) - sum(w) / 2), 1.5)
  by_arm <- raw(by = ~arm)
  known <- data$arm != "none"
  w <- share(known & !is.na(data$cost))
  expect_equal(of(by_arm, "cost", "mean", "new"),
    sum((w * x)[data$arm == "new"]) / sum(w[data$arm == "new"]))
  expect_equal(sum(of(by_arm, "arm", "n", visit_bounds$arm)), length(unique(data$id[known])))
  # A large budget gives the same statistics as no privacy.
  large <- tidy(visited(data, epsilon = 400, person = ~id))
  expect_identical(large[1:4], found[1:4])
  off <- abs(large$estimate - found$estimate)
  expect_lt(max(off / (abs(found$estimate) + 1)), 0.05)
  # With one row per person, the table equals the table without `person`.
  single <- data[!duplicated(data$id), ]
  expect_equal(tidy(visited(single, epsilon = Inf, by = ~arm, person = ~id)),
    tidy(visited(single, epsilon = Inf, by = ~arm)))
})

test_that("95 % limits of a description cover at least 93 % if a person's rows are correlated", {
  runs <- if (is_audit()) 300 else 40
  truth <- c(mean = 0, sd = 1, q0.25 = stats::qnorm(0.25), q0.5 = 0, q0.75 = stats::qnorm(0.75))
  for (shared in c(0.5, 0.95)) {
    inside <- vapply(seq_len(runs), function(seed) {
      withr::local_seed(seed)
      id <- rep(1:2000, sample(1:6, 2000, TRUE))
      x <- sqrt(shared) * stats::rnorm(2000)[id] + sqrt(1 - shared) * stats::rnorm(length(id))
      table <- tidy(dp_describe(~ x + high, data.frame(id, x, high = x > 1),
        epsilon = 1, bounds = list(x = c(-20, 20), high = c(FALSE, TRUE)), person = ~id,
        control = dp_control(rng = "R")
      ))
      at <- c(match(names(truth), table$statistic), which(table$level %in% "TRUE"))
      known <- c(truth, stats::pnorm(-1))
      table$conf.low[at] <= known & known <= table$conf.high[at]
    }, NA[1:6])
    expect_gte(min(rowMeans(inside)), 0.93 - 2 * sqrt(0.93 * 0.07 / runs))
  }
})

test_that("refusals of descriptions with `person` cost nothing and do not depend on row counts", {
  ledger <- dp_ledger(epsilon = 5, delta = 1e-5)
  data <- visits(200)
  single <- data[!duplicated(data$id), ]
  call <- function(data, ..., person = ~id) {
    dp_describe(~cost, data,
      epsilon = 1, bounds = visit_bounds["cost"], ledger = ledger, person = person, ...
    )
  }
  for (rows in list(data, single)) {
    expect_error(call(dp_sources(list(rows, rows))), "one place", class = "dpsc_error_argument")
    expect_error(call(rows, person = "id"), class = "dpsc_error_argument")
    expect_error(call(rows, person = ~ id + arm), class = "dpsc_error_argument")
    expect_error(call(rows, person = ~other), class = "dpsc_error_data")
  }
  nobody <- transform(data, id = NA)
  expect_error(call(nobody), "at least one person", class = "dpsc_error_data")
  told <- function(...) {
    tryCatch(dp_describe(~cost, ..., epsilon = 1e-9, delta = 0, bounds = visit_bounds["cost"],
      person = ~id), dpsc_error = function(e) conditionMessage(e))
  }
  expect_identical(told(data), told(data[rep(seq_len(nrow(data)), 9), ]))
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  call(data)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("descriptions, prints, files and errors contain no identifier and no number of rows", {
  skip_if_not_installed("jsonlite")
  data <- visits(230)
  data <- rbind(data, data[rep(1, 7919 - nrow(data)), ])
  secret <- sprintf("secret-%05d", data$id)
  data$id <- secret
  path <- withr::local_tempfile(fileext = ".json")
  found <- dp_describe(~ age + cost + kind, data,
    by = ~arm, epsilon = 2, bounds = visit_bounds, person = ~id
  )
  text <- utils::capture.output(print(found), print(summary(found)), report(found, "assessment"))
  write_release(found, path)
  said <- c(
    canary_conditions(visited(data, person = ~id, formula = ~nothing)),
    canary_conditions(visited(data, person = ~nothing)),
    canary_conditions(visited(data, person = ~id, by = ~age)),
    canary_conditions(visited(data, person = ~id, epsilon = 1e-9, delta = 0)),
    canary_conditions(visited(data, person = ~id, delta = 0.1)),
    canary_conditions(visited(transform(data, id = as.list(id)), person = ~id))
  )
  everything <- c(
    text, readLines(path), vapply(said, conditionMessage, ""),
    as.character(unlist(rapply(unclass(found), identity, how = "unlist")))
  )
  expect_gte(length(said), 6)
  # The number itself, not its digits within a random number.
  number <- "(?<![0-9]|[0-9][.])7,?919(?![0-9]|[.]0*[1-9]|e[-+0-9])"
  expect_false(any(grepl(number, everything, perl = TRUE)))
  expect_match(c("7919", "has 7,919 rows", "(7919)", "[5,7919,6]", "7919.0"), number, perl = TRUE)
  expect_no_match(c("0.7919", "17919", "7919.25", "79190", "7919e-07"), number, perl = TRUE)
  expect_false(any(grepl("secret", everything, fixed = TRUE)))
  expect_false(grepl("secret", rawToChar(serialize(found, NULL, ascii = TRUE)), fixed = TRUE))
  expect_match(text, "Description of 230 people", all = FALSE, fixed = TRUE)
  expect_match(text, "replacing all rows of one person (by id)", all = FALSE, fixed = TRUE)
})

test_that("a description's file with changed statements about people is refused", {
  skip_if_not_installed("jsonlite")
  data <- visits(400)
  for (found in list(visited(data, by = ~arm, person = ~id),
    visited(data[!duplicated(data$id), ], person = "row"))) {
    file <- withr::local_tempfile(fileext = ".json")
    write_release(found, file, allow_not_private = TRUE)
    read <- read_release(file)
    expect_identical(read$privacy$neighbours, found$privacy$neighbours)
    expect_equal(tidy(read), tidy(found))
    expect_identical(utils::capture.output(print(read)), utils::capture.output(print(found)))
    expect_error(pdp(found, data), class = "dpsc_error_argument")
    text <- paste(readLines(file), collapse = "\n")
    others <- list(
      c("all rows of one person", "one person's row"), c("(by id)", "(by it)"),
      c(", as declared", ""), c('"column": "id"', '"column": "it"')
    )
    for (pair in others) {
      changed <- gsub(pair[[1]], pair[[2]], text, fixed = TRUE)
      if (changed == text) next
      writeLines(changed, file)
      expect_error(read_release(file), class = "dpsc_error")
    }
  }
})
