# A ledger outside R under attack: the contents of a file (SQLite) and of a table of Postgres after
# sessions competed for the last charge, and after sessions were killed (-9) at random moments.
#   tools/test-databases Rscript bench/ledger.R
# starts the Postgres servers that the bench needs. Each charge pays for the draw of a dp_lm() of
# 400 people.
#   races  rounds of 8 processes, each of which tries once; the ledger allows three releases.
#     overspent: rounds with more than three releases or charges; short: fewer than three
#   kills  sessions that release in a loop, killed after 0.05 to 0.8 s
#     uncharged: kills after which there were more releases than charges; unread: the ledger did not
#     open, or its chain of hashes was broken; stuck: the next session could not pay at once
#   cost   milliseconds per charge: a release with this ledger minus a release with a ledger in
#     memory, medians of 100
# The bench takes ten minutes per engine on two idle cores. Processes are forks of this process, so
# that R starts once. Writes bench/results/ledger.csv, each engine when it is finished.
# DPSC_BENCH_SCALE multiplies rounds and kills.
library(dpsc)
set.seed(30)
rounds <- ceiling(200 * as.numeric(Sys.getenv("DPSC_BENCH_SCALE", "1")))
people <- data.frame(x = runif(400), y = runif(400))
epsilon <- 0.9

release <- function(ledger) {
  suppressWarnings(dp_lm(y ~ x, people,
    epsilon = epsilon, delta = 1e-6, bounds = list(x = c(0, 1), y = c(0, 1)), ledger = ledger
  ))
}
mu <- local({
  ledger <- dp_ledger(10, 1e-6)
  release(ledger)
  as.data.frame(ledger)$mu
})
# The total epsilon of a ledger that allows this number of releases.
room <- function(times) dpsc:::gdp_epsilon_cpp(sqrt(times) * mu, 1e-6) * (1 + 1e-9)

connect <- function() {
  con <- DBI::dbConnect(RPostgres::Postgres(),
    host = Sys.getenv("DPSC_POSTGRES"), user = "postgres", dbname = "postgres"
  )
  DBI::dbExecute(con, "SET client_min_messages = warning")
  con
}

# One entry per engine: a new ledger that allows `times` releases, and a function that opens the
# ledger in any process.
engines <- list(
  SQLite = function(times) {
    path <- tempfile(fileext = ".sqlite")
    dp_ledger(room(times), 1e-6, path = path)
    function() dp_ledger(path = path)
  },
  Postgres = function(times) {
    con <- connect()
    on.exit(DBI::dbDisconnect(con))
    DBI::dbExecute(con, "DROP TABLE IF EXISTS desk")
    dp_ledger(room(times), 1e-6, con = con, table = "desk")
    function() dp_ledger(con = connect(), table = "desk")
  }
)

race <- function(make) {
  open <- make(3)
  made <- unlist(parallel::mclapply(1:8, function(i) {
    !inherits(try(release(open()), silent = TRUE), "try-error")
  }, mc.cores = 8))
  ledger <- open()
  c(
    released = sum(made), charges = nrow(as.data.frame(ledger)),
    whole = verify_ledger(ledger)$whole
  )
}

kill <- function(make) {
  open <- make(1e4)
  released <- tempfile()
  job <- parallel::mcparallel({
    ledger <- open()
    repeat {
      release(ledger)
      cat("x", file = released, append = TRUE)
    }
  })
  Sys.sleep(runif(1, 0.05, 0.8))
  tools::pskill(job$pid, 9L)
  suppressWarnings(parallel::mccollect(job))
  ledger <- open()
  charges <- nrow(as.data.frame(ledger))
  whole <- verify_ledger(ledger)$whole
  next_one <- !inherits(try(release(ledger), silent = TRUE), "try-error")
  made <- if (file.exists(released)) file.size(released) else 0
  c(released = made, charges = charges, whole = whole, paid = next_one)
}

cost <- function(make) {
  time <- function(ledger) {
    one <- function(i) system.time(release(ledger))[["elapsed"]]
    release(ledger)
    median(vapply(1:100, one, 0))
  }
  (time(make(1e4)()) - time(dp_ledger(room(1e4), 1e-6))) * 1000
}

measure <- function(name) {
  make <- engines[[name]]
  races <- t(vapply(seq_len(rounds), function(i) race(make), numeric(3)))
  kills <- t(vapply(seq_len(rounds), function(i) kill(make), numeric(4)))
  data.frame(
    engine = name, races = rounds, processes = 8,
    overspent = sum(races[, "released"] > 3 | races[, "charges"] > 3),
    short = sum(races[, "released"] < 3 | races[, "charges"] < 3),
    kills = rounds, releases = sum(kills[, "released"]), charges = sum(kills[, "charges"]),
    uncharged = sum(kills[, "released"] > kills[, "charges"]),
    unread = sum(!races[, "whole"]) + sum(!kills[, "whole"]), stuck = sum(!kills[, "paid"]),
    cost.ms = signif(cost(make), 2)
  )
}

here <- c("SQLite", if (nzchar(Sys.getenv("DPSC_POSTGRES"))) "Postgres")
out <- NULL
for (engine in here) {
  out <- rbind(out, measure(engine))
  write.csv(out, "bench/results/ledger.csv", row.names = FALSE)
}
print(out)
