# Record and replay: run a mechanism on one panel and write down every noise call; run it on the
# neighbour with the same outputs, and compare what the noise was added to.
#
# Our own mechanisms draw in C++, where a noise object of the same mechanism writes things down.
# They run unchanged, but for their environment: copies of the functions that lead to the core ask
# for that object. The namespace itself is never touched.

#' A recorder of noise calls
#'
#' `hook()` stands for one noise call. When recording it draws and writes down; when replaying it
#' returns what was drawn and writes down the other panel's value. `batch()` stands for a run in C++
#' that writes its own calls down: a function of the outputs to give, `NULL` to draw them.
#' @return An environment: `mode`, `calls` (each with `law`, `scale`, `value`, `output`, and after
#'   a replay `other`), `places` (positions that were drawn), `moved` (function of such positions:
#'   where the same people stand in the other panel), `hook`, `batch`.
#' @noRd
new_recorder <- function() {
  recorder <- new.env(parent = emptyenv())
  recorder$moved <- identity
  recorder$start <- function(mode) {
    recorder$mode <- mode
    recorder$position <- 0L
    recorder$placed <- 0L
    if (mode == "record") recorder$calls <- recorder$places <- list()
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
    public <- c("law", "scale", "offset")
    if (is.null(known) || !identical(known[public], call[public]) ||
          length(known$value) != length(call$value)) {
      stop_diverged()
    }
    recorder$calls[[i]]$other <- call
    known
  }
  recorder$batch <- function(run, moments = FALSE) {
    if (recorder$mode == "record") {
      result <- run(NULL)
      recorder$calls <- c(recorder$calls, lapply(result$calls, c, moments = moments))
      recorder$places <- c(recorder$places, result$places)
    } else {
      later <- recorder$calls[seq_along(recorder$calls) > recorder$position]
      left <- recorder$places[seq_along(recorder$places) > recorder$placed]
      places <- lapply(left, recorder$moved)
      result <- tryCatch(
        run(structure(lapply(later, `[[`, "output"), places = places)),
        `dpsc::replay_diverged` = function(e) stop_diverged()
      )
      for (i in seq_along(result$calls)) {
        recorder$match(recorder$position + i, result$calls[[i]])
      }
    }
    recorder$position <- recorder$position + length(result$calls)
    recorder$placed <- recorder$placed + length(result$places)
    result
  }
  recorder
}

stop_diverged <- function() {
  stop(structure(
    class = c("dpsc_replay_diverged", "error", "condition"),
    list(message = "The sequence of noise calls depends on the panel.", call = NULL)
  ))
}

#' Record on one panel, replay on the other
#' @param hooked (`list`)\cr `recorder` and `run`, a function of a panel.
#' @return The recorded calls, each with `other`; or `NULL` if the sequences differ. Attribute
#'   `result`: what the mechanism returned. PRIVATE.
#' @noRd
record_and_replay <- function(hooked, from, to) {
  hooked$recorder$start("record")
  result <- hooked$run(from)
  hooked$recorder$start("replay")
  same <- tryCatch(
    {
      hooked$run(to)
      hooked$recorder$position == length(hooked$recorder$calls)
    },
    dpsc_replay_diverged = function(e) FALSE
  )
  if (same) structure(hooked$recorder$calls, result = result)
}

#' A mechanism whose noise calls are recorded
#' @return A list: `recorder`, `run` (function of a panel), `steps` (function of a result: declared
#'   sensitivities).
#' @noRd
as_hooked <- function(mechanism, ...) {
  recorder <- new_recorder()
  if (is.function(mechanism)) {
    if (length(formals(mechanism)) < 2L) {
      abort(c(
        "To be replayed, {.arg mechanism} must take its noise from its second argument.",
        i = "Write {.code function(panel, add_noise)}; see {.code ?dp_audit} for its arguments."
      ), "argument")
    }
    return(list(
      recorder = recorder, run = function(panel) mechanism(panel, users_noise(recorder), ...)
    ))
  }
  scope <- hooked_namespace(recorder)
  list(
    recorder = recorder, ours = TRUE,
    run = function(panel) run_release(mechanism, panel, scope)$privacy
  )
}

#' What a user's mechanism calls to add noise
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

#' The namespace with recorded noise: copies of the functions that lead to a noise call
#'
#' Every noise call must pass one of the hooks; R's way to the samplers stops, so that noise which
#' is drawn elsewhere does not go unaudited. Functions that draw nothing stay as they are (a copy
#' would be interpreted, not compiled).
#' @param changes (`list` of functions)\cr further replacements, for tests.
#' @return An environment whose parent is the namespace.
#' @noRd
hooked_namespace <- function(recorder, changes = list()) {
  namespace <- topenv()
  unaudited <- function(...) stop("A sampler was called outside the audited noise functions.")
  replaced <- c(noise_hooks(recorder), list(
    discrete_gaussian_cpp = unaudited, discrete_laplace_cpp = unaudited,
    gaussian_noise_cpp = unaudited, gamma_norm_noise_cpp = unaudited
  ))
  replaced[names(changes)] <- changes
  scope <- new.env(parent = namespace)
  for (name in functions_that_reach(names(replaced), namespace)) {
    value <- get(name, envir = namespace)
    environment(value) <- scope
    assign(name, value, scope)
  }
  for (name in names(replaced)) assign(name, replaced[[name]], scope)
  scope
}

