# dp_glm() from formula to methods.

test_that("without privacy a fit by dp_glm() equals the fit by glm()", {
  for (family in c("binomial", "poisson", "gaussian")) {
    data <- glm_people(600, family)
    data$g <- factor(data$g)
    for (formula in c(y ~ a + b + g, y ~ a * g, y ~ log(a + 30) + I(b^2))) {
      bounds <- glm_bounds(family)
      if (family == "poisson") data$y <- pmin(data$y, 200)
      expect_silent(fit <- dp_glm(formula, data, family, epsilon = Inf, bounds = bounds))
      plain <- stats::glm(formula, family, data)
      expect_equal(coef(fit), coef(plain), tolerance = 1e-8)
      expect_equal(vcov(fit), if (family == "poisson") robust_vcov(plain) else vcov(plain),
        tolerance = 1e-6
      )
      new <- data.frame(a = c(2, 4), b = c(-1, 1), g = c("u", "w"))
      expect_equal(predict(fit, new, "response"), predict(plain, new, "response"),
        tolerance = 1e-8, ignore_attr = TRUE
      )
      expect_match(paste(utils::capture.output(print(fit)), collapse = " "), "NOT PRIVATE")
    }
  }
})

test_that("with a large budget dp_glm() is near glm(), and its gaussian fit resists outliers", {
  for (family in c("binomial", "poisson")) {
    data <- glm_people(20000, family)
    formula <- y ~ a + I(b^2) + b + g + b:g
    fit <- seeded_glm(formula, data, family, epsilon = 8, bounds = glm_bounds(family))
    plain <- stats::glm(formula, family, data)
    expect_identical(names(coef(fit)), names(coef(plain)))
    off <- (coef(fit) - coef(plain)) / sqrt(diag(vcov(plain)))
    expect_lt(max(abs(off)), 4)
    expect_true(all(fit$identified))
    expect_lt(max(sqrt(diag(vcov(fit)) / diag(vcov(plain)))), 2.5)
  }
  # Outliers affect least squares, but not the robust fit.
  data <- glm_people(20000, "gaussian")
  data$y[1:400] <- 50
  fit <- seeded_glm(y ~ a + b, data, "gaussian", epsilon = 4, bounds = glm_bounds("gaussian"))
  expect_lt(abs(coef(fit)[["b"]] + 0.7), 0.1)
})

test_that("logical, 0/1 and two-level outcomes give the same fit by dp_glm()", {
  data <- glm_people(2000)
  data$l <- data$y == 1
  data$f <- ifelse(data$l, "yes", "no")
  bounds <- c(glm_bounds(), list(l = c(FALSE, TRUE), f = c("no", "yes")))
  fits <- lapply(c(y ~ a, l ~ a, f ~ a, I(y > 0.5) ~ a), seeded_glm, data,
    epsilon = 2, bounds = bounds
  )
  for (fit in fits[-1]) expect_identical(unname(coef(fit)), unname(coef(fits[[1]])))
})

test_that("dp_glm() gives the same release for missing rows and for rows outside the subset", {
  data <- glm_people(3000)
  gone <- data
  gone$a[1:50] <- NA
  gone$g[51:60] <- "other"
  left <- data
  left$b[1:60] <- NA
  one <- seeded_glm(y ~ a + b + g, gone, epsilon = 2, bounds = glm_bounds())
  two <- seeded_glm(y ~ a + b + g, left, epsilon = 2, bounds = glm_bounds())
  expect_identical(one$release, two$release)
  data$keep <- seq_len(3000) > 60
  withr::local_seed(5)
  three <- dp_glm(y ~ a + b + g, data, epsilon = 2, bounds = glm_bounds(), subset = keep,
    control = dp_control(rng = "R")
  )
  expect_identical(one$release, three$release)
  expect_identical(nobs(three), 3000L)
})

