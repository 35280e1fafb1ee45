# Outcomes of private fits: a change of one donor must change only that donor's row.

index <- c("unit", "time")

from <- function(formula, data, ...) read_panel(formula, data, index, ...)

# The small panel with more columns for outcomes, all of which are computed row by row.
rich_data <- function(p) {
  data <- p$data
  transform(data,
    y = y + 2, z = 3 - y, count = as.integer(round(10 * y)), on = y > 0, name = format(y),
    group = factor(ifelse(time > 2003, "late", "early"))
  )
}

mixing <- alist(
  y / max(y), I(y / max(y)), scale(y), rank(y), I(rank(y) / 10), y - mean(y), I(y - ave(y, time)),
  y - stats::ave(y, time), stats::median(y) + y, pmax(y, max(y)), ifelse(y > mean(y), 1, 0),
  cumsum(y), cumprod(y), cummax(y), rev(y), sort(y), y[order(y)], c(y), diff(y), y - y[1],
  y - y[[1]], y * sum(on), as.numeric(factor(y)), as.numeric(cut(y, 3)), findInterval(y, z),
  match(y, z) + 0, (y %in% z) + 0, stats::quantile(y, 0.5) + y, Reduce(`+`, y, accumulate = TRUE),
  sapply(y, function(v) v), (function(v) v / max(v))(y), local(y / max(y)), with(data, y),
  eval(quote(y / max(y))), do.call("max", list(y)) + y, identity(y), base::identity(y),
  base::max(y) - y, (on && y > 0) + y, (on || y > 0) + y, stats::plogis(max(y)) + y, .data$y,
  data$y, `[`(y, 1), if (y > 1) y else 1, y <- 2, base::eval(y), utils::head(y),
  stats::lag(y)
)

test_that("with a finite epsilon an outcome that may mix rows is refused before the charge", {
  p <- toy_panel()
  data <- rich_data(p)
  for (code in c(mixing, call("{", quote(y)))) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    label <- deparse(code)[[1L]]
    error <- tryCatch(from(formula, data), error = identity)
    expect_true(inherits(error, "dpsc_error_panel"), label = label)
    expect_match(conditionMessage(error), "row by row", label = label)
    expect_match(conditionMessage(error), "how the column was computed", label = label)
  }
  ledger <- dp_ledger(1, 1e-6)
  for (fun in list(dp_synth, dp_release)) {
    expect_error(
      fun(I(y / max(y)) ~ treated, data, index, epsilon = 1, bounds = c(0, 1), ledger = ledger),
      "max", class = "dpsc_error_panel"
    )
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  # Without privacy any expression is allowed.
  expect_identical(
    dp_synth(I(y / max(y)) ~ treated, data, index, epsilon = Inf)$target[1, ],
    p$target[1, ] / max(data$y) + 2 / max(data$y), tolerance = 1e-12
  )
})

test_that("arithmetic and row-wise functions in an outcome give the same results as in R", {
  p <- toy_panel()
  data <- rich_data(p)
  row_by_row <- alist(
    y, log(y), log(y, 2), log(y, base = z), base::log(y), log1p(y), log2(y), log10(y), exp(y),
    expm1(y), sqrt(y), abs(-y), I(y^2), (y), -y, +y, y + z, y - 1, y * z, y / z, y^z, y %% 1,
    y %/% 0.1, round(y, 1), signif(y, 2), floor(y), ceiling(y), trunc(y), sign(z), asinh(y),
    pmin(y, z), pmax(y, 2.1), pmax(y, z, 1), pmin(pmax(y, 1.5), 2.5), stats::qlogis(plogis(y)),
    qlogis(y / 10), pnorm(y), stats::qnorm(y / 10), plogis(y, 1, 2), count + 0L, as.numeric(count),
    as.numeric(on), as.double(name), as.integer(y), ifelse(y > 2, y, 2), ifelse(on, z, 0 * y),
    ifelse(is.na(y), 3, y), ifelse(is.finite(log(y - 2)), 1, 0) + y, y * (time > 2003),
    y * (group == "late"), y * (on & !(z > 1) | time == 2002), y * xor(on, z > 1),
    y * (as.character(group) != "early"), y - 100 * (name == "")
  )
  for (code in row_by_row) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    expect_identical(from(formula, data), from(formula, data, private = FALSE),
      label = deparse(code)
    )
  }
})

