# Postgres on more than one server, and ledgers in it.

skip_if(!nzchar(Sys.getenv("DPSC_POSTGRES")), "no Postgres: make test-databases")

far_ports <- function() as.integer(strsplit(Sys.getenv("DPSC_POSTGRES_FAR"), " ")[[1L]])

# A server's queries, from its log, after its first `from` characters.
far_log <- function(port, from = 0) {
  path <- file.path(Sys.getenv("DPSC_POSTGRES"), paste0("log", port))
  substring(paste(readLines(path), collapse = "\n"), from + 1)
}

# A table `people` in `con`, whose two partitions are tables `part` on the other servers.
scatter <- function(con, far, people) {
  run <- function(...) DBI::dbExecute(con, paste0(...))
  columns <- "(id INTEGER, x DOUBLE PRECISION, g TEXT, y DOUBLE PRECISION)"
  run("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
  run("DROP TABLE IF EXISTS everyone CASCADE")
  run("CREATE TABLE everyone ", columns, " PARTITION BY HASH (id)")
  for (k in seq_along(far)) {
    DBI::dbExecute(far[[k]], "DROP TABLE IF EXISTS part")
    DBI::dbExecute(far[[k]], paste("CREATE TABLE part", columns))
    run("DROP SERVER IF EXISTS far", k, " CASCADE")
    run("CREATE SERVER far", k, " FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '",
      Sys.getenv("DPSC_POSTGRES"), "', port '", far_ports()[[k]], "', dbname 'postgres')")
    run("CREATE USER MAPPING FOR postgres SERVER far", k, " OPTIONS (user 'postgres')")
    run("CREATE FOREIGN TABLE everyone", k, " PARTITION OF everyone FOR VALUES WITH (MODULUS 2, ",
      "REMAINDER ", k - 1L, ") SERVER far", k, " OPTIONS (table_name 'part')")
  }
  DBI::dbAppendTable(con, "everyone", people)
}

test_that("a table whose partitions are on two other servers gives the data frame's release", {
  con <- connect_postgres()
  far <- lapply(far_ports(), function(port) connect_postgres(port = port))
  withr::defer(for (one in c(list(con), far)) DBI::dbDisconnect(one))
  withr::local_seed(5)
  people <- data.frame(id = 1:600, x = stats::runif(600, -1, 1), g = rep(c("a", "b"), 300))
  people$y <- people$x + stats::rnorm(600, sd = 0.2)
  scatter(con, far, people)
  held <- vapply(far, function(one) {
    as.integer(DBI::dbGetQuery(one, "SELECT COUNT(*) AS n FROM part")$n)
  }, 0L)
  expect_identical(sum(held), 600L)
  expect_true(all(held > 200L))
  bounds <- list(y = c(-2, 2), x = c(-1, 1), g = c("a", "b"))
  fit <- function(data) {
    withr::local_seed(6)
    out <- dp_lm(y ~ x + g, data, epsilon = 2, bounds = bounds, control = dp_control(rng = "R"))
    out[c("coefficients", "privacy")]
  }
  reference <- fit(people)
  expect_identical(fit(dp_table(con, "everyone", compute = "database")), reference)
  expect_identical(fit(dp_table(con, "everyone", block = 77)), reference)
  # Each server computes its sums through a separate connection: its log shows queries of sums, and
  # no list of rows.
  before <- vapply(far_ports(), function(port) nchar(far_log(port)), 0)
  shards <- lapply(far, function(one) dp_table(one, "part", compute = "database"))
  expect_identical(fit(dp_sources(shards)), reference)
  for (k in 1:2) {
    asked <- far_log(far_ports()[[k]], before[[k]])
    expect_match(asked, "SUM(", fixed = TRUE)
    expect_no_match(asked, "DECLARE", fixed = TRUE)
  }
})

test_that("a first table of partitions on two other servers is the data frame's, bit for bit", {
  con <- connect_postgres()
  far <- lapply(far_ports(), function(port) connect_postgres(port = port))
  withr::defer(for (one in c(list(con), far)) DBI::dbDisconnect(one))
  withr::local_seed(7)
  people <- data.frame(id = 1:700, x = stats::rlnorm(700), g = sample(c("a", "b"), 700, TRUE))
  people$y <- people$x + stats::rnorm(700)
  people$x[1:20] <- NA
  people$g[21:30] <- NA
  scatter(con, far, people)
  bounds <- list(y = c(-10, 50), x = c(0, 50), g = c("a", "b"))
  draw <- function(data, by = ~g, formula = ~ y + log(1 + x), delta = 1e-6) {
    bounds[["log(1 + x)"]] <- c(0, 4)
    withr::local_seed(8)
    out <- dp_describe(formula, data, by, 2, delta, bounds, control = dp_control(rng = "R"))
    out[c("release", "privacy")]
  }
  shards <- lapply(far, function(one) dp_table(one, "part", block = 50))
  for (by in list(NULL, ~g)) {
    for (delta in c(0, 1e-6)) {
      reference <- draw(people, by, delta = delta)
      expect_identical(draw(dp_table(con, "everyone", block = 77), by, delta = delta), reference)
      expect_identical(draw(dp_sources(shards), by, delta = delta), reference)
    }
  }
  # A table of factor levels only.
  reference <- draw(people, formula = ~g, by = NULL)
  expect_identical(draw(dp_table(con, "everyone"), formula = ~g, by = NULL), reference)
})

test_that("a ledger in Postgres is charged before the draw, and a change of it is found", {
  con <- connect_postgres()
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "DROP TABLE IF EXISTS \"team's budget\"")
  ledger <- dp_ledger(4, 1e-6, con = con, table = "team's budget", study = "trial 7")
  withr::local_seed(5)
  people <- data.frame(x = stats::runif(400))
  people$y <- people$x
  fit <- dp_lm(y ~ x, people, epsilon = 1, bounds = list(y = c(0, 1), x = c(0, 1)),
    ledger = ledger)
  p <- monitor_panel(n = 300)
  start <- start_monitor(p, monitor = 2, epsilon = 2, rng = "secure", ledger = ledger)
  newer <- next_period(start, p, ledger = ledger)
  expect_error(next_period(start, p, ledger = ledger), "drawn before",
    class = "dpsc_error_monitor")
  found <- verify_ledger(ledger, releases = list(fit, start, newer))
  expect_true(found$whole && found$complete)
  expect_identical(found$charges, 2L)
  own <- dp_ledger(4, 1e-6)
  dp_lm(y ~ x, people, epsilon = 1, bounds = list(y = c(0, 1), x = c(0, 1)), ledger = own)
  expect_identical(as.data.frame(ledger)$mu[[1L]], as.data.frame(own)$mu)
  DBI::dbExecute(con, "UPDATE \"team's budget\" SET mu = '0x1p-30' WHERE number = 1")
  expect_identical(verify_ledger(ledger)$broken, 1)
  expect_error(next_period(newer, p, ledger = ledger), "changed", class = "dpsc_error_budget")
})

