# The site and the help pages: the index contains every topic, pages load nothing from other
# servers, and common search words lead to the page that answers them. `make site` checks the built
# site.

in_sources <- function(...) {
  home <- normalizePath(test_path("..", ".."), mustWork = FALSE)
  skip_if(!file.exists(file.path(home, "_pkgdown.yml")), "not in the repository")
  file.path(home, ...)
}

text_of <- function(path) paste(readLines(path, encoding = "UTF-8"), collapse = "\n")

# The entries of a section. A topic and an article may have the same name ("papers").
listed_items <- function(section) {
  lines <- readLines(in_sources("_pkgdown.yml"))
  top <- grep("^[a-z]+:", lines)
  first <- grep(paste0("^", section, ":"), lines)
  lines <- lines[first:(min(top[top > first], length(lines) + 1L) - 1L)]
  trimws(sub("^\\s*- ", "", grep("^\\s*- [A-Za-z]", lines, value = TRUE)))
}

rd_field <- function(lines, field) {
  found <- regmatches(lines, regexpr(paste0("(?<=^\\\\", field, "\\{)[^}]*"), lines, perl = TRUE))
  gsub("\\", "", found, fixed = TRUE)
}

test_that("the index of the site lists every help page, and every article once", {
  listed <- listed_items("reference")
  for (page in list.files(in_sources("man"), "[.]Rd$", full.names = TRUE)) {
    lines <- readLines(page, encoding = "UTF-8")
    expect_gte(sum(listed %in% rd_field(lines, "alias")), 1, label = basename(page))
    # Pages are for users, so data and functions that are not exported have no page.
    if (!"internal" %in% rd_field(lines, "keyword")) {
      expect_true(any(grepl("^\\\\(description|value)", lines)), label = basename(page))
    }
  }
  home <- in_sources("vignettes")
  articles <- sub("[.]Rmd$", "", list.files(home, "[.]Rmd$", recursive = TRUE))
  expect_gt(length(articles), 30)
  listed <- listed_items("articles")
  for (article in articles) expect_identical(sum(listed == article), 1L, label = article)
})

test_that("the web site's pages load no file from another server", {
  head <- text_of(in_sources("pkgdown", "templates", "head.html"))
  tags <- regmatches(head, gregexpr("(?s)<(script|link)[^>]*>", head, perl = TRUE))[[1L]]
  expect_gt(length(tags), 1)
  for (tag in tags) expect_no_match(tag, "//", fixed = TRUE)
  # The search uses these titles.
  expect_match(head, "og:title", fixed = TRUE)
  for (file in c("extra.js", "extra.css")) {
    expect_match(head, file, fixed = TRUE)
    expect_no_match(text_of(in_sources("pkgdown", file)), "https?:|url\\(|@import")
  }
  # Formulas are plain text, since no program would typeset them.
  for (file in list.files(in_sources("man"), "[.]Rd$", full.names = TRUE)) {
    expect_no_match(text_of(file), "\\\\d?eqn\\{", label = basename(file))
  }
})

test_that("the home page contains entries for three kinds of readers, and linked pages exist", {
  home <- text_of(in_sources("pkgdown", "index.md"))
  doors <- c("You analyse the data", "You approve the use of the data", "You run the database")
  for (door in doors) expect_match(home, paste0("### ", door), fixed = TRUE)
  words <- c("regression", "database", "treated people", "event study", "GDPR", "sample size")
  for (word in words) expect_match(home, word, fixed = TRUE)
  links <- regmatches(home, gregexpr("(?<=\\]\\()[^)]+", home, perl = TRUE))[[1L]]
  links <- grep("[.]html$", links, value = TRUE)
  expect_gt(length(links), 20)
  source_of <- function(link) {
    name <- sub("[.]html$", "", basename(link))
    if (startsWith(link, "reference/")) {
      file.path("man", paste0(name, ".Rd"))
    } else {
      file.path("vignettes", c("", "articles"), paste0(name, ".Rmd"))
    }
  }
  for (link in links) expect_true(any(file.exists(in_sources(source_of(link)))), label = link)
})

typed_words <- function() utils::read.csv(test_path("fixtures", "typed-words.csv"))

test_that("common search words are concepts, aliases or titles of the help pages on them", {
  words <- typed_words()
  expect_gt(nrow(words), 25)
  for (i in seq_len(nrow(words))) {
    page <- readLines(in_sources("man", paste0(words$page[[i]], ".Rd")), encoding = "UTF-8")
    named <- c(rd_field(page, "concept"), rd_field(page, "alias"), rd_field(page, "title"))
    expect_true(
      any(grepl(words$word[[i]], named, fixed = TRUE)),
      label = paste(words$word[[i]], "in", words$page[[i]])
    )
  }
})

test_that("help.search() finds the pages for common search words", {
  aliases <- system.file("help", "aliases.rds", package = "dpsc")
  skip_if(!nzchar(aliases), "installed without help pages")
  library <- dirname(system.file(package = "dpsc"))
  topics <- readRDS(aliases)
  words <- typed_words()
  for (word in unique(words$word)) {
    found <- utils::help.search(word, package = "dpsc", lib.loc = library, agrep = FALSE)
    pages <- unique(unname(topics[found$matches$Name]))
    expect_true(all(words$page[words$word == word] %in% pages), label = word)
  }
})
