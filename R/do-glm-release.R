# A private generalised linear model as a file. The file contains the formula, the bounds, the
# budget and the released values. Columns, plan, promise and estimates are recomputed from these, so
# that no part can contradict another.

glm_json_facts <- c("family", "method", "calibration", "text", "nobs")

#' @export
file_parts.dp_glm <- function(x) {
  options <- x$public$options
  c(unclass(x)[glm_json_facts], list(
    bounds = lapply(x$columns$given, plain_bound),
    # The file stores the requested delta, since plans depend on it.
    delta = x$public$delta, privacy = x$privacy, options = options[lengths(options) > 0L],
    release = x$release, person = x$columns$person
  ), if (!is.null(x$columns$offset)) list(offset = x$columns$offset$text),
  if (isTRUE(x$columns$weighted)) list(max_weight = x$public$max_weight))
}

#' @noRd
#' @exportS3Method
object_again.dp_glm <- function(parts) {
  stopifnot(
    all(c(glm_json_facts, "bounds", "privacy", "options", "release") %in% names(parts)),
    is.list(parts$bounds), is.list(parts$release), is.character(parts$text),
    is.numeric(parts$nobs), parts$privacy$rng %in% c("secure", "R")
  )
  family <- check_family(parts$family)
  columns <- lm_columns(
    formula_of(parts$text), parts$bounds, glm_families[[family]]$outcome, read_offset(parts$offset)
  )
  columns$person <- read_person(parts$person)
  if (!is.null(parts$max_weight)) columns$weighted <- TRUE
  options <- parts$options
  asked <- list(
    family = family, method = parts$method, calibration = parts$calibration,
    intervals = isTRUE(options$intervals), penalty = options$penalty,
    constraints = options$constraints, settings = options$settings %||% list(),
    offset = columns$offset, weights = parts$max_weight
  )
  privacy <- parts$privacy
  budget <- budget_again(privacy, parts$delta)
  most <- check_number(parts$max_weight %||% 1, 0, open = "min")
  public <- glm_public(budget, columns, check_count(parts$nobs, 1), asked, most)
  stopifnot(identical(public$private, privacy$private))
  public$assumes <- privacy$assumes
  # Releases of version 0.2.0 do not allow for overdispersion.
  if (family == "poisson" && is.null(parts$release$scores)) public$facts$dispersed <- FALSE
  plan <- if (public$private) glm_plan(public) else list()
  fit <- new_glm(columns, public, plan, parts$release)
  stopifnot(
    isTRUE(fit$release$failed) || all(is.finite(fit$coefficients)),
    length(fit$coefficients) == length(columns$columns) + 1L
  )
  fit
}

#' @noRd
read_offset <- function(text) {
  if (is.null(text)) {
    return(NULL)
  }
  stopifnot(is_string(text))
  said_offset(formula_from(call("~", str2lang(text))))
}
