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
#' `read_release()` checks that the parts agree: what is promised follows from the method, the
#' budget and where the noise came from; the noise steps cost what the release says; the noise of
#' the statistics is that of the steps. So damage and careless edits are noticed. **It is no proof
#' of origin**: somebody who recomputes every part, or invents the statistics, cannot be caught
#' without a signature. Get releases from somebody you trust, or sign the file.
#'
#' @param release (`dp_release`, or a fit by [dp_synth()], [dp_lm()] or [dp_glm()])\cr a release, a
#'   fit, whose release is written, or a regression with its release. One that is NOT PRIVATE (no
#'   noise, noise from a seed, or a guarantee that does not hold) is refused, unless
#'   `allow_not_private` says otherwise.
#' @param path (`string`)\cr a file. Written to a temporary file first, then moved: a crash leaves
#'   the old file or the new one, never half of one.
#' @param allow_not_private (`flag`)\cr write a release that is not private all the same.
#' @return `write_release()`: `path`, invisibly. `read_release()`: a `dp_release`, or the
#'   regression that was written.
#' @section Errors: `dpsc_error_release`: a file that cannot be read, is not a release, is cut
#'   short, or whose parts do not fit together; a release that is not private; losses from [pdp()].
#'   `dpsc_error_argument`.
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
  UseMethod("write_release")
}

#' @rdname write_release
#' @export
write_release.default <- function(release, path, allow_not_private = FALSE) {
  call <- public_call("write_release")
  if (inherits(release, "dp_pdp")) {
    abort(c(
      "Privacy losses of donors are for the curator only and are not written.",
      x = "They are computed from the donors' data without noise; no guarantee covers them.",
      i = "Write the release. {.fn pdp_bound} gives what may be published about losses."
    ), "release", call)
  }
  rlang::check_installed("jsonlite", "to write a release.")
  if (!inherits(release, "dp_release")) {
    abort(c(
      "{.arg release} must come from {.fn dp_release}, or be a fit by {.fn dp_synth}, \\
       {.fn dp_lm} or {.fn dp_glm}.",
      x = "It is {describe(release)}.",
      i = if (is.list(release) && !is.object(release)) {
        paste(
          "A regression is written whole, {.code write_release(fit, path)}, and not its",
          "{.code $release}."
        )
      }
    ), "argument", call)
  }
  if (!is.null(release$groups)) {
    abort(c(
      "A union of groups is not written.",
      i = "Write the releases of its groups, and put them together with {.fn combine_releases}."
    ), "release", call)
  }
  check_given(missing(path), "path", "the file to write", call)
  check_path(path, call)
  check_publishable(release$privacy, allow_not_private, call)
  write_json(
    list(format = json_format, version = json_version, release = to_json(unclass(release))), path,
    call
  )
}

#' @export
write_release.dp_synth <- function(release, path, allow_not_private = FALSE) {
  check_given(missing(path), "path", "the file to write", public_call("write_release"))
  if (release$release$calibration == "none") {
    abort(c(
      "A fit by estimator {.val {release$estimator}} has no release: it is of raw donors.",
      i = "{.fn saveRDS} keeps it, donors included."
    ), "release", public_call("write_release"))
  }
  write_release.default(release$release, path, allow_not_private)
}

#' @export
write_release.dp_cohorts <- write_release.dp_synth

#' Is what shall be written private, or meant not to be?
#' @noRd
check_publishable <- function(privacy, allow_not_private, call) {
  if (!privacy$holds && !check_flag(allow_not_private, call = call)) {
    reason <- privacy$reason
    abort(c(
      "This release is NOT PRIVATE.", x = "Because {reason}.",
      i = "To write it all the same, say {.code allow_not_private = TRUE}."
    ), "release", call)
  }
}

