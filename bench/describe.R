# The table of one column by dp_describe() and by recipes of peers, at the same budget: errors of
# its numbers, and coverage of its limits. Neighbours replace one row; n and bounds are public.
#
# From the package's root, with dpsc installed: Rscript bench/describe.R
# Writes bench/results/describe.csv, one row per shape, n, width of bounds, budget and number:
#   error         mean absolute error about the same number of the table, without noise
#   peer, default the best peer at its defaults, and its error
#   hindsight     the error of the best peer whose shares of the budget, account and candidates are
#                 chosen afterwards, for the shape, n and bounds, by the geometric mean of errors
#   ratio         error over the smaller of the two, both at least a thousandth of the column's
#                 standard deviation (a hundred-thousandth, for shares); median: from median
#                 absolute errors
#   total         the same ratio for errors about the population
#   cover, se     95 % limits about the population
# Recipes, from publications of their authors (for replaced rows):
#   DPpack        Laplace: mean (sensitivity (u - l)/n), variance ((u - l)^2/n, its root is the sd);
#                 quantiles by the exponential mechanism over gaps between sorted values
#                 (utility -|rank - q n|, sensitivity 1, exponent epsilon/2). "gaussian": mean and
#                 variance by the classical Gaussian mechanism, whose delta is split.
#   diffprivlib   as DPpack, with the variance's (u - l)^2 (n - 1)/n^2, draws moved into bounds.
#   OpenDP        means and variances as diffprivlib; quantiles by noisy maxima over candidates that
#                 divide the bounds evenly (score |(1 - q) below - q above|). "zcdp": discrete
#                 Gaussian noise and choices of range epsilon as epsilon^2 / 8. "cdf": quantiles
#                 from a histogram with Gaussian noise summed over a binary tree.
# By default the shares are equal and the privacy is pure. Levels use Laplace and Gaussian counts
# over their sum, and a mean of 0/1. The mean of 0/1 takes n for the number of people who answered;
# the other recipes allow missing rows.
# Each cell uses DPSC_BENCH_REPLICATIONS (default 100) data sets, ten times as many for levels, and
# a hundred times as many for levels with n = 5,000, whose ratio of 1.08 with 1,000 was noise.
# (These three cells use the same draws.) The coverage of one cell, 0.92 of 100, is from ten times
# as many.
# DPSC_BENCH_CORES (default 2) gives the number of processes. Not private: seeded.
# Rscript bench/describe.R cells "^spike 50000 1$" makes again only the rows whose shape, n and
# bounds match.
library(dpsc)

replications <- as.integer(Sys.getenv("DPSC_BENCH_REPLICATIONS", "100"))
cores <- as.integer(Sys.getenv("DPSC_BENCH_CORES", "2"))
delta <- 1e-6
asked <- c(mean = NA, sd = NA, q0.25 = 0.25, q0.5 = 0.5, q0.75 = 0.75)

# Shapes of columns: a random draw, bounds chosen by a person who knows the column, and whether
# values are whole numbers.
shapes <- list(
  costs = list(draw = function(n) stats::rlnorm(n, 7, 1), bounds = c(0, 30000)),
  ages = list(draw = function(n) round(stats::rbeta(n, 2, 2.5) * 72 + 18), bounds = c(0L, 120L)),
  counts = list(draw = function(n) as.double(stats::rpois(n, 3)), bounds = c(0L, 20L)),
  heavy = list(draw = function(n) 51.3 + 5 * stats::rt(n, 2.5), bounds = c(-50, 150)),
  spike = list(
    draw = function(n) (stats::runif(n) > 0.6) * stats::rlnorm(n, 5, 0.8), bounds = c(0, 3000)
  )
)

wider <- function(bounds, times) {
  if (is.integer(bounds)) bounds * as.integer(times) else bounds * times
}

numbers_of <- function(x) {
  c(
    mean = mean(x), sd = stats::sd(x),
    stats::quantile(x, asked[-(1:2)], type = 1, names = FALSE)
  )
}

# Recipes ------------------------------------------------------------------------------------------
laplace <- function(scale) scale * (stats::rexp(1) - stats::rexp(1))

gumbel <- function(n) -log(stats::rexp(n))

# Each gap between sorted values has a probability proportional to its width times exp(epsilon
# utility / 2).
gap_quantile <- function(x, q, epsilon) {
  width <- diff(x)
  k <- length(x) - 2L
  utility <- -abs(0:k - q * k)
  at <- which.max(ifelse(width > 0, log(width), -Inf) + epsilon / 2 * utility + gumbel(k + 1L))
  x[[at]] + stats::runif(1) * width[[at]]
}

# `ranks` contains the numbers of values below and above each candidate. A replaced row moves the
# score by 1.
candidate_quantile <- function(ranks, q, epsilon) {
  score <- abs((1 - q) * ranks$below - q * ranks$above)
  ranks$at[[which.max(-epsilon / 2 * score + gumbel(length(score)))]]
}

