# Numbers and names that the driver of Postgres returns in several types.

skip_without_postgres <- function() {
  skip_if(!nzchar(Sys.getenv("DPSC_POSTGRES")), "no Postgres here: make test-databases")
}

test_that("in Postgres the driver's type of 64-bit integers changes neither sums nor people", {
  skip_without_postgres()
  withr::local_seed(1)
  people <- data.frame(y = stats::runif(3000), x = rep(c(TRUE, FALSE), 1500))
  panel <- data.frame(
    unit = rep(1:400, 7), week = rep(1:7, each = 400), y = sample(-9:9, 2800, TRUE)
  )
  panel$on <- as.integer(panel$unit <= 150 & panel$week > 5)
  by <- c("integer64", "integer", "numeric")
  found <- lapply(by, function(bigint) {
    con <- connect_postgres(bigint = bigint)
    withr::defer(DBI::dbDisconnect(con))
    DBI::dbWriteTable(con, "people", people, overwrite = TRUE)
    fit <- seeded(dp_table(con, "people", compute = "database"), formula = y ~ x, fun = dp_lm,
      bounds = list(y = c(0, 1), x = c(FALSE, TRUE)), epsilon = 8
    )
    panel$y[panel$unit == 3 & panel$week == 2] <- 9
    DBI::dbWriteTable(con, "panel", panel, overwrite = TRUE)
    for (column in c("unit", "week", "y")) {
      DBI::dbExecute(con, paste("ALTER TABLE panel ALTER", column, "TYPE BIGINT"))
    }
    released <- function(protect) {
      seeded(in_sqlite(con, name = "panel"), bounds = c(-9, 9), epsilon = 20, protect = protect)
    }
    before <- lapply(c("everyone", "donors"), released)
    # A cell beyond 32 bits counts as its bound.
    DBI::dbExecute(con, "UPDATE panel SET y = 3000000000 WHERE unit = 3 AND week = 2")
    expect_identical(released("everyone"), before[[1L]])
    list(coef(fit), lapply(before, `[[`, "statistics"))
  })
  for (other in found[-1L]) expect_identical(other, found[[1L]])
})
