# Ledgers outside R: the contents of the file decide, a charge is stored before any draw, and
# changes are detected.

skip_if_not_installed("RSQLite")
skip_if_not_installed("openssl")

ledger_file <- function(env = parent.frame()) {
  withr::local_tempfile(fileext = ".sqlite", .local_envir = env)
}

people_to_pay_for <- function() {
  withr::local_seed(1)
  data.frame(x = stats::runif(400), y = stats::runif(400))
}

paid <- function(ledger, epsilon = 0.9, ...) {
  dp_lm(y ~ x, people_to_pay_for(),
    epsilon = epsilon, delta = 1e-6, bounds = list(x = c(0, 1), y = c(0, 1)), ledger = ledger, ...
  )
}

# Charges as a verb makes them, but without a fit.
charged <- function(ledger, mu = 0.05) {
  spend(ledger, new_cost("gdp", epsilon = NA_real_, mu = mu), "test", list(holds = TRUE))
}

test_that("a charge made through one R object counts for another R object with the same file", {
  file <- ledger_file()
  ledger <- dp_ledger(1, 1e-6, path = file, study = "stroke", data = "registry 2026")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
  suppressWarnings(paid(ledger, 0.9))
  history <- as.data.frame(ledger)
  expect_identical(history$study, "stroke")
  expect_identical(history$data, "registry 2026")
  expect_match(history$time, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T.*Z$")
  expect_match(history$hash, "^[0-9a-f]{64}$")
  # Another handle pays from the remaining budget.
  other <- dp_ledger(path = file)
  expect_identical(as.data.frame(other), history)
  expect_error(suppressWarnings(paid(other, 0.9)), class = "dpsc_error_budget")
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_output(print(other), "spent of 1")
  expect_output(print(other), basename(file), fixed = TRUE)
  expect_s3_class(summary(other), "summary.dp_ledger")
  # The numbers equal the numbers of a ledger in this session, to the last bit.
  own <- dp_ledger(1, 1e-6)
  suppressWarnings(paid(own, 0.9))
  expect_identical(history$mu, as.data.frame(own)$mu)
  expect_identical(summary(own)$spent, summary(other)$spent)
})

test_that("the total of a ledger's file is fixed, and a missing file without a total is refused", {
  file <- ledger_file()
  expect_error(dp_ledger(path = file), "no such ledger", class = "dpsc_error_budget")
  dp_ledger(1, 1e-6, path = file)
  expect_error(dp_ledger(2, 1e-6, path = file), "differs from the total of this ledger",
    class = "dpsc_error_budget"
  )
  expect_s3_class(dp_ledger(1, 1e-6, path = file), "dp_ledger")
  nowhere <- file.path(tempdir(), "no", "folder.sqlite")
  expect_error(dp_ledger(1, path = nowhere), class = "dpsc_error")
  expect_error(dp_ledger(1, path = 3), class = "dpsc_error_argument")
  expect_error(dp_ledger(1, path = file, study = NA), class = "dpsc_error_argument")
})

test_that("a ledger in a database table can pay, but not within a transaction of the user", {
  con <- DBI::dbConnect(RSQLite::SQLite(), ledger_file())
  withr::defer(DBI::dbDisconnect(con))
  ledger <- dp_ledger(1, 1e-6, con = con, table = "budget of the team")
  charged(ledger)
  expect_identical(nrow(as.data.frame(dp_ledger(con = con, table = "budget of the team"))), 1L)
  DBI::dbBegin(con)
  expect_error(charged(ledger), "transaction", class = "dpsc_error_budget")
  DBI::dbRollback(con)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
})

test_that("a table that ignores or changes a charge is refused before the draw", {
  # Plants faults 106.
  swallow <- c(
    before = "BEFORE INSERT ON dpsc_ledger BEGIN SELECT RAISE(IGNORE); END",
    after = "AFTER INSERT ON dpsc_ledger BEGIN DELETE FROM dpsc_ledger WHERE number > 0; END",
    cheap = paste(
      "AFTER INSERT ON dpsc_ledger BEGIN UPDATE dpsc_ledger SET mu = '0x1p-30'",
      "WHERE number > 0; END"
    )
  )
  for (name in names(swallow)) {
    con <- DBI::dbConnect(RSQLite::SQLite(), ledger_file())
    ledger <- dp_ledger(1.7, 1e-6, con = con)
    DBI::dbExecute(con, paste("CREATE TRIGGER t", swallow[[name]]))
    fit <- NULL
    error <- tryCatch(fit <- suppressWarnings(paid(ledger)), error = identity)
    expect_s3_class(error, "dpsc_error_budget")
    expect_match(conditionMessage(error), "did not keep the row")
    expect_match(conditionMessage(error), "nothing was spent")
    expect_null(fit, label = name)
    expect_identical(nrow(as.data.frame(ledger)), 0L)
    DBI::dbExecute(con, "DROP TRIGGER t")
    charged(ledger)
    expect_identical(nrow(as.data.frame(ledger)), 1L)
    DBI::dbDisconnect(con)
  }
})

test_that("a charge by a connection of the user waits for the disk, as a charge in a file does", {
  # Plants faults 107.
  con <- DBI::dbConnect(RSQLite::SQLite(), ledger_file())
  withr::defer(DBI::dbDisconnect(con))
  setting <- function(con) DBI::dbGetQuery(con, "PRAGMA synchronous")[[1L]]
  expect_identical(setting(con), 0L)
  ledger <- dp_ledger(5, 1e-6, con = con)
  own <- write_charge
  seen <- integer()
  watched <- function(con, ...) {
    seen <<- c(seen, setting(con))
    own(con, ...)
  }
  with_internal("write_charge", watched, {
    charged(ledger)
    charged(dp_ledger(5, 1e-6, path = ledger_file()))
    # A stricter setting stays.
    DBI::dbExecute(con, "PRAGMA synchronous = 3")
    charged(ledger)
  })
  expect_identical(seen, c(2L, 2L, 2L, 3L))
  expect_identical(setting(con), 3L)
  # The user's setting returns, also after a refusal.
  DBI::dbExecute(con, "PRAGMA synchronous = 0")
  expect_error(charged(ledger, 100), class = "dpsc_error_budget")
  expect_identical(setting(con), 0L)
})

test_that("a ledger with a connection of another process is refused", {
  # Plants faults 108.
  skip_on_os("windows")
  con <- DBI::dbConnect(RSQLite::SQLite(), ledger_file())
  withr::defer(DBI::dbDisconnect(con))
  ledger <- dp_ledger(5, 1e-6, con = con)
  error <- parallel::mccollect(parallel::mcparallel(
    tryCatch(charged(ledger), error = identity)
  ))[[1L]]
  expect_s3_class(error, "dpsc_error_budget")
  expect_match(conditionMessage(error), "another process")
  charged(ledger)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_error(dp_ledger(5, con = "file"), "RPostgres", class = "dpsc_error_argument")
})

test_that("a ledger at a relative path stays the same file after a change of the folder", {
  folder <- withr::local_tempdir()
  other <- withr::local_tempdir()
  withr::local_dir(folder)
  ledger <- dp_ledger(1, 1e-6, path = "budget.sqlite")
  again <- dp_ledger(path = "budget.sqlite")
  charged(ledger)
  setwd(other)
  # Another ledger of this name must not pay.
  elsewhere <- dp_ledger(9, 1e-6, path = "budget.sqlite")
  for (one in list(ledger, again)) charged(one)
  expect_identical(nrow(as.data.frame(again)), 3L)
  expect_identical(nrow(as.data.frame(elsewhere)), 0L)
})

test_that("a ledger with letters beyond ASCII is intact in every locale, also an older one", {
  file <- ledger_file()
  study <- enc2utf8("Z\u00fcrich \u65e5")
  ledger <- dp_ledger(5, 1e-6, path = file, study = study)
  charged(ledger)
  older <- ledger_file()
  # The rule of earlier development versions.
  formatted <- function(row) {
    fields <- setdiff(ledger_fields, "hash")
    text <- vapply(row[fields], function(x) format(x, scientific = FALSE, trim = TRUE), "")
    sha(paste0(nchar(text, "bytes"), ":", text, collapse = ""))
  }
  ledgers <- c(file, older)
  withr::with_locale(c(LC_CTYPE = "C"), {
    with_internal("hash_of_charge", formatted, {
      charged(dp_ledger(5, 1e-6, path = older, study = study))
    })
    for (path in ledgers) {
      own <- dp_ledger(path = path, study = study)
      expect_length(verify_ledger(own)$broken, 0)
      charged(own)
      expect_identical(as.data.frame(own)$study, rep(study, 2))
    }
  })
  expect_length(verify_ledger(ledger)$broken, 0)
  charged(ledger)
  # In the new rows the letters count.
  con <- DBI::dbConnect(RSQLite::SQLite(), file)
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "UPDATE dpsc_ledger SET study = 'Z<U+00FC>rich <U+65E5>' WHERE number = 2")
  expect_identical(verify_ledger(ledger)$broken, 2)
})

