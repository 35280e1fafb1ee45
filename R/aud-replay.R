# Record and replay: run a mechanism on one panel and record every noise call, run it on the
# neighbour with the same outputs, and compare the values before noise.
#
# The package draws its noise in C++. For an audit, an external pointer replaces the name of the
# generator; it records each call, or returns the recorded answers.

#' A recorder of noise calls
#'
#' `noise` is passed to the package's verbs. `hook()` represents one noise call of a user's
#' function. While recording, `hook()` draws and stores the noise; in a replay it returns the stored
#' noise and stores the other panel's value.
#' @return An environment with `mode`; `calls` (each with `law`, `scale`, `value`, `output`, and
#'   after a replay `other`); `places` (drawn positions); `moved` (a function from these positions
#'   to the same people's positions in the other panel); `noise` and `hook`.
#' @noRd
new_recorder <- function() {
  recorder <- new.env(parent = emptyenv())
  recorder$moved <- identity
  recorder$start <- function(mode) {
    recorder$mode <- mode
    recorder$position <- 0L
    if (mode == "record") {
      recorder$calls <- recorder$places <- list()
      recorder$noise <- noise_recorder_cpp("R")
    } else {
      noise_replay_cpp(
        recorder$noise, lapply(recorder$calls, `[[`, "output"),
        lapply(recorder$places, recorder$moved)
      )
    }
  }
  recorder$hook <- function(law, scale, value, draw, ...) {
    recorder$position <- recorder$position + 1L
    i <- recorder$position
    call <- list(law = law, scale = scale, value = value, ...)
    if (recorder$mode == "record") {
      call$output <- draw()
      recorder$calls[[i]] <- call
      return(call$output)
    }
    recorder$match(i, call)$output
  }
  recorder$match <- function(i, call) {
    known <- if (i <= length(recorder$calls)) recorder$calls[[i]]
    public <- c("label", "law", "scale", "offset")
    if (is.null(known) || !identical(known[public], call[public]) ||
          length(known$value) != length(call$value)) {
      stop_diverged()
    }
    recorder$calls[[i]]$other <- call
    known
  }
  recorder$collect <- function() {
    written <- noise_calls_cpp(recorder$noise)
    if (recorder$mode == "record") {
      recorder$places <- c(recorder$places, written$places)
      recorder$calls <- c(recorder$calls, written$calls)
    } else {
      for (i in seq_along(written$calls)) recorder$match(i, written$calls[[i]])
    }
    recorder$position <- recorder$position + length(written$calls)
  }
  recorder
}

stop_diverged <- function() {
  stop(structure(
    class = c("dpsc_replay_diverged", "error", "condition"),
    list(message = "The sequence of noise calls depends on the panel.", call = NULL)
  ))
}

#' Record calls on one panel and replay them on the other panel
#' @param hooked (`list`)\cr `recorder`, and `run`, a function of a panel.
#' @return The recorded calls, each with `other`, or `NULL` if the sequences of calls differ.
#'   Attribute `result` is the value of the mechanism, and `again` its value in the replay. PRIVATE.
#' @noRd
record_and_replay <- function(hooked, from, to) {
  recorder <- hooked$recorder
  recorder$start("record")
  # A user may have stored the pointer, so it must not lead to values of a panel.
  on.exit(noise_close_cpp(recorder$noise))
  result <- hooked$run(from)
  recorder$collect()
  recorder$start("replay")
  again <- NULL
  same <- tryCatch(
    {
      again <- hooked$run(to)
      recorder$collect()
      recorder$position == length(recorder$calls)
    },
    error = function(e) {
      told <- inherits(e, "dpsc_replay_diverged") || noise_calls_cpp(recorder$noise)$diverged
      if (told) FALSE else stop(e)
    }
  )
  if (same) structure(recorder$calls, result = result, again = again)
}

#' A mechanism whose noise calls are recorded
#' @return A list: `recorder`; `run`, a function of a panel; `steps`, a function from a result to
#'   its declared sensitivities.
#' @noRd
as_hooked <- function(mechanism, ...) {
  recorder <- new_recorder()
  if (is.function(mechanism)) {
    if (length(formals(mechanism)) < 2L) {
      abort(c(
        "In mode {.val replay}, {.arg mechanism} must have a second argument that adds all noise.",
        i = paste(
          "Write {.code function(panel, add_noise)}. The help page {.code ?dp_audit} describes",
          "{.code add_noise()}."
        )
      ), "argument")
    }
    return(list(
      recorder = recorder, run = function(panel) mechanism(panel, users_noise(recorder), ...)
    ))
  }
  if (is.function(mechanism$verb)) return(hooked_verb(mechanism, recorder))
  list(
    recorder = recorder, ours = TRUE,
    run = function(panel) run_release(handing(mechanism, recorder$noise), panel)$privacy
  )
}

