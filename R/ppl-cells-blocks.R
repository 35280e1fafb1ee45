# The one rule for cells of blocks: chunks, batches of streams, and data frames of sources. A reader
# may guess the class of a block's column from all of its cells, so the class is no public fact.
# Therefore `block_cells()` reads every cell by a rule that gives the same value in every class, and
# the value of an expression for a person depends on the cells of this person alone. `bounds` then
# clips numbers and chooses levels.

#' Cells of a block's column, by a rule that does not depend on the class of the column
#'
#' A cell is a number, text or missing. Blank text, `"NA"` and numbers that are not real (`NaN`,
#' complex numbers) are missing. A flag is 1 or 0. Text is a number in every spelling that R reads
#' (`"1.0"`, `"01"`, `"0x1"`, `"T"`). A date or a time, as a class or in the ISO format, is its
#' number of days since 1970-01-01 in UTC, and a time of day is a share of a day. All other text
#' remains text.
#' @param x (`vector`)\cr a column or a constant. PRIVATE.
#' @return `dpsc_cells`: `number` (`double`, `NA` or `NaN` without a number) and `text`
#'   (`character`, `NA` without text; `NULL` if no cell is text). `NULL` for a class whose values
#'   are not cells.
#' @noRd
block_cells <- function(x) {
  if (inherits(x, "dpsc_cells")) {
    return(x)
  }
  if (length(dim <- attr(x, "dim")) == 2L && dim[[2L]] == 1L) attr(x, "dim") <- NULL
  text <- NULL
  if (is.complex(x) && is.null(attr(x, "dim"))) {
    number <- real_numbers(x)
  } else if (inherits(x, "hms") && typeof(x) %in% c("integer", "double")) {
    number <- as.double(without_attributes(x)) / 86400
  } else if (cell_kind(x) == "other") {
    return(NULL)
  } else if (cell_kind(x) %in% c("text", "factor")) {
    x <- cell_text(x)
    different <- unique(x)
    known <- cells_of_text(different)
    at <- match(x, different)
    number <- known$number[at]
    if (!all(is.na(known$text))) text <- known$text[at]
  } else {
    number <- cell_numbers(x)
    if (inherits(x, "POSIXct")) number <- number / 86400
  }
  structure(list(number = number, text = text), class = "dpsc_cells")
}

#' Readable text as numbers or text
#' @noRd
cells_of_text <- function(x) {
  number <- text_numbers(x)
  left <- which(is.na(number) & !is.na(x))
  number[left] <- suppressWarnings(as.numeric(x[left]))
  gone <- is.na(x) | is.nan(number) | grepl("^[[:space:]]*(NA)?[[:space:]]*$", x)
  left <- which(is.na(number) & !gone)
  number[left] <- days_of_text(x[left])
  for (i in left[grepl("^[-+0-9.eE[:space:]]*[0-9]i[[:space:]]*$", x[left])]) {
    value <- utils::type.convert(x[[i]], as.is = TRUE)
    if (is.complex(value)) {
      number[[i]] <- real_numbers(value)
      gone[[i]] <- TRUE
    }
  }
  x[gone | !is.na(number)] <- NA
  list(number = number, text = x)
}

real_numbers <- function(x) {
  out <- Re(x)
  out[!Im(x) %in% 0] <- NA
  as.double(out)
}

iso_day <- "([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})"
iso_clock <- "([0-9]{1,2}):([0-9]{2})(:([0-9]{2}([.][0-9]+)?))?"

