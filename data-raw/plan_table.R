# Makes R/sysdata.rda: root mean squared errors of method "objective" by simulation, which dp_plan()
# interpolates by n, epsilon, T0 and design of sim_panel() (tight, delta = 1e-6, T1 = 3). The other
# methods need no table: dp_plan() simulates "gram" itself, and "output" has a closed form. Run from
# the package's root with dpsc installed; about five minutes on one core.
library(dpsc)
set.seed(20261121)

error <- function(design, n, T0, epsilon, replications) {
  squared <- replicate(replications, {
    panel <- sim_panel(n, T0, 3, design)
    fit <- dp_synth(panel$donors,
      target = panel$target, T0 = T0, epsilon = epsilon, bounds = c(-1, 1), method = "objective",
      control = dp_control(rng = "R")
    )
    mean((predict(fit)[1, ] - panel$counterfactual[-seq_len(T0)])^2)
  })
  signif(sqrt(mean(squared)), 3)
}

objective <- expand.grid(
  n = c(30, 100, 300, 1000), epsilon = c(0.5, 1, 2, 4, 10, 40, 200), T0 = c(10, 40),
  design = c("factor", "linear"), stringsAsFactors = FALSE
)
objective$error <- mapply(function(n, epsilon, T0, design) {
  error(design, n, T0, epsilon, if (n > 500) 25 else 60)
}, objective$n, objective$epsilon, objective$T0, objective$design)

plan_table <- list(objective = objective)
save(plan_table, file = "R/sysdata.rda", version = 3)
print(plan_table)
