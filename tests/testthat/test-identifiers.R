# A person's identifier is part of the row that neighbours may change. Two data sets differ in one
# person, who also gets another name and therefore another place in the order of names. No value
# computed before noise may change by more than the contribution of one row.

test_that("names do not determine which of 10,001 donors calibrate a release, for five sources", {
  p <- named_people(10001)
  last <- renamed(p, 1, "z", far_row(p))
  sources <- list(
    matrix = from_matrix, chunks = from_chunks, data_frame = from_data_frame
  )
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    sources <- c(sources, list(
      here = from_table(), database = from_table(compute = "database", calibrate = TRUE)
    ))
  }
  for (name in names(sources)) {
    expect_lte(max(moves(p, last, sources[[name]])), 1 + 1e-9, label = name)
    # In each source the test detects the fault, every second donor in the order of names.
    expect_gt(max(moves(p, last, sources[[name]], planted = TRUE)), 1.5, label = name)
  }
  # The first renaming moves the person to the middle, the second changes only the name.
  expect_lte(max(moves(p, renamed(p, 1, "p005000x", far_row(p)), from_matrix)), 1 + 1e-9)
  expect_identical(max(moves(p, renamed(p, 10001, "a"), from_matrix)), 0)
})

test_that("names do not choose calibration donors of two sources; workers return requested rows", {
  skip_if_not_installed("RSQLite")
  p <- named_people(10001)
  # The first person of the first half remains in the same source.
  other <- renamed(p, 1, "p004000x", far_row(p))
  expect_lte(max(moves(p, other, from_places)), 1 + 1e-9)
  expect_gt(max(moves(p, other, from_places, planted = TRUE)), 1.5)
  # A worker is asked only for its part of the list.
  rows <- matrix(seq_len(20), 10)
  places <- c(0, 3, 4, 9)
  worker_state$token <- "t"
  withr::defer(worker_state$token <- worker_state$rows <- NULL)
  for (held in list(rows, dp_chunks(list(rows[1:4, ], rows[5:10, ])))) {
    worker_state$rows <- held
    expect_identical(worker_sample("t", places), rows[places + 1, ])
    expect_identical(worker_sample("t", NULL), rows)
    expect_identical(nrow(worker_sample("t", numeric())), 0L)
  }
})

test_that("random row positions do not depend on people and are in no release, SQL or table", {
  p <- named_people(10001)
  recorder <- new_recorder()
  scope <- hooked_namespace(recorder)
  drawn <- function(p) {
    recorder$start("record")
    release <- withr::with_seed(4, suppressWarnings(from_matrix(p, scope)))
    recorder$collect()
    list(places = recorder$places, release = release)
  }
  one <- drawn(p)
  expect_length(one$places, 1L)
  at <- one$places[[1L]]
  expect_length(unique(at), 10000L)
  expect_true(all(at >= 0 & at <= 10000 & at == floor(at)))
  # Another person under another name leads to the same drawn places.
  expect_identical(drawn(renamed(p, 7, "a", far_row(p)))$places, one$places)
  lengths_in <- function(x) {
    if (is.list(x)) c(0, unlist(lapply(unclass(x), lengths_in))) else length(x)
  }
  expect_lt(max(lengths_in(one$release)), 5000)
  skip_if_not_installed("RSQLite")
  con <- sqlite_of(as_long(p))
  statements <- logged_sql(seeded(
    in_sqlite(con, compute = "database", calibrate = TRUE), formula = y ~ on
  ))
  expect_lt(max(nchar(grep("dpsc_u", statements, value = TRUE))), 500)
  expect_false(any(grepl("_at", DBI::dbListTables(con))))
})

