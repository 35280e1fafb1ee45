# R CMD check of a tarball. Exit status 1 for an ERROR or a WARNING.
#   Rscript tools/check-tarball.R <tarball> <library>: for a library that contains the package and
#     the log of its installation, 00install.out. Only tests that differ on CRAN are run (see
#     tools/run-tests.R).
#   Rscript tools/check-tarball.R <tarball>: the whole check, as on CRAN, with the time taken.
arguments <- commandArgs(TRUE)
tarball <- arguments[[1L]]
library_path <- if (length(arguments) > 1L) arguments[[2L]]

Sys.unsetenv("NOT_CRAN")
# The check concerns the package, not the user's compiler flags.
Sys.setenv(R_MAKEVARS_USER = normalizePath(file.path("tools", "Makevars.check")),
  DPSC_COMPILE = normalizePath(file.path("tools", "compile-once")),
  DPSC_OBJECTS = file.path(getwd(), ".lib", "objects"), MAKEFLAGS = "-j2")
# The check is offline and without suggested packages, whose tests and examples are skipped.
Sys.setenv("_R_CHECK_CRAN_INCOMING_" = "false", "_R_CHECK_FORCE_SUGGESTS_" = "false",
  "_R_CHECK_FUTURE_FILE_TIMESTAMPS_" = "false", "_R_CHECK_TIMINGS_" = "10")
# The package contains no PDF whose size qpdf could check.
if (!nzchar(Sys.which("qpdf"))) Sys.setenv("_R_CHECK_DOC_SIZES_" = "false")
# The check is as on CRAN if no suggested package is missing; otherwise this step would use the
# network.
suggested <- strsplit(gsub("[(][^)]*[)]|\\s", "", read.dcf("DESCRIPTION", "Suggests")[[1L]]), ",")
present <- vapply(suggested[[1L]], function(p) nzchar(system.file(package = p)), NA)
as_cran <- if (all(present)) {
  "--as-cran"
} else {
  cat("Without --as-cran, as these are missing:", names(present)[!present], "\n")
}
if (!nzchar(Sys.which("pandoc"))) {
  cat("pandoc is missing: the vignettes are neither built nor checked.\n")
  vignettes <- "--ignore-vignettes"
} else if (!is.null(library_path)) {
  # R CMD build has just run the vignettes with the same code.
  vignettes <- "--no-vignettes"
} else {
  vignettes <- NULL
}
# The titles of the tests in a file that differ, or all titles if code outside of the tests differs.
differing <- function(path) {
  code <- parse(path, keep.source = TRUE)
  text <- vapply(attr(code, "srcref"), function(at) paste(as.character(at), collapse = "\n"), "")
  differs <- grepl("skip_on_cran|NOT_CRAN|expect_snapshot|\"[.][.]\"", text)
  is_test <- vapply(code, function(e) is.call(e) && identical(e[[1L]], quote(test_that)), NA)
  titles <- vapply(code[is_test], function(e) e[[2L]], "")
  if (any(differs & !is_test)) titles else titles[differs[is_test]]
}
taken <- if (!is.null(library_path)) {
  tests <- list.files("tests/testthat", "^test-.*[.]R$", full.names = TRUE)
  titles <- lapply(tests, differing)
  names <- sub("^test-(.*)[.]R$", "\\1", basename(tests[lengths(titles) > 0L]))
  list <- tempfile("titles")
  writeLines(unlist(titles), list)
  Sys.setenv(DPSC_TESTS = sprintf("^(%s)$", paste(names, collapse = "|")), DPSC_TEST_TITLES = list)
  c(sprintf("--install=check:%s", shQuote(file.path(library_path, "00install.out"))),
    paste0("--library=", shQuote(library_path)))
}
unlink("dpsc.Rcheck", recursive = TRUE)
before <- proc.time()
status <- system2(file.path(R.home("bin"), "R"),
  c("CMD", "check", as_cran, "--no-manual", vignettes, taken, tarball))
cpu <- sum((proc.time() - before)[c("user.child", "sys.child")])
log <- file.path("dpsc.Rcheck", "00check.log")
result <- if (file.exists(log)) grep("^Status:", readLines(log), value = TRUE)
if (!length(result)) result <- "Status: not run"
cat("R CMD check: ", sub("^Status: ", "", result), ", ", round(cpu), " CPU seconds\n", sep = "")
quit(status = as.integer(status != 0L || any(grepl("ERROR|WARNING|not run", result))))
