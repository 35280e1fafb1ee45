# Bad input. Each case is run once for its class, once for its text (snapshot), and once with
# canaries as the donors' names and values, which must not occur in any condition.

# Wrong calls on a panel of two targets (T0 = 4, T1 = 2, times 2001 to 2006). Each call is a
# function without arguments, whose name describes the fault.
bad_long_data <- function(p) {
  data <- p$data
  index <- c("unit", "time")
  donor <- p$units[[1]]
  long <- function(data, formula = y ~ treated, index = c("unit", "time"), ...) {
    # In the worst way of calling, do.call() puts the data into the call.
    do.call(read_panel, list(formula, data, index, ...))
  }
  change <- function(column, rows, value) {
    data[[column]][rows] <- value
    data
  }
  treat <- function(on) {
    data$treated <- as.numeric(on)
    data
  }
  is_target <- data$unit %in% p$units[p$n + 1:2]
  first_target <- data$unit == p$units[[p$n + 1]]
  after <- data$time > 2004
  only <- function(rows) data[rows, ]
  short <- c(1, 2, 3)
  targets_first <- function(data) {
    transform(data, unit = paste0(ifelse(is_target, "A", ""), unit))
  }
  list(
    "data: missing" = function() read_panel(y ~ treated, index = index),
    "data: a list" = function() long(as.list(data)),
    "data: a matrix" = function() long(as.matrix(data)),
    "data: no rows" = function() long(data[0, ]),
    "index: missing" = function() read_panel(y ~ treated, data),
    "index: NULL" = function() long(data, index = NULL),
    "index: one column" = function() long(data, index = "unit"),
    "index: NA" = function() long(data, index = c("unit", NA)),
    "index: numbers" = function() long(data, index = c(1, 2)),
    "index: the same twice" = function() long(data, index = c("unit", "unit")),
    "index: unknown column" = function() long(data, index = c("unit", "week")),
    "index: unknown columns" = function() long(data, index = c("store", "we{ek}")),
    "index: swapped, by pattern" = function() long(targets_first(data), y ~ treated, rev(index)),
    "index: swapped, by type" = function() {
      long(transform(data, time = as.Date("2020-01-01") + time), y ~ treated, rev(index))
    },
    "index: swapped, by guess" = function() long(data, y ~ treated, rev(index)),
    "index: swapped, not lasting" = function() {
      long(targets_first(treat(data$time == 2005 & is_target)), y ~ treated, rev(index))
    },
    "index: complex" = function() long(transform(data, time = complex(real = time))),
    "index: list" = function() long(transform(data, unit = I(as.list(unit)))),
    "index: missing unit" = function() long(change("unit", data$unit == donor, NA)),
    "index: infinite time" = function() long(change("time", 3, Inf)),
    "formula: a string" = function() long(data, "y ~ treated"),
    "formula: one-sided" = function() long(data, ~treated),
    "formula: two terms" = function() long(data, y ~ treated + time),
    "formula: a sign" = function() long(data, y ~ -treated),
    "formula: interaction" = function() long(data, y ~ treated * time),
    "formula: two parts" = function() long(data, y ~ treated | unit),
    "formula: offset" = function() long(data, y ~ offset(treated)),
    "formula: constant" = function() long(data, y ~ 1),
    "formula: dot" = function() long(data, y ~ .),
    "formula: unknown variable" = function() long(data, sales ~ treated),
    "formula: unknown variables" = function() long(data, sales ~ treatment),
    "formula: unknown function" = function() long(data, winsorise(y) ~ treated),
    "formula: its code fails" = function() long(data, stop(y, unit) ~ treated),
    "formula: qualified code fails" = function() long(data, base::stop(y, unit) ~ treated),
    "formula: too few values" = function() long(data, y[1:3] ~ treated),
    "formula: other rows" = function() long(data, short ~ I(short - short)),
    "formula: data inlined" = function() {
      long(data, as.formula(bquote(as.character(.(data$y)) ~ treated)))
    },
    "outcome: string" = function() long(transform(data, y = "yes")),
    "outcome: factor" = function() long(data, factor(y) ~ treated),
    "outcome: date" = function() long(transform(data, y = as.Date("2020-01-01") + time)),
    "outcome: two columns" = function() long(data, cbind(y, y) ~ treated),
    "outcome: missing donor value" = function() {
      long(change("y", data$unit == donor & data$time == 2003, NA))
    },
    "outcome: infinite donor" = function() long(change("y", data$unit == donor, -Inf)),
    "outcome: missing target value" = function() {
      long(change("y", first_target & data$time == 2003, NA))
    },
    "outcome: log of negative" = function() long(transform(data, y = -abs(y)), log(y) ~ treated),
    "treated: missing" = function() long(change("treated", 1:2, NA)),
    "treated: two" = function() long(transform(data, treated = 2 * treated)),
    "treated: string" = function() long(transform(data, treated = as.character(treated))),
    "treated: yes and no" = function() {
      long(transform(data, treated = factor(treated, labels = c("no", "yes"))))
    },
    "treated: two columns" = function() long(data, y ~ cbind(treated, treated)),
    "treated: never" = function() long(treat(FALSE & after)),
    "treated: always" = function() long(treat(is_target)),
    "treated: from the second period" = function() long(treat(is_target & data$time > 2001)),
    "treated: a cohort without periods before" = function() {
      long(treat(is_target & data$time > 2001 + 2 * first_target))
    },
    "treated: switches off" = function() {
      long(treat(is_target & after & !(first_target & data$time == 2006)))
    },
    "treated: switches off, last unit" = function() long(treat(is_target & data$time == 2005)),
    "treated: switches off, factor" = function() {
      treated <- is_target & after & !(first_target & data$time == 2006)
      long(transform(treat(treated), time = factor(time)))
    },
    "treated: switches off, strings" = function() {
      strings <- transform(treat(is_target & data$time > 2003), time = as.character(time - 1996))
      long(strings)
    },
    "donors: none" = function() long(only(is_target)),
    "donors: everyone treated" = function() long(treat(after)),
    "donors: one" = function() long(only(is_target | data$unit == donor)),
    "rows: a missing cell" = function() long(only(!(data$unit == donor & data$time == 2003))),
    "rows: unbalanced" = function() long(only(!(data$unit == donor & data$time > 2001))),
    "rows: one duplicate" = function() long(rbind(data, data[1, ])),
    "rows: duplicates" = function() long(rbind(data, data[1:3, ])),
    "rows: a target's cell missing" = function() {
      long(only(!(first_target & data$time == 2003)))
    },
    "rows: a target's duplicate" = function() {
      long(rbind(data, data[which(first_target)[[1L]], ]))
    },
    "rows: a repeated cross-section" = function() {
      long(transform(data, unit = sprintf("%s in %d", unit, time)))
    },
    "formula: rows mixed" = function() long(data, I(y / max(y)) ~ treated),
    "formula: outcome as indicator" = function() long(data, y ~ I(y > 0)),
    "rows: a duplicate for another" = function() long(rbind(data[-1, ], data[2, ])),
    "keep_names: NA" = function() long(data, y ~ treated, index, keep_names = NA)
  )
}

