# Checks of ledgers by people who did not create them.

#' Check a ledger in a file or database
#'
#' Each row of a ledger in a file or database contains a hash of this row and of the previous row.
#' The check detects edited, deleted and inserted rows, and a changed order of rows. If rows at the
#' end are missing, or if the whole ledger is an older copy, the chain of hashes is intact. Such a
#' loss can be detected only by `releases`, since each release records the position of its charge,
#' or by `receipts`. The result states whether such a loss could be detected (`complete`).
#'
#' @param ledger (`dp_ledger`)\cr a ledger made with `path` or `con`.
#' @param releases (`list` or `character`)\cr releases, fits and other results of private calls, or
#'   files by [write_release()].
#' @param receipts (`character`)\cr hashes of known charges, which were copied from
#'   `as.data.frame(ledger)$hash` and stored elsewhere.
#' @param ... unused; an unknown argument causes an error.
#' @return A list of class `dp_ledger_check`. PUBLIC:
#'   * `whole`: whether no fault was found.
#'   * `broken`: the positions of rows with a wrong hash.
#'   * `missing`: hashes of charges and draws that are not in the ledger.
#'   * `other`: releases that were charged to another ledger.
#'   * `unpaid`: releases without a charge to a file or database, and releases that cost more than
#'     their charge.
#'   * `twice`: different releases with the same charge, which does not cover all of them.
#'   * `charges`: the number of charges.
#'   * `complete`: whether the ledger contains all charges and draws that are named in `receipts`
#'     and in releases paid from this ledger. `NA`: there are none, so a loss of the last rows
#'     cannot be detected.
#' @section Errors: `dpsc_error_argument` for a ledger in R's memory and for objects that are not
#'   releases; `dpsc_error_release` for files that are not releases.
#' @examplesIf rlang::is_installed(c("RSQLite", "openssl"))
#' file <- tempfile(fileext = ".sqlite")
#' ledger <- dp_ledger(epsilon = 1, delta = 1e-6, path = file)
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' fit <- dp_synth(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1), ledger = ledger
#' )
#' verify_ledger(ledger, releases = list(fit))
#' @export
verify_ledger <- function(ledger, releases = list(), receipts = character(),
                          ...) door("verify_ledger", {
  check_no_dots(...)
  check_ledger(ledger)
  if (!is_outside(ledger)) {
    abort(c(
      "Only a ledger kept outside R can be verified.",
      i = "Create one with {.code dp_ledger(path = )} or {.code dp_ledger(con = )}."
    ), "argument")
  }
  if (!is.character(receipts)) {
    abort("{.arg receipts} must be hashes of charges, as text.", "argument")
  }
  records <- lapply(listed_releases(releases), record_of_release)
  rows <- in_ledger(ledger, function(con) ledger_rows(con, ledger), writes = FALSE)
  raw <- in_ledger(ledger, function(con) raw_ledger_rows(con, ledger), writes = FALSE)
  broken <- broken_rows(raw)
  state <- vapply(records, charge_state, "", rows = rows)
  hashes <- c(
    vapply(records[state == "missing"], function(one) one$charge$hash, ""),
    vapply(records[state == "undrawn"], function(one) one$charge$drawn, "")
  )
  missing <- unique(c(setdiff(receipts, rows$hash), hashes))
  other <- unname(which(state == "other"))
  unpaid <- unname(which(state == "unpaid"))
  twice <- paid_twice(records, state, rows)
  told <- length(receipts) + sum(state %in% c("paid", "missing", "undrawn"))
  structure(list(
    whole = !length(broken) && !length(missing) && !length(other) && !length(unpaid) &&
      !length(twice),
    broken = broken, missing = missing, other = other, unpaid = unpaid, twice = twice,
    charges = sum(is_charge_row(rows)), complete = if (told) !length(missing) else NA
  ), class = "dp_ledger_check")
})

#' Releases as a list, with files read
#' @noRd
listed_releases <- function(releases) {
  if (is.character(releases)) return(lapply(releases, read_release))
  # A single release is also a list, so its class decides.
  if (is.object(releases)) return(list(releases))
  if (!is.list(releases)) {
    abort("{.arg releases} must be a list of releases, or names of their files.", "argument")
  }
  lapply(releases, function(one) if (is.character(one)) read_release(one) else one)
}

#' The privacy record of a release, or of an object that contains one
#' @return The record, with `parts`, which gives the identity, epsilon, delta and rho of each of its
#'   releases.
#' @noRd
record_of_release <- function(x) {
  record <- if (is.list(x) || inherits(x, "dp_stream")) x$privacy %||% x$release$privacy
  if (is.null(record)) {
    abort(c(
      "{.arg releases} must contain releases or results of private calls.",
      x = "One element is {describe(x)}."
    ), "argument")
  }
  record$parts <- lapply(if (inherits(x, "dp_outcomes")) x$outcomes else list(x), function(one) {
    privacy <- one$privacy %||% one$release$privacy
    c(list(key = identity_of(one)), as.list(privacy)[c("epsilon", "delta", "rho")])
  })
  record
}

