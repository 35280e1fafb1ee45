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
#' A name that is not in the statement could be a cell, for example a cell that a view converts to
#' a table's name, and is not shown.
#' @noRd
known_error <- function(words, text) {
  if (!validEnc(words)) {
    return(NULL)
  }
  words <- trimws(sub(text, "", words, fixed = TRUE))
  for (kind in engine_errors) {
    pattern <- paste0("^", driver_words, "(", kind, ")")
    found <- regmatches(words, regexec(pattern, words, perl = TRUE))[[1L]]
    if (length(found)) {
      out <- found[[2L]]
      for (name in found[-(1:2)]) {
        if (!grepl(tolower(name), tolower(text), fixed = TRUE)) {
          out <- sub(name, "...", out, fixed = TRUE)
        }
      }
      return(substr(out, 1L, 300L))
    }
  }
  NULL
}
