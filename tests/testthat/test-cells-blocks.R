# The rule for cells of blocks (R/ppl-cells-blocks.R). A reader may guess the class of a block's
# column from all of its cells. Attacks: the same cells in every class, and one person's cell that
# turns the column into text. Nobody else's values may change, and no cell may cause an error.

# The same cells in every class in which a block may contain them, with a last cell that only text
# contains. 64-bit integers are stored without the package that defines their class.
block_columns <- function(cells) {
  as_64 <- function(x) {
    low <- ifelse(is.na(x), 0L, as.integer(x))
    high <- ifelse(is.na(x), NA_integer_, ifelse(low < 0L, -1L, 0L))
    words <- as.vector(rbind(low, high))
    structure(
      readBin(writeBin(words, raw(), endian = "little"), "double", length(x), endian = "little"),
      class = "integer64"
    )
  }
  text <- as.character(cells)
  text[is.na(cells)] <- ""
  out <- list(
    text = text, gaps = as.character(cells), factor = factor(text),
    mixed = replace(text, length(text), "oops"),
    mixed_factor = factor(replace(text, length(text), "oops"))
  )
  if (is.numeric(cells)) {
    out$double <- as.double(cells)
    out$padded <- replace(paste0(" ", sprintf("%06.2f", cells)), is.na(cells), " ")
    out$words <- replace(text, is.na(cells), "NA")
    out$complex <- as.complex(cells)
    if (all(cells %% 1 == 0, na.rm = TRUE)) {
      out$integer <- as.integer(cells)
      out$integer64 <- as_64(cells)
    }
    if (all(cells %in% c(0, 1, NA))) {
      out$logical <- as.logical(cells)
      out$flags <- replace(c("F", "T")[cells + 1], is.na(cells), "")
    }
  }
  if (inherits(cells, "Date")) {
    out$Date <- cells
    out$POSIXct <- as.POSIXct(format(cells), tz = "UTC")
    out$slashes <- replace(format(cells, "%Y/%m/%d"), is.na(cells), "")
  }
  if (inherits(cells, "POSIXct")) {
    out$text <- out$gaps <- replace(format(cells, "%Y-%m-%d %H:%M:%S"), is.na(cells), "")
    out$factor <- factor(out$text)
    out$mixed <- replace(out$text, length(text), "oops")
    out$mixed_factor <- factor(out$mixed)
    out$POSIXct <- cells
    out$elsewhere <- structure(cells, tzone = "America/New_York")
    out$zoned <- replace(format(cells, "%Y-%m-%dT%H:%M:%SZ"), is.na(cells), "")
  }
  if (all(is.na(cells))) {
    none <- list(
      logical = NA, integer = NA_integer_, double = NA_real_, Date = as.Date(NA),
      POSIXct = as.POSIXct(NA)
    )
    out <- c(out[setdiff(names(out), names(none))], lapply(none, rep, length(cells)))
  }
  out
}

block_cases <- list(
  whole = c(1, 0, 2, NA, 1, -3, 10, 2), flags = c(1, 0, NA, 1, 0, 1, NA, 0),
  parts = c(1.5, -2.25, NA, 0.1, 1e6, 2, 0, 1),
  days = as.Date("2020-05-30") + c(0, 1, NA, 2, 3, 400, -20000, 1),
  times = as.POSIXct("2020-05-31 22:30:00", tz = "UTC") + 3600 * c(0, 1, NA, 2, 3, 9000, -1e5, 1),
  words = c("foo", "zzz", NA, "a b", "foo", "x1", "zzz", "foo"), none = rep(NA, 8)
)

block_expressions <- expression(
  is.na(a), !is.na(a), !(a == 2), a == 2, a != 2, a == "01", a != "foo", a < 2, a >= 1.5, a > -1,
  a %in% c(1, 2), a %in% c("1.0", "foo", "b"), !(a %in% c("foo", 2)), a == "", a != "",
  a > as.Date("2020-05-31"), a <= as.Date("2020-05-31"), a == as.Date("2020-05-31"),
  a > "2020-05-31", a == "2020-05-31", a != "2020-05-31", a %in% c("2020-05-31", "foo"),
  a > as.POSIXct("2020-05-31 23:00:00", tz = "UTC"), a == as.Date("2020-05-31") | is.na(a),
  a + 1, a * t, a - as.Date("2020-01-01"), log(a), pmin(a, 1), is.nan(a), is.finite(a), a & t,
  ifelse(t == 1, a, b), ifelse(t == 1, b, a), ifelse(is.na(a), b, a) == "foo", ifelse(a == 1, 1, a),
  ifelse(is.na(a), 0, a), ifelse(is.na(a), "none", a), ifelse(a, "yes", "no"),
  ifelse(t == 1, ifelse(is.na(a), b, a), ifelse(a == "foo", 1, b)) %in% c("foo", "1.0"),
  ifelse(a > "2020-05-31", a, b) != 2, as.character(a) == "2.0", as.numeric(a) == 2,
  as.logical(a), as.integer(a) == 1, I(a) == b, a == b, (a == 1) * (b == "foo"), a * (t == 1) > 0,
  is.na(ifelse(t == 1, a, NA)), ifelse(as.character(a) == "1", 1, 2), xor(a, t)
)