test_that("invalid input of dp_glm() is refused before any budget is spent", {
  data <- glm_people(300)
  ledger <- dp_ledger(4, 1e-6)
  refused <- function(class, ...) {
    given <- list(...)
    usual <- list(
      formula = y ~ a + b, data = data, epsilon = 1, bounds = glm_bounds(), ledger = ledger
    )
    usual[names(given)] <- given
    expect_error(do.call(dp_glm, usual), class = paste0("dpsc_error_", class))
  }
  refused("argument", family = "Gamma")
  refused("argument", family = stats::binomial("probit"))
  refused("argument", family = 3)
  refused("argument", method = "nothing")
  refused("argument", calibration = "published")
  refused("argument", penalty = list(1))
  refused("argument", penalty = list(lasso = -1))
  refused("argument", penalty = list(lasso = 1, group = 1))
  refused("argument", constraints = list(1))
  refused("argument", constraints = list(lower = c(zz = 0)))
  refused("argument", constraints = list(lower = 1, upper = 0))
  refused("argument", constraints = list(lower = NA))
  refused("argument", settings = list(a = 1))
  refused("argument", intervals = NA)
  refused("argument", epsilon = -1)
  refused("argument", epsilon = 1e-8)
  refused("argument", delta = 1)
  refused("argument", formula = y ~ a + offset(b))
  refused("argument", formula = y ~ a - 1)
  refused("argument", formula = y ~ scale(a))
  refused("argument", formula = y ~ poly(a, 2))
  refused("bounds", bounds = glm_bounds()[-2])
  refused("bounds", bounds = utils::modifyList(glm_bounds(), list(y = c(0, 2))))
  refused("bounds", formula = a ~ b)
  refused("bounds", formula = g ~ b)
  refused("bounds", formula = a ~ b, family = "poisson")
  refused("data", data = as.list(data))
  refused("data", data = data[1:2, ])
  refused("data", data = data["a"])
  refused("budget", epsilon = Inf)
  refused("budget", epsilon = 5)
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  expect_error(dp_glm(y ~ a, data, bounds = glm_bounds()), class = "dpsc_error_argument")
  expect_error(dp_glm(y ~ a, data, epsilon = 1), class = "dpsc_error_argument")
  # The error is the same for any contents of the rows.
  message <- function(data) {
    tryCatch(
      dp_glm(y ~ a, data, epsilon = 1, bounds = list(y = c(0, 3), a = c(0, 1))),
      error = conditionMessage
    )
  }
  broken <- data
  broken[] <- NA_real_
  expect_identical(message(data), message(broken))
})

test_that("dp_glm() charges a ledger once per call and refuses to charge it for seeded noise", {
  data <- glm_people(500)
  ledger <- dp_ledger(4, 1e-5)
  fit <- dp_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), ledger = ledger)
  charge <- as.data.frame(ledger)
  expect_identical(charge$kind, "approximate")
  expect_identical(c(charge$epsilon, charge$delta), c(1, 1e-6))
  expect_true(fit$privacy$holds)
  expect_match(paste(utils::capture.output(print(fit)), collapse = " "),
    "private: epsilon = .*by replacing one person's row")
  pure <- dp_glm(y ~ a, data, epsilon = 1, delta = 0, bounds = glm_bounds(), ledger = ledger)
  expect_identical(as.data.frame(ledger)$kind, c("approximate", "pure"))
  expect_identical(pure$privacy$delta, 0)
  expect_error(
    seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), ledger = ledger),
    class = "dpsc_error_budget"
  )
  seeded <- seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds())
  expect_false(seeded$privacy$holds)
  expect_match(paste(utils::capture.output(print(seeded)), collapse = " "), "NOT PRIVATE")
})

test_that("dp_glm() gives finite fits for degenerate data and marks unidentified coefficients", {
  withr::local_seed(2)
  data <- glm_people(400)
  data$twin <- data$a
  data$flat <- 2
  data$sharp <- data$a > 3
  data$none <- 0
  bounds <- c(glm_bounds(), list(
    twin = c(-20, 20), flat = c(0, 4), sharp = c(FALSE, TRUE), none = c(0, 1)
  ))
  for (formula in c(y ~ a + twin, y ~ flat + b, sharp ~ a + b, none ~ a + b, y ~ .)) {
    for (delta in c(0, 1e-6)) {
      fit <- seeded_glm(formula, data, epsilon = 1, delta = delta, bounds = bounds)
      expect_true(all(is.finite(coef(fit))) && all(is.finite(vcov(fit))))
      expect_true(all(diag(vcov(fit)) > 0))
    }
  }
  # Such fits are usually refused before the charge (see below).
  unrefused <- function(...) with_internal("check_hopeful", function(...) NULL, seeded_glm(...))
  small <- unrefused(y ~ a + b + g, data[1:60, ], epsilon = 0.3, bounds = glm_bounds())
  expect_false(all(small$identified))
  told <- paste(utils::capture.output(print(small)), collapse = " ")
  expect_match(told, "Not identified at this budget")
  # The fit is mostly ridge, so linear predictors vary no more than the ridge permits for noise of
  # norm kappa d / ridge.
  wild <- replicate(20, {
    seed <- sample.int(1e6, 1)
    fit <- unrefused(y ~ a + b + g, data[1:60, ],
      epsilon = 0.3, bounds = glm_bounds(), seed = seed
    )
    stats::sd(predict(fit, data))
  })
  expect_lt(stats::median(wild), small$release$kappa * 5 / small$release$ridge)
})

