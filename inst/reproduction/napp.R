# Figures 4 and 5 of Li and Liu, logistic regression, repaired beside printed: slopes that are
# kept over Lambda (ROC), and misclassification on 10,000 other people. Writes results/napp.csv:
# means over runs, and the standard error of the mean error of the slopes (`se`).
# Noise is seeded, for these figures alone. Sixteen regressors in [-1/2, 1/2], eight slopes from 4
# to 3.5, the others zero. The paper has 500 runs; 10,000 people, which are not in the paper, get
# fewer here.
#   ours      dp_glm(penalty = list(lasso = Lambda / n)), delta = 1e-4: private
#   printed   dp_glm(method = "napp", calibration = "published"): not private
#   glm       neither noise nor lasso: not private
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(strsplit(Sys.getenv("DPSC_NAPP_RUNS", "500,100"), ",")[[1L]])
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
  right <- (drop(test$x %*% b) > 0) == test$y
  c(
    true = mean(kept[1:8]), false = mean(kept[9:16]), wrong = 1 - mean(right),
    error = sqrt(sum((b[-1] - beta)^2))
  )
}

# One table of people for all settings, so that nothing else differs between them.
arms <- rbind(
  data.frame(epsilon = NA, lambda = NA, version = "glm"),
  expand.grid(epsilon = c(0.4, 1), lambda = c(1, 5, 20, 50), version = c("ours", "printed"))
)
one_run <- function(n, test) {
  data <- draw(n)
  vapply(seq_len(nrow(arms)), function(k) {
    at <- arms[k, ]
    measure(fit_of(as.character(at$version), data, at$epsilon, at$lambda), test)
  }, numeric(4))
}

set.seed(2110)
test <- draw(10000)
test <- list(x = cbind(1, as.matrix(test[names16])), y = test$y)
results <- do.call(rbind, lapply(c(500, 1000, 10000), function(n) {
  times <- runs[[if (n < 5000) 1L else 2L]]
  values <- replicate(times, one_run(n, test))
  middle <- t(round(apply(values, 1:2, mean), 3))
  se <- signif(apply(values["error", , ], 1L, stats::sd) / sqrt(times), 2)
  out <- data.frame(n, arms, runs = times, middle, se, row.names = NULL)
  out[order(out$epsilon, out$lambda, na.last = FALSE), ]
}))
utils::write.csv(results, file.path(home, "results", "napp.csv"), row.names = FALSE)
print(results, row.names = FALSE)
