library(testthat)
library(dpsc)

# DPSC_TESTS: the files to run, where the others run elsewhere against the same installed package.
only <- Sys.getenv("DPSC_TESTS")
test_check("dpsc", filter = if (nzchar(only)) only)
