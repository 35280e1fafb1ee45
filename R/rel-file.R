# Files of releases: one format for every kind of release. A file is checked against a new plan. All
# contents of a file are RELEASED or PUBLIC.

#' Write and read a release
#'
#' A private release contains only noisy statistics and public facts, so it may be published.
#' `write_release()` writes a release as JSON with 17 significant digits, and `read_release()`
#' restores this release exactly.
#'
#' `read_release()` computes the plan again from the public facts in the file (sizes, bounds,
#' budget, options). The steps, noise, costs and guarantee in the file must agree with this plan,
#' and every field must agree with its checksum. Damage and careless edits are therefore detected,
#' and the error names the field. **These checks do not prove the origin**: without a signature you
#' cannot know whether somebody recomputed every part or invented the statistics. Use releases from
#' trusted people, or sign the file. Files of versions 0.1.0 and 0.2.0 can be read if their parts
#' agree with each other.
#'
#' @param release (`dp_release`, or a value of [dp_synth()], [dp_lm()], [dp_glm()], [dp_select()],
#'   [dp_aggregate()] or [dp_describe()])\cr a release, a fit (of which only the release is
#'   written), or a regression, selection or statistic. An object that is NOT PRIVATE (no noise,
#'   noise from a seed, or a guarantee that does not hold) is refused, unless `allow_not_private =
#'   TRUE`. A fit by a classical estimator, and a value of [combine_releases()], are always refused.
#' @param path (`string`)\cr a file. The release is first written to a temporary file, which is then
#'   renamed. After a crash there is therefore the complete old file or the complete new file.
#' @param allow_not_private (`flag`)\cr whether to write a release that is not private.
#' @param ... unused; an unknown argument causes an error.
#' @return `write_release()` returns `path`, invisibly. `read_release()` returns the written object,
#'   which for a fit by [dp_synth()] is its `dp_release`.
#' @section Errors: `dpsc_error_release` for a file that cannot be read, is not a release, is
#'   truncated or contains contradictory parts, for a release that is not private, and for other
#'   objects that cannot be written, such as losses from [pdp()]; `dpsc_error_argument` for an
#'   object of another kind and for a wrong `path`.
#' @examplesIf requireNamespace("jsonlite", quietly = TRUE)
#' panel <- sim_panel(n = 500, T0 = 10, T1 = 3)
#' release <- dp_release(panel$donors,
#'   target = panel$target, T0 = 10, epsilon = 2, bounds = c(-1, 1)
#' )
#' path <- tempfile(fileext = ".json")
#' write_release(release, path)
#' dp_synth(read_release(path), target = panel$target)
#' @export
write_release <- function(release, path, allow_not_private = FALSE, ...) {
  door("write_release", check_no_dots(...))
  UseMethod("write_release")
}

#' @rdname write_release
#' @export
write_release.default <- function(release, path, allow_not_private = FALSE,
                                  ...) door("write_release", {
  if (inherits(release, "dp_pdp")) {
    abort(c(
      "Privacy losses of single people are for the curator only and cannot be written.",
      x = "Losses are computed from people's data without noise, and no guarantee covers them.",
      i = "Write the release. {.fn pdp_bound} gives a bound on losses that may be published."
    ), "release")
  }
  rlang::check_installed("jsonlite", "to write a release.")
  kind <- intersect(class(release), file_kinds)
  if (!length(kind)) {
    abort(c(
      paste(
        "{.arg release} must come from {.fn dp_release}, or be a fit by {.fn dp_synth},",
        "{.fn dp_lm}, {.fn dp_glm}, {.fn dp_select}, {.fn dp_aggregate} or {.fn dp_describe}."
      ),
      x = "It is {describe(release)}.",
      i = if (is.list(release) && !is.object(release)) {
        paste(
          "Write the whole regression, {.code write_release(fit, path)}, instead of its",
          "{.code $release}."
        )
      }
    ), "argument")
  }
  if (!is.null(release$groups)) {
    abort(c(
      "A union of groups cannot be written.",
      i = "Write the releases of its groups, and combine them with {.fn combine_releases}."
    ), "release")
  }
  check_given(missing(path), "path", "the file to write")
  check_path(path)
  check_publishable(release$privacy, allow_not_private)
  parts <- file_parts(release)
  if (is.null(parts$statistics %||% parts$release)) {
    abort(c(
      "This object does not contain its release.",
      i = "Save objects of version 0.2.0 with {.fn saveRDS}."
    ), "release")
  }
  parts$privacy[c("looked", "doubt")] <- NULL
  write_json(list(
    format = file_format, version = file_version, kind = kind, id = id_of_parts(parts),
    release = to_json(parts), marks = field_marks(parts)
  ), path)
})

