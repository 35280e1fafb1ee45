# Every private object prints the same two lines on privacy, by one function, and its
# steps in its summary.

# One object per verb and kind of noise. `rng = "R"` is used for invalid guarantees.
privacy_objects <- function(rng = "secure") {
  n <- 400L
  rows <- withr::with_seed(4, data.frame(y = stats::runif(n), x = stats::runif(n)))
  rows$b <- rows$y > 0.5
  unit <- list(y = c(0, 1), x = c(0, 1))
  flags <- list(b = c(FALSE, TRUE), x = c(0, 1))
  control <- function(...) dp_control(rng = rng, ...)
  p <- toy_panel(n, 6, 2)
  synth <- function(..., more = list()) {
    dp_synth(p$donors,
      target = p$target, T0 = 6, epsilon = 4, bounds = c(-1, 1), control = do.call(control, more),
      ...
    )
  }
  lm <- dp_lm(y ~ x, rows, epsilon = 4, bounds = unit, control = control())
  fit <- synth()
  list(
    fit = fit, release = fit$release, output = synth(method = "output"),
    objective = synth(method = "objective"), monitor = synth(monitor = 2),
    lm = lm, path = lm_path(lm),
    ops = dp_lm(y ~ x, rows,
      epsilon = 4, delta = 1e-6, bounds = unit, method = "ops", control = control()
    ),
    glm = dp_glm(b ~ x, rows, "binomial", epsilon = 4, bounds = flags, control = control()),
    paper = dp_glm(b ~ x, rows, "binomial",
      epsilon = 4, bounds = flags, method = "cms", control = control()
    ),
    select = dp_select(y ~ x, rows, 4, size = 1, bounds = unit, control = control()),
    stability = dp_select(y ~ x, rows[rep(seq_len(n), 5L), ], 4,
      size = 1, bounds = unit, method = "stability", control = control()
    ),
    describe = dp_describe(~ x + y, rows, epsilon = 4, bounds = unit, control = control()),
    aggregate = dp_aggregate(rows, function(part) mean(part$y),
      lower = 0, upper = 1, epsilon = 4, control = control()
    ),
    online = update(
      dp_online(y ~ x, 4, horizon = n, bounds = unit, control = control()), rows
    ),
    iterates = dp_online(y ~ x, 4,
      horizon = n, bounds = unit, method = "pigd", control = control()
    ),
    sum = update(dp_stream_sum(c(0, 1), 4, horizon = n, control = control()), rows$y)
  )
}

on_privacy <- "private: |neighbours|theorem|proofs/|noise from|samplers|floating|assumed"

test_that("prints contain one line on the guarantee and one line on noise and exactness", {
  objects <- suppressWarnings(privacy_objects())
  for (name in names(objects)) {
    x <- objects[[name]]
    privacy <- privacy_of(x)
    lines <- utils::capture.output(print(x))
    found <- grep(on_privacy, lines, value = TRUE)
    expect_identical(found, privacy_lines(x), label = name)
    expect_length(found, 2L)
    delta <- if (privacy$delta > 0) paste0(", delta = ", privacy$delta)
    expect_match(found[[1L]], paste0("private: epsilon = 4", delta, ", neighbouring data"),
      fixed = TRUE)
    expect_match(found[[1L]], sub("^replace", "by replacing", privacy$neighbours),
      fixed = TRUE, label = name)
    expect_match(found[[1L]], sub(" [(].*", "", privacy$theorem), fixed = TRUE, label = name)
    expect_match(found[[1L]], "proofs/|Theorem|[0-9]{4}", label = name)
    expect_match(found[[2L]], "^  noise from the operating system, ", label = name)
    floating <- !privacy$exact && !isTRUE(privacy$integers)
    expect_identical(grepl("not exact", found[[2L]]), floating, label = name)
    expect_identical(
      grepl("exact (integer samplers(;|$)|samplers; exact integer noise)", found[[2L]]),
      isTRUE(privacy$exact),
      label = name
    )
  }
  exact <- vapply(objects, function(x) privacy_of(x)$exact, NA)
  expect_identical(
    names(exact)[!exact], c("objective", "ops", "paper", "stability", "iterates")
  )
})

test_that("summaries give the theorem in full and list privacy steps", {
  objects <- suppressWarnings(privacy_objects())
  objects$path <- NULL
  for (name in names(objects)) {
    x <- objects[[name]]
    privacy <- privacy_of(x)
    said <- gsub("\\s+", " ", paste(utils::capture.output(print(summary(x))), collapse = " "))
    expect_match(said, paste0("proof: ", privacy$theorem), fixed = TRUE, label = name)
    expect_match(said, "noise from the operating system", fixed = TRUE, label = name)
    steps <- (privacy$steps %||% x$steps)$step
    expect_gt(length(steps), 0L, label = name)
    for (step in utils::head(steps, 4L)) {
      expect_match(said, step, fixed = TRUE, label = name)
    }
  }
})

test_that("prints and summaries of non-private results state NOT PRIVATE and the reason", {
  objects <- suppressWarnings(withr::with_seed(1, privacy_objects("R")))
  for (name in names(objects)) {
    x <- objects[[name]]
    for (shown in list(x, if (name != "path") summary(x))) {
      if (is.null(shown)) next
      said <- gsub("\\s+", " ", paste(utils::capture.output(print(shown)), collapse = " "))
      expect_match(said, "NOT PRIVATE: the nominal epsilon = 4", fixed = TRUE, label = name)
      expect_match(said, privacy_of(x)$reason, fixed = TRUE, label = name)
      expect_no_match(said, " private: epsilon", label = name)
    }
  }
})