test_that("edited, deleted and reordered rows of a ledger are detected and stop payment", {
  tampered <- list(
    edit = "UPDATE dpsc_ledger SET mu = '0x1p-30' WHERE number = 2",
    label = "UPDATE dpsc_ledger SET study = 'other' WHERE number = 1",
    gone = "DELETE FROM dpsc_ledger WHERE number = 2",
    total = "UPDATE dpsc_ledger SET epsilon = '0x1p+9' WHERE number = 0",
    order = "UPDATE dpsc_ledger SET number = 10 - number WHERE number > 0"
  )
  for (name in names(tampered)) {
    file <- ledger_file()
    ledger <- dp_ledger(1, 1e-6, path = file)
    for (i in 1:3) charged(ledger)
    expect_true(verify_ledger(ledger)$whole)
    con <- DBI::dbConnect(RSQLite::SQLite(), file)
    DBI::dbExecute(con, tampered[[name]])
    DBI::dbDisconnect(con)
    found <- verify_ledger(ledger)
    expect_false(found$whole, label = name)
    expect_gt(length(found$broken), 0)
    expect_output(print(found), "CHANGED")
    expect_error(charged(ledger), "changed", class = "dpsc_error_budget")
  }
})

test_that("receipts reveal an older copy of a ledger, and prints warn if no receipts are given", {
  file <- ledger_file()
  ledger <- dp_ledger(1, 1e-6, path = file)
  charged(ledger)
  copy <- ledger_file()
  file.copy(file, copy)
  charged(ledger)
  receipts <- as.data.frame(ledger)$hash
  older <- dp_ledger(path = copy)
  expect_true(verify_ledger(older)$whole)
  expect_identical(verify_ledger(older)$complete, NA)
  expect_output(print(verify_ledger(older)), "cannot be (detected|checked)")
  expect_false(verify_ledger(older, receipts = receipts)$whole)
  expect_output(print(verify_ledger(older, receipts = receipts)), "MISSING")
  expect_true(verify_ledger(ledger, receipts = receipts)$complete)
  expect_error(verify_ledger(dp_ledger(1)), class = "dpsc_error_argument")
})

