# Donors outside R: 1,000,000 units x 24 periods, from the stored data to the release, in a separate
# process for each way of access. All releases must be identical.
#   tools/test-databases Rscript bench/databases.R
# starts the Postgres servers that the bench needs. Writes bench/results/databases.csv, then, for
# regressions on a tenth of the people, at least 20,000, bench/results/databases-lm.csv.
n <- as.integer(Sys.getenv("DPSC_BENCH_DONORS", "1000000"))
T0 <- 20L
T1 <- 4L
# Postgres reads a file from this folder, so it must not be the temporary folder of the session.
home <- Sys.getenv(
  "DPSC_BENCH_FOLDER", file.path(dirname(tempdir()), paste0("dpsc-databases-", Sys.getpid()))
)
dir.create(home, FALSE, TRUE)
source("tests/databases/helper-duckdb.R")

duck <- function(memory = "1GB") {
  if (!nzchar(Sys.getenv("DPSC_LIBDUCKDB"))) {
    con <- DBI::dbConnect(duckdb::duckdb(), bigint = "numeric")
    DBI::dbExecute(con, sprintf("SET memory_limit = '%s'", memory))
    return(con)
  }
  connect_adbc(memory, file.path(home, "spill"))
}
postgres <- function() {
  Sys.setenv(TZ = "UTC")
  con <- DBI::dbConnect(RPostgres::Postgres(), host = Sys.getenv("DPSC_POSTGRES"),
    user = "postgres", bigint = "numeric")
  DBI::dbExecute(con, "SET client_min_messages = warning")
  DBI::dbExecute(con, "SET work_mem = '512MB'")
  con
}
parquet <- file.path(home, "sales.parquet")

# SQL makes the data: levels and noise are hashes, rows are ordered by time, and units have no
# order.
make_data <- function() {
  con <- duck("4GB")
  DBI::dbExecute(con, sprintf(paste(
    "COPY (SELECT CAST(u AS INTEGER) AS unit, CAST(2000 + t AS INTEGER) AS week,",
    "((hash(u) %% 2000001) / 1e6 - 1) * 0.5",
    "+ ((hash(u * 977 + t) %% 2000001) / 1e6 - 1) * 0.4 AS y,",
    "CAST(u > %d AND t > %d AS INTEGER) AS treated",
    "FROM range(1, %d) a(u), range(1, %d) b(t) ORDER BY t, hash(u)) TO '%s'"
  ), n, T0, n + 2L, T0 + T1 + 1L, parquet))
  csv <- file.path(home, c("north.csv", "south.csv"))
  for (k in 1:2) {
    DBI::dbExecute(con, sprintf(
      "COPY (SELECT * FROM '%s' WHERE unit %s %d) TO '%s' (HEADER false)", parquet,
      c("<=", ">")[[k]], n %/% 2L, csv[[k]]
    ))
  }
  DBI::dbDisconnect(con)
  pg <- postgres()
  Sys.chmod(c(home, csv), "755")
  for (k in 1:2) {
    table <- c("north", "south")[[k]]
    DBI::dbExecute(pg, paste(
      "CREATE UNLOGGED TABLE", table,
      "(unit INTEGER, week INTEGER, y DOUBLE PRECISION, treated INTEGER)"
    ))
    DBI::dbExecute(pg, sprintf("COPY %s FROM '%s' (FORMAT csv)", table, csv[[k]]))
  }
  unlink(csv)
  DBI::dbExecute(pg, "CREATE VIEW sales AS SELECT * FROM north UNION ALL SELECT * FROM south")
  DBI::dbExecute(pg, "ANALYZE")
  DBI::dbDisconnect(pg)
}

table_of <- function(con, name, ...) {
  table <- if (grepl("parquet$", name)) {
    DBI::SQL(sprintf("SELECT * FROM read_parquet('%s')", name))
  } else {
    name
  }
  dpsc::dp_table(con, table, c("unit", "week"), ...)
}

