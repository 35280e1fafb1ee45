# Functions that read files of earlier versions and extract the numbers that must not change.

# The target for which the releases of fixtures/0.2.0 were made.
release_target <- function(periods) 0.3 * sin(seq_len(periods) / 2) + 0.01 * seq_len(periods)

# Any object that a file contains. Warnings concern targets other than the target of the release.
read_old <- function(file) {
  switch(tools::file_ext(file),
    json = read_release(file), rds = readRDS(file), state = resume_stream(file)
  )
}

# A fit, also from a release without a fit. Releases that protect the treated people contain their
# target.
fit_old <- function(object) {
  if (!inherits(object, "dp_release")) return(object)
  panel <- object$panel
  if (!is.null(panel$treated)) return(suppressWarnings(dp_synth(object)))
  target <- release_target(length(panel$times))
  own <- object$settings$target
  if (object$method != "gram") target[seq_along(own)] <- own
  dates <- object$statistics$cohorts$T0
  rows <- rbind(target, if (!is.null(dates)) target / 2)
  covariates <- matrix(30, nrow(rows), NROW(panel$covariates))
  suppressWarnings(dp_synth(object,
    target = rows, T0 = dates, covariates = if (length(covariates)) covariates
  ))
}

# The unchanged parts of a file: its budget, its noise, its released values and the numbers that
# follow from them.
pins_of <- function(file) {
  object <- read_old(file)
  fit <- fit_old(object)
  privacy <- object$privacy
  total <- function(x) sum(as.numeric(unlist(x)), na.rm = TRUE)
  steps <- privacy$steps
  table <- as.data.frame(tidy(fit))
  numbers <- c(
    epsilon = privacy$epsilon, delta = privacy$delta, holds = as.numeric(privacy$holds),
    steps = NROW(steps), scales = total(steps$scale), sensitivities = total(steps$sensitivity),
    estimates = sum(abs(table$estimate)), errors = total(table$std.error)
  )
  data.frame(file = basename(file), number = names(numbers), value = unname(numbers))
}

release_pins <- function(files) {
  pins <- do.call(rbind, lapply(files, pins_of))
  pins$value <- sprintf("%.15g", pins$value)
  pins
}
