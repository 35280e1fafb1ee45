# What the tests of the sources share.
for (file in c("helper-internal.R", "helper-gram.R", "helper-hostile.R", "helper-sources.R")) {
  source(testthat::test_path("..", "testthat", file), local = TRUE)
}
