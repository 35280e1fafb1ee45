# Changes to every number, string and flag in the file of a release, one at a time.

# Leaves of a file's content, with their location as `at` (for `[[`) and in words.
file_leaves <- function(node, at = list(), name = "") {
  if (is.list(node) && !is.null(node$type) && node$type %in% c("list", "table")) {
    named <- unlist(node$names)
    parts <- lapply(seq_along(node$values), function(i) {
      own <- if (length(named)) paste0(name, "$", named[[i]]) else paste0(name, "[[", i, "]]")
      file_leaves(node$values[[i]], c(at, "values", i), own)
    })
    return(do.call(c, parts))
  }
  if (is.list(node) && !is.null(node$type)) {
    return(lapply(seq_along(node$values), function(i) {
      list(at = c(at, "values", i), name = paste0(name, "[", i, "]"), type = node$type)
    }))
  }
  if (!is.list(node)) {
    return(if (!is.null(node)) list(list(at = at, name = name, type = typeof(node))))
  }
  do.call(c, lapply(names(node), function(field) {
    file_leaves(node[[field]], c(at, field), paste0(name, "$", field))
  }))
}

leaf_at <- function(node, at) if (length(at)) leaf_at(node[[at[[1L]]]], at[-1L]) else node

with_leaf <- function(node, at, value) {
  if (!length(at)) {
    return(value)
  }
  node[at[[1L]]] <- list(with_leaf(node[[at[[1L]]]], at[-1L], value))
  node
}

# Another value of the same type. A valid value replaces a missing one.
tampered <- function(value, type) {
  if (is.null(value) || identical(value, "NA")) {
    return(switch(type, logical = TRUE, character = "tampered", 1))
  }
  if (type == "integer") return(value + 1L)
  if (type == "double") return(if (is.numeric(value)) value * 1.25 + (value == 0) else 1.5)
  if (is.logical(value)) return(!value)
  paste0(value, "x")
}

# Simulates a person who edits a file and knows how to recompute its marks.
mark_anew <- function(path) {
  content <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  parts <- parts_of(content$release)
  content$marks <- if (is.list(parts)) tryCatch(field_marks(parts), error = function(e) NULL)
  content["id"] <- list(id_of(parts))
  jsonlite::write_json(content, path,
    auto_unbox = TRUE, null = "null", na = "null", digits = I(17)
  )
}

# The result of reading each changed leaf: "refused: why", or the "same" or "other" public claims.
# With `first` only the first leaf of each vector changes; with `anew` the marks are recomputed as
# well.
leaf_results <- function(x, anew, first = TRUE) {
  path <- withr::local_tempfile(fileext = ".json")
  write_release(x, path, allow_not_private = TRUE)
  content <- jsonlite::fromJSON(path, simplifyVector = FALSE)
  claims <- public_claims(x)
  leaves <- Filter(function(leaf) !grepl("^[$]marks", leaf$name), file_leaves(content))
  names <- vapply(leaves, `[[`, "", "name")
  if (first) leaves <- leaves[!duplicated(sub("[[0-9]+\\]$", "", names))]
  results <- lapply(leaves, function(leaf) {
    changed <- with_leaf(content, leaf$at, tampered(leaf_at(content, leaf$at), leaf$type))
    if (anew) {
      parts <- parts_of(changed$release)
      changed$marks <- if (is.list(parts)) field_marks(parts)
      if (leaf$name != "$id") changed["id"] <- list(id_of(parts))
    }
    again <- tryCatch(
      suppressWarnings(object_of_file(changed, function(problem) {
        # The condition omits the calls that led to it, which rlang::abort() would collect.
        stop(rlang::error_cnd("refusal", message = paste("refused:", problem)))
      })),
      refusal = conditionMessage
    )
    if (is.character(again)) {
      again
    } else {
      if (same_claims(public_claims(again), claims)) "same" else "other"
    }
  })
  data.frame(
    leaf = sub("^[$]", "", sub("^[$]release", "", vapply(leaves, `[[`, "", "name"))),
    result = unlist(results)
  )
}

parts_of <- function(release) {
  none <- function(e) NULL
  tryCatch(from_json(release), error = none, warning = none)
}

id_of <- function(parts) {
  if (is.list(parts)) tryCatch(dpsc:::id_of_parts(parts), error = function(e) NULL)
}

public_claims <- function(x) {
  parts <- file_parts(x)
  parts[setdiff(names(parts), c("statistics", "release"))]
}

same_claims <- function(x, y) isTRUE(all.equal(x, y, tolerance = 1e-12))
