# Conditions: in every way of calling a verb, the call in an error is the user's call, without
# arguments, and the error states that nothing was spent if and only if the ledger is unchanged.

conditions_scope <- function() {
  withr::local_seed(3)
  rows <- data.frame(x = stats::runif(400, -1, 1), g = rep(c("a", "b"), 200))
  rows$y <- rows$x + stats::rnorm(400) / 4
  rows$z <- stats::runif(400) < stats::plogis(rows$x)
  panel <- toy_panel(40, 5, 2)
  long <- outcomes_of_conditions(panel)
  list2env(list(
    rows = rows, donors = panel$donors, target = panel$target, long = long,
    of = list(y = c(-3, 3), x = c(-1, 1), g = c("a", "b"), z = c(FALSE, TRUE)),
    index = c("unit", "time"), ledger = dp_ledger(50, 1e-2),
    fit = suppressWarnings(dp_lm(y ~ x, rows, 5, bounds = list(y = c(-3, 3), x = c(-1, 1)))),
    logit = suppressWarnings(
      dp_glm(z ~ x, rows, epsilon = 5, bounds = list(z = c(FALSE, TRUE), x = c(-1, 1)))
    ),
    synth = dp_synth(panel$donors, panel$target, T0 = 5, epsilon = 2, bounds = c(-1, 1)),
    sums = dp_stream_sum(c(0, 1), 1, 1e-6, 50)
  ), parent = globalenv())
}

outcomes_of_conditions <- function(panel) {
  all <- rbind(panel$donors, panel$target)
  n <- nrow(all)
  periods <- ncol(all)
  long <- data.frame(unit = rep(seq_len(n), periods), time = rep(seq_len(periods), each = n))
  long$treated <- as.integer(long$unit == n & long$time > 5)
  long$y <- as.vector(all)
  long
}

