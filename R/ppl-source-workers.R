# Sources in other processes. They answer the core's questions with sums; the coordinator adds these
# sums and draws the noise. A process that stores rows for a coordinator draws no noise.

#' Donors in worker processes
#'
#' Each worker opens a part of the data, such as a shard of a table, some files or a block of rows.
#' The worker returns sums of integers, and the coordinating process adds these sums. The release is
#' equal, bit for bit, to the release from all rows in one place.
#'
#' **One process draws the noise**: the process that calls [dp_release()]. In a worker
#' [dp_release()], [dp_synth()] and [dp_lm()] stop with an error, since every process that adds
#' noise to the same sums would make another release that no ledger records. A worker serves one
#' release at a time. With MPI (`parallel::makeCluster(type = "MPI")`) rank 0 should be the
#' coordinator: only rank 0 receives the sums. After an interrupt of any call on a cluster of
#' sockets, later calls are refused: make a new cluster.
#'
#' Sums leave a worker *without noise*: the operators of the cluster and the connections between its
#' machines must be trusted.
#'
#' @param cluster (`cluster`)\cr from [parallel::makeCluster()], `mirai::make_cluster()`, or another
#'   cluster that [parallel::clusterApply()] accepts. dpsc must be installed in the workers'
#'   library.
#' @param open (`function`)\cr a function that is called in worker `i` with argument `i` and returns
#'   the worker's rows: a [dp_table()], [dp_files()], [dp_chunks()] or a matrix; for [dp_lm()] a
#'   table, files or a data frame. The function must open a new connection, since connections cannot
#'   be sent to workers.
#' @param calibrate (`flag`)\cr whether the rows of at most 10,000 people (with a small `epsilon` at
#'   most 100,000) may be sent to the coordinator for the calibration of intervals, and the rows of
#'   protected treated people for their rounds.
#' @param ... unused; an unknown argument causes an error.
#' @return A `dp_source`, for [dp_synth()], [dp_release()], [dp_lm()] and [dp_sources()]. PRIVATE.
#' @section Errors: `dpsc_error_argument`; `dpsc_error_worker` for a worker that fails, is busy, or
#'   is called to draw noise.
#' @seealso [dp_table()].
#' @examples
#' \donttest{
#' panel <- sim_panel(n = 500, T0 = 10)
#' cluster <- parallel::makeCluster(2)
#' shards <- list(panel$donors[1:250, ], panel$donors[251:500, ])
#' workers <- dp_workers(cluster, function(i) shards[[i]], calibrate = TRUE)
#' dp_synth(workers, target = panel$target, T0 = 10, epsilon = 1, bounds = c(-1, 1))
#' parallel::stopCluster(cluster)
#' }
#' @export
dp_workers <- function(cluster, open, calibrate = FALSE, ...) door("dp_workers", {
  check_no_dots(...)
  need_package("parallel", "dp_workers()")
  if (!inherits(cluster, "cluster") || !length(cluster)) {
    abort(c(
      "{.arg cluster} must come from {.fn parallel::makeCluster} or a similar function.",
      x = "It is {describe(cluster)}."
    ), "argument")
  }
  if (!is.function(open)) {
    abort(c(
      "{.arg open} must be a function that returns the source of worker {.code i}.",
      x = "It is {describe(open)}."
    ), "argument")
  }
  out <- structure(list(
    cluster = cluster, compute = "database", calibrate = check_flag(calibrate),
    opening = worker_token()
  ), class = c("dp_workers", "dp_source"))
  ask_workers(out, "open", lapply(seq_along(cluster), function(i) list(open = open, i = i)))
  out
})

