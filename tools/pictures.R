# Draws every figure of the package at the two widths of a page, for review: Rscript
# tools/pictures.R [folder] [words of names]. Each contact sheet contains a white and a dark page.
arguments <- c(commandArgs(TRUE), NA)
folder <- if (is.na(arguments[[1L]])) file.path(tempdir(), "pictures") else arguments[[1L]]
wanted <- if (is.na(arguments[2L])) "" else arguments[[2L]]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)
library(dpsc)
set.seed(20)

widths <- c(column = 3.3, page = 6.5)
made <- new.env()

#' An object that several figures show, made once
once <- function(name, make) {
  if (is.null(made[[name]])) assign(name, make, made)
  made[[name]]
}

#' One figure on both pages; its object is made only where it is needed
picture <- function(name, draw, heights = c(2.6, 4)) {
  if (!grepl(wanted, name)) {
    return(invisible())
  }
  for (i in seq_along(widths)) {
    file <- file.path(folder, paste0(name, "-", names(widths)[[i]], ".png"))
    grDevices::png(file, width = widths[[i]], height = heights[[i]], units = "in", res = 300)
    tryCatch(draw(), error = function(e) cat(name, ": ", conditionMessage(e), "\n", sep = ""))
    grDevices::dev.off()
  }
}

types <- function(name, fit, types, ...) {
  for (type in types) {
    picture(paste0(name, "-", type), function() plot(fit(), type = type, ...))
  }
}

# Fits ---------------------------------------------------------------------------------------------

months <- seq(as.Date("2022-01-01"), by = "month", length.out = 24)
clinic <- function(...) {
  dp_synth(pressure ~ enrolled,
    data = clinic_panel, index = c("patient", "month"), delta = 1e-6,
    bounds = c(80, 200), size = 60, ...
  )
}
public <- function() once("public", clinic(epsilon = 1))
types("public", public, c("path", "effect", "cumulative", "percent", "balance"),
  labels = c(pressure = "Systolic blood pressure (mmHg)")
)
picture("public-simultaneous", function() {
  plot(public(), type = "cumulative", simultaneous = TRUE)
})
picture("public-raw", function() plot(clinic(epsilon = Inf)))
picture("public-output", function() plot(clinic(epsilon = 8, method = "output")))
picture("public-swamped", function() plot(clinic(epsilon = 0.01)))
matrix_fit <- function(targets = 1, T1 = 6, times = months) {
  panel <- sim_panel(n = 600, T0 = 24 - T1, T1 = T1, effect = 0.3)
  target <- do.call(rbind, lapply(seq_len(targets), function(i) panel$target + rnorm(24) / 20))
  rownames(target) <- c("Clinic of a rather long name in a street", paste("hospital", 2:9))[
    seq_len(targets)
  ]
  dp_synth(panel$donors,
    target = target, T0 = 24 - T1, epsilon = 2, delta = 1e-6, bounds = c(-1, 1), times = times,
    protect = if (targets > 1) "donors"
  )
}
types("three-targets", function() once("three", matrix_fit(3)), c("path", "effect", "balance"),
  targets = 1:3
)
types("nine-targets", function() once("nine", matrix_fit(9)), c("path", "effect"), targets = 1:9)
picture("one-period", function() plot(matrix_fit(T1 = 1)))
picture("words-as-periods", function() plot(matrix_fit(times = paste("week", 1:24))))