# The first class of an error identifies it. Calls with a ledger could charge it.
bad_inputs <- rlang::exprs(
  dp_synth(donors, target, T0 = 5, epsilon = -1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, ledger = ledger),
  dp_synth(donors, target, T0 = 50, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(donors, target[1:3], T0 = 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(1, -1), ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), delta = 2, ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), method = "x", ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), size = -2, ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), control = 1, ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), wrong = 1, ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = 400, bounds = c(-1, 1), ledger = ledger),
  dp_synth(donors, target, T0 = 5, epsilon = Inf, bounds = c(-1, 1), ledger = ledger),
  dp_synth("donors", target, T0 = 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(y ~ treated, long, "unit", epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(y ~ nobody, long, index, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(y ~ y, long, index, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(log(y) ~ treated, long, index, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(y ~ treated, long, c("time", "unit"), epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_synth(y ~ treated, long, index, epsilon = 1, bounds = c(-1, 1), protect = 7, ledger = ledger),
  dp_synth(y ~ treated, rbind(long, long), index, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_release(donors, target, T0 = 5, epsilon = 1, bounds = "wide", ledger = ledger),
  dp_release(donors, target, T0 = 1.5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_release(donors, target, T0 = 5, epsilon = NA, bounds = c(-1, 1), ledger = ledger),
  dp_release(NULL, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), ledger = ledger),
  dp_release(donors, target, T0 = 5, epsilon = 1, bounds = c(-1, 1), ledger = "mine"),
  dp_lm(y ~ x, rows, epsilon = 0, bounds = of, ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 1, ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 1, bounds = of["y"], ledger = ledger),
  dp_lm(y ~ nobody, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x + offset(x), rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ 0 + x, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x | g, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x, rows[1:20, ], epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 1, bounds = of, vcov = "none", ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 1, bounds = of, weights = z, ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 400, bounds = of, ledger = ledger),
  dp_lm("y", rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x, "rows", epsilon = 1, bounds = of, ledger = ledger),
  dp_lm(y ~ x, rows, epsilon = 1, bounds = of, method = "ops", delta = 3, ledger = ledger),
  dp_glm(z ~ x, rows, epsilon = -1, bounds = of, ledger = ledger),
  dp_glm(z ~ x, rows, epsilon = 1, bounds = list(z = c(0, 5), x = c(-1, 1)), ledger = ledger),
  dp_glm(z ~ x, rows, "gamma", epsilon = 1, bounds = of, ledger = ledger),
  dp_glm(z ~ x | g, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_glm(z ~ x, rows, epsilon = 1, bounds = of, penalty = -1, ledger = ledger),
  dp_glm(z ~ x, rows[1:20, ], epsilon = 1, bounds = of, ledger = ledger),
  dp_glm(z ~ x, rows, epsilon = 400, bounds = of, ledger = ledger),
  dp_glm(z ~ x, rows, epsilon = 1, bounds = of, method = "none", ledger = ledger),
  dp_select(y ~ x + g, rows, epsilon = 1, size = 9, bounds = of, ledger = ledger),
  dp_select(y ~ x + g, rows, epsilon = "1", size = 1, bounds = of, ledger = ledger),
  dp_select(y ~ x + offset(x), rows, epsilon = 1, size = 1, bounds = of, ledger = ledger),
  dp_select(y ~ x, rows, epsilon = 1, size = 1, bounds = c(-1, 1), ledger = ledger),
  dp_select(y ~ x + g, rows, epsilon = 1, size = 1, bounds = of, method = 1, ledger = ledger),
  dp_select(7, rows, epsilon = 1, size = 1, bounds = of, ledger = ledger),
  dp_select(y ~ x + g, rows, epsilon = 400, size = 1, bounds = of, ledger = ledger),
  dp_aggregate(rows, mean, lower = 1, upper = 0, epsilon = 1, ledger = ledger),
  dp_aggregate(rows, "mean", lower = 0, upper = 1, epsilon = 1, ledger = ledger),
  dp_aggregate(rows[1:3, ], mean, lower = 0, upper = 1, epsilon = 1, ledger = ledger),
  dp_aggregate(rows, mean, lower = 0, upper = 1, epsilon = 1, blocks = 1, ledger = ledger),
  dp_aggregate(rows, mean, lower = 0, upper = 1, epsilon = 400, ledger = ledger),
  dp_describe(~ x, rows, epsilon = -1, bounds = of, ledger = ledger),
  dp_describe(~ x, rows, epsilon = 400, bounds = of, ledger = ledger),
  dp_describe(~ x, rows, epsilon = 1, ledger = ledger),
  dp_describe(y ~ x, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_describe(~ x | g, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_describe(~nobody, rows, epsilon = 1, bounds = of, ledger = ledger),
  dp_describe(~x, rows, by = ~y, epsilon = 1, bounds = of, ledger = ledger),
  dp_describe(~x, rows, epsilon = 1, bounds = of, quantiles = "all", ledger = ledger),
  dp_describe(~x, "rows", epsilon = 1, bounds = of, ledger = ledger),
  dp_describe(~x, rows[0, ], epsilon = 1, bounds = of, ledger = ledger),
  dp_online(y ~ x, epsilon = 1, horizon = 0, bounds = of, ledger = ledger),
  dp_online(y ~ x, epsilon = 1, horizon = 10, bounds = of["x"], ledger = ledger),
  dp_online(y ~ x, epsilon = 400, horizon = 10, bounds = of, ledger = ledger),
  dp_online(y ~ x, epsilon = 1, horizon = 10, bounds = of, family = "poisson", ledger = ledger),
  dp_stream_sum(c(1, 0), 1, 1e-6, 50, ledger = ledger),
  dp_stream_sum(c(0, 1), 400, 1e-6, 50, ledger = ledger),
  dp_stream_count(1, 1e-6, -5, ledger = ledger),
  dp_stream_count(1, "small", 50, ledger = ledger),
  dp_plan(n = -5, T0 = 5, T1 = 2, epsilon = 1),
  dp_plan(n = 500, T0 = 5, T1 = 2, epsilon = "one"),
  dp_plan_lm(y ~ x, n = 0, epsilon = 1, bounds = of),
  dp_plan_glm(n = 100, p = 0, epsilon = 1),
  dp_plan_select(y ~ x, of, n = -100, size = 1, epsilon = 1),
  dp_plan_online(y ~ x, of, horizon = 0, epsilon = 1),
  dp_control(rng = "mine"),
  dp_ledger(epsilon = -1),
  dp_audit(1:3),
  sim_panel(n = -1),
  dp_table("nowhere", 1),
  dp_files("nowhere.csv"),
  read_release("nowhere.json"),
  write_release(1, "a.json"),
  combine_releases(1, 2),
  predict(fit, newdata = 3),
  confint(fit, level = 2),
  vcov(fit, type = "none"),
  tidy(fit, conf.int = TRUE, conf.level = 7),
  summary(synth, level = -1),
  report(fit, level = 3),
  report(3),
  augment(fit, newdata = 1),
  confint(logit, level = "high"),
  predict(logit, newdata = 3),
  predict(synth, newdata = 3),
  confint(synth, level = 2),
  residuals(fit),
  tidy(synth, conf.level = 3),
  plot(synth, type = "none"),
  update(sums, list("one", 2)),
  update(synth, 1:3),
  pdp(1),
  gaussian_sigma(-1, 1e-6),
  cdp_rho(-1, 1e-6)
)

error_of <- function(code) {
  tryCatch(suppressWarnings(code), dpsc_error = identity, error = function(e) {
    structure(list(message = conditionMessage(e)), class = "not_ours")
  })
}

ways_of_calling <- function(expr, scope) {
  verb <- as.character(expr[[1L]])
  quoted <- eval(bquote(function(i) .(expr)), scope)
  list(
    typed = function() eval(expr, scope),
    do.call = function() {
      values <- lapply(as.list(expr[-1L]), function(one) {
        if (is.call(one) && identical(one[[1L]], quote(`~`))) {
          stats::as.formula(one, env = scope)
        } else if (identical(one, quote(z)) && verb == "dp_lm") {
          one
        } else {
          eval(one, scope)
        }
      })
      do.call(verb, values, envir = scope)
    },
    lapply = function() lapply(1L, quoted),
    # If another verb runs a user's function, the outermost call is the user's call.
    inside = function() dpsc:::door("dp_audit", eval(expr, scope))
  )
}

test_that("an error names the called function and, with a ledger, states that nothing was spent", {
  scope <- conditions_scope()
  expect_gte(length(bad_inputs), 80L)
  for (expr in bad_inputs) {
    verb <- as.character(expr[[1L]])
    pays <- "ledger" %in% names(expr)
    ways <- ways_of_calling(expr, scope)
    for (way in names(ways)) {
      label <- paste0(way, ": ", deparse(expr)[[1L]])
      before <- as.list.environment(scope$ledger)
      error <- error_of(ways[[way]]())
      expect_s3_class(error, "dpsc_error")
      if (!inherits(error, "dpsc_error")) {
        cat(label, "\n", error$message, "\n")
        next
      }
      expect_identical(conditionCall(error), call(if (way == "inside") "dp_audit" else verb),
        label = label
      )
      expect_identical(as.list.environment(scope$ledger), before, label = label)
      said <- grepl("nothing was spent", conditionMessage(error), fixed = TRUE)
      expect_identical(said, pays, label = label)
      expect_lte(lengths(regmatches(
        conditionMessage(error), gregexpr("was spent", conditionMessage(error))
      )), 1L)
    }
  }
})

test_that("an error inside update() names update()", {
  scope <- conditions_scope()
  for (expr in rlang::exprs(update(sums, NULL), update(synth, 1:3), update(fit, y ~ g))) {
    error <- error_of(eval(expr, scope))
    expect_identical(conditionCall(error), quote(update()), label = deparse(expr))
  }
})

test_that("errors after the charge do not state that nothing was spent", {
  make <- dpsc:::new_request
  scope <- changed_namespace(list(new_request = function(record, ...) {
    record$run <- function(...) dpsc:::abort("The engine is gone.", "reader")
    make(record, ...)
  }))
  given <- conditions_scope()
  faults <- list(
    dp_synth = function(ledger) {
      scope$dp_synth.matrix(given$donors, given$target, 5, 1, bounds = c(-1, 1), ledger = ledger)
    },
    dp_lm = function(ledger) {
      scope$dp_lm(y ~ x, given$rows, 1, bounds = list(y = c(-3, 3), x = c(-1, 1)), ledger = ledger)
    },
    dp_select = function(ledger) {
      scope$dp_select.formula(y ~ x + g, given$rows, 3,
        size = 1, bounds = given$of[c("y", "x", "g")], ledger = ledger
      )
    }
  )
  for (name in names(faults)) {
    ledger <- dp_ledger(50, 1e-2)
    error <- error_of(faults[[name]](ledger))
    expect_s3_class(error, "dpsc_error_reader")
    expect_identical(nrow(as.data.frame(ledger)), 1L, label = name)
    expect_no_match(conditionMessage(error), "nothing was spent", label = name)
    expect_identical(conditionCall(error), call(name))
  }
})

test_that("no file of R/ except aud-loss.R uses sys.call(), match.call() or parent.frame()", {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "say-check.R")), "the sources of R/ are not here")
  # Audits replay calls, and their tables contain a column with this name.
  files <- setdiff(list.files(folder, "[.]R$"), c("RcppExports.R", "aud-loss.R"))
  for (file in files) {
    code <- grep("^ *#", readLines(file.path(folder, file)), invert = TRUE, value = TRUE)
    found <- grep("(sys[.]call|match[.]call|parent[.]frame|caller_call)[(]", code, value = TRUE)
    expect_identical(found, character(), label = file)
  }
})

test_that("errors about common mistakes name the remedy", {
  rows <- data.frame(x = c(0.1, 0.5), y = 0:1, nr = 1:2)
  bounds <- list(x = c(0, 1), y = c(0, 1))
  expect_error(dp_lm(y ~ x, rows, 1, 1e-6, bounds, person = "nr"), "person = ~nr",
    class = "dpsc_error_argument")
  expect_error(dp_glm(cbind(y, x) ~ x, rows, "binomial", 1, bounds = bounds), "one row per trial",
    class = "dpsc_error_argument")
  withr::local_options(dpsc.ledger = dp_ledger(1, 1e-6))
  expect_error(
    dp_lm(y ~ x, rows[rep(1:2, 2000), ], 1, 1e-6, bounds, control = dp_control(rng = "R")),
    "options(dpsc.ledger = NULL)", fixed = TRUE, class = "dpsc_error_budget"
  )
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  fit <- dp_synth(panel$donors, target = panel$target, T0 = 6, epsilon = Inf, bounds = c(-1, 1))
  expect_error(as.data.frame(fit, measure = "effect"), "measure", class = "dpsc_error_argument")
  expect_s3_class(as.data.frame(fit, type = "effect", stringsAsFactors = FALSE), "data.frame")
})

test_that("format_line() formats templates of errors as cli does", {
  scope <- list2env(
    list(one = "abc", number = 1 / 3, large = 1e5, two = c("a", "b"), tick = "a`b", none = NULL,
      missing = NA, day = as.Date("2024-01-01"), brace = "{x}", line = "a\nb"),
    parent = baseenv()
  )
  forms <- c(
    "plain", "", "{.arg x} and {.code f(x)}, not {.val {number}}", "{.arg {one}} {number} {large}",
    "{.fn dp_lm} {.fn {one}} {.fn dpsc::dp_lm}", "{.arg {two}} {two}{?s}", "{.code {tick}} {tick}",
    "{none}", "{.code {missing}}", "{day}", "{.code list({one} = 1)} {.cls x} {.file a/b}",
    "{brace} {.code {brace}}", "{.code {line}} {line}", "{{one}}", "{paste0('{', one)}",
    "{.code c(\"a\", 'b')}", "{.code weights = {.val {one}}}", "{.or {two}}", "\u00e9 {one}"
  )
  # The strings of the package, with the same word substituted in all places.
  strings_in <- function(code) {
    if (is.character(code)) return(code)
    if (!is.call(code) && !is.pairlist(code)) return(NULL)
    unlist(lapply(as.list(code), function(part) if (!missing(part)) strings_in(part)))
  }
  objects <- as.list(asNamespace("dpsc"), all.names = TRUE)
  objects <- objects[order(names(objects))]
  strings <- unlist(lapply(objects, function(x) strings_in(if (is.function(x)) body(x) else x)))
  templates <- grep("[{][.](arg|code|fn) ", unique(strings), value = TRUE)
  expect_gt(length(templates), 300L)
  templates <- unique(gsub("[{]([^{}.?][^{}]*)[}]", "{one}", templates))
  if (!is_audit()) templates <- templates[seq(1L, length(templates), by = 16L)]
  for (form in c(forms, templates)) {
    written <- tryCatch(cli::format_inline(form, .envir = scope), error = function(e) NULL)
    if (!is.null(written)) expect_identical(dpsc:::format_line(form, scope), written, label = form)
  }
})

# A slip puts a number computed from everybody, or a person's text, where rows or code belong.
# Plants faults 120.
test_that("errors show no single number or text in the place of people, a formula or code", {
  # Plants faults 120.
  d <- data.frame(y = stats::runif(500), x = stats::runif(500), who = paste0("person", 1:500))
  of <- list(y = c(0, 1), x = c(0, 1))
  said <- function(call) {
    message <- conditionMessage(tryCatch(call, dpsc_error = identity))
    expect_no_match(message, "0[.][0-9]{3}|person1", label = message)
    expect_match(message, "a vector of type", fixed = TRUE)
  }
  said(dp_aggregate(d, mean(d$y), lower = 0, upper = 1, epsilon = 1))
  said(dp_glm(y ~ x, d, "gaussian", epsilon = 1, bounds = of, offset = mean(d$x)))
  said(dp_chunks(mean(d$y)))
  said(dp_synth(mean(d$y), target = 1:5, T0 = 3, epsilon = 1))
  said(dp_release(d$who[1], target = 1:5, T0 = 3, epsilon = 1, bounds = c(0, 1)))
  said(dp_lm(mean(d$y), d, epsilon = 1, bounds = of))
  said(dp_describe(mean(d$y), d, epsilon = 1, bounds = of))
  said(dp_online(mean(d$y), epsilon = 1, horizon = 9, bounds = of))
  said(dp_select(mean(d$y)))
  said(dp_lm(y ~ x, d, epsilon = 1, bounds = of, person = mean(d$y)))
  said(dp_lm(y ~ x, d, epsilon = 1, bounds = of, ledger = mean(d$y)))
  said(dp_workers(d$who[1], identity))
  said(dp_audit(d$who[1], d, d))
  said(report(d$who[1]))
})