test_that("sessions that race for the last charge of a ledger in Postgres never overspend", {
  skip_on_os("windows")
  con <- connect_postgres()
  withr::defer(DBI::dbDisconnect(con))
  rounds <- if (is_audit()) 200 else 4
  for (round in seq_len(rounds)) {
    DBI::dbExecute(con, "DROP TABLE IF EXISTS race")
    dp_ledger(gdp_epsilon_cpp(sqrt(3) * 0.1, 1e-6) * (1 + 1e-9), 1e-6, con = con, table = "race")
    paid <- parallel::mclapply(1:8, function(i) {
      own <- connect_postgres()
      on.exit(DBI::dbDisconnect(own))
      cost <- new_cost("gdp", epsilon = NA_real_, mu = 0.1)
      ledger <- dp_ledger(con = own, table = "race")
      !inherits(try(spend(ledger, cost, "test", list(holds = TRUE)), silent = TRUE), "try-error")
    }, mc.cores = 8)
    ledger <- dp_ledger(con = con, table = "race")
    expect_identical(sum(unlist(paid)), 3L)
    expect_identical(nrow(as.data.frame(ledger)), 3L)
    expect_true(verify_ledger(ledger)$whole)
  }
})

test_that("a session that is killed leaves a ledger in Postgres that reads and has its charges", {
  skip_on_os("windows")
  con <- connect_postgres()
  withr::defer(DBI::dbDisconnect(con))
  kills <- if (is_audit()) 200 else 3
  for (round in seq_len(kills)) {
    DBI::dbExecute(con, "DROP TABLE IF EXISTS killed")
    released <- withr::local_tempfile()
    dp_ledger(50, 1e-6, con = con, table = "killed")
    job <- parallel::mcparallel({
      own <- dp_ledger(con = connect_postgres(), table = "killed")
      repeat {
        spend(own, new_cost("gdp", epsilon = NA_real_, mu = 0.001), "test", list(holds = TRUE))
        cat("x", file = released, append = TRUE)
      }
    })
    Sys.sleep(stats::runif(1, 0.05, 0.4))
    tools::pskill(job$pid, 9L)
    suppressWarnings(parallel::mccollect(job))
    ledger <- dp_ledger(con = con, table = "killed")
    expect_true(verify_ledger(ledger)$whole)
    made <- if (file.exists(released)) file.size(released) else 0
    expect_gte(nrow(as.data.frame(ledger)), made)
    # The next session can pay at once: no lock remains.
    spend(ledger, new_cost("gdp", epsilon = NA_real_, mu = 0.001), "test", list(holds = TRUE))
    expect_gte(nrow(as.data.frame(ledger)), made + 1)
  }
})

