# Failures in the middle of a release: the charge remains, no partial release exists, and the error
# is clear.

fault_panel <- function() toy_panel(n = 12, T0 = 5, T1 = 2)

fault_release <- function(ledger, rng = "secure", method = "gram", delta = 1e-6,
                          donors = fault_panel()$donors, scope = asNamespace("dpsc")) {
  p <- fault_panel()
  control <- dp_control(rng = "R")
  control$rng <- rng
  arguments <- list(donors,
    target = p$target, T0 = p$T0, epsilon = 1, delta = delta, bounds = c(-1, 1), ledger = ledger,
    control = control
  )
  if (inherits(donors, "dp_chunks")) {
    return(do.call(dp_release, arguments))
  }
  release <- function() do.call(scope$dp_release.matrix, c(arguments, method = method))
  # A ledger does not pay for noise from a tape.
  if (is.raw(rng)) with_internal("check_promise", function(...) NULL, release()) else release()
}

charges <- function(ledger) nrow(as.data.frame(ledger))

cases <- list(
  list("gram", 1e-6), list("gram", 0), list("output", 1e-6), list("output", 0),
  list("objective", 1e-6), list("objective", 0)
)

test_that("a random generator that runs out of numbers leaves a charge but no release", {
  # Plants faults 53.
  withr::local_seed(1)
  bits <- tape(200)
  for (case in cases) {
    for (words in c(0, 1, 7, 20)) {
      ledger <- dp_ledger(10, 1e-3)
      release <- NULL
      expect_error(
        release <- fault_release(ledger, bits[seq_len(8 * words)], case[[1L]], case[[2L]]),
        "tape is exhausted"
      )
      expect_null(release)
      expect_identical(charges(ledger), 1L)
    }
    expect_s3_class(fault_release(ledger, "secure", case[[1L]], case[[2L]]), "dp_release")
    expect_identical(charges(ledger), 2L)
  }
})

# A function that counts the calls of a noise step and interrupts the k-th call, as Ctrl-C would.
interrupt_at <- function(k, real) {
  calls <- 0L
  function(...) {
    calls <<- calls + 1L
    if (calls == k) {
      rlang::cnd_signal(structure(class = c("interrupt", "condition"), list()))
      stop("not interrupted")
    }
    real(...)
  }
}

test_that("an interrupt during the noise of any method leaves a charge but no release", {
  # Plants faults 54.
  steps <- list(
    # These methods draw in C++. Below, method "gram" is interrupted at its passes over the donors.
    list("gram", 1e-6, "gram_release_cpp", 1), list("gram", 0, "gram_release_cpp", 1),
    list("output", 1e-6, "weights_release_cpp", 1), list("output", 0, "weights_release_cpp", 1),
    list("objective", 1e-6, "weights_release_cpp", 1),
    list("objective", 0, "weights_release_cpp", 1)
  )
  for (step in steps) {
    for (k in seq_len(step[[4L]])) {
      changes <- list(interrupt_at(k, get(step[[3L]], asNamespace("dpsc"))))
      names(changes) <- step[[3L]]
      scope <- changed_namespace(changes)
      ledger <- dp_ledger(10, 1e-3)
      outcome <- tryCatch(
        fault_release(ledger, "secure", step[[1L]], step[[2L]], scope = scope),
        interrupt = function(e) "interrupted"
      )
      expect_identical(outcome, "interrupted", label = paste(step[[1L]], step[[3L]], k))
      expect_identical(charges(ledger), 1L)
    }
  }
})

test_that("pressing Ctrl-C while chunks are read leaves a charge but no release", {
  # Plants faults 55.
  skip_on_os("windows")
  donors <- fault_panel()$donors
  undisturbed <- 0L
  fault_release(dp_ledger(10, 1e-3), donors = dp_chunks(function(i) {
    undisturbed <<- undisturbed + 1L
    donors[if (i == 1) 1:6 else 7:12, ]
  }, 2))
  expect_gte(undisturbed, 6L)
  for (at in 3:undisturbed) {
    reads <- 0L
    chunks <- dp_chunks(function(i) {
      reads <<- reads + 1L
      if (reads == at) {
        tools::pskill(Sys.getpid(), tools::SIGINT)
        Sys.sleep(0.1) # R looks for interrupts here
      }
      donors[if (i == 1) 1:6 else 7:12, ]
    }, 2)
    ledger <- dp_ledger(10, 1e-3)
    outcome <- tryCatch(
      fault_release(ledger, donors = chunks), interrupt = function(e) "interrupted"
    )
    expect_identical(outcome, "interrupted", label = paste("read", at))
    expect_identical(reads, at)
    expect_identical(charges(ledger), 1L)
    # The ledger remains usable and contains the charge.
    fault_release(ledger)
    expect_identical(charges(ledger), 2L)
  }
})