#' @export
write_release.dp_synth <- function(release, path, allow_not_private = FALSE,
                                   ...) door("write_release", {
  check_given(missing(path), "path", "the file to write")
  if (release$release$calibration == "none") {
    abort(c(
      "A fit by estimator {.val {release$estimator}} has no release: it uses raw donors.",
      i = "Save the fit with {.fn saveRDS}; the file then contains the donors."
    ), "release")
  }
  write_release.default(release$release, path, allow_not_private)
})

#' @export
write_release.dp_cohorts <- write_release.dp_synth

#' Is the object to be written private, or deliberately not private?
#' @noRd
check_publishable <- function(privacy, allow_not_private) {
  if (!privacy$holds && !check_flag(allow_not_private)) {
    reason <- privacy$reason
    abort(c(
      "This release is NOT PRIVATE.", x = "The reason: {reason}.",
      i = "To write it anyway, set {.code allow_not_private = TRUE}."
    ), "release")
  }
}

#' Write content to a temporary file and then move the file, so that after a crash either the old or
#' the new file exists
#' @noRd
write_json <- function(content, path) {
  rlang::check_installed("jsonlite", "to write a release.")
  check_path(path)
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
    abort(c(
      "The file {.file {path}} could not be written.",
      i = "Check that the folder exists and that you may write in it."
    ), "release")
  }
  invisible(path)
}

#' @rdname write_release
#' @export
read_release <- function(path) door("read_release", {
  check_given(missing(path), "path", "the file to read")
  rlang::check_installed("jsonlite", "to read a release.")
  check_path(path)
  fail <- function(problem) {
    abort(c(
      "{.file {path}} is not a release that can be read.", x = "{problem}"
    ), "release")
  }
  if (!file.exists(path)) fail("The file does not exist.")
  content <- tryCatch(
    jsonlite::fromJSON(path, simplifyVector = FALSE),
    error = function(e) NULL, warning = function(w) NULL
  )
  if (is.null(content)) fail("The file is not valid JSON, perhaps because it was truncated.")
  if (!is.list(content)) fail("The file contains JSON, but not a release.")
  object_of_file(content, fail)
})

#' The object in a file's content, or a call of `fail` with a reason
#'
#' Values that can be computed from public facts are not read. The object is rebuilt from facts and
#' released numbers by the original plan, and must agree with the file.
#' @noRd
object_of_file <- function(content, fail) {
  file <- current_content(content, fail)
  changed <- if (!file$old) changed_field(file$marks, file$parts)
  if (!is.null(changed)) fail(paste0("Its field ", changed, " was changed after it was written."))
  charge <- file$parts$privacy$charge
  if (!is_charge(charge)) fail("Its record of the charge is wrong.")
  object <- with_charge(file_object(structure(file$parts, class = file$kind), fail), charge)
  known <- known_release(object)
  other <- file_difference(file, object)
  # A release with a known fault is written with this fact.
  if (identical(other, "privacy$holds")) other <- file_difference(file, known)
  if (!is.null(other)) {
    fail(paste0("Its field ", other, " does not follow from its public facts."))
  }
  if (!is.null(content$id) && !identical(content$id, id_of_parts(file$parts))) {
    fail("Its field id does not match its numbers and public facts.")
  }
  known
}

