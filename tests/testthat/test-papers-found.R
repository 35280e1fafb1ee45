# help.search() as a reader of a paper uses it: every name leads to the page listed in the fixture.

installed_help <- function() {
  aliases <- system.file("help", "aliases.rds", package = "dpsc")
  skip_if(!nzchar(aliases), "installed without help pages")
  dirname(system.file(package = "dpsc"))
}

pages_of <- function(name, library) {
  found <- utils::help.search(name, package = "dpsc", lib.loc = library, agrep = FALSE)
  unique(found$matches$Name)
}

paper_names <- function() utils::read.csv(test_path("fixtures", "paper-names.csv"))

test_that("a help search for a method's name in the papers finds the right page", {
  library <- installed_help()
  names <- paper_names()
  expect_gt(nrow(names), 85)
  found <- mapply(function(name, page) page %in% pages_of(name, library), names$name, names$page)
  expect_identical(names$name[!found], character())
})

test_that("a help search for a name that is in no paper finds nothing", {
  library <- installed_help()
  expect_length(pages_of("Kolmogorov-Arnold", library), 0)
})

test_that("DESCRIPTION names the topics and papers' authors; CITATION names all but Li and Liu", {
  described <- gsub("\\s+", " ", utils::packageDescription("dpsc")$Description)
  verbs <- c("synthetic control", "linear", "logistic", "stream", "select", "aggregat", "audit")
  authors <- c("Rho", "Chaudhuri", "Kifer", "Thakurta", "Wang", "Li and Liu", "Canonne", "Dong")
  for (word in c(verbs, authors)) expect_match(described, word, ignore.case = TRUE)
  cited <- paste(format(utils::citation("dpsc"), style = "text"), collapse = " ")
  for (author in setdiff(authors, "Li and Liu")) expect_match(cited, author, fixed = TRUE)
})
