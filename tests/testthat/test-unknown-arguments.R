# An unknown argument causes an error of this package, which names the argument. R's own error would
# contain the call, and the call of do.call() contains people's data.

# These exports take only public facts.
without_people <- c(
  "cdp_delta", "cdp_epsilon", "cdp_rho", "dp_control", "dp_explore", "dp_ledger", "dp_online",
  "dp_plan_glm", "dp_plan_lm", "dp_plan_online", "dp_plan_select", "dp_stream_count",
  "dp_stream_sum", "gaussian_delta", "gaussian_sigma", "paper_rmse_bound", "read_release",
  "resume_stream", "ridge_sensitivity", "sim_panel"
)

# These generics take a fit; its methods ignore further arguments, as table packages require.
ignoring <- c("augment", "glance")

# For each export that takes people's data, or an object computed from them, valid arguments.
calls_with_people <- function(p, env = parent.frame()) {
  withr::local_seed(1)
  d <- data.frame(y = p$donors[, 1L], x = p$donors[, 2L], b = p$donors[, 3L] > 500)
  limits <- list(y = p$bounds, x = p$bounds)
  raw <- dp_synth(p$donors, p$target, 6, epsilon = Inf, estimator = "simplex")
  open <- dp_synth(p$donors, p$target, 6,
    epsilon = 9, bounds = p$bounds, control = dp_control(rng = "R", features = Inf)
  )
  stream <- dp_stream_sum(p$bounds, 1, horizon = 99)
  update(stream, d$y)
  losses <- pdp(open, p$donors, p$target)
  fit <- dp_lm(y ~ x, d, 40, bounds = limits, control = dp_control(rng = "R"))
  file <- withr::local_tempfile(.local_envir = env)
  long <- list(y ~ on, data = p$data, index = c("unit", "time"), epsilon = 1, bounds = p$bounds)
  list(
    audit_mechanism = list("gram", target = p$target, T0 = 6, epsilon = 1),
    augment = list(raw), checkpoint = list(stream, file), combine_releases = list(open$release),
    conformal = list(raw),
    dp_aggregate = list(d, mean, lower = 0, upper = 1, epsilon = 1),
    dp_audit = list(audit_mechanism("gram", target = p$target, T0 = 6, epsilon = 1),
      p$donors, p$donors),
    dp_chunks = list(list(p$donors)),
    dp_describe = list(~x, data = d, epsilon = 1, bounds = limits[2L]),
    dp_files = list(rownames(p$donors)),
    dp_glm = list(b ~ x, data = d, epsilon = 1, bounds = limits[2L]),
    dp_lm = list(y ~ x, data = d, epsilon = 1, bounds = limits),
    dp_plan = list(pilot = p$donors, T0 = 6),
    dp_release = long,
    dp_roster = list(rownames(p$donors), p$donors[, 1L], p$donors[, 2L]),
    dp_select = list(y ~ x, data = d, epsilon = 1, size = 1, bounds = limits),
    dp_sources = list(list(p$donors)), dp_synth = long, dp_table = list(d, rownames(p$donors)),
    dp_workers = list(d, function(i) d), glance = list(raw), leave_one_out = list(raw),
    lm_path = list(fit), monitor_left = list(raw), pdp = list(open, p$donors, p$target),
    pdp_bound = list(open, row = p$donors), pdp_compose = list(losses),
    pdp_delta = list(losses, 1), penalty_path = list(raw), placebo_errors = list(raw),
    placebo_space = list(raw), placebo_time = list(raw), report = list(raw), tidy = list(raw),
    verify_ledger = list(dp_ledger(1), releases = list(raw)), write_release = list(raw, file)
  )
}

