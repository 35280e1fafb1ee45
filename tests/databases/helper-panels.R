# Shared by the tests of the sources.
for (file in c("helper-internal.R", "helper-gram.R", "helper-hostile.R", "helper-sources.R",
  "helper-monitor.R", "helper-long.R", "helper-panels.R")) {
  source(testthat::test_path("..", "testthat", file), local = TRUE)
}

# One of the servers that `make test-databases` started; two others have ports of their own.
connect_postgres <- function(env = parent.frame(), port = 5432L, dbname = "postgres",
                             ...) {
  withr::local_envvar(TZ = "UTC")
  con <- DBI::dbConnect(RPostgres::Postgres(),
    host = Sys.getenv("DPSC_POSTGRES"), port = port, user = "postgres", dbname = dbname,
    ...
  )
  DBI::dbExecute(con, "SET client_min_messages = warning")
  con
}
