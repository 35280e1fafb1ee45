# Conditions on one row as SQL: comparisons, AND, OR, NOT. With NULL for NA they have the same
# meaning as in R. No value can cause an error, since conditions contain no arithmetic and no
# functions.

#' A condition of R as SQL
#'
#' @param expression (`expression`)\cr an expression of columns and constants.
#' @param operand (`function`)\cr a function from a column's name to a list: `text`, an SQL
#'   expression that is NULL where the value is missing, and `type`, `"number"`, `"text"` or
#'   `"flag"`.
#' @return A list: `text`, `type`; or `NULL` if the condition cannot be expressed in SQL.
#' @noRd
sql_condition <- function(expression, operand, dialect, quote) {
  say <- function(x) sql_condition(x, operand, dialect, quote)
  if (is.symbol(expression)) {
    return(operand(as.character(expression)))
  }
  if (!is.call(expression)) {
    return(sql_constant(expression, dialect, quote))
  }
  what <- as.character(expression[[1L]])[[1L]]
  given <- as.list(expression)[-1L]
  if (what %in% c("(", "I") && length(given) == 1L) {
    return(say(given[[1L]]))
  }
  if (what == "-" && length(given) == 1L && is.numeric(given[[1L]])) {
    return(sql_constant(-given[[1L]], dialect, quote))
  }
  if (what == "!" && length(given) == 1L) {
    inner <- as_condition(say(given[[1L]]))
    return(if (!is.null(inner)) flag_sql("(NOT ", inner$text, ")"))
  }
  if (length(given) != 2L) {
    return(NULL)
  }
  left <- say(given[[1L]])
  right <- say(given[[2L]])
  if (is.null(left) || is.null(right)) {
    return(NULL)
  }
  if (what %in% c("&", "|")) {
    left <- as_condition(left)
    right <- as_condition(right)
    word <- c("&" = "AND", "|" = "OR")[[what]]
    return(if (!is.null(left) && !is.null(right)) {
      flag_sql("(", left$text, " ", word, " ", right$text, ")")
    })
  }
  compare <- c("==" = "=", "!=" = "<>", "<" = "<", "<=" = "<=", ">" = ">", ">=" = ">=")
  # Strings are not compared by order, which depends on the locale.
  fits <- what %in% names(compare) && left$type == right$type &&
    (left$type == "number" || (left$type == "text" && what %in% c("==", "!=")))
  if (fits) flag_sql("(", left$text, " ", compare[[what]], " ", right$text, ")")
}

#' @noRd
as_condition <- function(x) if (!is.null(x) && x$type == "flag") x

sql_constant <- function(value, dialect, quote) {
  if (length(value) != 1L || is.na(value)) {
    return(NULL)
  }
  if (is.character(value)) {
    return(list(text = quote(value), type = "text"))
  }
  if (is.logical(value)) {
    return(flag_sql(if (value) "(1 = 1)" else "(1 = 0)"))
  }
  if (is.numeric(value) && is.finite(value)) {
    list(text = sql_real(value, dialect), type = "number")
  }
}
