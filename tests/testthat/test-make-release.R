# One function makes every release, and only this function charges a ledger.

spine_sources <- function() {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "say-check.R")), "the sources of R/ are not here")
  files <- setdiff(list.files(folder, "[.]R$"), "RcppExports.R")
  lapply(stats::setNames(file.path(folder, files), files), parse, keep.source = FALSE)
}

# Every verb and every kind of call that charges, as functions of a ledger. `scope` is the namespace
# of the verbs, either the package's or a modified copy.
spending_calls <- function(scope = asNamespace("dpsc")) {
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  release <- function(...) {
    function(ledger) {
      scope$dp_synth.matrix(panel$donors, panel$target,
        T0 = panel$T0, epsilon = 1, bounds = c(-1, 1), protect = "donors", ledger = ledger, ...
      )
    }
  }
  set.seed(1)
  rows <- data.frame(x = runif(3000, -1, 1), z = runif(3000, -1, 1))
  rows$y <- rows$x + rnorm(3000, sd = 0.2)
  rows$ill <- as.integer(runif(3000) < plogis(rows$x))
  bounds <- list(y = c(-2, 2), x = c(-1, 1), z = c(-1, 1))
  ill <- list(ill = c(0, 1), x = c(-1, 1), z = c(-1, 1))
  regression <- function(...) {
    function(ledger) {
      scope$dp_lm(y ~ x + z, rows, 3, 1e-6, bounds, ledger = ledger, ...)
    }
  }
  select <- function(...) {
    function(ledger) {
      scope$dp_select.formula(y ~ x + z, rows, 3, 1e-6, 1, bounds, ledger = ledger, ...)
    }
  }
  model <- function(...) {
    function(ledger) {
      scope$dp_glm(ill ~ x + z, rows, "binomial", 3, 1e-6, ill, ledger = ledger, ...)
    }
  }
  online <- function(...) {
    function(ledger) {
      scope$dp_online(y ~ x + z, 1, 1e-6, 100, bounds, ledger = ledger, ...)
    }
  }
  long <- outcomes_long(panel)
  list(
    gram = release(), output = release(method = "output"),
    objective = release(method = "objective"), growing = release(monitor = 2),
    dp_release = function(ledger) {
      scope$dp_release.matrix(panel$donors, panel$target, panel$T0, 1, 1e-6, c(-1, 1),
        ledger = ledger, protect = "donors"
      )
    },
    outcomes = function(ledger) {
      scope$dp_synth.formula(cbind(y1, y2) ~ treated, long, c("unit", "time"),
        epsilon = 4, bounds = list(y1 = c(-1, 1), y2 = c(-1, 1)), protect = "donors",
        ledger = ledger
      )
    },
    dp_lm = regression(), ops = regression(method = "ops"), adaops = regression(method = "adaops"),
    dp_glm = model(), napp = model(method = "napp"),
    select = select(), pursuit = select(method = "pursuit"), votes = select(method = "votes"),
    aggregate = function(ledger) {
      scope$dp_aggregate(rows, function(x) c(m = mean(x$y)), NULL, -1, 1, 1, 1e-6,
        ledger = ledger, example = rows[1:3, ]
      )
    },
    online = online(), pocp = online(method = "pocp"),
    sums = function(ledger) {
      scope$dp_stream_sum(c(0, 1), 1, 1e-6, 50, ledger = ledger)
    },
    counts = function(ledger) {
      scope$dp_stream_count(1, 1e-6, 50, ledger = ledger)
    }
  )
}

outcomes_long <- function(panel) {
  all <- rbind(panel$donors, panel$target)
  n <- nrow(all)
  periods <- ncol(all)
  long <- data.frame(unit = rep(seq_len(n), periods), time = rep(seq_len(periods), each = n))
  long$treated <- as.integer(long$unit == n & long$time > panel$T0)
  long$y1 <- as.vector(all)
  long$y2 <- rev(long$y1)
  long
}

test_that("the code calls spend() once; make_release() has at most 25 lines and names no method", {
  code <- spine_sources()
  calls_spend <- function(x) {
    sum(all.names(x) == "spend")
  }
  found <- vapply(code, function(file) sum(vapply(file, calls_spend, 0)), 0)
  # The expected uses are the definition and the single call.
  expect_identical(found[found > 0], c(`priv-ledger.R` = 1, `rel-make.R` = 1))
  text <- deparse(body(dpsc:::make_release))
  expect_lte(length(text), 25)
  verbs <- c(
    "synth", "lm", "glm", "select", "aggregate", "online", "stream", "outcomes", "gram", "output",
    "objective", "matrix", "chunks", "inherits", "class", "switch"
  )
  named <- unlist(strsplit(all.names(body(dpsc:::make_release)), "[._]"))
  expect_identical(intersect(named, verbs), character())
})

