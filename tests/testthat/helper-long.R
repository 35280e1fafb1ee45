# Tests that measure time, and long repetitions, run only in `make audit`, which sets DPSC_AUDIT.
is_audit <- function() nzchar(Sys.getenv("DPSC_AUDIT"))

# In `make test`, R CMD check repeats the tests that differ on CRAN. This file lists their titles.
if (nzchar(Sys.getenv("DPSC_TEST_TITLES"))) {
  test_that <- function(desc, code) {
    if (!desc %in% readLines(Sys.getenv("DPSC_TEST_TITLES"))) return(invisible())
    eval(bquote(testthat::test_that(.(desc), .(substitute(code)))), parent.frame())
  }
}

skip_unless_audit <- function() testthat::skip_if_not(is_audit(), "long: runs in make audit")
