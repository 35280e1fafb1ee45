# Figure 6 of Li and Liu: misclassification of lasso logistic regression on Adult against epsilon.
# Data: fairml::adult (30,162 people, the paper's training set) or arules::AdultUCI, where one is
# installed, or DPSC_ADULT, the path of adult.rda from the sources of fairml. A third of the people
# is held out. The methods are those whose privacy holds, and glm(). Writes results/adult.csv: the
# share that is wrong, mean and its error over splits. Noise is seeded, for this figure alone.
library(dpsc)
home <- Sys.getenv("DPSC_REPRODUCTION", file.path("inst", "reproduction"))
runs <- as.integer(Sys.getenv("DPSC_ADULT_RUNS", "10"))
seeded <- dp_control(rng = "R")

read_adult <- function() {
  file <- Sys.getenv("DPSC_ADULT")
  if (nzchar(file) || requireNamespace("fairml", quietly = TRUE)) {
    if (nzchar(file)) load(file) else data("adult", package = "fairml", envir = environment())
    rows <- get("adult")
    rows$capital_gain <- 1000 * rows$capital_gain # fairml has thousands
    rows$capital_loss <- 1000 * rows$capital_loss
    return(rows)
  }
  if (!requireNamespace("arules", quietly = TRUE)) stop("Install fairml or arules, for the data.")
  utils::data("AdultUCI", package = "arules", envir = environment())
  rows <- get("AdultUCI")
  names(rows) <- gsub("-", "_", names(rows), fixed = TRUE)
  stats::na.omit(rows)
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

one_split <- function(people, epsilon) {
  own <- sample(nrow(people), round(2 * nrow(people) / 3))
  vapply(names(methods), wrong, 0, epsilon, people[own, ], people[-own, ])
}

people <- people_of(read_adult())
set.seed(2021)
rows <- lapply(c(0.1, 0.2, 0.4, 0.7, 1), function(epsilon) {
  shares <- replicate(runs, one_split(people, epsilon))
  data.frame(
    epsilon = epsilon, method = c(names(methods), "nobody"), runs = runs,
    wrong = round(c(rowMeans(shares), mean(people$y)), 4),
    error = round(c(apply(shares, 1, stats::sd) / sqrt(runs), NA), 4)
  )
})
results <- do.call(rbind, rows)
utils::write.csv(results, file.path(home, "results", "adult.csv"), row.names = FALSE)
print(stats::reshape(results[c("epsilon", "method", "wrong")],
  idvar = "method", timevar = "epsilon", direction = "wide"
), row.names = FALSE)