#' Give all workers their tasks at the same time
#'
#' Not every cluster gives the work of its k-th node to the same process each time (mirai's cluster
#' uses any free process). If a process answered for two workers, its people would be counted twice,
#' and other people would be omitted. Therefore every process stores its worker, does the task of
#' this worker, and names the worker in its answer. A worker without an answer is called again.
#' @param tasks (`list`)\cr arguments, one list per worker.
#' @return A list, one answer per worker.
#' @section Errors: `dpsc_error_worker`, or the class of a package error in a worker.
#' @noRd
ask_workers <- function(workers, task, tasks, charged = FALSE) {
  count <- length(workers$cluster)
  answers <- vector("list", count)
  for (attempt in seq_len(50L)) {
    left <- which(vapply(answers, is.null, NA))
    if (!length(left)) break
    given <- if (task == "open") tasks[rep_len(left, count)] else rep(list(tasks), count)
    call <- worker_token()
    found <- tryCatch(
      keep_seed(send_tasks(workers$cluster, given, task, workers$opening, call)),
      error = function(e) NULL
    )
    check_answers(found, call, charged)
    errors <- Filter(function(x) !is.null(x$error), found)
    if (length(errors)) {
      abort(c(
        "A worker failed.", x = "{errors[[1L]]$error}",
        i = if (charged) charge_stays
      ), unique(c(errors[[1L]]$class, "worker", "panel")))
    }
    for (x in found) answers[[x$index]] <- x
  }
  if (any(vapply(answers, is.null, NA))) {
    abort_workers(
      "The cluster does not send tasks to all workers.",
      "Give a cluster of {.fn parallel::makeCluster}, or check the workers.", charged
    )
  }
  lapply(answers, `[[`, "value")
}

send_tasks <- function(cluster, given, task, opening, call) {
  parallel::clusterApply(cluster, given, worker_task, task = task, opening = opening, call = call)
}

#' Refuse answers to other calls
#'
#' After an interrupt of any call on a cluster of sockets, its answers are still in the sockets, and
#' each later call would read the answers to the call before.
#' @param call (`string`)\cr the token of this call, which every answer must contain.
#' @noRd
check_answers <- function(found, call, charged) {
  is_answer <- vapply(found, inherits, NA, "dpsc_answer")
  calls <- lapply(found[is_answer], `[[`, "call")
  if (all(is_answer) && length(found) && all(vapply(calls, identical, NA, call))) {
    return(invisible())
  }
  if (any(is_answer)) {
    abort_workers(
      "The workers answered an earlier call, which was interrupted.",
      "Make a new cluster, and call {.fn dp_workers} again.", charged
    )
  }
  abort_workers(
    "A worker did not answer.", paste(
      "Check that dpsc is installed in the workers' library. If a call on the cluster was",
      "interrupted or a worker has stopped, make a new cluster."
    ), charged
  )
}

abort_workers <- function(fault, mend, charged) {
  abort(c(fault, i = mend, i = if (charged) charge_stays), c("worker", "panel"))
}

#' Do a task in a worker; a package error is passed on, any other error is replaced
#' @param given (`list`)\cr for opening: `open` and `i`; otherwise the arguments of all workers.
#' @param opening (`string`)\cr the identity of the [dp_workers()].
#' @param call (`string`)\cr the identity of the coordinator's call, which the answer repeats.
#' @noRd
worker_task <- function(given, task, opening, call) {
  steps <- list(
    facts = worker_look, prepare = worker_prepare, people = worker_people, ask = worker_ask,
    sample = worker_sample, close = worker_close
  )
  own <- function() identical(worker_state$opening, opening)
  answer <- tryCatch(
    {
      if (task == "open") {
        if (!own()) worker_open(given$open, given$i, opening)
        list(value = TRUE)
      } else {
        if (!own()) abort("The worker stores rows for another call of {.fn dp_workers}.", "worker")
        list(value = do.call(steps[[task]], given[[worker_state$index]]))
      }
    },
    dpsc_error = function(e) {
      list(
        error = gsub("\n.*", "", conditionMessage(e)),
        class = sub("^dpsc_error_", "", class(e)[[1L]])
      )
    },
    error = function(e) list(error = "The worker's error is not shown, since it may contain data.")
  )
  answer$index <- worker_state$index
  answer$call <- call
  structure(answer, class = "dpsc_answer")
}

