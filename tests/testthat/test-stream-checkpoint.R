# Saved states: a private state has one continuation, every continuation of a public state has fresh
# noise, and crashes occur at every step of a write.

local_registry <- function(env = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = env)
  withr::local_envvar(DPSC_REGISTRY = file.path(folder, "registry"), .local_envir = env)
  folder
}
counting <- function(noise = "toeplitz", epsilon = 1, ...) {
  dp_stream_count(epsilon = epsilon, horizon = 40, noise = noise, ...)
}
released <- function(stream) stream$released[c("steps", "rows", "estimate", "trace")]

test_that("a noise-free stream resumed from its private state equals an uninterrupted stream", {
  folder <- local_registry()
  withr::local_seed(1)
  x <- matrix(stats::runif(60, -1, 1), 20, dimnames = list(NULL, c("y", "a", "b")))
  rows <- as.data.frame(x)
  bounds <- list(y = c(-1, 1), a = c(-1, 1), b = c(-1, 1))
  for (noise in all_noises) {
    for (method in c("gram", "ftal", "ftrl")) {
      make <- function(epsilon) {
        dp_online(y ~ ., epsilon = epsilon, horizon = 20, bounds = bounds, method = method,
          noise = noise)
      }
      whole <- make(Inf)
      moved <- make(Inf)
      update(whole, rows)
      update(moved, rows[1:7, ])
      file <- file.path(folder, "state")
      saved <- checkpoint(moved, file)
      expect_s3_class(saved, "dp_secret_state")
      again <- resume_stream(file)
      update(again, rows[8:20, ])
      expect_identical(again$released$estimate, whole$released$estimate)
      expect_identical(again$columns, whole$columns)
      # A state with noise continues with the same releases as before and has the same guarantee.
      private <- make(1)
      update(private, rows[1:7, ])
      before <- released(private)
      checkpoint(private, file)
      again <- resume_stream(file)
      expect_identical(released(again), before)
      expect_identical(again$privacy, private$privacy)
      update(again, rows[8:20, ])
      expect_error(update(again, rows[1, ]), class = "dpsc_error_stream")
    }
  }
})

test_that("a stream's private state can be continued in one place only", {
  skip_on_os("windows")
  folder <- local_registry()
  file <- file.path(folder, "state")
  stream <- counting()
  update(stream, c(1, 0, 1))
  said <- checkpoint(stream, file)
  expect_output(print(said), "AS SECRET AS THE DATA")
  expect_identical(format(file.mode(file)), "600")
  # The stream that wrote the state has ended and cannot be written again.
  expect_error(update(stream, 1), class = "dpsc_error_stream")
  expect_error(checkpoint(stream, paste0(file, 2)), class = "dpsc_error_stream")
  expect_output(print(stream), "its state no longer exists here")
  copies <- paste0(file, c("-a", "-b"))
  file.copy(file, copies)
  first <- resume_stream(file)
  expect_false(file.exists(file))
  update(first, 1)
  # Copies of the file cannot be resumed in this process, in a fork, or in another process.
  expect_error(resume_stream(copies[[1L]]), class = "dpsc_error_stream")
  job <- parallel::mcparallel(tryCatch(resume_stream(copies[[2L]]), error = class))
  expect_true("dpsc_error_stream" %in% parallel::mccollect(job)[[1L]])
  expect_true(all(file.exists(copies)))
  # The test forks a live stream.
  job <- parallel::mcparallel(list(
    tryCatch(update(first, 1), error = class), tryCatch(checkpoint(first, file), error = class)
  ))
  classes <- parallel::mccollect(job)[[1L]]
  expect_true("dpsc_error_stream" %in% classes[[1L]] && "dpsc_error_stream" %in% classes[[2L]])
  expect_false(file.exists(file))
})

test_that("if six processes resume copies of a stream's private state, exactly one succeeds", {
  skip_on_os("windows")
  folder <- local_registry()
  file <- file.path(folder, "state")
  stream <- counting()
  update(stream, c(1, 0, 1))
  checkpoint(stream, file)
  copies <- paste0(file, 1:6)
  file.copy(file, copies)
  jobs <- lapply(copies, function(copy) {
    parallel::mcparallel(tryCatch({
      resume_stream(copy)
      "runs"
    }, dpsc_error_stream = function(e) "refused"))
  })
  outcome <- unlist(parallel::mccollect(jobs))
  expect_identical(sum(outcome == "runs"), 1L)
  expect_identical(sum(outcome == "refused"), 5L)
})

