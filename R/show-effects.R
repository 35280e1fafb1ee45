# The table of effects, with rows for the periods, adoption dates and outcomes of a fit, and the
# methods that read this table, each written once.

#' The table of effects
#' @param fit (`dp_synth`, `dp_cohorts` or `dp_outcomes`).
#' @param type (`string` or `NULL`)\cr kind of rows; see [tidy.dp_synth()] and [tidy.dp_cohorts()].
#'   `NULL`: the first kind.
#' @param shrink (`flag`)\cr see [tidy.dp_synth()].
#' @return A data frame with the columns that identify rows (see `effect_index`), a unique `label`,
#'   `estimate`, and its standard errors, test and limits.
#' @noRd
effects_table <- function(fit, level = 0.95, simultaneous = FALSE, type = NULL, shrink = FALSE) {
  UseMethod("effects_table")
}

#' @noRd
#' @exportS3Method
effects_table.dp_synth <- function(fit, level = 0.95, simultaneous = FALSE, type = NULL,
                                   shrink = FALSE) {
  types <- c("overall", "unit")
  type <- check_choice(type %||% types, types, "type")
  table <- effect_limits(fit, level, simultaneous, type, shrink)
  table$label <- effect_names(table)
  table
}

#' Names of effects: the term, and the target if there are several targets
#' @noRd
effect_names <- function(table) {
  if (length(unique(table$target)) > 1L) {
    paste0(table$target, ": ", table$term)
  } else {
    as.character(table$term)
  }
}

#' The tables of several fits, combined by rows
#' @param column (`string`)\cr the column with the fits' names.
#' @param table (`function`)\cr a function of one fit.
#' @noRd
stacked <- function(fits, column, table, ...) {
  rows <- lapply(fits, table, ...)
  out <- cbind(rep(names(fits), vapply(rows, nrow, 0L)), do.call(rbind, unname(rows)))
  names(out)[[1L]] <- column
  rownames(out) <- NULL
  out
}

effect_index <- c(
  "outcome", "target", "term", "cohort", "period", "event", "kind", "cohorts", "people"
)

# Methods -----------------------------------------------------------------------------------------

tidy_effects <- function(x, conf.int, conf.level, simultaneous, ..., type = NULL,
                         shrink = FALSE) {
  check_table_dots(...)
  level <- check_level(conf.level)
  table <- effects_table(x, level, check_flag(simultaneous), type, check_flag(shrink))
  limits <- if (check_flag(conf.int)) c("conf.low", "conf.high")
  table[c(
    intersect(effect_index, names(table)), setdiff(error_columns, "term"), limits
  )]
}

#' Rows of effects, without the residuals before an adoption
#' @noRd
rows_of_effects <- function(table) {
  if (is.null(table$kind)) table else table[table$kind == "effect", ]
}

coef_effects <- function(object, type = NULL, ..., shrink = FALSE) {
  check_no_dots(...)
  table <- rows_of_effects(effects_table(object, type = type, shrink = check_flag(shrink)))
  stats::setNames(table$estimate, table$label)
}

confint_effects <- function(object, parm, level, simultaneous, type = NULL, ...,
                            shrink = FALSE) {
  check_no_dots(...)
  level <- check_level(level)
  table <- rows_of_effects(
    effects_table(object, level, check_flag(simultaneous), type, check_flag(shrink))
  )
  out <- matrix(c(table$conf.low, table$conf.high),
    ncol = 2L, dimnames = list(table$label, percent_names(level))
  )
  if (is.null(parm)) out else limits_asked(out, as.character(parm), "effects")
}

#' Printed effects with their limits, if known
#' @noRd
effects_shown <- function(table, level) {
  shown <- data.frame(effect = format_value(table$estimate))
  if (!all(is.na(table$conf.low))) {
    shown[percent_names(level)] <- lapply(table[c("conf.low", "conf.high")], function(limit) {
      ifelse(is.na(limit), "", format_value(limit))
    })
  }
  shown
}

# Fits of several ---------------------------------------------------------------------------------

#' A method's results for each fit, as a named list
#' @param verb (`string`)\cr the function with `each` as its code.
#' @noRd
each_fit <- function(verb, object, each, ...) {
  door(verb, lapply(object$cohorts %||% object$outcomes, each, ...))
}

#' Refuse functions that need a single fit
#' @param what (`string`)\cr `"cohort"` or `"outcome"`, the field of the fits without its final s.
#' @noRd
refuse_several <- function(verb, what) {
  door(verb, abort(c(
    "{.fn {verb}} takes one {what}: {.code {verb}(fit${what}s[[1]])}.",
    i = "Every element of {.code fit${what}s} is a separate fit."
  ), "argument"))
}
