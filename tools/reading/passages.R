# Draws passages to read aloud and counts the habits that CONTRIBUTING.md rules out. Usage, from the
# package's top folder: Rscript tools/reading/passages.R [seed] [how many]. Without numbers it only
# counts. passages.md contains the judgements, the readers and the counts over time.
given <- commandArgs(trailingOnly = TRUE)

# Runs of lines that match `mark`, one string per run, with the file and the first line.
runs_of <- function(file, mark, strip, breaks) {
  lines <- readLines(file, warn = FALSE)
  marked <- grepl(mark, lines)
  text <- sub(strip, "", lines)
  cut <- !marked | grepl(breaks, text) | text == ""
  group <- cumsum(cut | c(TRUE, !marked[-length(marked)]))
  keep <- marked & text != ""
  if (!any(keep)) {
    return(NULL)
  }
  parts <- split(text[keep], group[keep])
  data.frame(
    place = paste0(file, ":", tapply(which(keep), group[keep], min)),
    text = vapply(parts, function(p) trimws(gsub("\\s+", " ", paste(p, collapse = " "))), "")
  )
}

# Paragraphs of Markdown outside of code, YAML headers and rules of tables.
prose_of <- function(file) {
  lines <- readLines(file, warn = FALSE)
  code <- cumsum(grepl("^```", lines)) %% 2L == 1L | grepl("^```", lines)
  yaml <- if (grepl("Rmd$", file)) seq_along(lines) <= which(lines == "---")[[2L]] else FALSE
  lines[code | yaml | grepl("^\\|[-|: ]+$", lines)] <- ""
  temporary <- tempfile()
  writeLines(lines, temporary)
  found <- runs_of(temporary, ".", "^$", "^(\\* |- |#|[0-9]+\\. |\\|)")
  found$place <- sub("^.*:", paste0(file, ":"), found$place)
  found
}

# Strings that contain a blank, from R's parser: errors, prints, labels.
strings_of <- function(file) {
  tokens <- utils::getParseData(parse(file, keep.source = TRUE))
  tokens <- tokens[tokens$token == "STR_CONST" & grepl("[a-z]{2,} [a-z]{2,} [a-z]", tokens$text), ]
  data.frame(place = sprintf("%s:%d", rep(file, nrow(tokens)), tokens$line1), text = tokens$text)
}

titles_of <- function(file) {
  found <- strings_of(file)
  lines <- readLines(file, warn = FALSE)
  at <- as.integer(sub("^.*:", "", found$place))
  found[grepl("test_that\\(", lines[at]), ]
}

gather <- function(reader, files, ...) {
  found <- do.call(rbind, lapply(files, reader, ...))
  found[lengths(strsplit(found$text, "\\s+")) >= 4L, ]
}

code <- setdiff(list.files("R", "[.]R$", full.names = TRUE), "R/RcppExports.R")
core <- list.files(c("inst/include/dpsc", "src"), "[.](hpp|cpp|h)$",
  full.names = TRUE, recursive = TRUE
)
core <- core[!grepl("RcppExports", core)]
# Printed objects and errors as users see them. interface.md, which lists only arguments, is
# excluded.
snapshots <- setdiff(
  list.files("tests/testthat/_snaps", "[.]md$", full.names = TRUE),
  "tests/testthat/_snaps/interface.md"
)
read <- c(
  "README.md", "NEWS.md", "CONTRIBUTING.md", "SECURITY.md", "inst/review/README.md",
  list.files("vignettes", "[.]Rmd$", full.names = TRUE, recursive = TRUE)
)
proofs <- list.files("inst/proofs", "[.]md$", full.names = TRUE)
# Benches, tools, examples, the paper's reproduction and the comments of tests.
aside <- list.files(
  c("bench", "tools", "demo", "data-raw", "inst/examples", "inst/reproduction", "tests"),
  full.names = TRUE, recursive = TRUE
)
aside <- aside[grepl("[.](R|sql)$|/[a-z-]+$", aside) & !grepl("/(results|fixtures)/", aside)]
aside_core <- list.files(c("inst/reproduction", "tests/core"), "[.][ch]pp$", full.names = TRUE)
kinds <- list(
  roxygen = gather(runs_of, code, "^#'", "^#' ?", "^(@|\\* )"),
  strings = gather(strings_of, code),
  prose = gather(prose_of, read),
  titles = gather(titles_of, list.files("tests/testthat", "^test-.*R$", full.names = TRUE)),
  comments = rbind(
    gather(runs_of, code, "^ *#[^']", "^ *# ?", "^$"),
    gather(runs_of, core, "^ *//", "^ *// ?", "^$")
  ),
  prints = gather(
    runs_of, snapshots, "^    ", "^ +", "^(# |[a-zA-Z_.]+[(]|x |i |radius|mean |tail )"
  ),
  proofs = gather(prose_of, proofs),
  aside = rbind(
    gather(runs_of, aside, "^ *#[^!']", "^ *# ?", "^$"),
    gather(runs_of, aside_core, "^ *//", "^ *// ?", "^$")
  )
)
kinds$prints <- kinds$prints[!duplicated(kinds$prints$text), ]

habits <- c(
  "headless what" = "(?<![`\"])\\b[Ww]hat\\b(?! (if|kind|extent))(?![^.?!;]*\\?)(?! ?=)",
  "that/those of" = "\\b(that|those) (of|in|with|from|for)\\b",
  "a for per" = paste0(
    "\\b(once|twice|rows?|values?|numbers?|times?|columns?|periods?|seconds?|bytes|draws?|runs?|",
    "cells?|steps?|queries|releases?|data sets|charges?|people|one|two|three|several|patients?|",
    "blocks?|lines?|features?|budgets?|places?|weights?|noises?|months?|sets) an? ",
    "(row|donor|person|period|unit|week|month|cell|column|step|round|release|cohort|block|batch|",
    "group|outcome|year|patient|look|term|charge|query|file|task|worker|side|name)\\b"
  ),
  "say/tell" = "\\b(says?|said|saying|tells?|told|telling)\\b"
)
counted <- t(vapply(kinds, function(kind) {
  text <- gsub("`[^`]*`", "code", kind$text)
  words <- sum(lengths(strsplit(text, "\\s+")))
  hits <- vapply(habits, function(habit) {
    sum(lengths(regmatches(text, gregexpr(habit, text, perl = TRUE))))
  }, 0)
  c(passages = nrow(kind), words = words, round(1000 * hits / words, 2))
}, numeric(2L + length(habits))))
print(counted)

if (length(given)) {
  set.seed(as.integer(given[[1L]]), kind = "Mersenne-Twister", sample.kind = "Rejection")
  size <- if (length(given) > 1L) as.integer(given[[2L]]) else 40L
  share <- rep(names(kinds), length.out = size)
  for (kind in names(kinds)) {
    drawn <- kinds[[kind]][sample(nrow(kinds[[kind]]), sum(share == kind)), ]
    cat(sprintf("\n[%s] %s\n  %s\n", kind, drawn$place, gsub("\n", " ", drawn$text)), sep = "")
  }
}
