# One table defines the methods, and an additional record suffices for an additional method. The
# test adds a copy of a known method under another name, which must give all results of the
# original.

# The table with one additional record.
with_twin <- function(verb, of, code, ...) {
  table <- dpsc:::mechanism_table
  table[[verb]]$toy <- utils::modifyList(table[[verb]][[of]], list(...))
  with_internal("mechanism_table", table, code)
}

# Descriptions that a fit gives of itself: print, summary, tidy, glance, report, with the original's
# name in place of the copy's.
said_by <- function(fit, of) {
  withr::local_options(width = 1000)
  text <- c(
    utils::capture.output(print(fit)), utils::capture.output(print(summary(fit))),
    if (inherits(fit, c("dp_synth", "dp_glm"))) utils::capture.output(print(report(fit))),
    utils::capture.output(print(as.data.frame(tidy(fit)), digits = 15)),
    utils::capture.output(print(as.data.frame(glance(fit)), digits = 15))
  )
  # Only the words are compared, since lines break in other places.
  strsplit(gsub("toy", of, paste(text, collapse = " "), fixed = TRUE), "[ -]+")[[1L]]
}

# A fit is written, read and written again: the two files are equal.
travels <- function(fit) {
  files <- c(tempfile(fileext = ".json"), tempfile(fileext = ".json"))
  on.exit(unlink(files))
  write_release(fit, files[[1L]], allow_not_private = TRUE)
  write_release(read_release(files[[1L]]), files[[2L]], allow_not_private = TRUE)
  expect_identical(readLines(files[[1L]]), readLines(files[[2L]]))
}

twin_rows <- function() {
  withr::with_seed(1, {
    rows <- data.frame(x = stats::runif(4000, -1, 1), z = stats::runif(4000, -1, 1))
    rows$y <- rows$x + stats::rnorm(4000, sd = 0.2)
    rows$ill <- as.integer(stats::runif(4000) < stats::plogis(2 * rows$x))
    rows
  })
}

twin_bounds <- list(y = c(-2, 2), x = c(-1, 1), z = c(-1, 1), ill = c(0, 1))

# Verbs, each with one of its methods, called by the name of the method.
twin_calls <- function() {
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  rows <- twin_rows()
  synth <- function(method, ...) {
    dp_synth(panel$donors, panel$target, T0 = panel$T0, epsilon = 5, bounds = c(-1, 1),
      method = method, protect = "donors", ...)
  }
  list(
    list(verb = "dp_synth", of = "gram", fit = synth),
    list(verb = "dp_synth", of = "output", fit = synth),
    list(verb = "dp_synth", of = "objective", fit = synth),
    list(verb = "dp_lm", of = "ops", fit = function(method, ...) {
      dp_lm(y ~ x + z, rows, 3, 1e-6, twin_bounds, method = method, ...)
    }),
    list(verb = "dp_glm", of = "objective", fit = function(method, ...) {
      dp_glm(ill ~ x + z, rows, "binomial", 3, 1e-6, twin_bounds, method = method, ...)
    }),
    list(verb = "dp_glm", of = "kst", fit = function(method, ...) {
      dp_glm(ill ~ x + z, rows, "binomial", 3, 1e-6, twin_bounds, method = method, ...)
    }),
    list(verb = "dp_select", of = "gram", fit = function(method, ...) {
      dp_select(y ~ x + z, rows, 3, 1e-6, 1, twin_bounds, method = method, ...)
    }),
    list(verb = "dp_select", of = "votes", fit = function(method, ...) {
      dp_select(y ~ x + z, rows, 3, 1e-6, 1, twin_bounds, method = method, ...)
    }),
    list(verb = "dp_aggregate", of = "winsorised", fit = function(method, ...) {
      dp_aggregate(rows, function(x) c(m = mean(x$y)), NULL, -1, 1, 1, 1e-6, method = method,
        example = rows[1:3, ], ...)
    })
  )
}

test_that("new_mechanism() refuses missing or unknown fields; records need rows, blocks or sums", {
  for (verb in names(dpsc:::mechanism_table)) {
    # dp_describe() offers only one method.
    expect_gt(length(dpsc:::mechanism_table[[verb]]), if (verb == "dp_describe") 0 else 2)
    for (record in dpsc:::mechanism_table[[verb]]) expect_true(record$needs %in% dpsc:::row_needs)
  }
  expect_error(dpsc:::new_mechanism("dp_lm", "a", "sums", gives = "draw"), "needed")
  expect_error(dpsc:::new_mechanism("dp_lm", "a", "gives", gives = "draw", theorem = ""), "needs")
  expect_error(
    dpsc:::new_mechanism("dp_lm", "a", "sums", gives = "draw", theorem = "", typo = 1), "other"
  )
})

