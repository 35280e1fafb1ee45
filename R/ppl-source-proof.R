# The test of an engine: on generated rows, before its first use, the engine must count and sum as
# the core does.

#' Test an engine, once per table
#'
#' The test uses twenty rows on each of two grids, with ties, neighbours of ties, values far outside
#' the bounds, the largest and the smallest doubles, and rows that are clipped. Copies of one row
#' make sums that do not fit into 32 bits. The integers of the engine must equal the integers of the
#' core. Therefore an unknown dialect is safe: an engine passes the test or is refused.
#' @section Errors: `dpsc_error_engine`.
#' @noRd
prove_engine <- function(table) {
  if (isTRUE(table$state$proved)) {
    return(invisible())
  }
  for (bounds in proof_bounds()) {
    rows <- proof_rows(bounds)
    found <- tryCatch(engine_sums(table, rows, bounds), dpsc_error = function(e) NULL)
    check_proof(found, core_sums(rows, bounds))
  }
  table$state$proved <- TRUE
}

#' @noRd
check_proof <- function(found, core) {
  if (!identical(found, core)) {
    abort(c(
      "For simulated rows this database does not return the same sums as the package.",
      i = "The guarantee would not cover the database's sums. Set {.code compute = \"here\"}."
    ), c("engine", "panel"))
  }
}

#' Bounds with exact ties on their grid, and bounds with constants that have no finite decimal form
#' @noRd
proof_bounds <- function() {
  list(
    new_bounds(c(-1, 1), 3L),
    new_bounds(cbind(c(-1.1, 1 / 3 - 0.7, -0.3), c(1.1, 1 / 3 + 0.7, 1.1)), 3L)
  )
}

#' Twenty rows of three periods, and copies of one of them. PUBLIC.
#' @noRd
proof_rows <- function(bounds) {
  grid <- grid_of(bounds)
  # Adjacent doubles between which the rounded cell changes.
  tie <- function(t, k) {
    y <- grid$centre[[t]] + (k + 0.5) / grid$scale
    step <- 2^(floor(log2(abs(y))) - 52)
    near <- y + step * (-40:40)
    v <- (near - grid$centre[[t]]) * grid$scale
    magic <- 1.5 * 2^52
    q <- (v + magic) - magic
    at <- which(diff(q) != 0)
    if (length(at)) near[at[[1L]] + 0:1] else rep(y, 2L)
  }
  whole <- c(3, 4, 77, 10001, -8, -9, -5000)
  ties <- vapply(1:3, function(t) unlist(lapply(whole, tie, t = t)), numeric(14))
  far <- rbind(
    c(1e308, -1e308, 5), c(-.Machine$double.xmax, .Machine$double.xmax, -5), c(5e-324, -5e-324, 0),
    c(0.9, -0.25, 1), c(1 / 3, 0.1, 2 / 3), c(-1, -0.3, -0.2)
  )
  # Their sum of squares is above 2^32.
  rbind(ties, far, far[rep(1L, 300L), ])
}

#' Questions about features of the rows and their products, with loadings that mix periods and with
#' radii within and beyond the rows
#' @noRd
proof_questions <- function(bounds) {
  loadings <- cbind(c(1, 1, 1) / 3, c(0.7, -0.2, 1 / 7))
  map <- row_map_cpp(bounds, loadings, c(0.1, -1 / 30))
  products <- product_map_cpp(bounds, cbind(c(0.3, -1 / 3, 0.05), loadings), c(-0.2, 0.1, -1 / 30))
  squared <- (floor(2^24 * 2^(-12:2 / 2)))^2
  one <- 2^20
  radius <- floor(2^24 / 3)
  asked <- function(kind, map, limit) {
    list(
      kind = kind, map = map, radius = radius, limit = limit,
      zoom = (limit - sqrt(summed_count(map)) / 2) * (1 - 2^-40) / radius
    )
  }
  energy <- list(kind = "energy", squared = squared, inverse = one / squared, one = one)
  list(
    c(energy, list(map = map)), asked("moments", map, 4096),
    c(energy, list(map = products)), asked("sums", products, 2^20)
  )
}

core_sums <- function(rows, bounds) {
  lapply(proof_questions(bounds), function(question) row_sums_cpp(rows, question))
}

#' The engine's answers to the questions, from a temporary table of long rows
#' @noRd
engine_sums <- function(table, rows, bounds) {
  long <- data.frame(
    u = rep(seq_len(nrow(rows)), 3L), t = rep(1:3, each = nrow(rows)), y = as.vector(rows)
  )
  of_made_up(table, long, function(made_up) {
    made_up[c("index", "outcome")] <- list(c("u", "t"), "y")
    made_up$kinds <- list(1L, 1L)
    wide <- make_wide(made_up, list(periods = 1:3), grid_of(bounds))
    on.exit(wide$close())
    lapply(proof_questions(bounds), function(question) ask_table(wide, question, FALSE))
  })
}

#' Answers for the test rows in a temporary table, or `NULL` if they cannot be written
#' @param ask (`function`)\cr a function of a source like `table`, of these rows.
#' @noRd
of_made_up <- function(table, rows, ask) {
  con <- table$con
  name <- fresh_name(table$dialect)
  if (!write_rows(con, name, rows)) {
    return(NULL)
  }
  on.exit(quiet_sql(con, paste("DROP TABLE", quoted(con, name))))
  table[c("from", "fields")] <- list(paste(quoted(con, name), "s"), names(rows))
  # Nobody else can write to these rows.
  table$seen <- NULL
  table$dialect$snapshot <- "alone"
  ask(table)
}