test_that("before the charge dp_glm() refuses fits that the plan shows to be useless", {
  for (family in c("binomial", "poisson", "gaussian")) {
    for (delta in c(0, 1e-6)) {
      ledger <- dp_ledger(1, 1e-6)
      run <- function(data, epsilon, ...) {
        dp_glm(y ~ a + b, data, family, epsilon, delta,
          bounds = glm_bounds(family), ledger = ledger, ...
        )
      }
      error <- expect_error(
        run(glm_people(20, family), 1), "would identify no coefficient",
        class = "dpsc_error_argument"
      )
      expect_identical(nrow(as.data.frame(ledger)), 0L)
      # The suggested number of people is accepted, and so is a fit whose limits are informative.
      said <- gsub("\n", " ", conditionMessage(error))
      least <- as.numeric(sub(".*at least ([0-9]+) people.*", "\\1", said))
      expect_lt(least, 400)
      run(glm_people(least, family), 1)
      expect_identical(nrow(as.data.frame(ledger)), 1L)
    }
  }
  seeded_glm(y ~ a + b, glm_people(20),
    epsilon = 1, bounds = glm_bounds(), constraints = list(simplex = TRUE)
  )
})

test_that("methods for dp_glm() fits agree with each other; methods that need rows are refused", {
  data <- glm_people(5000)
  fit <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = glm_bounds())
  table <- tidy(fit, conf.int = TRUE)
  expect_identical(table$term, names(coef(fit)))
  expect_equal(table$std.error^2, unname(diag(vcov(fit))))
  expect_equal(vcov(fit), vcov(fit, "privacy") + vcov(fit, "sampling"))
  limits <- confint(fit)
  expect_equal(unname(limits[, 1]), table$conf.low)
  expect_identical(dim(confint(fit, "a", level = 0.9)), c(1L, 2L))
  expect_true(all(confint(fit, type = "sampling")[, 1] > limits[, 1]))
  expect_error(confint(fit, "zzz"), class = "dpsc_error_argument")
  odds <- tidy(fit, conf.int = TRUE, exponentiate = TRUE)
  expect_equal(odds$conf.high, exp(table$conf.high))
  new <- data.frame(a = c(1, 3), b = 0)
  band <- predict(fit, new, "response", "confidence")
  expect_true(all(band[, "lwr"] < band[, "fit"] & band[, "fit"] < band[, "upr"]))
  expect_equal(band[, "fit"], stats::plogis(predict(fit, new)), ignore_attr = TRUE)
  expect_equal(augment(fit, new)$.fitted, unname(band[, "fit"]))
  expect_identical(glance(fit)$nobs, 5000L)
  expect_identical(formula(fit), y ~ a + b, ignore_formula_env = TRUE)
  told <- paste(utils::capture.output(print(summary(fit))), collapse = " ")
  expect_match(told, "of which privacy")
  for (verb in list(residuals, fitted, deviance, logLik, hatvalues)) {
    expect_error(verb(fit), class = "dpsc_error_argument")
  }
  expect_error(predict(fit), class = "dpsc_error_argument")
  bare <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = glm_bounds(), intervals = FALSE)
  expect_error(vcov(bare), class = "dpsc_error_argument")
  expect_true(all(is.na(tidy(bare)$std.error)))
  expect_match(paste(utils::capture.output(print(bare)), collapse = " "), "No standard errors")
  skip_if_not_installed("ggplot2")
  expect_s3_class(ggplot2::autoplot(fit), "ggplot")
})

test_that("dp_glm() finds minimisers under penalties and limits, with exact zeros", {
  data <- glm_people(4000)
  data$z1 <- stats::rnorm(4000)
  data$z2 <- data$a + stats::rnorm(4000)
  bounds <- c(glm_bounds(), list(z1 = c(-5, 5), z2 = c(-30, 30)))
  fits <- function(...) {
    seeded_glm(y ~ a + b + g + z1 + z2, data, epsilon = 4, bounds = bounds, ...)
  }
  lasso <- fits(penalty = list(lasso = 0.02))
  expect_identical(unname(coef(lasso)["z1"]), 0)
  expect_true(all(coef(lasso)[c("a", "b")] != 0))
  expect_true(all(coef(fits(penalty = list(lasso = 10)))[-1] == 0))
  expect_true(all(coef(fits(penalty = list(group = 10)))[-1] == 0))
  group <- fits(penalty = list(group = 0.02))
  expect_identical(coef(group)[["gv"]] == 0, coef(group)[["gw"]] == 0)
  expect_true(all(coef(group)[c("a", "b")] != 0))
  # Table packages request limits for several models, and these models have no limits.
  table <- tidy(group, conf.int = TRUE)
  expect_true(all(is.na(table[c("std.error", "conf.low", "conf.high")])))
  expect_error(confint(group), "no standard errors", class = "dpsc_error_argument")
  soft <- fits(penalty = list(ridge = 0.1))
  expect_lt(sum(coef(soft)[-1]^2), sum(coef(fits())[-1]^2))
  free <- fits(penalty = list(lasso = 0))
  expect_equal(coef(free), coef(fits(intervals = FALSE)), tolerance = 0.05)
  limited <- fits(constraints = list(lower = 0, upper = c(a = 0.3)))
  expect_identical(coef(limited)[c("a", "b")], c(a = 0.3, b = 0))
  expect_true(all(coef(limited)[-1] >= 0))
  expect_error(vcov(limited), class = "dpsc_error_argument")
  expect_match(paste(utils::capture.output(print(limited)), collapse = " "), "No standard errors")
  # With lower limits above zero, zero is not feasible.
  high <- fits(constraints = list(lower = c(z1 = 0.2)))
  expect_identical(coef(high)[["z1"]], 0.2)
  for (family in c("poisson", "gaussian")) {
    fit <- seeded_glm(y ~ a + b + g, glm_people(4000, family), family, epsilon = 4,
      bounds = glm_bounds(family), penalty = list(lasso = 0.05), constraints = list(lower = -0.2)
    )
    expect_true(all(coef(fit)[-1] >= -0.2))
    expect_identical(coef(fit)[["b"]], -0.2)
  }
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(limited, path, allow_not_private = TRUE)
  expect_identical(read_release(path), limited)
})

