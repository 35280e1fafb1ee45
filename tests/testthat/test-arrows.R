# The house's floors: a file uses its own floor and those below. One table for the core, one for R.

# Folders of inst/include/dpsc from the ground up; files beside the folders are named.
core_floors <- c(
  "engine.hpp", "os_engine.hpp", "runtime.hpp", "accountant", "noise", "rows", "mechanism",
  "solver", "estimate", "release", "stream", "select", "classical", "reproduction.hpp"
)

# Files of R/ by floor, from the ground up. Neighbours on one floor may use each other, not in a
# circle. A new file takes its place here.
r_floors <- list(
  util = c("check", "dpsc-package"),
  data = c(
    "bounds", "chunks", "covariates", "data", "lm-columns", "panel", "panel-formula", "panel-gaps",
    "panel-long",
    "panel-matrix", "panel-rowwise", "panel-treatment", "protect", "simulate", "stream-columns"
  ),
  privacy = c("accountant", "control", "ledger", "noise", "sensitivity"),
  mech = c(
    "mechanism-gram", "mechanism-objective", "mechanism-output", "mechanism-treated", "paper-bounds"
  ),
  release = c(
    "release", "release-check", "release-json", "select-dp", "stream-checkpoint",
    "stream-iterates", "stream-online", "stream-state", "stream-sums"
  ),
  est = c(
    "classical-estimators", "estimate-gram", "estimate-treated", "leave-one-out", "period-model"
  ),
  infer = c("classical-conformal", "classical-placebo", "inference", "inference-time"),
  api = c(
    "classical-fit", "effect-series", "fit", "lm", "plan", "plan-errors", "plan-people",
    "plan-refusal"
  ),
  audit = c(
    "audit", "audit-blackbox", "audit-loss", "audit-replay", "pdp", "pdp-gram", "pdp-vertical"
  ),
  show = c(
    "audit-methods", "classical-plot", "classical-print", "explore", "lm-methods", "lm-print",
    "methods", "pdp-methods", "plot", "plot-inference", "plot-plan", "plot-theme", "print",
    "report", "select-methods", "stream-methods", "tidiers", "verbs", "zzz"
  )
)
# What is left of the tangle, counted with the plan's and the audit's last changes in. A move may
# lower a number, nothing may raise one. Circles that grow together are one, so their files count.
r_arrows_up <- 18L
r_files_in_circles <- 29L

floor_of_header <- function(files) match(sub("/.*", "", files), core_floors)

floor_of_file <- function(files) {
  names <- unlist(r_floors, use.names = FALSE)
  rep(seq_along(r_floors), lengths(r_floors))[match(sub("[.]R$", "", files), names)]
}

core_headers <- function() {
  folder <- test_path("..", "..", "inst", "include", "dpsc")
  if (!dir.exists(folder)) folder <- system.file("include", "dpsc", package = "dpsc")
  skip_if(!nzchar(folder), "the headers are not installed")
  folder
}

test_that("the readers of arrows find what is there", {
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
  found <- header_includes(folder)
  expect_identical(paste(found$from, found$to), c("low/a.hpp high/b.hpp", "low/a.hpp c.hpp"))
})

test_that("includes of the core only go down, in no circle, to headers that exist, and not to R", {
  folder <- core_headers()
  arrows <- header_includes(folder)
  expect_gt(nrow(arrows), 40)
  files <- list.files(folder, "[.]hpp$", recursive = TRUE)
  expect_identical(files[is.na(floor_of_header(files))], character())
  expect_identical(setdiff(arrows$to, files), character())
  expect_identical(arrows_up(arrows, floor_of_header), character())
  expect_identical(circles(arrows), list())
  text <- unlist(lapply(file.path(folder, files), readLines))
  of_r <- grep("#\\s*include\\s*[<\"](Rcpp|RcppEigen|R|Rinternals|Rmath|R_ext)\\b", text,
    value = TRUE
  )
  expect_identical(of_r, character())
})

test_that("calls between files of R/ point up no more and circle no more than they did", {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "check.R")), "the sources of R/ are not here")
  files <- setdiff(list.files(folder, "[.]R$"), "RcppExports.R")
  expect_identical(files[is.na(floor_of_file(files))], character())
  arrows <- file_calls(folder)
  expect_gt(nrow(arrows), 150)
  up <- arrows_up(arrows, floor_of_file)
  expect_lte(length(up), r_arrows_up, label = paste(c("arrows up:", up), collapse = "\n  "))
  round <- circles(arrows)
  told <- vapply(round, paste, "", collapse = ", ")
  expect_lte(length(unlist(round)), r_files_in_circles,
    label = paste(c("files in circles:", told), collapse = "\n  ")
  )
})
