library(testthat)
library(dpsc)

test_check("dpsc")
