# The interface for scripts: the arguments of every export, and the class and names of every value.
# A change here affects users, so describe it in NEWS and vignette("upgrading"). If it is intended:
# testthat::snapshot_accept("interface", "tests/testthat").

#' Arguments with their defaults, as written
arguments_of <- function(f) {
  defaults <- vapply(formals(f), function(x) {
    if (identical(x, quote(expr = ))) "" else paste(deparse(x, 500L), collapse = " ") # nolint
  }, "")
  paste0(names(defaults), ifelse(nzchar(defaults), paste0(" = ", defaults), ""))
}

#' Class and names, of lists one level down as well
shape_of <- function(x, depth = 2L) {
  kind <- paste(class(x), collapse = ", ")
  if (is.matrix(x)) kind <- paste0(kind, " of ", typeof(x))
  own <- if (is.environment(x)) sort(ls(x)) else if (is.matrix(x)) colnames(x) else names(x)
  lines <- paste0(kind, if (length(own)) paste0(": ", paste(own, collapse = ", ")))
  if (depth > 1L && is.list(x) && !is.data.frame(x) && !is.null(names(x))) {
    inner <- Filter(function(part) is.list(part) && length(names(part)), unclass(x))
    for (name in names(inner)) {
      lines <- c(lines, paste0("  $", name, " ", shape_of(inner[[name]], depth - 1L)[[1L]]))
    }
  }
  lines
}

