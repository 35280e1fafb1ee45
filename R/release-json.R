# A release as JSON, for publishing: every number is written so that it reads back bit for bit.

json_format <- "dpsc-release"
json_version <- 1L
# Classes of periods; a file can bring no others.
json_classes <- c("IDate", "Date", "POSIXct", "POSIXt", "difftime", "yearmon", "yearqtr")
json_attributes <- c("labels", "dim", "class", "tzone", "units")

#' Write and read a release
#'
#' A release holds noisy statistics and public facts only, so it may be published. It is written as
#' JSON with 17 significant digits: what is read back is identical.
#'
#' @param release (`dp_release`)\cr a release. One that is NOT PRIVATE (`epsilon = Inf`) is refused,
#'   unless `allow_not_private` says otherwise.
#' @param path (`string`)\cr a file. Written to a temporary file first, then moved: a crash leaves the
#'   old file or the new one, never half of one.
#' @param allow_not_private (`flag`)\cr write a release without noise all the same.
#' @return `write_release()`: `path`, invisibly. `read_release()`: a `dp_release`.
#' @section Errors: `dpsc_error_release`: a file that cannot be read, is not a release, is cut short,
#'   or whose parts do not fit together; a release that is not private. `dpsc_error_argument`.
#' @examplesIf requireNamespace("jsonlite", quietly = TRUE)
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' path <- tempfile(fileext = ".json")
#' write_release(release, path)
#' dp_synth(read_release(path), target = panel$target)
#' @export
write_release <- function(release, path, allow_not_private = FALSE) {
  call <- public_call("write_release")
  rlang::check_installed("jsonlite", "to write a release.")
  if (!inherits(release, "dp_release")) {
    abort(c(
      "{.arg release} must come from {.fn dp_release}.", x = "It is {describe(release)}.",
      i = "The release of a fit is {.code fit$release}."
    ), "argument", call)
  }
  check_path(path, call)
  if (!release$privacy$private && !check_flag(allow_not_private, call = call)) {
    abort(c(
      "This release is NOT PRIVATE: it holds the donors' statistics without noise.",
      i = "Release with a finite {.arg epsilon}. To write it all the same, say {.code allow_not_private = TRUE}."
    ), "release", call)
  }
  text <- jsonlite::toJSON(
    list(format = json_format, version = json_version, release = to_json(unclass(release))),
    auto_unbox = TRUE, null = "null", na = "null", json_verbatim = TRUE, pretty = TRUE
  )
  draft <- tempfile(basename(path), dirname(path))
  on.exit(unlink(draft))
  written <- tryCatch(
    {
      writeLines(enc2utf8(text), draft, useBytes = TRUE)
      file.rename(draft, path)
    },
    error = function(e) FALSE, warning = function(w) FALSE
  )
  if (!written) {
    abort(c("The file could not be written.", x = "{.file {path}}"), "release", call)
  }
  invisible(path)
}

#' @rdname write_release
#' @export
read_release <- function(path) {
  call <- public_call("read_release")
  rlang::check_installed("jsonlite", "to read a release.")
  check_path(path, call)
  fail <- function(problem) {
    abort(c("{.file {path}} is not a release that can be read.", x = problem), "release", call)
  }
  if (!file.exists(path)) fail("There is no such file.")
  content <- tryCatch(
    jsonlite::fromJSON(path, simplifyVector = FALSE),
    error = function(e) NULL, warning = function(w) NULL
  )
  if (is.null(content)) fail("It is not valid JSON; was it cut short?")
  if (!is.list(content) || !identical(content$format, json_format)) fail("It is some other JSON.")
  if (!identical(as.integer(content$version), json_version)) {
    fail("It was written by another version of the package.")
  }
  release <- tryCatch(
    structure(from_json(content$release), class = "dp_release"),
    error = function(e) NULL
  )
  problem <- if (is.null(release) || !is.list(release)) {
    "A value has an unknown type."
  } else {
    release_problem(release)
  }
  if (!is.null(problem)) fail(problem)
  release
}

