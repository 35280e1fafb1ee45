# Texts of reports: the print, and the markup in Markdown and LaTeX.

#' @param parts (`list`)\cr plain texts `result`, `methods`, `guarantee` and `references`.
#' @noRd
marked_report <- function(parts, format) {
  structure(c(lapply(parts, mark_up, format), format = format), class = "dp_report")
}

#' @rdname report
#' @export
print.dp_report <- function(x, ...) {
  titles <- c(
    result = "Result", methods = "Methods", processing = "Processing", guarantee = "Guarantee",
    questions = "Singling out, linking, inference", limits = "Limits", budget = "Budget",
    references = "References"
  )
  for (part in names(titles)) {
    if (!length(x[[part]])) next
    title <- titles[[part]]
    lines <- if (x$format == "text") strwrap(x[[part]], 90L) else x[[part]]
    cat(switch(x$format,
      text = paste0(title, "\n"), markdown = paste0("**", title, "**\n\n"),
      latex = paste0("\\paragraph{", title, "}\n")
    ), paste0(lines, collapse = if (x$format == "text") "\n" else "\n\n"), "\n\n", sep = "")
  }
  invisible(x)
}

mark_up <- function(text, format) {
  if (is.null(text)) {
    return(NULL)
  }
  switch(format,
    text = text,
    markdown = gsub("([\\\\`*_#<>|])", "\\\\\\1", text),
    latex = mark_up_latex(text)
  )
}

mark_up_latex <- function(text) {
  text <- gsub("\\", "\1", text, fixed = TRUE)
  text <- gsub("([&%$#_{}])", "\\\\\\1", text)
  text <- gsub("~", "\\textasciitilde{}", text, fixed = TRUE)
  text <- gsub("^", "\\textasciicircum{}", text, fixed = TRUE)
  text <- gsub("\1", "\\textbackslash{}", text, fixed = TRUE)
  # The number gets a minus instead of a hyphen. No line break may precede a per cent sign.
  text <- gsub("(^|[ (])-([0-9])", "\\1$-$\\2", text)
  text <- gsub("([<>])", "$\\1$", text)
  gsub("([0-9]) \\\\%", "\\1~\\\\%", text)
}
