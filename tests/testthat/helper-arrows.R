# Dependencies: calls between the files of R/, from parsed code, and includes between the headers of
# the core. Used by test-arrows.R.

# Names that code uses but does not define: the functions that it calls, and the objects that it
# refers to.
names_used <- function(code, own = character()) {
  if (is.symbol(code)) {
    name <- as.character(code)
    return(if (nzchar(name) && !name %in% own) name)
  }
  if (!is.call(code) && !is.pairlist(code) && !is.expression(code)) return(NULL)
  head <- if (is.call(code) && is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  if (head %in% c("::", ":::")) return(NULL)
  if (head %in% c("$", "@")) return(names_used(code[[2L]], own))
  if (head == "function") {
    own <- c(own, names(code[[2L]]), names_assigned(code[[3L]]))
    return(c(names_used(code[[2L]], own), names_used(code[[3L]], own)))
  }
  # A variable does not mask a function of the same name in a call.
  called <- if (nzchar(head)) head
  parts <- if (is.call(code) && nzchar(head)) as.list(code)[-1L] else as.list(code)
  c(called, unlist(lapply(parts, function(part) {
    if (!missing(part)) names_used(part, own)
  })))
}

names_assigned <- function(code) {
  if (!is.call(code)) return(NULL)
  head <- if (is.symbol(code[[1L]])) as.character(code[[1L]]) else ""
  if (head == "function") return(NULL)
  made <- if (head %in% c("<-", "=", "for") && is.symbol(code[[2L]])) as.character(code[[2L]])
  c(made, unlist(lapply(as.list(code)[-1L], function(part) {
    if (!missing(part)) names_assigned(part)
  })))
}

# One row for each pair of files in which the first file uses a name that the second file defines.
file_calls <- function(folder) {
  files <- setdiff(list.files(folder, "[.]R$"), "RcppExports.R")
  code <- lapply(stats::setNames(files, files), function(file) {
    as.list(parse(file.path(folder, file), keep.source = FALSE))
  })
  is_definition <- function(x) is.call(x) && identical(x[[1L]], quote(`<-`)) && is.symbol(x[[2L]])
  made <- lapply(code, function(all) {
    vapply(Filter(is_definition, all), function(x) as.character(x[[2L]]), "")
  })
  home <- stats::setNames(rep(files, lengths(made)), unlist(made))
  calls <- lapply(files, function(file) {
    used <- unlist(lapply(code[[file]], function(x) {
      names_used(if (is_definition(x)) x[[3L]] else x)
    }))
    to <- unique(home[intersect(used, names(home))])
    to <- setdiff(to, file)
    data.frame(from = rep(file, length(to)), to = to)
  })
  do.call(rbind, calls)
}

# One row for each pair of headers, with the bodies beside them, in which the first includes the
# second. Paths are below `folder`.
header_includes <- function(folder) {
  files <- list.files(folder, "[.][hc]pp$", recursive = TRUE)
  rows <- lapply(files, function(file) {
    lines <- grep("^\\s*#\\s*include", readLines(file.path(folder, file)), value = TRUE)
    quoted <- sub('.*"(.*)".*', "\\1", grep('"', lines, value = TRUE))
    angled <- sub(".*<dpsc/(.*)>.*", "\\1", grep("<dpsc/", lines, value = TRUE))
    to <- c(vapply(quoted, function(x) plain_path(file.path(dirname(file), x)), ""), angled)
    data.frame(from = rep(file, length(to)), to = unname(to))
  })
  arrows <- as.data.frame(lapply(do.call(rbind, rows), function(x) sub("[.]cpp$", ".hpp", x)))
  arrows[arrows$from != arrows$to, ]
}

# For example, "a/../b.hpp" becomes "b.hpp".
plain_path <- function(path) {
  parts <- character()
  for (part in strsplit(path, "/", fixed = TRUE)[[1L]]) {
    if (part == "..") parts <- parts[-length(parts)]
    else if (part != ".") parts <- c(parts, part)
  }
  paste(parts, collapse = "/")
}

# Arrows from a floor to a higher floor, as "from -> to". `floor` gives the number of a file's
# floor.
arrows_up <- function(arrows, floor) {
  up <- floor(arrows$to) > floor(arrows$from)
  if (any(up)) paste(arrows$from[up], "->", arrows$to[up]) else character()
}

# Sets of files in which each file reaches every other file, by the transitive closure of the calls.
circles <- function(arrows) {
  files <- unique(c(arrows$from, arrows$to))
  reach <- matrix(FALSE, length(files), length(files), dimnames = list(files, files))
  reach[cbind(arrows$from, arrows$to)] <- TRUE
  for (k in files) reach <- reach | outer(reach[, k], reach[k, ])
  both <- reach & t(reach)
  unique(lapply(files[diag(both)], function(file) sort(files[both[file, ]])))
}