# In a worker -------------------------------------------------------------------------------------

worker_open <- function(open, i, opening) {
  worker_state$holds <- TRUE
  worker_state$token <- worker_state$rows <- worker_state$opening <- worker_state$index <- NULL
  worker_state$checked <- NULL
  source <- open(i)
  fits <- inherits(source, c("dp_table", "dp_chunks")) || is_plain_table(source) ||
    is.data.frame(source)
  if (!fits) {
    abort(c(
      "{.arg open} must return a table, files, chunks, a matrix or a data frame.",
      x = "It returned {describe(source)}."
    ), "argument")
  }
  worker_state$source <- if (is.matrix(source)) without_grid(source) else source
  worker_state$index <- i
  worker_state$opening <- opening
}

worker_look <- function(columns) {
  source <- worker_state$source
  if (inherits(source, "dp_table")) {
    found <- seen_facts(source, columns)
    worker_state$source <- found$part
    return(found$facts)
  }
  if (!is.null(columns)) {
    abort("With a formula, workers must open tables or files.", "argument")
  }
  if (is.data.frame(source)) {
    abort("With {.arg target}, workers must open tables, files, chunks or matrices.", "argument")
  }
  if (is.matrix(source)) {
    check_donor_matrix(source)
    check_donors_finite(source, "donors")
    size <- dim(source)
  } else {
    # Later passes compare the blocks with this one.
    worker_state$checked <- check_blocks(source)
    size <- c(count_rows(worker_state$checked), worker_state$checked$sizes[[1L]][[2L]])
  }
  list(periods = seq_len(size[[2L]]), unit = "unit", time = "time", n = size[[1L]])
}

worker_begin <- function(token) {
  if (!is.null(worker_state$token) && !identical(worker_state$token, token)) {
    abort("The worker is busy with another release and serves one release at a time.", "worker")
  }
  worker_state$token <- token
}

#' People's rows of a regression as numbers
#' @noRd
worker_people <- function(token, columns, choice) {
  worker_begin(token)
  worker_state$design <- lm_design(columns)
  worker_state$rows <- open_rows(worker_state$source, columns, choice, TRUE)
  if (is.matrix(worker_state$rows)) nrow(worker_state$rows) else worker_state$rows$n
}

worker_prepare <- function(token, design, grid, calibrated) {
  worker_begin(token)
  source <- worker_state$source
  rows <- if (inherits(source, "dp_table")) {
    open_part(source, design, grid, FALSE)
  } else if (is.matrix(source)) {
    source
  } else {
    worker_state$checked %||% check_blocks(source)
  }
  worker_state$rows <- rows
  if (calibrated && inherits(rows, "dp_asked")) rows$ready()
  count_rows(rows)
}

check_token <- function(token) {
  if (is.null(token) || !identical(worker_state$token, token)) {
    abort("The worker has no record of this release.", "worker")
  }
}

worker_ask <- function(token, question) {
  check_token(token)
  rows <- worker_state$rows
  if (inherits(rows, "dp_asked")) {
    rows$ask(question, TRUE)
  } else if (question$kind %in% c("energy", "moments", "sums")) {
    row_sums_cpp(rows, question)
  } else {
    people_sums_cpp(rows, worker_state$design, question)
  }
}

worker_sample <- function(token, at) {
  check_token(token)
  rows <- worker_state$rows
  if (inherits(rows, "dp_asked")) {
    return(rows$sample(list(at = at), TRUE))
  }
  seen <- 0
  out <- list()
  for (i in seq_len(if (is.matrix(rows)) 1L else rows$count)) {
    block <- if (is.matrix(rows)) rows else read_block(rows, i)
    own <- at - seen + 1
    kept <- if (is.null(at)) seq_len(nrow(block)) else own[own >= 1 & own <= nrow(block)]
    picked <- block[kept, , drop = FALSE]
    attr(picked, "on_grid") <- attr(block, "on_grid")
    out <- c(out, list(picked))
    seen <- seen + nrow(block)
  }
  stacked <- do.call(rbind, out)
  attr(stacked, "on_grid") <- attr(out[[1L]], "on_grid")
  stacked
}

