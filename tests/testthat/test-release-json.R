# Releases as JSON. Reading returns an identical object, damaged files are refused, and no file is
# half written.

skip_if_not_installed("jsonlite")

file_release <- function(method = "gram", calibration = "tight", epsilon = 1, delta = 1e-6, ...,
                         n = 60, T0 = 5, T1 = 2, bounds = c(-1, 1),
                         control = dp_control(rng = "R")) {
  p <- toy_panel(n, T0, T1)
  withr::local_seed(1)
  dp_release(p$donors,
    target = p$target, T0 = T0, epsilon = epsilon, delta = delta, bounds = bounds,
    method = method, calibration = calibration, control = control, ...
  )
}

# The releases of these tests are seeded, so they are not private, and the call that writes them
# must state this.
save_release <- function(release, path) write_release(release, path, allow_not_private = TRUE)

round_trip <- function(release) {
  path <- withr::local_tempfile(fileext = ".json")
  save_release(release, path)
  read_release(path)
}

# The result is a classed error, or a release that prints and either fits a target or gives a
# reason.
read_or_refuse <- function(text, path) {
  writeBin(text, path)
  tryCatch(
    {
      release <- read_release(path)
      utils::capture.output(print(release))
      fit <- tryCatch(
        dp_synth(release, seq_along(release$panel$times) / 10),
        dpsc_error_argument = function(e) NULL
      )
      if (!is.null(fit)) utils::capture.output(print(fit))
      if (inherits(release, "dp_release")) "release" else "half an object"
    },
    dpsc_error_release = function(e) "refused",
    error = function(e) paste("error:", conditionMessage(e)),
    warning = function(w) paste("warning:", conditionMessage(w))
  )
}

test_that("a release that is read back is identical, for every method and calibration", {
  for (method in c("gram", "output", "objective")) {
    for (calibration in c("tight", "published")) {
      for (delta in c(0, 1e-6, 1e-300)) {
        release <- file_release(method, calibration, delta = delta)
        expect_identical(round_trip(release), release)
      }
    }
    release <- file_release(method, epsilon = Inf)
    expect_identical(round_trip(release), release)
    release <- file_release(method, epsilon = Inf, bounds = NULL)
    expect_identical(round_trip(release), release)
  }
  release <- file_release(control = dp_control())
  expect_identical(round_trip(release), release)
  release <- file_release("output", control = dp_control(rng = "R", lambda = 1 / 3, split = 0.3))
  expect_identical(round_trip(release), release)
  release <- file_release(bounds = cbind(-1 - 1:7 / 7, 2 + 1:7 / 3))
  expect_identical(round_trip(release), release)
})

test_that("calibrated intervals and releases without privacy are read back", {
  for (delta in c(0, 1e-6)) {
    for (lambda in list(NULL, 3)) {
      control <- dp_control(rng = "R", lambda = lambda)
      release <- file_release(n = 400, delta = delta, control = control, epsilon = 2)
      intervals <- release$statistics$intervals
      expect_true("lambda" %in% names(intervals))
      expect_identical(intervals$lambda, lambda)
      again <- round_trip(release)
      expect_identical(again, release)
      p <- toy_panel(400, 5, 2)
      expect_identical(confint(dp_synth(again, p$target)), confint(dp_synth(release, p$target)))
    }
  }
  # The file contains the rows of few donors, or counts for many donors, with seventeen digits each.
  for (n in c(25, 2100)) {
    release <- file_release(n = n, epsilon = Inf)
    kept <- release$statistics$leave_one_out
    expect_identical(is.null(kept$rows), n > 2000)
    again <- round_trip(release)
    expect_identical(again, release)
    p <- toy_panel(n, 5, 2)
    expect_identical(confint(dp_synth(again, p$target)), confint(dp_synth(release, p$target)))
  }
})