test_that("the projection onto linear constraints is optimal, spends nothing and gives exact 0s", {
  withr::local_seed(1)
  # The result is compared with all sets of constraints that may bind.
  for (i in 1:150) {
    p <- sample(2:4, 1L)
    m <- sample(1:5, 1L)
    V <- crossprod(matrix(stats::rnorm(p * p), p)) + 0.05 * diag(p)
    A <- matrix(sample(c(-1, 0, 1, stats::rnorm(3)), m * p, TRUE), m)
    A[rowSums(A != 0) == 0, 1] <- 1
    inside <- stats::rnorm(p)
    b <- drop(A %*% inside) + stats::rexp(m) * sample(0:1, m, TRUE)
    equal <- stats::runif(m) < 0.2
    b[equal] <- drop(A %*% inside)[equal]
    from <- stats::rnorm(p, sd = 3)
    far <- function(x) sum((x - from) * solve(V, x - from))
    x <- dpsc:::nearest_within_cpp(from, V, list(A = A, b = b, equal = equal))
    expect_true(all(A %*% x <= b + 1e-7) && all(abs(A %*% x - b)[equal] < 1e-7))
    least <- Inf
    for (set in 0:(2^m - 1)) {
      on <- bitwAnd(set, 2^(0:(m - 1))) > 0 | equal
      rows <- A[on, , drop = FALSE]
      if (any(on) && rcond(rows %*% V %*% t(rows)) < 1e-10) next
      y <- from
      if (any(on)) {
        y <- drop(from - V %*% t(rows) %*% solve(rows %*% V %*% t(rows), rows %*% from - b[on]))
      }
      if (all(A %*% y <= b + 1e-8)) least <- min(least, far(y))
    }
    expect_lte(far(x), least + 1e-6)
  }
  data <- glm_people(3000)
  fits <- function(...) {
    seeded_glm(y ~ a + b, data,
      epsilon = 2, bounds = glm_bounds(), constraints = list(..., after = TRUE)
    )
  }
  plain <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = glm_bounds())
  simplex <- fits(simplex = TRUE)
  expect_identical(simplex$release, plain$release)
  expect_identical(coef(simplex)[["b"]], 0)
  expect_equal(sum(coef(simplex)[-1]), 1)
  less <- fits(A = c(a = 1, b = 1), b = -1, lower = -0.8)
  expect_equal(sum(coef(less)[-1]), -1)
  expect_identical(coef(less)[["b"]], -0.8)
  expect_identical(fits(A = diag(2), b = c(9, 9)) |> coef(), coef(plain))
  expect_error(vcov(less), class = "dpsc_error_argument")
  refused <- function(..., penalty = NULL) {
    expect_error(dp_glm(y ~ a + b, data,
      epsilon = 2, bounds = glm_bounds(), penalty = penalty, constraints = list(...)
    ), class = "dpsc_error_argument")
  }
  refused(simplex = TRUE, upper = 0.2)
  refused(A = diag(2))
  refused(A = matrix(0, 1, 2), b = 1)
  refused(A = c(nobody = 1), b = 1)
  refused(A = diag(2), b = c(1, NA))
  refused(simplex = TRUE, penalty = list(lasso = 1))
  refused(simplex = TRUE, penalty = list(group = 1))
  refused(simplex = TRUE, after = TRUE, penalty = list(ridge = 1))
  refused(simplex = 3)
  refused(lower = 0, after = 3)
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(less, path, allow_not_private = TRUE)
  expect_identical(coef(read_release(path)), coef(less))
})

