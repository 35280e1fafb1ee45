# Simulated donors and one treated unit as long data, in SQLite, and results for comparison.

long_panel <- function(n, T0, T1, seed = 1, sd = 0.3, extreme = TRUE) {
  withr::local_seed(seed)
  n_times <- T0 + T1
  donors <- matrix(stats::rnorm(n, 0, sd) + stats::rnorm(n * n_times, 0, sd), n)
  # The values include ties of the grid, both sides of the bounds, and the largest and smallest
  # doubles.
  if (!extreme) donors <- pmax(pmin(donors, 1), -1)
  if (extreme) donors[1:4, 1:2] <- c(0.5, 1.5, -2.5, 3.5) / 2^20
  if (extreme) donors[5:8, n_times] <- c(-1, 1, 1e308, -1e308)
  if (extreme) donors[9:10, 1] <- c(5e-324, -5e-324)
  units <- sprintf("u%05d", sample.int(99999, n + 1L))
  target <- stats::rnorm(n_times, 0, 0.2)
  data <- data.frame(
    unit = rep(units, n_times), week = rep(2000L + seq_len(n_times), each = n + 1L),
    y = c(rbind(donors, target)),
    on = as.integer(outer(seq_len(n + 1L), seq_len(n_times), function(i, t) i > n & t > T0))
  )
  list(data = data[sample.int(nrow(data)), ], T0 = T0, T1 = T1, target = target)
}

sqlite_of <- function(data, name = "sales", env = parent.frame()) {
  skip_if_not_installed("DBI")
  skip_if_not_installed("RSQLite")
  con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
  withr::defer(DBI::dbDisconnect(con), envir = env)
  DBI::dbWriteTable(con, name, data)
  con
}

# A release during which, after its first group of rows, another connection moves one person's name
# to the last group and another person's to the first. `rename` is undone afterwards.
moved_release <- function(code, units, rename) {
  own <- keep_rows
  moved <- FALSE
  release <- with_internal("keep_rows", function(table, name, query, first) {
    out <- own(table, name, query, first)
    if (first && !moved) {
      rename(units[[3L]], "zz")
      rename(units[[100L]], units[[3L]])
      moved <<- TRUE
    }
    out
  }, code)
  expect_true(moved)
  rename(units[[3L]], units[[100L]])
  rename("zz", units[[3L]])
  release
}

in_sqlite <- function(con, ..., name = "sales") dp_table(con, name, c("unit", "week"), ...)

seeded <- function(data, ..., formula = y ~ on, bounds = c(-1, 1), epsilon = 1, seed = 11,
                   fun = dp_release, rng = "R", intervals = TRUE) {
  force(data)
  withr::local_seed(seed)
  control <- dp_control(rng = rng, intervals = intervals)
  index <- if (is.data.frame(data)) list(index = c("unit", "week"))
  do.call(fun, c(
    list(formula, data, epsilon = epsilon, bounds = bounds, control = control), index, list(...)
  ))
}

# Statements that are sent to engines while code runs.
logged_sql <- function(code) {
  log <- character()
  own <- run_sql
  with_internal("run_sql", function(con, text, ...) {
    log <<- c(log, text)
    own(con, text, ...)
  }, code)
  log
}

# A table in wide form, which is closed at the end of the test.
open_wide <- function(table, data, bounds, env = parent.frame()) {
  periods <- sort(unique(data$week))
  table$own <- treated_of(data)
  wide <- make_wide(
    table, list(outcome = "y", treated = "on", on = "1", periods = periods),
    grid_of(new_bounds(bounds, length(periods)))
  )
  withr::defer(wide$close(), envir = env)
  wide
}

treated_of <- function(data) unique(data$unit[data$on == 1])

donors_of <- function(data) {
  own <- data[!data$unit %in% treated_of(data), ]
  own <- own[order(own$week, own$unit, method = "radix"), ]
  matrix(own$y, ncol = length(unique(own$week)))
}