check_path <- function(path, call) {
  if (!(is.character(path) && length(path) == 1L && !is.na(path) && nzchar(path))) {
    abort(c("{.arg path} must name one file.", x = "It is {describe(path)}."), "argument", call)
  }
}

# Values -------------------------------------------------------------------------------------------

# Every vector becomes {type, values} and, where it has them, dim, names or class. Doubles are written
# with 17 significant digits, which determine them.
to_json <- function(x) {
  if (is.null(x)) {
    return(NULL)
  }
  if (is.list(x)) {
    kind <- if (is.data.frame(x)) "table" else "list"
    return(list(type = kind, names = I(names(x) %||% character()), values = unname(lapply(unclass(x), to_json))))
  }
  extra <- as.list(attributes(x))
  names(extra) <- sub("^names$", "labels", names(extra))
  extra <- extra[names(extra) %in% json_attributes]
  c(
    list(type = typeof(x), values = json_values(x)),
    lapply(extra, function(e) I(as.vector(e)))
  )
}

json_values <- function(x) {
  x <- as.vector(unclass(x))
  if (is.double(x)) {
    number <- ifelse(is.finite(x), sprintf("%.17g", x), paste0("\"", x, "\""))
    structure(paste0("[", paste(number, collapse = ","), "]"), class = "json")
  } else {
    I(x)
  }
}

from_json <- function(x) {
  if (is.null(x)) {
    return(NULL)
  }
  if (x$type %in% c("list", "table")) {
    out <- lapply(x$values, from_json)
    if (length(x$names)) names(out) <- unlist(x$names)
    if (x$type == "table") {
      out <- as.data.frame(out, stringsAsFactors = FALSE)
    }
    return(out)
  }
  empty <- switch(x$type,
    double = double(), integer = integer(), logical = logical(), character = character(),
    stop("unknown type")
  )
  value <- lapply(x$values, function(v) {
    if (is.null(v) || identical(v, "NA")) v <- NA
    if (x$type == "double" && is.character(v) && !v %in% c("NaN", "Inf", "-Inf")) stop("no number")
    if (length(v) != 1L) stop("no single value")
    as_type(v, x$type)
  })
  value <- if (length(value)) unlist(value) else empty
  if (!all(unlist(x$class) %in% json_classes)) stop("unknown class")
  attributes(value) <- Filter(length, list(
    names = unlist(x$labels), dim = unlist(x$dim), class = unlist(x$class),
    tzone = unlist(x$tzone), units = unlist(x$units)
  ))
  value
}

as_type <- function(v, type) {
  switch(type,
    double = as.double(v), integer = as.integer(v), logical = as.logical(v),
    character = as.character(v)
  )
}

#' What is wrong with a release that was read, in words, or `NULL`
#'
#' Sizes must agree, so that a file that was edited or damaged fails here and not in the middle of a
#' fit.
#' @noRd
release_problem <- function(release) {
  parts <- c("method", "calibration", "statistics", "panel", "bounds", "settings", "privacy")
  if (!all(parts %in% names(release))) {
    return("Parts are missing.")
  }
  is_size <- function(x, min) is_number(x) && is.finite(x) && x >= min && x == round(x)
  panel <- release$panel
  if (!(is_size(panel$n, 1) && is_size(panel$T0, 2) && is_size(panel$T1, 1))) {
    return("The sizes of the panel are missing or wrong.")
  }
  periods <- panel$T0 + panel$T1
  lengths <- c(length(panel$times), length(release$bounds$lower), length(release$bounds$upper))
  if (any(lengths != periods)) {
    return("The periods and the bounds do not fit the sizes of the panel.")
  }
  if (!release$method %in% names(mechanisms())) {
    return("The method is unknown.")
  }
  problem <- switch(release$method,
    gram = gram_problem(release),
    if (length(release$statistics$weights) != panel$n ||
      length(release$statistics$counterfactual) != panel$T1) {
      "The statistics do not fit the sizes of the panel."
    }
  )
  if (is.null(problem) && !is_number(release$privacy$epsilon)) "The privacy record is wrong." else problem
}