test_that("a release for the mean of many people is read back and checked", {
  p <- toy_panel(900, 8, 2)
  for (delta in c(1e-6, 0)) {
    release <- dp_release(p$donors,
      target = p$target, T0 = 8, epsilon = 2, delta = delta, bounds = c(-1, 1), size = 60
    )
    expect_true(release$statistics$intervals$group)
    again <- round_trip(release)
    expect_identical(again, release)
    forged <- release
    forged$statistics$intervals$average <- 0.5
    expect_error(round_trip(forged), class = "dpsc_error")
    forged <- release
    forged$statistics$intervals$group <- FALSE
    expect_error(round_trip(forged), class = "dpsc_error")
  }
})

test_that("releases by version 0.1.0 are read, printed and fitted, without an interval", {
  for (name in c("gaussian", "pure")) {
    release <- read_release(test_path("fixtures", paste0("gram-0.1.0-", name, ".json")))
    # A file does not record whether columns had special methods (see advisories()).
    expect_true(release$privacy$doubt)
    expect_match(release$privacy$theorem, if (name == "pure") "pure" else "zero-concentrated")
    expect_output(print(summary(release)), "radius, whitened")
    fit <- dp_synth(release, sin(1:8) / 3)
    expect_true(all(is.finite(effects(fit))))
    expect_true(all(is.na(confint(fit))))
    expect_output(print(fit), "no interval: the release was made by version 0.1.0")
    expect_identical(round_trip(release), release)
  }
})

test_that("public names of donors are read back, including unusual names", {
  p <- toy_panel(4, 5, 2)
  rownames(p$donors) <- c("\u00e9\u4e16 \"x\"", "a\\b\n\t", "NA", "</script>")
  release <- dp_release(p$donors,
    target = p$target, T0 = 5, epsilon = 1, bounds = c(-1, 1), method = "output",
    control = dp_control(rng = "R", donor_names = TRUE)
  )
  expect_identical(round_trip(release)$panel$donor_names, release$panel$donor_names)
  expect_identical(round_trip(release), release)
})

test_that("periods of eleven kinds are read back unchanged", {
  days <- as.Date("2020-02-27") + 0:6
  kinds <- list(
    1:7, 1:7 + 0.1, -7:-1 / 3, days, structure(18000:18006, class = "Date"),
    as.POSIXct("2020-03-29 00:30:00", tz = "Europe/Berlin") + 3600 * 0:6,
    as.POSIXct("2020-01-01", tz = "UTC") + 0:6 / 3, letters[1:7],
    c("2020", "NA", "Inf", "", "a", "b", "\u00e9"),
    as.difftime(1:7, units = "weeks"), factor(LETTERS[7:1], levels = LETTERS[7:1])
  )
  for (times in kinds) {
    release <- file_release(times = times)
    again <- round_trip(release)
    expect_identical(again, release)
    expect_identical(again$panel$times, release$panel$times)
  }
})

test_that("a release read from a file gives the same fit and print as the original", {
  p <- toy_panel(60, 5, 2)
  for (method in c("gram", "output", "objective")) {
    release <- file_release(method)
    again <- round_trip(release)
    expect_identical(dp_synth(again, p$target), dp_synth(release, p$target))
    expect_identical(utils::capture.output(print(again)), utils::capture.output(print(release)))
  }
})

test_that("writing a release that is not private is refused unless allowed", {
  path <- withr::local_tempfile(fileext = ".json")
  not_private <- list(
    file_release(epsilon = Inf), file_release("output", epsilon = Inf), file_release(),
    file_release("objective", epsilon = Inf),
    file_release("objective", "published", control = dp_control())
  )
  for (release in not_private) {
    expect_error(write_release(release, path), "NOT PRIVATE", class = "dpsc_error_release")
    expect_false(file.exists(path))
    for (bad in list(NA, "yes", 1, NULL)) {
      expect_error(write_release(release, path, bad), class = "dpsc_error_argument")
    }
    expect_false(file.exists(path))
  }
  write_release(release, path, allow_not_private = TRUE)
  expect_output(print(read_release(path)), "NOT PRIVATE")
})

