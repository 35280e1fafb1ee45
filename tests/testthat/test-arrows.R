# The floors of the package. A file uses only its floor and the floors below.

# Folders of inst/include/dpsc from the lowest floor up. Files outside the folders are listed by
# name.
core_floors <- c(
  "engine.hpp", "linalg.hpp", "os_engine.hpp", "runtime.hpp", "accountant", "noise", "rows",
  "mechanism", "solver", "estimate", "release", "stream", "select", "classical"
)

# Files of R/ by the prefix of their names, from the lowest floor up: say- words, checks and
# conditions, ppl- people and columns, priv- budget, ledger and noise, mech- mechanisms, rel-
# releases, est- estimates, infer- intervals, do- doors, aud- audits, show- verbs that print and
# plot. Files on one floor may use each other, but not in a circle.
r_floors <- c("say", "ppl", "priv", "mech", "rel", "est", "infer", "do", "aud", "show")
# By convention these files contain the help of the package, and the code that runs when it is
# loaded.
r_others <- c(`dpsc-package.R` = 1, zzz.R = length(r_floors))
floor_of_header <- function(files) match(sub("/.*", "", files), core_floors)

floor_of_file <- function(files) {
  floor <- match(sub("-.*", "", files), r_floors)
  special <- match(files, names(r_others))
  ifelse(is.na(special), floor, r_others[special])
}

core_headers <- function() {
  folder <- test_path("..", "..", "inst", "include", "dpsc")
  skip_if_not(dir.exists(folder), "the package's sources")
  folder
}

test_that("file_calls(), header_includes(), circles() and arrows_up() are right for examples", {
  folder <- withr::local_tempdir()
  writeLines(c(
    "helper <- function(x) x", "table <- list(a = helper)", "b_of <- function(y) c_of(y)"
  ), file.path(folder, "b.R"))
  writeLines(c(
    "c_of <- function(z, ...) {", "  helper <- z", "  lapply(z, function(q) q$table)", "}",
    "unused <- function(b_of) dpsc::helper(b_of)"
  ), file.path(folder, "c.R"))
  writeLines("d <- function(x, f = helper) lapply(x, c_of)", file.path(folder, "d.R"))
  found <- file_calls(folder)
  expect_identical(
    paste(found$from, found$to), c("b.R c.R", "d.R b.R", "d.R c.R")
  )
  expect_identical(circles(found), list())
  looped <- rbind(found, data.frame(from = c("c.R", "c.R"), to = c("d.R", "b.R")))
  expect_identical(circles(looped), list(c("b.R", "c.R", "d.R")))
  expect_identical(
    arrows_up(found, function(x) match(x, c("b.R", "c.R", "d.R"))), "b.R -> c.R"
  )
  dir.create(file.path(folder, "low"))
  writeLines(c('#include "../high/b.hpp"', "#include <dpsc/c.hpp>", "#include <cmath>"),
    file.path(folder, "low", "a.hpp"))
  writeLines(c('#include "a.hpp"', '#include "d.hpp"'), file.path(folder, "low", "a.cpp"))
  found <- header_includes(folder)
  expect_setequal(paste(found$from, found$to),
    c("low/a.hpp high/b.hpp", "low/a.hpp c.hpp", "low/a.hpp low/d.hpp"))
})

test_that("core files include no file of a higher layer and no R header; includes form no cycle", {
  folder <- core_headers()
  arrows <- header_includes(folder)
  expect_gt(nrow(arrows), 40)
  files <- list.files(folder, "[.]hpp$", recursive = TRUE)
  expect_identical(files[is.na(floor_of_header(files))], character())
  expect_identical(setdiff(arrows$to, files), character())
  expect_identical(arrows_up(arrows, floor_of_header), character())
  expect_identical(circles(arrows), list())
  text <- unlist(lapply(file.path(folder, list.files(folder, "[.][hc]pp$", recursive = TRUE)),
    readLines))
  of_r <- grep("#\\s*include\\s*[<\"](Rcpp|RcppEigen|R|Rinternals|Rmath|R_ext)\\b", text,
    value = TRUE
  )
  expect_identical(of_r, character())
})

test_that("every core .cpp file is included once in src/, and at the end of its own header", {
  folder <- core_headers()
  bodies <- list.files(folder, "[.]cpp$", recursive = TRUE)
  expect_gt(length(bodies), 60)
  for (file in bodies) {
    header <- readLines(file.path(folder, sub("cpp$", "hpp", file)))
    expect_identical(utils::tail(header, 3L),
      c("#ifdef DPSC_ONE_UNIT", paste0("#include \"", basename(file), "\""), "#endif"))
  }
  units <- test_path("..", "..", "src")
  skip_if(!dir.exists(units), "the sources of src/ are not here")
  units <- list.files(units, "^core-.*[.]cpp$", full.names = TRUE)
  lines <- grep("#include", unlist(lapply(units, readLines)), value = TRUE, fixed = TRUE)
  expect_identical(sort(lines), sort(sprintf("#include <dpsc/%s>", bodies)))
})

test_that("every file of R/ has a layer and calls no file of a higher layer; calls form no cycle", {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "say-check.R")), "the sources of R/ are not here")
  files <- setdiff(list.files(folder, "[.]R$"), "RcppExports.R")
  expect_identical(files[is.na(floor_of_file(files))], character())
  expect_identical(setdiff(r_floors, sub("-.*", "", files)), character())
  arrows <- file_calls(folder)
  expect_gt(nrow(arrows), 150)
  expect_identical(arrows_up(arrows, floor_of_file), character())
  expect_identical(circles(arrows), list())
})

test_that("every object of R/ is defined once", {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "say-check.R")), "the sources of R/ are not here")
  made <- lapply(list.files(folder, "[.]R$", full.names = TRUE), function(file) {
    code <- as.list(parse(file, keep.source = FALSE))
    defined <- Filter(function(x) is.call(x) && identical(x[[1L]], quote(`<-`)), code)
    vapply(defined, function(x) paste(deparse(x[[2L]]), collapse = ""), "")
  })
  made <- unlist(made)
  expect_gt(length(made), 500)
  expect_identical(made[duplicated(made)], character())
})

test_that("every object of the test helpers is defined once", {
  helpers <- list.files(test_path(), "^helper.*[.]R$", full.names = TRUE)
  made <- unlist(lapply(helpers, function(file) {
    code <- as.list(parse(file, keep.source = FALSE))
    defined <- Filter(function(x) is.call(x) && identical(x[[1L]], quote(`<-`)), code)
    vapply(defined, function(x) paste(deparse(x[[2L]]), collapse = ""), "")
  }))
  expect_gt(length(made), 50)
  expect_identical(made[duplicated(made)], character())
})