# Further methods and generics that take people's data.
more_calls_with_people <- function(p) {
  withr::local_seed(1)
  d <- data.frame(y = p$donors[, 1L], x = p$donors[, 2L], b = p$donors[, 3L] > 500)
  control <- dp_control(rng = "R")
  limits <- list(y = p$bounds, x = p$bounds)
  limits_b <- list(x = p$bounds, b = c(FALSE, TRUE))
  lm <- dp_lm(y ~ x, d, 40, bounds = limits, control = control)
  glm <- dp_glm(b ~ x, d, epsilon = 40, bounds = limits_b, control = control)
  online <- dp_online(y ~ x, 40, horizon = 99, bounds = limits, control = control)
  update(online, d)
  select <- dp_select(y ~ x, d, 40, size = 1, bounds = limits, control = control)
  growing <- suppressWarnings(dp_synth(p$donors, p$target, 6,
    epsilon = 9, bounds = p$bounds, control = control, monitor = 2
  ))
  raw <- dp_synth(p$donors, p$target, 6, epsilon = Inf, estimator = "simplex")
  wide <- list(p$donors, target = p$target, T0 = 6, epsilon = 1, bounds = p$bounds)
  chunks <- c(list(dp_chunks(list(p$donors))), wide[-1L])
  list(
    list("dp_synth", wide), list("dp_release", wide), list("dp_synth", chunks),
    list("dp_release", chunks), list("pdp", list(lm, data = d)), list("pdp", list(glm, data = d)),
    list("augment", list(lm, newdata = d)), list("augment", list(glm, newdata = d)),
    list("update", list(online, d)), list("update", list(growing, newdata = p$donors)),
    list("update", list(raw, target = p$target)), list("predict", list(online, newdata = d)),
    list("predict", list(lm, newdata = d)), list("predict", list(glm, newdata = d)),
    list("predict", list(select, newdata = d)), list("tidy", list(lm)), list("report", list(lm)),
    list("summary", list(raw)), list("confint", list(raw)), list("coef", list(raw))
  )
}

# The condition of a call with one more argument.
refused_with <- function(fun, given, more, p, label) {
  before <- charges$made
  conditions <- canary_conditions(do.call(fun, c(given, more)))
  expect_gt(length(conditions), 0L, label = label)
  if (!length(conditions)) return(invisible(NULL))
  condition <- conditions[[length(conditions)]]
  expect_true(inherits(condition, "dpsc_error"), label = label)
  for (one in conditions) expect_no_canary(one, p$secrets, label)
  expect_lte(length(as.list(conditionCall(condition))), 1L, label = label)
  expect_identical(charges$made, before, label = label)
  conditionMessage(condition)
}

test_that("every export that takes people's data refuses unknown arguments without their data", {
  skip_if_not_installed("jsonlite")
  p <- canary_panel()
  calls <- calls_with_people(p)
  expect_setequal(c(names(calls), without_people), getNamespaceExports("dpsc"))
  pays <- c("dp_aggregate", "dp_describe", "dp_glm", "dp_lm", "dp_release", "dp_select", "dp_synth")
  for (name in names(calls)) {
    expect_true("..." %in% names(formals(get(name))), label = name)
    formals <- setdiff(names(formals(get(name))), "...")
    # A new word, each misspelt argument, a value without a name, and a word with data in its value.
    wrong <- c(list(list(seed = p$donors), list(data_set = p$data)), lapply(formals, function(x) {
      stats::setNames(list(p$donors[1L, ]), paste0(x, "z"))
    }))
    for (more in wrong) {
      label <- paste0(name, "(", names(more), " = )")
      if (name %in% ignoring) {
        expect_length(canary_conditions(do.call(name, c(calls[[name]], more))), 0L)
        next
      }
      said <- refused_with(name, calls[[name]], more, p, label)
      if (is.null(said)) next
      # Arguments of these two functions may have any name.
      if (name %in% c("combine_releases", "pdp_compose")) next
      expect_match(said, names(more), fixed = TRUE, label = label)
      if (name %in% pays) expect_match(said, unspent, fixed = TRUE, label = label)
    }
    # The function itself in place of its name, as in lapply() and purrr.
    if (name %in% ignoring) next
    refused_with(get(name), calls[[name]], list(seed = 1), p, name)
  }
  # The fault is a function without dots.
  bare <- function(data, epsilon) NULL
  condition <- canary_conditions(do.call(bare, list(data = p$data, epsilon = 1, seed = 1)))[[1L]]
  expect_false(is.null(canary_found(condition, p$secrets)))
})

