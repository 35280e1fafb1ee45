# Dead links and missing pictures of a built site or of Markdown files: every link that stays inside
# must lead to a file, and its #part to an id. Rscript tools/check-links.R site [README.md ...]
# Exit status 1 if one does not.
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

# Of one link: what is wrong with it, or NULL.
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
cat(checked, "links in", length(files), "files,", dead, "dead\n")
if (dead) quit(status = 1)
