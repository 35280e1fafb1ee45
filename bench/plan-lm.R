# Forecasts of dp_plan_lm() compared with the results of bench/lm.R, which are read, so nothing is
# drawn. The numbers are ratios of the error of slopes to the error of lm(), in the cells in which
# moments are resolved and medians found. `off` is planned over measured; medians in the large cells
# are over few runs.
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