test_that("a reader of chunks that fails midway leaves a charge but no release", {
  # Plants faults 56.
  donors <- fault_panel()$donors
  reads <- 0L
  chunks <- dp_chunks(function(i) {
    reads <<- reads + 1L
    if (reads == 6L) stop("disk on fire near ", donors[1, 1])
    donors[if (i == 1) 1:6 else 7:12, ]
  }, 2)
  ledger <- dp_ledger(10, 1e-3)
  failure <- tryCatch(fault_release(ledger, donors = chunks), error = identity)
  expect_s3_class(failure, "dpsc_error_panel")
  expect_no_match(conditionMessage(failure), "fire")
  expect_identical(charges(ledger), 1L)
})

test_that("without the operating system's randomness nothing is released; a charge remains", {
  # Plants faults 57.
  skip_if_not(Sys.info()[["sysname"]] == "Linux", "getrandom is replaced on Linux")
  skip_if(!nzchar(Sys.which("cc")), "no C compiler")
  folder <- withr::local_tempdir()
  source <- file.path(folder, "no_entropy.c")
  library <- file.path(folder, "no_entropy.so")
  writeLines(c(
    "#include <errno.h>", "#include <stdlib.h>", "#include <sys/types.h>",
    "ssize_t getrandom(void *buffer, size_t size, unsigned flags) {",
    "  (void)buffer; (void)size; (void)flags; errno = ENOSYS; return -1;", "}"
  ), source)
  compiled <- system2("cc", c("-shared", "-fPIC", shQuote(source), "-o", shQuote(library)),
    stdout = FALSE, stderr = FALSE
  )
  skip_if(compiled != 0, "cannot compile")
  script <- file.path(folder, "script.R")
  writeLines(c(
    sprintf(".libPaths(c(%s))", paste(encodeString(.libPaths(), quote = "\""), collapse = ", ")),
    "library(dpsc)", "ledger <- dp_ledger(10, 1e-3)", "release <- NULL",
    "e <- tryCatch({",
    "  release <- dp_release(matrix(0.5, 9, 5), target = 1:5 / 9, T0 = 3, epsilon = 1,",
    "    bounds = c(-1, 1), ledger = ledger)",
    "}, error = identity)",
    "cat('message:', conditionMessage(e), '\\n')",
    "cat('released:', !is.null(release), 'charges:', nrow(as.data.frame(ledger)), '\\n')"
  ), script)
  said <- system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)),
    stdout = TRUE, stderr = TRUE, env = paste0("LD_PRELOAD=", library)
  )
  expect_match(said, "gave no randomness", all = FALSE)
  expect_match(said, "released: FALSE charges: 1", all = FALSE)
})

test_that("a failed write of a release changes no other file and leaves no temporary file", {
  # Plants faults 58.
  skip_if_not_installed("jsonlite")
  skip_on_os("windows")
  folder <- withr::local_tempdir()
  path <- file.path(folder, "release.json")
  release <- fault_release(NULL, "secure")
  write_release(release, path)
  before <- readLines(path)
  # The file cannot be moved to its final name, because a folder has this name.
  blocked <- file.path(folder, "blocked.json")
  dir.create(blocked)
  expect_error(write_release(release, blocked), class = "dpsc_error")
  expect_identical(readLines(path), before)
  expect_setequal(list.files(folder), c("release.json", "blocked.json"))
})

# A ledger belongs to one session, and files or forks do not share its balance. A copy in another
# process refuses to pay, since that process does not know the spending of the original.
test_that("a ledger from another process cannot pay", {
  # Plants faults 59.
  skip_if(is.null(dp_ledger(1, 1e-6)$session), "ledgers do not know their session")
  skip_on_os("windows")
  file <- withr::local_tempfile(fileext = ".rds")
  script <- withr::local_tempfile(fileext = ".R")
  writeLines(c(
    sprintf(".libPaths(c(%s))", paste(encodeString(.libPaths(), quote = "\""), collapse = ", ")),
    "ledger <- dpsc::dp_ledger(10, 1e-3)",
    sprintf("saveRDS(ledger, %s)", encodeString(file, quote = "\""))
  ), script)
  # Two processes write the same file. The last process wins, and the file is complete.
  for (i in 1:2) system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", shQuote(script)))
  foreign <- readRDS(file)
  expect_output(print(foreign), "Privacy ledger")
  expect_error(fault_release(foreign), class = "dpsc_error_budget")
  expect_identical(charges(foreign), 0L)

  # A forked process has a copy of the ledger.
  own <- dp_ledger(10, 1e-3)
  job <- parallel::mcparallel(tryCatch(fault_release(own), error = function(e) class(e)))
  expect_true("dpsc_error_budget" %in% parallel::mccollect(job)[[1L]])
  expect_identical(charges(own), 0L)
  fault_release(own)
  expect_identical(charges(own), 1L)
})