test_that("write_release() and read_release() refuse invalid paths and objects", {
  release <- file_release()
  for (bad in list(1, NULL, NA_character_, "", c("a", "b"), character())) {
    expect_error(write_release(release, bad), class = "dpsc_error_argument")
    expect_error(read_release(bad), class = "dpsc_error_argument")
  }
  fit <- dp_synth(release, toy_panel(25, 5, 2)$target)
  path <- withr::local_tempfile()
  save_release(fit, path)
  expect_identical(read_release(path), release)
  for (bad in list(unclass(release), 1, NULL)) {
    expect_error(write_release(bad, tempfile()), class = "dpsc_error_argument")
  }
})

test_that("read_release() refuses a missing file, a directory and a file of another kind", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "x.json")
  expect_error(read_release(path), "does not exist", class = "dpsc_error_release")
  expect_error(read_release(folder), class = "dpsc_error_release")
  release <- '{"format": "dpsc-release", "version": %s, "kind": "dp_release", "release": %s}'
  others <- c(
    "", " ", "null", "true", "1", "\"text\"", "[]", "{}", "[1, 2]",
    "{\"format\": \"dpsc-release\"}",
    "{\"format\": [\"dpsc-release\"], \"version\": 1}", "https://example.invalid/x.json", "{", "\"",
    "{\"format\": \"geojson\", \"version\": 1, \"release\": {}}", strrep("[", 2000),
    sprintf(
      release, c("3", "0", "null", "\"1x\"", "[1, 1]", "[[1, 2]]", "{}", "1.5", "1e99"), "{}"
    ),
    sprintf(release, rep(c("1", "2"), each = 10L), c(
      "null", "1", "\"x\"", "[]", "{}", "[1]", "{\"type\": \"list\"}", "{\"type\": \"function\"}",
      "{\"type\": \"list\", \"names\": [\"method\"], \"values\": [null]}",
      "{\"type\": \"double\", \"values\": [1]}"
    ))
  )
  for (text in others) {
    expect_identical(read_or_refuse(charToRaw(text), path), "refused", label = text)
  }
})

test_that("a file in which a field is absent, empty or of another type is refused", {
  path <- withr::local_tempfile(fileext = ".json")
  good <- file_release("output")
  refused <- function(release) {
    save_release(good, path)
    content <- jsonlite::fromJSON(path, simplifyVector = FALSE)
    content$release <- dpsc:::to_json(release)
    text <- jsonlite::toJSON(content, auto_unbox = TRUE, null = "null", json_verbatim = TRUE)
    writeLines(text, path)
    mark_anew(path)
    expect_identical(
      read_or_refuse(readBin(path, "raw", file.size(path)), path), "refused",
      label = deparse(sys.call())[[1L]]
    )
  }
  plain <- unclass(good)
  for (part in names(plain)) {
    refused(plain[names(plain) != part])
    for (other in list(1, "x", TRUE, list(), c("gram", "output"), character(), NA)) {
      changed <- plain
      changed[[part]] <- other
      refused(changed)
    }
    changed <- plain
    changed[part] <- list(NULL)
    refused(changed)
  }
  for (field in c("private", "holds", "epsilon", "delta", "rho", "neighbours", "theorem")) {
    changed <- plain
    changed$privacy[[field]] <- NULL
    refused(changed)
    changed$privacy[[field]] <- list(1)
    refused(changed)
  }
  for (field in c("n", "T0", "T1", "times")) {
    changed <- plain
    changed$panel[[field]] <- NULL
    refused(changed)
    changed$panel[[field]] <- "2"
    refused(changed)
  }
  for (field in c("weights", "counterfactual")) {
    changed <- plain
    changed$statistics[[field]] <- as.character(plain$statistics[[field]])
    refused(changed)
    changed$statistics[[field]] <- NULL
    refused(changed)
  }
  changed <- plain
  changed$bounds[c("lower", "upper")] <- plain$bounds[c("upper", "lower")]
  refused(changed)
  changed$bounds <- list(lower = rep("a", 7), upper = rep("b", 7))
  refused(changed)
})

