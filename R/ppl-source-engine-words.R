# Errors of engines that may be shown: errors about names, rights and syntax. All other errors are
# hidden, since planners run functions of views and read files, so that errors of EXPLAIN may
# contain cells of people.

#' Kinds of errors as regular expressions, with names as groups
#' @noRd
engine_errors <- local({
  type <- paste0("(?:unknown|boolean|smallint|integer|bigint|numeric|real|double precision|text|",
    "character varying|character|date|interval|timestamp with(?:out)? time zone|uuid|jsonb?)")
  named <- "\"([^\"]*)\""
  c(
    # Postgres.
    paste0("(?:relation|schema|column|function|type) ", named, " does not exist"),
    "column ([^ \"]+) does not exist",
    paste0("function ([^ (\"]+)\\((?:", type, "(?:, )?)*\\) does not exist"),
    paste0("operator does not exist: (?:", type, " )?[-+*/<>=~!@#%^&|`?]+ ", type),
    paste0("column reference ", named, " is ambiguous"),
    paste0("(?:missing|invalid reference to) FROM-clause entry for table ", named),
    paste0("cross-database references are not implemented: ", named),
    "permission denied for (?:table|view|relation|schema|database|function|foreign table|column)",
    "permission denied to create temporary tables in database",
    # Postgres and DuckDB.
    "(?:Parser Error: )?syntax error at end of input",
    paste0("(?:Parser Error: )?syntax error at or near ", named),
    # SQLite.
    "no such (?:table|column|function): ([^\n]+)", "ambiguous column name: ([^\n]+)",
    paste0("near ", named, ": syntax error"), paste0("unrecognized token: ", named),
    "incomplete input",
    # DuckDB.
    "Catalog Error: (?:Table|View|(?:Scalar |Table )?Function) with name ([^ ]+) does not exist",
    paste0("Binder Error: Referenced (?:column|table) ", named, " not found"), "Permission Error"
  )
})

#' Words of drivers before an engine's error
#' @noRd
driver_words <- paste0(
  "(?:Failed to [a-z]+ [a-z]+ ?: )?(?:rapi_[a-z]+: Failed to [a-z]+ query [A-Z]*\\s*)?",
  "(?:Error: )?(?:ERROR: +)?"
)

#' The part of an engine's words that is an error of a known kind, or `NULL`
#'
#' A name that is not a name in the statement could be a cell, for example a cell that a view
#' converts to a table's name, and is not shown.
#' @noRd
known_error <- function(words, text) {
  if (!validEnc(words)) {
    return(NULL)
  }
  words <- trimws(sub(text, "", words, fixed = TRUE))
  for (kind in engine_errors) {
    pattern <- paste0("^", driver_words, "(", kind, ")")
    at <- regexec(pattern, words, perl = TRUE)[[1L]]
    if (at[[1L]] > 0L) {
      ends <- at + attr(at, "match.length") - 1L
      kind <- substr(words, at[[2L]], ends[[2L]])
      is_table <- grepl("^(?:relation|no such table|Catalog Error)", kind)
      out <- substr(words, 1L, ends[[2L]])
      for (k in rev(seq_along(at)[-(1:2)])) {
        if (!is_named(substr(words, at[[k]], ends[[k]]), text, is_table)) {
          out <- paste0(substr(out, 1L, at[[k]] - 1L), "...", substring(out, ends[[k]] + 1L))
        }
      }
      return(substr(substring(out, at[[2L]]), 1L, 300L))
    }
  }
  NULL
}

#' Is this a whole name in a statement, outside strings?
#' @param is_table (`flag`)\cr whether only names of tables count.
#' @noRd
is_named <- function(name, text, is_table) {
  plain <- function(x) gsub("[\"`]", "", tolower(x))
  text <- plain(gsub("'[^']*'", "''", text))
  name <- plain(name)
  if (!nzchar(name) || grepl("\\", name, fixed = TRUE)) {
    return(FALSE)
  }
  word <- "[[:alnum:]_]"
  pattern <- paste0(
    if (is_table) {
      paste0("\\b(?:from|join)\\s+(?:", word, "+[.])*")
    } else if (grepl(paste0("^", word), name)) {
      paste0("(?<!", word, ")")
    },
    "\\Q", name, "\\E", if (grepl(paste0(word, "$"), name)) paste0("(?!", word, ")")
  )
  grepl(pattern, text, perl = TRUE)
}
