# Private generalised linear models: error of the linear predictor and coverage of intervals over a
# grid of designs, compared with glm() (not private) and with objective perturbation with the
# constants of Kifer, Smith and Thakurta (replace-one, public coordinates); and real data. Not
# private: seeded.
#   rmse      root mean square over people of x'(theta - truth), intercept included, median of runs;
#             with slopes of zero: 1.5
#   coverage  of 95 % intervals of all slopes, and of slopes reported as identified
#   longer    dp_glm over glm; planned, planned_identified: forecasts of dp_plan_glm()
#   earlier   error of a prototype (2 to 20 runs per cell, without intervals)
# Design "n": independent normal regressors of standard deviation 1/3, bounds +-1. Design "iw":
# correlations 0.8^|i - j|, standard deviations from 1/3 to 1/30, means +-0.3, bounds +-5, and
# slopes of alternating signs, along the direction that varies least. Design "i1": as "iw", but with
# slopes of one sign, which reproduces the numbers of the prototype and of Kifer, Smith and Thakurta
# for three columns (their signs were not recorded).
# DPSC_BENCH_SCALE multiplies the runs. DPSC_BENCH_DATA lists libraries (in the form of PATH) with
# ISLR2, titanic, nycflights13 and DPpack. DPSC_BENCH_PARTS lists the parts to run: "grid",
# "families", "real".
library(dpsc)
set.seed(16)
delta <- 1e-6
more <- as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1"))
parts <- strsplit(Sys.getenv("DPSC_BENCH_PARTS", "grid,families,real"), ",")[[1L]]

make_people <- function(n, p, design) {
  sign <- if (design == "i1") rep(1, p) else c(1, -1)[1 + seq_len(p) %% 2]
  if (design == "n") {
    sigma <- diag(p) / 9
    mean <- rep(0, p)
    slopes <- sign
    limit <- 1
  } else {
    sds <- exp(seq(log(1 / 3), log(1 / 30), length.out = p))
    sigma <- 0.8^abs(outer(seq_len(p), seq_len(p), "-")) * outer(sds, sds)
    mean <- 0.3 * sign
    slopes <- sign / sds
    limit <- 5
  }
  slopes <- slopes * 1.5 / sqrt(drop(slopes %*% sigma %*% slopes))
  intercept <- -0.5 - sum(mean * slopes)
  x <- matrix(rnorm(n * p), n) %*% chol(sigma) + rep(mean, each = n)
  colnames(x) <- paste0("x", seq_len(p))
  y <- as.double(runif(n) < plogis(intercept + drop(x %*% slopes)))
  list(
    data = data.frame(y = y, x), sigma = sigma, mean = mean, truth = c(intercept, slopes),
    bounds = c(list(y = c(0, 1)), stats::setNames(rep(list(c(-limit, limit)), p), colnames(x)))
  )
}

predictor_error <- function(b, people) {
  e <- b - people$truth
  sqrt((e[[1]] + sum(people$mean * e[-1]))^2 + drop(e[-1] %*% people$sigma %*% e[-1]))
}

# Kifer, Smith and Thakurta (2012), replace-one: a Gaussian linear term, half of epsilon for the
# determinant, and rows in the unit ball of public coordinates.
kst <- function(people, epsilon) {
  data <- people$data
  half <- vapply(people$bounds[-1], function(b) diff(b) / 2, 0)
  mid <- vapply(people$bounds[-1], mean, 0)
  x <- sweep(sweep(as.matrix(data[-1]), 2, mid), 2, half, "/")
  x <- cbind(1, pmax(pmin(x, 1), -1))
  limit <- sqrt(ncol(x))
  x <- x * pmin(1, limit / sqrt(rowSums(x^2)))
  ridge <- 2 * (limit^2 / 4) / epsilon
  sd <- 2 * limit * sqrt(8 * log(2 / delta) + 4 * epsilon) / epsilon
  b <- rnorm(ncol(x), sd = sd)
  theta <- rep(0, ncol(x))
  for (i in 1:100) {
    m <- plogis(drop(x %*% theta))
    g <- colSums((m - data$y) * x) + ridge * theta + b
    step <- solve(crossprod(x, m * (1 - m) * x) + diag(ridge, ncol(x)), g)
    theta <- theta - step * min(1, 5 / sqrt(sum(step^2)))
    if (sum(step^2) < 1e-16) break
  }
  slopes <- theta[-1] / half
  c(theta[[1]] - sum(slopes * mid), slopes)
}

