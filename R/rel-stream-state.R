# A stream of people: its promise, its released values, and the entry of rows. The state (sums
# without noise) is in the core, behind a pointer that no file and no fork can copy.

#' @param columns (`list` or `NULL`)\cr the map from a table to numbers.
#' @param learner (`list`)\cr public settings for the core.
#' @param budget (`list`)\cr from `stream_budget()`.
#' @noRd
new_stream <- function(class, what, columns, learner, plan, budget, batch, ledger) {
  shown <- list(what = what, columns = columns, learner = learner, plan = plan, batch = batch)
  start_stream(class, shown, budget, ledger, stream_privacy(budget, plan), function() {
    stream_open_cpp(plan, core_learner(learner))
  })
}

#' A stream, as a release that receives its rows later: it is charged once, and its draw is a state
#' @param shown (`list`, PUBLIC)\cr `what` (the name in a ledger), `plan`, and other fields.
#' @param promise (`list`)\cr the privacy record of the stream. PUBLIC.
#' @param start (`function`)\cr a function that opens the state in the core, with sums without
#'   noise. PRIVATE.
#' @noRd
start_stream <- function(class, shown, budget, ledger, promise, start) {
  made <- make_release(new_request(list(
    plan = function(request) c(shown$plan, list(cost = request$public$cost)),
    promise = function(request, plan) promise, label = function(request, plan) shown$what,
    run = function(request, plan, rows) start()
  ), budget, NULL, ledger))
  stream <- list2env(shown, new.env(parent = emptyenv()))
  stream$rng <- budget$rng
  # Two streams with the same plan are two releases.
  stream$id <- paste(format(state_id_cpp()), collapse = "")
  stream$privacy <- with_charge(made["promise"], made$charge, "promise")$promise
  stream$session <- session_mark()
  stream$state <- made$drawn
  stream$released <- stream_released_cpp(made$drawn)
  structure(stream, class = c(class, "dp_stream"))
}

#' The checked budget of a stream
#' @return A list: `private`, `epsilon`, `delta`, `rho`, `cost`, `rng`. PUBLIC.
#' @noRd
stream_budget <- function(epsilon, delta, ledger, control) {
  budget <- checked_budget(epsilon, delta, ledger, control)
  gaussian <- budget$delta > 0
  rho <- if (!budget$private) {
    Inf
  } else if (gaussian) {
    cdp_rho_cpp(budget$epsilon, budget$delta)
  } else {
    0
  }
  c(budget, list(rho = rho, cost = new_cost("zcdp", budget$epsilon, rho = rho, pure = !gaussian)))
}

#' Public facts of a stream's sums, and the noise that these facts determine
#' @noRd
plan_stream <- function(noise, shape, size, horizon, participation, budget) {
  facts <- list(
    noise = noise, shape = shape, size = as.double(size), horizon = horizon,
    times = participation[["times"]], apart = participation[["apart"]], rho = budget$rho,
    epsilon = if (is.finite(budget$epsilon)) budget$epsilon else 0
  )
  tryCatch(stream_plan_cpp(facts), error = function(e) {
    abort(c(
      "{.arg epsilon} is too small for this stream: the noise would exceed the sampler's range.",
      i = "Give a larger {.arg epsilon}."
    ), "argument")
  })
}

# An unknown horizon is planned as 2^30 steps. The noise is at most 1.5 times the noise with the
# right horizon.
unknown_horizon <- 2^30

check_horizon <- function(horizon) {
  if (identical(horizon, Inf)) unknown_horizon else check_count(horizon, 1, 2^40)
}

check_participation <- function(participation) {
  ok <- is.numeric(participation) && length(participation) == 2L &&
    setequal(names(participation), c("times", "apart"))
  if (!ok) {
    abort(c(
      "{.arg participation} must be two numbers with names, {.code c(times = , apart = )}.",
      x = "It is {describe_value(participation)}."
    ), "argument")
  }
  times <- participation[["times"]]
  apart <- participation[["apart"]]
  c(times = check_count(times, 1, 1000), apart = check_count(apart, 1))
}

choose_noise <- function(noise, horizon, budget) {
  if (is.null(noise)) {
    return(if (budget$rho == 0) "tree" else if (horizon <= 1024) "toeplitz" else "blt")
  }
  noise <- check_choice(noise, c("toeplitz", "tree", "blt"))
  if (budget$rho == 0 && noise != "tree") {
    abort("{.code delta = 0} needs {.code noise = \"tree\"}.", "argument")
  }
  if (noise == "toeplitz" && horizon > 4096) {
    abort(c(
      "{.code noise = \"toeplitz\"} stores the stream: {.arg horizon} can be at most 4,096.",
      i = "{.code noise = \"blt\"} is as accurate, within a thousandth, at any horizon."
    ), "argument")
  }
  noise
}

#' The guarantee of a stream
#' @noRd
stream_privacy <- function(budget, plan) {
  times <- plan$facts$times
  law <- if (plan$gaussian) "discrete_gaussian" else "discrete_laplace"
  neighbours <- if (times == 1) {
    "replace one entry of the stream (one person's row)"
  } else {
    paste0("replace one person's entries, at most ", times, ", at least ", plan$facts$apart,
      " steps apart")
  }
  privacy_facts(budget,
    rho = if (budget$private && budget$delta > 0) budget$rho else NA_real_,
    neighbours = neighbours,
    theorem = if (budget$delta > 0) {
      "running sums under correlated noise, even adaptively (proofs/streams.md, Theorem 1)"
    } else {
      "running sums by binary trees (Dwork et al., 2010; proofs/streams.md, Theorem 1)"
    },
    steps = data.frame(
      step = "running sums", law = law, sensitivity = plan$sensitivity, scale = max(plan$scale),
      epsilon = if (plan$gaussian) NA_real_ else plan$epsilon,
      rho = if (plan$gaussian) plan$rho else NA_real_
    )
  )
}

