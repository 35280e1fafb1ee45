# Calls that are refused at once, from public facts alone, without a charge, in any method.

every_method <- list(
  list("gram", "tight"), list("output", "tight"), list("output", "published"),
  list("objective", "tight"), list("objective", "published")
)

# A call with a ledger, which an error of this class must leave unchanged.
expect_refused <- function(class, regexp = NULL, ..., fun = dp_release) {
  ledger <- dp_ledger(1e12, 0.5)
  before <- as.list.environment(ledger)
  conditions <- signalled(fun(..., ledger = ledger))
  error <- conditions[[length(conditions)]]
  expect_s3_class(error, c(class, "dpsc_error"))
  if (!is.null(regexp)) expect_match(conditionMessage(error), regexp)
  expect_identical(as.list.environment(ledger), before)
  expect_length(as.list(conditionCall(error)), 1L)
  invisible(error)
}

test_that("dp_release() refuses a too small or too large epsilon, by any method, at no cost", {
  p <- toy_panel(20, 5, 2)
  for (method in every_method) {
    for (delta in c(0, 1e-6, 1e-300)) {
      for (epsilon in c(5e-324, 1e-300, 1e-200, 9e-10, 1.1e9, 1e300, .Machine$double.xmax)) {
        error <- expect_refused("dpsc_error_argument", "epsilon", p$donors, p$target, 5, epsilon,
          delta = delta, bounds = c(-1, 1), method = method[[1L]], calibration = method[[2L]]
        )
        expect_match(conditionMessage(error), if (epsilon < 1) "too small" else "too large")
      }
    }
  }
})

test_that("dp_release() is charged if and only if it returns a release, at epsilon 1e-9 to 1e9", {
  for (n in c(2, 40)) {
    p <- toy_panel(n, 5, 2)
    for (method in every_method) {
      for (delta in c(0, 1e-6, 1e-300)) {
        for (epsilon in c(1e-9, 1e-5, 1e-2, 1e4, 1e9)) {
          ledger <- dp_ledger(1e12, 0.5)
          result <- tryCatch(
            suppressWarnings(dp_release(p$donors, p$target, 5, epsilon, delta, c(-1, 1),
              method[[1L]], method[[2L]], ledger = ledger
            )),
            # A ledger does not pay for an invalid guarantee.
            dpsc_error_argument = function(e) NULL, dpsc_error_budget = function(e) NULL
          )
          expect_identical(nrow(as.data.frame(ledger)), as.integer(!is.null(result)))
        }
      }
    }
  }
})

test_that("bounds that exclude most targets are refused before the charge", {
  for (fun in list(dp_release, dp_synth)) {
    error <- expect_refused("dpsc_error_bounds", "miss the target",
      log(pressure) ~ enrolled, clinic_panel, c("patient", "month"),
      epsilon = 1, bounds = list(`log(pressure)` = c(80, 200)), fun = fun
    )
    expect_match(conditionMessage(error), "log")
    # In version 0.2.0 the bounds referred to the expression in one verb, and to the column in the
    # others.
    for (bounds in list(c(80, 200), log(c(80, 200)))) {
      error <- expect_refused("dpsc_error_bounds", "not a single column",
        log(pressure) ~ enrolled, clinic_panel, c("patient", "month"),
        epsilon = 1, bounds = bounds, fun = fun
      )
      expect_match(conditionMessage(error), fixed = TRUE,
        paste0("bounds = list(pressure = ", deparse(bounds), ")")
      )
      expect_match(conditionMessage(error), fixed = TRUE,
        paste0("bounds = list(`log(pressure)` = ", deparse(bounds), ")")
      )
    }
    expect_refused("dpsc_error_bounds", "miss the target",
      pressure ~ enrolled, clinic_panel, c("patient", "month"),
      epsilon = 1, bounds = log(c(80, 200)), fun = fun
    )
  }
  p <- toy_panel(20, 5, 2, k = 3)
  # A minority of several targets may lie outside the bounds, but not the majority.
  one <- replace(p$target, 1, 9)
  one[1, ] <- 9
  expect_warning(
    dp_release(p$donors, one, 5, 1, bounds = c(-1, 1), protect = "donors"),
    class = "dpsc_warning_bounds"
  )
  two <- one
  two[2, ] <- 9
  expect_refused("dpsc_error_bounds", NULL,
    p$donors, two, 5, 1,
    bounds = c(-1, 1), protect = "donors"
  )
  # The bounds differ by period.
  limits <- cbind(1:7 - 1, 1:7 + 1)
  expect_no_warning(dp_release(p$donors, 1:7 + 0.1, 5, 1, bounds = limits))
  expect_refused("dpsc_error_bounds", NULL, p$donors, 7:1 + 0.1, 5, 1, bounds = limits[7:1, ] + 9)
  # Without privacy no budget is spent.
  expect_s3_class(dp_release(p$donors, two, 5, Inf, bounds = c(-1, 1)), "dp_release")
})

