# Stream states on disk. A private state exists in one place at a time. A public state may be
# copied, since every continuation adds fresh noise.

#' Move a stream to a file, or publish its state
#'
#' @section Private checkpoints: `kind = "private"` *moves* the state: afterwards the state is in
#' the file, and the stream in this session accepts no further rows. The file contains sums without
#' noise and also the noise, so a person with the file and the released values can remove the noise.
#' The file is AS SECRET AS THE DATA. It is readable by its owner only (mode 0600), and can be
#' resumed once: `resume_stream()` records the identity of the state in a registry, as an atomic
#' operation, and removes the file.
#'
#' The registry is a folder of your account: the path in the environment variable `DPSC_REGISTRY`,
#' or `dpsc/resumed` in your data folder. A copy of a resumed file is refused under this registry,
#' and under any other registry, since the file contains the name of the registry of the session
#' that wrote it. A state can therefore move to another account or machine only if both can use the
#' same registry, and it is lost if its registry is emptied.
#'
#' *Undetected cases* are a registry that was copied or restored from a backup, a machine that was
#' restored twice, an edited file, and files of version 0.2.0, which contain no registry name. Copy
#' neither a state nor a registry: the difference of two continuations of one state reveals sums
#' without noise.
#'
#' The file is written under a temporary name, flushed to disk, and then renamed in one step. After
#' a crash before the renaming, no file has the final name, and the state is lost with its process.
#' After a failed write the stream can continue. After a crash between the record in the registry
#' and the removal of the file, the file is refused: its state is lost rather than used twice.
#'
#' @section Public checkpoints: `kind = "public"` publishes the state of a stream with
#' `noise = "tree"`. The budget of the stream covers any number of publications (proofs/streams.md,
#' Theorem 4). The stream continues, and new noise is added to every open node of the tree in this
#' stream and in every continuation: a node that was open at m publications has m + 1 times the
#' variance. No row may be used twice, neither by two continuations nor before and after the
#' checkpoint. A row that is used again, for example after a crash, causes a second privacy loss for
#' its person. A checkpoint, like a file written by [saveRDS()], contains R objects: resume only
#' files from people whom you trust.
#'
#' @param stream (`dp_stream`)\cr a stream of this session.
#' @param file (`path`)\cr the file to write; a file for a private state must not exist yet.
#' @param kind (`string`)\cr `"private"` or `"public"`.
#' @param x (`dp_state`)\cr the value of `checkpoint()`.
#' @param ... unused.
#' @return `checkpoint()` invisibly returns an object of class `dp_secret_state` or
#'   `dp_public_state` with `file`, `kind` and `steps`. `resume_stream()` returns the stream.
#' @section Errors: `dpsc_error_argument` for an argument of the wrong type; `dpsc_error_checkpoint`
#'   for a file that cannot be written, cannot be read, is damaged or already exists, and for a
#'   stream whose state cannot be written (by `"pigd"`, `"pgiga"`, `"pocp"` or `"poffl"`, or for
#'   `kind = "public"` without `noise = "tree"` or without a guarantee); `dpsc_error_stream` for a
#'   state that was resumed before, is not in this session, or belongs to another registry.
#' @examples
#' visits <- dp_stream_count(epsilon = 1, horizon = 100, noise = "tree")
#' update(visits, c(TRUE, FALSE, TRUE))
#' file <- tempfile()
#' checkpoint(visits, file, kind = "public")
#' elsewhere <- resume_stream(file)
#' update(elsewhere, c(FALSE, TRUE))
#' elsewhere
#' @export
checkpoint <- function(stream, file, kind = c("private", "public"), ...) door("checkpoint", {
  check_no_dots(...)
  if (!inherits(stream, "dp_stream")) {
    abort("{.arg stream} must be a stream. It is {describe(stream)}.", "argument")
  }
  file <- check_file(file)
  kind <- check_choice(kind, c("private", "public"))
  state <- live_state(stream)
  public <- kind == "public"
  if (inherits(stream, "dp_online") && has_own_noise(stream$learner$method)) {
    abort("Streams by method {.or {.val {chapter_five()}}} have no checkpoints.", "checkpoint")
  }
  if (public && stream$plan$facts$noise != "tree") {
    abort(c(
      "Only streams with {.code noise = \"tree\"} have a state that can be published.",
      x = "With noise {.val {stream$plan$facts$noise}} the state is as secret as the data.",
      i = "Write a secret state, with {.code kind = \"private\"}."
    ), "checkpoint")
  }
  if (public && !stream$privacy$holds) {
    abort("The state of a stream that is not private cannot be published.", "checkpoint")
  }
  if (!public && file.exists(file)) {
    abort(c(
      "{.file {file}} exists already, and a secret state never replaces a file.",
      i = "Give the name of a new file."
    ), "checkpoint")
  }
  parts <- as.list.environment(stream)[stream_public_parts]
  if (!public) parts$registry <- registry_identity()
  meta <- serialize(parts, NULL)
  reading(stream_save_cpp(
    state, path.expand(file), state_id_cpp(), meta, public, stream$rng, 0L
  ))
  if (!public) stream$gone <- paste0("it was moved to ", basename(file))
  invisible(structure(
    list(file = file, kind = kind, steps = stream$released$steps),
    class = c(if (public) "dp_public_state" else "dp_secret_state", "dp_state")
  ))
})

