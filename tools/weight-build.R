# The cost of installing the tarball with R's flags and one job: CPU seconds, the unit with the
# highest peak of memory, installed size. No user's Makevars and no cache are used. Usage: Rscript
# tools/weight-build.R dpsc_<version>.tar.gz. Prints a table of measures and values.
tarball <- normalizePath(commandArgs(TRUE)[[1L]])
folder <- tempfile("weight")
dir.create(file.path(folder, "library"), recursive = TRUE)
units <- file.path(folder, "units.csv")
makevars <- file.path(folder, "Makevars")
writeLines(sprintf("CXX17 := $(CXX17) -wrapper %s", normalizePath("tools/weigh-unit")), makevars)
Sys.setenv(R_MAKEVARS_USER = makevars, MAKE = "make", MAKEFLAGS = "", DPSC_WEIGHT = units)
before <- proc.time()
status <- system2(file.path(R.home("bin"), "R"),
  c("CMD", "INSTALL", paste0("--library=", file.path(folder, "library")), tarball),
  stdout = file.path(folder, "log"), stderr = file.path(folder, "log"))
taken <- proc.time() - before
if (status != 0L) {
  cat(readLines(file.path(folder, "log")), sep = "\n")
  quit(status = 1L)
}
# A line of `times` contains minutes and seconds of user and system, such as 0m12.345s.
seconds <- function(text) {
  parts <- strsplit(gsub("s", "", strsplit(trimws(text), " +")[[1L]]), "m")
  sum(vapply(parts, function(p) 60 * as.numeric(p[[1L]]) + as.numeric(p[[2L]]), 0))
}
table <- utils::read.csv(units, header = FALSE, col.names = c("file", "cpu", "peak"))
table$cpu <- vapply(table$cpu, seconds, 0)
table$peak <- table$peak / 1024
installed <- list.files(file.path(folder, "library", "dpsc"), recursive = TRUE, full.names = TRUE)
heaviest <- table[which.max(table$peak), ]
slowest <- table[which.max(table$cpu), ]
utils::write.csv(data.frame(
  measure = c("install CPU s, one job, R's own flags", "units compiled", "compiler CPU s",
    paste("peak MB of the heaviest unit,", heaviest$file),
    paste("CPU s of the slowest unit,", slowest$file), "installed MB",
    "installed MB of vignettes"),
  value = c(taken[["user.child"]] + taken[["sys.child"]], nrow(table), sum(table$cpu),
    heaviest$peak, slowest$cpu, sum(file.size(installed)) / 1e6,
    sum(file.size(grep("/doc/", installed, value = TRUE))) / 1e6)
), row.names = FALSE)
unlink(folder, recursive = TRUE)