test_that("in dp_glm() linear constraints and equivalent limits give the same slopes and zeros", {
  data <- glm_people(3000)
  data$z1 <- withr::with_seed(4, stats::rnorm(3000))
  bounds <- c(glm_bounds(), list(z1 = c(-5, 5)))
  fits <- function(..., penalty = NULL, epsilon = 2) {
    seeded_glm(y ~ a + b + z1, data,
      epsilon = epsilon, bounds = bounds, constraints = list(...), penalty = penalty
    )
  }
  # Two solvers give the same minimiser.
  for (epsilon in c(0.2, 4)) {
    limits <- fits(lower = 0, upper = c(a = 0.3), epsilon = epsilon)
    rows <- fits(A = rbind(-diag(3), c(1, 0, 0)), b = c(0, 0, 0, 0.3), epsilon = epsilon)
    expect_identical(coef(rows)[-1] == 0, coef(limits)[-1] == 0)
    expect_equal(coef(rows), coef(limits), tolerance = 1e-3)
  }
  expect_identical(coef(rows)[["a"]], 0.3)
  simplex <- fits(simplex = TRUE)
  expect_equal(sum(coef(simplex)[-1]), 1)
  expect_true(all(coef(simplex)[-1] >= 0))
  expect_identical(coef(simplex)[["b"]], 0)
  # If no constraint binds, the result equals the fit without information, which has no correction
  # for the ridge.
  wide <- fits(A = diag(3), b = rep(90, 3))
  free <- fits(lower = -90)
  expect_equal(coef(wide), coef(free), tolerance = 1e-3)
  # The penalty includes a ridge.
  soft <- fits(A = diag(3), b = rep(90, 3), penalty = list(ridge = 0.2))
  same <- fits(lower = -90, penalty = list(ridge = 0.2))
  expect_equal(coef(soft), coef(same), tolerance = 1e-3)
  expect_lt(sum(coef(soft)[-1]^2), sum(coef(wide)[-1]^2))
  expect_error(vcov(simplex), class = "dpsc_error_argument")
  for (family in c("poisson", "gaussian")) {
    fit <- seeded_glm(y ~ a + b + g, glm_people(4000, family), family, epsilon = 4,
      bounds = glm_bounds(family), constraints = list(A = c(a = 1, b = 1), b = -0.4)
    )
    expect_equal(sum(coef(fit)[c("a", "b")]), -0.4)
  }
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(simplex, path, allow_not_private = TRUE)
  expect_identical(coef(read_release(path)), coef(simplex))
})

test_that("dp_glm() finds minimisers within several constraints for degenerate data", {
  withr::local_seed(6)
  for (i in 1:24) {
    n <- sample(c(40, 300), 1L)
    data <- glm_people(n, seed = i)
    data$a <- data$a * 10^stats::runif(1, -6, 1)
    data$b <- if (i %% 3) 0 else data$a
    if (i %% 4 == 0) data$y <- 1
    fit <- suppressWarnings(seeded_glm(y ~ a + b + g, data,
      epsilon = 10^stats::runif(1, -1, 1), delta = sample(c(0, 1e-6), 1L), bounds = glm_bounds(),
      constraints = list(
        A = rbind(c(1, -1, 0, 0), c(1, 1, 1, 1), -c(1, 1, 1, 1)), b = c(0, 5, -5), lower = -100
      ), seed = i
    ))
    expect_false(isTRUE(fit$release$failed))
    slopes <- unname(coef(fit))[-1]
    expect_true(all(is.finite(slopes)) && slopes[[1L]] <= slopes[[2L]] + 1e-6)
    expect_equal(sum(slopes), 5, tolerance = 1e-6)
  }
})

test_that("a ridge in dp_glm() reduces standard errors; prints name the population's ridge fit", {
  data <- glm_people(20000)
  fits <- function(...) seeded_glm(y ~ a + b, data, epsilon = 4, bounds = glm_bounds(), ...)
  plain <- fits()
  soft <- fits(penalty = list(ridge = 0.05))
  hard <- fits(penalty = list(ridge = 1e4))
  expect_lt(sum(coef(soft)[-1]^2), sum(coef(plain)[-1]^2))
  se <- function(fit, type = "total") sqrt(diag(vcov(fit, type)))[-1]
  expect_true(all(se(soft) < se(plain)))
  expect_lt(max(se(hard)), 2e-3 * max(se(plain)))
  none <- fits(penalty = list(ridge = 0))
  # The tolerance of the solver differs, and therefore the noise that covers its error.
  expect_equal(vcov(none), vcov(plain), tolerance = 0.02)
  expect_equal(coef(none), coef(plain), tolerance = 1e-3)
  expect_match(paste(utils::capture.output(print(soft)), collapse = " "), "population's ridge fit")
  expect_error(vcov(fits(penalty = list(ridge = 1), constraints = list(lower = 0))),
    class = "dpsc_error_argument"
  )
})

test_that("coefficients of very rare levels are rarely identified and mostly within 2 SEs of 0", {
  withr::local_seed(2)
  n <- 20000
  off <- replicate(12, {
    data <- data.frame(a = stats::rnorm(n), g = sample(c("u", "v"), n, TRUE))
    data$g[1:2] <- "r"
    data$y <- stats::runif(n) < stats::plogis(data$a)
    fit <- dp_glm(y ~ a + g, data, epsilon = 4,
      bounds = list(y = c(FALSE, TRUE), a = c(-5, 5), g = c("u", "v", "r")),
      control = dp_control(rng = "R")
    )
    c(fit$identified[["gr"]], coef(fit)[["gr"]] / sqrt(vcov(fit)["gr", "gr"]),
      all(fit$identified[c("a", "gv")]))
  })
  expect_lte(sum(off[1, ]), 1)
  expect_lte(sum(abs(off[2, ]) > 2), 2)
  expect_true(all(off[3, ] == 1))
})

