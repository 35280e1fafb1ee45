# Files of faulty versions are not read as if their guarantee were valid.

skip_if_not_installed("jsonlite")

of_020 <- function(name) read_old(test_path("fixtures", "0.2.0", name))
said_of <- function(x) gsub("\\s+", " ", paste(utils::capture.output(print(x)), collapse = " "))

test_that("every advisory has four fields and concerns old versions; NEWS has eight key words", {
  expect_named(advisories(), c(
    "positions", "places", "waves", "cells", "classes", "blocks", "index", "engines",
    "drivers"
  ))
  for (one in advisories()) {
    expect_named(one, c("fault", "until", "shows", "found"))
    expect_true(at_most_version(one$until, own_version()))
    expect_false(at_most_version(own_version(), one$until))
  }
  news <- test_path("..", "..", "NEWS.md")
  skip_if_not(file.exists(news), "the package's sources")
  text <- paste(readLines(news, n = 200), collapse = " ")
  for (word in c("10,000", "\"output\"", "dp_files()", "ordered factor", "dp_chunks()",
    "pdata.frame", "by bytes", "bigint")) {
    expect_match(text, word, fixed = TRUE)
  }
})

test_that("print() and report() of affected 0.2.0 files state NOT (KNOWN TO BE) PRIVATE", {
  pins <- utils::read.csv(test_path("fixtures", "0.2.0", "pins.csv"))
  promised <- pins$file[pins$number == "holds" & pins$value == 1]
  expect_gt(length(promised), 50L)
  # These values do not come from a formula, table or file, so the fault does not affect them.
  plain <- c("aggregate-median.rds", "aggregate-mean.rds", "stream-count.state", "stream-sum.state")
  for (file in promised) {
    x <- of_020(file)
    if (file %in% plain) {
      expect_match(said_of(x), "private: epsilon", label = file)
      next
    }
    expect_match(said_of(x), "NOT (KNOWN TO BE )?PRIVATE", label = file)
    expect_no_match(said_of(x), "  private: epsilon|private for each row", label = file)
    if (tools::file_ext(file) == "json") expect_false(x$privacy$holds, label = file)
    if (inherits(x, c("dp_release", "dp_synth", "dp_lm", "dp_glm", "dp_outcomes"))) {
      expect_match(said_of(report(x)), "NOT (KNOWN TO BE )?PRIVATE", label = file)
      expect_no_match(said_of(report(x)), "probability at most", label = file)
    }
  }
})

test_that("when read, a 0.2.0 file states the fault that it reveals, or else possible faults", {
  # The outcome of a formula shows that the rows had names.
  for (file in c("output-long.json", "objective-long.json")) {
    x <- of_020(file)
    expect_null(x$privacy$doubt)
    expect_match(said_of(x), "does not hold.*order of people's identifiers")
  }
  many <- of_020("gram-many.json")
  expect_true(many$privacy$doubt)
  expect_match(many$privacy$reason, "more than 10,000 people")
  many$privacy <- readRDS(test_path("fixtures", "0.2.0", "gram-object.rds"))$release$privacy
  many$panel$outcome <- "cost"
  expect_match(said_of(many), "does not hold.*more than 10,000 people")
  # These releases have no intervals, or few donors, or public row names.
  for (file in c("gram-many-no-intervals.json", "gram.json")) {
    expect_no_match(of_020(file)$privacy$reason, "10,000")
  }
  expect_no_match(of_020("output-names.json")$privacy$reason, "places|weights")
  expect_match(of_020("files.json")$privacy$reason, "dp_files")
  # A release with a separate reason keeps this reason.
  expect_match(of_020("gram-seeded.json")$privacy$reason, "seed")
  expect_match(of_020("gram-not-private.json")$privacy$reason, "Inf")
})

test_that("a release file keeps its guarantee when read, unless its version field is removed", {
  p <- toy_panel(60, 5, 2)
  release <- dp_release(p$donors, target = p$target, T0 = 5, epsilon = 1, bounds = c(-1, 1))
  rows <- data.frame(x = seq(0, 1, length.out = 4000), y = rep(0:1, 2000))
  bounds <- list(y = c(0, 1), x = c(0, 1))
  of_rows <- list(
    dp_lm(y ~ x, rows, 1, bounds = bounds), dp_glm(y ~ x, rows, "binomial", 1, bounds = bounds)
  )
  path <- withr::local_tempfile(fileext = ".json")
  for (x in c(list(release), of_rows)) {
    write_release(x, path)
    expect_true(any(grepl(own_version(), readLines(path), fixed = TRUE)))
    again <- read_release(path)
    expect_identical(again$privacy$version, own_version())
    expect_true(again$privacy$holds)
    expect_identical(again$privacy, x$privacy)
    expect_no_match(said_of(again), "NOT ")
    # A file without this field was written by version 0.2.0 or earlier.
    lines <- paste(readLines(path), collapse = "\n")
    parts <- jsonlite::fromJSON(lines, simplifyVector = FALSE)
    body <- "release"
    at <- match("privacy", unlist(parts[[body]]$names))
    record <- parts[[body]]$values[[at]]
    gone <- match("version", unlist(record$names))
    record$names <- record$names[-gone]
    record$values <- record$values[-gone]
    parts[[body]]$values[[at]] <- record
    writeLines(jsonlite::toJSON(parts, auto_unbox = TRUE, null = "null", digits = NA), path)
    mark_anew(path)
    old <- tryCatch(read_release(path), dpsc_error_release = function(e) NULL)
    if (!is.null(old)) expect_false(old$privacy$holds)
  }
  others <- list(
    dp_aggregate(rows, function(part) mean(part$y), lower = 0, upper = 1, epsilon = 1),
    dp_select(y ~ x, rows, 2, size = 1, bounds = bounds),
    dp_stream_count(1, horizon = 10), dp_online(y ~ x, 1, horizon = 10, bounds = bounds)
  )
  for (x in others) {
    expect_identical(x$privacy$version, own_version())
    expect_no_match(said_of(x), "NOT KNOWN")
  }
})

test_that("write_release() needs allow_not_private = TRUE for affected releases of version 0.2.0", {
  path <- withr::local_tempfile(fileext = ".json")
  for (file in c("gram.json", "output-long.json", "lm.json", "glm-binomial.json")) {
    x <- of_020(file)
    expect_error(write_release(x, path), class = "dpsc_error_release")
    write_release(x, path, allow_not_private = TRUE)
    expect_identical(read_release(path), x)
    expect_null(read_release(path)$privacy$version)
  }
})

test_that("version numbers are compared part by part; an invalid version counts as the oldest", {
  expect_true(at_most_version(NULL, "0.2.0"))
  expect_true(at_most_version("0.1.0", "0.2.0"))
  expect_false(at_most_version("0.10.0", "0.2.0"))
  for (odd in list("", "later", NA_character_, 3, c("1", "2"))) {
    expect_true(at_most_version(odd, "0.2.0"))
  }
})

test_that("faults of panels' identifiers are no faults of regressions", {
  for (name in c("index", "engines")) {
    found <- advisories()[[name]]$found
    expect_identical(found(facts_of_rows), FALSE)
    expect_identical(found(facts_of_values), FALSE)
    expect_identical(found(utils::modifyList(facts_of_rows, list(method = "gram"))), NA)
  }
  expect_identical(advisories()$cells$found(facts_of_rows), NA)
})
