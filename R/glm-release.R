# A private generalised linear model as a file. Only the formula, the bounds, the budget and what
# was released are written; the rest (columns, plan, promise, estimates) is made from them again, so
# that it cannot disagree.

glm_json_format <- "dpsc-glm"
glm_json_facts <- c("family", "method", "calibration", "text", "nobs")

#' @export
write_release.dp_glm <- function(release, path, allow_not_private = FALSE) {
  call <- public_call("write_release")
  check_given(missing(path), "path", "the file to write", call)
  check_publishable(release$privacy, allow_not_private, call)
  options <- release$public$options
  parts <- c(unclass(release)[glm_json_facts], list(
    bounds = lapply(release$columns$given, plain_bound),
    # The delta that was given: it is part of what a plan is made of.
    privacy = c(release$privacy[
      intersect(c("private", "epsilon", "rng", "version", "assumes"), names(release$privacy))
    ], delta = release$public$delta),
    options = options[lengths(options) > 0L], release = release$release
  ))
  write_json(list(format = glm_json_format, version = 1L, model = to_json(parts)), path, call)
}

#' @export
parse_release.dpsc_glm <- function(content, fail) {
  if (!identical(content$version, 1L)) fail("It was written by another version of the package.")
  fit <- tryCatch(
    suppressWarnings(glm_of_parts(from_json(content$model))), error = function(e) NULL
  )
  if (is.null(fit)) fail("Its parts are missing, or do not fit together.")
  fit
}

#' @noRd
glm_of_parts <- function(parts) {
  call <- public_call("dp_glm")
  stopifnot(
    all(c(glm_json_facts, "bounds", "privacy", "options", "release") %in% names(parts)),
    is.list(parts$bounds), is.list(parts$release), is.character(parts$text),
    is.numeric(parts$nobs), parts$privacy$rng %in% c("secure", "R")
  )
  family <- check_family(parts$family, call)
  formula <- str2lang(parts$text)
  stopifnot(is.call(formula), identical(formula[[1L]], as.name("~")))
  columns <- lm_columns(
    stats::as.formula(formula, env = baseenv()), parts$bounds, call,
    glm_families()[[family]]$outcome
  )
  options <- parts$options
  asked <- list(
    family = family, method = parts$method, calibration = parts$calibration,
    intervals = isTRUE(options$intervals), penalty = options$penalty,
    constraints = options$constraints, settings = options$settings %||% list()
  )
  privacy <- parts$privacy
  budget <- checked_budget(
    privacy$epsilon, privacy$delta, NULL, dp_control(rng = privacy$rng), call
  )
  public <- glm_public(budget, columns, check_count(parts$nobs, 1), asked, call)
  stopifnot(identical(public$private, privacy$private))
  public$assumes <- privacy$assumes
  plan <- if (public$private) glm_plan(public, call) else list()
  fit <- new_glm(columns, public, plan, parts$release)
  fit$privacy["version"] <- list(privacy$version)
  stopifnot(
    isTRUE(fit$release$failed) || all(is.finite(fit$coefficients)),
    length(fit$coefficients) == length(columns$columns) + 1L
  )
  fit
}
