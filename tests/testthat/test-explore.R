# The planning app: its computations, the server, and the app in a browser.

a_design <- function(...) {
  utils::modifyList(list(
    n = 400, size = 30, T0 = 10, T1 = 3, epsilon = 2, delta = 1e-6, effect = -8, spread = 0.1,
    bounds = c(80, 200), power = 0.8, protect = "donors", outcome = "pressure"
  ), list(...))
}

test_that("people simulated by dp_explore() have the requested spread within the bounds", {
  withr::local_seed(3)
  panel <- explore_panel(a_design(n = 4000, spread = 0.05))
  expect_equal(dim(panel$donors), c(4000, 13))
  expect_equal(dim(panel$treated), c(30, 13))
  expect_true(all(panel$donors >= 80 & panel$donors <= 200))
  # Personal levels have a standard deviation of 5 % of 120. Three factors have loadings of 0.75
  # times 0.05 of half of 120 and smaller means over ten periods. So the spread lies between the
  # first part alone and the sum of both parts.
  spread <- stats::sd(rowMeans(panel$donors[, 1:10]))
  expect_gt(spread, 6)
  expect_lt(spread, sqrt(6^2 + 3 * (0.75 * 0.05 * 60)^2))
  withr::local_seed(3)
  none <- explore_panel(a_design(n = 4000, spread = 0.05, effect = 0))
  expect_equal(colMeans(panel$treated - none$treated), rep(c(0, -8), c(10, 3)))
  withr::local_seed(3)
  waves <- explore_panel(a_design(T0 = c(8, 10), size = 2))
  withr::local_seed(3)
  none <- explore_panel(a_design(T0 = c(8, 10), size = 2, effect = 0))
  expect_equal(rowSums(waves$treated - none$treated), -8 * c(5, 5, 3, 3))
})

test_that("no ledger pays for people simulated by dp_explore(), even if one is compulsory", {
  ledger <- dp_ledger(10, 1e-5)
  withr::local_options(dpsc.ledger = ledger)
  explore_fit(a_design())
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  withr::local_options(dpsc.ledger = NULL, dpsc.require_ledger = TRUE)
  expect_s3_class(explore_fit(a_design()), "dp_synth")
  # The session's ledger still pays for releases of real people.
  expect_error(
    dp_lm(y ~ x, data.frame(x = 1:400 / 400, y = 1:400 / 400),
      epsilon = 1, bounds = list(x = c(0, 1), y = c(0, 1))
    ), class = "dpsc_error_budget"
  )
})

test_that("dp_explore() shows the estimate, confidence limits and budget of its fit", {
  design <- a_design()
  fit <- explore_fit(design)
  expect_true(fit$release$privacy$holds)
  limits <- confint(fit, "average")
  said <- explore_finding(fit, design)
  expect_match(said, format_value(limits[[1L]]), fixed = TRUE)
  expect_match(said, format_value(coef(fit)[["average"]]), fixed = TRUE)
  budget <- explore_budget(fit$release)
  expect_equal(sum(budget$cost), fit$release$privacy$rho)
  pure <- explore_budget(explore_fit(a_design(delta = 0))$release)
  # Laplace scales are rounded up to whole numbers, so a tiny part of the budget remains unused.
  expect_lte(sum(pure$cost), 2)
  expect_gt(sum(pure$cost), 2 * (1 - 1e-6))
  expect_match(explore_code(design), "epsilon = 2, delta = 1e-06, bounds = c(80, 200)",
    fixed = TRUE
  )
})

test_that("dp_explore() releases each cohort of protected people with the whole budget", {
  fit <- explore_fit(a_design(n = 800, T0 = c(8, 10), size = 100, protect = "everyone"))
  expect_s3_class(fit, "dp_cohorts")
  expect_true(fit$protected)
  expect_match(explore_finding(fit, a_design()), "true average effect is -8")
  budget <- explore_budget(fit$release)
  expect_setequal(budget$people, c("donors", "cohort 1", "cohort 2"))
  share <- tapply(as.numeric(sub(" %", "", budget$share)), budget$people, sum)
  # Each share is rounded, so the sum may differ from 100.
  expect_lte(max(abs(share - 100)), 0.5 * max(table(budget$people)))
})

test_that("the numbers of dp_explore() equal the results of dp_plan() in its displayed code", {
  local_quick_plans()
  ask <- function(...) {
    dp_plan(
      n = 400, T1 = 3, epsilon = 2, bounds = c(80, 200), sd_between = 12, sd_within = 8.4,
      shared = 0.87, method = "gram", ...
    )
  }
  expect_identical(explore_plan(a_design()), ask(T0 = 10, size = 30, effect = -8))
  expect_identical(explore_plan(a_design(effect = 0))$table, ask(T0 = 10, size = 30)$table)
  waves <- a_design(T0 = c(8, 10), size = 150, protect = "everyone", power = 0.9)
  expect_identical(
    explore_plan(waves),
    ask(T0 = c(8, 10), size = 150, protect = "everyone", effect = -8, power = 0.9)
  )
  shown <- strsplit(explore_code(waves), "\n\n", fixed = TRUE)[[1L]][[1L]]
  expect_identical(eval(parse(text = shown)), explore_plan(waves))
})

