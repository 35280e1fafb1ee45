# Ledgers outside R: one table of a database, or of a separate SQLite file if the user gives a path.
# Each row is a charge, and no row is ever changed. The hash of a row covers the row and the
# previous row's hash, so that an edited row, a deleted row and a changed order are detected.

ledger_fields <- c(
  "number", "time", "account", "data", "study", "label", "kind", "epsilon", "delta", "rho", "mu",
  "version", "earlier", "hash"
)

# A release stores these fields of the charge that paid for it.
charge_fields <- c("ledger", "first", "number", "hash", "time", "data", "study")

#' Open or create a ledger in a table
#'
#' @param given (`list`)\cr `epsilon` (`NULL`: the value in the ledger), `delta`, `path`, `con`,
#'   `table`, `data`, `study`.
#' @return A `dp_ledger`, which is a handle without any part of the state.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_source`, `dpsc_error_budget`.
#' @noRd
open_ledger <- function(given) {
  need_package("DBI", "A ledger outside R")
  need_package("openssl", "A ledger outside R")
  if (is.null(given$con)) need_package("RSQLite", "A ledger in a file") else check_con(given$con)
  self <- new.env(parent = emptyenv())
  self$outside <- TRUE
  self$path <- if (!is.null(given$path)) {
    normalizePath(check_string(given$path, "path"), mustWork = FALSE)
  }
  self$con <- given$con
  self$process <- Sys.getpid()
  self$table <- check_string(given$table, "table")
  self$data <- check_string(given$data, "data", empty = TRUE)
  self$study <- check_string(given$study, "study", empty = TRUE)
  ledger <- structure(self, class = "dp_ledger")
  self$creates <- !is.null(given$epsilon)
  total <- in_ledger(ledger, function(con) {
    make_ledger_table(con, ledger, given)
    ledger_rows(con, ledger)[1L, ]
  })
  # If the file is deleted later, it is not created again. Only a file that exists has a path that
  # does not depend on the working directory.
  self$creates <- FALSE
  if (!is.null(self$path)) self$path <- normalizePath(self$path)
  self$epsilon <- total$epsilon
  self$delta <- total$delta
  check_same_total(given, total)
  ledger
}

#' Refuse connections without tested transactions, such as pools, which may use a different
#' connection for each statement
#' @noRd
check_con <- function(con) {
  if (!dialect_of(con)$name %in% c("sqlite", "postgres")) {
    abort(c(
      "{.arg con} must be a connection of {.pkg RSQLite} or {.pkg RPostgres}.",
      x = "It is {describe(con)}."
    ), "argument")
  }
}

is_outside <- function(ledger) isTRUE(ledger$outside)

check_string <- function(x, arg, empty = FALSE) {
  if (!is.character(x) || length(x) != 1L || is.na(x) || !(empty || nzchar(x))) {
    abort(c("{.arg {arg}} must be one string.", x = "It is {describe_value(x)}."), "argument")
  }
  x
}

#' Refuse a total that differs from the total in the ledger
#' @noRd
check_same_total <- function(given, total) {
  if (is.null(given$epsilon)) return(invisible())
  if (given$epsilon != total$epsilon || given$delta != total$delta) {
    abort(c(
      "{.arg epsilon} or {.arg delta} differs from the total of this ledger.",
      x = "The ledger was made with epsilon = {total$epsilon} and delta = {total$delta}.",
      i = "To use this total, leave {.arg epsilon} and {.arg delta} out."
    ), "budget")
  }
}

#' Run a function on a ledger's connection, in a transaction that excludes other writers
#'
#' Committed rows are on the disk. After an error, or the end of the process, the ledger is
#' unchanged.
#' @param run (`function`)\cr a function of the connection.
#' @param writes (`flag`)\cr whether the function writes; a reader does not exclude other processes.
#' @noRd
in_ledger <- function(ledger, run, writes = TRUE) {
  con <- ledger$con
  if (is.null(con)) {
    if (!isTRUE(ledger$creates) && !file.exists(ledger$path)) stop_no_ledger()
    con <- connect_ledger(ledger$path)
    on.exit(close_quietly(con))
  } else if (!identical(ledger$process, Sys.getpid())) {
    abort(c(
      "The ledger's connection was opened in another process, which may use it at the same time.",
      i = "Open a connection here, and create the ledger again by {.code dp_ledger(con = )}."
    ), "budget")
  }
  begin <- if (inherits(con, "SQLiteConnection")) begin_sqlite else begin_postgres
  restore <- begin(con, ledger, writes)
  done <- FALSE
  # A transaction that is not committed has no effect.
  on.exit(
    {
      if (!done) quiet_sql(con, "ROLLBACK")
      quiet_sql(con, restore)
    },
    add = TRUE, after = FALSE
  )
  value <- run(con)
  ledger_sql(con, "COMMIT")
  done <- TRUE
  value
}