test_that("with 60 donors names change no release by method gram; a name used twice is refused", {
  p <- named_people(60)
  names <- list(first = "a", last = "z", middle = "p000030x")
  seeded_fit <- function(p, run) {
    suppressWarnings(withr::with_seed(4, run(p, asNamespace("dpsc"))))
  }
  everyone <- function(p, scope) {
    scope$dp_release.matrix(by_name(p),
      target = p$rows[c(1:30, 1:30), ] * 0.9, T0 = p$T0, epsilon = 4,
      bounds = c(-1, 1), control = control, protect = "everyone"
    )
  }
  cohorts <- function(p, scope) {
    scope$dp_release.matrix(by_name(p),
      target = rbind(p$target, p$target * 0.9), T0 = c(3, 4), epsilon = 3, bounds = c(-1, 1),
      control = control, protect = "donors"
    )
  }
  growing <- function(p, scope) {
    out <- scope$dp_synth.matrix(by_name(p),
      target = p$target, T0 = p$T0, epsilon = 2, bounds = c(-1, 1), control = control, monitor = 2
    )$release
    # This random number distinguishes releases.
    out$statistics$monitor$id <- NULL
    out
  }
  runs <- list(
    matrix = from_matrix, chunks = from_chunks, data_frame = from_data_frame, everyone = everyone,
    cohorts = cohorts, growing = growing
  )
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    runs <- c(runs, list(
      here = from_table(), database = from_table(compute = "database", calibrate = TRUE),
      groups = from_table(groups = 7), places = from_places
    ))
  }
  for (run in names(runs)) {
    reference <- seeded_fit(p, runs[[run]])
    for (name in names) {
      expect_identical(seeded_fit(renamed(p, 2, name), runs[[run]]), reference, label = run)
    }
  }
  # Two people with one name cause an error that does not reveal the name. They do not become two
  # rows of one person.
  twice <- renamed(p, 2, p$names[[3]])
  expect_error(seeded_fit(twice, from_data_frame), class = "dpsc_error_panel")
})

test_that("renaming a protected treated person changes nothing in a fit of two cohorts", {
  p <- named_people(200)
  adopted <- ifelse(seq_len(200) <= 100, NA, 3 + seq_len(200) %% 2)
  fit <- function(p) {
    data <- as_long(p)
    data <- data[data$unit != "treated", ]
    at <- adopted[match(data$unit, p$names)]
    data$on <- as.integer(!is.na(at) & data$week > at)
    withr::with_seed(4, suppressWarnings(dp_synth(y ~ on, data,
      index = c("unit", "week"), epsilon = 2, bounds = c(-1, 1), control = control,
      protect = "everyone"
    )))
  }
  one <- fit(p)
  # The last treated person gets another name and becomes the first.
  expect_identical(fit(renamed(p, 200, "p000100x")), one)
  expect_identical(one$adopted, rep(3:4, each = 50L))
})

test_that("the order of rows changes neither dp_lm() nor answers of blocks of the same people", {
  withr::local_seed(3)
  n <- 200
  data <- data.frame(a = stats::runif(n, -1, 1), b = stats::runif(n, -1, 1))
  data$y <- data$a / 2 + stats::rnorm(n, 0, 0.1)
  order <- c(n, 2:(n - 1), 1)
  bounds <- list(y = c(-1, 1), a = c(-1, 1), b = c(-1, 1))
  seeded_of <- function(data, fit) suppressWarnings(withr::with_seed(4, fit(data)))
  line <- function(data) {
    dp_lm(y ~ a + b, data, epsilon = 4, bounds = bounds, control = control)
  }
  expect_identical(coef(seeded_of(data, line)), coef(seeded_of(data[order, ], line)))
  # Blocks contain the same people after the order of rows is undone.
  drawn <- aggregate_order_cpp(n, 30, "R")
  facts <- list(n = n, blocks = 10, lower = -1, upper = 1, fallback = 0)
  answers <- function(data, at) block_answers(data, function(x) mean(x$y), facts, at, drawn$seeds)
  at <- match(drawn$order, order)
  expect_equal(answers(data[order, ], at), answers(data, drawn$order), tolerance = 1e-12)
})

