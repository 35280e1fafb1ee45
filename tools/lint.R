# Style of R code by .lintr. Ends with "lint: N passed, N failed", one a file, or says that it was
# skipped. Exit status 1 if anything failed.
if (!nzchar(system.file(package = "lintr"))) {
  cat("lint: the package lintr is not installed: skipped\n")
  quit(status = 0L)
}
folders <- c("R", "tests", "tools", "bench", "demo", "data-raw", "inst")
files <- setdiff(
  list.files(folders, "[.]R$", recursive = TRUE, full.names = TRUE), "R/RcppExports.R"
)
found <- lapply(files, function(file) lintr::lint(file, parse_settings = TRUE))
for (k in seq_along(found)) {
  for (one in found[[k]]) {
    cat(files[[k]], ":", one$line_number, ": ", one$message, "\n", sep = "")
  }
}
failed <- sum(lengths(found) > 0L)
cat("lint: ", length(files) - failed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0L))