block_value <- function(code, data) {
  code <- with_dates(code, data, TRUE)
  check_rowwise(code)
  block_text(value_by_row(code, columns_of_code(code, data, TRUE), TRUE))
}

test_that("the value of an expression for a person depends on the cells of this person alone", {
  # Plants faults 93.
  by_class <- function(x) {
    number <- cell_numbers(x)
    text <- if (cell_kind(x) %in% c("text", "factor")) cell_text(x)
    structure(list(number = number, text = text), class = "dpsc_cells")
  }
  others <- list(c("foo", "", "1", "foo", "2", "oops", "zzz", "01"), c(1, NA, 1, 0, 2, 3, 1, 1))
  changed <- character()
  for (case in names(block_cases)) {
    columns <- block_columns(block_cases[[case]])
    for (b in others) {
      rows <- lapply(columns, function(a) {
        out <- data.frame(t = rep(c(1, 0), 4), b = b)
        out$a <- a
        out
      })
      for (code in block_expressions) {
        values <- lapply(rows, function(data) block_value(code, data)[-8L])
        different <- names(values)[!vapply(values, identical, NA, values[[1L]])]
        expect_identical(different, character(), info = paste(case, deparse(code)[[1L]]))
        planted <- lapply(rows[names(rows) != "complex"], function(data) {
          block_text(value_by_row(code, lapply(data, by_class), TRUE))[-8L]
        })
        if (length(unique(planted)) > 1L) changed <- union(changed, case)
      }
    }
  }
  expect_setequal(changed, names(block_cases))
})

# Verbs -------------------------------------------------------------------------------------------

block_bounds_of <- list(y = c(-1, 1), t = c(0, 1))

# A table of people whose column `a` is read as `kind` from text, and another table in which one
# person's cell is different.
block_pair <- function(kind, n = 120L) {
  a <- switch(kind,
    numbers = ifelse(seq_len(n) %% 4L == 2L, "", sprintf("%d", seq_len(n) %% 3L)),
    days = ifelse(seq_len(n) %% 4L == 2L, "", format(as.Date("2020-04-01") + seq_len(n))),
    flags = rep(c("TRUE", "", "FALSE"), length.out = n), none = rep("", n)
  )
  from <- data.frame(
    y = sin(seq_len(n)), t = seq_len(n) %% 2, a = a,
    b = ifelse(seq_len(n) %% 3L == 0L, "foo", "zzz")
  )
  to <- from
  to$a[[1L]] <- "oops"
  list(from, to)
}

# Blocks as read.csv() reads them, with classes by their cells; and days as Date, as other readers
# return them.
read_by_class <- function(data) {
  file <- withr::local_tempfile(fileext = ".csv")
  utils::write.csv(data, file, row.names = FALSE)
  out <- utils::read.csv(file)
  full <- nzchar(as.character(out$a)) & !is.na(out$a)
  if (is.character(out$a) && all(grepl("^[0-9]{4}-", out$a[full]))) {
    out$a <- as.Date(ifelse(full, out$a, NA))
  }
  out
}

block_places <- list(
  chunks = function(data) {
    dp_chunks(list(read_by_class(data[1:60, ]), read_by_class(data[61:120, ])))
  },
  single = function(data) {
    dp_chunks(function(i) read_by_class(data[i, , drop = FALSE]), count = nrow(data))
  },
  sources = function(data) {
    dp_sources(list(one = read_by_class(data[1:60, ]), two = read_by_class(data[61:120, ])))
  },
  files = function(data, frame = parent.frame(2L)) {
    file <- withr::local_tempfile(fileext = ".csv", .local_envir = frame)
    utils::write.csv(data, file, row.names = FALSE, quote = FALSE)
    with_internal("has_duckdb", function() FALSE, dp_files(file))
  },
  sqlite = function(data, frame = parent.frame(2L)) {
    data$a[!nzchar(data$a)] <- NA
    dp_table(sqlite_of(data, "rows", frame), "rows", block = 7)
  }
)

