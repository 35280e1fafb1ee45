# Builds the site with pkgdown (Debian: r-cran-pkgdown) from the installed package. Neither the
# build nor the site needs the internet. A warning, or a missing topic or article, stops the build.
options(pkgdown.internet = FALSE, warn = 1)
if (!requireNamespace("pkgdown", quietly = TRUE)) {
  stop("The site needs the package pkgdown (Debian and Ubuntu: r-cran-pkgdown).")
}
unlink("site", recursive = TRUE)
warned <- character()
withCallingHandlers(
  pkgdown::build_site(".",
    examples = TRUE, install = FALSE, new_process = FALSE, preview = FALSE, devel = FALSE
  ),
  warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
  }
)

read_text <- function(file) {
  paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
}
write_text <- function(text, file) {
  writeLines(enc2utf8(text), con <- file(file, "w", encoding = "UTF-8"), useBytes = TRUE)
  close(con)
}

# The index of topics contains the names of functions that users call, but no methods.
index <- "site/reference/index.html"
lines <- strsplit(read_text(index), "\n", fixed = TRUE)[[1L]]
shorten <- function(line) {
  names <- regmatches(line, gregexpr("<code>.*?</code>", line, perl = TRUE))[[1L]]
  functions <- grep("&lt;|%|\\[|\\$|autoplot[.]", names, value = TRUE, invert = TRUE)
  kept <- paste(functions[seq_len(min(4L, length(functions)))], collapse = " ")
  sub("(<dd class=\"names\">).*", paste0("\\1", kept, "</dd>"), line)
}
at <- grep("<dd class=\"names\">", lines, fixed = TRUE)
if (!length(at)) stop("The index of topics has no names: see pkgdown/templates.")
lines[at] <- vapply(lines[at], shorten, "")
write_text(paste(lines, collapse = "\n"), index)

# The search: the entries of pkgdown and, for topics, common search words. It is a script, since a
# page opened as a file cannot load other files.
entries <- Filter(length, jsonlite::fromJSON("site/search.json", simplifyVector = FALSE))
if (!any(vapply(entries, function(entry) is.character(entry$title), NA))) {
  stop("The search has no titles: see pkgdown/templates/head.html.")
}
without_tags <- function(html) {
  text <- gsub("<[^>]*>", "", html)
  gsub("&amp;", "&", gsub("&gt;", ">", gsub("&lt;", "<", text)), fixed = TRUE)
}
inside <- function(path) sub("^(https?://[^/]*)?/*", "", path)
entries <- lapply(entries, function(entry) {
  list(
    path = inside(entry$path), id = entry$id, dir = entry$dir, title = entry$title,
    what = entry$what, text = paste(entry$text, entry$code)
  )
})
topics <- pkgdown::as_pkgdown(".")$topics
topics <- topics[!topics$internal, ]
words <- lapply(seq_len(nrow(topics)), function(i) {
  list(
    path = paste0("reference/", topics$file_out[[i]]), id = NULL, dir = "Reference",
    title = without_tags(topics$title[[i]]), what = topics$name[[i]], text = "",
    keys = paste(c(topics$alias[[i]], topics$concepts[[i]]), collapse = "; ")
  )
})
found <- jsonlite::toJSON(c(words, entries), auto_unbox = TRUE, null = "null")
write_text(paste0("window.siteIndex = ", found, ";"), "site/search.js")
# These files need the internet, and no page loads them.
unlink(c("site/search.json", "site/pkgdown.js"))

if (length(warned)) {
  cat("Warnings:\n", paste0("  ", warned, "\n"), sep = "")
  quit(status = 1)
}
cat("The site is in site/index.html\n")