# Questions in the core's form, with random loadings.
random_questions <- function(bounds, periods, d, seed = 3) {
  withr::local_seed(seed)
  loadings <- matrix(stats::rnorm(periods * d), periods)
  scale <- new_bounds(bounds, periods)
  origin <- stats::rnorm(d, 0, 0.1)
  asked_of(row_map_cpp(scale, loadings, origin), product_map_cpp(scale, loadings, origin))
}

# All kinds of questions: about features and, with more than one feature, about their products.
asked_of <- function(map, products, radius = 2^23, squared = floor(2^25 * 2^(-20:2 / 2))^2) {
  energy <- list(kind = "energy", squared = squared, inverse = 2^20 / squared, one = 2^20)
  clipped <- function(kind, map, limit) {
    list(
      kind = kind, map = map, radius = radius, limit = limit,
      zoom = (limit - sqrt(summed_count(map)) / 2) * (1 - 2^-40) / radius
    )
  }
  c(
    list(c(energy, list(map = map)), clipped("moments", map, 4096)),
    if (ncol(map$loadings) > 1L) {
      list(c(energy, list(map = products)), clipped("sums", products, 2^20))
    }
  )
}

# Products of features by their definition, from the map in a question.
products_of <- function(rows, map) {
  q <- sweep(rows, 2L, map$centre) * map$scale
  q <- round(sweep(sweep(q, 2L, -map$limit, pmax), 2L, map$limit, pmin))
  z <- sweep(round(q %*% map$loadings * map$rescale), 2L, map$origin)
  round(z[, -1L, drop = FALSE] * (map$lift + map$slope * z[, 1L]))
}

# Whether a query contains expressions that engines interpret or compute differently.
sql_faults <- function(query) {
  text <- gsub("\"[^\"]*\"|'[^']*'", "", query)
  grepl("[0-9]\\.[0-9]|\\.[0-9]|[0-9]e[-+]?[0-9]", text, ignore.case = TRUE) ||
    grepl("\\b(ROUND|LEAST|GREATEST|AVG|STDDEV|POWER|TRUNC|REAL4|NUMERIC|DECIMAL)\\b", text)
}

by_seed <- dp_control(rng = "R")

# Covariates that vary, and one that does not; the largest doubles; undeclared levels.
with_covariates_in <- function(data, seed = 7) {
  withr::local_seed(seed)
  units <- unique(data$unit)
  data$age <- stats::rnorm(nrow(data), 40, 30)
  data$age[1:6] <- c(1e308, -1e308, 5e-324, 0, 1 / 3, 49.5)
  data$g <- sample(c("a", "b", "c", "D"), length(units), TRUE)[match(data$unit, units)]
  data$member <- as.integer(match(data$unit, units) %% 3L == 0L)
  # The level "B" is not declared.
  data$g[data$unit == units[[3L]]] <- "B"
  data
}

covariate_bounds <- list(y = c(-1, 1), age = c(0, 99.7), g = c("a", "b", "c"), member = c(0, 1))
on_covariates <- y ~ on | age + g + member

# Gaps are cells that are missing, not numeric, or infinite. Some people have one value, or no
# value.
gappy <- function(data, seed = 3) {
  withr::local_seed(seed)
  units <- sort(unique(data$unit))
  data$y[sample(nrow(data), nrow(data) %/% 5)] <- NA
  data <- data[-sample(nrow(data), nrow(data) %/% 10), ]
  data <- data[data$unit != units[[4L]], ]
  data <- data[data$unit != units[[5L]] | data$week == 2002, ]
  # These people have no value before the treatment.
  data$y[data$unit == units[[6L]] & data$week <= 2005] <- NA
  # The values differ widely in magnitude and include the smallest doubles.
  at <- which(data$unit == units[[7L]])
  data$y[at] <- rep_len(c(1e308, NA, -1.7e308, 3e-320, NA, -5e-324), length(at))
  data
}

roster_of <- function(data, from = 2006L, seed = 9) {
  units <- sort(unique(data$unit))
  withr::local_seed(seed)
  units <- sample(units)
  dp_roster(units, ifelse(units %in% treated_of(data), from, NA), sort(unique(data$week)))
}
