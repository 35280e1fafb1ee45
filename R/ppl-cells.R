# From a cell to a number or a level, by one rule for every verb and source. The value of a cell
# depends on the cell, on the public class of its column and on public bounds. No cell causes an
# error. R/ppl-cells-blocks.R contains the rule for blocks, whose columns have no fixed class.
#
# Numbers stay unchanged; TRUE and FALSE are 1 and 0; `text_numbers()` reads text. An unreadable
# cell is missing. With bounds, a number beyond them, infinite or not, becomes the nearest bound.
# R/ppl-source-cells.R contains the same rule in SQL, and rows/csv.hpp reads CSV.

#' Content of a column, by its class alone
#' @return `"number"`, `"flag"`, `"text"`, `"factor"`, `"date"` or `"other"`.
#' @noRd
cell_kind <- function(x) {
  type <- typeof(x)
  if (length(attr(x, "dim")) > 0L) {
    "other"
  } else if (type == "integer" && inherits(x, "factor")) {
    "factor"
  } else if (type %in% c("integer", "double") && inherits(x, c("Date", "POSIXct"))) {
    "date"
  } else if (inherits(x, c("POSIXlt", "difftime"))) {
    # The unit of a time difference may depend on all values of the column.
    "other"
  } else {
    switch(type, integer = , double = "number", logical = "flag", character = "text", "other")
  }
}

#' Cells as doubles with no class and no attributes: no method of a class is called
#' @param x (`vector`)\cr a column of any kind but `"other"`. PRIVATE.
#' @return `double`, with `NA` or `NaN` for cells without a number.
#' @noRd
cell_numbers <- function(x) {
  if (is.double(x) && is.null(attributes(x))) {
    return(x)
  }
  kind <- cell_kind(x)
  if (kind == "factor") {
    return(text_numbers(attr(x, "levels"))[factor_codes(x)])
  }
  large <- inherits(x, "integer64")
  attributes(x) <- NULL
  if (kind == "text") text_numbers(x) else if (large) whole_64(x) else as.double(x)
}

without_attributes <- function(x) {
  attributes(x) <- NULL
  x
}

factor_codes <- function(x) {
  x <- as.integer(without_attributes(x))
  # In a damaged factor, codes of 0 and below would shift other rows.
  x[x < 1L] <- NA
  x
}

#' Cells as text without a class: the digits of a number, and missing text if no encoding makes it
#' readable
#' @noRd
cell_text <- function(x) {
  switch(cell_kind(x),
    factor = readable(as.character(attr(x, "levels")))[factor_codes(x)],
    text = {
      attributes(x) <- NULL
      readable(x)
    },
    date = digits_of(x, inherits(x, "Date")),
    flag = c("FALSE", "TRUE")[cell_numbers(x) + 1],
    digits_of(x, FALSE)
  )
}

digits_of <- function(x, days) {
  x <- cell_numbers(x)
  if (days) {
    return(format(structure(x, class = "Date"), "%Y-%m-%d"))
  }
  out <- as.character(x)
  out[is.na(x)] <- NA
  whole <- which(x == floor(x) & abs(x) < 1e15)
  out[whole] <- sprintf("%.0f", x[whole])
  out
}

#' Numbers as text, different for different numbers
#' @noRd
exact_text <- function(x) {
  # Adding 0 removes the sign of zero.
  x <- x + 0
  out <- sprintf("%.17g", x)
  whole <- which(is.finite(x) & x == floor(x))
  out[whole] <- sprintf("%.0f", x[whole])
  out[is.na(x)] <- NA
  out
}

is_text <- function(x) typeof(x) == "character"

#' Strings by their bytes; if one side is a number, the other is converted
#' @noRd
same_cells <- function(x, y) {
  if (is_text(x) && is_text(y)) readable(x) == readable(y) else cell_numbers(x) == cell_numbers(y)
}

#' Text as numbers: decimal digits with a point and an exponent, "Inf", or a word for a flag
#'
#' Surrounding blanks are ignored. "1,5", "0x10", "NA", "" and all other text are missing. A number
#' too large for a double is infinite, and a number too small for a double is zero.
#' @param x (`character`).
#' @noRd
text_numbers <- function(x) {
  x <- readable(x)
  out <- rep(NA_real_, length(x))
  has <- function(pattern, x) {
    grepl(paste0("^[ \t]*+(?:", pattern, ")[ \t]*+\\z"), x, perl = TRUE, useBytes = TRUE)
  }
  digits <- which(has("[+-]?+(?:[0-9]++(?:[.][0-9]*+)?+|[.][0-9]++)(?:[eE][+-]?+[0-9]++)?+", x))
  out[digits] <- as.numeric(x[digits])
  left <- setdiff(which(!is.na(x)), digits)
  for (k in seq_along(number_words)) {
    out[left[has(names(number_words)[[k]], x[left])]] <- number_words[[k]]
  }
  out
}