test_that("names do not determine the order of weights by methods output and objective", {
  p <- named_people(60)
  for (method in c("output", "objective")) {
    for (delta in c(0, 1e-6)) {
      run <- function(p, scope) {
        fitted_to(p, as_long(p), scope, method = method, delta = delta)
      }
      # The old code used the places in the order of names.
      sorted <- function(recorder) {
        function(donors, scale, y, plan, rng) {
          plan$shuffled <- FALSE
          weights_release_cpp(donors, scale, y, plan, recorder$noise)
        }
      }
      for (name in c("z", "p000030x")) {
        to <- renamed(p, 1, name, far_row(p))
        expect_lte(max(moves(p, to, run)), 1 + 1e-9)
        expect_identical(max(moves(p, renamed(p, 1, name), run)), 0)
        recorder <- new_recorder()
        scope <- hooked_namespace(recorder, list(weights_release_cpp = sorted(recorder)))
        table <- replayed_calls(list(
          recorder = recorder, ours = TRUE,
          run = function(p) withr::with_seed(4, run(p, scope))$privacy
        ), p, to)
        expect_gt(max(table$ratio), 1.5)
      }
    }
  }
})

test_that("names declared public keep their order, and the release records the declaration", {
  p <- named_people(30)
  with_names <- dp_control(rng = "R", donor_names = TRUE)
  fit_of <- function(x, control, ...) {
    withr::local_seed(4)
    suppressWarnings(dp_synth(x,
      epsilon = 1, bounds = c(-1, 1), method = "output", control = control, ...
    ))
  }
  long <- function(control) fit_of(y ~ on, control, data = as_long(p), index = c("unit", "week"))
  wide <- function(rows, control) fit_of(rows, control, target = p$target, T0 = p$T0)
  named <- long(with_names)
  expect_named(weights(named), p$names)
  expect_match(named$release$privacy$neighbours, "identifiers are public")
  expect_match(long(control)$release$privacy$neighbours, "replace one donor's row$")
  # A matrix without names keeps the user's order. With names the order is hidden.
  expect_identical(
    unname(weights(wide(p$rows, control))), unname(weights(named))
  )
  rows <- p$rows
  rownames(rows) <- p$names
  expect_false(identical(
    unname(weights(wide(rows, control))), unname(weights(named))
  ))
  expect_identical(weights(wide(rows, with_names)), weights(named))
  file <- withr::local_tempfile(fileext = ".json")
  write_release(named$release, file, allow_not_private = TRUE)
  expect_identical(read_release(file)$privacy$neighbours, named$release$privacy$neighbours)
  # Method "gram" uses no list of people and stores no names.
  gram <- withr::with_seed(4, dp_release(rows,
    target = p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), control = with_names
  ))
  expect_null(gram$panel$donor_names)
})

test_that("errors on a treatment that ends or a swapped `index` do not depend on names", {
  numbers <- as_long(named_people(60))
  who <- function(data, unit) data$unit == unit
  numbers$unit <- match(numbers$unit, c(sprintf("p%06d", 1:60), "treated"))
  numbers$week <- sprintf("2020-%02d", numbers$week)
  said <- function(data, compute = NULL) {
    index <- if (is.null(compute)) list(index = c("unit", "week"))
    if (!is.null(compute)) data <- in_sqlite(sqlite_of(data), compute = compute)
    tryCatch(
      {
        do.call(dp_release, c(list(y ~ on, data,
          epsilon = 1, bounds = c(-1, 1), protect = "donors", control = control
        ), index))
        "released"
      },
      dpsc_error = conditionMessage
    )
  }
  # The treated unit is the last unit, or one donor follows this unit.
  last <- function(data) replace(data, "unit", list(replace(data$unit, who(data, 3), 999)))
  early <- transform(numbers, on = ifelse(week == max(week), 0, on))
  sources <- list(NULL)
  if (requireNamespace("RSQLite", quietly = TRUE)) sources <- list(NULL, "here", "database")
  for (source in sources) {
    expect_identical(said(numbers, source), "released")
    expect_identical(said(last(numbers), source), "released")
    expect_match(said(early, source), "ends before the last period")
    expect_identical(said(last(early), source), said(early, source))
  }
  # With swapped columns the message contains neither names nor periods.
  swapped <- transform(numbers, unit = match(week, unique(week)), week = sprintf("p%06d", unit))
  expect_match(said(swapped), "may be interchanged")
  expect_no_match(said(swapped), "p0000|2020-")
})