#' Rebuild the object from the facts and released numbers written by [file_parts()]
#' @param parts (`list`)\cr the parts of an object of class `kind`.
#' @param fail (`function`)\cr a function that is called with a reason if the parts contradict each
#'   other.
#' @noRd
file_object <- function(parts, fail) {
  UseMethod("file_object")
}

#' @export
file_object.default <- function(parts, fail) {
  object <- tryCatch(suppressWarnings(object_again(parts)), error = function(e) NULL)
  if (is.null(object)) fail("Some parts are missing or inconsistent.")
  object$privacy["version"] <- list(parts$privacy$version)
  object
}

#' Rebuild the result of a function on people's rows, with an error or `NULL` if parts contradict
#' each other
#' @noRd
object_again <- function(parts) UseMethod("object_again")

#' The budget that a file states
#' @noRd
budget_again <- function(privacy, delta = privacy$delta) {
  checked_budget(privacy$epsilon, delta, NULL, dp_control(rng = privacy$rng))
}

#' @export
file_parts.dp_release <- function(x) unclass(x)

#' @export
file_object.dp_release <- function(parts, fail) {
  release <- structure(parts, class = "dp_release")
  problem <- release_problem(release)
  if (!is.null(problem)) fail(problem)
  promise <- read_promise(release)
  release$privacy[names(promise)] <- promise
  # The faults of this version were unknown when the file was written, but are known now.
  release$privacy[c("looked", "doubt")] <- NULL
  if (is.null(release$asked) || at_most_version(release$privacy$version, last_other_plan)) {
    return(release)
  }
  tryCatch(suppressWarnings(planned_again(release)), error = function(e) {
    fail("No plan follows from its public facts.")
  })
}

# The last version whose plans differ from the current plans. The steps of older files can only be
# added up. Change this number with every change of a plan.
last_other_plan <- "0.2.0"

#' A release with the settings and privacy record that its facts and the plan of its mechanism imply
#' @noRd
planned_again <- function(release) {
  public <- public_again(release)
  plan <- release_mechanism(public)$plan(public)
  settings <- mechanism_table$dp_synth[[release$method]]$settings(public, plan)
  # Moments do not depend on the penalty.
  if (gives_moments(release$method)) settings["lambda"] <- list(release$settings$lambda)
  promise <- guarantee(public, plan, release$privacy$assumes)
  made <- c(list(
    private = public$private, rho = plan$cost$rho %||% NA_real_, steps = plan$steps,
    neighbours = neighbours_of(public$treated, !is.null(release$panel$donor_names))
  ), promise)
  release$settings <- settings
  release$privacy[names(made)] <- made
  release$asked["y"] <- list(to_scale(
    rbind(public$target), public$bounds, seq_along(public$target)
  )[1L, ])
  s <- release$statistics
  if (public$private && gives_moments(release$method)) {
    release$statistics[c("pre", "demean")] <- plan$features[c("pre", "demean")]
  }
  if (!is.null(s$target)) release$statistics$target$pre <- public$y
  if (!is.null(s$monitor)) release$statistics$monitor$target <- public$y
  release
}

#' The facts behind a plan
#' @noRd
public_again <- function(release) {
  asked <- release$asked
  first <- base_release(release)
  scale <- release_scale(first)
  privacy <- release$privacy
  control <- c(asked$control, rng = privacy$rng)
  c(first$panel[c("n", "T0", "T1")], asked[c("target", "y", "size", "estimator", "dates")], list(
    method = release$method, calibration = release$calibration, epsilon = privacy$epsilon,
    private = is.finite(privacy$epsilon), delta = privacy$delta, bounds = scale,
    half = scale$half, control = control, treated = first$panel$treated,
    covariates = first$panel$covariates, monitor = release$statistics$monitor$announced
  ))
}

# Versions -----------------------------------------------------------------------------------------

file_format <- "dpsc-release"
file_version <- 2L

