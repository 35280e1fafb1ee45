# The paper's claims (section 8), judged by numbers. `holds`: "yes", "no" or "in part".

verdict <- function(ok) if (all(ok)) "yes" else if (any(ok)) "in part" else "no"

claim_row <- function(claim, version, ok, evidence) {
  data.frame(claim = claim, version = version, holds = verdict(ok), evidence = evidence)
}

at <- function(rows, ...) {
  for (condition in names(list(...))) {
    rows <- rows[rows[[condition]] == list(...)[[condition]], ]
  }
  rows
}

# One claim for the four sizes: `judge` receives the rows of a size and returns a list: whether the
# claim is true (for the size, or setting by setting), and a text.
over_sizes <- function(rows, claim, version, judge) {
  judged <- lapply(seq_len(nrow(sizes)), function(k) {
    n <- sizes$n[[k]]
    T0 <- sizes$T0[[k]]
    answer <- judge(at(rows, n = n, T0 = T0), T0)
    list(ok = answer[[1L]], text = sprintf("n=%d T0=%d: %s", n, T0, answer[[2L]]))
  })
  claim_row(
    claim, version, unlist(lapply(judged, `[[`, "ok")),
    paste(vapply(judged, `[[`, "", "text"), collapse = "; ")
  )
}

short <- function(x) format(signif(x, 2), trim = TRUE, big.mark = "", scientific = FALSE)

# A curve is U-shaped if both of its ends exceed the minimum by more than their intervals; "near T0"
# is within a factor of 3.
minimum_near_T0 <- function(rows, T0) {
  rows <- rows[order(rows$lambda), ]
  best <- which.min(rows$rmse)
  ends <- c(1L, nrow(rows))
  u_shape <- all(rows$low[ends] > rows$high[[best]])
  near <- abs(log(rows$lambda[[best]] / T0)) <= log(3)
  list(u_shape && near, sprintf(
    "minimum %s at %s T0%s", short(rows$rmse[[best]]), short(rows$lambda[[best]] / T0),
    if (u_shape) "" else " (no U)"
  ))
}

compare <- function(rows, column, first, second, by = "epsilon") {
  pairs <- merge(rows[rows[[column]] == first, c(by, "rmse")],
    rows[rows[[column]] == second, c(by, "rmse")],
    by = by
  )
  lower <- pairs$rmse.x < pairs$rmse.y
  text <- if (all(lower)) {
    "everywhere"
  } else if (!any(lower)) {
    "nowhere"
  } else {
    paste("not at", by, paste(pairs[[by]][!lower], collapse = ", "))
  }
  list(lower, text)
}

claims_table <- function(results, bounds) {
  versions <- c(correct = "correct", code = "code", own = "code", tight = "tight")
  rows <- list()
  add <- function(row) rows[[length(rows) + 1L]] <<- row
  for (name in names(versions)) {
    design <- if (name == "own") "code" else "paper"
    these <- at(results, version = versions[[name]], design = design)
    sweep <- at(these, experiment = "lambda")
    budget <- these[these$experiment == "epsilon" & these$epsilon > 1, ]
    pure <- at(budget, delta = 0)
    for (method in c("out", "obj")) {
      add(over_sizes(
        at(sweep, method = method), paste0(method, ": U-shape, minimum near lambda = T0"), name,
        minimum_near_T0
      ))
    }
    add(over_sizes(pure[pure$epsilon >= 4, ], "obj below out for epsilon >= 4", name,
      function(rows, T0) compare(rows, "method", "obj", "out")
    ))
    small <- at(pure, epsilon = 2, n = 10)
    add(claim_row(
      "out a little below obj at epsilon = 2, n = 10", name,
      at(small, method = "out")$rmse < at(small, method = "obj")$rmse,
      sprintf(
        "out %s, obj %s", paste(short(at(small, method = "out")$rmse), collapse = " and "),
        paste(short(at(small, method = "obj")$rmse), collapse = " and ")
      )
    ))
    add(over_sizes(
      budget[budget$method == "obj" & budget$epsilon < 10, ],
      "obj: Gaussian below Laplace for epsilon < 10", name,
      function(rows, T0) compare(rows, "delta", 1e-6, 0)
    ))
    for (method in c("out", "obj")) {
      add(over_sizes(at(pure, method = method), paste0(method, ": error falls as epsilon grows"),
        name, function(rows, T0) {
          rows <- rows[order(rows$epsilon), ]
          up <- diff(rows$rmse) > 0
          text <- paste("rises after epsilon", paste(rows$epsilon[c(up, FALSE)], collapse = ", "))
          list(!up, if (any(up)) text else "yes")
        }
      ))
      growth <- function(low, high) {
        pairs <- merge(at(at(pure, method = method), n = low[[1L]], T0 = low[[2L]]),
          at(at(pure, method = method), n = high[[1L]], T0 = high[[2L]]),
          by = "epsilon"
        )
        range(pairs$rmse.y / pairs$rmse.x)
      }
      by_n <- growth(low = c(10, 10), high = c(100, 10))
      by_T0 <- growth(low = c(10, 10), high = c(10, 100))
      text <- sprintf(
        "n 10 to 100: times %s to %s; T0 10 to 100: times %s to %s", short(by_n[[1L]]),
        short(by_n[[2L]]), short(by_T0[[1L]]), short(by_T0[[2L]])
      )
      ok <- if (method == "out") by_n[[2L]] <= 12 else by_n[[2L]] <= 3
      add(claim_row(
        if (method == "out") "out: error grows no faster than n" else "obj: size matters little",
        name, ok, text
      ))
    }
    if (design == "paper" && name != "tight") {
      for (method in c("out", "obj")) for (form in c("published", "corrected")) {
        pairs <- merge(at(bounds, method = method, form = form), at(sweep, method = method),
          by = c("n", "T0", "lambda"), suffixes = c(".bound", "")
        )
        above <- pairs$low > pairs$rmse.bound
        add(claim_row(
          paste0(method, ": error below the ", form, " bound"), name, !above,
          sprintf("exceeded at %d of %d settings", sum(above), nrow(pairs))
        ))
      }
    }
  }
  do.call(rbind, rows)
}