#' Dates and times in the ISO format as days since 1970-01-01 (UTC); times of a day as shares
#' @noRd
days_of_text <- function(x) {
  zone <- "(Z|([+-])([0-9]{2}):?([0-9]{2})?)?"
  # Without backtracking into the blanks, whose number may be large.
  pattern <- paste0("^[ \t]*+(", iso_day, ")?([T ]?)(", iso_clock, zone, ")?[ \t]*+\\z")
  out <- rep(NA_real_, length(x))
  at <- regexpr(pattern, x, perl = TRUE)
  found <- which(at > 0L)
  if (!length(found)) {
    return(out)
  }
  from <- attr(at, "capture.start")[found, , drop = FALSE]
  size <- attr(at, "capture.length")[found, , drop = FALSE]
  part <- function(k) substr(x[found], from[, k], from[, k] + size[, k] - 1L)
  # A missing part is zero.
  whole <- function(k) {
    value <- part(k)
    value[!nzchar(value)] <- "0"
    as.numeric(value)
  }
  has_day <- nzchar(part(1L))
  has_clock <- nzchar(part(6L))
  split <- nzchar(part(5L))
  days <- rep(0, length(found))
  days[has_day] <- as.double(as.Date(gsub("/", "-", part(1L)[has_day]), format = "%Y-%m-%d"))
  hour <- whole(7L)
  minute <- whole(8L)
  second <- whole(10L)
  sign <- ifelse(part(13L) == "-", -1, 1)
  zoned <- nzchar(part(12L))
  away <- sign * (whole(14L) * 3600 + whole(15L) * 60)
  valid <- (has_day | has_clock) & split == (has_day & has_clock) & (has_day | !zoned) &
    hour < 24 & minute < 60 & second < 61
  value <- (days * 86400 + hour * 3600 + minute * 60 + second - away) / 86400
  value[!valid] <- NA
  out[found] <- value
  out
}

#' Numbers of a block's cells, or of numbers
#' @param dates (`flag`)\cr are dates and times numbers? In a column with a range they are missing.
#' @noRd
block_numbers <- function(x, dates = TRUE) {
  if (is.double(x) && is.null(attributes(x))) {
    return(x)
  }
  out <- block_cells(x)$number
  if (!dates) {
    if (cell_kind(x) == "date" || inherits(x, "hms")) out[] <- NA
    if (cell_kind(x) %in% c("text", "factor")) out[!is.na(days_of_text(cell_text(x)))] <- NA
  }
  out
}

#' A block's cells as text, one text per value
#' @noRd
block_text <- function(x) {
  x <- block_cells(x)
  out <- x$text %||% rep(NA_character_, length(x$number))
  known <- which(!is.na(x$number))
  out[known] <- exact_text(x$number[known])
  out
}

#' Missing cells of a block
#' @noRd
block_missing <- function(x) {
  x <- block_cells(x)
  is.na(x$number) & (if (is.null(x$text)) TRUE else is.na(x$text))
}

#' Are two cells of a block equal?
#' @noRd
block_same <- function(x, y) {
  x <- block_cells(x)
  y <- block_cells(y)
  same <- x$number == y$number
  if (is.null(x$text) && is.null(y$text)) {
    return(same)
  }
  full <- function(cells) {
    list(
      number = rep_len(cells$number, length(same)),
      text = rep_len(cells$text %||% NA_character_, length(same))
    )
  }
  x <- full(x)
  y <- full(y)
  both <- which(!is.na(x$text) & !is.na(y$text))
  same[both] <- x$text[both] == y$text[both]
  same[(!is.na(x$text) & !is.na(y$number)) | (!is.na(x$number) & !is.na(y$text))] <- FALSE
  same
}

#' Cells of one of two columns, or missing
#' @noRd
block_chosen <- function(test, yes, no) {
  test <- as.logical(block_numbers(test))
  yes <- block_cells(yes)
  no <- block_cells(no)
  size <- max(length(test), length(yes$number), length(no$number))
  test <- rep_len(test, size)
  otherwise <- which(!test)
  chosen <- function(yes, no) {
    out <- rep_len(yes, size)
    out[otherwise] <- rep_len(no, size)[otherwise]
    out[is.na(test)] <- NA
    out
  }
  text <- if (!is.null(yes$text) || !is.null(no$text)) {
    chosen(yes$text %||% NA_character_, no$text %||% NA_character_)
  }
  structure(list(number = chosen(yes$number, no$number), text = text), class = "dpsc_cells")
}

#' Cells as a plain vector, in which text takes the place of numbers if some cell is text
#' @noRd
plain_cells <- function(x) {
  if (!inherits(x, "dpsc_cells")) x else if (is.null(x$text)) x$number else block_text(x)
}

