# Black-box audits choose events on one half of the runs and count them on the other half.

# The number of events counted on the second half. Their confidence limits share the error
# probability.
audit_events <- 4L

#' @param run (`function`)\cr a function from a panel to numbers.
#' @return The fields that dp_audit() adds to the record of the audit.
#' @noRd
audit_blackbox <- function(run, pair, claimed, n_runs, level) {
  outputs <- collect_outputs(run, pair, n_runs)
  learn <- seq_len(n_runs %/% 2L)
  first <- lapply(outputs, function(x) x[learn, , drop = FALSE])
  second <- lapply(outputs, function(x) x[-learn, , drop = FALSE])
  scores <- learn_scores(first)
  events <- choose_events(scores, first, claimed$delta)
  table <- count_events(events, scores, second, claimed$delta, level)
  fixed <- repeats_itself(outputs)
  observed <- max(0, table$epsilon)
  list(
    observed = list(epsilon = observed, delta = claimed$delta),
    violated = observed > claimed$epsilon || fixed,
    note = if (fixed) {
      "The output never changed between runs, but depends on the panel: no fresh noise is drawn."
    },
    table = table
  )
}

#' Outputs of both panels as matrices, one row per run
#' @noRd
collect_outputs <- function(run, pair, n_runs) {
  both <- repeat_runs(n_runs, function(i) lapply(pair, function(panel) as.double(run(panel))))
  lapply(c(data = "data", neighbour = "neighbour"), function(side) {
    rows <- lapply(both, `[[`, side)
    if (length(unique(lengths(c(rows, both[[1L]])))) != 1L || length(rows[[1L]]) == 0L) {
      abort(c(
        "The mechanism must return a numeric vector of the same length, at least 1, in every run.",
        i = "If the length depends on the panel, it is an output, too: return it as a number."
      ), "argument")
    }
    x <- do.call(rbind, rows)
    # An infinite or missing output is an event like any other.
    x[is.na(x)] <- -.Machine$double.xmax / 4
    pmin(pmax(x, -.Machine$double.xmax / 4), .Machine$double.xmax / 4)
  })
}

#' A generator with a new seed in each run
#' @noRd
repeats_itself <- function(outputs) {
  constant <- vapply(outputs, function(x) all(t(x) == x[1L, ]), logical(1))
  all(constant) && any(outputs$data[1L, ] != outputs$neighbour[1L, ])
}

#' Scores that separate the two panels, computed from a part of the runs
#' @return A list of functions from a matrix of outputs to one score per row.
#' @noRd
learn_scores <- function(outputs) {
  all <- rbind(outputs$data, outputs$neighbour)
  middle <- apply(all, 2L, stats::median)
  spread <- apply(all, 2L, function(x) max(stats::mad(x), 1e-3 * stats::sd(x), 1e-300))
  standard <- function(x) {
    z <- t((t(x) - middle) / spread)
    pmin(pmax(z, -1e6), 1e6)
  }
  z <- lapply(outputs, standard)
  # A shift of most outputs must remain visible if outputs have heavy tails.
  tame <- function(z) z / (1 + abs(z) / 3)
  shift <- colMeans(tame(z$neighbour)) - colMeans(tame(z$data))
  within <- lapply(z, function(x) stats::var(tame(x)))
  pooled <- (within[[1L]] + within[[2L]]) / 2
  ridge <- (sum(diag(pooled)) + 1e-9) / ncol(pooled) * ncol(pooled) / nrow(all)
  direction <- solve(pooled + diag(ridge, ncol(pooled)), shift)
  best <- which.max(abs(shift) / sqrt(diag(pooled) + ridge))
  centres <- lapply(z, function(x) apply(x, 2L, stats::median))
  from <- function(x, centre) sqrt(colSums((t(x) - centre)^2))
  list(
    discriminant = function(x) drop(tame(standard(x)) %*% direction),
    coordinate = function(x) standard(x)[, best],
    size = function(x) from(standard(x), 0),
    distance = function(x) {
      x <- standard(x)
      log(from(x, centres$neighbour) + 1e-12) - log(from(x, centres$data) + 1e-12)
    }
  )
}

#' The most informative events `score > threshold` (or their complements)
#' @return A data frame with `score`, `threshold`, `above` and `favours` (the panel under which the
#'   event is more likely).
#' @noRd
choose_events <- function(scores, outputs, delta) {
  candidates <- do.call(rbind, lapply(names(scores), function(name) {
    values <- lapply(outputs, scores[[name]])
    probabilities <- c(0.003, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.99, 0.997)
    thresholds <- unique(stats::quantile(unlist(values), probabilities, names = FALSE, type = 1))
    grid <- expand.grid(
      score = name, threshold = thresholds, above = c(TRUE, FALSE), favours = names(outputs),
      stringsAsFactors = FALSE
    )
    share <- function(side) {
      vapply(seq_len(nrow(grid)), function(i) {
        sum((values[[side]] > grid$threshold[[i]]) == grid$above[[i]])
      }, numeric(1))
    }
    counts <- list(data = share("data"), neighbour = share("neighbour"))
    likelier <- ifelse(grid$favours == "data", counts$data, counts$neighbour)
    other <- ifelse(grid$favours == "data", counts$neighbour, counts$data)
    runs <- nrow(outputs$data)
    grid$promise <- epsilon_from_counts(likelier, other, runs, delta, 0.9)
    grid
  }))
  utils::head(candidates[order(-candidates$promise), ], audit_events)
}

#' Lower confidence bound on epsilon from the frequency of an event
#'
#' Clopper-Pearson limits, each at `(1 - level) / 2`.
#' @param likelier,other (`count`)\cr number of runs with the event, on the panel that favours the
#'   event and on the other panel.
#' @param runs (`count`)\cr number of runs on each panel.
#' @noRd
epsilon_from_counts <- function(likelier, other, runs, delta, level) {
  tail <- (1 - level) / 2
  lower <- ifelse(likelier == 0, 0, stats::qbeta(tail, likelier, runs - likelier + 1))
  upper <- ifelse(other == runs, 1, stats::qbeta(1 - tail, other + 1, runs - other))
  ifelse(lower > delta, log(pmax(lower - delta, 0) / upper), -Inf)
}

#' Count the chosen events in new runs
#' @noRd
count_events <- function(events, scores, outputs, delta, level) {
  values <- lapply(outputs, function(x) lapply(scores[unique(events$score)], function(f) f(x)))
  runs <- nrow(outputs$data)
  count <- function(side, i) {
    sum((values[[side]][[events$score[[i]]]] > events$threshold[[i]]) == events$above[[i]])
  }
  rows <- lapply(seq_len(nrow(events)), function(i) {
    likelier <- count(events$favours[[i]], i)
    other <- count(setdiff(c("data", "neighbour"), events$favours[[i]]), i)
    data.frame(
      score = events$score[[i]], favours = events$favours[[i]], true.positive = likelier / runs,
      false.positive = other / runs, runs = runs,
      epsilon = epsilon_from_counts(
        likelier, other, runs, delta, 1 - (1 - level) / nrow(events)
      )
    )
  })
  do.call(rbind, rows)
}