test_that("dp_release() and dp_synth() check settings that were edited after dp_control()", {
  p <- toy_panel(20, 5, 2)
  edited <- function(field, value) {
    control <- dp_control()
    control[field] <- list(value)
    control
  }
  bad <- list(
    edited("split", c(0.99, 0.99)), edited("split", 2), edited("split", NA), edited("lambda", -1),
    edited("lambda", "1"), edited("rng", "mine"), edited("rng", NULL), edited("features", 0),
    edited("features", 1.5), edited("cap", Inf), edited("curvature", 0), edited("donor_names", 1),
    edited("settings", 1), edited("more", 1), structure(list(), class = "dp_control"),
    structure("x", class = "dp_control"), edited("lambda", c(1, 2)),
    structure(c(unclass(dp_control()), list(rng = "R")), class = "dp_control")
  )
  for (control in bad) {
    for (fun in list(dp_release, dp_synth)) {
      error <- expect_refused("dpsc_error_argument", NULL,
        p$donors, p$target, 5, 1, bounds = c(-1, 1), control = control, fun = fun
      )
      expect_identical(as.character(conditionCall(error)),
        if (identical(fun, dp_release)) "dp_release" else "dp_synth"
      )
      expect_refused("dpsc_error_argument", NULL,
        y ~ treated, p$data, c("unit", "time"),
        epsilon = 1, bounds = c(-1, 1), control = control, fun = fun
      )
      expect_refused("dpsc_error_argument", NULL,
        dp_chunks(list(p$donors)), p$target, 5, 1, bounds = c(-1, 1), control = control, fun = fun
      )
    }
  }
  expect_s3_class(
    dp_release(p$donors, p$target, 5, 1, bounds = c(-1, 1), control = edited("features", Inf)),
    "dp_release"
  )
})

test_that("a numeric index with fewer donors than periods causes an error before the charge", {
  # Six people, forty periods, and the last person treated. Either order of `index` is valid.
  withr::local_seed(3)
  data <- expand.grid(id = 1:41, t = 1:7)
  data$y <- stats::runif(nrow(data), -1, 1)
  data$treated <- as.numeric(data$id == 41 & data$t == 7)
  ledger <- dp_ledger(5, 1e-6)
  # In the wrong order the last values of all people would be the public target.
  expect_error(
    dp_release(y ~ treated, data, c("t", "id"),
      epsilon = 1, bounds = c(-1, 1), ledger = ledger, protect = "donors"
    ),
    "may be interchanged", class = "dpsc_error_index"
  )
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  right <- function(data, ...) {
    dp_release(y ~ treated, data, c("id", "t"), bounds = c(-1, 1), protect = "donors", ...)
  }
  expect_no_warning(right(data, epsilon = 1))
  few <- data[data$id > 36, ]
  expect_error(right(few, epsilon = 1), class = "dpsc_error_index")
  # A small number of donors is no reason for an error if the identifiers cannot be periods, or
  # without privacy.
  expect_no_warning(right(transform(few, id = paste("unit", id)), epsilon = 1))
  expect_no_warning(right(transform(few, t = as.Date("2020-01-01") + t), epsilon = 1))
  expect_no_warning(right(few, epsilon = Inf))
})

