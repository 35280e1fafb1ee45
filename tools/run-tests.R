# Style, format, the core's tests, unit tests against the installed package, then R CMD check of the
# built tarball. Ends with "N passed, N failed", where style, format and R CMD check count as one
# each. Exit status 1 if anything failed.
options(warn = 1)

# What a check of the Makefile says at its end, "name: N passed, N failed", or that it was skipped.
# A check that says neither has failed.
make_check <- function(target, name) {
  lines <- suppressWarnings(
    system2(Sys.getenv("MAKE", "make"), c("--no-print-directory", target), stdout = TRUE,
      stderr = TRUE)
  )
  cat(lines, sep = "\n")
  pattern <- paste0("^", name, ": ([0-9]+) passed, ([0-9]+) failed$")
  last <- utils::tail(grep(pattern, lines, value = TRUE), 1L)
  if (!length(last)) {
    skipped <- any(grepl(paste0("^", name, ": .*skipped$"), lines))
    return(c(passed = 0L, failed = as.integer(!skipped || !is.null(attr(lines, "status")))))
  }
  as_count <- function(part) as.integer(sub(pattern, part, last))
  c(passed = as_count("\\1"), failed = as_count("\\2"))
}
as_one <- function(count) pmin(count * c(count[["failed"]] == 0L, 1L), 1L)
cat("Style, format, and the core without R (some minutes)\n")
checks <- as_one(make_check("lint", "lint")) + as_one(make_check("format-check", "format")) +
  make_check("core", "core")
# Snapshots are compared here; on CRAN they are not.
Sys.setenv(NOT_CRAN = "true")

results <- as.data.frame(testthat::test_dir(
  "tests/testthat", package = "dpsc", load_package = "installed", reporter = "summary",
  stop_on_failure = FALSE
))
failed <- sum(results$failed) + sum(results$error) + checks[["failed"]]
passed <- sum(results$passed) + checks[["passed"]]
skipped <- results[results$skipped, "test"]
if (length(skipped)) cat("Skipped:", paste(skipped, collapse = "; "), "\n")

run <- function(command, args) {
  cat("\n$", command, paste(args, collapse = " "), "\n")
  system2(command, args)
}
Sys.unsetenv("NOT_CRAN")
# Two files are compiled at a time here, too.
Sys.setenv(MAKEFLAGS = "-j2")
unlink(c(Sys.glob("dpsc_*.tar.gz"), "dpsc.Rcheck"), recursive = TRUE)
vignettes <- if (!nzchar(Sys.which("pandoc"))) {
  cat("pandoc is missing: the vignettes are neither built nor checked.\n")
  "--no-build-vignettes"
}
r <- file.path(R.home("bin"), "R")
built <- run(r, c("CMD", "build", "--no-manual", vignettes, ".")) == 0L
tarball <- Sys.glob("dpsc_*.tar.gz")
# The check is about the package, not about the compiler flags of whoever runs it.
Sys.setenv(R_MAKEVARS_USER = normalizePath(file.path("tools", "Makevars.check")))
# Offline, and without the packages that are only suggested: their tests and examples skip.
Sys.setenv("_R_CHECK_CRAN_INCOMING_" = "false", "_R_CHECK_FORCE_SUGGESTS_" = "false",
  "_R_CHECK_FUTURE_FILE_TIMESTAMPS_" = "false")
# The package ships no PDF whose size qpdf could check.
if (!nzchar(Sys.which("qpdf"))) Sys.setenv("_R_CHECK_DOC_SIZES_" = "false")
# As on CRAN, but where a suggested package is missing: then that check asks the network about it.
suggested <- strsplit(gsub("[(][^)]*[)]|\\s", "", read.dcf("DESCRIPTION", "Suggests")[[1L]]), ",")
present <- vapply(suggested[[1L]], function(p) nzchar(system.file(package = p)), NA)
as_cran <- if (all(present)) {
  "--as-cran"
} else {
  cat("Without --as-cran, as these are missing:", names(present)[!present], "\n")
}
checked <- built && run(r, c("CMD", "check", as_cran, "--no-manual",
  if (!is.null(vignettes)) "--ignore-vignettes", tarball)) == 0L
log <- file.path("dpsc.Rcheck", "00check.log")
status <- "Status: not run"
if (file.exists(log)) status <- grep("^Status:", readLines(log), value = TRUE)
clean <- checked && !any(grepl("ERROR|WARNING", status))
if (clean) passed <- passed + 1L else failed <- failed + 1L

cat("\nR CMD check:", sub("^Status: ", "", status), "\n")
cat(passed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0L))