diaries <- function(waves = c(400, 400, 400), donors = 3000) {
  people <- donors + sum(waves)
  start <- rep(c(NA, 13, 15, 17)[seq_len(1 + length(waves))], c(donors, waves))
  days <- outer(rnorm(people, 11, 3), sin(1:20 / 2), `+`) + rnorm(20 * people, 0, 2) -
    1.5 * (!is.na(start) & outer(start, 1:20, `<=`))
  long <- data.frame(
    id = rep(seq_len(people), 20), month = rep(months[1:20], each = people),
    days = pmin(pmax(as.vector(round(days)), 0), 31)
  )
  long$pain <- pmin(pmax(10 - long$days / 3 + rnorm(nrow(long)), 0), 10)
  long$on <- as.numeric(!is.na(start[long$id]) & long$month >= months[start[long$id]])
  long
}
waves_data <- function() once("waves_data", diaries())
protected <- function() {
  once("protected", dp_synth(days ~ on, diaries(400),
    c("id", "month"), epsilon = 1, delta = 1e-6, bounds = c(0, 31), protect = "everyone"
  ))
}
types("protected", protected, c("path", "effect", "cumulative", "percent"))
protected_small <- function() {
  once("protected_small", dp_synth(days ~ on, diaries(60, 1500),
    c("id", "month"), epsilon = 1.4, delta = 1e-6, bounds = c(0, 31), protect = "everyone"
  ))
}
types("protected-small", protected_small, c("path", "effect", "percent"))
waves <- function() {
  once("waves", dp_synth(days ~ on, waves_data(),
    c("id", "month"), epsilon = 1, delta = 1e-6, bounds = c(0, 31), protect = "everyone"
  ))
}
types("waves", waves, c("event", "cohort", "calendar", "path"))
states <- function() {
  long <- waves_data()
  long <- long[long$id <= 3000 | long$id %% 400 == 0, ]
  once("states", dp_synth(days ~ on, long, c("id", "month"),
    epsilon = 1, delta = 1e-6, bounds = c(0, 31), protect = "donors", size = 500
  ))
}
types("states", states, c("event", "cohort", "calendar", "path"))
outcomes <- function() {
  once("outcomes", dp_synth(cbind(days, pain) ~ on, diaries(400),
    c("id", "month"), epsilon = 1, delta = 1e-6,
    bounds = list(days = c(0, 31), pain = c(0, 10)), protect = "everyone"
  ))
}
types("outcomes", outcomes, c("path", "effect", "cumulative", "percent"),
  labels = c(days = "Days in pain per month", pain = "Pain (0 to 10)")
)
outcomes_waves <- function() {
  once("outcomes_waves", dp_synth(cbind(days, pain) ~ on, waves_data(),
    c("id", "month"), epsilon = 1, delta = 1e-6,
    bounds = list(days = c(0, 31), pain = c(0, 10)), protect = "everyone"
  ))
}
types("outcomes-waves", outcomes_waves, c("event", "cohort", "calendar", "path"))
outcomes_public <- function() {
  once("outcomes_public", {
    long <- diaries(1)
    dp_synth(cbind(days, pain) ~ on, long, c("id", "month"),
      epsilon = 1, delta = 1e-6, protect = "donors", size = 500,
      bounds = list(days = c(0, 31), pain = c(0, 10))
    )
  })
}
types("outcomes-public", outcomes_public, c("path", "effect", "balance"))
picture("monitor", function() {
  panel <- sim_panel(n = 1000, T0 = 10, T1 = 4, effect = 0.3)
  fit <- dp_synth(panel$donors[, 1:11],
    target = panel$target[1:11], T0 = 10, epsilon = 2, bounds = c(-1, 1), monitor = 3
  )
  for (last in 12:14) {
    fit <- update(fit, panel$donors[, 1:last], target = panel$target[1:last])
  }
  plot(fit)
})

# Inference ----------------------------------------------------------------------------------------

whole <- function() once("whole", clinic(epsilon = 2, control = dp_control(features = Inf)))
picture("placebo-time", function() plot(placebo_time(whole())))
picture("placebo-time-path", function() plot(placebo_time(whole()), type = "path"))
picture("placebo-time-one", function() {
  dates <- placebo_time(whole())
  plot(dates, type = "path", dates = dates$date[[2L]])
})
picture("penalty-path", function() plot(penalty_path(whole())))
picture("conformal", function() plot(conformal(whole(), level = 0.8)))
picture("conformal-open", function() plot(conformal(whole())))

# Classical ----------------------------------------------------------------------------------------

smoking <- function() {
  once("smoking", {
    state <- c("California", paste("State", LETTERS[1:20]), "The commonwealth of a long name")
    level <- rnorm(22, 110, 12)
    sales <- outer(level, -0.8 * (1:31)) * 0 + level + outer(rnorm(22, 1, 0.4), -(1:31)) +
      matrix(rnorm(22 * 31, 0, 3), 22)
    sales[1, ] <- colMeans(sales[2:6, ]) + rnorm(31) - pmax(0, 1:31 - 19) * 2
    long <- data.frame(state = rep(state, 31), year = rep(1970:2000, each = 22),
      cigsale = as.vector(sales))
    long$law <- as.numeric(long$state == "California" & long$year > 1988)
    dp_synth(cigsale ~ law, long, c("state", "year"), epsilon = Inf, estimator = "simplex")
  })
}
types("classical", smoking, c("path", "effect", "cumulative", "percent", "balance", "weights"),
  labels = c(cigsale = "Packs per person")
)
picture("classical-sdid", function() plot(update(smoking(), estimator = "sdid")))
space <- function() once("space", placebo_space(smoking()))
picture("placebo-space", function() plot(space()))
picture("placebo-space-pruned", function() plot(space(), prune = 2))
picture("placebo-ratio", function() plot(space(), type = "ratio"), c(3.4, 4.5))
without <- function() once("without", leave_one_out(smoking()))
picture("leave-one-out", function() plot(without()))
picture("leave-one-out-weights", function() plot(without(), type = "weights"))
picture("classical-placebo-time", function() plot(placebo_time(smoking()), type = "path"))
picture("classical-conformal", function() plot(conformal(smoking(), level = 0.9)))
picture("release", function() plot(public()$release))

# Regression ---------------------------------------------------------------------------------------

workers <- function(n = 20000) {
  data <- data.frame(
    age = runif(n, 18, 65), region = sample(c("north", "south", "east"), n, TRUE),
    experience = runif(n, 0, 40)
  )
  data$wage <- pmin(pmax(5 + 0.2 * data$age + 3 * (data$region == "south") +
    0.1 * data$experience + rnorm(n, 0, 4), 0), 60)
  data$employed <- rbinom(n, 1, plogis(-1 + 0.04 * data$age))
  data
}
wage_bounds <- list(wage = c(0, 60), age = c(18, 65), region = c("east", "north", "south"),
  experience = c(0, 40))