tree_quantiles <- function(counts, at, rho) {
  depth <- log2(length(counts))
  noisy <- lapply(0:depth, function(level) {
    own <- colSums(matrix(counts, 2^level))
    # A replaced row changes two nodes per level, and the levels share rho.
    own + stats::rnorm(length(own), sd = sqrt(2 * (depth + 1) / (2 * rho)))
  })
  # Each node is split in proportion to the noisy counts of its halves. The total of the root is
  # public.
  total <- sum(counts)
  for (level in rev(seq_len(depth))) {
    child <- matrix(noisy[[level]], 2L)
    gap <- total - colSums(child)
    total <- as.vector(child + rep(gap / 2, each = 2L))
  }
  share <- cummax(cumsum(total)) / sum(counts)
  vapply(asked[-(1:2)], function(q) at[[min(which(share >= q), length(at))]], 0)
}

inside <- function(x, bounds) pmin(pmax(x, bounds[[1L]]), bounds[[2L]])

# `split` contains the shares of the budget for the mean, the variance and each of three quantiles.
pure_moments <- function(x, bounds, epsilon, split, sensitivity) {
  n <- length(x)
  range <- diff(bounds)
  middle <- mean(x) + laplace(range / n / (split[[1L]] * epsilon))
  variance <- stats::var(x) + laplace(range^2 * sensitivity / (split[[2L]] * epsilon))
  c(inside(middle, bounds), sqrt(max(0, variance)))
}

gaussian_moments <- function(x, bounds, scales) {
  n <- length(x)
  range <- diff(bounds)
  moments <- c(mean(x), stats::var(x)) + c(range, range^2) / n * scales * stats::rnorm(2)
  c(inside(moments[[1L]], bounds), sqrt(max(0, moments[[2L]])))
}

known_rho <- new.env()

rho_of <- function(epsilon) {
  key <- format(epsilon)
  if (is.null(known_rho[[key]])) known_rho[[key]] <- computed_rho(epsilon)
  known_rho[[key]]
}

computed_rho <- function(epsilon) {
  one <- function(a, rho) a * rho + log1p(-1 / a) - (log(a) + log(delta)) / (a - 1) - epsilon
  spent <- function(rho) stats::optimize(one, c(1.01, 500), rho = rho)$objective
  stats::uniroot(spent, c(1e-6, epsilon))$root
}

splits <- list(
  even = c(1, 1, 1, 1, 1) / 5, moments = c(1.5, 2, 0.5, 0.5, 0.5) / 5,
  places = c(0.5, 0.5, 4 / 3, 4 / 3, 4 / 3) / 5, sd = c(0.5, 3, 0.5, 0.5, 0.5) / 5,
  mean = c(0.7, 1.5, 0.7, 0.7, 0.7) / 4.3
)

grid_of <- function(x, bounds, points) {
  at <- seq(bounds[[1L]], bounds[[2L]], length.out = points)
  below <- findInterval(at, sort(x), left.open = TRUE)
  list(at = at, below = below, above = length(x) - findInterval(at, sort(x)))
}

tables_of_peers <- function(x, bounds, epsilon, whole) {
  n <- length(x)
  rho <- rho_of(epsilon)
  sorted <- c(bounds[[1L]], sort(x), bounds[[2L]])
  points <- unique(c(101, if (whole) diff(bounds) + 1, 1001))
  grids <- lapply(points, function(k) grid_of(x, bounds, k))
  bins <- if (whole) 2^ceiling(log2(diff(bounds) + 1)) else 1024
  edges <- bounds[[1L]] + (if (whole) seq_len(bins) - 1 else diff(bounds) * seq_len(bins) / bins)
  counts <- tabulate(pmin(1L + findInterval(x, edges, left.open = TRUE), bins), bins)
  out <- list()
  for (name in names(splits)) {
    split <- splits[[name]]
    places <- function(draw) {
      sort(vapply(1:3, function(k) draw(asked[[k + 2L]], split[[k + 2L]]), 0))
    }
    gaps <- places(function(q, share) gap_quantile(sorted, q, share * epsilon))
    pure <- pure_moments(x, bounds, epsilon, split, (n - 1) / n^2)
    out[[paste("DPpack", name)]] <- c(pure_moments(x, bounds, epsilon, split, 1 / n), gaps)
    out[[paste("diffprivlib", name)]] <- c(pure, gaps)
    # The classical Gaussian mechanism needs epsilon below 1. Each step uses half of delta.
    scales <- sqrt(2 * log(1.25 / (delta / 2))) / (split[1:2] * epsilon)
    out[[paste("DPpack gaussian", name)]] <- c(gaussian_moments(x, bounds, scales), gaps)
    shifted <- gaussian_moments(x, bounds, 1 / sqrt(2 * split[1:2] * rho))
    for (g in seq_along(grids)) {
      label <- paste(name, points[[g]])
      out[[paste("OpenDP", label)]] <- c(pure, places(function(q, share) {
        candidate_quantile(grids[[g]], q, share * epsilon)
      }))
      out[[paste("OpenDP zcdp", label)]] <- c(shifted, places(function(q, share) {
        candidate_quantile(grids[[g]], q, sqrt(8 * share * rho))
      }))
    }
    out[[paste("OpenDP cdf", name)]] <- c(
      shifted, tree_quantiles(counts, edges, sum(split[3:5]) * rho)
    )
  }
  out
}

