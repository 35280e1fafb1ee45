# Simulated people who change their names, and the values that a release computes from their data
# before adding noise.

# Donors with names in the order of rows. Every second donor jumps after the treatment.
named_people <- function(n, T0 = 4, T1 = 2) {
  withr::local_seed(5)
  jump <- rep_len(c(-0.9, 0.9), n)
  rows <- cbind(matrix(stats::runif(n * T0, -0.2, 0.2), n), matrix(jump, n, T1))
  list(
    rows = rows, names = sprintf("p%06d", seq_len(n)), T0 = T0,
    target = stats::runif(T0 + T1, -0.2, 0.2)
  )
}

# One person gets another name and, possibly, other data.
renamed <- function(p, who, name, row = p$rows[who, ]) {
  p$names[[who]] <- name
  p$rows[who, ] <- row
  p
}

# The positions in the second data set of people at given places (from 0, in the order of names) in
# the first data set.
moved_between <- function(from, to) {
  place <- order(from$names, method = "radix")
  rank <- order(order(to$names, method = "radix"))
  function(at) rank[place[at + 1]] - 1
}

# Rows in an order that is neither by name nor by time.
as_long <- function(p, treated = p$target, T0 = p$T0) {
  treated <- rbind(treated)
  n <- nrow(p$rows)
  k <- ncol(p$rows)
  names <- if (nrow(treated) == 1L) "treated" else sprintf("treated%03d", seq_len(nrow(treated)))
  starts <- c(rep(k, n), rep_len(T0, nrow(treated)))
  data <- data.frame(
    unit = rep(c(p$names, names), k), week = rep(seq_len(k), each = length(starts)),
    y = c(rbind(p$rows, unname(treated))), on = as.integer(outer(starts, seq_len(k), `<`))
  )
  withr::local_seed(8)
  data[sample.int(nrow(data)), ]
}

by_name <- function(p) p$rows[order(p$names, method = "radix"), ]

# Every second donor in the order of names calibrates the release, instead of randomly drawn donors.
every_second <- function(places) {
  lapply(places, function(at) rep(seq(0, length(at), by = 2), each = 2)[seq_along(at)])
}

# The core with every second donor in place of the randomly drawn donors. A first run determines the
# number of donors. A second run uses these donors, and its calls are the first in the recorder.
with_planted <- function(recorder, draw) {
  function(...) {
    arguments <- list(...)
    run <- function(noise) {
      arguments[[length(arguments)]] <- noise
      do.call(draw, arguments)
    }
    if (recorder$mode == "replay") return(run(recorder$noise))
    first <- noise_recorder_cpp("R")
    run(first)
    first <- noise_calls_cpp(first)
    planted <- noise_recorder_cpp("R")
    noise_replay_cpp(planted, lapply(first$calls, `[[`, "output"), every_second(first$places))
    released <- run(planted)
    # The other calls of the release follow, with the recorder's noise.
    written <- noise_calls_cpp(planted)
    recorder$calls <- c(recorder$calls, written$calls)
    recorder$places <- c(recorder$places, written$places)
    released
  }
}

planted_hooks <- function(recorder, planted) {
  if (!planted) return(list())
  list(
    gram_release_cpp = with_planted(recorder, gram_release_cpp),
    cohort_release_cpp = with_planted(recorder, cohort_release_cpp)
  )
}

# The change of each recorded value between two data sets, relative to its declared sensitivity. The
# same people calibrate both releases, at the same places.
moves <- function(from, to, run, planted = FALSE) {
  recorder <- new_recorder()
  # A planted list follows the order of names, for any people with these names.
  if (!planted) recorder$moved <- moved_between(from, to)
  scope <- hooked_namespace(recorder, planted_hooks(recorder, planted))
  hooked <- list(
    recorder = recorder, ours = TRUE,
    run = function(p) withr::with_seed(4, suppressWarnings(run(p, scope)))$privacy
  )
  table <- replayed_calls(hooked, from, to)
  expect_false(is.null(table))
  table$ratio
}

control <- dp_control(rng = "R")
fitted_to <- function(p, data, scope, ...) {
  index <- if (is.data.frame(data)) list(index = c("unit", "week"))
  do.call(scope$dp_release.formula, c(
    list(y ~ on, data, epsilon = 1, bounds = c(-1, 1), control = control), index, list(...)
  ))
}

from_data_frame <- function(p, scope) fitted_to(p, as_long(p), scope)
from_matrix <- function(p, scope) {
  scope$dp_release.matrix(by_name(p),
    target = p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), control = control
  )
}
from_chunks <- function(p, scope) {
  rows <- by_name(p)
  cut <- nrow(rows) %/% 3
  scope$dp_release.dp_chunks(dp_chunks(list(rows[1:cut, ], rows[-(1:cut), ])),
    target = p$target, T0 = p$T0, epsilon = 1, bounds = c(-1, 1), control = control
  )
}
from_table <- function(...) {
  function(p, scope) {
    con <- sqlite_of(as_long(p))
    fitted_to(p, in_sqlite(con, block = 4000, ...), scope)
  }
}
from_places <- function(p, scope) {
  data <- as_long(p)
  north <- data$unit == "treated" | data$unit %in% p$names[seq_len(length(p$names) %/% 2)]
  con <- sqlite_of(data[north, ], "north")
  DBI::dbWriteTable(con, "south", data[!north, ])
  fitted_to(p, dp_sources(list(
    in_sqlite(con, name = "north", compute = "database", calibrate = TRUE),
    in_sqlite(con, name = "south", compute = "here", block = 2000)
  )), scope)
}

far_row <- function(p) -p$rows[1, ] * 1.1
