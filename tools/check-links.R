# Dead links and missing pictures of a built site or of Markdown files. Every internal link must
# lead to a file, and its #part to an id. The site must contain everything that a page loads
# (scripts, styles, pictures, fonts), so that it can be read without the internet. Exit status 1 if
# a check fails. Usage: Rscript tools/check-links.R site [README.md ...]
paths <- commandArgs(TRUE)
files <- unlist(lapply(paths, function(path) {
  if (dir.exists(path)) list.files(path, "[.]html$", recursive = TRUE, full.names = TRUE) else path
}))
if (!length(files)) stop("No files to check in: ", paste(paths, collapse = ", "))

read_text <- function(file) {
  paste(readLines(file, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
}

matches <- function(text, pattern) {
  found <- regmatches(text, gregexpr(pattern, text, perl = TRUE))[[1L]]
  sub(pattern, "\\1", found, perl = TRUE)
}

links_of <- function(file) {
  text <- read_text(file)
  if (grepl("[.]html$", file)) {
    text <- gsub("(?s)<script.*?</script>", "", text, perl = TRUE)
    matches(text, "(?:href|src)=\"([^\"]*)\"")
  } else {
    matches(text, "\\]\\(([^) ]+)\\)")
  }
}

ids <- new.env()
ids_of <- function(file) {
  if (is.null(ids[[file]])) {
    assign(file, matches(read_text(file), "(?:id|name)=\"([^\"]*)\""), ids)
  }
  ids[[file]]
}

# The fault of one link, or NULL.
problem <- function(file, link) {
  if (grepl("^(https?:|mailto:|data:|javascript:|//)", link) || link %in% c("", "#")) {
    return(NULL)
  }
  link <- utils::URLdecode(gsub("&amp;", "&", link, fixed = TRUE))
  part <- if (grepl("#", link, fixed = TRUE)) sub("^[^#]*#", "", link) else ""
  path <- sub("[?#].*$", "", link)
  target <- if (nzchar(path)) file.path(dirname(file), path) else file
  if (dir.exists(target)) target <- file.path(target, "index.html")
  if (!file.exists(target)) {
    return(paste("no file", path))
  }
  if (nzchar(part) && grepl("[.]html$", target) && !part %in% ids_of(target)) {
    return(paste0("no part #", part, " in ", basename(target)))
  }
  NULL
}

# Addresses on other servers from which a page or a style sheet loads.
loaded_from_elsewhere <- function(file) {
  text <- read_text(file)
  elsewhere <- "[\"'(\\s]+((?:https?:|file:)?//[^\"')\\s>]+)"
  styled <- matches(text, paste0("(?:url|@import)(?=[\\s(])", elsewhere))
  if (grepl("[.]css$", file)) {
    return(styled)
  }
  kinds <- "script|link|img|iframe|video|audio|source|embed|object"
  tags <- matches(text, paste0("(?s)(<(?:", kinds, ")\\b[^>]*>)"))
  c(styled, unlist(lapply(tags, matches, paste0("(?:src|href|data)=", elsewhere))))
}

dead <- 0L
checked <- 0L
for (file in files) {
  for (link in unique(links_of(file))) {
    checked <- checked + 1L
    wrong <- problem(file, link)
    if (!is.null(wrong)) {
      dead <- dead + 1L
      cat(file, ": ", link, " (", wrong, ")\n", sep = "")
    }
  }
}
styles <- unlist(lapply(paths[dir.exists(paths)], list.files, "[.]css$",
  recursive = TRUE, full.names = TRUE
))
for (file in c(grep("[.]html$", files, value = TRUE), styles)) {
  for (link in unique(loaded_from_elsewhere(file))) {
    dead <- dead + 1L
    cat(file, ": ", link, " (needs the internet)\n", sep = "")
  }
}
cat(checked, "links in", length(files), "files,", dead, "dead\n")
if (dead) quit(status = 1)
