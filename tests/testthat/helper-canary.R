# A panel with donors' values and names that cannot occur by chance, and a detector of these values
# and names.

canary_mark <- "zqx-secret"

# The values lie between 100 and 900, have full mantissas, and are inside the bounds c(0, 1000).
canary_panel <- function(n = 40, T0 = 6, T1 = 2, seed = 7) {
  withr::local_seed(seed)
  periods <- T0 + T1
  level <- stats::runif(n, 250, 750)
  donors <- matrix(level + stats::runif(n * periods, -150, 150), n)
  rownames(donors) <- sprintf("%s-%03d", canary_mark, seq_len(n))
  target <- 500 + 40 * stats::rnorm(periods)
  data <- data.frame(
    unit = rep(c(rownames(donors), "treated"), periods),
    time = rep(2000 + seq_len(periods), each = n + 1), y = c(rbind(donors, target)),
    on = as.integer(outer(seq_len(n + 1), seq_len(periods), function(i, t) i > n & t > T0))
  )
  list(
    donors = donors, target = target, T0 = T0, T1 = T1, bounds = c(0, 1000),
    data = data[sample.int(nrow(data)), ], secrets = canary_secrets(donors, target, T0, c(0, 1000))
  )
}

# The secrets, which must not occur anywhere: the values, in outcome units and in scaled units, and
# the statistics without noise.
canary_secrets <- function(donors, target, T0, bounds) {
  scaled <- (donors - mean(bounds)) / (diff(bounds) / 2)
  y <- (target - mean(bounds)) / (diff(bounds) / 2)
  pre <- seq_len(T0)
  weights <- function(x, y, lambda) {
    drop(x %*% solve(crossprod(x) + diag(lambda / 2, ncol(x)), y))
  }
  statistics <- lapply(list(donors, scaled), function(x) {
    moments <- list(colMeans(x), colSums(x), crossprod(x), crossprod(x) / nrow(x), stats::cov(x))
    unlist(moments)
  })
  w <- weights(scaled[, pre], y[pre], T0)
  raw_w <- weights(donors[, pre], target[pre], T0)
  w_path <- drop(crossprod(scaled, w))
  paths <- c(w_path, w_path * diff(bounds) / 2 + mean(bounds), drop(crossprod(donors, raw_w)))
  sort(unique(unname(c(donors, scaled, unlist(statistics), w, raw_w, paths))))
}

# The secrets found in an object: numbers at any alignment in both byte orders, numbers written as
# text with at least nine digits, and names. The result is `NULL` if no secret is found.
canary_found <- function(object, secrets) {
  if (is.character(object)) object <- c(object, paste(object, collapse = ""))
  bytes <- serialize(object, NULL)
  native <- serialize(object, NULL, xdr = FALSE)
  found <- c(
    if (length(grepRaw(charToRaw(canary_mark), bytes, fixed = TRUE))) "a donor's name",
    if (any(near_secret(doubles_anywhere(bytes), secrets, 1e-10))) "a number",
    if (any(near_secret(doubles_anywhere(native), secrets, 1e-10))) "a number (native)",
    if (any(written_secret(words_of_numbers(bytes), secrets))) "a number written as text"
  )
  if (length(found)) paste(found, collapse = ", ")
}

doubles_anywhere <- function(bytes) {
  unlist(lapply(seq_len(8L), function(from) {
    part <- bytes[from:length(bytes)]
    count <- length(part) %/% 8L
    c(readBin(part, "double", count, endian = "big"),
      readBin(part, "double", count, endian = "little"))
  }))
}

words_of_numbers <- function(bytes) {
  of_numbers <- seq_len(256L) %in% (as.integer(charToRaw("0123456789.")) + 1L)
  bytes[!of_numbers[as.integer(bytes) + 1L]] <- charToRaw(" ")
  words <- strsplit(rawToChar(bytes), " +")[[1L]]
  words[digits_of(words) >= 9L]
}

digits_of <- function(words) nchar(sub("^[0.]+", "", sub(".", "", words, fixed = TRUE)))

# A secret must agree in all written digits, up to the error of its computation. With only eight of
# fifteen digits, one fit in ten would agree with one of thousands of secrets by chance.
written_secret <- function(words, secrets) {
  x <- suppressWarnings(as.numeric(words))
  near_secret(x, secrets, pmax(10^(1 - digits_of(words)), 1e-10)[is.finite(x)])
}

near_secret <- function(x, secrets, tolerance) {
  x <- abs(x[is.finite(x)])
  secrets <- sort(unique(abs(secrets[secrets != 0])))
  # Most numbers are bytes of other objects, far from every secret.
  ends <- range(secrets) * (1 + c(-2, 2) * max(tolerance, 0))
  possible <- which(x >= ends[[1L]] & x <= ends[[2L]])
  tolerance <- rep_len(tolerance, length(x))[possible]
  x <- x[possible]
  at <- findInterval(x, secrets)
  near <- function(i) {
    secret <- secrets[pmin(pmax(i, 1L), length(secrets))]
    abs(x - secret) <= tolerance * secret
  }
  near(at) | near(at + 1L)
}

expect_no_canary <- function(object, secrets, label) {
  testthat::expect_identical(canary_found(object, secrets), NULL, label = label)
}

# Every condition that code signals, in order. Errors are caught, and errors that the code itself
# catches, for example in try(), are included.
canary_conditions <- function(code) {
  conditions <- list()
  keep <- function(condition) conditions <<- c(conditions, list(condition))
  withr::local_options(warn = 1)
  tryCatch(
    withCallingHandlers(code,
      warning = function(w) {
        keep(w)
        tryInvokeRestart("muffleWarning")
      },
      message = function(m) {
        keep(m)
        tryInvokeRestart("muffleMessage")
      }
    ),
    error = keep
  )
  conditions
}

# A fit in a frame that contains the donors and is the environment of the formula.
canary_fit <- function(p, interface = "formula", how = "direct", fun = dp_synth, ...) {
  secret <- p$donors # nolint: object_usage_linter.
  formula <- y ~ on
  chunks <- function() dp_chunks(list(p$donors[1:10, ], p$donors[-(1:10), ]))
  if (how == "direct") {
    return(switch(interface,
      formula = fun(formula, data = p$data, index = c("unit", "time"), ...),
      matrix = fun(p$donors, target = p$target, T0 = p$T0, ...),
      chunks = fun(chunks(), target = p$target, T0 = p$T0, ...)
    ))
  }
  arguments <- switch(interface,
    formula = list(formula, data = p$data, index = c("unit", "time")),
    matrix = list(p$donors, target = p$target, T0 = p$T0),
    chunks = list(chunks(), target = p$target, T0 = p$T0)
  )
  do.call(fun, c(arguments, list(...)))
}

# The names of compiled functions in R.
compiled_exports <- function() grep("^[a-z].*_cpp$", ls(asNamespace("dpsc")), value = TRUE)

# All values that compiled code returns to R during a release.
crossings_of <- function(run) {
  namespace <- asNamespace("dpsc")
  names <- compiled_exports()
  results <- list()
  changes <- lapply(stats::setNames(names, names), function(name) {
    real <- get(name, namespace)
    function(...) {
      out <- real(...)
      results[[length(results) + 1L]] <<- out
      out
    }
  })
  run(changed_namespace(changes))
  results
}