test_that("an option can require a ledger; an option or environment variable names the default", {
  withr::local_options(dpsc.require_ledger = TRUE)
  expect_error(paid(NULL), "need a ledger", class = "dpsc_error_budget")
  file <- ledger_file()
  ledger <- dp_ledger(1, 1e-6, path = file)
  withr::local_options(dpsc.ledger = ledger)
  suppressWarnings(paid(NULL, 0.9))
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  withr::local_options(dpsc.ledger = NULL)
  withr::local_envvar(DPSC_LEDGER = file)
  expect_error(suppressWarnings(paid(NULL, 0.9)), "not hold enough", class = "dpsc_error_budget")
  # A result that is not private needs no ledger.
  free <- dp_lm(y ~ x, people_to_pay_for(),
    epsilon = Inf, bounds = list(x = c(0, 1), y = c(0, 1))
  )
  expect_s3_class(free, "dp_lm")
})

test_that("a call that is refused for its epsilon leaves a ledger's file without a charge", {
  file <- ledger_file()
  ledger <- dp_ledger(1, 1e-6, path = file)
  expect_error(paid(ledger, epsilon = 0.001), class = "dpsc_error")
  expect_identical(nrow(as.data.frame(ledger)), 0L)
})

test_that("processes that compete for the rest of a budget do not overspend the budget", {
  skip_on_os("windows")
  rounds <- if (is_audit()) 200 else 4
  workers <- if (is_audit()) 8 else 4
  for (round in seq_len(rounds)) {
    file <- ledger_file()
    # The budget suffices for three charges.
    dp_ledger(gdp_epsilon_cpp(sqrt(3) * 0.1, 1e-6) * (1 + 1e-9), 1e-6, path = file)
    paid <- parallel::mclapply(seq_len(workers), function(i) {
      !inherits(try(charged(dp_ledger(path = file), 0.1), silent = TRUE), "try-error")
    }, mc.cores = workers)
    ledger <- dp_ledger(path = file)
    expect_identical(sum(unlist(paid)), 3L)
    expect_identical(nrow(as.data.frame(ledger)), 3L)
    expect_true(verify_ledger(ledger)$whole)
  }
})

