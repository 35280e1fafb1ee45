# Covariance, limits and sizes of what streams, selections and aggregates release: what `tidy()`
# says, in the form that other verbs ask for. Post-processing, free.

#' Normal limits of named estimates, as `confint()` gives them
#' @inheritParams limits_asked
#' @noRd
normal_limits <- function(estimate, covariance, parm, level, call) {
  level <- check_level(level, call)
  reach <- stats::qnorm((1 + level) / 2) * sqrt(diag(covariance))
  limits_asked(symmetric_limits(estimate, reach, level), parm, "estimates", call)
}

named_square <- function(covariance, names) {
  matrix(as.double(covariance), length(names), dimnames = list(names, names))
}

# Streams ------------------------------------------------------------------------------------------

#' @rdname tidy.dp_stream
#' @export
vcov.dp_online <- function(object, type = c("total", "privacy"), ...) {
  call <- public_call("vcov")
  check_no_dots(..., call = call)
  type <- check_choice(type, c("total", "privacy"), call = call)
  covariance <- object$released[[if (type == "total") "total" else "noise"]]
  names <- object$columns$names
  if (!length(covariance)) {
    abort(c(
      "This stream states no {type} covariance of its coefficients.",
      i = if (type == "total") "Method {.val gram} releases what it takes."
    ), "argument", call)
  }
  map <- unscaling(object$columns)$map
  named_square(map %*% covariance %*% t(map), names)
}

#' @rdname tidy.dp_stream
#' @export
confint.dp_online <- function(object, parm, level = 0.95, ...) {
  call <- public_call("confint")
  check_no_dots(..., call = call)
  normal_limits(coef.dp_online(object), vcov.dp_online(object), parm, level, call)
}

#' @rdname tidy.dp_stream
#' @export
vcov.dp_stream_sum <- function(object, ...) {
  check_no_dots(..., call = public_call("vcov"))
  width <- object$columns$width
  noise <- object$released$noise
  if (!length(noise)) noise <- diag(0, length(width))
  named_square(noise * tcrossprod(width), object$columns$names)
}

#' @rdname tidy.dp_stream
#' @export
confint.dp_stream_sum <- function(object, parm, level = 0.95, ...) {
  call <- public_call("confint")
  check_no_dots(..., call = call)
  normal_limits(coef.dp_stream_sum(object), vcov.dp_stream_sum(object), parm, level, call)
}

#' @rdname tidy.dp_stream
#' @export
nobs.dp_stream <- function(object, ...) object$released$rows

#' @rdname tidy.dp_stream
#' @export
formula.dp_online <- function(x, ...) {
  stats::as.formula(str2lang(x$columns$text), env = baseenv())
}

# Selections ---------------------------------------------------------------------------------------

#' @rdname tidy.dp_selection
#' @param type (`string`)\cr `"total"`, or what the `"privacy"` noise adds.
#' @export
vcov.dp_selection <- function(object, type = c("total", "privacy"), ...) {
  call <- public_call("vcov")
  check_no_dots(..., call = call)
  type <- check_choice(type, c("total", "privacy"), call = call)
  check_refit(object, call)
  out <- named_square(object$covariance[[type]], names(object$coefficients))
  if (type == "total" && chosen_by_its_noise(object)) out[] <- NA
  out
}

#' @rdname tidy.dp_selection
#' @param parm (`character` or `integer`)\cr which coefficients.
#' @export
confint.dp_selection <- function(object, parm, level = 0.95, ...) {
  call <- public_call("confint")
  check_no_dots(..., call = call)
  check_refit(object, call)
  normal_limits(object$coefficients, vcov.dp_selection(object), parm, level, call)
}

#' Did the noise of the fit choose too? Its intervals would cover half of what they say then.
#' @noRd
chosen_by_its_noise <- function(x) {
  x$privacy$private && x$method == "gram" && length(x$selected) < x$facts$p
}

check_refit <- function(selection, call) {
  if (is.null(selection$coefficients)) {
    abort("This selection was made without a regression ({.code refit = FALSE}).", "argument", call)
  }
}

#' @rdname tidy.dp_selection
#' @export
nobs.dp_selection <- function(object, ...) object$facts$n

# Aggregates ---------------------------------------------------------------------------------------

#' @rdname tidy.dp_aggregate
#' @export
vcov.dp_aggregate <- function(object, ...) {
  call <- public_call("vcov")
  check_no_dots(..., call = call)
  check_spread(object, call)
  names <- names(object$estimate)
  # Medians of the same blocks are correlated; how is not released.
  out <- matrix(NA_real_, length(names), length(names), dimnames = list(names, names))
  diag(out) <- object$std.error^2
  out
}

#' @rdname tidy.dp_aggregate
#' @param parm (`character` or `integer`)\cr which statistics.
#' @export
confint.dp_aggregate <- function(object, parm, level = 0.95, ...) {
  call <- public_call("confint")
  check_no_dots(..., call = call)
  check_spread(object, call)
  normal_limits(object$estimate, vcov.dp_aggregate(object), parm, level, call)
}

check_spread <- function(aggregate, call) {
  if (!has_spread(aggregate)) {
    abort(c(
      "This aggregate was released without its spread, so it has no intervals.",
      i = "Release by {.code method = \"winsorised\"}, with about 96 / epsilon blocks or more."
    ), "argument", call)
  }
}
