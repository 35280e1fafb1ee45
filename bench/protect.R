# protect = "everyone": error and coverage of the average effect on a group whose members are
# protected, beside a public target by the default release and by the same target-free release.
# DPSC_BENCH_REPLICATIONS scales the draws (default 1). Writes bench/results/protect.csv: root mean
# squared errors in units of half the bounds' width, coverage of nominal 95 % where there is an
# interval, the share of draws that have one, the median length of the interval over the 95 %
# quantile of its error, both sides. `document` is the error of the design's prototype.
suppressPackageStartupMessages(library(dpsc))
simulate_factor <- dpsc:::simulate_factor
times <- as.numeric(Sys.getenv("DPSC_BENCH_REPLICATIONS", "1"))
only <- as.numeric(strsplit(Sys.getenv("DPSC_BENCH_DONORS", "1000,3000,10000"), ",")[[1L]])
T0 <- 18L
T1 <- 6L

designs <- list(
  factor = list(bounds = c(-1, 1), draw = function(people) {
    simulate_factor(people, T0 + T1, 3, 0.8, 0.075, 0.2, 0.05, 0.05)$outcome
  }),
  # Most cost nothing in most months; those who do, log-normal sums.
  costs = list(bounds = c(0, 5000), draw = function(people) {
    user <- stats::rbinom(people, 1, 0.4)
    level <- stats::rnorm(people, 5, 0.8)
    months <- matrix(stats::rbinom(people * (T0 + T1), 1, 0.5), people) * user
    noise <- matrix(stats::rnorm(people * (T0 + T1), 0, 0.6), people)
    pmin(months * exp(level + noise), 5000)
  }),
  binary = list(bounds = c(0, 1), draw = function(people) {
    rate <- stats::plogis(stats::rnorm(people, -1, 1.2))
    matrix(stats::rbinom(people * (T0 + T1), 1, rate), people) * 1
  })
)
document <- data.frame(
  n = rep(c(1000, 3000, 10000), each = 3L), m = rep(c(60, 200, 1000), 3L),
  error = c(.069, .033, .042, .061, .030, .029, .052, .017, .015)
)

one <- function(design, n, m, effect, far, epsilon, seed) {
  set.seed(seed)
  d <- designs[[design]]
  # One draw: another would have other common shocks.
  people <- d$draw(n + m * (1 + far))
  half <- diff(d$bounds) / 2
  post <- T0 + seq_len(T1)
  donors <- people[seq_len(n), ]
  group <- people[n + seq_len(m), ]
  # A group that differs from the donors: half its people are those with the highest past of twice
  # as many.
  if (far) {
    more <- people[n + seq_len(2 * m), ]
    group <- more[order(-rowMeans(more[, seq_len(T0)]))[seq_len(m)], ]
  }
  before <- mean(group[, post])
  group[, post] <- pmin(pmax(group[, post] + effect * half, d$bounds[1L]), d$bounds[2L])
  truth <- mean(group[, post]) - before
  control <- dp_control(rng = "R")
  run <- function(target, ...) {
    suppressWarnings(dp_synth(donors,
      target = target, T0 = T0, epsilon = epsilon, bounds = d$bounds, control = control, ...
    ))
  }
  fits <- list(public = run(colMeans(group), size = m), everyone = run(group, protect = "everyone"))
  fits$free <- suppressWarnings(
    dp_synth(fits$everyone$release, target = colMeans(group), size = m)
  )
  table <- tidy(fits$everyone, conf.int = TRUE)
  errors <- vapply(fits, function(fit) mean(effects(fit)) - truth, 0) / half
  c(errors,
    covers = table$conf.low[[1L]] <= truth && truth <= table$conf.high[[1L]],
    length = (table$conf.high[[1L]] - table$conf.low[[1L]]) / half
  )
}

cell <- function(design, n, m, effect = 0, far = FALSE, epsilon = 1, draws = 40) {
  draws <- ceiling(draws * times)
  out <- t(vapply(seq_len(draws), function(seed) {
    one(design, n, m, effect, far, epsilon, seed)
  }, numeric(5L)))
  rmse <- function(name) sqrt(mean(out[, name]^2))
  has <- !is.na(out[, "covers"])
  row <- data.frame(
    design, n, m, epsilon, effect, far, draws,
    public = rmse("public"), free = rmse("free"), everyone = rmse("everyone"),
    ratio = rmse("everyone") / rmse("public"), coverage = mean(out[has, "covers"]),
    with_interval = mean(has),
    width = stats::median(out[has, "length"]) /
      (2 * stats::quantile(abs(out[, "everyone"]), 0.95)),
    document = if (design == "factor" && effect == 0 && !far && epsilon == 1) {
      document$error[match(paste(n, m), paste(document$n, document$m))]
    } else {
      NA_real_
    }
  )
  row[-1L] <- lapply(row[-1L], function(x) if (is.numeric(x)) signif(x, 3L) else x)
  cat(format(unlist(row)), "\n")
  row
}

rows <- list()
for (n in only) {
  for (m in c(60, 200, 1000)) {
    rows <- c(rows, list(cell("factor", n, m, draws = if (n > 5000) 20 else 40)))
  }
}
if (3000 %in% only) {
  for (effect in c(0.1, 0.5)) {
    for (m in c(60, 200)) rows <- c(rows, list(cell("factor", 3000, m, effect)))
  }
  rows <- c(rows, list(
    cell("factor", 3000, 200, far = TRUE), cell("factor", 3000, 200, epsilon = 4),
    cell("costs", 3000, 200), cell("costs", 3000, 1000), cell("costs", 3000, 200, far = TRUE),
    cell("binary", 3000, 60), cell("binary", 3000, 200), cell("binary", 3000, 1000)
  ))
}
path <- Sys.getenv("DPSC_BENCH_OUT", "bench/results/protect.csv")
utils::write.csv(do.call(rbind, rows), path, row.names = FALSE)