test_that("a truncated file of a release is refused at each of more than 60 lengths", {
  path <- withr::local_tempfile(fileext = ".json")
  for (method in c("gram", "output")) {
    save_release(file_release(method, n = 8), path)
    text <- readBin(path, "raw", file.size(path))
    end <- max(which(text == charToRaw("}")))
    lengths <- unique(round(c(0:5, seq(6, end - 1, length.out = 60), end - 2:1)))
    for (length in lengths) {
      expect_identical(read_or_refuse(text[seq_len(length)], path), "refused", label = length)
    }
    expect_identical(read_or_refuse(text[seq_len(end)], path), "release")
  }
})

test_that("randomly damaged files are refused or read, without other errors", {
  path <- withr::local_tempfile(fileext = ".json")
  for (method in c("gram", "objective")) {
    save_release(file_release(method, n = 8), path)
    text <- readBin(path, "raw", file.size(path))
    withr::local_seed(21)
    results <- replicate(150, {
      damaged <- text
      at <- sample.int(length(text), sample.int(3, 1))
      damaged[at] <- if (runif(1) < 0.5) {
        xor(damaged[at], as.raw(2^sample(0:7, 1)))
      } else {
        charToRaw("\"[]{},:0-.aN")[sample.int(12, length(at), TRUE)]
      }
      read_or_refuse(damaged, path)
    })
    expect_identical(setdiff(results, c("refused", "release")), character())
    expect_true("refused" %in% results)
  }
})

test_that("files with lost, repeated or swapped lines are refused or read, without other errors", {
  path <- withr::local_tempfile(fileext = ".json")
  save_release(file_release("output", n = 8), path)
  lines <- readLines(path)
  withr::local_seed(22)
  results <- replicate(200, {
    i <- sample.int(length(lines), 2)
    kept <- switch(sample.int(3, 1),
      lines[-i[[1L]]], lines[c(seq_len(i[[1L]]), i[[1L]]:length(lines))],
      replace(lines, i, lines[rev(i)])
    )
    read_or_refuse(charToRaw(paste(kept, collapse = "\n")), path)
  })
  expect_identical(setdiff(results, c("refused", "release")), character())
})

test_that("a failed write causes an error and leaves only the old file", {
  folder <- withr::local_tempdir()
  path <- file.path(folder, "release.json")
  release <- file_release()
  expect_error(save_release(release, file.path(folder, "none", "x.json")),
    class = "dpsc_error_release"
  )
  save_release(release, path)
  old <- readBin(path, "raw", file.size(path))
  expect_error(write_release(file_release(epsilon = Inf), path), class = "dpsc_error_release")
  expect_identical(readBin(path, "raw", file.size(path)), old)
  # A file cannot replace a directory.
  full <- file.path(folder, "folder.json")
  dir.create(file.path(full, "inside"), recursive = TRUE)
  expect_error(save_release(release, full), class = "dpsc_error_release")
  expect_true(dir.exists(file.path(full, "inside")))
  expect_setequal(
    list.files(folder, all.files = TRUE, no.. = TRUE), c("release.json", "folder.json")
  )
  # A successful write replaces the file.
  other <- file_release("output")
  expect_invisible(save_release(other, path))
  expect_identical(read_release(path), other)
  expect_setequal(
    list.files(folder, all.files = TRUE, no.. = TRUE), c("release.json", "folder.json")
  )
})

test_that("the file of a release is JSON and gives its format, version and kind", {
  path <- withr::local_tempfile(fileext = ".json")
  save_release(file_release(), path)
  content <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  expect_identical(content$format, "dpsc-release")
  expect_identical(content$version, 2L)
  expect_identical(content$kind, "dp_release")
})
