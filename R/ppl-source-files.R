# Files of people's rows: the package's strict reader reads CSV, and duckdb reads Parquet.

#' @rdname dp_table
#' @export
dp_files <- function(files, index = NULL, outcome = NULL, block = 65536, groups = 1,
                     memory = NULL, ...) door("dp_files", {
  check_no_dots(...)
  index <- given_index(index, substitute(index), "argument")
  if (!is.character(files) || !length(files) || anyNA(files)) {
    abort("{.arg files} must be paths of CSV or Parquet files.", "argument")
  }
  need_package("DBI", "dp_files()")
  paths <- unlist(lapply(files, function(x) if (grepl("[*?]", x)) Sys.glob(x) else x))
  absent <- paths[!file.exists(paths)]
  if (length(absent) || !length(paths)) {
    abort(c(
      "{.arg files} must name existing files.",
      x = if (length(absent)) {
        "{.path {absent}} {?does/do} not exist."
      } else {
        "No file matches the pattern."
      }
    ), "argument")
  }
  kind <- unique(tolower(sub("[.]gz$", "", paths)))
  kind <- unique(sub(".*[.]", "", kind))
  if (length(kind) != 1L || !kind %in% c("csv", "parquet")) {
    abort(c(
      "The files must all be CSV or all be Parquet.", x = "The names end in {.val {kind}}."
    ), "argument")
  }
  if (kind == "parquet" && !has_duckdb()) {
    abort(c(
      "Parquet files need package {.pkg duckdb}, which is not installed.",
      i = "Install it, or write CSV files."
    ), "package")
  }
  engine <- keep_seed(if (has_duckdb()) files_by_duckdb(memory) else files_by_sqlite())
  from <- if (kind == "csv") {
    keep_seed(copied_csv(paths, engine$con, c(index, outcome)))
  } else {
    paste0("read_parquet([", paste(DBI::dbQuoteString(engine$con, paths), collapse = ", "), "]) s")
  }
  out <- new_table(engine$con, from, index, outcome, "here", FALSE, block, groups)
  if (kind == "csv") out <- with_numbers(out)
  # The engine is closed when the object is garbage-collected.
  out$state$engine <- engine
  class(out) <- c("dp_files", class(out))
  out
})

has_duckdb <- function() nzchar(system.file(package = "duckdb"))

connect_duckdb <- function() {
  DBI::dbConnect(duckdb::duckdb(), dbdir = ":memory:", bigint = "numeric")
}

files_by_duckdb <- function(memory) {
  con <- connect_duckdb()
  finish <- new.env(parent = emptyenv())
  reg.finalizer(finish, function(e) close_quietly(con), onexit = TRUE)
  if (!is.null(memory)) {
    run_sql(con, paste0("SET memory_limit = ", DBI::dbQuoteString(con, memory)))
  }
  list(con = con, finish = finish)
}

files_by_sqlite <- function() {
  need_package("RSQLite", "Reading CSV files without duckdb")
  path <- tempfile("dpsc", fileext = ".sqlite")
  con <- DBI::dbConnect(RSQLite::SQLite(), path)
  finish <- new.env(parent = emptyenv())
  reg.finalizer(finish, function(e) {
    close_quietly(con)
    unlink(path)
  }, onexit = TRUE)
  list(con = con, finish = finish)
}

# CSV ---------------------------------------------------------------------------------------------

#' CSV files as a table of text, with each cell's number beside it
#'
#' Files are read with commas, double quotes and a header, without guessing types. The bounds in the
#' call determine the types.
#' @return The SQL after FROM.
#' @noRd
copied_csv <- function(paths, con, wanted = character()) {
  names <- NULL
  at <- new.env(parent = emptyenv())
  copy <- csv_copy(con)
  on.exit(copy$close())
  done <- tryCatch(
    withCallingHandlers(
      {
        for (path in paths) {
          at$path <- path
          check_compressed(path)
          names <- copy_csv(path, copy$write, names, wanted)
        }
        TRUE
      },
      warning = function(w) tryInvokeRestart("muffleWarning")
    ),
    error = function(e) if (inherits(e, "dpsc_error")) stop(e) else FALSE
  )
  if (!done) {
    abort(c(
      "The files could not be read as CSV with the same columns.",
      x = if (!is.null(at$path)) "Reading stopped in {.file {basename(at$path)}}.",
      i = "The first line must name the columns, separated by commas.",
      i = "Names must differ in more than their case, and must not begin with {.code dpsc_}."
    ), "argument")
  }
  csv_from(con, names)
}