test_that("one person's cell changes only that person's row in chunks, sources, files and SQLite", {
  skip_if_not_installed("RSQLite")
  subsets <- expression(
    NULL, is.na(a), !is.na(a), a != 2, a == "1.0", a < 2, !(a %in% c(1, "b")),
    ifelse(t == 1, a, b) == "foo", ifelse(is.na(a), b, a) == "foo", ifelse(is.na(a), 0, a) > 0,
    a > as.Date("2020-06-01"), a > "2020-06-01", !(a == "2020-06-01") | is.na(a), a
  )
  formulas <- list(
    y ~ t, y ~ t + ifelse(t == 1, a, b), y ~ t + ifelse(is.na(a), b, a), y ~ t * (a == "1"),
    y ~ t + ifelse(a > as.Date("2020-06-01"), 1, 0)
  )
  own <- list(
    `ifelse(t == 1, a, b)` = c("foo", "zzz"), `ifelse(is.na(a), b, a)` = c("foo", "zzz"),
    `a == "1"` = c(FALSE, TRUE), `(a == "1")` = c(FALSE, TRUE),
    `ifelse(a > as.Date("2020-06-01"), 1, 0)` = c(0, 1)
  )
  turn <- 0L
  for (place in names(block_places)) {
    for (kind in c("numbers", "days", "flags", "none")) {
      pair <- block_pair(kind)
      cases <- c(
        lapply(subsets, function(subset) list(formulas[[1L]], list(subset = subset))),
        lapply(formulas, list, list()),
        list(list(formulas[[1L]], list(weights = quote(ifelse(is.na(a), 1, 2)), max_weight = 2)))
      )
      # Each place and kind takes some of the cases in turn, or all of them in the audit.
      turn <- turn + 1L
      apart <- if (place %in% c("chunks", "sources")) 2L else 5L
      if (!is_audit()) cases <- cases[seq_along(cases) %% apart == turn %% apart]
      for (case in cases) {
        columns <- lm_columns(case[[1L]], c(block_bounds_of, own))
        # Sources of text refuse the order of a string, by the types of their columns.
        ordered <- identical(case[[2L]]$subset, quote(a > "2020-06-01"))
        if (ordered && place %in% c("files", "sqlite")) next
        rows <- lapply(pair, function(data) {
          opened <- lm_source(columns, block_places[[place]](data), case[[2L]], TRUE)
          on.exit(close_donors(opened$table))
          gather_rows(opened$table)
        })
        moved <- vapply(1:120, function(i) !identical(rows[[1L]][i, ], rows[[2L]][i, ]), NA)
        expect_lte(sum(moved), 1L)
      }
    }
  }
})

test_that("audits find no loss above the budget for a cell that changes the class of a block", {
  skip_if_not_installed("RSQLite")
  for (place in setdiff(names(block_places), "single")) {
    for (kind in c("numbers", "days", "none")) {
      pair <- block_pair(kind)
      verbs <- list(
        function(people, control) {
          dp_lm(y ~ t, block_places[[place]](people), epsilon = 20, control = control,
            subset = a != 2 | is.na(a), bounds = block_bounds_of
          )
        },
        function(people, control) {
          dp_describe(~ ifelse(t == 1, a, b), block_places[[place]](people), epsilon = 20,
            control = control, bounds = list(`ifelse(t == 1, a, b)` = c("foo", "zzz"))
          )
        }
      )
      for (verb in verbs) {
        audit <- dp_audit(audit_mechanism(verb), pair[[1L]], pair[[2L]], n_runs = 1,
          mode = "replay")
        expect_false(audit$violated)
      }
    }
  }
})

test_that("one person's cell changes only that person's row in a batch of a stream", {
  for (kind in c("numbers", "days", "flags", "none")) {
    batches <- lapply(block_pair(kind), read_by_class)
    for (code in expression(
      is.na(a), ifelse(t == 1, a, b) == "foo", ifelse(is.na(a), b, a) == "foo", a != 2,
      a > as.Date("2020-06-01"), a == "2020-06-01", ifelse(a == 1, a, 0)
    )) {
      formula <- as.formula(call("~", quote(y), call("I", code)))
      name <- paste(deparse(call("I", code), width.cutoff = 500L))
      columns <- new_columns(formula, c(block_bounds_of, stats::setNames(list(c(0, 1)), name)),
        "gaussian")
      rows <- lapply(batches, function(data) table_of_rows(columns, data))
      expect_identical(rows[[1L]][-1L, ], rows[[2L]][-1L, ])
    }
  }
})

