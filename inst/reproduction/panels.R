# The authors' own panels (Rho, Cummings and Misra, 2023; public, but not ours to ship), where they
# are given: errors over the privacy loss at lambda = T0, in the versions of reproduce.R.
#   Rscript inst/reproduction/panels.R <folder>
# The folder holds <n>-<T0>.csv, for instance 10-100.csv: no header, one row per unit, one column
# per period, three of them after the treatment; first the target, then its counterfactual (the
# target without noise), then n donors, all within [-1, 1]. Writes errors.csv into that folder.
library(dpsc)
home <- local({
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  if (length(script)) dirname(script) else file.path("inst", "reproduction")
})
source(file.path(home, "functions.R"))
compile_loops(home)
folder <- commandArgs(trailingOnly = TRUE)[[1L]]
runs <- as.integer(Sys.getenv("DPSC_RUNS", "500"))

read_panel <- function(file) {
  size <- as.integer(strsplit(sub("[.]csv$", "", basename(file)), "-")[[1L]])
  rows <- unname(as.matrix(utils::read.csv(file, header = FALSE)))
  if (any(dim(rows) != size + c(2, T1)) || max(abs(rows)) > 1) {
    stop(file, ": n + 2 rows and T0 + 3 columns of numbers within [-1, 1] are needed.")
  }
  prepare_panel(list(
    donors = rows[-(1:2), ], target = rows[1, ], counterfactual = rows[2, ], T0 = size[[2L]]
  ), size[[1L]], size[[2L]])
}

files <- list.files(folder, "^[0-9]+-[0-9]+[.]csv$", full.names = TRUE)
if (!length(files)) stop("No <n>-<T0>.csv in ", folder)
versions <- rbind(
  expand.grid(version = c("correct", "code", "tight"), method = c("out", "obj")),
  data.frame(version = "gram", method = "gram")
)
results <- do.call(rbind, lapply(files, function(file) {
  data <- read_panel(file)
  settings <- merge(versions, data.frame(epsilon = c(2, 10, 100)))
  do.call(rbind, lapply(seq_len(nrow(settings)), function(k) {
    at <- settings[k, ]
    set.seed(10000 + k)
    errors <- run_setting(data, as.character(at$version), as.character(at$method), data$T0,
      at$epsilon, 0, runs)
    numbers <- lapply(summarise_errors(errors), signif, 4)
    data.frame(n = data$n, T0 = data$T0, at, numbers,
      non_private = signif(ridge_error(data, data$T0), 4), row.names = NULL)
  }))
}))
print(results[c("n", "T0", "version", "method", "epsilon", "rmse", "low", "high")],
  row.names = FALSE)
utils::write.csv(results, file.path(folder, "errors.csv"), row.names = FALSE)
