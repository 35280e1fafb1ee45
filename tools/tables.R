# Makes again the result tables whose code has changed since they were made.
#   Rscript tools/tables.R             all such tables
#   Rscript tools/tables.R lm glm      these scripts of bench/, changed or not
# For every script bench/results/made.csv records the code that made its tables (git's names of the
# trees R/ and inst/include/ and of the script), the date and the time taken.
scripts <- c(
  "selection", "lm-dummies", "lm-skew", "lm-real", "lm", "plan-lm", "lm-peers",
  "glm", "glm-dummies", "glm-estimand", "plan", "rounds",
  "accuracy", "protect", "battery", "battery-holdout", "selected", "minority", "aggregate",
  "online", "person", "privacy-se", "offset", "glm-weights", "synth-weights",
  "wide-bounds", "describe"
)
register <- "bench/results/made.csv"

# Tables that the script of another table makes, with an additional argument.
parts <- list("battery-holdout" = c("battery", "holdout"), "privacy-se" = c("battery", "privacy"))
words_of <- function(script) if (is.null(parts[[script]])) script else parts[[script]]

name_of_code <- function(script) {
  paths <- c("R", "inst/include", file.path("bench", paste0(words_of(script)[[1L]], ".R")))
  trees <- vapply(paths, function(path) {
    system2("git", c("rev-parse", "--short=8", paste0("HEAD:", path)), stdout = TRUE)
  }, "")
  paste(trees, collapse = "-")
}

known <- if (file.exists(register)) {
  utils::read.csv(register, colClasses = "character")
} else {
  data.frame(script = character(), code = character(), made = character(), minutes = character())
}

asked <- commandArgs(TRUE)
unknown <- setdiff(asked, scripts)
if (length(unknown)) stop("No such script: ", paste(unknown, collapse = ", "))
wanted <- if (length(asked)) asked else scripts
for (script in wanted) {
  code <- name_of_code(script)
  if (!length(asked) && identical(known$code[known$script == script], code)) {
    cat(script, ": made by today's code\n", sep = "")
    next
  }
  begun <- proc.time()[["elapsed"]]
  words <- words_of(script)
  status <- system2("Rscript", c(file.path("bench", paste0(words[[1L]], ".R")), words[-1L]))
  if (status != 0) stop("bench/", script, ".R failed")
  row <- data.frame(
    script = script, code = code, made = format(Sys.Date()),
    minutes = format(round((proc.time()[["elapsed"]] - begun) / 60, 1))
  )
  known <- rbind(known[known$script != script, ], row)
  utils::write.csv(known[order(known$script), ], register, row.names = FALSE)
  cat(script, ": ", row$minutes, " minutes\n", sep = "")
}