test_that("one person's identifier changes the number of people by at most that person", {
  n <- 200L
  whole <- c(sprintf("%d", 1:80), rep("", 30L), sprintf("%03d", 1:80), rep(" ", 10L))
  dated <- replace(whole, nzchar(trimws(whole)), format(as.Date("2020-01-01") + c(1:80, 1:80)))
  for (id in list(whole, dated)) {
    from <- data.frame(id = id, y = sin(seq_len(n)), t = 1)
    to <- from
    to$id[to$id == to$id[[1L]]] <- "oops"
    read <- function(data) {
      names(data)[[1L]] <- "a"
      out <- read_by_class(data)
      names(out)[[1L]] <- "id"
      out
    }
    counts <- function(data) {
      blocks <- list(data[1:95, ], data[96:200, ])
      columns <- lm_columns(y ~ t, block_bounds_of)
      columns$person <- list(column = "id")
      lm_source(columns, dp_chunks(lapply(blocks, read)), list(), TRUE)$n
    }
    expect_identical(counts(from), 80L)
    expect_lte(abs(counts(to) - 80), 1)
  }
  # An identifier is one person in every class.
  same <- list(
    as.Date("2020-01-02"), "2020-01-02", "2020/01/02", as.POSIXct("2020-01-02", tz = "UTC"),
    "2020-01-02T00:00:00Z", "2020-01-02 00:00"
  )
  known <- vapply(same, function(id) {
    spelled_alike(identifiers_of(data.frame(id = id), list(column = "id"), text = TRUE), FALSE)
  }, "")
  expect_length(unique(known), 1L)
  for (gap in list("", " ", "NA", NA, NA_real_, NaN, as.Date(NA), as.POSIXct(NA))) {
    expect_true(is.na(
      identifiers_of(data.frame(id = gap), list(column = "id"), text = TRUE)
    ))
  }
})

test_that("in blocks levels that a reader may take for gaps are refused before any row is read", {
  read <- 0L
  blocks <- dp_chunks(function(i) {
    read <<- read + 1L
    data.frame(y = 0, g = "a")
  }, count = 2)
  for (level in c("", "NA", " ", "NaN")) {
    expect_error(
      dp_lm(y ~ g, blocks, epsilon = 1, bounds = list(y = c(0, 1), g = c("a", level))),
      "missing value", class = "dpsc_error_bounds"
    )
  }
  expect_identical(read, 0L)
})

test_that("a cell in another encoding, or with many blanks, changes only its own row", {
  # Plants faults 121.
  n <- 400L
  b <- list(y = c(0, 1), g = c("a", "b"))
  A <- data.frame(y = seq_len(n) / n, g = rep(c("a", "b"), n / 2), id = as.character(seq_len(n)))
  control <- dp_control(rng = "R")
  blocks_of <- function(d) dp_chunks(list(d[1:200, ], d[201:400, ]))
  verbs <- list(
    function(d) coef(dp_lm(y ~ g, blocks_of(d), epsilon = 5, bounds = b, control = control)),
    function(d) {
      coef(dp_lm(y ~ g, blocks_of(d), epsilon = 5, bounds = b, subset = g == "a" | g == "b",
        control = control))
    },
    function(d) {
      coef(dp_lm(y ~ g, blocks_of(d), epsilon = 5, bounds = b, person = ~id, control = control))
    },
    function(d) coef(dp_lm(y ~ g, dp_sources(list(d)), epsilon = 5, bounds = b, control = control)),
    function(d) {
      tidy(dp_describe(~ y + g, blocks_of(d), epsilon = 5, bounds = b, control = control))
    },
    function(d) {
      start <- dp_online(y ~ g, epsilon = 5, horizon = n, bounds = b, batch = TRUE,
        control = control)
      coef(update(start, d))
    },
    function(d) {
      start <- dp_stream_count(epsilon = 5, horizon = n, categories = c("a", "b"),
        control = control)
      tidy(update(start, d$g))
    }
  )
  numbers <- function(d) {
    lapply(verbs, function(verb) {
      withr::local_seed(9)
      suppressWarnings(verb(d), classes = "dpsc_warning")
    })
  }
  with_first <- function(cell) {
    A$g[[1L]] <- A$id[[1L]] <- cell
    A
  }
  # Each cell counts as an unlisted level, and as an identifier of its own.
  usual <- numbers(with_first("another"))
  words <- c("\u00d6zt\u00fcrk Ali", "\u00e9", "\u0661\u0662")
  marked <- suppressWarnings(iconv(words, "UTF-8", "latin1"))
  withr::local_options(warn = 2)
  for (cell in c(words, marked[!is.na(marked)], paste0(strrep(" ", 8000), "x"))) {
    expect_identical(numbers(with_first(cell)), usual)
  }
  # A number after a space that is not ASCII is the same number in both encodings.
  wide <- "\u00a07"
  expect_identical(
    cells_of_text(readable(iconv(wide, "UTF-8", "latin1"))), cells_of_text(readable(wide))
  )
  expect_identical(days_of_text(c(paste0(strrep(" ", 8000), "x"), "2020-01-01")), c(NA, 18262))
})