test_that("a killed process leaves an intact ledger and no release without a charge", {
  skip_on_os("windows")
  kills <- if (is_audit()) 200 else 3
  for (round in seq_len(kills)) {
    file <- ledger_file()
    released <- withr::local_tempfile()
    dp_ledger(50, 1e-6, path = file)
    job <- parallel::mcparallel({
      own <- dp_ledger(path = file)
      repeat {
        charged(own, 0.001)
        cat("x", file = released, append = TRUE)
      }
    })
    Sys.sleep(stats::runif(1, 0.05, 0.4))
    tools::pskill(job$pid, 9L)
    suppressWarnings(parallel::mccollect(job))
    ledger <- dp_ledger(path = file)
    expect_true(verify_ledger(ledger)$whole)
    made <- if (file.exists(released)) file.size(released) else 0
    expect_gte(nrow(as.data.frame(ledger)), made)
  }
})

test_that("releases and files record their charge; verify_ledger() finds releases without one", {
  file <- ledger_file()
  ledger <- dp_ledger(50, 1e-2, path = file, data = "claims", study = "trial 7")
  withr::local_seed(1)
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  rows <- data.frame(x = runif(3000, -1, 1), z = runif(3000, -1, 1))
  rows$y <- rows$x + rnorm(3000, sd = 0.2)
  rows$ill <- as.numeric(rows$y > 0)
  bounds <- list(y = c(-2, 2), x = c(-1, 1), z = c(-1, 1))
  ill <- c(bounds[-1L], list(ill = c(0, 1)))
  made <- suppressWarnings(list(
    select = dp_select(y ~ x + z, rows, 1, 1e-6, 1, bounds, ledger = ledger),
    synth = dp_synth(panel$donors, target = panel$target, T0 = panel$T0, epsilon = 1,
      bounds = c(-1, 1), protect = "donors", ledger = ledger),
    release = dp_release(panel$donors, target = panel$target, T0 = panel$T0, epsilon = 1,
      bounds = c(-1, 1), protect = "donors", ledger = ledger),
    lm = dp_lm(y ~ x + z, rows, 1, 1e-6, bounds, ledger = ledger),
    glm = dp_glm(ill ~ x + z, rows, "binomial", 3, bounds = ill, ledger = dp_ledger(
      50, 1e-2, path = ledger_file()
    )),
    aggregate = dp_aggregate(rows, function(x) c(m = mean(x$y)), NULL, -1, 1, 1, 1e-6,
      ledger = ledger, example = rows[1:3, ])
  ))
  charges <- as.data.frame(ledger)
  own <- made[names(made) != "glm"]
  records <- lapply(own, function(x) (x$privacy %||% x$release$privacy)$charge)
  expect_identical(unname(vapply(records, `[[`, "", "hash")), charges$hash)
  expect_identical(unname(vapply(records, `[[`, 0, "number")), charges$number)
  expect_identical(unique(vapply(records, `[[`, "", "study")), "trial 7")
  expect_output(print(made$lm), "paid by charge 4 of ledger")
  expect_output(print(summary(made$lm)), "hash after this charge: [0-9a-f]{64}")
  # Files contain the charge, and the id depends on the numbers alone.
  files <- vapply(own, function(x) {
    write_release(x, path <- withr::local_tempfile(.local_envir = parent.frame(2)))
    path
  }, "")
  back <- lapply(files, read_release)
  for (name in names(own)) {
    given <- if (name == "synth") own$synth$release else own[[name]]
    expect_identical(back[[name]]$privacy$charge, given$privacy$charge, label = name)
    expect_identical(dpsc:::release_id(back[[name]]), dpsc:::release_id(given), label = name)
  }
  expect_false(identical(dpsc:::release_id(own$synth), dpsc:::release_id(own$release)))
  free <- own$lm
  free$privacy$charge <- NULL
  expect_identical(dpsc:::release_id(free), dpsc:::release_id(own$lm))
  # Releases, fits and files prove that the ledger is complete.
  for (releases in list(own, back, files, unname(c(own[1:3], as.list(files[4:5]))))) {
    found <- verify_ledger(ledger, releases = releases)
    expect_true(found$whole && found$complete)
  }
  found <- verify_ledger(ledger, releases = c(own, made["glm"], list(free)))
  expect_identical(c(found$other, found$unpaid), c(6L, 7L))
  expect_output(print(found), "ANOTHER LEDGER: release 6")
  expect_output(print(found), "NOT PAID .*: release 7")
  # The fault is a charge below the cost of the release.
  cheap <- own$lm
  cheap$privacy$epsilon <- 2
  expect_identical(verify_ledger(ledger, cheap)$unpaid, 1L)
  # The faults are rows cut off at the end, and forged rows with a valid chain of hashes.
  con <- DBI::dbConnect(RSQLite::SQLite(), file)
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "DELETE FROM dpsc_ledger WHERE number = 5")
  expect_true(verify_ledger(ledger)$whole)
  found <- verify_ledger(ledger, releases = own)
  expect_identical(found$missing, charges$hash[[5L]])
  row <- dpsc:::new_charge_row(ledger, dpsc:::new_cost("pure", epsilon = 1e-3), "none", 5,
    charges$hash[[4L]])
  dpsc:::write_charge(con, ledger, row)
  expect_length(verify_ledger(ledger)$broken, 0)
  expect_identical(verify_ledger(ledger, releases = own)$missing, charges$hash[[5L]])
  expect_error(verify_ledger(ledger, releases = 3), class = "dpsc_error_argument")
  expect_error(verify_ledger(ledger, releases = list(rows)), class = "dpsc_error_argument")
})