worker_close <- function(token) {
  if (identical(worker_state$token, token)) {
    close_donors(worker_state$rows)
    worker_state$token <- worker_state$rows <- NULL
  }
  TRUE
}

# In the coordinator ------------------------------------------------------------------------------

#' Public facts of all workers' rows, as from `part_facts.dp_table()`
#' @noRd
#' @exportS3Method
part_facts.dp_workers <- function(part, columns) {
  workers <- part
  # The coordinator's permission replaces the permission of each worker's table.
  if (isTRUE(columns$hide)) {
    check_people_travel(workers)
    columns$travel <- TRUE
  }
  facts <- ask_workers(workers, "facts", same_task(workers, list(columns = columns)))
  common_periods(facts)
  out <- facts[[1L]]
  out$n <- sum(vapply(facts, function(x) as.double(x$n), 0))
  out$treated <- do.call(rbind, lapply(facts, `[[`, "treated"))
  out$on <- unlist(lapply(facts, `[[`, "on"))[1L]
  out
}

same_task <- function(workers, arguments) rep(list(arguments), length(workers$cluster))

#' @noRd
#' @exportS3Method
open_part.dp_workers <- function(part, design, grid, calibrated) {
  workers <- part
  if (is.null(grid)) {
    abort(c(
      "{.code epsilon = Inf} needs the rows themselves, not sums.",
      i = "Read the rows into this session."
    ), "argument")
  }
  check_calibration(workers, calibrated)
  asked_workers(workers, "prepare", list(
    design = design, grid = grid, calibrated = calibrated
  ))
}

#' @noRd
#' @exportS3Method
open_rows.dp_workers <- function(part, columns, choice, private) {
  if (!private) refuse_source(part, "blocks", "{.code epsilon = Inf}")
  part$calibrate <- FALSE
  asked_workers(part, "people", list(columns = columns, choice = choice))
}

#' A unique name, without random numbers
#' @noRd
worker_token <- function() {
  paste(Sys.getpid(), format(Sys.time(), "%Y%m%d%H%M%OS6"), fresh_name(list(name = "")))
}

#' Workers that have opened their rows for one release, and answer questions about them
#' @param task (`string`)\cr the function that opens the workers' rows, with `given`.
#' @return A `dp_asked`. PRIVATE.
#' @noRd
asked_workers <- function(workers, task, given) {
  token <- worker_token()
  close <- function() {
    tryCatch(
      ask_workers(workers, "close", same_task(workers, list(token = token))),
      error = function(e) NULL
    )
  }
  done <- FALSE
  on.exit(if (!done) close())
  counts <- ask_workers(workers, task, same_task(workers, c(list(token = token), given)))
  counts <- vapply(counts, as.double, 0)
  done <- TRUE
  n <- sum(counts)
  first_row <- c(0, cumsum(counts))
  structure(list(
    n = n, calibrate = workers$calibrate,
    ask = function(question, charged) {
      given <- list(token = token, question = question)
      parts <- ask_workers(workers, "ask", same_task(workers, given), charged)
      rows <- vapply(parts, function(part) as.double(part$rows), 0)
      if (!identical(rows, counts)) abort_changed(charged)
      add_sums(parts)
    },
    sample = function(places, charged) {
      tasks <- lapply(seq_along(counts), function(i) {
        own <- places$at >= first_row[[i]] & places$at < first_row[[i + 1L]]
        list(token = token, at = if (!is.null(places$at)) places$at[own] - first_row[[i]])
      })
      ask_workers(workers, "sample", tasks, charged)
    },
    close = close
  ), class = "dp_asked")
}

#' Sums of the workers' answers
#' @noRd
add_sums <- function(parts) {
  Reduce(function(a, b) Map(`+`, a, b[names(a)]), parts)
}
