# Unit tests against the installed package, then R CMD check of the built tarball. Ends with
# "N passed, N failed", where the check counts as one. Exit status 1 if anything failed.
options(warn = 1)
# Snapshots are compared here; on CRAN they are not.
Sys.setenv(NOT_CRAN = "true")

results <- as.data.frame(testthat::test_dir(
  "tests/testthat", package = "dpsc", load_package = "installed", reporter = "summary",
  stop_on_failure = FALSE
))
failed <- sum(results$failed) + sum(results$error)
passed <- sum(results$passed)
skipped <- results[results$skipped, "test"]
if (length(skipped)) cat("Skipped:", paste(skipped, collapse = "; "), "\n")

run <- function(command, args) {
  cat("\n$", command, paste(args, collapse = " "), "\n")
  system2(command, args)
}
Sys.unsetenv("NOT_CRAN")
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
checked <- built && run(r, c("CMD", "check", "--as-cran", "--no-manual",
  if (!is.null(vignettes)) "--ignore-vignettes", tarball)) == 0L
log <- file.path("dpsc.Rcheck", "00check.log")
status <- "Status: not run"
if (file.exists(log)) status <- grep("^Status:", readLines(log), value = TRUE)
clean <- checked && !any(grepl("ERROR|WARNING", status))
if (clean) passed <- passed + 1L else failed <- failed + 1L

cat("\nR CMD check:", sub("^Status: ", "", status), "\n")
cat(passed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0L))