test_that("read_release() detects an edited identifier or charge in a file", {
  ledger <- dp_ledger(5, 1e-6, path = ledger_file())
  panel <- toy_panel(n = 60, T0 = 6, T1 = 2)
  release <- dp_release(panel$donors, target = panel$target, T0 = panel$T0, epsilon = 1,
    bounds = c(-1, 1), protect = "donors", ledger = ledger)
  path <- withr::local_tempfile()
  write_release(release, path)
  text <- readLines(path)
  edited <- function(from, to) {
    changed <- sub(from, to, text)
    expect_false(identical(changed, text))
    writeLines(changed, path)
    expect_error(read_release(path), class = "dpsc_error_release")
  }
  edited('"id": "[0-9a-f]{4}', '"id": "0000')
  edited(release$privacy$charge$hash, strrep("0", 64L))
})

test_that("a growing release is paid from a ledger outside R, which records the draws", {
  p <- monitor_panel(n = 300)
  file <- ledger_file()
  ledger <- dp_ledger(4, 1e-6, path = file)
  start <- start_monitor(p, monitor = 3, rng = "secure", ledger = ledger)
  charged <- as.data.frame(ledger)
  expect_identical(nrow(charged), 1L)
  expect_error(next_period(start, p), "ledger", class = "dpsc_error_monitor")
  elsewhere <- dp_ledger(4, 1e-6, path = ledger_file())
  expect_error(next_period(start, p, ledger = elsewhere), "did not pay",
    class = "dpsc_error_monitor")
  fit <- next_period(start, p, ledger = ledger)
  # Another handle, as in another session, reads the record of the draw. Nothing more is charged.
  other <- dp_ledger(path = file)
  expect_identical(as.data.frame(other), charged)
  expect_error(next_period(start, p, ledger = other), "drawn before", class = "dpsc_error_monitor")
  again <- next_period(start, p, ledger = other, again = TRUE)
  expect_identical(monitor_left(again), 1L)
  last <- next_period(fit, p, ledger = other)
  expect_identical(monitor_left(last), 0L)
  expect_error(next_period(fit, p, ledger = other), "All 3", class = "dpsc_error_budget")
  found <- verify_ledger(other, releases = list(start, fit, last))
  expect_true(found$whole && found$complete)
  expect_identical(found$charges, 1L)
  # A deleted draw stops the next draw and is detected.
  con <- DBI::dbConnect(RSQLite::SQLite(), file)
  withr::defer(DBI::dbDisconnect(con))
  expect_identical(
    DBI::dbGetQuery(con, "SELECT kind FROM dpsc_ledger ORDER BY number")$kind,
    c("total", "gdp", "grows", "draw", "draw", "draw")
  )
  # The fit detects records cut off at the end, since it counts its draws.
  draws <- DBI::dbGetQuery(con, "SELECT hash FROM dpsc_ledger WHERE kind = 'draw'")$hash
  expect_identical(last$release$privacy$charge$drawn, draws[[3L]])
  path <- ledger_file()
  write_release(last, path)
  expect_identical(read_release(path)$privacy$charge$drawn, draws[[3L]])
  DBI::dbExecute(con, "DELETE FROM dpsc_ledger WHERE number > 3")
  # The fit's releases show that draws are missing. Without these releases the loss would be
  # unnoticed.
  expect_true(verify_ledger(other, releases = list(start))$whole)
  for (releases in list(list(start, last), path)) {
    expect_identical(verify_ledger(other, releases = releases)$missing, draws[[3L]])
  }
  expect_identical(monitor_left(next_period(again, p, ledger = other)), 0L)
  expect_match(DBI::dbGetQuery(con, "SELECT label FROM dpsc_ledger ORDER BY number")$label[[5L]],
    "period 2, draw 3")
  DBI::dbExecute(con, "DELETE FROM dpsc_ledger WHERE number = 2")
  expect_false(verify_ledger(other)$whole)
  expect_error(next_period(fit, p, ledger = other), "changed", class = "dpsc_error_budget")
})