#' A file's content in the current format
#' @return A list: `kind`, `parts`, `marks`, and `old` (whether the content was upgraded).
#' @noRd
current_content <- function(content, fail) {
  first <- if (is_string(content$format)) first_formats()[[content$format]]
  if (is.null(first)) fail("The file contains JSON, but not a release.")
  if (identical(content$version, 1L)) {
    return(list(
      kind = first$kind, old = TRUE,
      parts = first$upgrade(parsed_parts(content[[first$part]], fail))
    ))
  }
  if (!identical(content$version, file_version) || content$format != file_format) {
    fail("Its format belongs to another version of the package.")
  }
  if (!is_string(content$kind) || !content$kind %in% file_kinds) {
    fail("The kind of its content is unknown.")
  }
  list(
    kind = content$kind, parts = parsed_parts(content$release, fail), marks = content$marks,
    old = FALSE
  )
}

parsed_parts <- function(part, fail) {
  parts <- tryCatch(from_json(part), error = function(e) NULL, warning = function(w) NULL)
  if (!is.list(parts)) fail("A value has an unknown type.")
  parts
}

#' Upgrade from format 1 of versions 0.1.0 and 0.2.0, with three separate layouts and without
#' checksums
#' @noRd
first_formats <- function() {
  list(
    `dpsc-release` = list(kind = "dp_release", part = "release", upgrade = identity),
    `dpsc-regression` = list(kind = "dp_lm", part = "regression", upgrade = identity),
    `dpsc-glm` = list(kind = "dp_glm", part = "model", upgrade = function(parts) {
      # The field of the promised delta contained the requested delta.
      if (is.list(parts$privacy)) {
        parts["delta"] <- list(parts$privacy$delta)
        parts$privacy$delta <- NULL
      }
      parts
    })
  )
}

# Checksums of fields, and the first difference ----------------------------------------------------

#' @return The first field that disagrees with its checksum, or `NULL`.
#' @noRd
changed_field <- function(marks, parts) {
  found <- field_marks(parts)
  names <- union(names(found), names(marks))
  same <- vapply(names, function(name) identical(found[[name]], marks[[name]]), NA)
  if (!all(same)) names[!same][[1L]]
}

#' The first field in which a file disagrees with its rebuilt object
#'
#' For an upgraded file only the fields in the file are compared.
#' @noRd
file_difference <- function(file, object) {
  made <- file_parts(object)
  made$privacy[c("looked", "doubt")] <- NULL
  file$parts$privacy[c("looked", "doubt")] <- NULL
  difference(file$parts, made, NULL, file$old)
}

difference <- function(said, made, name, old) {
  if (isTRUE(name %in% file_words)) {
    return(NULL)
  }
  if (!is.list(said) || !is.list(made)) {
    return(if (!same_values(said, made)) name %||% "release")
  }
  fields <- names(said) %||% names(made)
  if (is.null(fields)) {
    if (length(said) != length(made)) return(name)
    fields <- seq_along(said)
  } else if (!old) {
    fields <- union(fields, names(made))
  }
  for (field in fields) {
    inner <- if (is.numeric(field)) paste0("[[", field, "]]") else paste0("$", field)
    full <- sub("^[$]", "", paste0(name, inner))
    other <- difference(said[[field]], made[[field]], full, old)
    if (!is.null(other)) return(other)
  }
}

#' Are two values equal, up to differences of numbers between machines?
#' @noRd
same_values <- function(x, y) {
  if (!is.numeric(x) || !is.numeric(y)) {
    return(identical(as.vector(x), as.vector(y)))
  }
  x <- as.double(x)
  y <- as.double(y)
  near <- abs(x - y) <= read_tolerance * pmax(abs(x), abs(y))
  length(x) == length(y) && identical(is.na(x), is.na(y)) && all(near | x == y, na.rm = TRUE)
}

check_path <- function(path) {
  if (!is_name(path)) {
    abort(c("{.arg path} must name one file.", x = "It is {describe_value(path)}."), "argument")
  }
}
