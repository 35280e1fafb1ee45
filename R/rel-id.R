# The parts of a release that are written to a file, the checksums of its fields, and its id.

# The classes with a file format.
file_kinds <- c(
  "dp_release", "dp_lm", "dp_glm", "dp_paper", "dp_selection", "dp_aggregate",
  "dp_description"
)

#' The id of a release: a hash of its numbers and public facts
#'
#' Equal releases have equal ids. The hash excludes the time, the version, the ledger's charge, and
#' words that a later version may change.
#' @return A string, or `NULL` if `x` has no file format. PUBLIC.
#' @noRd
release_id <- function(x) {
  if (inherits(x, "dp_synth") || inherits(x, "dp_cohorts")) x <- x$release
  if (length(intersect(class(x), file_kinds))) id_of_parts(file_parts(x))
}

id_of_parts <- function(parts) {
  beside <- c("version", "charge", "looked", "doubt", sub("privacy[$]", "", file_words))
  parts$privacy[beside] <- NULL
  marks <- field_marks(parts)
  rlang::hash(paste(names(marks), unlist(marks))[order(names(marks), method = "radix")])
}

#' The written part of an object: a list of plain values. PUBLIC and RELEASED.
#' @noRd
file_parts <- function(x) {
  UseMethod("file_parts")
}

#' A checksum for each field, to detect and locate damage and careless edits
#' @return A named list of strings.
#' @noRd
field_marks <- function(parts) {
  lapply(fields_of(parts), function(field) {
    rlang::hash(enc2utf8(paste(unlist(to_json(field)), collapse = "\n")))
  })
}

fields_of <- function(parts) {
  inner <- lapply(names(parts), function(name) {
    part <- parts[[name]]
    if (!is.list(part) || is.data.frame(part) || !length(names(part))) {
      return(stats::setNames(list(part), name))
    }
    stats::setNames(part, paste0(name, "$", names(part)))
  })
  do.call(c, inner)
}

# Fields with the package's wording, which a later version may change.
file_words <- c("privacy$theorem", "privacy$reason")
