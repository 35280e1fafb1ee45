# Several rows per person: coverage of 95 % limits, with errors that the rows of a person share.
#
# From the package's root, with dpsc installed: Rscript bench/person.R
# Rscript bench/person.R mean sd median makes again only the rows of these methods.
# Writes bench/results/person.csv, one row per cell: `shared`, the share of the errors' variance
# (and of the regressors') that the rows of a person have in common; `cover`, the coverage of the
# slope of a regressor that varies within people (`within`) and of a regressor that does not
# (`between`); `width`, the mean half-width over the half-width at epsilon = Inf with clustered
# errors. `vcov` is "HC" (the default, clustered) or "const". People have 1 to 12 rows, and people
# with many rows differ in their regressors. "mean", "sd" and "median" are statistics of the
# regressors by dp_describe(). For a mean, the width is over the width of limits from people's means
# without privacy. Each cell uses DPSC_BENCH_REPLICATIONS (default 100) data sets.
library(dpsc)

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "100"))
bounds <- list(y = c(-50, 50), k = c(FALSE, TRUE), within = c(-20, 20), between = c(-20, 20))
truth <- c(within = 0.6, between = -0.4)

people <- function(n, shared) {
  between <- stats::rnorm(n)
  rows <- pmin(12, 1 + stats::rpois(n, exp(0.8 + 0.5 * between)))
  id <- rep(seq_len(n), rows)
  mix <- function(sd) {
    own <- stats::rnorm(length(id), sd = sd)
    sqrt(shared) * stats::rnorm(n, sd = sd)[id] + sqrt(1 - shared) * own
  }
  out <- data.frame(id = id, within = mix(1), between = between[id])
  fit <- 1 + truth[["within"]] * out$within + truth[["between"]] * out$between
  out$y <- fit + mix(1.5)
  # Each row alone has the same distribution, for any shared part.
  out$k <- stats::pnorm(mix(1)) < stats::plogis(fit - 1)
  out
}

fits <- list(
  clustered = function(data, epsilon) {
    dp_lm(y ~ within + between, data, epsilon = epsilon, bounds = bounds, person = ~id)
  },
  const = function(data, epsilon) {
    dp_lm(y ~ within + between, data,
      epsilon = epsilon, bounds = bounds, person = ~id, vcov = "const"
    )
  },
  logistic = function(data, epsilon) {
    dp_glm(k ~ within + between, data, "binomial",
      epsilon = epsilon, bounds = bounds, person = ~id
    )
  }
)

# Statistics of the distribution in which every person has weight one.
statistics <- c(mean = 0, sd = 1, median = 0)

# One description contains all statistics of a data set.
tables <- list()
described <- function(data, epsilon, key) {
  if (is.null(tables[[key]])) {
    tables[[key]] <<- tidy(dp_describe(~ within + between, data,
      epsilon = epsilon, bounds = bounds[c("within", "between")], person = ~id
    ))
  }
  tables[[key]]
}

describe <- function(data, table, statistic) {
  rows <- table[table$statistic == sub("median", "q0.5", statistic), ]
  known <- statistics[[statistic]]
  plain <- vapply(names(truth), function(name) {
    own <- tapply(data[[name]], data$id, mean)
    2 * stats::qnorm(0.975) * stats::sd(own) / sqrt(length(own))
  }, 0)
  list(
    rbind(cover = rows$conf.low <= known & known <= rows$conf.high,
      width = rows$conf.high - rows$conf.low),
    rbind(width = if (statistic == "mean") plain else c(NA, NA))
  )
}

measure <- function(fit) {
  limits <- stats::confint(fit)[names(truth), ]
  rbind(cover = limits[, 1] <= truth & truth <= limits[, 2], width = limits[, 2] - limits[, 1])
}

cell <- function(n, epsilon, shared, method) {
  runs <- lapply(seq_len(replications), function(i) {
    set.seed(i)
    data <- people(n, shared)
    if (method %in% names(statistics)) {
      table <- described(data, epsilon, paste(i, n, epsilon, shared))
      return(describe(data, table, method))
    }
    known <- if (method == "const") "clustered" else method
    suppressWarnings(list(
      measure(fits[[method]](data, epsilon)), measure(fits[[known]](data, Inf))
    ))
  })
  mean_of <- function(k, what) rowMeans(vapply(runs, function(x) x[[k]][what, ], numeric(2)))
  cover <- mean_of(1, "cover")
  width <- mean_of(1, "width") / mean_of(2, "width")
  data.frame(
    method, n, epsilon, shared, cover_within = cover[[1]], cover_between = cover[[2]],
    width_within = width[[1]], width_between = width[[2]]
  )
}

cells <- expand.grid(
  shared = c(0, 0.5, 0.95), epsilon = c(1, 4), n = c(2000, 10000),
  method = c(names(fits), names(statistics)), stringsAsFactors = FALSE
)
anew <- commandArgs(trailingOnly = TRUE)
if (length(anew)) cells <- cells[cells$method %in% anew, ]
table <- do.call(rbind, lapply(seq_len(nrow(cells)), function(i) {
  with(cells[i, ], cell(n, epsilon, shared, method))
}))
numbers <- vapply(table, is.numeric, NA)
table[numbers] <- lapply(table[numbers], signif, 3)
if (length(anew)) {
  known <- utils::read.csv("bench/results/person.csv")
  table <- rbind(known[!known$method %in% anew, ], table)
}
utils::write.csv(table, "bench/results/person.csv", row.names = FALSE)
print(table)
