# Real panels: cigarette sales in states, with 38 donors, and a panel of people.

proposition_99 <- function() {
  data <- utils::read.csv(shared_data("smoking.csv"))
  data$treated <- as.integer(data$state == "California" & data$year >= 1989)
  data[c("state", "year", "cigsale", "treated")]
}

smoking_fit <- function(data, ..., epsilon = 1, rng = "secure") {
  dp_synth(cigsale ~ treated, data,
    index = c("state", "year"), epsilon = epsilon, bounds = c(0, 400), ...,
    control = dp_control(rng = rng)
  )
}

printed <- function(x) utils::capture.output(print(x))

test_that("prints for Proposition 99 state the guarantee and name no state but California", {
  data <- proposition_99()
  for (method in c("gram", "output", "objective")) {
    for (calibration in c("tight", "published")) {
      fit <- smoking_fit(data, method = method, calibration = calibration)
      expect_identical(nobs(fit), 38L)
      expect_identical(rownames(effects(fit)), "California")
      expect_identical(colnames(effects(fit)), as.character(1989:2000))
      expect_true(all(is.finite(effects(fit))))
      text <- paste(printed(fit), collapse = "\n")
      expect_match(text, "cigsale: 38 donors, 19 periods before and 12 from the treatment on")
      nominal <- method == "objective" && calibration == "published"
      expect_match(text, if (nominal) "NOT PRIVATE: the nominal" else "  private: epsilon = 1, ")
      if (method != "gram") {
        expect_match(text, "THE NOISE SWAMPS THE DATA")
        expect_match(text, "38 donors at epsilon = 1 cannot support this method")
        expect_match(text, "of the privacy noise alone")
      }
      # No printed object names a state other than California.
      states <- setdiff(unique(data$state), "California")
      output <- c(text, printed(summary(fit)), printed(fit$release))
      for (state in states) expect_false(any(grepl(state, output, fixed = TRUE)))
    }
  }
})

test_that("at epsilon = 1 the print states that 38 states are too few for an interval", {
  data <- proposition_99()
  withr::local_seed(99)
  fit <- smoking_fit(data, rng = "R")
  expect_true(all(is.na(confint(fit))))
  expect_output(print(fit), "38 donors at epsilon = 1 cannot calibrate an interval")
})

test_that("without noise method gram's average effect for Proposition 99 is -30 to -8 packs", {
  data <- proposition_99()
  fit <- smoking_fit(data, epsilon = Inf)
  # Published synthetic controls give between -15 and -20 packs per year on average.
  expect_gt(mean(effects(fit)), -30)
  expect_lt(mean(effects(fit)), -8)
  expect_match(printed(fit), "NOT PRIVATE", all = FALSE)
  expect_lt(glance(fit)$pre.rmse, 5)
  did <- mean(effects(smoking_fit(data, epsilon = Inf, estimator = "did")))
  wide <- tapply(data$cigsale, list(data$state == "California", data$year >= 1989), mean)
  expect_equal(did, (wide[2, 2] - wide[2, 1]) - (wide[1, 2] - wide[1, 1]))
  expect_lt(did, -20)
  for (method in c("output", "objective")) {
    fit <- smoking_fit(data, epsilon = Inf, method = method)
    expect_match(printed(fit), "NOT PRIVATE", all = FALSE)
    expect_lt(abs(mean(effects(fit))), 60)
  }
})

wages_data <- function() {
  skip_if_not_installed("plm")
  here <- new.env()
  utils::data("Wages", package = "plm", envir = here)
  here$Wages
}

# The data contain 595 workers over 7 years. The treated unit is the mean log wage of a subgroup.
wages <- function(in_group) {
  workers <- wages_data()
  matrix <- matrix(workers$lwage, ncol = 7, byrow = TRUE)
  group <- in_group(workers[seq(1, nrow(workers), by = 7), ])
  list(donors = matrix[!group, ], target = colMeans(matrix[group, ]))
}

test_that("intervals for subgroups of workers, of whom nobody is treated, contain zero", {
  groups <- list(
    women = function(d) d$sex == "female", union = function(d) d$union == "yes",
    south = function(d) d$south == "yes"
  )
  for (in_group in groups) {
    p <- wages(in_group)
    fits <- lapply(c(1, 4, Inf), function(epsilon) {
      withr::with_seed(4, dp_synth(p$donors,
        target = p$target, T0 = 4, epsilon = epsilon, bounds = c(4, 9), times = 1976:1982,
        control = dp_control(rng = "R")
      ))
    })
    # Nobody is treated, so the gap is small, since wages grow equally.
    expect_lt(max(abs(effects(fits[[3L]]))), 0.1)
    expect_lt(abs(mean(effects(fits[[2L]]))), 0.3)
    expect_lt(abs(mean(effects(fits[[1L]]))), 0.8)
    for (fit in fits[1:2]) {
      limits <- confint(fit, "average")
      expect_true(limits[[1L]] <= 0 && 0 <= limits[[2L]])
    }
  }
})

test_that("the print of a private fit of log(wage) gives outcome, donors, periods and epsilon", {
  data <- wages_data()
  data$id <- rep(seq_len(595), each = 7)
  data$year <- rep(1976:1982, 595)
  women <- data$sex == "female"
  group <- stats::aggregate(exp(lwage) ~ year, data[women, ], mean)
  long <- rbind(
    data.frame(id = as.character(data$id), year = data$year, wage = exp(data$lwage))[!women, ],
    data.frame(id = "women", year = group$year, wage = group[[2L]])
  )
  fit <- dp_synth(log(wage) ~ I(id == "women" & year >= 1980), long,
    index = c("id", "year"), epsilon = 1, bounds = list("log(wage)" = c(4, 9))
  )
  expect_match(printed(fit), "  log(wage): 528 donors, 4 periods", fixed = TRUE, all = FALSE)
  expect_match(printed(fit), "  private: epsilon = 1", fixed = TRUE, all = FALSE)
  expect_identical(rownames(effects(fit)), "women")
})