test_that("six methods of dp_glm() give finite estimates near the truth at a large epsilon", {
  data <- glm_people(500)
  for (method in c("objective", "kst", "cms", "napp", "output", "objective-public")) {
    for (delta in c(0, 1e-6)) {
      fit <- seeded_glm(y ~ a, data,
        epsilon = 1e6, delta = delta, bounds = glm_bounds(), method = method
      )
      expect_true(all(is.finite(coef(fit))))
      # The noise is small, but weights and ridges differ slightly between methods.
      expect_lt(abs(coef(fit)[["a"]] - 0.5), 0.3)
    }
  }
  # The solver's tolerance grows with the noise, so a small epsilon is tested as well.
  for (i in 1:6) {
    fit <- suppressWarnings(seeded_glm(y ~ a, data,
      epsilon = 1e-9, bounds = glm_bounds(), method = "napp", seed = i
    ))
    expect_true(all(is.finite(coef(fit))))
  }
})

test_that("a method of dp_glm() that needs no delta promises delta = 0", {
  data <- glm_people(500)
  fit <- seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), method = "cms")
  expect_identical(fit$privacy$delta, 0)
  own <- dp_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), method = "cms")
  expect_false(grepl("delta", paste(utils::capture.output(print(own)), collapse = " ")))
  expect_match(paste(unlist(report(own)), collapse = " "), "delta = 0")
  expect_identical(glance(own)$delta, 0)
  # Methods that use delta still report it.
  expect_identical(seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(),
    method = "objective-public")$privacy$delta, 1e-6)
  # The error gives no useless advice.
  expect_error(vcov(fit), "coefficients alone", class = "dpsc_error_argument")
  bare <- seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), intervals = FALSE)
  expect_error(vcov(bare), "intervals = TRUE", class = "dpsc_error_argument")
  lasso <- seeded_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), penalty = list(lasso = 1))
  expect_error(confint(lasso), "without penalty", class = "dpsc_error_argument")
  expect_error(update(bare, . ~ 1), "another budget", class = "dpsc_error_argument")
})

test_that("if no minimiser is found, dp_glm() is charged and returns NA coefficients, no error", {
  data <- glm_people(500)
  ledger <- dp_ledger(4, 1e-5)
  fit <- with_internal("glm_release_cpp", function(...) {
    rlang::abort("the solver did not reach its tolerance", class = "dpsc::solver_failed")
  }, dp_glm(y ~ a, data, epsilon = 1, bounds = glm_bounds(), ledger = ledger))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_true(all(is.na(coef(fit))) && !any(fit$identified))
  told <- paste(utils::capture.output(print(fit)), collapse = " ")
  expect_match(told, "budget is spent")
  expect_error(confint(fit), "not found", class = "dpsc_error_argument")
  expect_true(all(is.na(tidy(fit)$estimate)))
  skip_if_not_installed("jsonlite")
  path <- withr::local_tempfile(fileext = ".json")
  write_release(fit, path)
  expect_identical(coef(read_release(path)), coef(fit))
})

test_that("the plan of dp_glm() has no whitening round for 60 rows and one for 400 or more", {
  rounds <- function(n, epsilon, columns = 2L) {
    formula <- stats::reformulate(paste0("I(a^", seq_len(columns), ")"), "y")
    glm_plan_cpp(glm_facts_of(formula, n = n, epsilon = epsilon))[c("rounds", "located")]
  }
  expect_identical(rounds(60, 0.5)$rounds, 0L)
  expect_identical(rounds(400, 0.5)$rounds, 1L)
  expect_identical(rounds(1e5, 1), list(rounds = 1L, located = TRUE))
  # Omitted steps cost no budget.
  steps <- glm_plan_cpp(glm_facts_of(n = 60, epsilon = 0.5))$steps$step
  expect_false(any(grepl("moments|radius|median", steps)))
})

test_that("the scale that dp_glm() releases for a column of three values is above 0.4", {
  withr::local_seed(4)
  n <- 2000
  # Slightly more than half of the people are in the highest class, so most scales contain the same
  # people.
  data <- data.frame(class = sample(1:3, n, TRUE, c(0.25, 0.21, 0.54)), b = stats::rnorm(n))
  data$y <- as.double(stats::runif(n) < stats::plogis(1 - data$class / 2))
  scales <- replicate(12, dp_glm(y ~ class + b, data,
    epsilon = 4, bounds = list(y = c(0, 1), class = c(1, 3), b = c(-5, 5)),
    control = dp_control(rng = "R"), intervals = FALSE
  )$release$scale[[1L]])
  expect_gt(min(scales), 0.4)
})