test_that("with a computed outcome a change to one donor changes that donor's row only", {
  p <- toy_panel()
  data <- rich_data(p)
  mine <- data$unit == p$units[[2L]]
  other <- data
  # The values exceed all other values, and are of every kind.
  other[mine, c("y", "z")] <- c(40, 50)
  other$count[mine] <- 900L
  other$on[mine] <- !other$on[mine]
  other$name[mine] <- "77"
  for (code in alist(
    log(y) + z, ifelse(on, y, z), ifelse(y > 9, 1L, 0.5), pmax(y, z, 3), ifelse(on, 1, on) + y,
    as.numeric(name), round(y, count %% 3), y * (name == "77"), plogis(y, z), ifelse(1 > 0, y, 0)
  )) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    a <- from(formula, data)$donors
    b <- from(formula, other)$donors
    expect_identical(a[-2L, ], b[-2L, ], label = deparse(code))
    expect_false(identical(a[2L, ], b[2L, ]), label = deparse(code))
  }
})

test_that("ifelse() with a test of length 1 does not give the first row's value to all rows", {
  p <- toy_panel()
  expect_identical(from(ifelse(TRUE, y, 0) ~ treated, p$data)$donors, p$donors)
  # The type of the result does not depend on the values of the condition.
  expect_identical(from(ifelse(y > 1e9, 1, FALSE) ~ treated, p$data)$donors, 0 * p$donors)
})

test_that("an argument of which base R uses only the first element must be a single value", {
  p <- toy_panel()
  data <- rich_data(p)
  for (code in alist(
    pmax(y, z, na.rm = on), pmin(y, z, na.rm = on), plogis(y, 0, 1, on),
    qlogis(y / 9, 0, 1, TRUE, on), pnorm(y, lower.tail = on), pnorm(y, log.p = on)
  )) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    expect_error(from(formula, data), class = "dpsc_error_panel")
  }
  data$z[[1L]] <- NA
  expect_identical(
    from(pmax(y, z, na.rm = TRUE) ~ treated, data),
    from(pmax(y, z, na.rm = TRUE) ~ treated, data, private = FALSE)
  )
})

# If rows are shuffled, every allowed function gives a result that is shuffled in the same way.
test_that("each function allowed in an outcome commutes with permutations of the rows", {
  withr::local_seed(6)
  n <- 50
  one <- c(-2.7, 0.3, runif(n - 5), 1, 0, 7)
  two <- c(0, 3, runif(n - 4), 2, -1)
  order <- sample.int(n)
  for (name in names(rowwise_functions)) {
    f <- rowwise_functions[[name]]
    arity <- if (name %in% c("(", "!", "I", "as.numeric", "as.double", "as.integer")) 1L else 1:3
    tried <- 0L
    for (k in arity) {
      run <- function(i) {
        arguments <- list(one[i], two[i], two[i] + 1)[seq_len(k)]
        tryCatch(suppressWarnings(do.call(f, arguments)), error = function(e) NULL)
      }
      whole <- run(seq_len(n))
      if (is.null(whole)) next
      tried <- tried + 1L
      expect_length(whole, n)
      expect_identical(run(order), whole[order], label = name)
      # The result of each row equals the result for its value alone.
      alone <- vapply(seq_len(n), function(i) as.character(run(i)), "")
      expect_identical(alone, as.character(whole), label = name)
    }
    expect_gt(tried, 0L, label = name)
  }
})

test_that("a user's function with the name of an allowed function is not used", {
  p <- toy_panel()
  data <- transform(p$data, y = y + 2)
  make <- function() {
    log <- function(x) x / max(x)
    `+` <- function(a, b) max(a)
    I <- function(x) rank(x)
    stats <- base <- list(log = log)
    list(log(y) ~ treated, y + 1 ~ treated, I(y) ~ treated, base::log(y) ~ treated)
  }
  expected <- list(log(p$donors + 2), p$donors + 2 + 1, p$donors + 2, log(p$donors + 2))
  Map(function(formula, donors) expect_identical(from(formula, data)$donors, donors),
    make(), expected
  )
})

test_that("variables in an outcome are columns or single values of the formula's environment", {
  p <- toy_panel()
  limit <- 0.25
  yes <- TRUE
  expect_identical(from(pmin(y, limit) ~ treated, p$data)$donors, pmin(p$donors, limit))
  expect_identical(from(y * yes ~ treated, p$data)$donors, p$donors)
  expect_identical(from(y * pi ~ treated, p$data)$donors, p$donors * pi)
  # A vector computed from donors is refused in every length and form.
  means <- stats::ave(p$data$y, p$data$time)
  two <- c(1, 2)
  named <- c(a = 1)
  classed <- structure(1, class = "odd")
  nothing <- NULL
  listed <- list(1)
  for (code in alist(y - means, means, y * two, y * named, y * classed, y * listed)) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    expect_error(from(formula, p$data), "neither a column of the data", class = "dpsc_error_panel")
  }
  expect_error(from(y * nothing ~ treated, p$data), class = "dpsc_error_panel")
  written <- stats::as.formula(bquote(y - .(means) ~ treated))
  expect_error(from(written, p$data), "contains a vector", class = "dpsc_error_panel")
  expect_error(from(y + NULL ~ treated, p$data), class = "dpsc_error_panel")
  expect_error(from(log(y, ) ~ treated, p$data), class = "dpsc_error_panel")
  expect_error(from(2 ~ treated, p$data), class = "dpsc_error_panel")
  expect_error(from(sales + 1 ~ treated, p$data), "sales", class = "dpsc_error_panel")
  expect_error(from(winsorise(y) ~ treated, p$data), "unknown function", class = "dpsc_error_panel")
})

