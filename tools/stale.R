# Removes the objects in src/ that are older than a file which they include, directly or indirectly.
# R's make knows units, but not their includes. Then an install without --preclean compiles only the
# removed objects. Usage, in the project's folder: Rscript tools/stale.R. Prints the names of
# removed objects.

# The package's files that a file includes. Lines under DPSC_ONE_UNIT are for users of the core
# without a library, and no unit of the package sets this macro.
included <- function(file) {
  lines <- readLines(file, warn = FALSE)
  inside <- Reduce(function(on, line) {
    if (line == "#ifdef DPSC_ONE_UNIT") TRUE else if (line == "#endif") FALSE else on
  }, lines, FALSE, accumulate = TRUE)[-1L]
  names <- sub("^#include [<\"]([^>\"]+)[>\"].*", "\\1", grep("^#include ", lines[!inside],
    value = TRUE
  ))
  places <- c(dirname(file), "src", file.path("inst", "include"))
  found <- unlist(lapply(names, function(name) {
    at <- file.path(places, name)
    at[file.exists(at)][1L]
  }))
  normalizePath(found[!is.na(found)])
}

closure <- function(file) {
  seen <- character()
  open <- normalizePath(file)
  while (length(open)) {
    seen <- c(seen, open)
    open <- setdiff(unlist(lapply(open, function(f) {
      if (is.null(known[[f]])) known[[f]] <- included(f)
      known[[f]]
    })), seen)
  }
  seen
}

known <- new.env()
always <- file.path("src", c("Makevars", "quiet_eigen.h"))
for (object in list.files("src", "[.]o$", full.names = TRUE)) {
  unit <- sub("o$", "cpp", object)
  if (!file.exists(unit) || max(file.mtime(c(always, closure(unit)))) >= file.mtime(object)) {
    cat("removed ", object, "\n", sep = "")
    unlink(object)
  }
}