wages <- function() {
  once("wages", dp_lm(wage ~ age + region + experience, workers(),
    epsilon = 1, delta = 1e-6, bounds = wage_bounds
  ))
}
picture("lm", function() {
  plot(wages(), labels = c(age = "Age (years)", experience = "Experience (years)"))
})
picture("lm-lost", function() {
  plot(dp_lm(wage ~ (age + region + experience)^2, workers(700), epsilon = 0.5, delta = 1e-6,
    bounds = wage_bounds))
})
picture("lm-open", function() {
  plot(dp_lm(wage ~ age + region, workers(500), epsilon = Inf, bounds = wage_bounds[1:3]))
})
picture("glm", function() {
  plot(dp_glm(employed ~ age + region, workers(), family = "binomial", epsilon = 2, delta = 1e-6,
    bounds = c(list(employed = c(0, 1)), wage_bounds[2:3])))
})
picture("lm-path", function() plot(lm_path(wages())))
picture("select", function() {
  n <- 5000
  rows <- as.data.frame(matrix(runif(n * 8, -1, 1), n))
  rows$y <- 0.5 * rows$V2 - 0.4 * rows$V3 + rnorm(n, sd = 0.2)
  plot(dp_select(y ~ ., rows, epsilon = 2, delta = 1e-6, size = 3,
    bounds = c(list(y = c(-2, 2)), setNames(rep(list(c(-1, 1)), 8), paste0("V", 1:8)))))
})
picture("describe", function() {
  plot(dp_describe(~ age + wage + region, workers(2000), epsilon = 1, bounds = wage_bounds[1:3]))
}, c(4, 4.5))
picture("describe-by", function() {
  data <- workers(3000)
  data$arm <- sample(c("not enrolled", "enrolled"), 3000, TRUE)
  plot(dp_describe(~ age + region, data, by = ~arm, epsilon = 1,
    bounds = c(wage_bounds[2:3], list(arm = c("not enrolled", "enrolled")))))
}, c(4, 4.5))
picture("aggregate", function() {
  plot(dp_aggregate(workers(), function(d) c(mean = mean(d$wage), slope = cov(d$wage, d$age)),
    lower = c(0, -50), upper = c(60, 50), epsilon = 2, delta = 1e-6, spread = TRUE))
})
picture("aggregate-median", function() {
  plot(dp_aggregate(workers(), function(d) mean(d$wage), lower = 0, upper = 60, epsilon = 2))
})

# Streams ------------------------------------------------------------------------------------------

picture("online", function() {
  stream <- dp_online(wage ~ age + experience, epsilon = 5, delta = 1e-6, horizon = 3000,
    bounds = wage_bounds[c(1, 2, 4)])
  update(stream, workers(3000))
  plot(stream)
})
picture("stream-sum", function() {
  stream <- dp_stream_sum(list(wage = c(0, 60), age = c(18, 65)), epsilon = 2, horizon = 365)
  update(stream, workers(200)[c("wage", "age")])
  plot(stream)
})
picture("stream-count", function() {
  stream <- dp_stream_count(epsilon = 2, horizon = 365)
  update(stream, rbinom(200, 1, 0.3))
  plot(stream)
})

# Plans --------------------------------------------------------------------------------------------

plan <- function() {
  once("plan", dp_plan(n = 1000, T0 = 18, T1 = 6, epsilon = 1,
    bounds = c(80, 200)))
}
types("plan", plan, c("error", "funnel"))
picture("plan-lm", function() {
  plot(dp_plan_lm(wage ~ age + region, wage_bounds[1:3], n = 20000, epsilon = 1))
})

# Audits and losses --------------------------------------------------------------------------------

small <- function() once("small", sim_panel(n = 30, T0 = 6, T1 = 2))
changed <- function() {
  other <- small()$donors
  other[1, ] <- -1
  other
}
ours <- function(method) audit_mechanism(method, target = small()$target, T0 = 6, epsilon = 1)
picture("audit-events", function() {
  wrong <- function(panel) sum(panel) + rnorm(1, sd = 5)
  plot(dp_audit(wrong, matrix(0, 5, 4), rbind(5, matrix(0, 4, 4)), epsilon = 1, delta = 1e-5,
    n_runs = 1000))
})
picture("audit-loss", function() {
  plot(dp_audit(function(panel) sum(panel) + rnorm(1, sd = 5), matrix(0, 5, 4),
    rbind(5, matrix(0, 4, 4)), epsilon = 5, delta = 1e-5, n_runs = 2000,
    log_density = function(output, panel) dnorm(output, sum(panel), 5, log = TRUE)))
})
picture("audit-calls", function() {
  plot(dp_audit(ours("gram"), small()$donors, changed(), n_runs = 20, mode = "replay"))
})
losses <- function() {
  panel <- sim_panel(n = 300, T0 = 10, T1 = 3)
  release <- dp_release(panel$donors,
    target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1), method = "output"
  )
  pdp(release, panel$donors)
}
picture("pdp", function() plot(once("losses", losses())))

cat("Figures are in ", folder, "\n", sep = "")
