library(testthat)
library(dpsc)

# If other processes test the other files against the same installed package, DPSC_TESTS lists the
# files to run.
only <- Sys.getenv("DPSC_TESTS")
test_check("dpsc", filter = if (nzchar(only)) only)