test_that("dp_plan_glm() predicts the ratio of total to sampling SEs up to a factor of 1.23", {
  plan <- dp_plan_glm(n = c(300, 10000), p = 2, epsilon = c(1, 4))
  expect_identical(nrow(plan), 4L)
  expect_true(all(diff(plan$longer[1:2]) < 0))
  expect_identical(plan$identified[[4L]], TRUE)
  withr::local_seed(3)
  data <- data.frame(a = stats::rnorm(10000), b = stats::rnorm(10000))
  data$y <- stats::runif(10000) < stats::plogis(data$a)
  fit <- seeded_glm(y ~ a + b, data, epsilon = 1,
    bounds = list(y = c(FALSE, TRUE), a = c(-10, 10), b = c(-10, 10))
  )
  seen <- sqrt(diag(vcov(fit)) / diag(vcov(fit, "sampling")))[-1]
  expect_lt(max(abs(log(seen / plan$longer[[2L]]))), 0.2)
  plan <- dp_plan_glm(n = c(300, 1e5), p = 5, epsilon = 0.1)
  expect_identical(plan$identified, c(FALSE, TRUE))
  expect_error(dp_plan_glm(n = -1, p = 2), class = "dpsc_error_argument")
  expect_error(dp_plan_glm(n = 100, p = 0), class = "dpsc_error_argument")
  expect_error(dp_plan_glm(n = 100, p = 2, delta = 0), class = "dpsc_error_argument")
})

test_that("every method of dp_glm() in mechanism_table has the required fields", {
  for (record in mechanism_table$dp_glm) {
    expect_true(all(c("title", "families", "calibrations", "options", "promise", "plan", "run",
      "estimate") %in% names(record)))
    expect_true(all(record$families %in% names(glm_families)))
    expect_true(all(record$calibrations %in% c("tight", "published")))
  }
})

test_that("in 25 runs dp_glm() has a median error below 0.2; at least 43 of 50 intervals cover", {
  withr::local_seed(12)
  runs <- replicate(25, {
    x <- matrix(stats::rnorm(4000), 2000) / 3
    data <- data.frame(y = as.double(stats::runif(2000) < stats::plogis(2 * x[, 1] - x[, 2])), x)
    fit <- dp_glm(y ~ ., data,
      epsilon = 1, bounds = list(y = c(0, 1), X1 = c(-1, 1), X2 = c(-1, 1)),
      control = dp_control(rng = "R")
    )
    error <- coef(fit)[-1] - c(2, -1)
    c(error / 3, abs(error) < stats::qnorm(0.975) * sqrt(diag(vcov(fit)))[-1])
  })
  expect_lt(stats::median(sqrt(colSums(runs[1:2, ]^2))), 0.2)
  # With 50 intervals and a coverage of 95 %, at most 7 miss the truth, except with probability
  # 0.001.
  expect_gte(sum(runs[3:4, ]), 43)
})

test_that("a fit by dp_glm() is read back unchanged, and edits are detected", {
  skip_if_not_installed("jsonlite")
  data <- glm_people(2000)
  path <- withr::local_tempfile(fileext = ".json")
  formula <- y ~ log(a + 30) + I(b^2) + b + g
  for (delta in c(0, 1e-6)) {
    fit <- dp_glm(formula, data, epsilon = 2, delta = delta, bounds = glm_bounds())
    write_release(fit, path)
    expect_identical(read_release(path), fit)
  }
  X <- cbind(data$a, data$b)
  expect_no_canary(readLines(path), c(X, crossprod(X), colMeans(X)), "file")
  text <- readLines(path)
  edited <- list(
    sub("log\\(a \\+ 30\\)", "scale(a)", text), sub("binomial", "Gamma", text),
    sub("\"objective\"", "\"nothing\"", text), sub("I\\(b\\^2\\)", "system(b)", text)
  )
  for (lines in edited) {
    expect_false(identical(lines, text))
    writeLines(lines, path)
    mark_anew(path)
    expect_error(read_release(path), class = "dpsc_error_release")
  }
  writeLines(text[1:20], path)
  expect_error(read_release(path), class = "dpsc_error_release")
  seeded <- seeded_glm(y ~ a, data, epsilon = 2, bounds = glm_bounds())
  expect_error(write_release(seeded, path), class = "dpsc_error_release")
  write_release(seeded, path, allow_not_private = TRUE)
  expect_false(read_release(path)$privacy$holds)
})

test_that("the report of a fit by dp_glm() gives its results and its guarantee", {
  data <- glm_people(3000)
  fit <- dp_glm(y ~ a + b, data, epsilon = 2, bounds = glm_bounds())
  words <- report(fit)
  expect_length(words$result, 2)
  expect_match(words$result[[1]], "coefficient of a in the model of the log odds")
  expect_match(words$guarantee, "epsilon = 2 and delta = 1e-06")
  expect_match(paste(words$references, collapse = " "), "Kifer")
  expect_output(print(report(fit, "latex")), "paragraph")
  seeded <- seeded_glm(y ~ a + b, data, epsilon = 2, bounds = glm_bounds())
  expect_match(report(seeded)$guarantee, "NOT PRIVATE")
})