#' Refuse a compressed file that is cut off, whose rows R would read up to this place
#'
#' R reads several gzip files in sequence as one file, and gives no word if one of them ends early
#' (or if a file of bzip2 does). Therefore a mark is appended, compressed, to a copy of the file:
#' only if the whole file is intact does the mark come out at the end.
#' @section Errors: `dpsc_error_argument`.
#' @noRd
check_compressed <- function(path) {
  begins <- function(bytes) identical(readBin(path, "raw", length(bytes)), as.raw(bytes))
  file <- basename(path)
  # Beginnings of files by which `gzfile()` recognises bzip2, xz and lzma.
  others <- list(
    c(0x42, 0x5a, 0x68), c(0xfd, 0x37, 0x7a, 0x58, 0x5a), c(0xff, 0x4c, 0x5a, 0x4d, 0x41),
    c(0x5d, 0x00, 0x00, 0x80, 0x00)
  )
  if (any(vapply(others, begins, NA))) {
    abort(c(
      "{.file {file}} is compressed by {.code bzip2} or {.code xz}.",
      i = "Only files of {.code gzip} are read. Decompress the file."
    ), "argument")
  }
  if (begins(c(0x1f, 0x8b)) && !tryCatch(ends_with_mark(path), error = function(e) FALSE)) {
    abort(c(
      "{.file {file}} is cut off or damaged: its compressed rows do not reach the end of the file.",
      i = "Copy or write the file again."
    ), "argument")
  }
}

ends_with_mark <- function(path) {
  mark <- charToRaw("\ndpsc: the end of the file\n")
  copy <- tempfile()
  last <- tempfile()
  on.exit(unlink(c(copy, last)))
  file <- gzfile(last, "wb")
  writeBin(mark, file)
  close(file)
  stopifnot(file.copy(path, copy), file.append(copy, last))
  file <- gzfile(copy, "rb")
  on.exit(close(file), add = TRUE, after = FALSE)
  end <- raw()
  # A wrong check sum within the file is a warning.
  suppressWarnings(repeat {
    bytes <- readBin(file, "raw", csv_bytes)
    if (!length(bytes)) break
    end <- utils::tail(c(utils::tail(end, length(mark)), bytes), length(mark))
  })
  identical(end, mark)
}

# Number of bytes per read.
csv_bytes <- 2^22

#' @param write (`function`)\cr a function that appends a block of rows.
#' @param names (`character` or `NULL`)\cr columns of the first file, for matching the other files.
#' @param wanted (`character`)\cr columns that the user named.
#' @return Names of the columns.
#' @noRd
copy_csv <- function(path, write, names, wanted) {
  file <- gzfile(path, "rb")
  on.exit(close(file))
  rest <- raw()
  repeat {
    bytes <- readBin(file, "raw", csv_bytes)
    last <- !length(bytes)
    rest <- c(rest, bytes)
    if (last || as.raw(10L) %in% bytes) break
  }
  end <- match(as.raw(10L), rest, nomatch = length(rest) + 1L)
  found <- csv_names(rest[seq_len(end - 1L)])
  check_csv_names(path, found, names, wanted)
  order <- match(names %||% found, found)
  rest <- rest[-seq_len(min(end, length(rest)))]
  written <- FALSE
  repeat {
    lines <- csv_cells_cpp(rest, length(found), last)
    if (length(lines$cells[[1L]]) || (is.null(names) && !written)) {
      write(csv_block(lines$cells[order], found[order]))
      written <- TRUE
    }
    if (last) {
      return(found[order])
    }
    bytes <- readBin(file, "raw", csv_bytes)
    last <- !length(bytes)
    rest <- c(rest[seq_along(rest) > lines$used], bytes)
  }
}

#' The table of copied rows, which is created from the first block; further blocks are appended
#'
#' In SQLite one prepared statement is used, since `DBI::dbWriteTable()` takes 15 ms per block.
#' @return A list of functions: `write`, which writes a block, and `close`.
#' @noRd
csv_copy <- function(con) {
  insert <- NULL
  made <- FALSE
  append <- function(block) {
    if (!inherits(con, "SQLiteConnection")) {
      return(DBI::dbWriteTable(con, "rows", block, append = TRUE))
    }
    if (is.null(insert)) {
      # Without a transaction SQLite would commit each row separately.
      DBI::dbBegin(con)
      places <- paste(rep("?", length(block)), collapse = ", ")
      insert <<- DBI::dbSendStatement(con, paste0("INSERT INTO rows VALUES (", places, ")"))
    }
    DBI::dbBind(insert, unname(c(block)))
  }
  list(
    write = function(block) {
      if (made) append(block) else DBI::dbWriteTable(con, "rows", block)
      made <<- TRUE
    },
    close = function() {
      if (is.null(insert)) return(invisible())
      DBI::dbClearResult(insert)
      DBI::dbCommit(con)
    }
  )
}

