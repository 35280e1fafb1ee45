# Forecasts of dp_plan_lm() against the results of bench/lm.R (read, nothing is drawn): ratio of
# the error of slopes to lm()'s error, in the cells where moments are resolved and medians
# found. `off`: planned over measured; medians of few runs in the large cells.
library(dpsc)
measured <- utils::read.csv("bench/results/lm.csv")
measured <- measured[which(measured$resolved == 1 & measured$located == 1), ]
planned <- mapply(function(p, n, epsilon) {
  bounds <- stats::setNames(rep(list(c(-40, 20)), p + 1), c("y", paste0("X", seq_len(p))))
  dp_plan_lm(y ~ ., bounds, n = n, epsilon = epsilon)$ratio
}, measured$p, measured$n, measured$epsilon)
out <- data.frame(
  measured[c("p", "cond", "n", "r2", "bounds", "epsilon", "tails", "runs")],
  measured = signif(measured$dp_lm / measured$ols, 3), planned = signif(planned, 3)
)
out$off <- round(out$planned / out$measured, 2)
print(range(out$off))
utils::write.csv(out, "bench/results/plan-lm.csv", row.names = FALSE)
