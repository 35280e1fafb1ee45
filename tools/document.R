# Writes NAMESPACE, man/ and the glue of Rcpp. The package is installed in between, since roxygen2
# reads the data set and the methods from it.
Rcpp::compileAttributes()
library <- tempfile()
dir.create(library)
.libPaths(c(library, .libPaths()))
arguments <- c("CMD", "INSTALL", "--no-docs", "--no-test-load", paste0("--library=", library), ".")
quiet <- system2("R", arguments,
  stdout = FALSE, stderr = FALSE, env = "R_COMPILE_PKGS=0"
)
roxygen2::roxygenise(load_code = roxygen2::load_installed)
