# A statistic on disjoint blocks of people. The answer of a block is a function of its rows and of
# public values, so one person changes one row of the table of answers.

#' Rows of people, without attributes that depend on all rows (levels, names, groups, an index)
#' @return A plain vector, matrix or data frame. PRIVATE.
#' @noRd
plain_rows <- function(data) {
  if (is.data.frame(data)) {
    check_whole_columns(data, "data")
    columns <- lapply(seq_along(data), function(j) stripped_column(.subset2(data, j)))
    ok <- !vapply(columns, is.null, NA)
    if (!all(ok)) {
      abort(c(
        "Columns of {.arg data} must be plain vectors, factors or dates.",
        x = "{.code {names(data)[!ok]}} {?is/are} of another class.",
        i = "Convert a difference of times by {.code as.numeric(x, units = \"hours\")}."
      ), "data")
    }
    names(columns) <- names(data)
    rows <- length(attr(data, "row.names"))
    return(structure(columns, class = "data.frame", row.names = .set_row_names(rows)))
  }
  if (is.matrix(data) && is.atomic(data)) {
    size <- dim(data)
    names <- colnames(data)
    return(matrix(stripped_column(as.vector(unclass(data))), size[[1L]], size[[2L]],
      dimnames = list(NULL, names)
    ))
  }
  if (is.atomic(data) && is.null(dim(data)) && !is.null(data) && !inherits(data, "difftime")) {
    return(stripped_column(data))
  }
  abort(c(
    "{.arg data} must be a data frame, a matrix or a vector, with one row per person.",
    x = "It is {describe(data)}.",
    i = if (inherits(data, "difftime")) "Convert it by {.code as.numeric(x, units = \"hours\")}."
  ), "data")
}

stripped_column <- function(x) {
  # The unit of a time difference may depend on all rows.
  if (inherits(x, "difftime")) {
    return(NULL)
  }
  if (inherits(x, c("factor", "integer64"))) {
    return(if (is.factor(x)) cell_text(x) else cell_numbers(x))
  }
  if (!is.atomic(x) || !is.null(attr(x, "dim"))) {
    return(NULL)
  }
  kept <- if (inherits(x, c("Date", "POSIXct"))) attributes(x)[c("class", "tzone")]
  attributes(x) <- NULL
  attributes(x) <- Filter(Negate(is.null), kept)
  x
}

#' The rows of each person
#' @param who (`list` or `NULL`)\cr from [check_person()].
#' @return A list: `of` (a list of positions, PRIVATE; `NULL` for one row per person) and `n`.
#'   PUBLIC.
#' @noRd
rows_of_people <- function(data, who) {
  if (is.null(who$column)) {
    return(list(of = NULL, n = rows_of_data(data)))
  }
  if (!is.data.frame(data)) {
    abort("With {.arg person}, {.arg data} must be a data frame.", "data")
  }
  people <- people_of(data, who)
  known <- people$of > 0L
  list(of = unname(split(which(known), people$of[known])), n = people$n)
}

rows_of_data <- function(data) {
  if (is.null(dim(data))) length(data) else nrow(data)
}

#' Answers of all blocks, clipped and scaled to \[0, 1\]
#'
#' Each block starts from a new seed, so that the number of random numbers used for one block does
#' not change the random numbers of the next block. The public fallback replaces an answer that is
#' an error, has the wrong length or is not a number. Messages, warnings and output of the statistic
#' are suppressed.
#' @param order (`numeric`)\cr people in the order in which they fill the blocks.
#' @param rows (`list` or `NULL`, PRIVATE)\cr the rows of each person. `NULL`: one row per person.
#' @return A matrix, blocks by statistics. PRIVATE.
#' @noRd
block_answers <- function(data, statistic, facts, order, seeds, rows = NULL) {
  state <- hold_state()
  on.exit(restore_state(state))
  sizes <- rep(floor(facts$n / facts$blocks), facts$blocks)
  extra <- facts$n - sum(sizes)
  sizes[seq_len(extra)] <- sizes[seq_len(extra)] + 1
  block <- rep(seq_len(facts$blocks), sizes)
  width <- facts$upper - facts$lower
  out <- matrix(0, facts$blocks, length(width))
  for (b in seq_len(facts$blocks)) {
    answer <- block_answer(data, statistic, order[block == b], facts, seeds[3 * (b - 1) + 1:3],
      state, rows)
    lost <- is.nan(answer) | is.na(answer)
    answer[lost] <- facts$fallback[lost]
    out[b, ] <- (pmin(pmax(answer, facts$lower), facts$upper) - facts$lower) / width
  }
  out
}