#' Refuse files with other columns than the first file
#'
#' In a file without a header the first line is a person's row, so the error shows only names given
#' by the user, and the positions of other columns.
#' @noRd
check_csv_names <- function(path, found, names, wanted) {
  file <- basename(path)
  marks <- c(semicolons = ";", tabs = "\t", bars = "|")
  is_one <- length(found) == 1L & vapply(marks, grepl, NA, x = found[[1L]], fixed = TRUE)
  if (any(is_one)) {
    abort(c(
      "{.file {file}} has {names(marks)[is_one][[1L]]} between its columns, not commas.",
      i = paste(
        "Write the file with commas, points in numbers and a header, as {.fn write.csv} does",
        "(not {.fn write.csv2})."
      )
    ), "argument")
  }
  missing <- setdiff(wanted, found)
  absent <- which(!names %in% found)
  if (!is.null(names) && (length(absent) || length(found) != length(names))) {
    abort(c(
      "{.file {file}} does not have the columns of the first file.",
      x = if (length(missing)) "It contains no column {.code {missing}}.",
      x = if (length(absent) && !length(missing)) {
        "It lacks {cli::qty(length(absent))}column{?s} {absent} of the first file."
      },
      x = if (length(found) != length(names)) {
        "It has {length(found)} column{?s}; the first file has {length(names)} column{?s}."
      },
      i = "Columns are matched by name, in any order and with regard to case."
    ), "argument")
  }
}

#' Names in a header, which must be distinct
#' @noRd
csv_names <- function(line) {
  mark <- as.raw(c(0xef, 0xbb, 0xbf))
  if (identical(line[1:3], mark)) line <- line[-(1:3)]
  if (length(line) && line[[length(line)]] == as.raw(13L)) line <- line[-length(line)]
  names <- csv_header_cpp(line)
  stopifnot(length(names) > 0L, nzchar(names), validEnc(names), !duplicated(tolower(names)),
    !startsWith(names, "dpsc_"))
  names
}

csv_block <- function(cells, names) {
  cells <- lapply(cells, readable)
  numbers <- lapply(cells, text_numbers)
  out <- c(
    stats::setNames(cells, names), stats::setNames(numbers, paste0("dpsc_n", seq_along(names)))
  )
  structure(out, class = "data.frame", row.names = .set_row_names(length(cells[[1L]])))
}

#' The copied rows, with numbers in place of some columns' text
#' @param numeric (`character`)\cr the columns to replace.
#' @noRd
csv_from <- function(con, names, numeric = character()) {
  numbers <- paste0("dpsc_n", seq_along(names))
  columns <- vapply(names, quoted, "", con = con)
  is_number <- names %in% numeric
  shown <- if (dialect_of(con)$loose) {
    # Whole numbers become integers, which R reads as integers.
    paste0("CASE WHEN ", numbers, " = CAST(", numbers, " AS INTEGER) THEN CAST(", numbers,
      " AS INTEGER) ELSE ", numbers, " END")
  } else {
    numbers
  }
  columns[is_number] <- paste(shown[is_number], "AS", columns[is_number])
  paste0("(SELECT ", paste(c(columns, numbers), collapse = ", "), " FROM rows) s")
}

#' A table of copied files, with its columns, and with numeric periods if all (public) periods are
#' integers
#' @noRd
with_numbers <- function(table) {
  names <- table$fields[!startsWith(table$fields, "dpsc_n")]
  table$numbers <- stats::setNames(paste0("dpsc_n", seq_along(names)), names)
  table$fields <- names
  if (is.null(table$index)) {
    return(table)
  }
  periods <- run_sql(table$con, paste(
    "SELECT DISTINCT", quoted(table$con, table$index[[2L]]), "FROM rows LIMIT 2000"
  ), TRUE)[[1L]]
  values <- text_numbers(periods[!is.na(periods)])
  whole <- length(values) > 0L && !anyNA(values) && all(is.finite(values) & values == floor(values))
  with_index_of(table, "", if (whole) 0 else "")
}

#' Units and periods in their declared type: numbers or text
#' @param unit,periods (`vector`)\cr declared values. PUBLIC.
#' @noRd
with_index_of <- function(table, unit, periods) {
  if (is.null(table$numbers)) {
    return(table)
  }
  is_number <- c(is.numeric(unit), is.numeric(periods))
  table$from <- csv_from(table$con, names(table$numbers), table$index[is_number])
  table$kinds <- stats::setNames(
    lapply(is_number, function(number) if (number) numeric() else character()), table$index
  )
  table
}