run_once <- function(cell) {
  people <- make_people(cell$n, cell$p, cell$design)
  fit <- suppressWarnings(dp_glm(y ~ ., people$data, "binomial", cell$epsilon, delta, people$bounds,
    control = dp_control(rng = "R")
  ))
  bare <- suppressWarnings(dp_glm(y ~ ., people$data, "binomial", cell$epsilon, delta,
    people$bounds, control = dp_control(rng = "R"), intervals = FALSE
  ))
  raw <- suppressWarnings(stats::glm.fit(
    cbind(1, as.matrix(people$data[-1])), people$data$y, family = stats::binomial()
  ))$coefficients
  inside <- abs(coef(fit) - people$truth) < stats::qnorm(0.975) * sqrt(diag(vcov(fit)))
  known <- fit$identified
  c(
    glm = predictor_error(raw, people), kst = predictor_error(kst(people, cell$epsilon), people),
    rmse = predictor_error(coef(fit), people), bare = predictor_error(coef(bare), people),
    inside = sum(inside[-1]), inside_known = sum((inside & known)[-1]), known = sum(known[-1])
  )
}

run_fields <- c("glm", "kst", "rmse", "bare", "inside", "inside_known", "known")
cells <- utils::read.table(header = TRUE, text = "
n p design epsilon earlier runs
500 3 n 1 .367 40
2000 3 n 1 .154 40
10000 3 n 1 .052 20
100000 3 n 1 .017 8
500 3 iw 1 .481 40
2000 3 iw 1 .174 40
10000 3 iw 1 .046 20
100000 3 iw 1 .015 8
500 10 n 1 1.053 20
2000 10 n 1 .393 20
10000 10 n 1 .104 8
500 10 iw 1 1.331 20
2000 10 iw 1 .790 20
10000 10 iw 1 .140 8
100000 10 iw 1 .024 8
2000 30 n 1 .863 4
10000 30 n 1 .258 6
10000 30 iw 1 .452 6
500 3 n .5 .701 40
2000 3 n .5 .202 40
10000 3 n .5 .065 20
2000 3 iw .5 .304 40
10000 3 iw .5 .077 20
2000 10 n .5 .641 20
10000 10 n .5 .147 8
10000 10 iw .5 .295 8
500 3 n 4 .217 40
2000 3 n 4 .106 40
500 3 iw 4 .214 40
2000 3 iw 4 .109 40
500 10 n 4 .488 20
2000 10 n 4 .217 20
2000 10 iw 4 .244 20
10000 10 iw 4 .083 8
500 3 i1 .5 .779 40
500 3 i1 1 .481 40
500 3 i1 4 .214 40
2000 3 i1 .5 .304 40
2000 3 i1 1 .174 40
")

rows <- lapply(seq_len(nrow(cells) * ("grid" %in% parts)), function(i) {
  set.seed(160 + i)
  cell <- cells[i, ]
  runs <- max(1, round(cell$runs * more))
  values <- tryCatch(replicate(runs, run_once(cell)), dpsc_error_argument = function(e) NULL)
  # Fits that are hopeless by their plan are refused before the charge, for any rows.
  refused <- is.null(values)
  if (refused) values <- matrix(NA_real_, 7L, 1L, dimnames = list(run_fields, NULL))
  middle <- signif(apply(values[1:4, , drop = FALSE], 1, stats::median), 3)
  total <- rowSums(values[5:7, , drop = FALSE])
  out <- data.frame(
    n = cell$n, p = cell$p, design = cell$design, epsilon = cell$epsilon, runs = runs,
    glm = middle[["glm"]], kst = middle[["kst"]], dp_glm = middle[["rmse"]],
    no_intervals = middle[["bare"]], earlier = cell$earlier,
    coverage = round(total[["inside"]] / (runs * cell$p), 3),
    coverage_identified = if (isTRUE(total[["known"]] > 0)) {
      round(total[["inside_known"]] / total[["known"]], 3)
    } else {
      NA
    },
    identified = round(total[["known"]] / (runs * cell$p), 3), refused = refused
  )
  plan <- dp_plan_glm(n = cell$n, p = cell$p, epsilon = cell$epsilon)
  out$longer <- round(out$dp_glm / out$glm, 2)
  out$planned <- round(plan$longer, 2)
  out$planned_identified <- plan$identified
  out$worse <- out$no_intervals > 1.3 * cell$earlier
  cat(sprintf(
    paste("n %6g p %2d %-2s eps %.1f: %.3f, without intervals %.3f (earlier %.3f), kst %.2f;",
      "coverage %.3f, %.3f of %.2f\n"
    ),
    cell$n, cell$p, cell$design, cell$epsilon, out$dp_glm, out$no_intervals, cell$earlier, out$kst,
    out$coverage, out$coverage_identified, out$identified
  ))
  out
})
if (length(rows)) {
  utils::write.csv(do.call(rbind, rows), "bench/results/glm.csv", row.names = FALSE)
}

# Coverage in all families -------------------------------------------------------------------------

# The slopes have the shape of the design. The standard deviation of the linear predictor is 0.5
# (counts), 1 (log-cosh, with noise from Student's t with 3 degrees of freedom) or 1.5 (logistic).
family_people <- function(n, p, design, family) {
  people <- make_people(n, p, design)
  if (family == "binomial") return(people)
  slopes <- people$truth[-1] / 1.5 * if (family == "poisson") 0.5 else 1
  people$truth <- c(0.7 - sum(people$mean * slopes), slopes)
  eta <- people$truth[[1L]] + drop(as.matrix(people$data[-1]) %*% slopes)
  people$data$y <- if (family == "poisson") {
    pmin(stats::rpois(n, exp(eta)), 100)
  } else {
    pmin(pmax(eta + stats::rt(n, 3), -30), 30)
  }
  people$bounds$y <- if (family == "poisson") c(0, 100) else c(-30, 30)
  people
}

family_cells <- expand.grid(
  n = c(500, 2000, 10000), p = c(3, 10), design = c("n", "iw"), epsilon = c(0.5, 1),
  family = c("binomial", "poisson", "gaussian"), stringsAsFactors = FALSE
)
covered <- lapply(seq_len(nrow(family_cells) * ("families" %in% parts)), function(i) {
  set.seed(1600 + i)
  cell <- family_cells[i, ]
  runs <- max(2, round(more * min(60, 2e5 / cell$n)))
  total <- tryCatch(rowSums(replicate(runs, {
    people <- family_people(cell$n, cell$p, cell$design, cell$family)
    fit <- suppressWarnings(dp_glm(y ~ ., people$data, cell$family, cell$epsilon, delta,
      people$bounds, control = dp_control(rng = "R")
    ))
    inside <- abs(coef(fit) - people$truth)[-1] <
      stats::qnorm(0.975) * sqrt(diag(vcov(fit)))[-1]
    known <- fit$identified[-1]
    c(all = sum(inside), known = sum(known), both = sum(inside & known))
  })), dpsc_error_argument = function(e) c(all = NA, known = 0, both = 0))
  out <- cbind(cell, runs = runs, coverage = round(total[["all"]] / (runs * cell$p), 3),
    coverage_identified = if (total[["known"]]) {
      round(total[["both"]] / total[["known"]], 3)
    } else {
      NA
    },
    identified = round(total[["known"]] / (runs * cell$p), 3), refused = is.na(total[["all"]])
  )
  print(out, row.names = FALSE)
  out
})
if (length(covered)) {
  utils::write.csv(do.call(rbind, covered), "bench/results/glm-coverage.csv", row.names = FALSE)
}

# Real data ----------------------------------------------------------------------------------------

extra <- strsplit(Sys.getenv("DPSC_BENCH_DATA"), .Platform$path.sep, fixed = TRUE)[[1L]]
.libPaths(c(extra, .libPaths()))
data_of <- function(package, name) {
  if (!requireNamespace(package, quietly = TRUE)) return(NULL)
  place <- new.env()
  utils::data(list = name, package = package, envir = place)
  if (exists(name, place)) get(name, place) else getExportedValue(package, name)
}

sets <- list(
  Default = function() {
    d <- data_of("ISLR2", "Default")
    if (is.null(d)) return(NULL)
    data <- data.frame(
      y = d$default == "Yes", student = d$student == "Yes", balance = d$balance, income = d$income
    )
    list(data = data, earlier = c(0.401, 0.446, 0.456), bounds = list(
      y = c(FALSE, TRUE), student = c(FALSE, TRUE), balance = c(0, 5000), income = c(0, 150000)
    ))
  },
  Pima = function() {
    d <- rbind(MASS::Pima.tr, MASS::Pima.te)
    d$y <- d$type == "Yes"
    d$type <- NULL
    list(data = d, earlier = c(0.081, 0.212, 0.242), bounds = list(
      y = c(FALSE, TRUE), npreg = c(0, 20), glu = c(0, 300), bp = c(0, 200), skin = c(0, 100),
      bmi = c(10, 80), ped = c(0, 3), age = c(18, 100)
    ))
  },
  titanic = function() {
    d <- data_of("titanic", "titanic_train")
    if (is.null(d)) return(NULL)
    d <- d[!is.na(d$Age), ]
    data <- data.frame(
      y = d$Survived == 1, class = d$Pclass, sex = d$Sex == "male", age = d$Age, sib = d$SibSp,
      par = d$Parch, fare = d$Fare
    )
    list(data = data, earlier = c(0.239, 0.316, 0.299), bounds = list(
      y = c(FALSE, TRUE), class = c(1, 3), sex = c(FALSE, TRUE), age = c(0, 100), sib = c(0, 10),
      par = c(0, 10), fare = c(0, 600)
    ))
  },
  flights40k = function() {
    d <- data_of("nycflights13", "flights")
    if (is.null(d)) return(NULL)
    d <- as.data.frame(d)[!is.na(d$arr_delay), ]
    d <- d[sample(nrow(d), 40000), ]
    data <- data.frame(
      y = d$arr_delay > 30, month = d$month, hour = d$hour, distance = d$distance,
      air = d$air_time, ewr = d$origin == "EWR", jfk = d$origin == "JFK", day = d$day,
      united = d$carrier == "UA"
    )
    list(data = data, earlier = c(0.054, 0.053, NA), bounds = list(
      y = c(FALSE, TRUE), month = c(1, 12), hour = c(0, 24), distance = c(0, 6000),
      air = c(0, 800), ewr = c(FALSE, TRUE), jfk = c(FALSE, TRUE), day = c(1, 31),
      united = c(FALSE, TRUE)
    ))
  }
)

explained <- function(p, y, base) {
  p <- pmin(pmax(p, 1e-12), 1 - 1e-12)
  log_likelihood <- function(p) sum(log(ifelse(y, p, 1 - p)))
  1 - log_likelihood(p) / log_likelihood(rep(base, length(y)))
}

# The method of Chaudhuri, Monteleoni and Sarwate as implemented in DPpack, with pure privacy and
# public bounds.
peer <- function(train, test, bounds, epsilon) {
  if (!requireNamespace("DPpack", quietly = TRUE)) return(NULL)
  as_numbers <- function(d) as.data.frame(lapply(d, as.double))
  limits <- vapply(bounds[-1], function(b) as.double(range(b)), c(0, 0))
  fit <- DPpack::LogisticRegressionDP$new("l2", epsilon, 1)
  fit$fit(as_numbers(train[-1]), data.frame(y = as.double(train$y)),
    upper.bounds = limits[2, ], lower.bounds = limits[1, ], add.bias = TRUE
  )
  drop(fit$predict(as_numbers(test[-1]), add.bias = TRUE, raw.value = TRUE))
}

real <- lapply(names(sets)["real" %in% parts], function(name) {
  set.seed(17)
  set <- sets[[name]]()
  if (is.null(set)) return(NULL)
  do.call(rbind, lapply(seq_along(c(0.5, 1, 4)), function(k) {
    epsilon <- c(0.5, 1, 4)[[k]]
    names(set$data) <- names(set$data)
    ordered <- set$data[names(set$bounds)]
    values <- replicate(max(2, round(12 * more)), {
      own <- sample(nrow(ordered), round(0.8 * nrow(ordered)))
      train <- ordered[own, ]
      test <- ordered[-own, ]
      rownames(test) <- NULL
      # The result is NULL if the fit is refused before the charge.
      own_fit <- function(delta) {
        tryCatch(suppressWarnings(dp_glm(y ~ ., train, "binomial", epsilon, delta, set$bounds,
          intervals = FALSE, control = dp_control(rng = "R")
        )), dpsc_error_argument = function(e) NULL)
      }
      fit <- own_fit(delta)
      pure <- own_fit(0)
      plain <- suppressWarnings(stats::glm(y ~ ., stats::binomial(), train))
      other <- tryCatch(peer(train, test, set$bounds, epsilon), error = function(e) NULL)
      base <- mean(train$y)
      score <- function(p) explained(p, test$y, base)
      c(
        glm = score(stats::predict(plain, test, type = "response")),
        dp_glm = if (is.null(fit)) NA else score(predict(fit, test, "response")),
        pure = if (is.null(pure)) NA else score(predict(pure, test, "response")),
        dppack = if (is.null(other)) NA else score(other)
      )
    })
    middle <- round(apply(values, 1, stats::median), 3)
    out <- data.frame(
      data = name, n = round(0.8 * nrow(ordered)), p = ncol(ordered) - 1, epsilon = epsilon,
      runs = ncol(values), t(middle), earlier = set$earlier[[k]]
    )
    print(out)
    out
  }))
})
if (length(real)) {
  utils::write.csv(do.call(rbind, real), "bench/results/glm-real.csv", row.names = FALSE)
}
