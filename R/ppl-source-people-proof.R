# The test of an engine for sums over people: on generated rows, before the first use of the engine.

#' Test an engine on questions of a regression, once per table
#'
#' The test uses about forty rows with ties of the grid and neighbours of ties, values outside the
#' ranges, the largest and the smallest doubles, missing values, levels that are not public, weights
#' and products. Copies of one row make sums that do not fit into 32 bits. The integers of the
#' engine must equal the integers of the core.
#' @section Errors: `dpsc_error_engine`.
#' @param person (`flag`)\cr whether the test is for people with several rows.
#' @noRd
prove_people <- function(table, person = FALSE) {
  proved <- if (person) "proved_persons" else "proved_people"
  if (isTRUE(table$state[[proved]])) {
    return(invisible())
  }
  made <- proof_people(person)
  found <- tryCatch(engine_people(table, made), dpsc_error = function(e) NULL)
  check_proof(found, core_people(made))
  table$state[[proved]] <- TRUE
}

#' Simulated people, and questions about these people. PUBLIC.
#' @return A list: `rows`, `columns`, `choice`, `questions`.
#' @noRd
proof_people <- function(person = FALSE) {
  bounds <- list(y = c(-3, 8), x = c(-1, 1), v = c(1 / 3, 0.7), g = c("a", "b", "c"))
  columns <- lm_columns(y ~ x + v + g + I(x^2) + x:v + I(v > 0.5), bounds)
  columns$weighted <- TRUE
  if (person) columns$person <- list(declared = FALSE, column = "id")
  design <- lm_design(columns)
  far <- c(
    1e308, -1e308, .Machine$double.xmax, 5e-324, -5e-324, 0, 0.5, 1 / 3, 0.1, -0.9, 0.7, -2.5
  )
  last <- length(design$centre)
  steps <- proof_middle + 20 + 0:9
  x <- c(grid_ties(design, 1L, steps), far, far / 2, NA)
  n <- length(x)
  every <- function(values) rep_len(values, n)
  rows <- data.frame(
    x = x, v = every(c(rev(grid_ties(design, 2L, steps)), 0.4, 0.5, 2, -1, 0.51, 0.5 + 2^-40)),
    g = every(c("a", "b", "c", "b", "B", "a")),
    y = every(c(7.99, rev(far), grid_ties(design, last, steps), 3, -1)),
    w = every(c(1, 0.3, 2, 5, 1e-300, 0, -1, 1.9999, 0.1)), stringsAsFactors = FALSE
  )
  rows$y[[9L]] <- NA
  # The products of these rows sum to more than 2^32.
  large <- rows[rep(40L, 400L), ]
  if (person) {
    rows <- proof_rows_shared(rows)
    large$id <- 2000 + seq_len(nrow(large))
  }
  rows <- rbind(rows, large)
  choice <- list(
    subset = quote(!(g == "c" | g == "d") | x > -0.25), weights = quote(w), max_weight = 2
  )
  list(rows = rows, columns = columns, choice = choice, questions = proof_asked(columns))
}

#' The same rows for people with one to nine rows, some identical, and one row without a person
#' @noRd
proof_rows_shared <- function(rows) {
  n <- nrow(rows)
  rows$id <- c(NA, rep(seq_len(n), rep_len(c(1, 3, 2, 7, 1, 9), n))[seq_len(n - 1L)])
  more <- rows[rows$id %in% 2:6, ]
  more$id <- more$id + 1000
  twice <- rows[rows$id %in% 7:9, ]
  rbind(rows, more, more, twice)
}

# The range, in grid steps, in which ties of the grid are searched.
proof_middle <- 980

#' Neighbouring numbers between which the rounded cell changes
#' @noRd
grid_ties <- function(design, j, steps) {
  centre <- design$centre[[j]]
  half <- design$half[[j]]
  unlist(lapply(steps, function(k) {
    tie <- centre + (k + 0.5) * half / grid_one
    near <- tie + 2^(floor(log2(abs(tie))) - 52) * (-40:40)
    magic <- 1.5 * 2^52
    cell <- (((near - centre) / half) * grid_one + magic) - magic
    near[which(diff(cell) != 0)[[1L]] + 0:1]
  }))
}

#' Questions of all kinds, with radii and clips within and beyond the rows
#' @noRd
proof_asked <- function(columns) {
  design <- lm_design(columns)
  p <- length(design$columns)
  count <- length(design$indicator)
  located <- ifelse(design$indicator, 0, 1)
  location <- list(
    median = located * seq(-0.2, 0.3, length.out = count),
    scale = ifelse(design$indicator, 1, seq(0.31, 0.83, length.out = count))
  )
  whiten <- outer(seq_len(p), seq_len(p), function(i, j) ifelse(i >= j, 1 / (1 + i + j), 0))
  made <- people_map_cpp(design, location, whiten, seq(-0.5, 0.4, length.out = p))
  steps <- function(x) floor(x / made$unit)
  round <- c(location, list(
    map = made$map, gain = made$gain, radius = steps(0.7), clip = steps(1.1), limit = 4096,
    residual_limit = 2500, constant = 1448, score_limit = 2048
  ))
  round$keep <- 1 - 1.1 * ((p + 2) / (sqrt(2) * (4096^2 + 2500^2 + 1448^2)))
  round$zoom <- (4096 - sqrt(p) / 2) * (1 - 2^-40) / round$radius
  round$residual_zoom <- round$residual_limit / round$clip
  round$score_zoom <- (2048 - sqrt(p + 1) / 2) * (1 - 2^-40) / sqrt(4096^2 + 1448^2) / 2500
  asked <- function(kind, ...) c(list(kind = kind), list(...), round)
  list(
    list(kind = "medians", cells = 64, width = 2^15),
    # Ties make every step of the grid matter.
    list(kind = "scales", middle = rep(proof_middle, sum(!design$indicator)), limits = 0:60),
    list(
      kind = "scales", middle = c(1000, -70000, 5),
      limits = floor(2^20 * 2^seq(-9, 1, by = 0.25))
    ),
    asked("lengths", limits = steps(2^seq(-4, 2, by = 0.25))^2),
    asked("residuals", limits = steps(2^seq(-4, 2, by = 0.5))), asked("outer"), asked("scores")
  )
}

core_people <- function(made) {
  rows <- chosen_rows(made$columns, made$rows, made$choice, TRUE)
  who <- made$columns$person
  if (!is.null(who)) rows <- rows_by_person(rows, people_of(made$rows, who))$table
  lapply(made$questions, function(question) {
    people_sums_cpp(rows, lm_design(made$columns), question)
  })
}

#' The engine's answers to the questions, from a temporary table
#' @noRd
engine_people <- function(table, made) {
  of_made_up(table, made$rows, function(made_up) {
    people <- make_people(made_up, made$columns, made$choice)
    on.exit(people$close())
    lapply(made$questions, function(question) ask_people(people, question, FALSE))
  })
}
