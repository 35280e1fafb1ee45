# A private regression as JSON. Values that follow from public facts are recomputed, not read: the
# columns from formula and bounds, the noise and its cost from the plan, the coordinates of a round
# from earlier rounds.

#' @export
file_parts.dp_lm <- function(x) {
  columns <- x$columns
  list(
    formula = columns$text, model = x$text, bounds = lapply(columns$given, plain_bound),
    weighted = isTRUE(columns$weighted), max_weight = x$max_weight, vcov = x$vcov, n = x$nobs,
    privacy = x$privacy, statistics = x$release, person = columns$person
  )
}

#' @return A `dp_lm`, or `NULL` if a field is missing or contradicts another field. An error has the
#'   same meaning as `NULL`.
#' @noRd
#' @exportS3Method
object_again.dp_lm <- function(parts) {
  formula <- formula_of(parts$formula)
  columns <- lm_columns(formula, parts$bounds)
  columns$weighted <- parts$weighted
  columns$person <- read_person(parts$person)
  privacy <- parts$privacy
  budget <- budget_again(privacy)
  n <- check_count(parts$n, 1)
  max_weight <- check_number(parts$max_weight, 0, open = "min")
  vcov <- check_choice(parts$vcov, c("const", "HC"))
  public <- lm_public(budget, columns, n, vcov, max_weight)
  public$assumes <- privacy$assumes
  plan <- lm_plan(public)
  if (public$private) {
    # Formula, bounds, n and budget determine the noise and its cost.
    old <- at_most_version(privacy$version, last_other_plan)
    same <- if (old) {
      is_old_plan(privacy$steps, plan)
    } else {
      lm_discrepancy_cpp(parts$statistics, public$facts) < 1e-6
    }
    if (!same || !all(is.finite(unlist(parts$statistics)))) {
      return(NULL)
    }
    if (old) plan$steps <- privacy$steps
  } else if (!is.null(privacy$steps) || !all(is.finite(unlist(parts$statistics)))) {
    return(NULL)
  }
  fit <- new_lm(columns, public, plan, parts$statistics)
  if (identical(parts$model, columns$text)) {
    return(fit)
  }
  stats::update(fit, formula_of(parts$model))
}

#' Steps of versions up to 0.2.0, which drew radii and clips, so that their plan cannot be repeated
#' @noRd
is_old_plan <- function(steps, plan) {
  spent <- if (anyNA(steps$mu)) sum(steps$epsilon) else sqrt(sum(steps$mu^2))
  total <- if (anyNA(plan$steps$mu)) sum(plan$steps$epsilon) else sqrt(sum(plan$steps$mu^2))
  is.finite(spent) && spent > 0 && spent <= total * (1 + 1e-6)
}

#' @export
file_parts.dp_paper <- function(x) {
  columns <- x$columns
  settings <- x$facts[mechanism_table$dp_lm[[x$method]]$options]
  list(
    formula = columns$text, bounds = lapply(columns$given, plain_bound), method = x$method,
    # A setting of zero means that no delta was given.
    settings = settings[vapply(settings, `>`, NA, 0)], n = x$nobs, privacy = x$privacy,
    release = x$release, person = columns$person
  )
}

#' @noRd
#' @exportS3Method
object_again.dp_paper <- function(parts) {
  privacy <- parts$privacy
  drawing <- Filter(function(one) one$gives == "draw", mechanism_table$dp_lm)
  record <- drawing[[check_choice(parts$method, names(drawing))]]
  formula <- formula_of(parts$formula)
  columns <- lm_columns(formula, parts$bounds)
  columns$weighted <- FALSE
  columns$person <- read_person(parts$person)
  budget <- budget_again(privacy)
  public <- lm_public(budget, columns, check_count(parts$n, 1), "const", 1)
  public[c("assumes", "calibration", "settings")] <- list(
    privacy$assumes, "tight", parts$settings
  )
  public$paper <- paper_facts(public, record$core)
  request <- list(public = public)
  made <- posterior_record(record)
  plan <- made$plan(request)
  fit <- new_paper(
    columns, public, parts$method, plan, made$promise(request, plan), parts$release
  )
  stopifnot(length(fit$coefficients) == length(columns$columns) + 1L)
  fit
}
