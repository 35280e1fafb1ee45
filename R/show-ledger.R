# Prints of ledgers.

#' @rdname dp_ledger
#' @export
format.dp_ledger <- function(x, ...) {
  charges <- ledger_history(x)
  spent <- if (nrow(charges)) total_epsilon(charges, x$delta) else 0
  history <- if (nrow(charges)) {
    paste0("  ", seq_len(nrow(charges)), ". ", charges$label, ": ", charge_words(charges))
  } else {
    "  nothing spent yet"
  }
  c(
    paste0("Privacy ledger (neighbouring data sets arise by replacing one person; delta = ",
      format(x$delta), ")"),
    paste0("  epsilon ", format_epsilon(spent), " spent of ", format_epsilon(x$epsilon),
      "; about ", format_epsilon(remaining_epsilon(x, NULL, charges)), " left"),
    history
  )
}

#' Cost of each charge of a history, in the unit of the charge
#' @noRd
charge_words <- function(history) {
  history <- complete_history(history)
  words <- paste0("epsilon = ", format_epsilon(history$epsilon))
  own <- history$kind == "approximate"
  words[own] <- paste0(words[own], ", delta = ", format(history$delta[own]))
  zcdp <- history$kind == "zcdp"
  words[zcdp] <- paste0("rho = ", format_epsilon(history$rho[zcdp]))
  gdp <- history$kind == "gdp"
  words[gdp] <- paste0("mu = ", format_epsilon(history$mu[gdp]))
  words
}

#' @rdname dp_ledger
#' @export
print.dp_ledger <- function(x, ...) say_lines(x, format(x), where_ledger_lives(x))

where_ledger_lives <- function(ledger) {
  if (!is_outside(ledger)) {
    return("The ledger is in this R session, and in files that you save by saveRDS().")
  }
  paste0("The ledger is in ", if (!is.null(ledger$path)) {
    paste0("the file ", ledger$path)
  } else {
    paste0("the table ", ledger$table, " of a database")
  }, "; charges are written there before noise is drawn.")
}

#' @rdname dp_ledger
#' @param object (`dp_ledger`)\cr a ledger.
#' @export
summary.dp_ledger <- function(object, ...) door("summary", {
  check_no_dots(...)
  charges <- ledger_history(object)
  structure(list(
    epsilon = object$epsilon, delta = object$delta,
    spent = if (nrow(charges)) total_epsilon(charges, object$delta) else 0,
    left = remaining_epsilon(object, NULL, charges), charges = charges,
    text = c(format.dp_ledger(object), where_ledger_lives(object))
  ), class = "summary.dp_ledger")
})

#' @export
print.summary.dp_ledger <- function(x, ...) say_lines(x, x$text)

#' @rdname dp_ledger
#' @export
as.data.frame.dp_ledger <- function(x, ...) ledger_history(x)

#' @rdname dp_ledger
#' @export
plot.dp_ledger <- function(x, ...) door("plot", {
  abort(c(
    "A ledger cannot be plotted.",
    i = "For a table of charges, use {.code as.data.frame(ledger)}."
  ), "argument")
})