test_that("if four processes request one period of a growing release, exactly one obtains it", {
  skip_on_os("windows")
  p <- monitor_panel(n = 300)
  file <- ledger_file()
  start <- start_monitor(p, monitor = 5, rng = "secure",
    ledger = dp_ledger(4, 1e-6, path = file))
  monitor <- start$release$statistics$monitor
  taken <- parallel::mclapply(1:4, function(i) {
    own <- dp_ledger(path = file)
    !inherits(try(take_draw(monitor, 1L, own, FALSE), silent = TRUE), "try-error")
  }, mc.cores = 4)
  expect_identical(sum(unlist(taken)), 1L)
  expect_true(verify_ledger(dp_ledger(path = file))$whole)
})

test_that("a stream is charged to a ledger outside R once, and not again by update()", {
  ledger <- dp_ledger(4, 1e-4, path = ledger_file())
  bounds <- list(x = c(0, 1), y = c(0, 1))
  stream <- dp_online(y ~ x, epsilon = 1, delta = 1e-6, horizon = 400, bounds = bounds,
    ledger = ledger)
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  update(stream, people_to_pay_for())
  expect_identical(nrow(as.data.frame(ledger)), 1L)
  expect_true(verify_ledger(ledger)$whole)
  expect_error(
    dp_online(y ~ x, epsilon = 9, delta = 1e-6, horizon = 400, bounds = bounds, ledger = ledger),
    "not hold enough", class = "dpsc_error_budget"
  )
})