test_that("a table in Postgres that drops a charge, now or at the commit, is refused", {
  con <- connect_postgres()
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbExecute(con, paste(
    "CREATE OR REPLACE FUNCTION dropped() RETURNS TRIGGER LANGUAGE plpgsql AS",
    "'BEGIN DELETE FROM dropping WHERE number > 0; RETURN NULL; END'"
  ))
  faults <- c(
    "CREATE RULE r AS ON INSERT TO dropping DO INSTEAD NOTHING",
    paste(
      "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON dropping DEFERRABLE INITIALLY DEFERRED",
      "FOR EACH ROW EXECUTE FUNCTION dropped()"
    )
  )
  for (fault in faults) {
    DBI::dbExecute(con, "DROP TABLE IF EXISTS dropping")
    ledger <- dp_ledger(4, 1e-6, con = con, table = "dropping")
    DBI::dbExecute(con, fault)
    expect_error(
      spend(ledger, new_cost("gdp", epsilon = NA_real_, mu = 0.1), "test", list(holds = TRUE)),
      "did not keep the row", class = "dpsc_error_budget"
    )
    expect_identical(nrow(as.data.frame(ledger)), 0L)
  }
})

test_that("a ledger in Postgres is refused in the user's transaction, and waits for the disk", {
  con <- connect_postgres()
  withr::defer(DBI::dbDisconnect(con))
  DBI::dbExecute(con, "DROP TABLE IF EXISTS waits")
  DBI::dbExecute(con, "DROP TABLE IF EXISTS mine")
  DBI::dbExecute(con, "SET synchronous_commit = off")
  ledger <- dp_ledger(4, 1e-6, con = con, table = "waits")
  pay <- function() {
    spend(ledger, new_cost("gdp", epsilon = NA_real_, mu = 0.1), "test", list(holds = TRUE))
  }
  setting <- function() DBI::dbGetQuery(con, "SHOW synchronous_commit")[[1L]]
  own <- write_charge
  seen <- NULL
  with_internal("write_charge", function(...) {
    seen <<- setting()
    own(...)
  }, pay())
  expect_identical(seen, "on")
  expect_identical(setting(), "off")
  for (begin in c("BEGIN", "BEGIN ISOLATION LEVEL SERIALIZABLE")) {
    DBI::dbExecute(con, begin)
    DBI::dbExecute(con, "CREATE TABLE mine (x INTEGER)")
    expect_error(pay(), "within a transaction", class = "dpsc_error_budget")
    expect_error(as.data.frame(ledger), "within a transaction", class = "dpsc_error_budget")
    # The user's transaction is neither committed nor rolled back.
    DBI::dbExecute(con, "INSERT INTO mine VALUES (1)")
    DBI::dbExecute(con, "ROLLBACK")
    expect_false(DBI::dbExistsTable(con, "mine"))
  }
  DBI::dbExecute(con, "BEGIN")
  expect_error(DBI::dbExecute(con, "SELECT 1 / 0"))
  expect_error(pay(), class = "dpsc_error_budget")
  DBI::dbExecute(con, "ROLLBACK")
  pay()
  expect_identical(nrow(as.data.frame(ledger)), 2L)
})