#' Run a statement on a ledger. A ledger contains no people's data, so the engine's error may be
#' shown.
#' @noRd
ledger_sql <- function(con, text, fetch = FALSE) {
  tryCatch(
    keep_seed(suppressWarnings(
      if (fetch) DBI::dbGetQuery(con, text) else DBI::dbExecute(con, text)
    )),
    error = function(e) {
      said <- conditionMessage(e)
      abort(c(
        "The ledger could not be read or written.", x = "The database's error: {said}",
        i = "Check that the connection is open and not inside a transaction."
      ), "budget")
    }
  )
}

connect_ledger <- function(path) {
  con <- tryCatch(DBI::dbConnect(RSQLite::SQLite(), path), error = function(e) {
    abort(c(
      "The ledger's file cannot be opened.",
      i = "Check that {.arg path} is in a folder in which you may write."
    ), "source")
  })
  ledger_sql(con, "PRAGMA busy_timeout = 60000", fetch = TRUE)
  con
}

stop_no_ledger <- function() {
  abort(c(
    "There is no such ledger.",
    i = "To create a ledger, give its total: {.arg epsilon} and {.arg delta}."
  ), "budget")
}

#' Begin a transaction whose commit is on the disk; an error if the user has begun one
#' @return Statements that restore the connection after the transaction.
#' @noRd
begin_sqlite <- function(con, ledger, writes) {
  if (!writes) {
    ledger_sql(con, "BEGIN")
    return(character())
  }
  # In package RSQLite the default is 0: a commit does not wait for the disk. Within a transaction
  # of the user this statement is an error.
  before <- ledger_sql(con, "PRAGMA synchronous", fetch = TRUE)[[1L]]
  ledger_sql(con, paste("PRAGMA synchronous =", max(2, before)))
  restore <- paste("PRAGMA synchronous =", before)
  done <- FALSE
  on.exit(if (!done) quiet_sql(con, restore))
  ledger_sql(con, "BEGIN IMMEDIATE")
  done <- TRUE
  restore
}

#' @noRd
begin_postgres <- function(con, ledger, writes) {
  # Within a transaction of the user, BEGIN only gives a notice, and COMMIT would end this
  # transaction. `now()` is the time at which a transaction began, here that of one statement.
  micro <- function(time) paste0("CAST(EXTRACT(EPOCH FROM ", time, ") * 1000000 AS BIGINT)")
  before <- ledger_sql(con, paste0(
    "SELECT CAST(", micro("statement_timestamp()"), " AS TEXT) AS at"
  ), fetch = TRUE)$at
  own <- ledger_sql(con, paste0(
    "SELECT CASE WHEN ", micro("now()"), " >= ", before, " THEN 1 ELSE 0 END AS own"
  ), fetch = TRUE)$own
  if (own != 1) {
    abort(c(
      "The ledger cannot be used within a transaction of its connection.",
      i = "Commit this transaction, or give the ledger a separate connection."
    ), "budget")
  }
  ledger_sql(con, "BEGIN")
  if (writes) {
    done <- FALSE
    on.exit(if (!done) quiet_sql(con, "ROLLBACK"))
    ledger_sql(con, "SET LOCAL synchronous_commit = on")
    # A trigger of the table runs before the row is read back, not at the commit.
    ledger_sql(con, "SET CONSTRAINTS ALL IMMEDIATE")
    # One lock per name: its holder may write even before the table exists.
    ledger_sql(con, paste0(
      "SELECT pg_advisory_xact_lock(", strtoi(substr(sha(ledger$table), 1L, 7L), 16L), ")"
    ), fetch = TRUE)
    done <- TRUE
  }
  character()
}