number_words <- c(
  "[+]?(?i:inf|infinity)" = Inf, "-(?i:inf|infinity)" = -Inf, "TRUE|True|true|T" = 1,
  "FALSE|False|false|F" = 0
)

#' The low and the high 32 bits of 64-bit integers, which R stores as the bits of doubles
#' @noRd
words_64 <- function(x) {
  words <- readBin(writeBin(as.double(without_attributes(x)), raw(), endian = "little"), "integer",
    2L * length(x), size = 4L, endian = "little")
  words <- matrix(as.double(words), 2L)
  # R reads the smallest 32-bit integer as missing, so it is restored.
  words[is.na(words)] <- -2^31
  words
}

#' 64-bit integers as numbers
#' @noRd
whole_64 <- function(x) {
  words <- words_64(x)
  out <- words[2L, ] * 2^32 + words[1L, ] %% 2^32
  out[out == -2^63] <- NA
  out
}

#' 64-bit integers as exact decimal digits
#' @noRd
text_64 <- function(x) {
  words <- words_64(x)
  low <- words[1L, ] %% 2^32
  high <- words[2L, ]
  negative <- high < 0
  high[negative] <- -high[negative] - (low[negative] > 0)
  low[negative] <- (2^32 - low[negative]) %% 2^32
  # The number 2^32 is 4294 million and 967,296.
  units <- high * 967296 + low %% 1e6
  millions <- high * 4294 + low %/% 1e6 + units %/% 1e6
  few <- millions == 0
  out <- sprintf("%.0f%06.0f", millions, units %% 1e6)
  out[few] <- sprintf("%.0f", units[few])
  out <- paste0(ifelse(negative, "-", ""), out)
  out[words[2L, ] == -2^31 & words[1L, ] == 0] <- NA
  out
}

#' Strings in UTF-8, with missing values in place of strings that no encoding makes readable
#'
#' R fails when it compares or converts such a string, or turns a string of another encoding into a
#' number: the error would reveal that a person has such a cell, and in some messages its value.
#' @param x (`any`). PRIVATE.
#' @noRd
readable <- function(x) {
  if (is.character(x)) {
    x[!validEnc(x) | Encoding(x) == "bytes"] <- NA_character_
    x <- enc2utf8(x)
  }
  x
}

#' Numbers clipped to their bounds
#' @noRd
within_bounds <- function(x, lower, upper) pmax(pmin(x, upper), lower)

#' A column for use in code, as doubles or text; `NULL` for an unknown class
#'
#' A matrix with one column counts as a column.
#' @noRd
plain_column <- function(x) {
  if (length(dim <- attr(x, "dim")) == 2L && dim[[2L]] == 1L) attr(x, "dim") <- NULL
  switch(cell_kind(x),
    text = , factor = cell_text(x), number = , flag = , date = cell_numbers(x)
  )
}

#' The attributes of a vector of periods that are retained
#'
#' A class is retained if it is known to need only these attributes. Any other attribute of a column
#' (labels, the index that plm attaches to every series) could contain donors' names.
#' @noRd
known_attributes <- function(x) {
  class <- intersect(
    class(x), c("IDate", "Date", "POSIXct", "POSIXt", "difftime", "yearmon", "yearqtr")
  )
  if (length(class) > 0L) {
    kept <- list(class = class, tzone = attr(x, "tzone"), units = attr(x, "units"))
    kept[!vapply(kept, is.null, NA)]
  }
}