test_that("repeated or abbreviated arguments are refused before R can quote the data", {
  p <- canary_panel()
  long <- list(y ~ on, p$data, c("unit", "time"), epsilon = 1, bounds = p$bounds)
  wide <- list(p$donors, target = p$target, T0 = 6, epsilon = 1, bounds = p$bounds)
  chunks <- c(list(dp_chunks(list(p$donors))), wide[-1L])
  for (fun in list(dp_release, dp_synth)) {
    for (arguments in list(long, wide, chunks)) {
      for (more in list(
        list(epsilon = 2), list(eps = 2), list(d = 1e-6, del = 1e-6), list(bounds = p$bounds),
        list(t = 1), list(meth = "gram")
      )) {
        conditions <- canary_conditions(do.call(fun, c(arguments, more)))
        expect_length(conditions, 1L)
        expect_s3_class(conditions[[1L]], "dpsc_error_argument")
        expect_match(conditionMessage(conditions[[1L]]), "more than once|Abbreviated")
        expect_no_canary(conditions[[1L]], p$secrets, "twice")
        expect_length(as.list(conditionCall(conditions[[1L]])), 1L)
      }
    }
  }
})

test_that("for epsilon above 10, but not Inf, a note states that the budget protects little", {
  expect_null(weak_budget(10))
  expect_null(weak_budget(Inf))
  expect_match(weak_budget(10.5), "exp(10.5)", fixed = TRUE)
  expect_match(weak_budget(1e6), "protects little")
})

# Errors about donors' rows contain the kind of problem, but neither the donor nor the number of
# rows.
test_that("errors about donors' rows reveal neither donor, period nor number of affected rows", {
  p <- toy_panel(8, 4, 2)
  donor <- function(i, t) p$data$unit == p$units[[i]] & p$data$time == p$times[[t]]
  cells <- list(list(1, 1), list(3, 2), list(8, 6), list(1:4, 3), list(2, 1:5))
  rows <- lapply(cells, function(cell) {
    which(p$data$unit %in% p$units[cell[[1L]]] & p$data$time %in% p$times[cell[[2L]]])
  })
  said <- function(change) {
    unique(vapply(rows, function(at) {
      ledger <- dp_ledger(1, 1e-6)
      error <- tryCatch(
        dp_synth(y ~ treated, change(p$data, at), c("unit", "time"),
          epsilon = 1, bounds = c(-1, 1), ledger = ledger
        ),
        dpsc_error_panel = identity
      )
      expect_identical(nrow(as.data.frame(ledger)), 0L)
      conditionMessage(error)
    }, ""))
  }
  changes <- list(
    absent = function(data, at) data[-at, ],
    missing = function(data, at) replace(data, "y", list(replace(data$y, at, NA))),
    infinite = function(data, at) replace(data, "y", list(replace(data$y, at, -Inf))),
    twice = function(data, at) rbind(data, data[at, ]),
    # Another donor's row takes the place of this row.
    instead = function(data, at) {
      other <- which(!grepl("target", data$unit) & !seq_len(nrow(data)) %in% at)[[1L]]
      rbind(data[-at, ], data[rep(other, length(at)), ])
    },
    `no unit` = function(data, at) replace(data, "unit", list(replace(data$unit, at, NA))),
    `no time` = function(data, at) replace(data, "time", list(replace(data$time, at, NA))),
    `no treatment` = function(data, at) {
      replace(data, "treated", list(replace(data$treated, at, NA)))
    }
  )
  for (kind in names(changes)) {
    message <- said(changes[[kind]])
    expect_length(message, 1L)
    # The message contains neither a number nor advice that would make rows depend on each other.
    if (kind != "no treatment") expect_no_match(message, "[0-9]", label = kind)
    expect_no_match(message, "drop|[Rr]emove|impute|interpolat|mean of", label = kind)
  }
  # The donors are matrices and chunks.
  said <- vapply(rows, function(at) {
    donors <- replace(p$donors, at %% length(p$donors) + 1, NA)
    conditionMessage(tryCatch(
      dp_synth(donors, p$target, 4, 1, bounds = c(-1, 1)), dpsc_error_panel = identity
    ))
  }, "")
  expect_length(unique(said), 1L)
  said <- vapply(1:8, function(i) {
    blocks <- lapply(split(seq_len(8), rep(1:4, 2)), function(rows) {
      replace(p$donors, cbind(i, 2), NaN)[rows, ]
    })
    conditionMessage(tryCatch(
      dp_synth(dp_chunks(blocks), p$target, 4, 1, bounds = c(-1, 1)), dpsc_error_panel = identity
    ))
  }, "")
  expect_length(unique(said), 1L)
})

