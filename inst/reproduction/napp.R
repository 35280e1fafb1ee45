# Figures 4 and 5 of Li and Liu, logistic regression, repaired beside printed: which slopes are
# kept over Lambda (ROC), and misclassification on 10,000 other people. Writes results/napp.csv.
# Noise is seeded, for these figures alone. Sixteen regressors in [-1/2, 1/2], eight slopes from 4
# to 3.5, the others zero.
#   ours      dp_glm(penalty = list(lasso = Lambda / n)), delta = 1e-4: private
#   printed   dp_glm(method = "napp", calibration = "published"): holds no privacy
#   glm       neither noise nor lasso: not private
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(Sys.getenv("DPSC_NAPP_RUNS", "10"))
seeded <- dp_control(rng = "R")
names16 <- paste0("x", 1:16)
beta <- c(4 - 0.5 * (0:7) / 7, rep(0, 8))
limits <- c(list(y = c(FALSE, TRUE)), stats::setNames(rep(list(c(-0.5, 0.5)), 16), names16))

draw <- function(n) {
  x <- matrix(stats::runif(n * 16, -0.5, 0.5), n, dimnames = list(NULL, names16))
  data.frame(x, y = stats::runif(n) < stats::plogis(drop(x %*% beta)))
}

fit_of <- function(arm, data, epsilon, lambda) {
  common <- list(
    formula = y ~ ., data = data, family = "binomial", bounds = limits, control = seeded
  )
  own <- switch(arm,
    ours = list(epsilon = epsilon, delta = 1e-4, penalty = list(lasso = lambda / nrow(data))),
    glm = list(epsilon = Inf),
    printed = list(
      epsilon = epsilon, delta = 0, method = "napp", calibration = "published",
      settings = list(target = lambda)
    )
  )
  stats::coef(suppressWarnings(do.call(dp_glm, c(common, own))))
}

# Slopes below a hundredth count as zero: the printed algorithm has no exact zeros.
measure <- function(b, test) {
  kept <- abs(b[-1]) > 0.01
  right <- (drop(cbind(1, as.matrix(test[names16])) %*% b) > 0) == test$y
  c(
    true = mean(kept[1:8]), false = mean(kept[9:16]), wrong = 1 - mean(right),
    error = sqrt(sum((b[-1] - beta)^2))
  )
}

one_run <- function(n, epsilon, lambda, test) {
  data <- draw(n)
  vapply(c("glm", "ours", "printed"), function(arm) {
    measure(fit_of(arm, data, epsilon, lambda), test)
  }, numeric(4))
}

set.seed(2110)
test <- draw(10000)
cells <- expand.grid(lambda = c(1, 5, 20, 50), epsilon = c(0.4, 1), n = c(500, 1000, 10000))
results <- do.call(rbind, Map(function(n, epsilon, lambda) {
  values <- replicate(runs, one_run(n, epsilon, lambda, test))
  middle <- t(round(apply(values, 1:2, mean), 3))
  data.frame(n, epsilon, lambda, runs, version = rownames(middle), middle, row.names = NULL)
}, cells$n, cells$epsilon, cells$lambda))
utils::write.csv(results, file.path(home, "results", "napp.csv"), row.names = FALSE)
print(results, row.names = FALSE)