test_that("a copied private state of a stream cannot continue with another or an empty registry", {
  # Plants faults 75.
  folder <- local_registry()
  own <- Sys.getenv("DPSC_REGISTRY")
  file <- file.path(folder, "state")
  write_one <- function(file) {
    stream <- counting()
    update(stream, c(1, 0, 1))
    checkpoint(stream, file)
  }
  write_one(file)
  copies <- paste0(file, 1:4)
  file.copy(file, copies)
  elsewhere <- function(file) {
    withr::local_envvar(DPSC_REGISTRY = file.path(folder, "other"))
    resume_stream(file)
  }
  # Before and after the first continuation, a refusal does not use the claim and leaves the file
  # unchanged.
  expect_error(elsewhere(copies[[1L]]), "a registry other than", class = "dpsc_error_stream")
  expect_true(file.exists(copies[[1L]]))
  expect_identical(resume_stream(file)$released$steps, 3)
  expect_error(elsewhere(copies[[2L]]), "a registry other than", class = "dpsc_error_stream")
  expect_error(resume_stream(copies[[3L]]), "resumed before", class = "dpsc_error_stream")
  # The fault is a file that names no registry, as written by version 0.2.0, and can be resumed
  # under each registry.
  unlink(file)
  with_internal("registry_identity", function(call) NULL, write_one(file))
  file.copy(file, copies[[1L]], overwrite = TRUE)
  expect_s3_class(resume_stream(file), "dp_stream")
  expect_s3_class(elsewhere(copies[[1L]]), "dp_stream")
  unlink(own, recursive = TRUE)
  expect_error(resume_stream(copies[[4L]]), "a registry other than", class = "dpsc_error_stream")
  # If the registry cannot be written, the state is not moved, and the stream continues.
  stream <- counting()
  update(stream, 1)
  withr::local_envvar(DPSC_REGISTRY = file.path(copies[[4L]], "no folder"))
  expect_error(checkpoint(stream, file), class = "dpsc_error_checkpoint")
  update(stream, 1)
  expect_false(file.exists(file))
})

test_that("errors for foreign, damaged and existing state files have a documented class", {
  folder <- local_registry()
  file <- file.path(folder, "state")
  stream <- counting("blt")
  update(stream, c(1, 0, 1))
  writeLines("mine", file)
  expect_error(checkpoint(stream, file), class = "dpsc_error_checkpoint")
  expect_identical(readLines(file), "mine")
  expect_error(resume_stream(file), class = "dpsc_error_checkpoint")
  expect_error(resume_stream(file.path(folder, "none")), class = "dpsc_error_checkpoint")
  expect_error(checkpoint(stream, file.path(folder, "no", "such")), class = "dpsc_error_checkpoint")
  expect_error(checkpoint(stream, file, "public"), class = "dpsc_error_checkpoint")
  # The failed writes changed nothing.
  update(stream, 1)
  unlink(file)
  checkpoint(stream, file)
  bytes <- readBin(file, "raw", 1e6)
  for (k in c(0, 10, length(bytes) %/% 2, length(bytes) - 1)) {
    writeBin(bytes[seq_len(k)], file)
    expect_error(resume_stream(file), class = "dpsc_error_checkpoint")
  }
  for (k in c(30, 200, length(bytes) - 3)) {
    altered <- bytes
    altered[[k]] <- xor(altered[[k]], as.raw(1))
    writeBin(altered, file)
    expect_error(resume_stream(file), class = "dpsc_error_checkpoint")
  }
  # None of these calls used the claim.
  writeBin(bytes, file)
  expect_identical(resume_stream(file)$released$steps, 4)
  # If the registry cannot be written, the call is refused, since the promise could not be
  # guaranteed.
  other <- counting()
  checkpoint(other, file)
  withr::local_envvar(DPSC_REGISTRY = file.path(folder, "state", "no folder"))
  expect_error(resume_stream(file), class = "dpsc_error_checkpoint")
  expect_true(file.exists(file))
})

# Saves in a child process that is killed after step k of the write.
crashed_save <- function(stream, file, k, public) {
  job <- parallel::mcparallel({
    dpsc:::stream_save_cpp(
      stream$state, file, dpsc:::state_id_cpp(),
      serialize(as.list.environment(stream)[dpsc:::stream_public_parts], NULL), public, "secure", k
    )
    "finished"
  })
  suppressWarnings(parallel::mccollect(job)[[1L]])
}