test_that("outcomes refuse columns of special classes, and read numbers with a class as numbers", {
  p <- toy_panel()
  registerS3method("Ops", "greedy", function(e1, e2) max(unclass(e1)), baseenv())
  data <- p$data
  data$greedy <- structure(complex(real = data$y), class = "greedy")
  data$greedy_number <- structure(data$y, class = "greedy")
  data$span <- as.difftime(data$time, units = "days")
  data$pair <- cbind(data$y, data$y)
  data$list <- as.list(data$y)
  data$labelled <- structure(data$y, class = "labelled", label = "outcome")
  for (code in alist(y * (greedy > 1), y * (span > 1), y + pair, y * (list > 0))) {
    formula <- stats::as.formula(call("~", code, quote(treated)))
    expect_error(from(formula, data), "class", class = "dpsc_error_panel")
  }
  # Numbers with a class count as numbers.
  expect_identical(from(greedy_number + 1 ~ treated, data)$donors, p$donors + 1)
  expect_identical(from(labelled + 1 ~ treated, data)$donors, p$donors + 1)
  # The codes of a factor depend on the levels in the data, so its text is read.
  data$f <- factor(data$y)
  expect_equal(from(as.numeric(f) ~ treated, data)$donors, p$donors)
  expect_equal(from(as.numeric(as.character(f)) ~ treated, data)$donors, p$donors)
})

test_that("the treatment indicator is public and must not be computed from the outcome", {
  p <- toy_panel()
  from_outcome <- list(
    y ~ I(y > 0.5), log(y + 2) ~ I(treated * (y > 0)), y ~ (time > 2004 & y > 0)
  )
  for (formula in from_outcome) {
    expect_error(from(formula, p$data), "not be computed from the outcome",
      class = "dpsc_error_panel"
    )
  }
  formula <- I(y * (time > 0)) ~ I(grepl("target", unit) & time > 2004)
  expect_identical(from(formula, p$data)$donors, p$donors)
})

test_that("labels of computed outcomes contain no number with over two significant digits", {
  p <- toy_panel()
  label <- function(formula) from(formula, p$data)$outcome
  value <- p$data$y[[1L]]
  expect_identical(label(stats::as.formula(bquote(I(y - .(value)) ~ treated))), "I(y - ...)")
  expect_identical(label(y - 142 ~ treated), "y - ...")
  expect_identical(label(y * 12345L ~ treated), "y * ...")
  expect_identical(label(100 * y + 0.01 - 1.5 ~ treated), "100 * y + 0.01 - 1.5")
  expect_identical(label(ifelse(is.na(y), 1e6, y) ~ treated), "ifelse(is.na(y), 1e+06, y)")
  expect_identical(code_label(quote(f(NULL, 3.14159, x[, 1], TRUE)), "outcome"),
    "f(NULL, ..., x[, 1], TRUE)"
  )
  # Errors, prints and releases do not contain the value either.
  formula <- stats::as.formula(bquote(I(y - .(value)) ~ treated))
  error <- expect_error(
    dp_synth(formula, p$data, index, epsilon = 5, bounds = c(-3, 3)), class = "dpsc_error_bounds"
  )
  expect_no_match(
    conditionMessage(error), substr(format(abs(value), digits = 15), 1, 6), fixed = TRUE
  )
  limits <- rlang::set_names(list(c(-3, 3)), written(formula[[2L]]))
  fit <- dp_synth(formula, p$data, index, epsilon = 5, bounds = limits)
  expect_false(holds_number(fit, value))
  shown <- utils::capture.output(print(fit), print(fit$release), print(summary(fit)))
  expect_no_match(shown, substr(format(abs(value), digits = 15), 1, 6), fixed = TRUE)
  data <- transform(p$data, y = replace(y, unit == p$units[[1L]], NA))
  error <- tryCatch(from(formula, data), error = identity)
  expect_match(conditionMessage(error), "I(y - ...)", fixed = TRUE)
})

test_that("the outcome's column is refused as the public treatment indicator", {
  p <- toy_panel(6, 4, 2)
  data <- transform(p$data, event = treated)
  run <- function(formula) read_panel(formula, data, c("unit", "time"))
  expect_error(run(event ~ event), "computed from the outcome", class = "dpsc_error_panel")
  expect_no_error(run(ifelse(treated == 1, y - 1, y) ~ treated))
})