test_that("a charge copied into another release is detected, while copies of the release pass", {
  ledger <- dp_ledger(50, 1e-2, path = ledger_file())
  whole <- suppressWarnings(paid(ledger, 0.9))
  other <- suppressWarnings(paid(ledger, 0.9))
  path <- ledger_file()
  write_release(whole, path)
  same <- list(whole, whole, read_release(path), update(whole, . ~ 1))
  expect_true(verify_ledger(ledger, c(same, list(other)))$whole)
  other$privacy$charge <- whole$privacy$charge
  found <- verify_ledger(ledger, c(same, list(other)))
  expect_false(found$whole)
  expect_identical(found$twice, 1:5)
  expect_output(print(found), "COVERS ONLY A PART of the releases that name it: release 1, 2")
  # The outcomes of one fit share one charge, which is at least their joint cost.
  withr::local_seed(1)
  data <- expand.grid(person = 1:260, month = 1:8)
  data$treated <- as.integer(data$person > 230 & data$month > 6)
  data$cost <- runif(nrow(data))
  data$visits <- runif(nrow(data))
  bounds <- list(cost = c(0, 1), visits = c(0, 1))
  fit <- suppressWarnings(dp_synth(cbind(cost, visits) ~ treated, data, c("person", "month"),
    epsilon = 2, bounds = bounds, protect = "donors", ledger = ledger))
  own <- c(list(fit), unname(fit$outcomes), list(fit$outcomes$cost$release))
  expect_true(verify_ledger(ledger, own)$whole)
  third <- fit$outcomes$visits
  third$release$statistics <- rapply(third$release$statistics, function(x) x + 1e-3,
    "numeric", how = "replace")
  expect_identical(verify_ledger(ledger, c(own, list(third)))$twice, 1:5)
})

test_that("a charge copied into another stream is detected, while a continued stream passes", {
  ledger <- dp_ledger(9, 1e-5, path = ledger_file())
  count <- function(...) dp_stream_count(epsilon = 1, horizon = 8, noise = "tree", ...)
  own <- count(ledger = ledger)
  other <- count()
  file <- tempfile()
  checkpoint(own, file, kind = "public")
  expect_true(verify_ledger(ledger, list(own, resume_stream(file)))$whole)
  other$privacy$charge <- own$privacy$charge
  expect_identical(verify_ledger(ledger, list(own, other))$twice, 1:2)
})

test_that("a payment does not recreate a deleted ledger", {
  file <- ledger_file()
  ledger <- dp_ledger(9, 1e-5, path = file)
  unlink(file)
  expect_error(
    dp_stream_count(epsilon = 1, horizon = 8, ledger = ledger), "no such ledger",
    class = "dpsc_error_budget"
  )
  expect_error(dp_ledger(path = file), "no such ledger", class = "dpsc_error_budget")
  expect_false(file.exists(file))
})

test_that("the total in a ledger's file is binding, even if R has read another total before", {
  file <- ledger_file()
  handle <- dp_ledger(9, 1e-6, path = file)
  unlink(file)
  dp_ledger(1, 1e-6, path = file)
  expect_error(
    charged(handle, 0.9), "the ledger allows epsilon = 1[.]",
    class = "dpsc_error_budget"
  )
  handle$epsilon <- 1e9
  expect_error(
    charged(handle, 0.9), "the ledger allows epsilon = 1[.]",
    class = "dpsc_error_budget"
  )
  expect_identical(nrow(as.data.frame(handle)), 0L)
  charged(handle)
  expect_identical(nrow(as.data.frame(handle)), 1L)
})