test_that("plans, streams and ledgers, which take no data, do not repeat data given to them", {
  skip_if_not_installed("jsonlite")
  p <- canary_panel()
  limits <- list(y = p$bounds, x = p$bounds)
  budget <- list(epsilon = 1, delta = 1e-6)
  given <- list(
    dp_ledger = budget, dp_stream_count = c(budget, horizon = 9),
    dp_stream_sum = c(list(p$bounds), budget, horizon = 9),
    dp_online = c(list(y ~ x), budget, horizon = 9, list(bounds = limits)),
    dp_plan_glm = list(y ~ x, limits, n = 500),
    dp_plan_lm = list(y ~ x, limits, n = 500, epsilon = 1),
    dp_plan_online = list(y ~ x, limits, horizon = 9, epsilon = 1),
    dp_plan_select = list(y ~ x, limits, n = 500, size = 1, epsilon = 1)
  )
  for (name in names(given)) {
    said <- refused_with(name, given[[name]], list(people = p$data), p, name)
    expect_match(said, "people", fixed = TRUE, label = name)
    refused_with(get(name), given[[name]], list(p$data, p$data), p, name)
  }
})

test_that("methods that take people's data refuse unknown arguments without their data", {
  skip_if_not_installed("jsonlite")
  p <- canary_panel()
  for (one in more_calls_with_people(p)) {
    label <- paste0(one[[1L]], ".", class(one[[2L]][[1L]])[[1L]])
    for (more in list(list(seedling = p$donors), list(datas = p$data))) {
      refused_with(one[[1L]], one[[2L]], more, p, label)
    }
  }
})

test_that("an unknown argument leaves a ledger, a stream and a file unchanged", {
  p <- canary_panel()
  d <- data.frame(y = p$donors[, 1L], x = p$donors[, 2L])
  ledger <- dp_ledger(9, 1e-3)
  limits <- list(y = p$bounds, x = p$bounds)
  expect_error(
    dp_lm(y ~ x, d, epsilon = 1, bounds = limits, ledger = ledger, epsilom = 2), "epsilom",
    class = "dpsc_error_argument"
  )
  expect_error(
    lapply(list(d), dp_lm,
      formula = y ~ x, epsilon = 1, bounds = limits, ledger = ledger, seed = 1
    ),
    "seed", class = "dpsc_error_argument"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  stream <- dp_stream_sum(p$bounds, 1, horizon = 99)
  expect_error(update(stream, d$y, batch = TRUE), "batch", class = "dpsc_error_argument")
  expect_identical(as.double(stream$released$steps), 0)
  file <- withr::local_tempfile()
  fit <- dp_lm(y ~ x, d, 40, bounds = limits, control = dp_control(rng = "R"))
  expect_error(
    write_release(fit, file, allow_not_private = TRUE, overwrite = TRUE), "overwrite",
    class = "dpsc_error_argument"
  )
  expect_false(file.exists(file))
  # Too many arguments without names.
  expect_error(dp_chunks(list(p$donors), NULL, 3), "unnamed", class = "dpsc_error_argument")
})

test_that("dp_select() refuses repeated and abbreviated arguments before R can quote the data", {
  p <- canary_panel()
  given <- list(y ~ x, data = data.frame(y = p$donors[, 1L], x = p$donors[, 2L]), epsilon = 1,
    size = 1, bounds = list(y = p$bounds, x = p$bounds))
  for (more in list(list(epsilon = 2), list(s = 1), list(meth = "gram"), list(data = 1))) {
    said <- refused_with("dp_select", given, more, p, names(more))
    expect_match(said, "more than once|Abbreviated")
  }
})