defaults <- c(
  "DPpack even", "diffprivlib even", "OpenDP even 101", "counts laplace", "mean of 0/1"
)

# One cell -----------------------------------------------------------------------------------------
own_table <- function(x, bounds, epsilon) {
  table <- generics::tidy(dp_describe(~x, data.frame(x = x), epsilon = epsilon, delta = delta,
    bounds = list(x = bounds), control = dp_control(rng = "R")))
  table[match(names(asked), table$statistic), ]
}

one_run <- function(seed, shape, n, bounds, epsilon, population) {
  set.seed(seed)
  x <- inside(shape$draw(n), bounds)
  truth <- numbers_of(x)
  own <- own_table(x, bounds, epsilon)
  tables <- do.call(rbind, c(
    list(dp_describe = own$estimate),
    tables_of_peers(x, as.double(bounds), epsilon, is.integer(bounds))
  ))
  list(
    off = abs(sweep(tables, 2, truth)), far = abs(sweep(tables, 2, population)),
    inside = own$conf.low <= population & population <= own$conf.high
  )
}

# The numbers of the table are columns, and the recipes are rows.
compare <- function(off, least) {
  off <- pmax(off, least)
  peers <- off[-1L, , drop = FALSE]
  default <- peers[defaults[defaults %in% rownames(peers)], , drop = FALSE]
  best <- which.min(rowMeans(log(peers)))
  data.frame(
    error = off[1L, ], peer = rownames(default)[apply(default, 2, which.min)],
    default = apply(default, 2, min), setting = rownames(peers)[[best]], hindsight = peers[best, ],
    ratio = off[1L, ] / pmin(apply(default, 2, min), peers[best, ])
  )
}

over_runs <- function(runs, part, how = mean) {
  each <- simplify2array(lapply(runs, `[[`, part))
  apply(each, 1:2, how)
}

measured <- function(runs, statistics, least) {
  cover <- rowMeans(do.call(cbind, lapply(runs, `[[`, "inside")))
  out <- compare(over_runs(runs, "off"), least)
  data.frame(
    runs = length(runs), statistic = statistics, out,
    median = compare(over_runs(runs, "off", stats::median), least)$ratio,
    total = compare(over_runs(runs, "far"), least)$ratio, cover = cover,
    se = sqrt(cover * (1 - cover) / length(runs)), row.names = NULL
  )
}

# Seeds of data sets that only the coverage of a cell needs.
further_runs <- function(name, n, times, runs) {
  if (name == "spike" && n == 50000 && times == 1) runs + seq_len(9 * runs)
}

own_run <- function(seed, shape, n, bounds, epsilon, population) {
  set.seed(seed)
  x <- inside(shape$draw(n), bounds)
  own <- own_table(x, bounds, epsilon)
  list(
    off = abs(own$estimate - numbers_of(x)),
    inside = own$conf.low <= population & population <= own$conf.high
  )
}

covered <- function(runs) {
  cover <- rowMeans(do.call(cbind, lapply(runs, `[[`, "inside")))
  data.frame(cover = cover, se = sqrt(cover * (1 - cover) / length(runs)))
}

cell <- function(name, n, times, epsilon) {
  shape <- shapes[[name]]
  bounds <- wider(shape$bounds, times)
  set.seed(1)
  population <- numbers_of(inside(shape$draw(4e6), bounds))
  runs <- lapply(seq_len(replications), one_run, shape, n, bounds, epsilon, population)
  found <- measured(runs, names(asked), population[["sd"]] / 1000)
  more <- further_runs(name, n, times, replications)
  if (length(more)) {
    inside <- c(runs, lapply(more, own_run, shape, n, bounds, epsilon, population))
    found[c("cover", "se")] <- covered(inside)
  }
  cbind(shape = name, n = n, bounds = times, epsilon = epsilon, found)
}