#' The statistic of one block; with `correct`, minus its bias as estimated from the halves
#' @noRd
block_answer <- function(data, statistic, people, facts, seeds, state, rows = NULL) {
  of <- function(people, seed) {
    between_blocks(state)
    set.seed(seed, kind = "Mersenne-Twister", normal.kind = "Inversion",
      sample.kind = "Rejection")
    part <- take_rows(data, sort(if (is.null(rows)) people else unlist(rows[people])))
    pmin(pmax(quiet_answer(statistic, part, length(facts$lower)), facts$lower), facts$upper)
  }
  whole <- of(people, seeds[[1L]])
  if (!isTRUE(facts$correct) || length(people) < 4L) {
    return(whole)
  }
  # The order is random, so a person's place in the data does not determine the person's half.
  first <- seq_along(people) <= length(people) / 2
  halves <- (of(people[first], seeds[[2L]]) + of(people[!first], seeds[[3L]])) / 2
  ifelse(is.na(halves), whole, 2 * whole - halves)
}

take_rows <- function(data, rows) {
  if (is.null(dim(data))) {
    return(data[rows])
  }
  part <- data[rows, , drop = FALSE]
  if (is.data.frame(part)) attr(part, "row.names") <- .set_row_names(length(rows))
  part
}

#' @return `size` numbers, `NA` for missing numbers.
#' @noRd
quiet_answer <- function(statistic, part, size) {
  stopped <- FALSE
  # Conditions of any class, and the restart "abort", stay within the call.
  answer <- apart_cpp(as.call(list(function() {
    tryCatch(
      suppressMessages(suppressWarnings(plain_answer(statistic(part), size))),
      error = function(e) NULL,
      interrupt = function(e) stopped <<- TRUE
    )
  })))
  if (stopped) rlang::interrupt()
  answer %||% rep(NA_real_, size)
}

#' An answer as plain numbers, or `NULL`, without calling methods of its class, which may fail on
#' some people
#' @noRd
plain_answer <- function(answer, size) {
  if (is.numeric(answer) || is.logical(answer)) {
    answer <- unclass(as.double(answer))
    if (typeof(answer) == "double" && length(answer) == size) answer[seq_len(size)]
  }
}

# A statistic may affect the next block or the caller through the generator's state, options,
# output, messages, plots and the search path.
hold_state <- function() {
  list(
    devices = grDevices::dev.list(), device = grDevices::dev.cur(), search = search(),
    seed = get0(".Random.seed", globalenv(), inherits = FALSE), kind = RNGkind(),
    options = options(), sinks = sink.number(), messages = sink.number(type = "message"),
    silence = file(nullfile(), "w")
  )
}

between_blocks <- function(state) {
  while (sink.number() > state$sinks) sink()
  sink(nullfile())
  sink(state$silence, type = "message")
  added <- setdiff(names(options()), names(state$options))
  options(c(state$options, stats::setNames(vector("list", length(added)), added)))
  options(error = NULL)
  close_new_devices(state)
  for (name in grep("^package:", setdiff(search(), state$search), invert = TRUE, value = TRUE)) {
    detach(name, character.only = TRUE)
  }
  # Plots of a block go to a device without a file.
  grDevices::pdf(NULL)
}

close_new_devices <- function(state) {
  for (device in setdiff(grDevices::dev.list(), state$devices)) grDevices::dev.off(device)
}

restore_state <- function(state) {
  between_blocks(state)
  close_new_devices(state)
  if (state$device > 1L) grDevices::dev.set(state$device)
  sink()
  sink(if (state$messages == 2L) NULL else getConnection(state$messages), type = "message")
  close(state$silence)
  options(error = state$options$error)
  # geterrmessage() would still return the text of the last error.
  try(stop("a statistic failed on some people"), silent = TRUE)
  do.call(RNGkind, as.list(state$kind))
  home <- globalenv()
  if (is.null(state$seed)) {
    rm(".Random.seed", envir = home)
  } else {
    home$.Random.seed <- state$seed
  }
}