ways <- list(
  "matrix already in R" = function() {
    long <- DBI::dbGetQuery(duck("4GB"), sprintf("SELECT * FROM '%s' ORDER BY week, unit", parquet))
    wide <- matrix(long$y, ncol = T0 + T1)
    list(x = wide[seq_len(n), ], target = wide[n + 1L, ])
  },
  "Parquet read into R" = function() {
    list(y = function() DBI::dbGetQuery(duck("4GB"), sprintf("SELECT * FROM '%s'", parquet)))
  },
  "Parquet by DuckDB, streamed, 1 GB" = function() list(x = table_of(duck(), parquet)),
  "Parquet by DuckDB, one block, 1 GB" = function() list(x = table_of(duck(), parquet, block = n)),
  "Parquet by DuckDB, streamed, 300 MB" = function() list(x = table_of(duck("300MB"), parquet)),
  "Parquet by DuckDB, streamed, 300 MB, 8 groups" = function() {
    list(x = table_of(duck("300MB"), parquet, groups = 8))
  },
  "Parquet by DuckDB, sums there, 1 GB" = function() {
    list(x = table_of(duck(), parquet, compute = "database", calibrate = TRUE))
  },
  "Postgres, streamed" = function() list(x = table_of(postgres(), "sales")),
  "Postgres, one block" = function() list(x = table_of(postgres(), "sales", block = n)),
  "Postgres, sums there" = function() {
    list(x = table_of(postgres(), "sales", compute = "database", calibrate = TRUE))
  },
  "two Postgres shards, two workers, sums there" = function() list(x = shards("database")),
  "two Postgres shards, two workers, streamed to them" = function() list(x = shards("here"))
)

people <- max(20000L, n %/% 10L)
people_bounds <- list(
  wage = c(0, 100), age = c(0, 120), hours = c(0, 80), exper = c(0, 60), region = c("n", "s", "w")
)
made_up_people <- function() {
  set.seed(1)
  out <- data.frame(
    age = runif(people, 18, 80), hours = rnorm(people, 38, 9), exper = rexp(people, 1 / 10),
    region = sample(c("n", "s", "w"), people, TRUE)
  )
  out$wage <- 5 + 0.2 * out$age + 0.1 * out$hours + rnorm(people, 0, 4)
  out
}
people_in <- function(con, compute) {
  force(con)
  DBI::dbWriteTable(con, "bench_people", made_up_people(), temporary = TRUE)
  dpsc::dp_table(con, "bench_people", compute = compute)
}
# The end of the name distinguishes these tables from panels.
regressions <- list(
  "in memory" = function() list(people = made_up_people()),
  "DuckDB, streamed" = function() list(people = people_in(duck(), "here")),
  "DuckDB, sums there" = function() list(people = people_in(duck(), "database")),
  "Postgres, streamed" = function() list(people = people_in(postgres(), "here")),
  "Postgres, sums there" = function() list(people = people_in(postgres(), "database"))
)
names(regressions) <- paste("regression:", names(regressions))
ways <- c(ways, regressions)

shards <- function(compute) {
  cluster <- parallel::makeCluster(2)
  host <- Sys.getenv("DPSC_POSTGRES")
  open <- function(i) {
    Sys.setenv(TZ = "UTC")
    con <- DBI::dbConnect(RPostgres::Postgres(), host = host, user = "postgres", bigint = "numeric")
    DBI::dbExecute(con, "SET work_mem = '512MB'")
    DBI::dbExecute(con, "SET client_min_messages = warning")
    dpsc::dp_table(con, c("north", "south")[[i]], c("unit", "week"), compute = compute)
  }
  environment(open) <- list2env(list(host = host, compute = compute), parent = globalenv())
  dpsc::dp_workers(cluster, open, calibrate = TRUE)
}

resident <- function(what) {
  status <- readLines("/proc/self/status")
  round(as.numeric(gsub("[^0-9]", "", grep(what, status, value = TRUE))) / 2^10)
}

# CPU seconds of this process and of the Postgres processes that work for it.
used <- function(pid = NULL) {
  own <- sum(proc.time()[1:2])
  if (is.null(pid)) {
    return(own)
  }
  fields <- strsplit(sub(".*[)] ", "", readLines(sprintf("/proc/%d/stat", pid))), " ")[[1L]]
  own + sum(as.numeric(fields[12:15])) / 100
}