bad_matrices <- function(p) {
  donors <- p$donors
  rownames(donors) <- p$units[seq_len(p$n)]
  target <- p$target
  wide <- function(donors, target, T0 = 4, ...) {
    do.call(panel_from_donors, list(donors, target, T0, ...))
  }
  list(
    "donors: a data frame" = function() wide(as.data.frame(donors), target),
    "donors: a vector" = function() wide(as.vector(donors), target),
    "donors: strings" = function() wide(array(as.character(donors), dim(donors)), target),
    "donors: logical" = function() wide(donors > 0, target),
    "donors: no rows" = function() wide(donors[0, ], target),
    "donors: one row" = function() wide(donors[1, , drop = FALSE], target),
    "donors: no columns" = function() wide(donors[, 0], numeric(), 2),
    "donors: missing value" = function() wide(replace(donors, 7, NA), target),
    "donors: not finite" = function() wide(replace(donors, 3:17, NaN), target),
    "target: missing" = function() panel_from_donors(donors, T0 = 4),
    "target: NULL" = function() wide(donors, NULL),
    "target: strings" = function() wide(donors, letters[1:6]),
    "target: a data frame" = function() wide(donors, as.data.frame(target)),
    "target: too short" = function() wide(donors, target[1, 1:5]),
    "target: transposed" = function() wide(donors, t(target)),
    "target: no rows" = function() wide(donors, target[0, , drop = FALSE]),
    "target: an array" = function() wide(donors, array(0, c(1, 1, 6))),
    "target: infinite" = function() wide(donors, replace(target, 4, Inf)),
    "T0: missing" = function() panel_from_donors(donors, target),
    "T0: one" = function() wide(donors, target, 1),
    "T0: no period after it" = function() wide(donors, target, 6),
    "T0: large" = function() wide(donors, target, 1e5),
    "T0: negative" = function() wide(donors, target, -1),
    "T0: fraction" = function() wide(donors, target, 2.5),
    "T0: NA" = function() wide(donors, target, NA),
    "T0: string" = function() wide(donors, target, "4"),
    "times: too few" = function() wide(donors, target, 4, 1:5),
    "times: a list" = function() wide(donors, target, 4, as.list(1:6)),
    "times: missing" = function() wide(donors, target, 4, c(1:5, NA)),
    "times: infinite" = function() wide(donors, target, 4, c(-Inf, 1:5)),
    "times: repeated" = function() wide(donors, target, 4, as.Date("2020-01-01") + c(0:4, 4)),
    "times: repeated strings" = function() wide(donors, target, 4, c(letters[1:5], "a")),
    "times: backwards" = function() wide(donors, target, 4, c(1, 2, 9, 4, 5, 10)),
    "times: factor backwards" = function() wide(donors, target, 4, factor(letters[6:1]))
  )
}

