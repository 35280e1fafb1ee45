# Long data to matrices: panel_from_formula() compared with data.table::dcast() of the same table
# and a split into donors and target. 10,000 units x 100 periods, rows shuffled, one thread.
#
# From the package's root, with dpsc installed: Rscript bench/panel.R
# Writes bench/results/panel.csv: `ratio` is the median time over data.table's, in the same run.

library(dpsc)

n_units <- 10000L
n_times <- 100L
data.table::setDTthreads(1L)

long_table <- function(as_id) {
  set.seed(1)
  unit <- rep(seq_len(n_units), n_times)
  time <- rep(seq_len(n_times), each = n_units)
  table <- data.table::data.table(
    unit = as_id(unit), time = time, y = stats::rnorm(n_units * n_times),
    treated = as.integer(unit == 1L & time > 80L)
  )
  table[sample.int(nrow(table)), ]
}

made_panel <- function(table) {
  people <- dpsc:::panel_people(table, c("unit", "time"))
  dpsc:::panel_from_formula(y ~ treated, people, dpsc:::plain_request())
}

# The lines that a user would write. They contain no equivalent of the panel's checks.
dcast_panel <- function(table) {
  wide <- data.table::dcast(table, unit ~ time, value.var = "y")
  values <- as.matrix(wide[, -1L])
  treated <- wide$unit %in% unique(table$unit[table$treated == 1L])
  list(
    donors = values[!treated, , drop = FALSE], target = values[treated, , drop = FALSE],
    T0 = min(table$time[table$treated == 1L]) - 1L
  )
}

compare <- function(ids, as_id) {
  table <- long_table(as_id)
  ours <- made_panel(table)
  theirs <- dcast_panel(table)
  stopifnot(
    identical(ours$donors, unname(theirs$donors)),
    identical(unname(ours$target), unname(theirs$target)), ours$T0 == theirs$T0
  )
  marks <- bench::mark(
    panel_from_formula = made_panel(table),
    data.table_dcast = dcast_panel(table),
    check = FALSE, min_iterations = 20L, filter_gc = FALSE
  )
  median <- as.numeric(marks$median)
  data.frame(
    ids = ids, expression = as.character(marks$expression),
    median_ms = round(1000 * median, 1), mem_mb = round(as.numeric(marks$mem_alloc) / 2^20, 1),
    ratio = round(median / median[[2L]], 2)
  )
}

results <- rbind(
  compare("strings", function(unit) sprintf("unit%05d", unit)),
  compare("integers", identity),
  compare("factor", function(unit) factor(sprintf("unit%05d", unit)))
)
print(results)
dir.create("bench/results", showWarnings = FALSE, recursive = TRUE)
utils::write.csv(results, "bench/results/panel.csv", row.names = FALSE)
stopifnot(results$ratio <= 1)
