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

test_that("in Postgres names of any digits tell treated units from donors, for any driver", {
  skip_without_postgres()
  released <- function(con, type, first, second, treated = 1, ...) {
    DBI::dbExecute(con, "DROP TABLE IF EXISTS named")
    DBI::dbExecute(con, paste0("CREATE TABLE named (unit ", type, ", week INT, y FLOAT8, tr INT)"))
    DBI::dbExecute(con, paste0(
      "INSERT INTO named SELECT CASE i WHEN 0 THEN ", first, " WHEN 1 THEN ", second,
      " ELSE 9007199254741000 + 4 * i END, t, sin(i * t) / 2, CASE WHEN i < ", treated,
      " AND t > 5 THEN 1 ELSE 0 END FROM generate_series(0, 300) i, generate_series(1, 7) t"
    ))
    seeded(in_sqlite(con, name = "named"), formula = y ~ tr, epsilon = 20, ...)$statistics
  }
  lapply(c("integer64", "integer", "numeric", "character"), function(bigint) {
    con <- connect_postgres(bigint = bigint)
    withr::defer(DBI::dbDisconnect(con))
    reference <- released(con, "BIGINT", "1", "2", protect = "donors")
    for (type in c("BIGINT", "NUMERIC", "DOUBLE PRECISION")) {
      firsts <- if (type == "DOUBLE PRECISION") c("1.5", "3e15") else "9007199254740993"
      for (first in c("3000000000", firsts)) {
        for (second in c("9007199254740992", "9007199254740994")) {
          label <- paste(bigint, type, first, second)
          expect_identical(released(con, type, first, second, protect = "donors"), reference,
            label = label
          )
        }
      }
    }
    # Protected people, of whom two have the same rounded name.
    hidden <- lapply(c("9007199254740992", "2"), function(second) {
      released(con, "BIGINT", "9007199254740993", second, 150, protect = "everyone")
    })
    expect_identical(hidden[[1L]], hidden[[2L]], label = bigint)
  })
})
