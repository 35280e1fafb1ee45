#' Running sums and counts of a stream of people
#'
#' Releases the running sum or count after every step, under one budget for all steps (continual
#' counting). The noise is exact integer noise; the result contains the distribution and the privacy
#' cost of the noise. See [dp_online()] for the three kinds of noise.
#'
#' Neighbouring streams arise by replacing one entry (one person's row), or with `participation` all
#' entries of one person. If one entry is replaced, a sum changes by at most the width of `bounds`
#' (for several columns, in Euclidean norm), a count changes by at most 1, and counts of categories
#' change by at most 1 in two categories.
#'
#' @inheritParams dp_online
#' @param bounds (`c(lower, upper)`, or a list of such pairs, named by column; PUBLIC)\cr limits to
#'   which values are clipped. A missing value counts as `lower`, and so do the values of the other
#'   columns in its row.
#' @param delta (`number`, in \[0, 1))\cr failure probability. With `delta = 0` the noise is
#'   discrete Laplace noise on trees.
#' @return An object of class `dp_stream_sum`, with the fields described in [dp_online()]. [tidy()]
#'   returns the running sums. For sums, `update()` takes a vector, a matrix or a data frame with
#'   one column per entry of `bounds`. For counts it takes a vector of TRUE/FALSE or 0/1, or of
#'   `categories`. An entry of another class causes no error. In a sum text is read as a number, or
#'   is missing; in counts by category a number belongs to the category that is the same number, and
#'   all other entries belong to no category.
#' @section Errors: `dpsc_error_argument`, `dpsc_error_bounds`, `dpsc_error_budget`.
#' @references
#' Dwork, C., Naor, M., Pitassi, T. and Rothblum, G. (2010). Differential Privacy under Continual
#' Observation. STOC.
#'
#' Honaker, J. (2015). Efficient Use of Differentially Private Binary Trees. TPDP.
#'
#' Fichtenberger, H., Henzinger, M. and Upadhyay, J. (2023). Constant Matters: Fine-grained Error
#' Bound on Differentially Private Continual Observation. ICML.
#' @examples
#' cost <- dp_stream_sum(bounds = c(0, 500), epsilon = 1, delta = 1e-6, horizon = 1000)
#' update(cost, rexp(200, 1 / 80))
#' tail(tidy(cost, conf.int = TRUE), 2)
#' @export
dp_stream_sum <- function(bounds, epsilon, delta = 1e-6, horizon, noise = NULL, batch = FALSE,
                          participation = c(times = 1, apart = 1), ledger = NULL,
                          control = dp_control(), ...) door("dp_stream_sum", pays = TRUE, {
  check_no_dots(...)
  check_given(missing(bounds), "bounds", "public limits of the values")
  if (!is.list(bounds)) bounds <- list(sum = bounds)
  check_bounds_list(bounds)
  ranges <- lapply(names(bounds), function(name) check_range(bounds[[name]], name))
  columns <- list(
    names = names(bounds), lower = vapply(ranges, `[[`, 0, 1L), width = vapply(ranges, diff, 0)
  )
  make_sums("sum", columns, list(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta,
    horizon = if (!missing(horizon)) horizon, noise = noise, batch = batch,
    participation = participation, ledger = ledger, control = control
  ))
})

#' @rdname dp_stream_sum
#' @param categories (`character` or `NULL`, PUBLIC)\cr categories to count; an entry is in at most
#'   one category. `NULL`: entries that are TRUE are counted.
#' @export
dp_stream_count <- function(epsilon, delta = 1e-6, horizon, categories = NULL, noise = NULL,
                            batch = FALSE, participation = c(times = 1, apart = 1), ledger = NULL,
                            control = dp_control(), ...) door("dp_stream_count", pays = TRUE, {
  check_no_dots(...)
  if (!is.null(categories) && (!is.character(categories) || length(categories) < 2L ||
        anyNA(categories) || anyDuplicated(categories))) {
    abort("{.arg categories} must be at least two different names.", "argument")
  }
  names <- as.character(categories %||% "count")
  if (anyDuplicated(block_text(names))) {
    abort(c(
      "Two {.arg categories} must not be spellings of the same number.",
      i = "Recode them as text such as {.val a01}, which no reader takes for a number."
    ), "argument")
  }
  columns <- list(names = names, lower = numeric(length(names)), width = rep(1, length(names)))
  make_sums("count", columns, list(
    epsilon = if (!missing(epsilon)) epsilon, delta = delta,
    horizon = if (!missing(horizon)) horizon, noise = noise, batch = batch,
    participation = participation, ledger = ledger, control = control
  ))
})

#' @param request (`list`)\cr the user's arguments; missing ones are `NULL`.
#' @noRd
make_sums <- function(method, columns, request) {
  check_given(is.null(request$epsilon), "epsilon", "the privacy loss you accept")
  check_given(is.null(request$horizon), "horizon", "the largest number of steps, or Inf")
  steps <- check_horizon(request$horizon)
  batch <- check_flag(request$batch, "batch")
  participation <- check_participation(request$participation)
  budget <- stream_budget(request$epsilon, request$delta, request$ledger, request$control)
  noise <- choose_noise(request$noise, steps, budget)
  size <- length(columns$names)
  plan <- plan_stream(noise, if (method == "sum") "range" else "category", size, steps,
    participation, budget)
  learner <- list(
    method = method, family = "gaussian", columns = as.double(size), radius = 1, clip = 1, ball = 1,
    psi = 1, lambda = 0, damping = 1
  )
  new_stream("dp_stream_sum", paste("running", if (method == "sum") "sums" else "counts"), columns,
    learner, plan, budget, batch, request$ledger)
}

#' @exportS3Method
stream_table.dp_stream_sum <- function(stream, newdata) {
  names <- stream$columns$names
  if (stream$learner$method == "count" && length(names) > 1L) {
    if (!is.atomic(newdata) || is.null(newdata) || length(dim(newdata))) {
      abort(c(
        "A count in categories needs a vector.", x = "It is {describe(newdata)}."
      ), "data")
    }
    # A batch may be one person, so a cell of any class is counted, or is outside all categories.
    if (cell_kind(newdata) == "other") newdata <- rep(NA_character_, length(newdata))
    table <- outer(cell_levels(newdata, names, blocks = TRUE), seq_along(names), `==`) + 0
    table[is.na(table)] <- 0
    return(table)
  }
  if (is.data.frame(newdata)) {
    missing <- setdiff(names, names(newdata))
    if (length(missing)) abort("The rows lack the column{?s} {.code {missing}}.", "data")
    check_whole_columns(newdata, "data")
    newdata <- guessed_columns(newdata)
    columns <- lapply(names, function(name) guessed_numbers(.subset2(newdata, name)))
    newdata <- matrix(unlist(columns), ncol = length(names))
  }
  if (!is.atomic(newdata) || is.null(newdata) ||
      (is.matrix(newdata) && ncol(newdata) != length(names)) ||
      (!is.matrix(newdata) && length(names) != 1L)) {
    abort(c(
      "The rows must be numeric, with one column for each of {.code {names}}.",
      x = "They are {describe(newdata)}."
    ), "data")
  }
  attr(newdata, "dim") <- NULL
  table <- matrix(guessed_numbers(newdata), ncol = length(names))
  sweep(sweep(table, 2L, stream$columns$lower), 2L, stream$columns$width, `/`)
}