test_that("an error requests `protect` before treated rows are checked, and names no person", {
  p <- toy_panel(5, 4, 2, k = 1)
  own <- p$data$unit == "target01" & p$data$time == 2003
  if (!any(own)) own <- p$data$unit == p$data$unit[p$data$treated == 1][1] & p$data$time == 2003
  name <- p$data$unit[own]
  broken <- list(
    gap = p$data[!own, ], twice = rbind(p$data, p$data[own, ]),
    missing = transform(p$data, y = replace(y, own, NA)),
    early = transform(p$data, treated = replace(treated, p$data$unit == name, 1))
  )
  run <- function(data, ...) {
    dp_synth(y ~ treated, data, c("unit", "time"), epsilon = 1, bounds = c(-1, 1), ...)
  }
  for (data in broken) {
    expect_error(run(data), "state who is protected", class = "dpsc_error_protect")
    error <- expect_error(run(data, protect = "donors"), class = "dpsc_error_panel")
    expect_no_match(conditionMessage(error), name, fixed = TRUE)
    # With size = 30 the row belongs to a group, not to one person.
    expect_error(run(data, size = 30), class = "dpsc_error_panel")
  }
  expect_error(run(p$data, size = 1), class = "dpsc_error_protect")
  expect_match(
    conditionMessage(expect_error(run(broken$gap, size = 30))), name, fixed = TRUE
  )
  many <- matrix(c(NA, 1:11), 2, byrow = TRUE)
  expect_error(
    dp_synth(p$donors, many, 4, epsilon = 1, bounds = c(-1, 1)), class = "dpsc_error_protect"
  )
})

test_that("an error requests `protect` before the order of `index` is checked", {
  p <- toy_panel(5, 4, 2, k = 1)
  data <- transform(p$data, person = as.integer(factor(unit)), day = as.Date("2020-01-01") + time)
  data$name <- sprintf("p%d", data$person)
  run <- function(data, index, ...) {
    dp_synth(y ~ treated, data, index, epsilon = 1, bounds = c(-1, 1), ...)
  }
  # One row of one person is treated, in the last period or in the middle of the periods.
  one <- transform(data, treated = 0)
  last <- which(data$person == max(data$person) & data$time == max(data$time))
  odd <- which(data$person == 2 & data$time == min(data$time) + 2)
  rows <- list(
    dates = list(replace(one$treated, last, 1), c("day", "person")),
    pattern = list(replace(one$treated, odd, 1), c("name", "time")),
    swapped = list(data$treated, c("time", "unit"))
  )
  for (one_row in rows) {
    given <- transform(data, treated = one_row[[1L]])
    expect_error(run(given, one_row[[2L]]), class = "dpsc_error_protect")
    expect_error(run(given, one_row[[2L]], protect = "donors"), class = "dpsc_error_panel")
  }
})

test_that("no error reveals when the treatment of a protected person began or ended", {
  p <- toy_panel(6, 4, 2, k = 3)
  treated <- p$data$treated == 1
  people <- unique(p$data$unit[treated])
  at <- function(who, time) p$data$unit == who & p$data$time %in% time
  times <- sort(unique(p$data$time))
  run <- function(on, ...) {
    conditionMessage(expect_error(dp_synth(y ~ treated, transform(p$data, treated = on),
      c("unit", "time"), epsilon = 1, bounds = c(-1, 1), ...
    ), class = "dpsc_error_panel"))
  }
  for (kind in c("stops", "early")) {
    said <- lapply(people, function(who) {
      lapply(if (kind == "stops") times[6] else times[1:2], function(time) {
        on <- p$data$treated
        on[at(who, if (kind == "stops") time else times[times >= time])] <- kind == "early"
        run(as.integer(on), protect = "everyone")
      })
    })
    said <- unique(unlist(said))
    expect_length(said, 1L)
    expect_no_match(said, paste(c(people, times, "[0-9]"), collapse = "|"))
  }
  # If several people have the fault, the message does not give their number.
  on <- p$data$treated
  on[at(people[[1L]], times[6]) | at(people[[2L]], times[6])] <- 0L
  expect_no_match(run(on, protect = "everyone"), "[0-9]")
})