#' Write content to a draft, then move it: a crash leaves the old file or the new one
#' @noRd
write_json <- function(content, path, call) {
  rlang::check_installed("jsonlite", "to write a release.")
  check_path(path, call)
  text <- jsonlite::toJSON(content,
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
  check_given(missing(path), "path", "the file to read", call)
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
  known <- is.list(content) && is.character(content$format) && length(content$format) == 1L
  if (!known) fail("It is some other JSON.")
  known_release(parse_release(structure(content, class = gsub("-", "_", content$format)), fail))
}

#' What a file holds, by its format; calls `fail` with a reason where it does not
#' @noRd
parse_release <- function(content, fail) {
  UseMethod("parse_release")
}

#' @export
parse_release.default <- function(content, fail) {
  fail("It is some other JSON.")
}

#' @export
parse_release.dpsc_release <- function(content, fail) {
  if (!(is_number(content$version) && content$version == json_version)) {
    fail("It was written by another version of the package.")
  }
  release <- tryCatch(
    {
      parts <- from_json(content$release)
      if (is.list(parts)) structure(parts, class = "dp_release")
    },
    error = function(e) NULL, warning = function(w) NULL
  )
  problem <- if (is.null(release)) {
    "A value has an unknown type."
  } else {
    release_problem(release)
  }
  if (!is.null(problem)) fail(problem)
  promise <- read_promise(release)
  release$privacy[names(promise)] <- promise
  # What is known of its version is known now, not when it was written.
  release$privacy[c("looked", "doubt")] <- NULL
  release
}

check_path <- function(path, call) {
  if (!(is.character(path) && length(path) == 1L && !is.na(path) && nzchar(path))) {
    abort(c("{.arg path} must name one file.", x = "It is {describe(path)}."), "argument", call)
  }
}

# Values -------------------------------------------------------------------------------------------

# Every vector becomes {type, values} and, where it has them, dim, names or class. Doubles are
# written with 17 significant digits, which determine them.
to_json <- function(x) {
  if (is.null(x)) {
    return(NULL)
  }
  if (is.list(x)) {
    kind <- if (is.data.frame(x)) "table" else "list"
    return(list(
      type = kind, names = I(names(x) %||% character()),
      values = unname(lapply(unclass(x), to_json))
    ))
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
#' Sizes and types must agree, so that a file that was edited or damaged fails here and not in the
#' middle of a fit.
#' @noRd
release_problem <- function(release) {
  tryCatch(find_release_problem(release), error = function(e) {
    "A part has another type than it should."
  })
}

find_release_problem <- function(release) {
  parts <- c("method", "calibration", "statistics", "panel", "bounds", "settings", "privacy")
  if (!all(parts %in% names(release))) {
    return("Parts are missing.")
  }
  lists <- c("statistics", "panel", "bounds", "settings", "privacy")
  if (!all(vapply(release[lists], is.list, NA))) {
    return("A part has another type than it should.")
  }
  is_string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)
  is_flag <- function(x) is.logical(x) && length(x) == 1L && !is.na(x)
  is_size <- function(x, min) is_number(x) && is.finite(x) && x >= min && x == round(x)
  is_vector <- function(x, size) is.numeric(x) && length(x) == size && !anyNA(x)
  panel <- release$panel
  if (!(is_size(panel$n, 1) && is_size(panel$T0, 2) && is_size(panel$T1, 1))) {
    return("The sizes of the panel are missing or wrong.")
  }
  periods <- panel$T0 + panel$T1
  names <- panel$donor_names
  if (!is_string(panel$outcome) || !is.atomic(panel$times) || length(panel$times) != periods ||
    !(is.null(names) || (is.character(names) && length(names) == panel$n))) {
    return("The periods or names do not fit the sizes of the panel.")
  }
  bounds <- release$bounds
  if (!is_vector(bounds$lower, periods) || !is_vector(bounds$upper, periods) ||
    any(bounds$lower >= bounds$upper)) {
    return("The bounds do not fit the panel.")
  }
  if (!is_string(release$method) || !release$method %in% names(mechanisms()) ||
    !is_string(release$calibration) || !release$calibration %in% c("tight", "published")) {
    return("The method is unknown.")
  }
  privacy <- release$privacy
  flags <- vapply(c("private", "holds", "exact"), function(f) is_flag(privacy[[f]]), NA)
  strings <- vapply(c("neighbours", "theorem", "reason", "rng"), function(f) {
    is_string(privacy[[f]])
  }, NA)
  columns <- c("step", "law", "sensitivity", "scale", "epsilon", "rho")
  if (!all(flags, strings) || !is_number(privacy$epsilon) || privacy$epsilon <= 0 ||
    !is_number(privacy$delta) || privacy$delta < 0 || privacy$delta >= 1 ||
    !is.numeric(privacy$rho) || length(privacy$rho) != 1L ||
    privacy$private != is.finite(privacy$epsilon) ||
    privacy$private != (is.data.frame(privacy$steps) && all(columns %in% names(privacy$steps)))) {
    return("The privacy record is wrong.")
  }
  if (!is.null(privacy$version) && !is_string(privacy$version)) {
    return("The version that wrote it is wrong.")
  }
  if (!is.null(privacy$assumes) && !is_string(privacy$assumes)) {
    return("What it assumes is wrong.")
  }
  growing_problem(release) %||% mechanisms()[[release$method]]$problem(base_release(release)) %||%
    cohorts_problem(release) %||% treated_problem(release) %||% release_conflict(release)
}