sha <- function(text) as.character(openssl::sha256(enc2utf8(text)))

make_ledger_table <- function(con, ledger, given) {
  if (DBI::dbExistsTable(con, ledger$table)) return(invisible())
  if (is.null(given$epsilon)) {
    stop_no_ledger()
  }
  columns <- paste(ledger_fields, ifelse(ledger_fields == "number", "INTEGER PRIMARY KEY", "TEXT"))
  ledger_sql(con, paste0(
    "CREATE TABLE ", quoted(con, ledger$table), " (", paste(columns, collapse = ", "), ")"
  ))
  cost <- new_cost("pure", epsilon = given$epsilon, delta = given$delta)
  cost$kind <- "total"
  write_charge(con, ledger, new_charge_row(ledger, cost, "total", 0, ""))
}

#' A charge in the form of the table, as text with numbers to the last bit
#' @noRd
new_charge_row <- function(ledger, cost, label, number, earlier) {
  exact <- function(x) if (is.na(x)) "" else sprintf("%a", x)
  row <- list(
    number = number, time = format(Sys.time(), "%Y-%m-%dT%H:%M:%SZ", tz = "UTC"),
    account = Sys.info()[["user"]], data = ledger$data, study = ledger$study, label = label,
    kind = cost$kind, epsilon = exact(cost$epsilon), delta = exact(cost$delta),
    rho = exact(cost$rho), mu = exact(cost$mu), version = own_version(), earlier = earlier
  )
  row$hash <- hash_of_charge(row)
  row
}

#' Hash of a row, of the bytes of its text in UTF-8, which do not depend on the locale
#' @noRd
hash_of_charge <- function(row) {
  hash_of_fields(row, function(x) {
    if (is.character(x)) enc2utf8(x) else format(x, scientific = FALSE, trim = TRUE)
  })
}

hash_of_fields <- function(row, as_text) {
  text <- vapply(row[setdiff(ledger_fields, "hash")], as_text, "")
  # The text contains the lengths, so that no two rows have the same text.
  sha(paste0(nchar(text, "bytes"), ":", text, collapse = ""))
}

#' Is this the hash of a row?
#'
#' Earlier development versions hashed formatted text, which differs between locales for letters
#' beyond ASCII. Such a hash is accepted in the locale in which it was computed.
#' @noRd
is_hash_of <- function(hash, row) {
  identical(hash, hash_of_charge(row)) || identical(hash, hash_of_fields(row, function(x) {
    format(x, scientific = FALSE, trim = TRUE)
  }))
}

#' Write a row, and read it back within the transaction
#'
#' A rule, a trigger or a policy of the table, or an encoding of the database, may drop or change
#' the row without an error.
#' @noRd
write_charge <- function(con, ledger, row) {
  literal <- function(x) if (is.numeric(x)) format(x) else as.character(DBI::dbQuoteString(con, x))
  ledger_sql(con, paste0(
    "INSERT INTO ", quoted(con, ledger$table), " (", paste(ledger_fields, collapse = ", "),
    ") VALUES (", paste(vapply(row[ledger_fields], literal, ""), collapse = ", "), ")"
  ))
  last <- as.list(raw_ledger_rows(con, ledger, " DESC LIMIT 1"))
  if (!identical(last$hash, row$hash) || !identical(last$hash, hash_of_charge(last))) {
    abort(c(
      "The ledger's table did not keep the row that was written.",
      i = "Remove rules, triggers and policies from the table, or create a new ledger."
    ), "budget")
  }
}

#' Append a row after the last row
#' @param rows (`data.frame`)\cr from [chained_rows()], in the same transaction.
#' @return The new row.
#' @noRd
add_charge_row <- function(con, ledger, rows, cost, label) {
  last <- rows[nrow(rows), ]
  row <- new_charge_row(ledger, cost, label, last$number + 1, last$hash)
  write_charge(con, ledger, row)
  row
}

#' All rows, with the total in the first row, and with numbers converted from text
#' @noRd
ledger_rows <- function(con, ledger) with_parsed_costs(raw_ledger_rows(con, ledger))

