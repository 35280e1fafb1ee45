# What people read off an aggregate: released values and public facts.

#' Read an aggregate of blocks
#'
#' Post-processing of a [dp_aggregate()]: it costs nothing.
#'
#' @param x,object (`dp_aggregate`).
#' @param conf.int (`flag`)\cr add limits; needs `spread = TRUE`.
#' @param conf.level (`number`, in (0, 1))\cr their coverage, of the statistic that blocks estimate.
#' @param ... unused.
#' @return
#' * `coef()`: the estimates. `nobs()`: the number of people.
#' * `tidy()`: `term`, `estimate`, `std.error` (of the median over blocks, privacy included; `NA`
#'   without `spread`, and where not identified), `privacy.se`, `identified` (whether the budget
#'   lets the quantiles stand clear of the noise), and `conf.low`, `conf.high`.
#' * `glance()`: one row of facts. `summary()`: the print, and all on privacy with its steps.
#' @section Errors: `dpsc_error_argument`.
#' @name tidy.dp_aggregate
NULL

#' @rdname tidy.dp_aggregate
#' @export
tidy.dp_aggregate <- function(x, conf.int = FALSE, conf.level = 0.95, ...) {
  call <- public_call("tidy")
  check_no_dots(..., call = call)
  out <- data.frame(
    term = names(x$estimate), estimate = unname(x$estimate), std.error = x$std.error,
    privacy.se = x$privacy.se, identified = rep(x$plan$identified, length(x$estimate))
  )
  if (check_flag(conf.int, call = call)) {
    check_spread(x, call)
    out <- add_limits(out, out$std.error, conf.level, call)
  }
  out
}

#' @rdname tidy.dp_aggregate
#' @export
glance.dp_aggregate <- function(x, ...) {
  data.frame(
    method = x$method, nobs = x$nobs, blocks = x$plan$blocks, epsilon = x$privacy$epsilon,
    delta = x$privacy$delta, private = x$privacy$holds, identified = x$plan$identified
  )
}

#' @rdname tidy.dp_aggregate
#' @export
coef.dp_aggregate <- function(object, ...) {
  check_no_dots(..., call = public_call("coef"))
  object$estimate
}

#' @rdname tidy.dp_aggregate
#' @export
nobs.dp_aggregate <- function(object, ...) {
  object$nobs
}

#' @rdname tidy.dp_aggregate
#' @export
print.dp_aggregate <- function(x, ...) print_lines(x, aggregate_lines(x))

#' @rdname tidy.dp_aggregate
#' @export
summary.dp_aggregate <- function(object, ...) new_summary(object, aggregate_lines(object), ...)

aggregate_lines <- function(x) {
  whole <- function(n) formatC(n, format = "d", big.mark = ",")
  title <- aggregate_methods()[[x$method]]$title
  c(
    paste0(if (!x$privacy$private) "Raw ", if (x$privacy$private) title else tolower(title),
      " of your statistic over ", whole(x$plan$blocks), " blocks of ",
      whole(floor(x$nobs / x$plan$blocks)), " people"),
    "",
    paste0("  ", formatC(names(x$estimate), width = -max(nchar(names(x$estimate)))), "  ",
      formatC(x$estimate, digits = 5L, format = "g"),
      ifelse(is.na(x$std.error), "", paste0("  (", formatC(x$std.error, digits = 3L, format = "g"),
        ")"))),
    strwrap(c(aggregate_reason(x), fallback_line(x)), 90L, prefix = "  ")
  )
}

#' Why there is no interval, by public facts, or `NULL`
#' @noRd
aggregate_reason <- function(x) {
  whole <- function(n) formatC(n, format = "d", big.mark = ",")
  if (!x$plan$identified) {
    return(paste0(
      "Not identified at this budget: the noise is worth ", formatC(x$plan$ranks, digits = 3L,
        format = "g"), " of ", whole(x$plan$blocks), " ranks. More people, fewer statistics or a ",
      "larger epsilon help."
    ))
  }
  if (!has_spread(x)) {
    return("No interval: the spread over blocks was not released.")
  }
  # Objects of 0.2.0 have no such fact.
  if (isFALSE(x$plan$large)) {
    paste0("No interval: blocks have fewer than ", least_block, " people, and the bias of a ",
      "statistic in small samples is not known.")
  }
}

fallback_line <- function(x) {
  failed <- at_fallback(x)
  if (length(failed)) {
    paste0("Most blocks' answers equal the fallback (", paste(failed, collapse = ", "),
      "): the statistic may have failed.")
  }
}
