# Fuzzing of the two parsers, panel and JSON: every input must give a result or an error of this
# package.
#   R_LIBS=.lib Rscript tools/fuzz.R [rounds]
# Prints the numbers of refused and accepted inputs. Exit status 1 at the first raw error or
# warning.
suppressPackageStartupMessages(library(dpsc))
rounds <- as.integer(c(commandArgs(TRUE), "2000")[[1L]])
pick <- function(x) x[[sample.int(length(x), 1L)]]

attempt <- function(what, run, input) {
  outcome <- tryCatch(
    {
      utils::capture.output(run())
      "accepted"
    },
    dpsc_error = function(e) "refused",
    dpsc_warning = function(w) "warned",
    error = function(e) e, warning = function(w) w
  )
  if (inherits(outcome, "condition")) {
    cat(what, "failed:", conditionMessage(outcome), "\n")
    utils::str(input)
    quit(status = 1L)
  }
  outcome
}

strange <- list(
  NA, NaN, Inf, -Inf, "", "1", character(), NULL, list(), TRUE, 0, -1, 1e308, -1e308, 5e-324, 2^53,
  as.Date("2020-01-01"), factor("a"), 1i, as.raw(1), quote(x), matrix(1:4, 2), Sys.time()
)

# Long data with one to three faults.
broken_panel <- function() {
  periods <- sample(3:7, 1L)
  n <- sample(2:8, 1L)
  data <- expand.grid(
    unit = letters[seq_len(n + 1)], time = seq_len(periods), stringsAsFactors = FALSE
  )
  data$y <- stats::rnorm(nrow(data))
  data$d <- as.integer(data$unit == "a" & data$time >= sample(2:periods, 1L))
  for (i in seq_len(sample(0:3, 1L))) {
    column <- pick(names(data))
    row <- sample.int(nrow(data), 1L)
    value <- pick(strange)
    data <- switch(sample.int(8L, 1L),
      {
        if (length(value) == 1L && is.atomic(value) && !is.raw(value)) {
          suppressWarnings(data[[column]][[row]] <- value)
        }
        data
      },
      data[-row, , drop = FALSE], rbind(data, data[row, , drop = FALSE]),
      {
        data[[column]] <- as.factor(data[[column]])
        data
      },
      {
        data[[column]] <- as.character(data[[column]])
        data
      },
      data[sample.int(nrow(data)), , drop = FALSE],
      {
        if (is.numeric(data[[column]])) {
          data[[column]] <- data[[column]] * pick(c(0, -1, 1e300, 0.5))
        }
        data
      },
      {
        if (ncol(data) > 1L) data[[column]] <- NULL
        data
      }
    )
    if (!ncol(data) || !nrow(data)) break
  }
  data
}

tally <- c(accepted = 0, refused = 0, warned = 0)
count <- function(outcome) tally[[outcome]] <<- tally[[outcome]] + 1
for (i in seq_len(rounds)) {
  data <- broken_panel()
  arguments <- list(
    y ~ d, data = data, index = c("unit", "time"), epsilon = 1, bounds = c(-2, 2)
  )
  if (stats::runif(1) < 0.3) {
    arguments[[sample(2:5, 1L)]] <- pick(strange[!vapply(strange, is.null, NA)])
  }
  count(attempt("panel", function() print(do.call(dp_synth, arguments, quote = TRUE)), arguments))
}
cat("panel:", paste(names(tally), tally, collapse = ", "), "\n")

tally[] <- 0
panel <- sim_panel(20, 5, 2)
path <- tempfile(fileext = ".json")
files <- lapply(c("gram", "output", "objective"), function(method) {
  write_release(dp_release(panel$donors,
    target = panel$target, T0 = 5, epsilon = 1, bounds = c(-1, 1), method = method
  ), path)
  readBin(path, "raw", file.size(path))
})
for (i in seq_len(rounds)) {
  bytes <- pick(files)
  for (k in seq_len(sample.int(4L, 1L))) {
    at <- sample.int(length(bytes), 1L)
    bytes <- switch(sample.int(4L, 1L),
      replace(bytes, at, as.raw(sample(1:255, 1L))), bytes[-at],
      bytes[seq_len(at)], c(bytes[seq_len(at)], bytes[at:length(bytes)])
    )
  }
  writeBin(bytes, path)
  count(attempt("JSON", function() {
    release <- read_release(path)
    print(release)
    print(dp_synth(release, target = seq_along(release$panel$times) / 10))
  }, rawToChar(bytes[seq_len(min(400, length(bytes)))])))
}
cat("JSON: ", paste(names(tally), tally, collapse = ", "), "\n")
