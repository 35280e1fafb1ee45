# Losses of each person if everyone is protected.

test_that("replacing a person's row changes the steps for this person by at most the pdp() loss", {
  p <- protected_panel_of(n = 150, m = 60, T0 = 5)
  rows <- list(
    rep_len(c(1, -1), 7), rep_len(c(-1, 1), 7), rep(1, 7), c(rep(-1, 5), 1, 1), rep(0, 7)
  )
  for (part in c("donors", "group")) {
    account <- if (part == "donors") "donors" else "treated"
    for (row in rows) {
      other <- p
      other[[part]][1, ] <- row
      table <- withr::with_seed(4, audit_protected(p, other, epsilon = 4))
      release <- attr(table, "release")
      losses <- pdp(release, p$donors, target = p$group)$donors
      mine <- losses[losses$account == account & losses$person == 1, ]
      moved <- sqrt(sum(table$share[table$account == account])) * gdp_budget_cpp(4, 1e-6)
      expect_lte(moved, mine$mu_replacement * (1 + 1e-9))
      # The neighbours are exchanged.
      back <- withr::with_seed(4, audit_protected(other, p, epsilon = 4))
      losses <- pdp(attr(back, "release"), other$donors, target = other$group)$donors
      theirs <- losses[losses$account == account & losses$person == 1, ]
      moved <- sqrt(sum(back$share[back$account == account])) * gdp_budget_cpp(4, 1e-6)
      expect_lte(moved, theirs$mu_replacement * (1 + 1e-9))
    }
  }
})

test_that("donors' and treated people's losses are at most the epsilon of the release", {
  p <- protected_panel_of(n = 400, m = 150)
  for (delta in c(1e-6, 0)) {
    fit <- withr::with_seed(1, protected_fit(p, epsilon = 4, delta = delta))
    loss <- pdp(fit, p$donors, target = p$group)
    table <- as.data.frame(loss)
    expect_identical(table$account, rep(c("donors", "treated"), c(400, 150)))
    expect_identical(table$person, c(1:400, 1:150))
    expect_true(all(table$replacement <= 4 * (1 + 1e-9)))
    expect_true(all(table$removal <= table$replacement))
    expect_true(all(table$removal > 0))
    expect_gt(max(table$replacement[table$account == "treated"]), 2)
    expect_output(print(loss), "each of 550 persons?|each of 550 people")
    expect_output(print(loss), "any person of any panel")
    bound <- pdp_bound(fit, norm = c(0, 1))
    expect_true(all(bound$replacement <= 4 * (1 + 1e-9)))
    own <- pdp_bound(fit, row = p$donors[1:5, ])
    expect_equal(own$removal, table$removal[1:5], tolerance = 1e-9)
    expect_length(grep("^norm", names(own)), length(fit$release$statistics$rounds) + 1)
  }
  gaussian <- withr::with_seed(1, protected_fit(p, epsilon = 4))
  at <- pdp_delta(pdp(gaussian, p$donors, target = p$group), 1)
  expect_named(at, c("person", "account", "removal", "replacement"))
  expect_true(all(at$replacement >= at$removal))
})

test_that("pdp() gives one account of losses for the donors and one for each of two cohorts", {
  p <- protected_panel_of(n = 400, m = 160, T0 = 5, T1 = 3)
  adopted <- rep(c(5, 6), each = 80)
  p$data <- long_people(p)
  late <- p$data$unit %in% unique(p$data$unit)[400 + 81:160] & p$data$time == 2006
  p$data$on[late] <- 0
  bounds <- c(-1, 1)
  fit <- withr::with_seed(2, dp_synth(y ~ on, p$data, c("unit", "time"),
    epsilon = 4, bounds = bounds, protect = "everyone", control = dp_control(rng = "R")
  ))
  by_matrix <- pdp(fit, p$donors, target = p$group, T0 = adopted)
  table <- as.data.frame(by_matrix)
  expect_identical(as.integer(table(table$account)), c(80L, 80L, 400L))
  expect_true(all(table$replacement <= 4 * (1 + 1e-9)))
  by_formula <- pdp(fit, y ~ on, data = p$data, index = c("unit", "time"))
  expect_equal(by_formula$donors, table)
  expect_error(pdp(fit, p$donors, target = p$group), class = "dpsc_error_panel")
  expect_error(pdp(fit, p$donors, target = p$group[-1, ], T0 = adopted[-1]),
    class = "dpsc_error_panel"
  )
})

test_that("pdp() requires the treated units of the release and refuses others", {
  p <- protected_panel_of()
  fit <- withr::with_seed(1, protected_fit(p))
  expect_error(pdp(fit, p$donors), class = "dpsc_error_argument")
  expect_error(pdp(fit, p$donors, target = p$group[-1, ]), class = "dpsc_error_panel")
  expect_error(pdp(fit, p$donors[-1, ], target = p$group), class = "dpsc_error_panel")
})
