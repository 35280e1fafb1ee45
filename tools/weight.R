# make weight: the size of the package for people who install, read and change it. Prints this size
# and writes bench/results/weight.csv. tools/weight-build.R measures the build, which takes many
# minutes; with DPSC_WEIGHT_BUILD=kept its last results are used. Usage: Rscript tools/weight.R
# dpsc_<version>.tar.gz
tarball <- commandArgs(TRUE)[[1L]]
file <- file.path("bench", "results", "weight.csv")
is_build <- function(measure) grepl("^(install|unit|compiler|peak|CPU s of)", measure)
build <- if (Sys.getenv("DPSC_WEIGHT_BUILD") == "kept" && file.exists(file)) {
  kept <- utils::read.csv(file)
  kept[is_build(kept$measure), ]
} else {
  script <- c(file.path("tools", "weight-build.R"), tarball)
  utils::read.csv(text = system2(file.path(R.home("bin"), "Rscript"), script, stdout = TRUE))
}

lines_of <- function(files) vapply(files, function(f) length(readLines(f, warn = FALSE)), 0L)
code_of <- function(files, comment) {
  vapply(files, function(f) {
    lines <- trimws(readLines(f, warn = FALSE))
    sum(nzchar(lines) & !grepl(comment, lines))
  }, 0L)
}
r_files <- setdiff(list.files("R", "[.]R$", full.names = TRUE), "R/RcppExports.R")
core_files <- list.files("inst/include", "[.][hc]pp$", full.names = TRUE, recursive = TRUE)
glue_files <- setdiff(list.files("src", "[.](cpp|h)$", full.names = TRUE), "src/RcppExports.cpp")

# The top-level functions of the package, their files and the names that they call.
parsed <- lapply(stats::setNames(nm = r_files), parse, keep.source = FALSE)
is_function <- function(e) {
  is.call(e) && identical(e[[1L]], quote(`<-`)) && is.name(e[[2L]]) && is.call(e[[3L]]) &&
    identical(e[[3L]][[1L]], quote(`function`))
}
functions <- do.call(rbind, unname(Map(function(file, code) {
  code <- Filter(is_function, as.list(code))
  data.frame(
    name = vapply(code, function(e) as.character(e[[2L]]), ""), file = rep(file, length(code)),
    arguments = vapply(code, function(e) length(e[[3L]][[2L]]), 0L),
    calls = I(lapply(code, function(e) all.names(e[[3L]], unique = TRUE)))
  )
}, names(parsed), parsed)))
home <- stats::setNames(functions$file, functions$name)

# Arrows between files, and the longest chain of arrows. By test-arrows.R there are no circles.
readers <- new.env()
sys.source(file.path("tests", "testthat", "helper-arrows.R"), envir = readers)
arrows <- readers$file_calls("R")
longest <- list()
chain <- function(file, above = character()) {
  if (file %in% above) stop("A circle of files: ", paste(c(above, file), collapse = " > "))
  if (is.null(longest[[file]])) {
    next_files <- arrows$to[arrows$from == file]
    tails <- lapply(next_files, chain, above = c(above, file))
    best <- if (length(tails)) tails[[which.max(lengths(tails))]]
    longest[[file]] <<- c(file, best)
  }
  longest[[file]]
}
chains <- lapply(basename(r_files), chain)
deepest <- chains[[which.max(lengths(chains))]]

# The functions that a verb calls, down to the first function that draws.
library(dpsc)
space <- asNamespace("dpsc")
walked <- character()
drawn <- FALSE
.dpsc_step <- function(name) if (!drawn) walked <<- c(walked, name)
.dpsc_drawn <- function() drawn <<- TRUE
for (name in functions$name) {
  suppressMessages(trace(name, bquote(.dpsc_step(.(name))), print = FALSE, where = space))
}
for (name in c("gram_release_cpp", "glm_release_cpp")) {
  suppressMessages(trace(name, quote(.dpsc_drawn()), print = FALSE, where = space))
}
walk <- function(what, code) {
  walked <<- character()
  drawn <<- FALSE
  force(code)
  stopifnot(drawn)
  files <- home[walked]
  data.frame(
    measure = paste0(what, " to the first draw: ", c("functions", "files", "changes of file")),
    value = c(
      length(unique(walked)), length(unique(files)), sum(files[-1L] != utils::head(files, -1L))
    )
  )
}
set.seed(1)
donors <- matrix(stats::runif(500 * 8, -1, 1), 500)
people <- data.frame(y = stats::rbinom(500, 1, 0.5), x = stats::runif(500))
walks <- rbind(
  walk("dp_synth(matrix)", {
    dp_synth(donors, target = donors[1L, ], T0 = 6, epsilon = 1, delta = 1e-6, bounds = c(-1, 1))
  }),
  walk("dp_glm()", {
    dp_glm(y ~ x, people, "binomial", 1, 1e-6, bounds = list(x = c(0, 1), y = c(0, 1)))
  }),
  if (requireNamespace("RSQLite", quietly = TRUE)) {
    con <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
    long <- data.frame(
      unit = rep(1:500, each = 8), time = rep(1:8, 500), y = as.vector(t(donors)),
      on = as.integer(rep(1:500, each = 8) == 1 & rep(1:8, 500) > 6)
    )
    DBI::dbWriteTable(con, "panel", long)
    walk("dp_table() to dp_synth()", {
      dp_synth(y ~ on, dp_table(con, "panel", index = c("unit", "time")),
        epsilon = 1, delta = 1e-6, bounds = c(-1, 1)
      )
    })
  }
)

rows <- data.frame(
  measure = c("R files", "R lines", "R code lines", paste("lines of the largest R file,",
    names(which.max(lines_of(r_files)))), "core code lines", "glue code lines", "R functions",
    "arrows between R files", paste("files in the longest chain:",
      paste(deepest, collapse = " > ")),
    "functions above 8 arguments", "functions that call spend()"),
  value = c(length(r_files), sum(lines_of(r_files)), sum(code_of(r_files, "^#")),
    max(lines_of(r_files)), sum(code_of(core_files, "^(//|[*]|/[*])")),
    sum(code_of(glue_files, "^(//|[*]|/[*])")), nrow(functions), nrow(arrows), length(deepest),
    sum(functions$arguments > 8L), sum(vapply(functions$calls, function(x) "spend" %in% x, NA)))
)
all <- rbind(build, rows, walks)
all$value <- signif(all$value, 5)
utils::write.csv(all, file, row.names = FALSE)
for (i in seq_len(nrow(all))) {
  cat(formatC(format(all$value[[i]], big.mark = ",", scientific = FALSE, drop0trailing = TRUE),
    width = 10), " ", all$measure[[i]], "\n")
}