test_that("each of nineteen kinds of call adds one ledger entry, through spend() alone", {
  calls <- spending_calls()
  for (name in names(calls)) {
    ledger <- dp_ledger(50, 1e-2)
    made <- suppressWarnings(calls[[name]](ledger))
    expect_identical(nrow(as.data.frame(ledger)), 1L, label = name)
  }
  calls <- spending_calls(changed_namespace(list(spend = function(...) invisible())))
  for (name in names(calls)) {
    ledger <- dp_ledger(50, 1e-2)
    suppressWarnings(calls[[name]](ledger))
    expect_identical(nrow(as.data.frame(ledger)), 0L, label = name)
  }
})

test_that("a call that costs more than its ledger's budget draws no noise and charges nothing", {
  drawn <- 0
  run <- dpsc:::new_request
  counted <- function(record, ...) {
    inner <- record$run
    record$run <- function(...) {
      drawn <<- drawn + 1
      inner(...)
    }
    run(record, ...)
  }
  calls <- spending_calls(changed_namespace(list(new_request = counted)))
  for (name in names(calls)) {
    drawn <- 0
    ledger <- dp_ledger(0.01, 1e-2)
    expect_error(suppressWarnings(calls[[name]](ledger)), class = "dpsc_error_budget", label = name)
    expect_identical(drawn, 0, label = name)
    expect_identical(nrow(as.data.frame(ledger)), 0L, label = name)
    suppressWarnings(calls[[name]](dp_ledger(50, 1e-2)))
    expect_gt(drawn, 0, label = name)
  }
})

test_that("if a step after the charge fails, the charge remains and the source is closed", {
  closed <- 0
  rows <- list(parts = list(), close = function() closed <<- closed + 1)
  record <- list(
    plan = function(request) list(cost = dpsc:::new_cost("pure", epsilon = 1)),
    promise = function(request, plan) list(holds = TRUE), label = function(request, plan) "toy",
    run = function(request, plan, rows) stop("the engine fails")
  )
  ledger <- dp_ledger(2, 0)
  request <- dpsc:::new_request(record, list(private = TRUE), rows, ledger)
  expect_error(dpsc:::make_release(request), "the engine fails")
  expect_identical(as.data.frame(ledger)$label, "toy")
  expect_identical(closed, 1)
  record$run <- function(request, plan, rows) "drawn"
  request$record <- record
  expect_identical(dpsc:::make_release(request)$drawn, "drawn")
  expect_identical(nrow(as.data.frame(ledger)), 2L)
  expect_error(dpsc:::make_release(request), class = "dpsc_error_budget")
  expect_identical(closed, 3)
  expect_error(dpsc:::new_request(record[-1L], list(private = TRUE), rows, ledger))
})

test_that("twelve kinds of release stop before the charge if their steps cost more than promised", {
  dearer <- function(steps) {
    for (unit in intersect(c("epsilon", "rho", "mu"), names(steps))) {
      steps[[unit]] <- steps[[unit]] * 1.001
    }
    steps
  }
  met <- character()
  inner <- dpsc:::new_request
  raised <- function(record, ...) {
    plan <- record$plan
    record$plan <- function(...) {
      out <- plan(...)
      if (is.data.frame(out$steps)) out$steps <- dearer(out$steps)
      out
    }
    inner(record, ...)
  }
  calls <- spending_calls(changed_namespace(list(new_request = raised)))
  for (name in names(calls)) {
    ledger <- dp_ledger(50, 1e-2)
    error <- tryCatch(suppressWarnings({
      calls[[name]](ledger)
      NULL
    }), error = identity)
    if (is.null(error)) next
    met <- c(met, name)
    expect_s3_class(error, "dpsc_error_internal")
    expect_match(conditionMessage(error), "cost more than the charge", label = name)
    expect_identical(nrow(as.data.frame(ledger)), 0L, label = name)
  }
  # All other methods price a single draw by one rule, or several steps at one delta by a proof.
  expect_setequal(met, c(
    "gram", "output", "growing", "dp_release", "outcomes", "dp_lm", "ops", "napp", "aggregate",
    "select", "pursuit", "votes"
  ))
})
