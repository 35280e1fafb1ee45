# Lines on privacy in prints and summaries, for every verb. A print contains two lines, a summary
# all facts and the steps.

#' The privacy record of a result, with faults that were discovered later
#' @param x (`list`)\cr a release, or a fit with a release or with a privacy record.
#' @noRd
privacy_of <- function(x) {
  if (is.null(x$privacy)) x <- x$release
  facts <- if (inherits(x, "dp_release")) {
    facts_of_panel(x)
  } else if (inherits(x, c("dp_aggregate", "dp_stream_sum"))) {
    facts_of_values
  } else {
    facts_of_rows
  }
  known_privacy(x$privacy, facts)
}

#' Lines on privacy in a print, with budget, neighbours and theorem, and with origin and exactness
#' of the noise and assumptions
#'
#' For results without a valid guarantee the lines contain the full reason.
#' @param whole (`string`)\cr the scope of the budget, such as "for all outcomes together".
#' @return Two strings; more for results that are not private.
#' @noRd
privacy_lines <- function(x, whole = NULL) {
  privacy <- privacy_of(x)
  if (!privacy$private || !privacy$holds) {
    return(unkept_lines(privacy, whole))
  }
  c(
    paste0("  private: ", stated_budget(privacy, whole), ", ", neighbour_words(privacy),
      "; proof: ", sub("\\([^();]*, [0-9]{4}; ", "(", privacy$theorem)),
    paste0("  ", noise_words(privacy), "; ", payment_words(privacy$charge),
      if (!is.null(privacy$assumes)) "; assumed: ", privacy$assumes)
  )
}

#' Lines on privacy in a summary: the whole theorem, the cost of a second run, and the steps
#' @inheritParams privacy_lines
#' @noRd
privacy_summary <- function(x, whole = NULL) {
  privacy <- privacy_of(x)
  if (!privacy$private || !privacy$holds) {
    return(c(unkept_lines(privacy, whole), "", step_lines(x)))
  }
  if (!is.na(privacy$rho %||% NA)) {
    whole <- c(paste0("(rho = ", format(privacy$rho, digits = 4L), ")"), whole)
  }
  c(
    paste0("  private: ", stated_budget(privacy, whole), ", ", neighbour_words(privacy)),
    strwrap(paste0("proof: ", privacy$theorem), 84L, prefix = "    "),
    paste0("    ", noise_words(privacy)),
    if (!is.null(privacy$assumes)) {
      strwrap(paste("assumed:", privacy$assumes), 84L, prefix = "    ")
    },
    paste0("    ", spends_again(privacy$charge)),
    id_lines(x, privacy$charge), "", step_lines(x)
  )
}

#' The cost of running the call again
#' @noRd
spends_again <- function(charge) {
  paste0(
    "Running this call again spends the budget again. Save the result",
    if (is.null(charge)) ", or track spending with dp_ledger()", "."
  )
}

#' Words on the charge of a release in a ledger outside R
#' @noRd
payment_words <- function(charge) {
  if (is.null(charge)) return("running the call again spends the budget again")
  paste0("paid by charge ", charge$number, " of ledger ", charge$ledger)
}

#' The id of a release, and its charge with the facts that are needed to find the charge
#' @noRd
id_lines <- function(x, charge) {
  id <- release_id(x)
  c(
    if (!is.null(id)) paste0("    id ", id),
    if (!is.null(charge)) {
      c(
        paste0("    ", payment_words(charge), ", ", charge$time,
          if (nzchar(charge$data)) paste0(", data ", charge$data),
          if (nzchar(charge$study)) paste0(", study ", charge$study)),
        paste0("    ledger's hash after this charge: ", charge$hash)
      )
    }
  )
}

#' Print lines, with the lines on privacy below
#' @noRd
print_lines <- function(x, lines, privacy = privacy_lines(x)) {
  say_lines(x, lines, "", privacy)
}

#' A summary of an object without a table, from the lines of its print and all lines on privacy
#' @noRd
new_summary <- function(x, lines, ...) {
  check_no_dots(...)
  structure(list(lines = lines, privacy = privacy_summary(x)), class = "summary.dp_lines")
}

#' @export
print.summary.dp_lines <- function(x, ...) print_lines(x, x$lines, x$privacy)