test_that("dp_glm() finds the minimiser for uninformative data and for excessively wide bounds", {
  withr::local_seed(15)
  people <- data.frame(x = stats::runif(1000))
  for (wide in c(10, 1e4)) {
    for (penalty in list(list(group = 0.1), list(lasso = 0.1), list(ridge = 0.1), NULL)) {
      for (y in list(0, stats::rnorm(1000))) {
        people$y <- y
        for (k in 1:4) {
          fit <- suppressWarnings(seeded_glm(y ~ x, people, "gaussian",
            epsilon = 3, penalty = penalty, bounds = list(y = c(-wide, wide), x = c(0, 1))
          ))
          expect_false(anyNA(coef(fit)))
        }
      }
    }
  }
})

test_that("dp_glm() finds penalised minimisers for 50 people at epsilon from 10 to 10,000", {
  penalties <- list(
    list(lasso = 0.05), list(lasso = 0.5), list(group = 0.05), list(ridge = 0.1),
    list(lasso = 0.01, ridge = 0.01)
  )
  bounds <- c(list(y = c(0, 200)), stats::setNames(rep(list(c(-8, 8)), 5), paste0("x", 1:5)))
  for (seed in if (is_audit()) 1:40 else 1:8) {
    withr::local_seed(seed)
    x <- matrix(stats::rnorm(50 * 5), 50, dimnames = list(NULL, names(bounds)[-1]))
    y <- pmin(stats::rpois(50, exp(pmin(drop(x %*% stats::rnorm(5)), 8))), 200)
    epsilon <- c(10, 60, 1000, 1e4)[[1L + seed %% 4L]]
    taken <- system.time(fit <- suppressWarnings(seeded_glm(y ~ ., data.frame(y, x), "poisson",
      epsilon = epsilon, bounds = bounds, penalty = penalties[[1L + seed %% 5L]], seed = seed
    )))
    expect_false(anyNA(coef(fit)))
    if (is_audit()) expect_lt(taken[["user.self"]], 5)
  }
})

test_that("with an epsilon of 1e7 or 1e9 dp_glm() returns finite coefficients", {
  rows <- data.frame(y = rep(0:1, 100), x = seq_len(200))
  bounds <- list(y = c(0, 1), x = c(0, 200))
  for (epsilon in c(1e7, 1e9)) {
    expect_true(all(is.finite(coef(dp_glm(y ~ x, rows, epsilon = epsilon, bounds = bounds)))))
  }
})

test_that("the default noise of dp_glm() is declared exact, and the noise for delta = 0 is not", {
  people <- glm_people(2000)
  fit <- function(...) dp_glm(y ~ a + g, people, "binomial", 4, bounds = glm_bounds(), ...)
  expect_true(fit()$privacy$exact)
  expect_output(print(fit()), "exact samplers; exact integer noise also covers all rounding errors")
  expect_false(fit(delta = 0)$privacy$exact)
  expect_output(print(fit(delta = 0)), "not exact")
})

test_that("a binomial outcome may be a share, and gaussian fits say which regression they are", {
  withr::local_seed(8)
  data <- data.frame(x = stats::rnorm(4000, 50, 10))
  data$share <- stats::plogis(-1 + (data$x - 50) / 20 + stats::rnorm(4000, sd = 0.3))
  bounds <- list(share = c(0, 1), x = c(0, 100))
  wanted <- stats::coef(stats::glm(share ~ x, stats::quasibinomial(), data))
  raw <- dp_glm(share ~ x, data, epsilon = Inf, bounds = bounds)
  expect_equal(stats::coef(raw), wanted, tolerance = 1e-8)
  # Rounded to 0 or 1 the slope would be five times as large. Method "output" has a ridge.
  error <- c(objective = 0.1, output = 0.3)
  for (method in names(error)) {
    fit <- seeded_glm(share ~ x, data, "quasibinomial", epsilon = 200, bounds = bounds,
      method = method)
    expect_lt(abs(stats::coef(fit)[["x"]] / wanted[["x"]] - 1), error[[method]], label = method)
  }
  data$cost <- data$x + stats::rexp(4000, 0.1)
  limits <- list(cost = c(0, 200), x = c(0, 100))
  robust <- seeded_glm(cost ~ x, data, "gaussian", epsilon = 5, bounds = limits)
  expect_output(print(robust), "robust\\s+regression.*use\\s+dp_lm")
  expect_match(paste(format(report(robust)), collapse = " "), "centre \\(log-cosh loss\\)")
  plain <- dp_glm(cost ~ x, data, "gaussian", epsilon = Inf, bounds = limits)
  expect_output(print(plain), "least squares")
  expect_equal(stats::coef(plain), stats::coef(stats::lm(cost ~ x, data)), tolerance = 1e-8)
})
