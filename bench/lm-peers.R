# Private linear regression compared with its peers: error, R2 lost, runs with an answer. Medians of
# runs; see bench/lm.R for the measures. Peers with an additional constant use the best setting in
# hindsight in every run, which no user could know. Not private: seeded.
#   DPpack is run if it is installed (DPSC_DPPACK: a library that contains it).
library(dpsc)
source("bench/lm-designs.R")
source("bench/lm-mechanisms.R")
set.seed(31)
delta <- 1e-6
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
if (nzchar(Sys.getenv("DPSC_DPPACK"))) .libPaths(c(.libPaths(), Sys.getenv("DPSC_DPPACK")))
has_dppack <- requireNamespace("DPpack", quietly = TRUE)

cells <- utils::read.table(header = TRUE, text = "
    p cond     n  r2 bounds epsilon tails  runs
    2    1  1000  .2    10x       1 normal   30
    5   10   300  .8    10x       4 normal   30
    5   10  1000  .8    10x       1 normal   30
    5   10  1000  .8    10x       4 normal   30
    5   10 10000  .8    10x      .5 normal   15
    5   10 10000  .8    10x       1 normal   15
    5   10 10000  .8    10x       4 normal   15
    5   10 10000  .8    10x       1     t3   15
    5    1 10000  .8  tight       1 normal   15
   10   10 10000  .2    10x       1 normal   12
   20   10 10000  .8    10x       1 normal   10
")

run_once <- function(cell) {
  people <- make_people(cell$p, cell$cond, cell$n, cell$r2, cell$tails)
  range <- limits[[cell$bounds]]
  bounds <- stats::setNames(rep(list(range), cell$p + 1), names(people$data))
  rho <- cdp_rho(cell$epsilon, delta)
  rows <- scaled_rows(people, range)
  fit <- suppressWarnings(
    dp_lm(y ~ ., people$data, cell$epsilon, delta, bounds, control = dp_control(rng = "R"))
  )
  slopes <- list(
    lm = .lm.fit(cbind(1, as.matrix(people$data[-1])), people$data$y)$coefficients[-1],
    dp_lm = coef(fit)[-1], AdaSSP = ada_ssp(rows, rho, delta), SSP = ssp(rows, rho),
    `DP-GD` = dp_gd(rows, rho), ObjPert = objective(rows, cell$epsilon, delta),
    BoostedAdaSSP = boosted_ada_ssp(rows, rho, delta),
    Functional = functional(rows, cell$epsilon),
    TukeyEM = tukey_em(people, cell$epsilon, delta),
    DPpack = if (has_dppack) dppack(people, range, cell$epsilon, delta)
  )
  error <- function(b) sqrt(mean(((b - people$slopes) / people$se)^2))
  lost <- function(b) sum((b - people$slopes) * (people$sigma %*% (b - people$slopes)))
  vapply(Filter(length, slopes), function(b) {
    b <- matrix(b, ncol = cell$p)
    errors <- apply(b, 1, error)
    if (all(is.na(errors))) return(c(error = NA, lost = NA))
    c(error = min(errors, na.rm = TRUE), lost = lost(b[which.min(errors), ]))
  }, numeric(2))
}

results <- lapply(seq_len(nrow(cells)), function(i) {
  cell <- cells[i, ]
  runs <- max(2, round(cell$runs * more))
  values <- replicate(runs, run_once(cell))
  answered <- apply(!is.na(values["error", , ]), 1, mean)
  # The median of a method that refuses in half of the runs is undefined.
  middle <- apply(values, 1:2, function(x) {
    if (mean(is.na(x)) > 0.5) NA else median(x, na.rm = TRUE)
  })
  cat(unlist(cell), ":", paste(colnames(middle), signif(middle["error", ], 3)), "\n")
  data.frame(cell[1:7], runs,
    method = colnames(middle), error = signif(middle["error", ], 3),
    lost = signif(middle["lost", ], 3), answered = round(answered, 2), row.names = NULL
  )
})
utils::write.csv(do.call(rbind, results), "bench/results/lm-peers.csv", row.names = FALSE)
