# Tests that measure time, and long repetitions, run only in `make audit`, which sets DPSC_AUDIT.
is_audit <- function() nzchar(Sys.getenv("DPSC_AUDIT"))

skip_unless_audit <- function() testthat::skip_if_not(is_audit(), "long: runs in make audit")