stated_budget <- function(privacy, whole = NULL) {
  # For a method that needs no delta, the promised delta is 0.
  delta <- if (privacy$delta > 0) paste0(", delta = ", format(privacy$delta))
  paste(c(paste0("epsilon = ", format(privacy$epsilon), delta), whole), collapse = " ")
}

#' Words on the pairs of data sets that the guarantee covers
#' @noRd
neighbour_words <- function(privacy) {
  paste("neighbouring data sets arise by", sub("^replace ", "replacing ", privacy$neighbours))
}

#' The origin of the noise, and its exactness
#' @noRd
noise_words <- function(privacy) {
  continuous <- any(privacy$steps$law == "gamma_norm")
  paste0("noise from the operating system, ", if (privacy$exact && continuous) {
    "exact samplers; exact integer noise also covers all rounding errors"
  } else if (privacy$exact) {
    "exact integer samplers"
  } else if (isTRUE(privacy$integers)) {
    "exact integer samplers, applied to a solver's result"
  } else {
    paste(
      "in floating point and not exact: the theorem is for real numbers, and rounding to a grid is",
      "a precaution without a proof"
    )
  })
}

#' Sentence on results without a valid guarantee, with the reason
#' @noRd
unkept_lines <- function(privacy, whole = NULL) {
  if (!privacy$private) {
    return(paste("  NOT PRIVATE:", privacy$reason))
  }
  c(
    paste0("  ", unkept_words(privacy, stated_budget(privacy, whole)), ","),
    strwrap(paste0("because ", privacy$reason), 84L, prefix = "    ")
  )
}

#' A budget for which the guarantee is not valid or may not be valid
#' @noRd
unkept_words <- function(privacy, budget) {
  if (isTRUE(privacy$doubt)) {
    paste("NOT KNOWN TO BE PRIVATE: it is unknown whether the nominal", budget, "holds")
  } else {
    paste("NOT PRIVATE: the nominal", budget, "does not hold")
  }
}

#' Number of remaining announced periods, and the duties of the person who draws them
#' @noRd
growing_line <- function(release) {
  if (!is_growing(release)) {
    return(NULL)
  }
  announced <- release$statistics$monitor$announced
  c(
    paste0(
      "  ", count_of(announced, "further period"), " paid for, ", periods_left(release),
      " left: update(fit, newdata) spends nothing more"
    ),
    if (!release$statistics$monitor$paid) {
      "  without a ledger, other sessions have no record of the draws: update the newest fit only"
    }
  )
}

#' The noise steps of a release or a fit, as a table
#' @noRd
step_lines <- function(x) {
  if (is.null(x$privacy)) x <- x$release
  steps <- x$privacy$steps %||% x$steps
  # The steps of all announced periods are the same and are printed once.
  if (is_growing(x)) {
    count <- x$statistics$monitor$announced
    last <- nrow(steps) - 2L * count + 1:2
    steps$step[last] <- paste0(steps$step[last], ", ", count, " times")
    steps <- steps[seq_len(last[[2L]]), ]
  }
  if (is.null(steps) || !nrow(steps)) {
    return(character())
  }
  name <- if (is.null(steps$outcome)) steps$step else paste0(steps$outcome, ": ", steps$step)
  paste0(
    "  ", formatC(name, width = -max(nchar(name))), "  ",
    formatC(law_words(steps$law), width = -max(nchar(law_words(steps$law)))), "  ",
    step_costs(steps)
  )
}

#' Names of distributions of noise in prints
#' @noRd
law_words <- function(law) gsub("_", " ", sub("gamma_norm", "gamma-distributed norm", law))

step_costs <- function(steps) {
  cost <- rep("", nrow(steps))
  for (unit in c("epsilon", "rho", "mu")) {
    given <- !is.na(steps[[unit]] %||% rep(NA_real_, nrow(steps)))
    cost[given] <- paste(unit, "=", format(steps[[unit]][given], digits = 3L))
  }
  cost
}

#' Public facts on treated units, which are protected only in a release for everyone
#' @noRd
public_of_treated <- function(privacy) {
  if (identical(privacy$neighbours, neighbours_of(TRUE))) {
    "the list of treated people with their treatment dates"
  } else if (startsWith(privacy$neighbours %||% "", "replace one donor's row")) {
    "the treated units' data"
  }
}