test_that("rows of an unprotected group are public, so errors name the group", {
  p <- toy_panel(5, 4, 2, k = 2)
  own <- p$data$unit == "target02" & p$data$time == 2003
  refused <- function(data, regexp) {
    expect_refused("dpsc_error_panel", regexp,
      y ~ treated, data, c("unit", "time"), epsilon = 1, bounds = c(-1, 1), protect = "donors",
      size = 30
    )
  }
  refused(p$data[!own, ], "target02, which is treated, has no row")
  refused(rbind(p$data, p$data[own, ]), "target02, which is .* has several rows in period 2003")
  refused(transform(p$data, y = replace(y, own, NA)), "target02 in period 2003")
  # The message does not name a period that may be in the panel because of one donor.
  extra <- rbind(p$data, transform(p$data[p$data$unit == p$units[[1L]], ][1L, ], time = 1999))
  error <- refused(extra, "which is treated")
  expect_no_match(conditionMessage(error), "1999")
})

test_that("an error states that data are a repeated cross-section, not a panel", {
  withr::local_seed(4)
  data <- data.frame(person = 1:60, year = rep(2001:2006, each = 10), y = stats::runif(60))
  data$treated <- as.numeric(data$person %% 10 == 0 & data$year > 2004)
  for (ids in list(data$person, sprintf("p%02d", data$person), rev(data$person))) {
    expect_refused("dpsc_error_panel", "as in a repeated cross-section",
      y ~ treated, transform(data, person = ids), c("person", "year"),
      epsilon = 1, bounds = c(0, 1)
    )
  }
})

test_that("the error for an unknown argument of dp_synth() names its help page", {
  p <- toy_panel(20, 5, 2)
  expect_error(dp_synth(p$donors, target = p$target, T0 = 5, epsilom = 1),
    "`?dp_synth` lists the arguments", fixed = TRUE, class = "dpsc_error_argument")
})

test_that("non-numeric text, wide data and a panel without donors cause specific errors", {
  data <- expand.grid(id = 1:30, t = 1:7)
  data$y <- 0.5
  data$on <- data$id == 1 & data$t > 4
  fit <- function(data, ...) {
    dp_synth(y ~ on, data, c("id", "t"), epsilon = 1, bounds = c(0, 1), protect = "donors", ...)
  }
  expect_error(fit(transform(data, y = paste0("$", y))), "`y` is a column of text")
  # A brace in a name is not read as code.
  odd <- stats::setNames(transform(data, y = "$1"), c("id", "t", "y {run}", "on"))
  expect_error(
    dp_synth(`y {run}` ~ on, odd, c("id", "t"), epsilon = 1, bounds = c(0, 1), protect = "donors"),
    "`y {run}` is a column of text", fixed = TRUE, class = "dpsc_error_panel"
  )
  expect_error(fit(transform(data, y = replace(y, 9, NA))), "missing or not finite for some donor")
  expect_error(fit(transform(data, on = t > 4)), "There must be donors", class = "dpsc_error_panel")
  wide <- as.data.frame(matrix(0.5, 30, 7))
  expect_error(dp_synth(wide, target = 1:7, T0 = 4, epsilon = 1), "as.matrix")
  expect_error(
    dp_synth(matrix(0.5, 7, 30), target = 1:7, T0 = 4, epsilon = 1, bounds = c(0, 1)),
    "is a unit, and\\s+each column is a period"
  )
  expect_error(
    dp_describe(y ~ t, data, epsilon = 1, bounds = list(y = c(0, 1), t = c(0, 9))),
    "It has a left side"
  )
})