# A column of levels -------------------------------------------------------------------------------
one_share <- function(seed, n, p, epsilon) {
  set.seed(seed)
  ill <- stats::runif(n) < p
  counts <- c(sum(!ill), sum(ill))
  data <- data.frame(ill = ifelse(ill, "yes", "no"))
  own <- generics::tidy(dp_describe(~ill, data, epsilon = epsilon, delta = delta,
    bounds = list(ill = c("no", "yes")), control = dp_control(rng = "R")))[2L, ]
  share <- function(noisy) max(0, noisy[[2L]]) / max(1, sum(pmax(0, noisy)))
  gaussian <- sqrt(2 / (2 * rho_of(epsilon)))
  tables <- rbind(
    dp_describe = c(share = own$estimate),
    "counts laplace" = share(counts + c(laplace(2 / epsilon), laplace(2 / epsilon))),
    "counts gaussian" = share(counts + gaussian * stats::rnorm(2)),
    "mean of 0/1" = inside(mean(ill) + laplace(1 / n / epsilon), c(0, 1))
  )
  list(
    off = abs(tables - mean(ill)), far = abs(tables - p),
    inside = own$conf.low <= p & p <= own$conf.high
  )
}

shares <- function(n, p, epsilon) {
  runs <- lapply(seq_len((if (n == 5000) 100 else 10) * replications), one_share, n, p, epsilon)
  found <- measured(runs, "share", sqrt(p * (1 - p)) / 1e5)
  cbind(shape = paste("levels", p), n = n, bounds = 1, epsilon = epsilon, found)
}

# Computes the limits of the table's numbers again if estimates are unchanged. Only `cover` and `se`
# of the table change. Rscript bench/describe.R limits
limits_anew <- function(table) {
  for (at in split(seq_len(nrow(table)), table[c("shape", "n", "bounds")], drop = TRUE)) {
    if (identical(table$statistic[[at[[1L]]]], "share")) next
    one <- table[at[[1L]], ]
    shape <- shapes[[one$shape]]
    bounds <- wider(shape$bounds, one$bounds)
    set.seed(1)
    population <- numbers_of(inside(shape$draw(4e6), bounds))
    seeds <- seq_len(one$runs)
    runs <- lapply(seeds, own_run, shape, one$n, bounds, one$epsilon, population)
    error <- pmax(rowMeans(do.call(cbind, lapply(runs, `[[`, "off"))), population[["sd"]] / 1000)
    stopifnot(all.equal(signif(unname(error), 3), table$error[at], tolerance = 0.01))
    more <- further_runs(one$shape, one$n, one$bounds, one$runs)
    found <- covered(c(
      runs, lapply(more, own_run, shape, one$n, bounds, one$epsilon, population)
    ))
    table[at, c("cover", "se")] <- signif(found, 3)
    cat(one$shape, one$n, one$bounds, found$cover, "\n")
  }
  table
}

told <- function(results) {
  cat(sprintf(
    "ratio: geometric mean %.2f, largest %.2f, above 1.05 in %d of %d; cover %.3f at least\n",
    exp(mean(log(results$ratio))), max(results$ratio), sum(results$ratio > 1.05), nrow(results),
    min(results$cover)))
}

if (identical(commandArgs(TRUE), "limits")) {
  results <- limits_anew(utils::read.csv("bench/results/describe.csv"))
  utils::write.csv(results, "bench/results/describe.csv", row.names = FALSE)
  told(results)
  quit("no")
}

sizes <- c(500, 5000, 50000)
cells <- expand.grid(
  name = names(shapes), n = sizes, times = c(1, 10), epsilon = 1, stringsAsFactors = FALSE
)
levelled <- expand.grid(n = sizes, p = c(0.03, 0.2, 0.5), epsilon = 1)
chosen <- function(shape, n, times) {
  given <- commandArgs(TRUE)
  if (!identical(given[1L], "cells")) return(rep(TRUE, length(shape)))
  grepl(given[[2L]], paste(shape, n, times))
}
cells <- cells[chosen(cells$name, cells$n, cells$times), ]
levelled <- levelled[chosen(paste("levels", levelled$p), levelled$n, 1), ]
results <- do.call(rbind, c(
  parallel::mcmapply(cell, cells$name, cells$n, cells$times, cells$epsilon,
    SIMPLIFY = FALSE, mc.cores = cores, mc.preschedule = FALSE),
  Map(shares, levelled$n, levelled$p, levelled$epsilon)
))
rounded <- vapply(results, is.numeric, NA)
results[rounded] <- lapply(results[rounded], signif, 3)
if (identical(commandArgs(TRUE)[1L], "cells")) {
  new <- results
  results <- utils::read.csv("bench/results/describe.csv")
  key <- function(x) paste(x$shape, x$n, x$bounds, x$epsilon, x$statistic)
  stopifnot(key(new) %in% key(results))
  results[match(key(new), key(results)), ] <- new
}
utils::write.csv(results, "bench/results/describe.csv", row.names = FALSE)
told(results)
