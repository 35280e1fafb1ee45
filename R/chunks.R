# Donors that come in blocks of rows. Sums over donors are exact integers, so blocks may be read in
# any order and any number: the statistics are the same bit for bit.

#' Donors in chunks
#'
#' For panels that do not fit in memory: a list of matrices, or a function that reads block `i` from
#' a file or a database. [dp_synth()] and [dp_release()] with `method = "gram"` go over the blocks
#' about five times and give the bit-identical statistics of the whole matrix.
#'
#' @param blocks (`list` of `matrix`, or `function`)\cr blocks of donors, each n_i x T in outcome
#'   units. PRIVATE. A function takes the block's number and returns the block; it must return the
#'   same rows each time.
#' @param count (`count`)\cr number of blocks; needed with a function.
#' @param x (`dp_chunks`)\cr donors in chunks.
#' @param ... unused.
#' @return An object of class `dp_chunks`, which holds (or can read) donors: PRIVATE.
#' @section Errors: `dpsc_error_argument`; from the fitting functions `dpsc_error_panel` when a
#'   block cannot be read or does not fit the others.
#' @examples
#' panel <- sim_panel(n = 900, T0 = 10)
#' chunks <- dp_chunks(list(panel$donors[1:400, ], panel$donors[401:900, ]))
#' dp_synth(chunks, target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1))
#' @export
dp_chunks <- function(blocks, count = NULL) {
  call <- public_call("dp_chunks")
  if (is.function(blocks)) {
    count <- check_count(count, 1, call = call)
    read <- blocks
  } else if (is.list(blocks) && !is.data.frame(blocks) && length(blocks) > 0L) {
    if (!is.null(count)) {
      abort("{.arg count} is only for {.arg blocks} that are read by a function.", "argument", call)
    }
    count <- length(blocks)
    read <- function(i) blocks[[i]]
  } else {
    abort(c(
      "{.arg blocks} must be a list of matrices or a function that reads block {.code i}.",
      x = "It is {describe(blocks)}."
    ), "argument", call)
  }
  structure(list(read = read, count = count), class = "dp_chunks")
}

#' @rdname dp_chunks
#' @export
print.dp_chunks <- function(x, ...) {
  cat("Donors in", x$count, "blocks\n")
  invisible(x)
}

#' Read one block; an error of the user's reader is replaced, since it may hold data
#' @noRd
read_block <- function(chunks, i, call = NULL) {
  block <- tryCatch(chunks$read(i), error = function(e) NULL)
  if (is.null(block)) {
    abort(c(
      "Block {i} of the donors could not be read.",
      i = "Call the function that reads it with {i} to see its own error."
    ), "panel", call)
  }
  if (!is.null(chunks$sizes)) {
    same <- is.numeric(block) && identical(dim(block), chunks$sizes[[i]]) &&
      (is_finite_for_sure(block) || all(is.finite(block)))
    if (!same) {
      abort(c(
        "Block {i} of the donors changed between two reads.",
        i = "The function that reads it must return the same rows each time."
      ), "panel", call)
    }
  }
  block
}

#' Build a panel from chunks, after one pass over them that checks every block
#' @inheritParams panel_from_matrix
#' @return A `dpsc_panel` whose `donors` are the chunks.
#' @noRd
panel_from_chunks <- function(x, target, T0, times = NULL, call = NULL) {
  check_given(missing(target), "target", "the treated unit's outcome, one value a period", call)
  check_given(missing(T0), "T0", "the number of periods before the treatment", call)
  n <- 0
  sizes <- vector("list", x$count)
  for (i in seq_len(x$count)) {
    block <- read_block(x, i, call)
    check_donor_matrix(block, call)
    if (i == 1L) {
      # The sizes and periods are those of the first block.
      design <- design_public(target, T0, times, ncol(block), call)
    } else if (ncol(block) != ncol(design$target)) {
      abort(c(
        "All blocks of donors must have the same periods.",
        x = "Block {i} has {ncol(block)} column{?s}, the first has {ncol(design$target)}."
      ), "panel", call)
    }
    check_finite_donors(block, design$times, "donors", call)
    n <- n + nrow(block)
    sizes[[i]] <- dim(block)
  }
  check_donor_count(n, "Rows of the blocks are donors, columns are periods.", call)
  panel <- new_panel_design(
    block, design$target, design$times, design$T0, "outcome", "unit", "time",
    layout = list(source = "chunks", treated = NULL)
  )
  x$sizes <- sizes
  panel$donors <- x
  panel$n <- n
  panel
}

#' Add up a statistic over the blocks of donors
#' @param donors (`matrix` or `dp_chunks`, PRIVATE)\cr donors.
#' @param statistic (`function`)\cr from a matrix of donors to a list of numeric arrays.
#' @return The list of sums. PRIVATE.
#' @noRd
sum_over_donors <- function(donors, statistic) {
  if (!inherits(donors, "dp_chunks")) {
    return(statistic(donors))
  }
  total <- statistic(read_block(donors, 1L))
  for (i in seq_len(donors$count)[-1L]) {
    total <- Map(`+`, total, statistic(read_block(donors, i)))
  }
  total
}
