# With 10,001 donors a random subset calibrates the release, in every kind of panel and from every
# source. Names do not determine this subset, and the largest change of any value before noise is
# the contribution of one row.

several <- function(p) rbind(p$target, p$target * 0.9)
# The people of this group are separate and do not change.
group <- function(p) outer(seq(0.2, 1, length.out = 80), p$target)

by_matrix <- function(p, scope, kind) {
  rows <- by_name(p)
  if (kind == "growing") {
    first <- seq_len(5)
    fit <- scope$dp_synth.matrix(rows[, first],
      target = p$target[first], T0 = p$T0, epsilon = 2, bounds = c(-1, 1), control = control,
      monitor = 1
    )
    return(scope$update_growing(fit, rows, target = p$target)$release)
  }
  target <- switch(kind, date = p$target, dates = several(p), everyone = group(p))
  protect <- if (kind == "everyone") "everyone" else "donors"
  scope$dp_release.matrix(rows,
    target = target, T0 = if (kind == "dates") c(3, 4) else p$T0, epsilon = 2, bounds = c(-1, 1),
    control = control, protect = protect
  )
}

by_chunks <- function(p, scope, kind) {
  rows <- by_name(p)
  cut <- nrow(rows) %/% 3
  scope$dp_release.dp_chunks(dp_chunks(list(rows[1:cut, ], rows[-(1:cut), ])),
    target = if (kind == "dates") several(p) else p$target,
    T0 = if (kind == "dates") c(3, 4) else p$T0, epsilon = 2, bounds = c(-1, 1), control = control,
    protect = "donors"
  )
}

long_of <- function(p, kind) {
  switch(kind, date = as_long(p), dates = as_long(p, several(p), c(3, 4)),
    everyone = as_long(p, group(p)))
}

released_from <- function(data, scope, kind) {
  index <- if (is.data.frame(data)) list(index = c("unit", "week"))
  do.call(scope$dp_release.formula, c(list(y ~ on, data,
    epsilon = 2, bounds = c(-1, 1), control = control,
    protect = if (kind == "everyone") "everyone" else "donors"
  ), index))
}

by_frame <- function(p, scope, kind) released_from(long_of(p, kind), scope, kind)

by_table <- function(...) {
  function(p, scope, kind) {
    con <- sqlite_of(long_of(p, kind))
    released_from(in_sqlite(con, block = 4000, ...), scope, kind)
  }
}

by_place <- function(p, scope, kind) {
  data <- long_of(p, kind)
  north <- startsWith(data$unit, "treated") |
    data$unit %in% p$names[seq_len(length(p$names) %/% 2)]
  con <- sqlite_of(data[north, ], "north")
  DBI::dbWriteTable(con, "south", data[!north, ])
  released_from(dp_sources(list(
    in_sqlite(con, name = "north", compute = "database", calibrate = TRUE),
    in_sqlite(con, name = "south", compute = "here", block = 2000)
  )), scope, kind)
}

sources_of_table <- function() {
  held <- list(matrix = by_matrix, chunks = by_chunks, data_frame = by_frame)
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    held <- c(held, list(
      here = by_table(), database = by_table(compute = "database", calibrate = TRUE),
      groups = by_table(groups = 7), places = by_place
    ))
  }
  held
}

# Other tests cover requests that a source cannot serve.
cells_of_table <- function() {
  cells <- expand.grid(
    source = names(sources_of_table()), kind = c("date", "dates", "everyone", "growing"),
    stringsAsFactors = FALSE
  )
  unserved <- cells$kind == "growing" & cells$source != "matrix" |
    cells$kind == "everyone" & cells$source %in% c("chunks", "places", "groups") |
    cells$kind == "dates" & cells$source %in% c("places", "groups")
  cells[!unserved, ]
}

check_cells <- function(cells, n, names) {
  p <- named_people(n)
  for (i in seq_len(nrow(cells))) {
    run <- function(p, scope) sources_of_table()[[cells$source[[i]]]](p, scope, cells$kind[[i]])
    label <- paste(cells$source[[i]], cells$kind[[i]], n)
    for (name in names) {
      # With several sources a person remains in the first source, whose last name precedes this
      # name.
      if (cells$source[[i]] == "places") name <- sprintf("p%06dx", n %/% 2)
      other <- renamed(p, 1, name, far_row(p))
      expect_lte(max(moves(p, other, run)), 1 + 1e-9, label = label)
    }
    # From 10,001 donors on a subset is drawn, and the test detects the fault, every second donor in
    # the order of names.
    if (n > 10000) {
      found <- moves(p, other, run, planted = TRUE)
      expect_gt(max(found), 1.5, label = paste("planted:", label))
    }
  }
}

test_that("names do not determine the calibration donors of cohorts, groups or growing releases", {
  cells <- cells_of_table()
  # test-identifiers.R covers a single date.
  check_cells(cells[cells$kind != "date" & cells$source %in% c("matrix", "database"), ], 10001, "z")
  check_cells(cells[cells$kind != "date", ], 60, c("z", "p000030x"))
})

test_that("names do not determine the calibration donors, for each supported panel and source", {
  skip_unless_audit()
  check_cells(cells_of_table(), 10001, c("z", "p005000x"))
})