test_that("a crash at any step of a write leaves the old file, the new file or no file", {
  skip_on_os("windows")
  folder <- local_registry()
  for (k in 1:6) {
    file <- file.path(folder, paste0("private", k))
    stream <- counting()
    update(stream, c(1, 0, 1))
    expect_null(crashed_save(stream, file, k, FALSE))
    # The steps are: file created, half written, written, flushed, moved, folder flushed.
    expect_identical(file.exists(file), k >= 5, label = paste("step", k))
    left <- list.files(folder, "part$", full.names = TRUE)
    expect_identical(length(left), as.integer(k < 5))
    if (k >= 5) {
      expect_identical(released(resume_stream(file)), released(stream))
      expect_error(resume_stream(file), class = "dpsc_error_checkpoint")
    } else {
      # Only its owner can read a remaining file, from its first byte on, and half a file cannot be
      # resumed.
      expect_identical(format(file.mode(left)), "600")
      if (k < 3) {
        expect_error(resume_stream(left), class = "dpsc_error_checkpoint")
      } else {
        expect_identical(released(resume_stream(left)), released(stream))
      }
    }
    unlink(left)
  }
  expect_identical(crashed_save(counting(), file.path(folder, "fine"), 7, FALSE), "finished")
  # The call replaces an older public state.
  file <- file.path(folder, "public")
  stream <- counting("tree")
  update(stream, c(1, 0, 1))
  checkpoint(stream, file, "public")
  update(stream, 1)
  for (k in 1:6) {
    expect_null(crashed_save(stream, file, k, TRUE))
    expect_identical(resume_stream(file)$released$steps, if (k < 5) 3 else 4)
  }
})

# A tree of two steps, published after the first step: the second output minus the first output.
unmasked <- function(continue, publications = 1) {
  folder <- withr::local_tempdir()
  plan <- stream_plan("tree", horizon = 2)
  state <- dpsc:::stream_open_cpp(plan, stream_learner())
  dpsc:::stream_advance_cpp(state, matrix(0.7, 1, 1), FALSE, FALSE, "secure")
  file <- file.path(folder, "state")
  save <- function(public) {
    unlink(file)
    dpsc:::stream_save_cpp(state, file, dpsc:::state_id_cpp(), raw(), public, "secure", 0L)
  }
  load <- function() dpsc:::stream_load_cpp(file, dpsc:::stream_peek_cpp(file)$id, "secure")
  for (k in seq_len(publications)) save(continue != "fault")
  if (continue != "writer") state <- load()
  shown <- stream_shown_nodes_cpp(file)
  node <- stream_exposed_cpp(state, matrix(0.2, 1, 1), "secure")[[2L]]
  second <- round(0.2 * plan$unit)
  c(
    seen = (node - shown - second) / plan$scale,
    off = (node - round(0.7 * plan$unit) - second) / plan$scale
  )
}

test_that("the difference of a later release and a public state does not reveal the rows between", {
  # Plants faults 27.
  for (continue in c("writer", "reader")) {
    seen <- replicate(200, unmasked(continue)[["seen"]])
    # The fresh noise has the variance of a node, neither less nor more.
    p <- stats::pchisq(sum(seen^2), 200)
    expect_true(p > 1e-5 && p < 1 - 1e-5)
  }
  # The fault is a continuation without fresh noise, which reveals the other entries exactly.
  expect_identical(replicate(3, unmasked("fault")[["seen"]]), numeric(3))
  # After three publications the variance is four times the variance of a node.
  off <- replicate(200, unmasked("writer", 3)[["off"]])
  p <- stats::pchisq(sum(off^2) / 4, 200)
  expect_true(p > 1e-5 && p < 1 - 1e-5)
})

test_that("a stream's public state can be continued more than once, with larger standard errors", {
  folder <- local_registry()
  file <- file.path(folder, "state")
  stream <- counting("tree")
  update(stream, rep(1, 5))
  shown <- checkpoint(stream, file, "public")
  expect_s3_class(shown, "dp_public_state")
  expect_output(print(shown), "Public")
  a <- resume_stream(file)
  b <- resume_stream(file)
  expect_identical(a$released$estimate, stream$released$estimate)
  expect_identical(b$released$estimate, stream$released$estimate)
  for (one in list(stream, a, b)) {
    update(one, rep(1, 3))
    expect_identical(glance(one)$steps, 8)
  }
  # The node of steps 5 to 8 was open, so the variance of its noise is doubled. The standard error
  # allows for this.
  fresh <- counting("tree")
  update(fresh, rep(1, 8))
  last <- function(s) utils::tail(tidy(s)$privacy.se, 1L)
  expect_gt(last(stream), last(fresh) * 1.01)
  expect_equal(last(a), last(b))
  # Every number in the state contains noise of the planned variance.
  expect_error(checkpoint(counting("tree", control = dp_control(rng = "R")), file, "public"),
    class = "dpsc_error_checkpoint")
})

test_that("standardised errors of a stream have variance one after two public states", {
  withr::local_seed(2)
  folder <- local_registry()
  z <- replicate(120, {
    file <- file.path(folder, "state")
    stream <- counting("tree")
    update(stream, rep(1, 5))
    checkpoint(stream, file, "public")
    update(stream, rep(1, 1))
    checkpoint(stream, file, "public")
    later <- resume_stream(file)
    update(later, rep(1, 6))
    (coef(later) - 12) / utils::tail(tidy(later)$privacy.se, 1L)
  })
  p <- stats::pchisq(sum(z^2), 120)
  expect_true(p > 1e-5 && p < 1 - 1e-5)
})