#' Turn an index column into codes 1, 2, ... of its sorted values
#'
#' [factor()] would sort a million strings; this function sorts only the distinct strings.
#' @param x (`vector`)\cr an index column. PRIVATE if it contains units.
#' @param name (`string`)\cr the name of the column.
#' @return A list with `code` (`integer`, one per row), `values` (the sorted distinct values, of the
#'   type of `x`, without attributes except a known class; for a factor its labels), `name` and
#'   `alphabetical` (`flag`: whether `x` contains strings and is not a factor).
#' @section Errors: `dpsc_error_panel` for a column of another type or with missing values.
#' @noRd
code_index <- function(x, name) {
  is_factor <- cell_kind(x) == "factor"
  ok <- is_factor || (is.null(attr(x, "dim")) && (is.character(x) || is_plain_number(x)))
  if (!ok) {
    abort(c(
      "The index columns must be numbers, dates, date-times, strings or factors.",
      x = "{.code {name}} is an object of class {class(x)[[1L]]}.",
      i = if (inherits(x, "integer64")) {
        "Convert it: units with {.code as.character()}, periods with {.code as.numeric()}."
      } else {
        "Convert it, for instance with {.code as.character()} or {.code as.POSIXct()}."
      }
    ), "panel")
  }
  if (is_factor) {
    code <- factor_codes(x)
    values <- as.character(attr(x, "levels"))
    used <- which(tabulate(code, length(values)) > 0L)
    values <- values[used]
    # In a damaged factor, some codes exceed the number of levels.
    code <- match(code, used)
    missing <- anyNA(code) || anyNA(values)
  } else {
    plain <- readable(without_attributes(x))
    values <- unique(plain)
    values <- values[order(values, method = "radix")]
    code <- match(plain, values)
    missing <- anyNA(values) || (is.double(values) && any(is.infinite(values)))
    attributes(values) <- known_attributes(x)
  }
  if (missing) {
    abort(c(
      "Every row must have a unit and a period.",
      x = "{.code {name}} is missing or infinite in some row.",
      i = "Complete the column before the call: each row must belong to one unit and one period."
    ), "panel")
  }
  list(code = code, values = values, name = name, alphabetical = is.character(x))
}

#' Type of cells by the public class of a column
#' @noRd
type_of_cells <- function(x) {
  switch(cell_kind(x),
    flag = "logical", date = "date", number = if (is.object(x)) "other" else "number", "other"
  )
}

#' Is the number stored as an ordinary R number, unlike a 64-bit integer of bit64?
#' @noRd
is_plain_number <- function(x) {
  typeof(x) %in% c("integer", "double") && !inherits(x, "integer64")
}

#' Does every column of a data frame have a value for each row? A shorter column would be recycled,
#' so that one person's values would be in other people's rows.
#' @noRd
check_whole_columns <- function(data, class) {
  rows <- .row_names_info(data, 2L)
  sizes <- vapply(seq_along(data), function(j) {
    x <- .subset2(data, j)
    if (inherits(x, "POSIXlt")) {
      return(length(unclass(x)$sec))
    }
    if (is.data.frame(x)) .row_names_info(x, 2L) else (attr(x, "dim") %||% length(unclass(x)))[[1L]]
  }, 0L)
  damaged <- names(data)[sizes != rows]
  if (length(damaged)) {
    abort(c(
      "The data frame is damaged: every column must have a value for each row.",
      x = "{.code {damaged}} {?has/have} a different number of values.",
      i = "Create it again, for instance by {.code data.frame()} from its columns."
    ), class)
  }
}

#' Refuse levels that no value of a column's class can take
#' @param levels (`character`)\cr public levels.
#' @param type (`string`)\cr `"number"`, `"logical"`, `"date"` or anything else; PUBLIC.
#' @section Errors: `dpsc_error_bounds`, from the class alone.
#' @noRd
check_levels_fit <- function(levels, type, name) {
  known <- switch(type,
    logical = levels %in% c("FALSE", "TRUE"),
    number = levels %in% c("FALSE", "TRUE") | is_number_text(levels),
    date = grepl("^[-+]?[0-9]", levels),
    TRUE
  )
  if (!all(known)) {
    abort(c(
      "The levels of {.code {name}} in {.arg bounds} do not match its column.",
      x = "The column contains {type}s, and {.val {levels[!known]}} {?is/are} not of this type.",
      i = if (type == "logical") {
        "Give {.code {name} = c(FALSE, TRUE)}."
      } else if (type == "date") {
        "Use a column of numbers, such as days since a public date, or of text."
      } else {
        "Give its range, {.code c(lower, upper)}, or its codes as numbers."
      }
    ), "bounds")
  }
}

is_number_text <- function(text) {
  value <- suppressWarnings(as.double(text))
  !is.na(value) & (as.character(value) == text | sprintf("%.0f", value) == text)
}
