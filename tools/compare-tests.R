# Tests that were removed, and tests with fewer expectations, since a commit. A test is identified
# by its title or, if only the title changed, by its code, so a test that was moved or renamed is
# not removed. Tests of `make audit` are listed. Exit status 1 if a test was removed. Usage: Rscript
# tools/compare-tests.R <commit>
commit <- commandArgs(TRUE)
if (length(commit) != 1L) stop("Say which commit: make compare-tests SINCE=main")
git <- function(...) system2("git", c(...), stdout = TRUE)

# Expectations are counted in the code, although loops run them more often.
count_calls <- function(e, name) {
  if (is.call(e)) {
    own <- is.name(e[[1L]]) && grepl(name, as.character(e[[1L]]))
    own + sum(vapply(as.list(e), count_calls, 0, name))
  } else if (is.pairlist(e)) {
    sum(vapply(as.list(e), count_calls, 0, name))
  } else {
    0
  }
}
tests_of <- function(file, lines) {
  code <- Filter(function(e) is.call(e) && identical(e[[1L]], quote(test_that)),
    as.list(parse(text = lines, keep.source = FALSE)))
  data.frame(
    file = rep(basename(file), length(code)), test = vapply(code, function(e) e[[2L]], ""),
    expectations = vapply(code, count_calls, 0, "^expect_|^succeed$"),
    long = vapply(code, count_calls, 0, "^(skip_unless_audit|is_audit|local_quick_plans)$") > 0,
    code = vapply(code, function(e) paste(deparse(e[[3L]]), collapse = "\n"), "")
  )
}
is_test <- function(files) grep("/test-[^/]*[.]R$", files, value = TRUE)
old_files <- is_test(git("ls-tree", "-r", "--name-only", commit, "tests/testthat"))
old <- do.call(rbind, lapply(old_files, function(f) {
  tests_of(f, git("show", paste0(commit, ":", f)))
}))
new_files <- is_test(list.files("tests/testthat", full.names = TRUE))
new <- do.call(rbind, lapply(new_files, function(f) tests_of(f, readLines(f))))

renamed <- !old$test %in% new$test & old$code %in% new$code
gone <- old[!old$test %in% new$test & !renamed, ]
both <- merge(old, new, by = c("file", "test"), suffixes = c("", ".now"))
fewer <- both[both$expectations.now < both$expectations, ]
long <- new[new$long, ]
for (i in seq_len(nrow(long))) cat("In make audit:", long$file[[i]], "|", long$test[[i]], "\n")
for (i in seq_len(nrow(gone))) cat("GONE:", gone$file[[i]], "|", gone$test[[i]], "\n")
for (i in seq_len(nrow(fewer))) {
  cat("FEWER:", fewer$file[[i]], "|", fewer$test[[i]], ":", fewer$expectations[[i]], "to",
    fewer$expectations.now[[i]], "\n")
}
cat(sprintf(
  "%d tests with %d expectations at %s, %d with %d now; %d renamed, %d gone, %d with fewer\n",
  nrow(old), sum(old$expectations), commit, nrow(new), sum(new$expectations), sum(renamed),
  nrow(gone), nrow(fewer)
))
quit(status = as.integer(nrow(gone) + nrow(fewer) > 0L))
