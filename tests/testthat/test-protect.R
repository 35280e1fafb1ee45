# protect = "everyone": required arguments, the contents of a fit, its cost, and the results of an
# audit.

test_that("several treated units require `protect`, and the error spends nothing", {
  p <- protected_panel_of(n = 60, m = 5)
  ledger <- dp_ledger(1, 1e-6)
  ways <- list(
    function(...) dp_synth(p$donors, target = p$group, T0 = p$T0, ...),
    function(...) dp_release(p$donors, target = p$group, T0 = p$T0, ...),
    function(...) dp_synth(y ~ on, data = long_people(p), index = c("unit", "time"), ...),
    function(...) dp_release(y ~ on, data = long_people(p), index = c("unit", "time"), ...),
    function(...) dp_synth(dp_chunks(list(p$donors)), target = p$group, T0 = p$T0, ...)
  )
  for (way in ways) {
    error <- tryCatch(way(epsilon = 1, bounds = c(-1, 1), ledger = ledger), error = identity)
    expect_s3_class(error, "dpsc_error_protect")
    expect_match(conditionMessage(error), "published without noise")
    expect_match(conditionMessage(error), "the treated units, if each treated unit is one person")
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # One treated unit is public, and without privacy the argument is unnecessary.
  one <- dp_synth(p$donors, target = p$group[1, ], T0 = p$T0, epsilon = 4, bounds = c(-1, 1))
  expect_identical(one$release$privacy$neighbours, "replace one donor's row")
  expect_s3_class(dp_synth(p$donors, target = p$group, T0 = p$T0, epsilon = Inf), "dp_synth")
  chosen <- dp_synth(p$donors,
    target = p$group, T0 = p$T0, epsilon = 4, bounds = c(-1, 1), protect = "donors"
  )
  expect_output(print(chosen), "protects the donors; the treated units' data are public")
})

test_that("without `protect` only that argument's error occurs, whatever the treated unit's data", {
  p <- long_panel(60, 4, 2)
  own <- p$data$unit == treated_of(p$data)
  data <- transform(p$data, g = ifelse(own & week == min(week), "b", "a"))
  index <- c("unit", "week")
  bounds <- list(y = c(-1, 1), g = c("a", "b"))
  fit <- function(...) dp_synth(y ~ on | g, data, index, epsilon = 1, bounds = bounds, ...)
  expect_error(fit(), class = "dpsc_error_protect")
  expect_error(fit(protect = "donors"), "varies", class = "dpsc_error_covariate")
  units <- unique(data$unit)
  from <- ifelse(units == treated_of(data), sort(unique(data$week))[[2L]], NA)
  roster <- dp_roster(units, from, sort(unique(data$week)))
  early <- function(...) {
    dp_synth(y ~ on, data, index,
      epsilon = 1, bounds = c(-1, 1), na = "interpolate", roster = roster, ...
    )
  }
  expect_error(early(), class = "dpsc_error_protect")
  expect_error(early(protect = "donors"), class = "dpsc_error_roster")
})

test_that("groups that cannot be protected are refused before any budget is spent", {
  p <- protected_panel_of(n = 60, m = 5)
  ledger <- dp_ledger(1, 1e-6)
  run <- function(..., target = p$group, epsilon = 1) {
    dp_synth(p$donors,
      target = target, T0 = p$T0, epsilon = epsilon, bounds = c(-1, 1), protect = "everyone",
      ledger = ledger, ...
    )
  }
  expect_error(run(target = p$group[1, ]), "Only one unit", class = "dpsc_error_protect")
  expect_error(run(method = "output"), "method", class = "dpsc_error_protect")
  expect_error(run(size = 3), "one person", class = "dpsc_error_protect")
  expect_error(run(), "too small to be protected", class = "dpsc_error_argument")
  expect_error(
    dp_synth(p$donors, target = p$group, T0 = 6, epsilon = 1, bounds = c(-1, 1), protect = "all"),
    class = "dpsc_error_argument"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # Accepted values succeed.
  text <- tryCatch(run(), error = conditionMessage)
  people <- as.numeric(sub(".*needs about ([0-9,]+) people.*", "\\1", text))
  many <- p$group[rep(1:5, length.out = people), ]
  expect_s3_class(run(target = many), "dp_synth")
})

test_that("no message about rows of treated people reveals whose rows are concerned", {
  p <- protected_panel_of(n = 60, m = 30)
  data <- long_people(p)
  secret <- unique(data$unit[data$on == 1])
  broken <- list(
    na = replace(data, "y", list(replace(data$y, which(data$on == 1)[[7]], NA))),
    absent = data[-which(data$on == 1)[[7]], ],
    twice = rbind(data, data[which(data$on == 1)[[7]], ])
  )
  for (one in broken) {
    error <- tryCatch(
      dp_synth(y ~ on,
        data = one, index = c("unit", "time"), epsilon = 4, bounds = c(-1, 1),
        protect = "everyone"
      ),
      error = identity
    )
    expect_s3_class(error, "dpsc_error_panel")
    expect_false(any(vapply(secret, grepl, NA, x = conditionMessage(error), fixed = TRUE)))
    expect_no_canary(error, p$group, "error")
  }
})

test_that("a protected group's fit, file, prints and plots contain no treated person's value", {
  p <- protected_panel_of()
  secrets <- protected_secrets(p)
  # The detector would find the mean of a public group.
  public <- dp_synth(p$donors,
    target = colMeans(p$group), T0 = p$T0, epsilon = 2, bounds = c(-1, 1), size = 120
  )
  expect_match(canary_found(public, secrets), "a number")
  for (way in c("formula", "matrix")) {
    fit <- if (way == "formula") {
      dp_synth(y ~ on,
        data = long_people(p), index = c("unit", "time"), epsilon = 2, bounds = c(-1, 1),
        protect = "everyone"
      )
    } else {
      protected_fit(p, control = dp_control())
    }
    file <- withr::local_tempfile()
    write_release(fit$release, file)
    printed <- function(x) utils::capture.output(print(x))
    objects <- list(
      fit = fit, summary = summary(fit), tidy = tidy(fit, conf.int = TRUE), glance = glance(fit),
      augment = augment(fit), vcov = vcov(fit), file = readLines(file), report = report(fit),
      printed = c(printed(fit), printed(summary(fit)), printed(fit$release)),
      deparsed = deparse(unclass(fit))
    )
    skip_if_not_installed("ggplot2")
    for (type in c("path", "effect", "cumulative", "percent")) {
      objects[[type]] <- ggplot2::ggplot_build(ggplot2::autoplot(fit, type = type))
    }
    for (name in names(objects)) expect_no_canary(objects[[name]], secrets, paste(way, name))
    expect_null(fit$units)
    expect_identical(rownames(fit$target), "mean of 120 treated people")
  }
})

test_that("for protected groups no row and no sum of rows passes from compiled code to R", {
  p <- protected_panel_of()
  secrets <- protected_secrets(p)
  results <- crossings_of(function(scope) {
    scope[["dp_release.matrix"]](p$donors,
      target = p$group, T0 = p$T0, epsilon = 2, bounds = c(-1, 1), protect = "everyone"
    )
  })
  expect_gt(length(results), 5)
  expect_no_canary(results, secrets, "crossings")
})

test_that("a release for everyone states who is protected, is read back and is checked for edits", {
  p <- protected_panel_of()
  ledger <- dp_ledger(2, 1e-6)
  fit <- protected_fit(p, control = dp_control(), ledger = ledger)
  expect_output(print(fit), "protects everyone")
  expect_match(fit$release$privacy$neighbours, "donor or treated")
  expect_match(fit$release$privacy$theorem, "parallel")
  expect_match(report(fit)$guarantee, "donor or treated person")
  # The release is charged once, at the cost of the more expensive account.
  charged <- as.data.frame(ledger)
  expect_identical(nrow(charged), 1L)
  expect_equal(charged$mu, gdp_budget_cpp(2, 1e-6))
  steps <- fit$release$privacy$steps
  for (account in split(steps, steps$account)) {
    expect_lte(sum(account$mu^2), charged$mu^2 * (1 + 1e-9))
    expect_gt(sum(account$mu^2), charged$mu^2 * (1 - 1e-6))
  }
  file <- withr::local_tempfile()
  write_release(fit$release, file)
  again <- read_release(file)
  expect_identical(again, fit$release)
  expect_equal(tidy(dp_synth(again)), tidy(fit))
  expect_equal(tidy(update(fit)), tidy(fit))
  expect_s3_class(update(fit, lambda = 10), "dp_synth")
  # The release also serves a public target.
  expect_s3_class(dp_synth(again, target = p$group[1, ]), "dp_synth")
  # The check detects edited steps.
  treated <- steps$account == "treated"
  without <- list(
    steps = steps[!treated, ], cheap = replace(steps, "mu", list(ifelse(treated, 0.001, steps$mu)))
  )
  changed <- function(part, field, value) {
    release <- fit$release
    release[[part]][[field]] <- value
    release
  }
  group <- fit$release$statistics$treated
  group$mean_sd <- group$mean_sd / 2
  for (release in list(
    changed("privacy", "steps", without$steps), changed("privacy", "steps", without$cheap),
    changed("statistics", "treated", group), changed("panel", "treated", 500),
    changed("panel", "treated", NULL)
  )) {
    expect_type(release_problem(release), "character")
  }
})

test_that("conformal(), placebo_time() and penalty_path() refuse fits that protect everyone", {
  p <- protected_panel_of()
  fit <- withr::with_seed(1, protected_fit(p))
  expect_error(conformal(fit), "are protected", class = "dpsc_error_argument")
  expect_error(placebo_time(fit), "are protected", class = "dpsc_error_argument")
  expect_error(penalty_path(fit), "are protected", class = "dpsc_error_argument")
  expect_error(pdp(fit, p$donors), class = "dpsc_error_argument")
  # Only the width of the bounds cuts the interval, not the uncertain level of the released path.
  moved <- fit
  moved$target <- fit$target + 5
  moved$counterfactual <- fit$counterfactual + 5
  expect_equal(tidy(moved, conf.int = TRUE), tidy(fit, conf.int = TRUE))
})

test_that("percentage effects have limits only if the released base is well above the noise", {
  near <- protected_panel_of()
  # The levels of these people are far from zero, or near zero.
  far <- near
  far$donors <- pmin(near$donors + 0.6, 1)
  far$group <- pmin(near$group + 0.6, 1)
  clear <- vapply(1:20, function(seed) {
    fit <- withr::with_seed(seed, protected_fit(if (seed > 10) far else near))
    path <- as.data.frame(fit, type = "path")
    share <- as.data.frame(fit, type = "percent")
    clear <- path$.fitted[path$treated] > interval_quantile(0.95, 1) * fit$base_error
    expect_identical(!is.na(share$conf.low), clear)
    expect_identical(!is.na(share$estimate), clear)
    expect_identical(!is.na(share$conf.high), clear)
    clear
  }, c(NA, NA))
  # The noise determines whether there is an interval, and both cases occur.
  expect_setequal(clear, c(TRUE, FALSE))
})

test_that("an audit finds no loss above the budget for a donor or a treated person", {
  # Plants faults 19.
  p <- protected_panel_of(n = 150, m = 60, T0 = 5)
  extreme <- rep_len(c(1, -1), 7)
  replaced <- function(part, row) {
    p[[part]][1, ] <- row
    p
  }
  for (part in c("donors", "group")) {
    for (row in list(extreme, -extreme, rep(1, 7), c(rep(-1, 5), 1, 1))) {
      table <- withr::with_seed(4, audit_protected(p, replaced(part, row), epsilon = 4))
      account <- if (part == "donors") "donors" else "treated"
      expect_identical(unique(table$account[table$moved]), account)
      expect_lte(max(table$ratio), 1 + 1e-9)
      expect_lte(sum(table$share[table$moved]), 1 + 1e-6)
    }
  }
  # The planted fault is that the steps of the treated people use a budget that is not charged.
  loose <- function(group) {
    group$epsilon <- 3 * group$epsilon
    group
  }
  table <- withr::with_seed(4, audit_protected(p, replaced("group", extreme), loose, epsilon = 4))
  expect_gt(sum(table$share[table$moved]), 2)
})

test_that("a release for everyone is invalid if steps of the treated people have no stated cost", {
  # Plants faults 20.
  p <- protected_panel_of(n = 150, m = 60, T0 = 5)
  release <- protected_fit(p, epsilon = 4)$release
  # The fault is that the steps of the treated people have no separate cost, so the record
  # contradicts itself.
  release$privacy$steps$mu[release$privacy$steps$account == "treated"] <- NA
  expect_match(release_problem(release), "noise step|cost|type")
})

test_that("a group can be protected with delta = 0, and the steps' epsilons add up", {
  p <- protected_panel_of(n = 300, m = 200, T0 = 5, T1 = 1)
  fit <- protected_fit(p, epsilon = 8, delta = 0)
  steps <- fit$release$privacy$steps
  sums <- tapply(steps$epsilon, steps$account, sum)
  expect_true(all(sums <= 8 * (1 + 1e-9) & sums > 8 * (1 - 1e-6)))
  expect_null(release_problem(fit$release))
})

test_that("a larger budget gives more precise estimates of a known effect on protected groups", {
  errors <- function(epsilon, effect, seeds = 1:8) {
    vapply(seeds, function(seed) {
      p <- protected_panel_of(n = 500, m = 200, seed = seed, effect = effect)
      mean(effects(withr::with_seed(seed, protected_fit(p, epsilon = epsilon)))) - effect
    }, 0)
  }
  rough <- errors(1, 0.2)
  fine <- errors(16, 0.2)
  expect_lt(sqrt(mean(fine^2)), 0.03)
  expect_lt(sqrt(mean(fine^2)), sqrt(mean(rough^2)))
})

test_that("replacing a person changes losses of clipping radii by numbers at most one apart", {
  # Lemma 6 by brute force over small tables of integers.
  withr::local_seed(1)
  radii <- sort(sample(1:40, 5))
  counts <- function(norms, allowed) {
    pmax(0, vapply(radii, function(r) sum(norms > r), 0) - allowed)
  }
  ranges <- replicate(2000, {
    norms <- sample(0:45, 6, TRUE)
    other <- replace(norms, 1, sample(0:45, 1))
    allowed <- sample(0:4, 1)
    diff(range(counts(norms, allowed) - counts(other, allowed)))
  })
  expect_identical(max(ranges), 1)
})
