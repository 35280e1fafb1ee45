# The paragraphs of a data protection impact assessment on one release, from the public facts of its
# privacy record. They claim no certification.

#' @return `TRUE` if these further arguments of report() request an assessment.
#' @noRd
asks_assessment <- function(given) {
  identical(given[["format"]], "assessment") || identical(unname(given), list("assessment"))
}

#' @param x (`list`)\cr the value of a private call.
#' @noRd
assessment_report <- function(x) door("report", {
  stream <- inherits(x, "dp_stream")
  if (!(is.list(x) || stream) || is.null(x$privacy %||% x$release$privacy)) stop_no_report(x)
  privacy <- privacy_of(x)
  marked_report(list(
    processing = processing_words(x, privacy), guarantee = guarantee_of_rows(privacy),
    questions = if (privacy$holds) questions_words(privacy), limits = limits_words(privacy),
    budget = spending_words(privacy)
  ), "text")
})

#' @noRd
stop_no_report <- function(x) {
  abort(c(
    "{.fn report} needs a fit or a release.", x = "It is {describe(x)}.",
    i = if (is.list(x) && !is.null(x$privacy)) {
      "For this object, set {.code format = \"assessment\"}."
    }
  ), "argument")
}

processing_words <- function(x, privacy) {
  release <- if (inherits(x, "dp_stream")) list() else x$release
  panel <- if (inherits(x, "dp_release")) x$panel else if (is.list(release)) release$panel
  people <- panel$n %||% (if (is.list(x)) x$nobs)
  id <- release_id(x)
  paste0(
    "Numbers computed from the data of ",
    if (is.null(people)) {
      "people"
    } else if (is.null(panel$treated)) {
      paste(format(people, big.mark = ","), "people")
    } else {
      paste(
        format(people, big.mark = ","), "donors and", format(sum(panel$treated), big.mark = ","),
        "treated people"
      )
    },
    " were released by the R package dpsc ", privacy$version %||% own_version(),
    if (privacy$holds) ", with random noise that was added during the computation",
    ". The ", if (!privacy$holds) "numbers of the ", "released object",
    if (!is.null(id)) paste0(" (id ", id, ")"),
    if (privacy$holds) {
      " contains no record of a person."
    } else {
      " are not, or not known to be, protected."
    }
  )
}

questions_words <- function(privacy) {
  right <- 1 - (1 - privacy$delta) * stats::plogis(-privacy$epsilon)
  paste0(
    "Singling out and linking: the decision that the guarantee describes is correct with ",
    "probability at most ", formatC(100 * right, digits = 1L, format = "f"), " %, for any reader ",
    "with any other data. So a person's record can be neither singled out nor linked with more ",
    "certainty. Inference: conclusions about groups remain possible, also about people who are ",
    "not in the data. They hardly depend on any one record."
  )
}

limits_words <- function(privacy) {
  paste0(
    "Public facts are not protected: ", and_words(c(
      "the number of people", "the names of variables", "bounds", "levels", "settings",
      public_of_treated(privacy)
    )), ". Bounds, levels and settings must not be chosen by looking at the records. ",
    if (privacy$holds) {
      paste0("The guarantee is about one person (", neighbour_words(privacy), "); for k ",
        "people together epsilon is k times as large",
        if (isTRUE(privacy$delta > 0)) ", and delta more than k times as large", ". ")
    },
    "Time and memory of the computation are not protected. Records, logs and ledgers are not ",
    "protected from people who can read them. The package is not certified, and the controller ",
    "decides whether the budget is small enough."
  )
}

spending_words <- function(privacy) {
  charge <- privacy$charge
  paste0(
    "Privacy losses accumulate over all releases from the same people's data. ",
    if (is.null(charge)) {
      "No ledger outside R recorded this release: its cost must be recorded elsewhere."
    } else {
      paste0("This release was ", payment_words(charge), " (", charge$time, "); the ledger's hash ",
        "after this charge is ", charge$hash, ".")
    },
    " A release cannot be recalled: people who withdraw later remain in it."
  )
}