with_parsed_costs <- function(rows) {
  numbers <- c("epsilon", "delta", "rho", "mu")
  rows[numbers] <- lapply(rows[numbers], function(x) suppressWarnings(as.numeric(x)))
  rows
}

raw_ledger_rows <- function(con, ledger, order = "") {
  rows <- ledger_sql(con, paste0(
    "SELECT ", paste(ledger_fields, collapse = ", "), " FROM ", quoted(con, ledger$table),
    " ORDER BY number", order
  ), fetch = TRUE)
  rows$number <- as.numeric(rows$number)
  rows
}

#' Rows that are charges, without the total and the records of growing releases
#' @noRd
is_charge_row <- function(rows) rows$number > 0 & !rows$kind %in% c("grows", "draw")

#' Charges of a ledger, inside or outside R
#' @return A data frame: `label`, `kind`, `epsilon`, `delta`, `rho`, `mu`; for a ledger outside R
#'   also `number`, `time`, `account`, `data`, `study`, `version`, `hash`. PUBLIC.
#' @noRd
ledger_history <- function(ledger) {
  if (!is_outside(ledger)) return(complete_history(ledger$history))
  rows <- in_ledger(ledger, function(con) ledger_rows(con, ledger), writes = FALSE)
  charges <- rows[is_charge_row(rows), setdiff(ledger_fields, "earlier")]
  first <- c("label", "kind", "epsilon", "delta", "rho", "mu")
  row.names(charges) <- NULL
  charges[c(first, setdiff(names(charges), first))]
}

#' Charge a ledger outside R by its stored rows; the charge is on the disk when the function returns
#' @param pay (`function`)\cr a function of the history of charges and of the stored total, which
#'   stops if the charge exceeds the budget.
#' @return The record of the charge, for its release: `ledger` (the name of a table or file),
#'   `first` (the hash of the ledger's first row, which identifies the ledger), `number`, `hash`,
#'   `time`, `data`, `study`. PUBLIC.
#' @noRd
charge_outside <- function(ledger, cost, label, pay) {
  in_ledger(ledger, function(con) {
    rows <- chained_rows(con, ledger)
    charges <- with_parsed_costs(rows)[is_charge_row(rows), ]
    # The total is read from the table, since the handle's total may be from a replaced file.
    total <- as.list(with_parsed_costs(rows)[1L, c("epsilon", "delta")])
    pay(charges[c("label", "kind", "epsilon", "delta", "rho", "mu")], total)
    row <- add_charge_row(con, ledger, rows, cost, label)
    name <- if (is.null(ledger$path)) ledger$table else basename(ledger$path)
    c(list(ledger = name, first = rows$hash[[1L]]), row)[charge_fields]
  })
}

#' Is this `NULL` or a ledger's record of a charge?
#' @noRd
is_charge <- function(x) {
  # `drawn` is the hash of the ledger after the last draw of a growing release.
  is.null(x) || is.list(x) && identical(setdiff(names(x), "drawn"), charge_fields) &&
    (is.null(x$drawn) || is_string(x$drawn)) &&
    all(vapply(x[setdiff(charge_fields, "number")], is_string, NA)) && is_number(x$number) &&
    x$number >= 1
}

#' Numbers of the rows that break the chain of hashes; empty if the chain is intact
#' @noRd
broken_rows <- function(rows) {
  if (!nrow(rows)) return(0)
  kept <- vapply(seq_len(nrow(rows)), function(i) {
    row <- as.list(rows[i, ])
    earlier <- if (i == 1L) "" else rows$hash[[i - 1L]]
    row$number == i - 1 && identical(row$earlier, earlier) &&
      is_hash_of(row$hash, row)
  }, NA)
  rows$number[!kept]
}

#' All rows, or an error if their chain of hashes is broken
#' @noRd
chained_rows <- function(con, ledger) {
  rows <- raw_ledger_rows(con, ledger)
  broken <- broken_rows(rows)
  if (length(broken)) {
    abort(c(
      "This ledger was changed: its chain of hashes is broken.",
      x = "The first broken link is at row {broken[[1L]]}.",
      i = "List the broken rows with {.fn verify_ledger}, and restore a copy known to be intact."
    ), "budget")
  }
  rows
}