#' The live state, or an error that explains why it no longer exists
#' @noRd
live_state <- function(stream) {
  if (!is.null(stream$gone)) {
    abort(c(
      "The state of this stream no longer exists: {stream$gone}.",
      i = "The object still contains the released results."
    ), "stream")
  }
  if (!identical(stream$session, session_mark())) {
    abort(c(
      "This stream belongs to another R session, and a copy must not run.",
      x = "In the difference of two continuations their common noise would cancel.",
      i = "Move a stream with {.fn checkpoint} and {.fn resume_stream}."
    ), "stream")
  }
  if (!stream_here_cpp(stream$state)) {
    abort(c(
      "This stream is a copy from a file, which does not contain its state.",
      i = "Move a stream with {.fn checkpoint} and {.fn resume_stream}."
    ), "stream")
  }
  stream$state
}

#' Add rows to a stream
#'
#' Adds rows to a stream, in order and each row once. The noise was planned for the whole horizon,
#' so updates cost nothing beyond the charge at the creation of the stream. A row with a missing
#' value contributes nothing; in [dp_stream_sum()] all values of the row then count as `lower`.
#' There is no message, since a message would reveal the missing value. The steps of an update
#' depend only on the number of rows.
#'
#' @section Each row once:
#' `update()` cannot detect repeated rows. A person with k entries instead of the declared single
#' entry has a privacy loss rho (zero-concentrated differential privacy) that is up to k^2 times as
#' large. You must check the keys of rows, and ensure that a queue delivers each row once. Declare
#' several entries per person by `participation`.
#'
#' @param object (`dp_stream`)\cr from [dp_online()], [dp_stream_sum()] or [dp_stream_count()]. A
#'   stream has reference semantics: the object itself is updated.
#' @param newdata (`data.frame`, or a vector or matrix for sums and counts, PRIVATE)\cr the rows. If
#'   the stream was created with `batch = TRUE`, all rows of a call form one step.
#' @param predict (`flag`)\cr for [dp_online()]: whether to return predictions of the outcome. The
#'   prediction of a row uses the coefficients before the step of this row.
#' @param ... unused.
#' @return The stream, invisibly. With `predict = TRUE` a vector of predictions, which depend on
#'   released values and on the regressors of their rows. Predictions are therefore as confidential
#'   as the rows.
#' @section Errors: `dpsc_error_data` for rows of the wrong form; `dpsc_error_stream` for rows
#'   beyond the horizon, for a copy in another session, or after the state was moved to a file;
#'   `dpsc_error_interrupted` after an interrupt. Its message gives the number of new rows that the
#'   stream contains: continue with the following rows.
#' @seealso [checkpoint()].
#' @examples
#' visits <- dp_stream_count(epsilon = 1, delta = 1e-6, horizon = 52, batch = TRUE)
#' for (week in 1:10) update(visits, rbinom(40, 1, 0.3))
#' visits
#' @importFrom stats update
#' @name update.dp_stream
#' @export
update.dp_stream <- function(object, newdata, predict = FALSE, ...) door("update", {
  check_no_dots(...)
  check_given(missing(newdata), "newdata", "the rows to add")
  predict <- check_flag(predict)
  state <- live_state(object)
  table <- stream_table(object, newdata)
  if (predict && !inherits(object, "dp_online")) {
    abort("Only streams by {.fn dp_online} make predictions.", "argument")
  }
  steps <- if (object$batch) 1 else nrow(table)
  left <- object$plan$facts$horizon - object$released$steps
  if (steps > left) {
    abort(c(
      "The stream would exceed its horizon of {object$plan$facts$horizon} step{?s}.",
      x = "{left} step{?s} {?is/are} left, but {steps} {?was/were} given. No rows were added.",
      i = "Noise was planned for the horizon. A new stream needs a separate budget."
    ), "stream")
  }
  if (!nrow(table) && !object$batch) {
    return(if (predict) numeric() else invisible(object))
  }
  done <- tryCatch(
    stream_advance_cpp(state, table, object$batch, predict, object$rng),
    finally = object$released <- stream_released_cpp(state)
  )
  if (done$taken < nrow(table)) {
    taken <- done$taken
    abort(c(
      "The update was interrupted after {taken} of {nrow(table)} rows.",
      i = "The stream contains the first {taken} row{?s}. Update it with the other rows only."
    ), "interrupted")
  }
  if (left == steps && holds_moments(object) && object$privacy$private) {
    moments <- stream_moments_cpp(state)
    object$doubts <- moment_doubts(object$columns, moments, object$released$rows)
    warn_doubts(object$doubts)
  }
  if (predict) outcome_of_score(object, done$scores) else invisible(object)
})

#' The core's name for a learner's method
#' @noRd
core_learner <- function(learner) {
  learner$method <- mechanism_table$dp_online[[learner$method]]$core %||% learner$method
  learner
}

#' Does a stream contain moments of the rows?
#' @noRd
holds_moments <- function(stream) {
  identical(mechanism_table$dp_online[[stream$learner$method]]$step, "gram")
}

stream_table <- function(stream, newdata) {
  UseMethod("stream_table")
}

#' @exportS3Method
stream_table.dp_online <- function(stream, newdata) {
  table_of_rows(stream$columns, newdata)
}