#' Position of each cell's value among the public levels, or `NA`
#'
#' Text matches the level with the same bytes. Numbers and flags match the level that can be read as
#' the same number. Text also does if the levels are numbers, or TRUE and FALSE.
#' @param levels (`character`). PUBLIC.
#' @param codes (`flag`)\cr whether the levels were given as numbers.
#' @param blocks (`flag`)\cr whether a reader may have guessed the class of the column, block by
#'   block.
#' @noRd
cell_levels <- function(x, levels, codes = FALSE, blocks = FALSE) {
  if (blocks) {
    return(match(block_text(x), block_text(levels), incomparables = NA))
  }
  text <- cell_kind(x) %in% c("text", "factor", "date")
  if (text && !codes && !setequal(levels, c("FALSE", "TRUE"))) {
    return(match(cell_text(x), levels))
  }
  match(cell_numbers(x), text_numbers(levels), incomparables = NA)
}

#' Refuse levels that a reader may turn into one number, or into missing values
#' @section Errors: `dpsc_error_bounds`, from the levels alone.
#' @noRd
check_spellings <- function(levels, name) {
  gone <- levels[block_missing(levels %||% character())]
  if (length(gone)) {
    abort(c(
      "In blocks and streams, a level must not be a word for a missing value.",
      x = "{.val {gone}} {?is/are} in {.arg bounds} of {.code {name}}.",
      i = "Recode the levels as text such as {.val none}, which no reader takes for a gap."
    ), "bounds")
  }
  twice <- levels[duplicated(block_text(levels %||% character()))]
  if (length(twice)) {
    abort(c(
      "In blocks and streams, two levels must not be spellings of the same number.",
      x = "{.val {twice}} {?is/are} in {.arg bounds} of {.code {name}} in another spelling, too.",
      i = "Recode the levels as text such as {.val a01}, which no reader takes for a number."
    ), "bounds")
  }
}

#' The formula's variables as plain vectors, converted cell by cell by the bounds
#' @noRd
plain_values <- function(columns, data, clip, needed) {
  missing <- setdiff(needed, names(data))
  if (length(missing)) {
    abort("The rows contain no column {.code {missing}}.", "data")
  }
  out <- lapply(stats::setNames(nm = needed), function(name) {
    x <- .subset2(data, name)
    bound <- columns$given[[name]]
    blocks <- isTRUE(columns$blocks)
    check_cell_kind(x, name, !is.null(bound) && is.null(bound$levels), blocks)
    if (is.null(bound)) {
      return(if (blocks) block_cells(x) else plain_column(x))
    }
    if (is.null(bound$levels)) {
      x <- if (blocks) block_numbers(x, dates = FALSE) else cell_numbers(x)
      return(if (clip) within_bounds(x, bound$lower, bound$upper) else x)
    }
    held <- cell_levels(x, bound$levels, isTRUE(bound$codes), blocks)
    if (identical(bound$levels, c("FALSE", "TRUE"))) {
      held == 2L
    } else if (isTRUE(bound$codes)) {
      as.double(bound$levels)[held]
    } else {
      bound$levels[held]
    }
  })
  out
}

#' Refuse a column of a class that contains neither numbers nor text
#' @param ranged (`flag`)\cr whether the column must contain numbers.
#' @param blocks (`flag`)\cr whether the class may depend on cells.
#' @noRd
check_cell_kind <- function(x, name, ranged, blocks = FALSE) {
  kind <- cell_kind(x)
  if (if (blocks) is.null(block_cells(x[0L])) else kind == "other") {
    abort(paste(
      "Column {.code {name}} must be a vector of numbers, logical values, text or dates, or a",
      "factor."
    ), "data")
  }
  if (kind == "date" && ranged && !blocks) {
    abort(c(
      "Column {.code {name}} is not numeric, but {.arg bounds} gives it a range.",
      i = "A date is not a number. Use a column of numbers, such as days since a public date."
    ), "data")
  }
}
