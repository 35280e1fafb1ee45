# A method's requirements on people's rows, in increasing order: sums, computed at the source;
# blocks of rows, one after the other, in any number of passes; all rows at once. These requirements
# alone decide, in this file, whether a source is refused.
row_needs <- c("sums", "blocks", "rows")

#' The access to people's rows that a source offers
#' @param x (PRIVATE)\cr the user's argument, or a panel's donors.
#' @return One of `row_needs`, which includes all weaker forms of access. PUBLIC.
#' @noRd
source_gives <- function(x) {
  if (inherits(x, c("dp_elsewhere", "dp_sources"))) {
    each <- match(vapply(x$parts, source_gives, ""), row_needs)
    # Several parts are read one after the other, so they are blocks at best.
    return(row_needs[[min(each, 2L)]])
  }
  if (inherits(x, c("dp_asked", "dp_joined"))) {
    return("sums")
  }
  if (inherits(x, "dp_source")) {
    return(if (identical(x$compute, "here")) "blocks" else "sums")
  }
  if (inherits(x, "dp_chunks")) "blocks" else "rows"
}

#' Refuse, before any charge, a source without the needed access
#' @param needs (`string`)\cr the needs in a method's record.
#' @param who (`string`)\cr the function with this need, marked up.
#' @section Errors: of class `dpsc_error_<class>`.
#' @noRd
refuse_source <- function(x, needs, who, class = "argument") {
  gives <- source_gives(x)
  if (match(gives, row_needs) >= match(needs, row_needs)) {
    return(invisible())
  }
  needed <- c(blocks = "the rows themselves", rows = "all rows at once, in memory")[[needs]]
  given <- c(
    sums = "The rows stay at their source, which returns only sums.",
    blocks = "The rows arrive in blocks, one after the other."
  )[[gives]]
  mend <- c(
    blocks = paste(
      "Set {.code compute = \"here\"}: rows of a database or a file then stream to this process.",
      "Rows of workers cannot be read here."
    ),
    rows = "Give a data frame or a matrix; see {.code ?dp_sources} for the sources of each method."
  )[[needs]]
  abort(c(paste0(who, " needs ", needed, "."), x = given, i = mend), class)
}

#' Refuse a source that a method cannot use. Without privacy a method needs rows, and not sums over
#' rows; rows in memory are always sufficient.
#' @param private (`flag`)\cr is epsilon finite?
#' @noRd
refuse_needed <- function(x, needs, method, private) {
  refuse_source(x, needs, paste0("{.code method = \"", method, "\"}"))
  if (!private) refuse_source(x, "blocks", "{.code epsilon = Inf}")
}

#' Refuse, for any method, sources in which a person's rows may be in several places
#' @noRd
refuse_split_people <- function(x) {
  if (inherits(x, c("dp_sources", "dp_workers"))) {
    abort(c(
      "With {.arg person} all rows must be in one place.",
      x = "A person's rows may be spread over several sources, none of which can combine them.",
      i = "Give one table, one set of files, chunks or a data frame; see {.code ?dp_sources}."
    ), "argument")
  }
}

#' Are these people's rows outside R, neither in memory nor in chunks?
#' @noRd
is_elsewhere <- function(x) inherits(x, "dp_source")

#' Are these people's rows?
#' @noRd
holds_rows <- function(x) {
  is.data.frame(x) || is.matrix(x) || inherits(x, c("dp_chunks", "dp_source"))
}
