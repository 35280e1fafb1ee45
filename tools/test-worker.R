# One of the processes that share the files of tests/testthat. It takes the next free file, the
# slowest first, and writes the results to a folder. Usage: Rscript tools/test-worker.R <folder>
# <number>. With DPSC_AUDIT=true it also runs the long tests.
folder <- commandArgs(TRUE)[[1L]]
options(warn = 1)
Sys.setenv(NOT_CRAN = "true")
files <- sub("[.]R$", "", list.files("tests/testthat", "^test-.*[.]R$"))
if (nzchar(Sys.getenv("DPSC_AUDIT"))) {
  calls <- vapply(file.path("tests", "testthat", paste0(files, ".R")), function(path) {
    any(grepl("skip_unless_audit[(]|is_audit[(]|local_quick_plans[(]", readLines(path)))
  }, NA)
  files <- files[calls]
}
# For colours testthat sets twenty options and variables at every comparison, and it collects the
# calls that led to each expected error: 3 and 4 ms or more, a tenth of the time. Here a test sets
# these options at its start, and only unexpected errors, which contain their calls, are printed.
change <- function(name, value, package = "testthat") {
  if (exists(name, asNamespace(package), inherits = FALSE)) {
    utils::assignInNamespace(name, value, package)
  }
}
change("local_reporter_output", function(...) invisible())
capture <- get0("capture_matching_condition", asNamespace("testthat"))
if (is.function(capture)) {
  environment(capture) <- list2env(list(can_entrace = function(cnd) FALSE),
    parent = asNamespace("testthat"))
  change("capture_matching_condition", capture)
}
# For each expectation testthat asks six times for the type and makes a function for the reporters,
# which takes half a millisecond.
type_of <- get0("expectation_type", asNamespace("testthat"))
change("expectation_type", function(exp) {
  first <- class(exp)[[1L]]
  if (startsWith(first, "expectation_")) substr(first, 13L, 40L) else type_of(exp)
})
change("o_apply", function(objects, method, ...) lapply(objects, function(x) x[[method]](...)))
# rlang reads the DESCRIPTION of a package, in 2 ms, for each error message that it formats.
compat <- get0(".rlang_cli_compat", asNamespace("rlang"))
if (is.function(compat)) {
  seen <- list()
  change(".rlang_cli_compat", function(fn, try_rlang = TRUE) {
    if (is.null(seen[[fn]])) seen[[fn]] <<- compat(fn, try_rlang)
    seen[[fn]]
  }, "rlang")
}
# Files of at least 10 CPU seconds, the slowest first. The order of all other files matters little.
slow <- paste0("test-", c(
  "plan-protect", "person-describe", "papers", "release-file", "aggregate", "identifiers", "glm",
  "plan", "cells", "plot", "release-check", "audit", "ledger-outside", "sources-people", "sources",
  "canary", "release-json", "glm-privacy", "battery", "identifiers-table", "describe", "objective"
))
for (file in c(intersect(slow, files), setdiff(files, slow))) {
  # Only one process can create this folder.
  if (!dir.create(file.path(folder, file), showWarnings = FALSE)) next
  before <- proc.time()
  results <- as.data.frame(testthat::test_file(
    file.path("tests", "testthat", paste0(file, ".R")), package = "dpsc",
    load_package = "installed", reporter = "check", stop_on_failure = FALSE
  ))
  taken <- proc.time() - before
  cpu <- sum(taken[c("user.self", "sys.self", "user.child", "sys.child")])
  cat(sprintf("%s: %d expectations, %.1f CPU seconds\n\n", file, sum(results$nb), cpu))
  results$result <- NULL
  saveRDS(list(results = results, cpu = cpu), file.path(folder, paste0(file, ".rds")))
}
