# Known faults of published versions. Files of these versions must not be read as if their guarantee
# were valid.

#' The current version of the package
#' @noRd
own_version <- function() unname(getNamespaceVersion("dpsc"))

#' A fault that no file shows, so that it is possible in every release of rows with names
#' @param what (`string`)\cr the missing fact.
#' @param panels (`flag`)\cr whether only releases of panels can have the fault.
#' @noRd
hidden_fault <- function(fault, what, panels = FALSE) {
  list(
    fault = fault, until = "0.2.0", shows = paste("nothing: a file does not record", what),
    found = function(facts) {
      if (isFALSE(facts$long) || (panels && !nzchar(facts$method))) FALSE else NA
    }
  )
}

#' Faults of earlier versions, one record per fault
#'
#' Fields of a record: `fault`, words that follow "because"; `until`, the last version with the
#' fault; `shows`, the traces of the fault in a file; `found`, a function from facts to `TRUE`,
#' `FALSE`, or `NA` if unknown. The PUBLIC facts are `method`; `n`, the size of the largest group;
#' `calibrated`, whether intervals are calibrated; `named`, whether identifiers were declared
#' public; `waves`, whether protected people adopted at several dates; `long`, whether rows came
#' from a data frame, a table or files by a formula (`NA`: unknown).
#' @noRd
advisories <- function() {
  list(
    positions = list(
      fault = paste(
        "with more than 10,000 people, the people who calibrated the intervals were chosen by the",
        "order of identifiers, so that a new identifier for one person could change the choice of",
        "others"
      ),
      until = "0.2.0", shows = "method, number of people and steps",
      found = function(facts) {
        facts$method == "gram" && facts$n > 10000 && facts$calibrated && facts$long
      }
    ),
    places = list(
      fault = paste(
        "weights were in the order of people's identifiers, so that a new identifier for one",
        "person moved the weights of other people"
      ),
      until = "0.2.0", shows = "method, and names that were declared public",
      found = function(facts) {
        facts$method %in% c("output", "objective") && !facts$named && facts$long
      }
    ),
    waves = list(
      fault = paste(
        "a fit kept the adoption dates of several waves of protected people in the order of their",
        "identifiers"
      ),
      until = "0.2.0", shows = "protected people, and several adoption dates",
      found = function(facts) facts$waves && facts$long
    ),
    cells = hidden_fault(
      "dp_files() determined the types of a CSV file's columns from people's cells",
      "the source of its rows"
    ),
    classes = hidden_fault(
      paste(
        "in formulas one person's cell could change everybody's values if a column was an",
        "ordered factor, was of type integer, or had a class with its own methods"
      ),
      "the classes of columns"
    ),
    blocks = hidden_fault(
      paste(
        "in chunks, streams, SQLite tables and CSV files one person's cell could change other",
        "people's values if a formula or subset used a column without bounds of its own"
      ),
      "the source of its rows"
    ),
    index = hidden_fault(
      paste(
        "the units and periods of a plm::pdata.frame could come from an attribute whose rows were",
        "not the rows of the data"
      ),
      "the class of the data", panels = TRUE
    ),
    engines = hidden_fault(
      paste(
        "in a database whose columns do not compare text by bytes, or whose table changed during",
        "the release, one person's rows could count as those of several units"
      ),
      "the source of its rows", panels = TRUE
    ),
    drivers = hidden_fault(
      paste(
        "in a database whose connection reads 64-bit numbers as R's integers, sums of more than",
        "31 bits counted as zero, so that the noise was too small"
      ),
      "the source of its rows"
    )
  )
}

#' Facts on a release of people's rows with a formula
#' @noRd
facts_of_rows <- list(
  method = "", n = 0, calibrated = FALSE, named = FALSE, waves = FALSE, long = TRUE
)

#' Facts on a release of data without a formula, a table or a file
#' @noRd
facts_of_values <- utils::modifyList(facts_of_rows, list(long = FALSE))

#' Facts on a release of a panel
#'
#' The outcome of a matrix has no name and is called "outcome"; a formula's outcome can also have
#' this name.
#' @noRd
facts_of_panel <- function(release) {
  panel <- release$panel
  list(
    method = release$method, n = max(panel$n, panel$treated), named = !is.null(panel$donor_names),
    calibrated = any(grepl("placebo", release$privacy$steps$step)),
    waves = !is.null(panel$treated) && length(release$statistics$cohorts$T0) > 1L,
    long = if (identical(panel$outcome, "outcome")) NA else TRUE
  )
}

#' A privacy record with the faults that were discovered after it was written
#' @param privacy (`list`)\cr the privacy record of a release or a fit; without a `version` it is
#'   from 0.2.0 or older.
#' @param facts (`list`)\cr see `advisories()`.
#' @return The record. If a fault is found, or cannot be excluded (`doubt`), the record states that
#'   the guarantee is not valid, with a `reason`.
#' @noRd
known_privacy <- function(privacy, facts = facts_of_rows) {
  if (!privacy$private || !privacy$holds || isTRUE(privacy$looked)) {
    return(privacy)
  }
  open <- Filter(function(one) at_most_version(privacy$version, one$until), advisories())
  if (!length(open)) {
    return(privacy)
  }
  found <- vapply(open, function(one) one$found(facts), NA)
  faults <- function(which) vapply(open[which], `[[`, "", "fault")
  privacy$looked <- TRUE
  if (any(found, na.rm = TRUE)) {
    privacy$holds <- FALSE
    privacy$reason <- paste("versions up to 0.2.0 had a fault:", paste(faults(which(found)),
      collapse = "; "))
  } else if (anyNA(found)) {
    privacy$holds <- FALSE
    privacy$doubt <- TRUE
    privacy$reason <- paste0(
      "it was made by version ", privacy$version %||% "0.2.0 or older", ", and its contents do ",
      "not show whether it has one of that version's faults: ",
      paste(faults(which(is.na(found))), collapse = "; "),
      ". If it has none of these faults, the guarantee holds"
    )
  }
  privacy
}

#' Is a version at most this version? A missing version counts as the oldest.
#' @noRd
at_most_version <- function(version, last) {
  plain <- is_string(version) && grepl("^[0-9]+([.-][0-9]+)*$", version)
  !plain || utils::compareVersion(version, last) <= 0
}

#' A release or a fit with a known privacy record
#' @noRd
known_release <- function(x) {
  facts <- if (inherits(x, "dp_release")) facts_of_panel(x) else facts_of_rows
  x$privacy <- known_privacy(x$privacy, facts)
  x
}
