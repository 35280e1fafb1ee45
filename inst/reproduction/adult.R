# Figure 6 of Li and Liu: misclassification of lasso logistic regression on Adult against epsilon.
# Data: arules::AdultUCI, whose 30,162 complete rows are the paper's training set (its test set has
# no incomes there); the same rows are fairml::adult, or DPSC_ADULT, the path of adult.rda from the
# sources of fairml. A third of the people is held out. The methods: those with valid privacy,
# DPpack (Chaudhuri, Monteleoni and Sarwate; DPSC_DPPACK: a library that contains it) where it is
# installed, and glm(). Writes results/adult.csv: the misclassified share, its mean and standard
# error over splits, which are the same for all methods. Noise is seeded, for this figure alone.
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(Sys.getenv("DPSC_ADULT_RUNS", "15"))
if (nzchar(Sys.getenv("DPSC_DPPACK"))) .libPaths(c(.libPaths(), Sys.getenv("DPSC_DPPACK")))
seeded <- dp_control(rng = "R")

read_adult <- function() {
  if (requireNamespace("arules", quietly = TRUE)) {
    utils::data("AdultUCI", package = "arules", envir = environment())
    rows <- get("AdultUCI")
    names(rows) <- gsub("-", "_", names(rows), fixed = TRUE)
    return(stats::na.omit(rows))
  }
  file <- Sys.getenv("DPSC_ADULT")
  if (!nzchar(file) && !requireNamespace("fairml", quietly = TRUE)) {
    stop("Install arules or fairml, for the data.")
  }
  if (nzchar(file)) load(file) else data("adult", package = "fairml", envir = environment())
  rows <- get("adult")
  rows$capital_gain <- 1000 * rows$capital_gain # fairml has thousands
  rows$capital_loss <- 1000 * rows$capital_loss
  rows
}

# Eight regressors of public range, as a data owner would declare them.
people_of <- function(rows) {
  data.frame(
    y = grepl(">50K|large", rows$income), age = rows$age, years = rows$education_num,
    hours = rows$hours_per_week, gain = log1p(rows$capital_gain), loss = log1p(rows$capital_loss),
    man = rows$sex == "Male", white = rows$race == "White",
    married = grepl("^Married-(civ|AF)", rows$marital_status)
  )
}

both <- c(FALSE, TRUE)
limits <- list(
  y = both, age = c(17, 90), years = c(1, 16), hours = c(1, 99), gain = c(0, log1p(99999)),
  loss = c(0, log1p(9999)), man = both, white = both, married = both
)
methods <- list(
  glm = list(epsilon = Inf), `dp_glm()` = list(intervals = FALSE),
  `dp_glm(), lasso .01` = list(penalty = list(lasso = 0.01)),
  `objective-public` = list(method = "objective-public", delta = 0),
  kst = list(method = "kst"), napp = list(method = "napp", delta = 0),
  output = list(method = "output", delta = 0)
)

wrong <- function(method, epsilon, train, test) {
  arguments <- utils::modifyList(list(
    formula = y ~ ., data = train, family = "binomial", epsilon = epsilon, delta = 1e-4,
    bounds = limits, control = seeded
  ), methods[[method]])
  fit <- suppressWarnings(do.call(dp_glm, arguments))
  x <- cbind(1, data.matrix(test[-1]))
  mean((drop(x %*% coef(fit)) > 0) != test$y)
}

# DPpack with threshold one half and the same public limits; regularisation 1, as in its examples.
dppack_wrong <- function(epsilon, train, test) {
  numbers <- function(d) as.data.frame(lapply(d[-1], as.double))
  ends <- vapply(limits[-1], function(b) as.double(range(b)), c(0, 0))
  fit <- DPpack::LogisticRegressionDP$new("l2", epsilon, 1)
  fit$fit(numbers(train), data.frame(y = as.double(train$y)),
    upper.bounds = ends[2, ], lower.bounds = ends[1, ], add.bias = TRUE)
  chance <- fit$predict(numbers(test), add.bias = TRUE, raw.value = TRUE)
  mean((drop(as.matrix(chance)) > 0.5) != test$y)
}

has_dppack <- requireNamespace("DPpack", quietly = TRUE)
arms <- c(names(methods), if (has_dppack) "DPpack")
one_split <- function(people, epsilon, seed) {
  set.seed(seed)
  own <- sample(nrow(people), round(2 * nrow(people) / 3))
  train <- people[own, ]
  test <- people[-own, ]
  shares <- vapply(names(methods), wrong, 0, epsilon, train, test)
  c(shares, if (has_dppack) dppack_wrong(epsilon, train, test))
}

people <- people_of(read_adult())
rows <- lapply(c(0.1, 0.2, 0.4, 0.7, 1), function(epsilon) {
  shares <- vapply(2021 + seq_len(runs), function(seed) {
    one_split(people, epsilon, seed)
  }, numeric(length(arms)))
  data.frame(
    epsilon = epsilon, method = c(arms, "nobody"), runs = runs,
    wrong = round(c(rowMeans(shares), mean(people$y)), 4),
    error = round(c(apply(shares, 1, stats::sd) / sqrt(runs), NA), 4)
  )
})
results <- do.call(rbind, rows)
utils::write.csv(results, file.path(home, "results", "adult.csv"), row.names = FALSE)
print(stats::reshape(results[c("epsilon", "method", "wrong")],
  idvar = "method", timevar = "epsilon", direction = "wide"
), row.names = FALSE)
