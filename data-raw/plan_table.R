# Makes R/sysdata.rda: root mean squared errors of the counterfactual by simulation, which dp_plan()
# interpolates. Run from the package's root with dpsc installed; about ten minutes on one core.
#   gram: by x = n sqrt(rho), T0, T1 and design of sim_panel(). Depends on n and epsilon through x.
#   objective: by n, epsilon, T0 and design (tight, delta = 1e-6, T1 = 3).
#   reference: by T0 and design, the ridge without privacy, and the donors' mean square after the
#     treatment, which the closed form of method "output" needs.
library(dpsc)
set.seed(20261121)
delta <- 1e-6

error <- function(design, n, T0, T1, epsilon, method, replications) {
  squared <- replicate(replications, {
    panel <- sim_panel(n, T0, T1, design)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = T0, epsilon = epsilon, delta = delta, bounds = c(-1, 1),
      method = method, control = dp_control(rng = "R")
    )
    mean((predict(fit)[1, ] - panel$counterfactual[-seq_len(T0)])^2)
  })
  signif(sqrt(mean(squared)), 3)
}

# Where more donors than 10,000 would be needed at epsilon = 1, more budget makes up for them.
epsilon_at <- function(x) if (x <= 1600) 1 else if (x <= 6000) 4 else 20
gram <- expand.grid(
  x = c(1, 4, 15.6, 40, 100, 250, 624, 1560, 5577, 20000), T0 = c(5, 10, 40, 100), T1 = c(3, 12),
  design = c("factor", "linear"), stringsAsFactors = FALSE
)
gram$error <- mapply(function(x, T0, T1, design) {
  epsilon <- epsilon_at(x)
  n <- max(3, round(x / sqrt(cdp_rho(epsilon, delta))))
  error(design, n, T0, T1, epsilon, "gram", if (n > 3000) 60 else if (n > 500) 150 else 300)
}, gram$x, gram$T0, gram$T1, gram$design)
cat("gram done\n")

objective <- expand.grid(
  n = c(30, 100, 300, 1000), epsilon = c(0.5, 1, 2, 4, 10, 40, 200), T0 = c(10, 40),
  design = c("factor", "linear"), stringsAsFactors = FALSE
)
objective$error <- mapply(function(n, epsilon, T0, design) {
  error(design, n, T0, 3, epsilon, "objective", if (n > 500) 25 else 60)
}, objective$n, objective$epsilon, objective$T0, objective$design)
cat("objective done\n")

reference <- expand.grid(
  T0 = c(5, 10, 40, 100), design = c("factor", "linear"), stringsAsFactors = FALSE
)
reference$gram <- mapply(function(T0, design) {
  error(design, 3000, T0, 3, Inf, "gram", 100)
}, reference$T0, reference$design)
reference$output <- mapply(function(T0, design) {
  error(design, 1000, T0, 3, Inf, "output", 100)
}, reference$T0, reference$design)
reference$square <- mapply(function(T0, design) {
  signif(mean(replicate(100, mean(sim_panel(200, T0, 3, design)$donors[, -seq_len(T0)]^2))), 3)
}, reference$T0, reference$design)
reference$y <- mapply(function(T0, design) {
  signif(sqrt(mean(replicate(400, sum(sim_panel(1, T0, 3, design)$target[seq_len(T0)]^2)))), 3)
}, reference$T0, reference$design)

plan_table <- list(gram = gram, objective = objective, reference = reference)
save(plan_table, file = "R/sysdata.rda", version = 3)
print(plan_table)
