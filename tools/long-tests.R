# The tests that `make test` omits or shortens, in full: all files with a test that calls is_audit()
# or skip_unless_audit(). Ends with "long tests: N passed, N failed".
Sys.setenv(DPSC_AUDIT = "true")
folder <- tempfile("long")
dir.create(folder)
rscript <- file.path(R.home("bin"), "Rscript")
status <- system2(rscript, c("tools/test-worker.R", folder, 1))
results <- do.call(rbind, lapply(list.files(folder, "[.]rds$", full.names = TRUE), function(path) {
  readRDS(path)$results
}))
failed <- sum(results$failed, results$error, status != 0L)
cat("long tests: ", sum(results$passed), " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0L))
