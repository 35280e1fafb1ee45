# People's rows of a private regression as the core reads them: one table of numbers, or chunks of
# it. What each row becomes depends on that row and on public facts.

#' Rows in memory or in chunks, as numbers
#'
#' @param data (`data.frame` or `dp_chunks` of them, PRIVATE).
#' @param choice (`list`)\cr `subset` and `weights` (expressions or `NULL`), `max_weight`.
#' @return A list: `table` (a matrix, or chunks that give one, PRIVATE) and `n`.
#' @noRd
lm_source <- function(columns, data, choice, clip, call) {
  if (inherits(data, "dp_chunks")) {
    return(lm_chunks(columns, data, choice, clip, call))
  }
  list(table = chosen_rows(columns, data, choice, clip, call), n = nrow(data))
}

#' @noRd
chosen_rows <- function(columns, data, choice, clip, call) {
  table <- lm_table(columns, data, clip, call)
  if (!is.null(choice$weights)) {
    table <- cbind(table, row_weights(choice$weights, data, choice$max_weight, call))
  }
  leave_out(table, choice$subset, data, call)
}

#' Case weights over the largest: one number a row
#' @noRd
row_weights <- function(weights, data, max_weight, call) {
  check_rowwise(weights, call)
  unknown <- setdiff(all.vars(weights), names(data))
  if (length(unknown) || !length(all.vars(weights))) {
    abort(c(
      "{.arg weights} must be a column of {.arg data}, or a function of one row of it.",
      x = if (length(unknown)) "The rows have no column {.code {unknown}}."
    ), "argument", call)
  }
  plain <- lapply(data[all.vars(weights)], function(x) as.vector(unclass(x)))
  value <- tryCatch(suppressWarnings(eval(weights, plain, baseenv())), error = function(e) NULL)
  if (!(is.numeric(value) || is.logical(value)) || length(value) != nrow(data)) {
    abort("{.arg weights} must give one number a row.", "argument", call)
  }
  as.double(value) / max_weight
}

#' The largest case weight that counts: given, or the upper bound of the weights' column
#' @noRd
largest_weight <- function(weights, max_weight, bounds, private, call) {
  if (is.null(weights)) {
    if (!is.null(max_weight)) {
      abort("{.arg max_weight} is only for {.arg weights}.", "argument", call)
    }
    return(1)
  }
  if (is.null(max_weight) && is.symbol(weights)) {
    bound <- bounds[[as.character(weights)]]
    if (is.numeric(bound) && length(bound) == 2L) max_weight <- bound[[2L]]
  }
  if (is.null(max_weight) && !private) {
    return(1)
  }
  if (is.null(max_weight)) {
    abort(c(
      "{.arg weights} need {.arg max_weight}, the largest weight that counts.",
      i = "It is public; larger weights are cut to it, smaller ones lose by it."
    ), "argument", call)
  }
  check_number(max_weight, 0, open = "min", call = call)
}

#' Chunks of numbers from chunks of data frames, after one pass that checks every block
#' @return As `lm_source()`.
#' @noRd
lm_chunks <- function(columns, data, choice, clip, call) {
  sizes <- checksums <- vector("list", data$count)
  n <- 0
  for (i in seq_len(data$count)) {
    block <- read_block(data, i, call)
    if (!is.data.frame(block)) {
      abort(c(
        "Every block must be a data frame.", x = "Block {i} is {describe(block)}."
      ), "data", call)
    }
    table <- chosen_rows(columns, block, choice, clip, call)
    sizes[[i]] <- dim(table)
    checksums[[i]] <- checksum_cpp(table)
    n <- n + nrow(table)
  }
  made <- data
  made$read <- function(i) chosen_rows(columns, data$read(i), choice, clip, NULL)
  made$sizes <- sizes
  made$checksums <- checksums
  list(table = made, n = n)
}