#' Names of the namespace's functions that mention these names, directly or through others
#' @noRd
functions_that_reach <- function(names, namespace) {
  all <- mget(ls(namespace, all.names = TRUE), envir = namespace)
  own <- vapply(all, function(x) {
    is.function(x) && identical(environment(x), namespace)
  }, logical(1))
  mentioned <- lapply(all[own], function(f) unique(all.names(body(f))))
  reaching <- names
  repeat {
    hit <- vapply(mentioned, function(words) any(words %in% reaching), logical(1))
    more <- setdiff(names(mentioned)[hit], reaching)
    if (length(more) == 0L) {
      return(setdiff(reaching, names))
    }
    reaching <- c(reaching, more)
  }
}

#' @noRd
noise_hooks <- function(recorder) {
  list(
    gram_release_cpp = core_hook(recorder), cohort_release_cpp = cohort_hook(recorder),
    treated_release_cpp = function(rows, group, statistics, scale, rng) {
      recorder$batch(function(outputs) {
        treated_audit_cpp(rows, group, statistics, scale, rng, outputs)
      }, moments = TRUE)$statistics
    },
    treated_control_cpp = function(donors, group, treated, scale, rng) {
      recorder$batch(function(outputs) {
        treated_control_audit_cpp(donors, group, treated, scale, rng, outputs)
      }, moments = TRUE)$statistics
    },
    weights_release_cpp = function(donors, scale, y, plan, rng) {
      recorder$batch(function(outputs) {
        weights_audit_cpp(donors, scale, y, plan, rng, outputs)
      })$statistics
    }
  )
}

#' What stands for a release by method gram: the same in C++, its noise calls written down
#' @param doubled (`flag`)\cr plant a fault: the first row is there twice.
#' @param tamper (`function`)\cr of the facts and the recorder's mode; for planted faults.
#' @noRd
core_hook <- function(recorder, doubled = FALSE, tamper = function(facts, mode) facts) {
  function(donors, facts, scale, options, rng) {
    facts <- tamper(facts, recorder$mode)
    recorder$batch(function(outputs) {
      gram_audit_cpp(donors, facts, scale, options, rng, outputs, doubled)
    }, moments = TRUE)$statistics
  }
}

#' The same for several adoption dates
#' @param tamper (`function`)\cr of the donors and the recorder's mode; for planted faults.
#' @noRd
cohort_hook <- function(recorder, tamper = function(donors, mode) donors) {
  function(donors, facts, dates, scale, options, rng) {
    donors <- tamper(donors, recorder$mode)
    recorder$batch(function(outputs) {
      cohort_audit_cpp(donors, facts, dates, scale, options, rng, outputs)
    }, moments = TRUE)$statistics
  }
}

#' How far a replayed call's value moved, in the norm that its noise law prices
#' @noRd
call_shift <- function(call) {
  move <- call$other$value - call$value
  switch(call$law,
    # Range of the log-ratios: losses may move all candidates alike at no cost.
    exponential = call$scale * (max(move) - min(move)),
    discrete_laplace = , laplace = sum(abs(move)),
    discrete_gaussian = sqrt(sum(move^2 * max(call$scale) / call$scale)),
    sqrt(sum(move^2))
  )
}

#' The sensitivity that a call's noise was calibrated for, in the noise's own units
#'
#' Of what a step says of itself and of what its noise pays for at its cost, the smaller.
#' @param step (`data.frame`, one row)\cr of the release's record.
#' @noRd
call_declared <- function(call, step) {
  if (!is.null(call$sensitivity)) {
    return(call$sensitivity)
  }
  if (isTRUE(call$moments)) {
    return(moments_declared(call, step))
  }
  switch(call$law,
    discrete_gaussian = sqrt(2 * step$rho * max(call$scale)),
    step$sensitivity
  )
}

#' The same for a step of method gram (proofs/accounting.md, sections 1 and 2)
#' @noRd
moments_declared <- function(call, step) {
  largest <- max(call$scale)
  gaussian <- !is.na(step$mu)
  switch(call$law,
    # Each entry's variance must cover 16 more than the shift needs.
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
    # Declared sensitivities are public but may follow earlier releases.
    best$ratio <- do.call(pmax, lapply(runs, `[[`, "ratio"))
    best
  }
  worst <- if (steady) max(0, table$ratio) else Inf
  list(
    observed = list(ratio = worst), violated = !(worst <= 1 + 1e-9),
    note = if (!steady) "The sequence of noise calls depends on the panel.", table = table
  )
}

#' One record and replay as a table: a row a noise call
#' @noRd
replayed_calls <- function(hooked, from, to) {
  calls <- record_and_replay(hooked, from, to)
  if (is.null(calls)) {
    return(NULL)
  }
  steps <- if (isTRUE(hooked$ours)) attr(calls, "result")$steps
  if (!is.null(steps) && !identical(vapply(calls, `[[`, "", "law"), steps$law)) {
    abort("The release's record does not list the noise calls that were made.", "internal")
  }
  rows <- lapply(seq_along(calls), function(k) {
    call <- calls[[k]]
    observed <- call_shift(call)
    declared <- call_declared(call, steps[k, ])
    data.frame(
      call = if (is.null(steps)) paste("call", k) else steps$step[[k]], law = call$law,
      size = length(call$value), declared = declared, observed = observed,
      ratio = if (observed == 0) 0 else observed / declared
    )
  })
  account_rows(do.call(rbind, rows), steps$account)
}

#' Steps by account: one person is in one group, and moves the steps of its account only
#' @param account (`character` or `NULL`)\cr of each step.
#' @noRd
account_rows <- function(table, account) {
  if (is.null(account)) {
    return(table)
  }
  table$account <- account
  moved <- table$observed > 0
  if (length(unique(account[moved])) > 1L) table$ratio[moved] <- Inf
  table
}
