# Style, format, the core's tests, unit tests against the installed tarball, then R CMD check of the
# tarball. Ends with "N passed, N failed", where style, format and R CMD check count as one each.
# Exit status 1 if a check failed.
#
# Everything is compiled once (tools/tarball) and every test runs once. The unit tests run in two
# processes, with NOT_CRAN, against the package as the tarball installs it. R CMD check runs beside
# them and uses the same installation (--install=check:). Tests that differ on CRAN are run by the
# check as on CRAN: the tests that ask whether they are on CRAN, compare snapshots or look for the
# repository's files. `make cran` checks with all tests, as on CRAN.
options(warn = 1)
# The path is absolute, even if .lib does not exist yet, since the log of the installation is beside
# the library.
library_path <- file.path(normalizePath("."), ".lib", "check")
# With a larger initial heap, R spends 3 % of its time on garbage collection instead of 10 %.
Sys.setenv(R_NSIZE = "5M", R_VSIZE = "200M")
logs <- tempfile("tests")
dir.create(logs)

# A command in the background, whose output is shown when it has ended.
start <- function(name, command, environment = "DPSC_STEP=yes") {
  log <- file.path(logs, name)
  # The last line of `times` is the time of the command and its children.
  system(sprintf(
    paste(
      "( export %s; ( %s ); status=$?; times > '%s.times'; echo $status > '%s.status' )",
      "> '%s' 2>&1 < /dev/null &"
    ),
    environment, command, log, log, log
  ))
  list(name = name, command = command, log = log)
}
finish <- function(job) {
  status <- paste0(job$log, ".status")
  while (!file.exists(status) || !length(readLines(status))) Sys.sleep(0.2)
  lines <- readLines(job$log, warn = FALSE)
  cat("\n$", job$command, "\n")
  cat(lines, sep = "\n")
  cat("CPU (user, system):", utils::tail(readLines(paste0(job$log, ".times")), 1L), "\n")
  list(lines = lines, status = as.integer(readLines(status)))
}

# The last line of a check of the Makefile: "name: N passed, N failed", or a report that the check
# was skipped. A check without such a line has failed.
count <- function(done, name) {
  pattern <- paste0("^", name, ": ([0-9]+) passed, ([0-9]+) failed$")
  last <- utils::tail(grep(pattern, done$lines, value = TRUE), 1L)
  if (!length(last)) {
    skipped <- any(grepl(paste0("^", name, ": .*skipped$"), done$lines))
    return(c(passed = 0L, failed = as.integer(!skipped || done$status != 0L)))
  }
  as_count <- function(part) as.integer(sub(pattern, part, last))
  c(passed = as_count("\\1"), failed = as_count("\\2"))
}
as_one <- function(count) pmin(count * c(count[["failed"]] == 0L, 1L), 1L)

# All files that a worker started must be finished. An unfinished file is a failure.
unit_results <- function(folder) {
  files <- sub("[.]R$", "", list.files("tests/testthat", "^test-.*[.]R$"))
  ended <- file.exists(file.path(folder, paste0(files, ".rds")))
  if (!all(ended)) cat("Broken off or never run:", files[!ended], "\n")
  runs <- lapply(file.path(folder, paste0(files[ended], ".rds")), readRDS)
  results <- do.call(rbind, lapply(runs, `[[`, "results"))
  skipped <- results[results$skipped, "test"]
  if (length(skipped)) cat("Skipped:", paste(skipped, collapse = "; "), "\n")
  cat("Unit tests:", sum(vapply(runs, `[[`, 0, "cpu")), "CPU seconds\n")
  c(passed = sum(results$passed), failed = sum(results$failed, results$error, !ended))
}

cat("Style, format, the core without R and the tarball (some minutes)\n")
make <- paste(Sys.getenv("MAKE", "make"), "--no-print-directory")
# A separate run of make must not inherit the settings of the outer run.
Sys.unsetenv(c("MAKEFLAGS", "MAKELEVEL", "MFLAGS"))
# The tarball is needed first, and its vignettes take one process. Until then the other steps wait,
# so that no core is idle.
style <- start("style", sprintf("nice -n 5 sh -c '%1$s lint; %1$s format-check; %1$s core'", make))
built <- finish(start("tarball", paste("tools/tarball", shQuote(library_path))))
tarball <- utils::tail(grep("^dpsc_.*[.]tar[.]gz$", built$lines, value = TRUE), 1L)
can_test <- built$status == 0L && length(tarball) == 1L

unit <- check <- NULL
if (can_test) {
  with_package <- sprintf("R_LIBS=%s:\"$R_LIBS\"", shQuote(library_path))
  # The package contains byte code. Code defined in tests rarely runs often enough to justify byte
  # code.
  interpreted <- paste("R_ENABLE_JIT=0", with_package)
  results <- file.path(logs, "results")
  dir.create(results)
  unit <- lapply(1:2, function(i) {
    start(paste0("unit", i), paste("Rscript tools/test-worker.R", results, i), interpreted)
  })
  check <- start("check", paste("Rscript tools/check-tarball.R", tarball, shQuote(library_path)),
    with_package)
}

total <- c(passed = 0L, failed = 0L)
done <- finish(style)
total <- total + as_one(count(done, "lint")) + as_one(count(done, "format")) + count(done, "core")
if (can_test) {
  lapply(unit, finish)
  checked <- finish(check)
  total <- total + unit_results(results) + c(checked$status == 0L, checked$status != 0L)
} else {
  cat("The tarball could not be built and installed: nothing else was tried.\n")
  total <- total + c(0L, 1L)
}
unlink(logs, recursive = TRUE)
cat(total[["passed"]], " passed, ", total[["failed"]], " failed\n", sep = "")
quit(status = as.integer(total[["failed"]] > 0L))