test_that("one record in the table of methods is enough to add a method to five functions", {
  for (case in twin_calls()) {
    label <- paste(case$verb, case$of)
    run <- function(method) {
      ledger <- dp_ledger(10, 1e-3)
      paid <- suppressWarnings(case$fit(method, ledger = ledger))
      expect_true((paid$privacy %||% paid$release$privacy)$holds, label = label)
      set.seed(7)
      fit <- suppressWarnings(case$fit(method, control = dp_control(rng = "R")))
      list(fit = fit, said = said_by(fit, case$of), charged = as.data.frame(ledger)$label)
    }
    known <- run(case$of)
    with_twin(case$verb, case$of, {
      twin <- run("toy")
      travels(twin$fit)
    })
    expect_identical(twin$said, known$said, label = label)
    expect_identical(gsub("toy", case$of, twin$charged), known$charged, label = label)
    expect_length(twin$charged, 1L)
    # The table is restored, so the method is unknown again.
    expect_error(case$fit("toy"), class = "dpsc_error_argument", label = label)
  }
})

test_that("the privacy statement of a release names the theorem in its method's record", {
  p <- toy_panel(n = 60, T0 = 6, T1 = 2)
  with_twin("dp_synth", "output", theorem = function(...) "of a toy", {
    fit <- dp_release(p$donors, p$target, p$T0, 5, bounds = c(-1, 1), method = "toy",
      protect = "donors")
    expect_identical(fit$privacy$theorem, "of a toy")
    expect_match(utils::capture.output(print(summary(fit))), "of a toy", all = FALSE)
  })
})

test_that("dp_audit() runs a method added to the table and detects too little noise in it", {
  p <- toy_panel(n = 8, T0 = 4, T1 = 2)
  other <- p$donors
  other[1, ] <- -other[1, ]
  claims <- function() {
    audit_mechanism("toy", target = p$target, T0 = 4, epsilon = 1, delta = 1e-6)
  }
  with_twin("dp_synth", "output", {
    audit <- dp_audit(claims(), p$donors, other, n_runs = 3, mode = "replay")
    expect_false(audit$violated)
  })
  with_twin("dp_synth", "output", plan = function(public) {
    plan <- dpsc:::plan_output(public)
    # The fault is less noise than stated.
    plan$post$variance <- plan$post$variance / 1e4
    plan
  }, {
    audit <- dp_audit(claims(), p$donors, other, n_runs = 3, mode = "replay")
    expect_true(audit$violated)
  })
})

test_that("calls that a method's plan, needs or variants exclude are refused", {
  p <- toy_panel(n = 60, T0 = 6, T1 = 2)
  ledger <- dp_ledger(10, 1e-3)
  ask <- function(donors = p$donors) {
    dp_release(donors, p$target, p$T0, 1, bounds = c(-1, 1), method = "toy", protect = "donors",
      ledger = ledger
    )
  }
  with_twin("dp_synth", "output", plan = function(public) dpsc:::abort("No.", "argument"), {
    expect_error(ask(), "No.", class = "dpsc_error_argument")
  })
  chunks <- dp_chunks(list(p$donors[1:30, ], p$donors[31:60, ]))
  with_twin("dp_synth", "output", {
    expect_error(ask(chunks), class = "dpsc_error_argument")
    expect_error(dp_release(p$donors, p$target, p$T0, 1, bounds = c(-1, 1), method = "toy",
      protect = "donors", ledger = ledger, control = dp_control(cap = 1)
    ), class = "dpsc_error_argument")
  })
  with_twin("dp_synth", "gram", needs = "rows", {
    expect_error(ask(chunks), class = "dpsc_error_argument")
  })
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  with_twin("dp_synth", "gram", expect_s3_class(ask(chunks), "dp_release"))
  # This method has no variant.
  with_twin("dp_synth", "gram", variants = NULL, {
    expect_error(dp_synth(p$donors, p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1),
      method = "toy", protect = "donors", monitor = 2, ledger = ledger
    ), "gram", class = "dpsc_error_monitor")
    expect_error(dp_synth(p$donors, rbind(p$target, p$target), T0 = p$T0, epsilon = 1,
      bounds = c(-1, 1), method = "toy", protect = "everyone", ledger = ledger
    ), "gram", class = "dpsc_error_protect")
  })
})

test_that("dp_online() gives the same coefficients by a copied method as by the original method", {
  rows <- twin_rows()[1:50, ]
  learn <- function(method) {
    set.seed(3)
    stream <- dp_online(y ~ x + z, 1, 1e-6, 100, twin_bounds, method = method,
      control = dp_control(rng = "R"))
    expect_output(print(stream), method)
    update(stream, rows)
    stream
  }
  for (of in c("gram", "ftal", "ftrl", "pocp")) {
    known <- coef(learn(of))
    twin <- with_twin("dp_online", of, coef(learn("toy")))
    expect_identical(twin, known, label = of)
  }
})

test_that("the table of all methods is built once per session", {
  expect_identical(typeof(dpsc:::mechanism_table), "list")
  expect_identical(
    rlang::obj_address(dpsc:::mechanism_table$dp_glm$kst$plan),
    rlang::obj_address(dpsc:::mechanism_table$dp_glm$kst$plan)
  )
})