# One way of access is timed in a separate process.
measure <- function(way) {
  given <- ways[[way]]()
  moved <- numbers <- 0
  watch <- function(name, amount) {
    namespace <- asNamespace("dpsc")
    own <- get(name, namespace)
    unlockBinding(name, namespace)
    assign(name, function(...) {
      out <- own(...)
      moved <<- moved + amount(out)
      out
    }, namespace)
  }
  size <- function(x) {
    if (!is.data.frame(x)) return(0)
    sum(vapply(x, function(v) length(v) * if (is.integer(v)) 4 else 8, 0))
  }
  watch("run_sql", size)
  watch("ask_workers", function(x) sum(lengths(unlist(x, recursive = FALSE))) * 8)
  prepared <- 0
  namespace <- asNamespace("dpsc")
  own <- namespace$open_donors
  unlockBinding("open_donors", namespace)
  assign("open_donors", function(...) {
    prepared <<- system.time(out <- own(...))[["elapsed"]]
    out
  }, namespace)
  control <- dpsc::dp_control(rng = "R")
  arguments <- list(epsilon = 1, delta = 1e-8, bounds = c(-1, 1), control = control)
  con <- if (is.null(given$people) && !is.matrix(given$x)) given$x$con else given$people$con
  pid <- if (inherits(con, "PqConnection")) {
    DBI::dbGetQuery(con, "SELECT pg_backend_pid() AS pid")$pid
  }
  before <- used(pid)
  seconds <- system.time({
    if (!is.null(given$y)) given$x <- given$y()
    set.seed(1)
    release <- if (!is.null(given$people)) {
      dpsc::dp_lm(wage ~ age + hours + exper + region, given$people,
        epsilon = 1, bounds = people_bounds, control = control
      )
    } else if (is.matrix(given$x)) {
      do.call(dpsc::dp_release, c(list(given$x, given$target, T0), arguments))
    } else {
      index <- if (is.data.frame(given$x)) list(index = c("unit", "week"))
      do.call(dpsc::dp_release, c(list(y ~ treated, given$x), index, arguments))
    }
  })[["elapsed"]]
  data.frame(
    way = way, donors = if (is.null(given$people)) n else people,
    periods = if (is.null(given$people)) T0 + T1 else 1L, prepare = round(prepared, 1),
    total = round(seconds, 1),
    # This process cannot measure the memory and time of workers and their servers.
    cpu = if (inherits(given$x, "dp_workers")) NA else round(used(pid) - before, 1),
    moved_MB = signif(moved / 2^20, 3), peak_MB = resident("^VmHWM"),
    load = as.numeric(strsplit(readLines("/proc/loadavg"), " ")[[1L]][[1L]]),
    hash = rlang::hash(if (is.null(given$people)) release$statistics else release$release)
  )
}

arguments <- commandArgs(TRUE)
if (length(arguments)) {
  saveRDS(measure(arguments[[1L]]), arguments[[2L]])
} else {
  Sys.setenv(DPSC_BENCH_FOLDER = home)
  cat("Making", n, "x", T0 + T1, "rows\n")
  make_data()
  wanted <- grep(Sys.getenv("DPSC_BENCH_WAYS", "."), names(ways), value = TRUE)
  results <- NULL
  is_panel <- function(way) !grepl("^regression:", way)
  for (way in wanted) {
    file <- tempfile(fileext = ".rds")
    status <- system2("Rscript", c("bench/databases.R", shQuote(way), file), stderr = "")
    if (status != 0L || !file.exists(file)) stop("this way failed: ", way)
    results <- rbind(results, readRDS(file))
    same <- tapply(results$hash, is_panel(results$way), function(x) length(unique(x)))
    stopifnot(same == 1L)
    shown <- results[names(results) != "hash"]
    of_panels <- is_panel(shown$way)
    write <- function(rows, file) {
      if (n == 1e6 && nrow(rows)) {
        utils::write.csv(rows, file.path("bench/results", file), row.names = FALSE)
      }
    }
    write(shown[of_panels, ], "databases.csv")
    write(shown[!of_panels, names(shown) != "periods"], "databases-lm.csv")
    print(utils::tail(shown, 1L), right = FALSE, row.names = FALSE)
  }
  unlink(home, recursive = TRUE)
}