#' One value of every export, by name
interface_values <- function(env = parent.frame()) {
  withr::local_seed(1)
  control <- dp_control(rng = "R")
  p <- sim_panel(300, 8, 2, effect = 0.3)
  unit <- c(-1, 1)
  synth <- function(...) {
    suppressWarnings(dp_synth(..., epsilon = 2, bounds = unit, control = control))
  }
  fit <- synth(p$donors, p$target, 8)
  plain <- synth(p$donors, p$target, 8, monitor = 2)
  raw <- dp_synth(p$donors[1:20, ], p$target, 8, epsilon = Inf, estimator = "simplex")
  waves <- staggered_covariates(n = 300)
  panel_of <- function(formula, bounds) {
    suppressWarnings(staggered_fit(waves, formula,
      epsilon = 4, bounds = bounds, size = rep(30, 4), control = control
    ))
  }
  waves$data$z <- waves$data$y
  cohorts <- panel_of(y ~ on, list(y = c(0, 100)))
  outcomes <- panel_of(cbind(y, z) ~ on, list(y = c(0, 100), z = c(0, 100)))
  everyone <- dp_control(rng = "R", features = Inf)
  open <- dp_synth(p$donors, p$target, 8, epsilon = 9, bounds = unit, control = everyone)
  d <- data.frame(x = stats::runif(2000), g = rep(c("a", "b"), 1000))
  d$y <- (d$x + stats::runif(2000)) / 2
  d$b <- d$y > 0.5
  limits <- list(y = c(0, 1), x = c(0, 1), g = c("a", "b"), b = c(FALSE, TRUE))
  lm <- dp_lm(y ~ x + g, d, 4, bounds = limits[1:3], control = control)
  glm <- dp_glm(b ~ x + g, d, epsilon = 4, bounds = limits[2:4], control = control)
  online <- dp_online(y ~ x, 4, horizon = 2000, bounds = limits[1:2], control = control)
  update(online, d)
  sums <- update(dp_stream_sum(c(0, 1), 4, horizon = 2000, control = control), d$y)
  select <- dp_select(y ~ x + g, d, 4, size = 1, bounds = limits[1:3], control = control)
  mean_of <- function(part) mean(part$y)
  aggregate <- dp_aggregate(d, mean_of, lower = 0, upper = 1, epsilon = 4, control = control)
  table1 <- dp_describe(~ x + g, d, epsilon = 4, bounds = limits[2:3], control = control)
  ledger <- dp_ledger(5, 1e-5)
  path <- withr::local_tempfile(fileext = ".json", .local_envir = env)
  suppressWarnings(write_release(fit, path, allow_not_private = TRUE))
  saved <- withr::local_tempfile(.local_envir = env)
  moved <- dp_stream_sum(c(0, 1), 4, horizon = 2000, control = control)
  moved <- checkpoint(moved, saved)
  con <- sqlite_of(d, env = env)
  csv <- withr::local_tempfile(fileext = ".csv", .local_envir = env)
  utils::write.csv(d, csv, row.names = FALSE)
  release <- function(rows) {
    suppressWarnings(dp_release(p$donors[rows, ], p$target, 8,
      epsilon = 2, bounds = unit, control = dp_control(rng = "R", features = 4)
    ))
  }
  mechanism <- audit_mechanism("output", target = p$target, T0 = 8, epsilon = 1, delta = 0)
  wrong <- function(panel) sum(panel) + stats::rnorm(1)
  losses <- pdp(open, p$donors, p$target)
  list(
    audit_mechanism = mechanism, augment = augment(fit), cdp_delta = cdp_delta(0.1, 1),
    cdp_epsilon = cdp_epsilon(0.1, 1e-6), cdp_rho = cdp_rho(1, 1e-6),
    checkpoint = moved, combine_releases = combine_releases(
      release(1:150), release(151:300)
    ),
    conformal = conformal(raw), dp_aggregate = aggregate,
    dp_audit = dp_audit(wrong, matrix(0, 5, 4), rbind(5, matrix(0, 4, 4)), 1, 1e-5, n_runs = 60),
    dp_describe = table1, `glance, description` = glance(table1),
    `tidy, description` = tidy(table1),
    dp_chunks = dp_chunks(list(p$donors)), dp_control = dp_control(), dp_files = dp_files(csv),
    dp_glm = glm, dp_ledger = ledger, dp_lm = lm, dp_online = online,
    dp_plan = dp_plan(n = 300, T0 = 8, T1 = 2, epsilon = 2),
    dp_plan_glm = dp_plan_glm(n = 1000, p = 2),
    dp_plan_lm = dp_plan_lm(y ~ x, limits[1:2], n = 1000, epsilon = 1),
    dp_plan_online = dp_plan_online(y ~ x, limits[1:2], horizon = 1000, epsilon = 1),
    dp_plan_select = dp_plan_select(y ~ x + g, limits[1:3], n = 1000, size = 1, epsilon = 1),
    dp_release = fit$release, dp_roster = dp_roster(c("a", "b"), c(NA, 3), 1:4),
    dp_select = select, dp_sources = dp_sources(list(d)),
    dp_stream_count = dp_stream_count(4, horizon = 100, control = control),
    dp_stream_sum = sums, dp_synth = fit, `dp_synth, growing` = plain,
    `dp_synth, classical` = raw, `dp_synth, dates` = cohorts, `dp_synth, outcomes` = outcomes,
    dp_table = dp_table(con, "sales"), gaussian_delta = gaussian_delta(1, 1, 1),
    gaussian_sigma = gaussian_sigma(1, 1e-6, 1), glance = glance(fit),
    `glance, dates` = glance(cohorts), `glance, dp_lm` = glance(lm), `glance, dp_glm` = glance(glm),
    `glance, selection` = glance(select), `glance, aggregate` = glance(aggregate),
    `glance, stream` = glance(online), leave_one_out = leave_one_out(raw),
    lm_path = lm_path(lm), monitor_left = monitor_left(plain),
    paper_rmse_bound = paper_rmse_bound("output", 100, 8, 2, 1, 1, 1, signal_norm = 1,
      noise_sd = 0.1),
    pdp = losses, pdp_bound = pdp_bound(open$release), pdp_compose = pdp_compose(losses, losses),
    pdp_delta = pdp_delta(losses, 1), penalty_path = penalty_path(fit),
    placebo_errors = placebo_errors(raw), placebo_space = placebo_space(raw),
    placebo_time = placebo_time(raw, 6), read_release = read_release(path), report = report(fit),
    resume_stream = resume_stream(saved), ridge_sensitivity = ridge_sensitivity(1, 8, 1, 1),
    sim_panel = p, tidy = tidy(fit, conf.int = TRUE),
    `tidy, dates` = tidy(cohorts, conf.int = TRUE),
    `tidy, outcomes` = tidy(outcomes, conf.int = TRUE), `tidy, dp_lm` = tidy(lm, conf.int = TRUE),
    `tidy, dp_glm` = tidy(glm, conf.int = TRUE), `tidy, selection` = tidy(select, conf.int = TRUE),
    `tidy, aggregate` = tidy(aggregate, conf.int = TRUE),
    `tidy, online` = tidy(online, conf.int = TRUE), `tidy, sums` = tidy(sums, conf.int = TRUE),
    verify_ledger = verify_ledger(dp_ledger(5, 1e-5, path = withr::local_tempfile(
      fileext = ".sqlite", .local_envir = env
    ))),
    write_release = write_release(glm, path, allow_not_private = TRUE)
  )
}

test_that("the arguments of exported functions and of their methods match the snapshot", {
  space <- asNamespace("dpsc")
  exports <- sort(getNamespaceExports("dpsc"))
  expect_snapshot(cran = TRUE, for (name in exports) {
    f <- get(name, space)
    cat(name, "(", paste(arguments_of(f), collapse = ", "), ")\n", sep = "")
    # A generic of this package is listed with the arguments of its methods.
    if (any(grepl("UseMethod", deparse(body(f))))) {
      methods <- sort(grep(paste0("^", name, "[.]"), ls(space), value = TRUE))
      for (method in methods) {
        given <- paste(arguments_of(get(method, space)), collapse = ", ")
        cat("  ", method, "(", given, ")\n", sep = "")
      }
    }
  })
})

test_that("the class and the names of the values of exported functions match the snapshot", {
  for (package in c("RSQLite", "jsonlite")) skip_if_not_installed(package)
  values <- interface_values()
  # These functions return a page of shiny, and processes.
  elsewhere <- c("dp_explore", "dp_workers")
  expect_identical(
    setdiff(getNamespaceExports("dpsc"), c(sub(",.*", "", names(values)), elsewhere)), character()
  )
  expect_snapshot(cran = TRUE, for (name in names(values)) {
    cat(name, ": ", paste(shape_of(values[[name]]), collapse = "\n  "), "\n", sep = "")
  })
})