# The contents of a file besides the state: public facts and the guarantee.
stream_public_parts <- c("what", "columns", "learner", "plan", "batch", "rng", "privacy", "id")

#' @rdname checkpoint
#' @export
resume_stream <- function(file) door("resume_stream", {
  file <- check_file(file)
  path <- path.expand(file)
  known <- reading(stream_peek_cpp(path))
  parts <- tryCatch(unserialize(known$meta), error = function(e) NULL)
  # The registry to which a private state belongs; files of 0.2.0 do not name it.
  registry <- if (!known$public) parts$registry
  parts$registry <- NULL
  # Files of 0.3.0 and earlier contain no `id`.
  if (!identical(union(names(parts), "id"), stream_public_parts)) {
    abort("The public part of the checkpoint is damaged.", "checkpoint")
  }
  # Every step that can fail comes before the claim of the state, and no value is released between
  # these steps.
  state <- reading(stream_load_cpp(path, known$id, parts$rng))
  if (!known$public) {
    check_registry(registry)
    claim_state(known$id)
    unlink(path)
  }
  stream <- list2env(parts, parent = emptyenv())
  stream$session <- session_mark()
  stream$state <- state
  stream$released <- stream_released_cpp(state)
  online <- !parts$learner$method %in% c("sum", "count")
  structure(stream, class = c(if (online) "dp_online" else "dp_stream_sum", "dp_stream"))
})

check_file <- function(file) {
  if (!is_name(file)) {
    abort("{.arg file} must be a path. It is {describe_value(file)}.", "argument")
  }
  file
}

#' Errors of the core about files, with the package's class
#' @noRd
reading <- function(expression) {
  tryCatch(expression, error = function(e) {
    text <- conditionMessage(e)
    abort("The file cannot be used: {text}.", "checkpoint")
  })
}

registry_folder <- function() {
  registry <- Sys.getenv("DPSC_REGISTRY", file.path(
    Sys.getenv("XDG_DATA_HOME", path.expand(file.path("~", ".local", "share"))), "dpsc", "resumed"
  ))
  dir.create(registry, FALSE, recursive = TRUE, mode = "0700")
  registry
}

#' The registry's random name, fixed at its first use. PUBLIC.
#' @noRd
registry_identity <- function() {
  registry <- registry_folder()
  file <- file.path(registry, "identity")
  if (!file.exists(file)) {
    own <- tempfile("identity-", registry)
    on.exit(unlink(own))
    # The file is complete before it gets its name. If several files get this name, the first file
    # keeps it.
    suppressWarnings(try({
      writeLines(paste(format(state_id_cpp()), collapse = ""), own)
      file.link(own, file)
    }, silent = TRUE))
  }
  found <- suppressWarnings(tryCatch(readLines(file), error = function(e) character()))
  if (length(found) == 1L && nzchar(found)) found else unwritable_registry(registry)
}

#' Refuse a state under any registry except its original registry, since copies could otherwise run
#' @noRd
check_registry <- function(identity) {
  if (is.null(identity) || identical(identity, registry_identity())) {
    return(invisible(NULL))
  }
  abort(c(
    "This state belongs to a registry other than {.file {registry_folder()}}.",
    x = "This registry does not record whether the state was resumed, and no state may run twice.",
    i = "Set {.envvar DPSC_REGISTRY} to the registry of the session that wrote the state."
  ), "stream")
}

#' Record permanently that this state runs here
#' @noRd
claim_state <- function(id) {
  registry <- registry_folder()
  mark <- file.path(registry, paste(format(id), collapse = ""))
  # One system call either makes the folder or reports that it exists.
  if (dir.create(mark, FALSE, mode = "0700")) {
    return(invisible(NULL))
  }
  if (dir.exists(mark)) {
    abort(c(
      "This state was resumed before, and no state may run twice.",
      x = "In the difference of two continuations their common noise would cancel.",
      i = "Start a new stream. For people in both streams the new stream needs a separate budget."
    ), "stream")
  }
  unwritable_registry(registry)
}

unwritable_registry <- function(registry) {
  abort(c(
    "The folder {.file {registry}} cannot be written.",
    x = "The folder records which states were resumed; without it a state could run twice.",
    i = "Set the environment variable {.envvar DPSC_REGISTRY} to a permanent folder of yours."
  ), "checkpoint")
}

#' @rdname checkpoint
#' @export
print.dp_state <- function(x, ...) {
  cat("State of a stream after ", count_of(x$steps, "step"), ", in ", x$file, "\n", sep = "")
  cat(if (inherits(x, "dp_secret_state")) {
    c("  AS SECRET AS THE DATA: anyone who has this file can remove the noise.\n",
      "  Do not copy the file. The state can be resumed once; the original stream has stopped.\n")
  } else {
    c("  Public: covered by the stream's budget. Every continuation adds separate noise\n",
      "  and must take different rows.\n")
  }, sep = "")
  invisible(x)
}