is_argument <- c(
  "data: missing", "index: missing", "keep_names: NA", "target: missing", "T0: missing",
  "T0: fraction", "T0: NA", "T0: string"
)

# The class and the text of each case are checked separately, so that a failure names its case.
run_bad_input <- function(cases) {
  vapply(names(cases), function(name) {
    expected <- if (name %in% is_argument) "dpsc_error_argument" else "dpsc_error_panel"
    conditions <- signalled(cases[[name]]())
    condition <- conditions[[1]]
    expect_true(length(conditions) == 1, info = name)
    expect_true(all(c(expected, "dpsc_error") %in% class(condition)), info = name)
    expect_null(conditionCall(condition))
    paste0("# ", name, "\n", conditionMessage(condition), "\n")
  }, "")
}

test_that("each invalid panel causes one error, whose message matches the snapshot", {
  p <- toy_panel(k = 2)
  expect_snapshot(writeLines(run_bad_input(bad_long_data(p))))
  expect_snapshot(writeLines(run_bad_input(bad_matrices(p))))
})

test_that("no error about an invalid panel contains a donor's name or value", {
  p <- toy_panel(k = 2)
  canary <- 8675309.0625
  is_donor <- grepl("donor", p$data$unit)
  p$data$unit <- sub("donor", "CANARY", p$data$unit)
  p$units <- sub("donor", "CANARY", p$units)
  p$data$y[is_donor] <- canary
  p$donors[] <- canary
  rownames(p$data) <- paste0("CANARY", seq_len(nrow(p$data)))
  expect_true(holds_text(p, "CANARY") && holds_number(p, canary))
  cases <- c(bad_long_data(p), bad_matrices(p))
  for (name in names(cases)) {
    conditions <- signalled(cases[[name]]())
    expect_true(length(conditions) == 1, info = name)
    leaks <- holds_text(conditions, "CANARY") || holds_number(conditions, canary) ||
      holds_text(conditions, "8675309")
    expect_false(leaks, info = name)
  }
})

test_that("an error about a panel contains the function's name but no data, trace or parent", {
  p <- toy_panel()
  caller <- function(x, data) dp_synth(x, data, "unit", epsilon = 1, bounds = c(-1, 1))
  error <- tryCatch(do.call(caller, list(y ~ treated, p$data)), error = identity)
  expect_identical(conditionCall(error), quote(dp_synth()))
  expect_null(error$trace)
  expect_null(error$parent)
  expect_true(all(names(error) %in% c("message", "trace", "parent", "call", "rlang")))
})

test_that("a target's name in an error is printed as text, not as markup", {
  p <- toy_panel()
  data <- transform(p$data, unit = sub("target01", "a{b}<c>%d{?s}{.val x}", unit))
  data$y[grepl("a{", data$unit, fixed = TRUE)] <- NA
  expect_error(
    read_panel(y ~ treated, data, c("unit", "time")), "a{b}<c>%d{?s}{.val x}",
    fixed = TRUE, class = "dpsc_error_panel"
  )
})
