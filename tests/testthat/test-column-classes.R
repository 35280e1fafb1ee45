# The `bounds` of a column must be possible for its public class, in every verb. Otherwise the call
# stops before the charge, for any values of the cells.

n <- 400L

classes <- withr::with_seed(1, list(
  number = sample(c(0, 1), n, TRUE), whole = sample(0:1, n, TRUE),
  flag = sample(c(TRUE, FALSE), n, TRUE), text = sample(c("0", "1"), n, TRUE),
  factor = factor(sample(c("0", "1"), n, TRUE)), date = as.Date("2020-01-01") + 0:1
))
classes$date <- rep(classes$date, length.out = n)

limits <- list(range = c(0, 1), flags = c(FALSE, TRUE), levels = c("a", "b"))

# These classes contradict the bounds.
impossible <- list(range = "date", flags = "date", levels = c("number", "whole", "flag", "date"))

long_of <- function(v) {
  data <- data.frame(unit = rep(sprintf("u%03d", seq_len(n)), 6L), week = rep(1:6, each = n))
  data$y <- stats::dnorm(seq_along(data$week) / 900)
  data$v <- v[rep(seq_len(n), 6L)]
  data$on <- as.integer(data$unit == "u001" & data$week > 4)
  data
}

# A ledger pays for secure noise only.
draws <- function(ledger) dp_control(rng = if (is.null(ledger)) "R" else "secure")

# Each call spends from the ledger, and its release depends on the column.
verbs <- list(
  lm = function(v, b, ledger) {
    data <- data.frame(y = stats::dnorm(seq_len(n) / 90), v = v)
    dp_lm(y ~ v, data, 1,
      bounds = list(y = c(0, 1), v = b), ledger = ledger, control = draws(ledger)
    )
  },
  glm = function(v, b, ledger) {
    data <- data.frame(y = rep(0:1, n / 2), v = v)
    dp_glm(y ~ v, data,
      epsilon = 1, bounds = list(y = c(0, 1), v = b), ledger = ledger, control = draws(ledger)
    )
  },
  select = function(v, b, ledger) {
    data <- data.frame(y = stats::dnorm(seq_len(n) / 90), v = v)
    dp_select(y ~ v, data, 1,
      size = 1, bounds = list(y = c(0, 1), v = b), ledger = ledger, control = draws(ledger)
    )
  },
  online = function(v, b, ledger) {
    data <- data.frame(y = stats::dnorm(seq_len(n) / 90), v = v)
    stream <- dp_online(y ~ v, 1,
      horizon = n, bounds = list(y = c(0, 1), v = b), control = draws(ledger), ledger = ledger
    )
    update(stream, data)
    stream
  },
  synth = function(v, b, ledger) {
    dp_synth(y ~ on | v, long_of(v),
      index = c("unit", "week"), epsilon = 1, bounds = list(y = c(0, 1), v = b),
      ledger = ledger, protect = "donors", control = draws(ledger)
    )
  }
)

test_that("four functions refuse bounds impossible for a column's class; a stream refuses none", {
  for (verb in names(verbs)) {
    for (limit in names(limits)) {
      for (class in names(classes)) {
        label <- paste(verb, limit, class)
        ledger <- dp_ledger(10, 1e-3)
        run <- function(v) {
          tryCatch(
            withr::with_seed(3, suppressWarnings(verbs[[verb]](v, limits[[limit]], ledger))),
            dpsc_error = identity
          )
        }
        out <- run(classes[[class]])
        # A batch of a stream may be one person, whose cell then determines the class of a column.
        wrong <- class %in% impossible[[limit]] && verb != "online"
        expect_identical(inherits(out, "error"), wrong, label = label)
        if (inherits(out, "error")) {
          expect_identical(nrow(as.data.frame(ledger)), 0L, label = label)
          # Other contents of the cells give the same message.
          for (other in list(rev(classes[[class]]), rep(classes[[class]][2L], n))) {
            expect_identical(conditionMessage(run(other)), conditionMessage(out), label = label)
          }
        }
      }
    }
  }
})

test_that("with logical levels, columns of 0/1 numbers, logicals, text or factors are equivalent", {
  value <- function(verb, v) {
    out <- withr::with_seed(3, suppressWarnings(verbs[[verb]](v, c(FALSE, TRUE), NULL)))
    unname(coef(out))
  }
  flag <- classes$number == 1
  for (verb in names(verbs)) {
    first <- value(verb, flag)
    for (v in list(classes$number, as.integer(flag), as.character(flag), factor(flag))) {
      expect_equal(value(verb, v), first, tolerance = 1e-12, label = verb)
    }
  }
})
