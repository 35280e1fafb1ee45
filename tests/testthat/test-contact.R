# All addresses come from inst/contact.dcf. While this file is empty, no text shows an address.

test_that("README and three other texts show no address until the owner has entered one", {
  file <- system.file("contact.dcf", package = "dpsc")
  expect_true(nzchar(file))
  entered <- trimws(sub("^Security:", "", readLines(file)))
  skip_if(any(nzchar(entered)), "the owner has entered an address")
  home <- test_path("..", "..")
  sources <- file.path(home, c("SECURITY.md", "README.md", "vignettes/for-privacy-officers.Rmd"))
  review <- system.file("review", "README.md", package = "dpsc")
  an_address <- "[[:alnum:]._]+@[[:alnum:]-]+[.][a-z]+"
  for (text in c(Filter(file.exists, sources), review)) {
    expect_no_match(paste(readLines(text), collapse = "\n"), an_address)
  }
})

test_that("proofs and tests named on the reviewer's page exist", {
  home <- test_path("..", "..")
  skip_if(!dir.exists(file.path(home, "inst", "proofs")), "not in the sources")
  page <- readLines(system.file("review", "README.md", package = "dpsc"))
  named <- unique(unlist(regmatches(page, gregexpr("`[a-z]+\\.md`|`test-[a-z-]+`", page))))
  named <- gsub("`", "", named)
  expect_gt(length(named), 15)
  proofs <- named[endsWith(named, ".md")]
  expect_identical(proofs[!file.exists(file.path(home, "inst", "proofs", proofs))], character())
  tests <- paste0(setdiff(named, proofs), ".R")
  expect_identical(tests[!file.exists(test_path(tests))], character())
})