# A method's needs determine the sources that it accepts: rows in memory, rows in blocks, sums.
given_sources <- function() {
  list(
    `in memory` = data.frame(x = 1), blocks = dp_chunks(list(data.frame(x = 1))),
    sums = structure(list(compute = "database"), class = c("dp_workers", "dp_source"))
  )
}

takes <- function(needs) {
  vapply(given_sources(), function(x) {
    tryCatch({
      dpsc:::refuse_source(x, needs, "it")
      TRUE
    }, dpsc_error_argument = function(e) FALSE)
  }, NA)
}

test_that("a source is refused unless it gives the rows, blocks or sums that the method needs", {
  expect_identical(unname(takes("sums")), c(TRUE, TRUE, TRUE))
  expect_identical(unname(takes("blocks")), c(TRUE, TRUE, FALSE))
  expect_identical(unname(takes("rows")), c(TRUE, FALSE, FALSE))
  of <- function(...) dpsc:::source_gives(dp_sources(list(...)))
  here <- structure(list(compute = "here"), class = c("dp_table", "dp_source"))
  there <- structure(list(compute = "database"), class = c("dp_table", "dp_source"))
  expect_identical(of(here, data.frame(x = 1)), "blocks")
  expect_identical(of(data.frame(x = 1)), "blocks")
  expect_identical(of(here, there), "sums")
})

test_that("the table in ?dp_sources lists every method with the sources that its record accepts", {
  file <- test_path("..", "..", "R", "ppl-source-table.R")
  skip_if(!file.exists(file), "the sources of R/ are not here")
  rows <- grep("^#' [|] `dp_", readLines(file), value = TRUE)
  cells <- lapply(strsplit(rows, "[|]"), function(x) gsub("`", "", trimws(x[-1])))
  listed <- character()
  for (row in cells) {
    verb <- strsplit(row[[1]], ", ")[[1]][[1]]
    growing <- grepl("monitor", row[[2]])
    methods <- if (row[[2]] == "all") {
      names(dpsc:::mechanism_table[[verb]])
    } else {
      strsplit(sub(" with monitor", "", row[[2]]), ", ")[[1]]
    }
    for (method in methods) {
      record <- dpsc:::mechanism_table[[verb]][[method]]
      needs <- if (growing) record$variants$growing$needs else record$needs
      expect_identical(row[3:5] == "yes", unname(takes(needs)), label = paste(verb, method))
      listed <- c(listed, paste(verb, method))
    }
  }
  all <- unlist(lapply(names(dpsc:::mechanism_table), function(verb) {
    paste(verb, names(dpsc:::mechanism_table[[verb]]))
  }))
  expect_setequal(listed, all)
})

test_that("functions refuse unsupported sources, state that rows are needed and spend nothing", {
  rows <- twin_rows()[1:60, ]
  chunks <- dp_chunks(list(rows[1:30, ], rows[31:60, ]))
  there <- given_sources()$sums
  p <- toy_panel(n = 60, T0 = 6, T1 = 2)
  halves <- dp_chunks(list(p$donors[1:30, ], p$donors[31:60, ]))
  ledger <- dp_ledger(50, 1e-2)
  calls <- list(
    function() dp_lm(y ~ x, chunks, 1, 1e-6, twin_bounds, method = "ops", ledger = ledger),
    function() dp_lm(y ~ x, there, Inf, bounds = twin_bounds),
    function() dp_glm(ill ~ x, there, "binomial", 1, 1e-6, twin_bounds, ledger = ledger),
    function() dp_select(y ~ x, chunks, 1, 1e-6, 1, twin_bounds, ledger = ledger),
    function() dp_select(y ~ x, there, 1, 1e-6, 1, twin_bounds, ledger = ledger),
    function() dp_describe(~x, there, epsilon = 1, bounds = twin_bounds, ledger = ledger),
    function() dp_aggregate(chunks, function(x) mean(x$y), NULL, -1, 1, 1, ledger = ledger),
    function() {
      dp_synth(halves, p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), method = "output",
        protect = "donors", ledger = ledger)
    },
    function() dp_synth(halves, p$target, T0 = p$T0, epsilon = Inf, estimator = "simplex")
  )
  for (call in calls) {
    error <- tryCatch(call(), error = identity)
    expect_s3_class(error, "dpsc_error_argument")
    expect_match(conditionMessage(error), "needs (all rows at once, in memory|the rows themselves)")
  }
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("code of methods, releases and estimators does not test for the class of a data source", {
  folder <- test_path("..", "..", "R")
  skip_if(!file.exists(file.path(folder, "say-check.R")), "the sources of R/ are not here")
  files <- list.files(folder, "^(priv|mech|rel|est|infer|do|show)-.*[.]R$", full.names = TRUE)
  expect_gt(length(files), 80)
  asks <- "inherits[(].*dp_(source|sources|chunks|elsewhere|table|files|workers|asked|joined)\\b"
  found <- unlist(lapply(files, function(file) {
    grep(asks, readLines(file), value = TRUE)
  }))
  expect_identical(found, character())
})
