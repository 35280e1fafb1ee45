# The list of planted faults and of the tests that detect them (fixtures/faults.csv) agrees with the
# tests. Entries are never removed.

faults_listed <- utils::read.csv(test_path("fixtures", "faults.csv"))

# A test that plants faults begins with a comment that contains their numbers.
planted_in <- function(file) {
  lines <- readLines(test_path(file), encoding = "UTF-8")
  at <- grep("^  # Plants faults [0-9, ]+[.]$", lines)
  rows <- lapply(at, function(i) {
    title <- sub('^test_that[(]"(.*)", [{]$', "\\1", lines[[i - 1L]])
    ids <- as.integer(strsplit(gsub("[^0-9,]", "", lines[[i]]), ",")[[1L]])
    data.frame(id = ids, file = file, test = title)
  })
  do.call(rbind, rows)
}

test_that("the list of planted faults agrees with the tests that plant them", {
  files <- list.files(test_path(), "^test-.*[.]R$")
  planted <- do.call(rbind, lapply(files, planted_in))
  planted <- planted[order(planted$id), ]
  expect_identical(planted$id, faults_listed$id)
  expect_identical(planted$file, faults_listed$file)
  expect_identical(planted$test, faults_listed$test)
  # Audits plant these faults by name.
  expect_identical(setdiff(names(planted_faults()), faults_listed$fault), character())
})

# New faults are added at the end of the list. No fault is removed or replaced by another fault.
test_that("the first 67 planted faults are unchanged, and all are numbered without gaps", {
  expect_gte(nrow(faults_listed), 67L)
  expect_identical(faults_listed$id, seq_len(nrow(faults_listed)))
  expect_identical(anyDuplicated(faults_listed$fault), 0L)
  expect_true(all(nzchar(faults_listed$where)))
  first <- paste(faults_listed$fault[seq_len(67L)], collapse = "\n")
  expect_identical(rlang::hash(first), "de4494de4289e71392ea4799bb9b6c15")
})

test_that("the source files in which faults are planted exist", {
  sources <- test_path("..", "..")
  skip_if_not(file.exists(file.path(sources, "inst", "include")), "the package's sources")
  expect_true(all(file.exists(file.path(sources, unique(faults_listed$where)))))
})
