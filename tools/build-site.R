# The site by pkgdown (Debian: r-cran-pkgdown), from the installed package and without the internet.
# A warning or a message that says a topic or article is missing stops it.
options(pkgdown.internet = FALSE, warn = 1)
if (!requireNamespace("pkgdown", quietly = TRUE)) {
  stop("The site needs the package pkgdown (Debian and Ubuntu: r-cran-pkgdown).")
}
warned <- character()
withCallingHandlers(
  pkgdown::build_site(".",
    examples = TRUE, install = FALSE, new_process = FALSE, preview = FALSE, devel = FALSE
  ),
  warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
  }
)
if (length(warned)) {
  cat("Warnings:\n", paste0("  ", warned, "\n"), sep = "")
  quit(status = 1)
}
cat("The site is in site/index.html\n")
