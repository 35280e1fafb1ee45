# Reruns the experiments of Rho, Cummings and Misra (2023), section 8 (figures 2 to 8), and writes
# results/*.csv and figures/*.png next to this file, or below the folder given as first argument.
#   Rscript inst/reproduction/reproduce.R [folder]
# DPSC_CORES: processes (2). DPSC_RUNS: runs per setting (500, as in the paper).
# As in the paper, one panel per size and every setting on the same panel; each setting has its own
# seed, so that results do not depend on the number of processes.
library(dpsc)

home <- local({
  script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))
  if (length(script)) dirname(script) else file.path("inst", "reproduction")
})
source(file.path(home, "functions.R"))
source(file.path(home, "figures.R"))
source(file.path(home, "claims.R"))
compile_loops(home)

arguments <- commandArgs(trailingOnly = TRUE)
output <- if (length(arguments)) arguments[[1L]] else home
for (folder in c("results", "figures")) {
  dir.create(file.path(output, folder), showWarnings = FALSE, recursive = TRUE)
}
runs <- as.integer(Sys.getenv("DPSC_RUNS", "500"))
cores <- as.integer(Sys.getenv("DPSC_CORES", "2"))
if (.Platform$OS.type == "windows") cores <- 1L

# --- panels ---------------------------------------------------------------------------------------
panels <- c(paper_panels("paper"), paper_panels("code"))

# --- settings -------------------------------------------------------------------------------------
cross <- function(...) expand.grid(..., stringsAsFactors = FALSE)
by_size <- function(settings) merge(sizes, settings, by = NULL)
sweep_lambda <- function(versions, design) {
  by_size(cross(
    experiment = "lambda", design = design, version = versions, method = c("out", "obj"),
    lambda = lambdas, epsilon = 100, delta = 0
  ))
}
sweep_epsilon <- function(versions, methods, delta, design) {
  settings <- by_size(cross(
    experiment = "epsilon", design = design, version = versions, method = methods,
    lambda = NA, epsilon = c(1, epsilons), delta = delta
  ))
  settings$lambda <- settings$T0
  settings
}
vertical <- c("correct", "code", "tight")
settings <- rbind(
  sweep_lambda(vertical, "paper"), sweep_lambda(c("correct", "code"), "code"),
  sweep_epsilon(vertical, c("out", "obj"), 0, "paper"),
  sweep_epsilon(c("correct", "code"), c("out", "obj"), 0, "code"),
  sweep_epsilon(vertical, "obj", 1e-6, "paper"),
  sweep_epsilon(c("correct", "code"), "obj", 1e-6, "code"),
  sweep_epsilon("tight", "out", 1e-6, "paper"),
  sweep_epsilon("gram", "gram", c(0, 1e-6), "paper")
)

# --- the simulation -------------------------------------------------------------------------------
run_row <- function(i) {
  row <- settings[i, ]
  set.seed(10000 + i)
  data <- panels[[paste(row$design, row$n, row$T0)]]
  errors <- run_setting(data, row$version, row$method, row$lambda, row$epsilon, row$delta, runs)
  cbind(row, summarise_errors(errors), non_private = ridge_error(data, row$lambda))
}
started <- proc.time()[["elapsed"]]
set.seed(1)
chunks <- split(sample(nrow(settings)), rep_len(seq_len(40L), nrow(settings)))
done <- list()
bar <- cli::cli_progress_bar("Simulating", total = length(chunks))
for (chunk in chunks) {
  done[[length(done) + 1L]] <- do.call(rbind, parallel::mclapply(chunk, run_row, mc.cores = cores))
  cli::cli_progress_update(id = bar)
}
cli::cli_progress_done(id = bar)
results <- do.call(rbind, done)
results <- results[order(as.integer(rownames(results))), ]
seconds <- proc.time()[["elapsed"]] - started

# --- tables ---------------------------------------------------------------------------------------
write_table <- function(x, name) {
  numbers <- vapply(x, is.numeric, NA)
  x[numbers] <- lapply(x[numbers], signif, 4)
  utils::write.csv(x, file.path(output, "results", name), row.names = FALSE)
}
keep <- c(
  "n", "T0", "version", "method", "lambda", "epsilon", "delta", "runs", "rmse", "low", "high",
  "median", "non_private"
)
for (design in c("paper", "code")) {
  for (experiment in c("lambda", "epsilon")) {
    chosen <- results$design == design & results$experiment == experiment
    file <- paste0(experiment, if (design == "code") "-code-data", ".csv")
    write_table(results[chosen, keep], file)
  }
}
bounds <- do.call(rbind, lapply(panels[startsWith(names(panels), "paper")], bounds_table))
write_table(bounds, "bounds.csv")
claims <- claims_table(results, bounds)
utils::write.csv(claims, file.path(output, "results", "claims.csv"), row.names = FALSE)

# --- figures --------------------------------------------------------------------------------------
draw_all(results, panels, bounds, file.path(output, "figures"))
print(claims[c("claim", "version", "holds")], right = FALSE)
cat(sprintf(
  "%d settings, %d runs each, %d process(es): simulation %.1f s, everything %.1f s\n",
  nrow(settings), runs, cores, seconds, proc.time()[["elapsed"]] - started
))
