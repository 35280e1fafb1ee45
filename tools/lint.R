# Style of R code by .lintr. Ends with "lint: N passed, N failed", counted per file, or reports that
# the check was skipped. Exit status 1 if a file failed.
if (!nzchar(system.file(package = "lintr"))) {
  cat("lint: the package lintr is not installed: skipped\n")
  quit(status = 0L)
}
folders <- c("R", "tests", "tools", "bench", "demo", "data-raw", "inst")
files <- setdiff(
  list.files(folders, "[.]R$", recursive = TRUE, full.names = TRUE), "R/RcppExports.R"
)
# These are the rules of this package. A later lintr may contain further rules.
rules <- paste0(c(
  "assignment", "brace", "commas", "equals_na", "function_left_parentheses", "infix_spaces",
  "line_length", "no_tab", "object_length", "paren_body", "pipe_continuation", "quotes",
  "semicolon", "seq", "single_quotes", "spaces_inside", "spaces_left_parentheses",
  "T_and_F_symbol", "trailing_blank_lines", "trailing_whitespace", "vector_logic", "whitespace"
), "_linter")
# A call of `door()` replaces the braces of its function.
is_door <- function(one, lines) {
  after <- lines[one$line_number:length(lines)]
  grepl("function spanning", one$message) && grepl("door(", grep("[{]$", after, value = TRUE)[1L],
    fixed = TRUE
  )
}
# A file without findings is not read again until the file, the rules or lintr change.
clean <- file.path(".lib", "lint")
dir.create(clean, recursive = TRUE, showWarnings = FALSE)
known <- tools::md5sum(c(".lintr", file.path("tools", "lint.R")))
key_of <- function(file) {
  key <- tempfile("key")
  on.exit(unlink(key))
  writeLines(c(file, tools::md5sum(file), known, format(utils::packageVersion("lintr"))), key)
  file.path(clean, tools::md5sum(key))
}
is_rule <- function(one) one$type == "error" || one$linter %in% rules
# Half of the time of lintr::lint() is not spent on rules, so lint() reads only the files in which
# some rule finds a fault.
linters <- eval(parse(text = read.dcf(".lintr", "linters")), asNamespace("lintr"))
is_suspect <- function(file, lines) {
  read <- lintr::get_source_expressions(file)
  if (!is.null(read$error)) return(TRUE)
  # A tenth of the time goes to a search for tabs.
  if (!any(grepl("\t", lines, fixed = TRUE))) linters$no_tab_linter <- NULL
  for (linter in linters) {
    for (one in read$expressions) if (length(unlist(linter(one)))) return(TRUE)
  }
  FALSE
}
found <- lapply(files, function(file) {
  key <- key_of(file)
  if (file.exists(key)) return(list())
  lines <- readLines(file)
  all <- if (is_suspect(file, lines)) lintr::lint(file, parse_settings = TRUE)
  kept <- Filter(function(one) is_rule(one) && !is_door(one, lines), all)
  if (!length(kept)) file.create(key)
  kept
})
for (k in seq_along(found)) {
  for (one in found[[k]]) {
    cat(files[[k]], ":", one$line_number, ": ", one$message, "\n", sep = "")
  }
}
failed <- sum(lengths(found) > 0L)
cat("lint: ", length(files) - failed, " passed, ", failed, " failed\n", sep = "")
quit(status = as.integer(failed > 0L))