test_that("the server of dp_explore() updates its outputs and shows messages for invalid numbers", {
  local_quick_plans()
  skip_if_not_installed("shiny")
  skip_if_not_installed("ggplot2")
  shiny::testServer(explore_server("pressure"), {
    session$setInputs(
      n = "500", size = "30", T0 = 10, T1 = 3, dates = "1", gap = 2, epsilon = "1",
      delta = "1e-06", spread = 10, lower = 80, upper = 200, effect = -8, power = "0.8",
      protect = "donors", again = 0
    )
    expect_match(output$found, "The true average effect is -8")
    expect_match(output$attacker, "at most 73.1 %", fixed = TRUE)
    expect_match(output$plan, "power")
    row <- explore_plan(a_design(n = 500, epsilon = 1))$table
    expect_match(output$plan, format_value(row$average), fixed = TRUE)
    expect_match(output$advice, format_value(row$half_width), fixed = TRUE)
    expect_match(output$advice, format_value(row$detectable), fixed = TRUE)
    first <- output$found
    session$setInputs(again = 1)
    expect_false(identical(output$found, first))
    session$setInputs(epsilon = "0.1")
    expect_match(output$attacker, "at most 52.5 %", fixed = TRUE)
    # This budget cannot protect thirty people, so a message replaces the numbers.
    session$setInputs(protect = "everyone")
    expect_error(output$advice, "30 treated people is too small")
    expect_error(output$found, "30 treated people is too small")
    session$setInputs(protect = "donors", effect = 500)
    expect_error(output$found, "must be smaller than the range")
    session$setInputs(upper = 10)
    expect_error(output$found, "must be above the lowest")
    session$setInputs(upper = NA)
    expect_error(output$found, "Fill in all numbers")
  })
})

test_that("dp_explore() accepts no data", {
  expect_named(formals(dp_explore), c("outcome", "bounds"))
  skip_if_not_installed("shiny")
  skip_if_not_installed("ggplot2")
  expect_s3_class(dp_explore(), "shiny.appobj")
  expect_error(dp_explore(clinic_panel), class = "dpsc_error_argument")
  expect_error(dp_explore(bounds = c(5, 1)), class = "dpsc_error")
})

# A browser, or a reason to skip the test. The browser has a separate folder for user data and
# connects to localhost only.
browser_session <- function(frame = parent.frame()) {
  skip_on_cran()
  skip_on_os("windows")
  for (package in c("shiny", "ggplot2", "chromote")) skip_if_not_installed(package)
  chromium <- Sys.which(c("chromium", "chromium-browser", "google-chrome"))
  chromium <- chromium[nzchar(chromium)]
  skip_if(!length(chromium), "no Chromium is installed")
  flags <- c(
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"
  )
  chrome <- chromote::Chromote$new(browser = chromote::Chrome$new(chromium[[1L]], flags))
  withr::defer(chrome$close(), frame)
  chrome$new_session(width = 1200, height = 1600)
}

serve_app <- function(app, frame = parent.frame()) {
  port <- sample(20000:30000, 1L)
  job <- parallel::mcparallel(
    shiny::runApp(app, port = port, host = "127.0.0.1", launch.browser = FALSE, quiet = TRUE),
    silent = TRUE
  )
  withr::defer(tools::pskill(job$pid), frame)
  paste0("http://127.0.0.1:", port)
}

wait_for <- function(page, script, seconds = 60) {
  end <- Sys.time() + seconds
  while (Sys.time() < end) {
    value <- tryCatch(page$Runtime$evaluate(script)$result$value, error = function(e) NULL)
    if (isTRUE(value)) {
      return(TRUE)
    }
    Sys.sleep(0.25)
  }
  FALSE
}

test_that("changing epsilon in a browser changes the page of dp_explore()", {
  page <- browser_session()
  url <- serve_app(dp_explore("pressure", bounds = c(80, 200)))
  text <- function(id) {
    script <- paste0("document.getElementById('", id, "').innerText")
    page$Runtime$evaluate(script)$result$value
  }
  for (attempt in 1:40) {
    page$Page$navigate(url)
    if (wait_for(page, "document.getElementById('found') !== null", 1)) break
  }
  says <- function(id, pattern) {
    wait_for(page, paste0("/", pattern, "/.test(document.getElementById('", id, "').innerText)"))
  }
  expect_true(says("found", "true average effect"))
  expect_true(wait_for(page, "document.querySelector('#picture img') !== null"))
  expect_match(text("attacker"), "at most 73.1 %", fixed = TRUE)
  expect_match(text("budget"), "rho|cost")
  expect_true(says("advice", "interval of the average effect"))
  page$Runtime$evaluate("Shiny.setInputValue('epsilon', '4')")
  expect_true(says("attacker", "98.2 %"))
  # If protected groups adopt at two dates, the table of the plan has one row per date.
  page$Runtime$evaluate("Shiny.setInputValue('dates', '2')")
  expect_true(says("plan", "after 20"))
  page$Runtime$evaluate("Shiny.setInputValue('protect', 'everyone')")
  expect_true(says("code", "everyone"))
  expect_match(text("code"), "epsilon = 4", fixed = TRUE)
  picture <- Sys.getenv("DPSC_SCREENSHOT")
  if (nzchar(picture)) page$screenshot(picture, show = FALSE)
})