#' The identity of a release, which its files, its free updates and its later periods share
#' @noRd
identity_of <- function(x) {
  if (inherits(x, "dp_stream")) {
    # The released values of a stream change with time; its plan does not.
    return(x$id %||% rlang::hash(list(x$what, x$columns$text, x$learner, x$plan)))
  }
  release <- if (inherits(x, "dp_release")) x else x$release
  growing <- if (inherits(release, "dp_release")) release$statistics$monitor$id
  if (!is.null(growing)) return(growing)
  # A submodel uses the same released moments as the full model and counts as the same release.
  if (inherits(x, "dp_regression")) {
    return(id_of_parts(list(kind = class(x)[[1L]], values = release)))
  }
  release_id(x) %||% rlang::hash(unclass(x))
}

#' A ledger's record of the charge named in a release
#' @param privacy (`list`)\cr the privacy record of a release.
#' @param rows (`data.frame`)\cr the rows of the ledger, from [ledger_rows()].
#' @return `"paid"`, `"missing"`, `"undrawn"` (a record of a draw is missing), `"other"` (charged to
#'   another ledger), or `"unpaid"`.
#' @noRd
charge_state <- function(privacy, rows) {
  charge <- privacy$charge
  if (!is_charge(charge) || is.null(charge)) return("unpaid")
  if (!identical(charge$first, rows$hash[[1L]])) return("other")
  at <- match(charge$hash, rows$hash)
  if (is.na(at) || rows$number[[at]] != charge$number) return("missing")
  if (!is.null(charge$drawn) && !charge$drawn %in% rows$hash) return("undrawn")
  # One charge may cover several releases, each with a share of the budget.
  if (isTRUE(privacy$epsilon <= rows$epsilon[[at]] * (1 + 1e-9))) "paid" else "unpaid"
}

#' Releases that name the same charge and together cost more than this charge
#' @param records (`list`)\cr from [record_of_release()].
#' @param state (`character`)\cr from [charge_state()].
#' @return The positions of these releases. PUBLIC.
#' @noRd
paid_twice <- function(records, state, rows) {
  paid <- which(state == "paid")
  hashes <- vapply(records[paid], function(one) one$charge$hash, "")
  over <- lapply(split(paid, hashes), function(places) {
    parts <- unlist(lapply(records[places], `[[`, "parts"), recursive = FALSE)
    # A fit and the file of its release count as one release.
    parts <- parts[!duplicated(vapply(parts, `[[`, "", "key"))]
    row <- rows[match(records[[places[[1L]]]]$charge$hash, rows$hash), ]
    if (length(parts) > 1L && !covers_parts(row, parts)) places
  })
  sort(as.integer(unlist(over)))
}

#' Does a charge cover several releases together?
#' @noRd
covers_parts <- function(row, parts) {
  of <- function(name) vapply(parts, function(part) as.double(part[[name]] %||% NA), 0)
  spent <- switch(row$kind,
    gdp = sqrt(sum(mapply(gdp_budget_cpp, of("epsilon"), of("delta"))^2)) / row$mu,
    zcdp = sum(of("rho")) / row$rho,
    approximate = max(sum(of("epsilon")) / row$epsilon, sum(of("delta")) / row$delta),
    sum(of("epsilon")) / row$epsilon
  )
  isTRUE(spent <= 1 + 1e-6)
}

#' @export
print.dp_ledger_check <- function(x, ...) {
  cat("Ledger: ", count_of(x$charges, "charge"), ", ", if (length(x$broken)) {
    paste0("CHANGED: rows that do not follow from the row before them: ", toString(x$broken))
  } else {
    "each row follows from the row before it"
  }, "\n", sep = "")
  cat(if (is.na(x$complete)) {
    paste0("Without receipts or releases that were paid from this ledger, a loss of its last rows ",
      "cannot be detected.\n")
  } else if (x$complete) {
    "The ledger contains all known charges; later charges cannot be checked.\n"
  } else {
    paste0("ROWS ARE MISSING: the ledger does not contain ",
      count_of(length(x$missing), "known charge"), ".\n")
  })
  if (length(x$other)) cat("PAID FROM ANOTHER LEDGER: release ", toString(x$other), "\n", sep = "")
  if (length(x$unpaid)) {
    cat("NOT PAID FROM A LEDGER OUTSIDE R, or not in full: release ", toString(x$unpaid), "\n",
      sep = "")
  }
  if (length(x$twice)) {
    cat("ONE CHARGE COVERS ONLY A PART of the releases that name it: release ",
      toString(x$twice), "\n", sep = "")
  }
  invisible(x)
}
