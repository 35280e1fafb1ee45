# Values as JSON. Every number is written so that it reads back bit for bit.

# The possible classes of periods in a file.
json_classes <- c("IDate", "Date", "POSIXct", "POSIXt", "difftime", "yearmon", "yearqtr")
json_attributes <- c("labels", "dim", "class", "tzone", "units")

# Every vector becomes {type, values}, with dim, names and class if present. Doubles are written
# with 17 significant digits, which determine them.
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
  if (is.null(attributes(x))) {
    return(list(type = typeof(x), values = json_values(x)))
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
    # Adding 0 removes the sign of zero.
    x <- x + 0
    number <- sprintf("%.17g", x)
    other <- which(!is.finite(x))
    number[other] <- paste0("\"", x[other], "\"")
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