#' Noise function for a user's mechanism
#' @noRd
users_noise <- function(recorder) {
  function(value, scale, sensitivity, law = c("gaussian", "laplace", "gamma_norm")) {
    law <- check_choice(law, c("gaussian", "laplace", "gamma_norm"))
    check_number(scale, 0, open = "min")
    check_number(sensitivity, 0)
    d <- length(value)
    recorder$hook(law, scale, as.double(value), function() {
      value + switch(law,
        gaussian = stats::rnorm(d, sd = scale),
        laplace = scale * stats::rexp(d) * sample(c(-1, 1), d, replace = TRUE),
        gamma_norm = {
          direction <- stats::rnorm(d)
          direction / sqrt(sum(direction^2)) * stats::rgamma(1L, d, scale = scale)
        }
      )
    }, sensitivity = sensitivity)
  }
}

#' One of the package's releases with the audit's noise
#' @noRd
handing <- function(mechanism, noise) {
  mechanism$control$rng <- noise
  mechanism
}

#' The change in a replayed call's value, in the norm for its noise
#' @noRd
call_shift <- function(call) {
  move <- call$other$value - call$value
  switch(call$law,
    # The effect is the range of the log-ratios, since an equal change of all losses has no effect.
    exponential = call$scale * (max(move) - min(move)),
    discrete_laplace = , laplace = sum(abs(move)),
    discrete_gaussian = sqrt(sum(move^2 * max(call$scale) / call$scale)),
    sqrt(sum(move^2))
  )
}

#' The sensitivity for which the noise of a call was calibrated, in units of the noise
#'
#' The smaller of two values: the declared sensitivity of the step, and the sensitivity that its
#' noise covers at its cost.
#' @param step (`data.frame`, one row)\cr a step of the release's record.
#' @noRd
call_declared <- function(call, step) {
  if (!is.null(call$sensitivity)) {
    return(call$sensitivity)
  }
  if (!isTRUE(call$label %in% weights_calls)) return(moments_declared(call, step))
  switch(call$law,
    discrete_gaussian = sqrt(2 * step$rho * max(call$scale)),
    step$sensitivity
  )
}

# These steps round their numbers to a separate grid; their sensitivities are in outcome units.
weights_calls <- c(
  "ridge weights", "linear term of the objective", "accuracy of the solver", "post-period outcomes"
)

#' The sensitivity covered by a step of method gram (proofs/accounting.md, sections 1 and 2)
#' @noRd
moments_declared <- function(call, step) {
  largest <- max(call$scale)
  gaussian <- !is.na(step$mu)
  switch(call$law,
    # The variance of each entry must be at least 16 above the variance that the shift requires.
    discrete_gaussian = min(
      step$sensitivity, step$mu * sqrt(max(0, largest - 16 * largest / min(call$scale)))
    ),
    discrete_laplace = min(step$sensitivity, step$epsilon * min(call$scale)),
    exponential = min(
      1 / step$scale, if (gaussian) exponential_exponent_cpp(step$mu) else step$epsilon
    )
  )
}

#' @noRd
audit_replay <- function(hooked, pair, n_runs) {
  runs <- repeat_runs(n_runs, function(i) {
    sides <- if (i %% 2L == 1L) pair else rev(pair)
    replayed_calls(hooked, sides[[1L]], sides[[2L]])
  })
  same <- !vapply(runs, is.null, logical(1))
  sizes <- vapply(runs[same], nrow, integer(1))
  steady <- all(same) && length(unique(sizes)) == 1L
  table <- if (steady) {
    best <- runs[[1L]]
    best$observed <- do.call(pmax, lapply(runs, `[[`, "observed"))
    # The declared sensitivities are public but may depend on earlier releases.
    best$ratio <- do.call(pmax, lapply(runs, `[[`, "ratio"))
    best
  }
  worst <- if (steady) max(0, table$ratio, na.rm = TRUE) else Inf
  # An argument that is infinite with both data sets has no known shift.
  unknown <- anyNA(table$ratio)
  list(
    observed = list(ratio = worst),
    violated = if (worst <= 1 + 1e-9) if (unknown) NA else FALSE else TRUE,
    note = if (!steady) {
      "The sequence of noise calls depends on the panel."
    } else if (unknown) {
      "A call's argument is no finite number, so its change is not known."
    }, table = table
  )
}

#' One record and replay as a table: one row per noise call
#' @noRd
replayed_calls <- function(hooked, from, to) {
  calls <- record_and_replay(hooked, from, to)
  if (is.null(calls)) return(NULL)
  if (isTRUE(hooked$verb)) return(verb_rows(calls))
  steps <- if (isTRUE(hooked$ours)) attr(calls, "result")$steps
  if (!is.null(steps) && !identical(vapply(calls, `[[`, "", "law"), steps$law)) {
    abort("The noise calls differ from the list in the release's record.", "internal")
  }
  rows <- lapply(seq_along(calls), function(k) {
    call <- calls[[k]]
    observed <- call_shift(call)
    declared <- call_declared(call, steps[k, ])
    frame_of(
      call = if (is.null(steps)) paste("call", k) else steps$step[[k]], law = call$law,
      size = length(call$value), declared = declared, observed = observed,
      ratio = if (observed == 0) 0 else observed / declared
    )
  })
  account_rows(do.call(rbind, rows), steps$account)
}
