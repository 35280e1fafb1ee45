# Designs that resemble people's data, for bench/battery.R and bench/rounds.R, which source this
# file. It runs nothing.
#
# A design draws N people from one distribution: a function of N, T0 and T1 that returns
#   rows (N x T, outcome units), bounds (public, outcome units), and signal (N x T1, a person's
#   expected outcomes after T0 given all facts fixed before; NULL if unknown).
# draw_panel() splits these people into donors and targets, so that targets differ from donors only
# by this choice. The people of a real panel are split at random.

ar1 <- function(N, periods, phi, sd) {
  x <- matrix(stats::rnorm(N * periods, sd = sd * sqrt(1 - phi^2)), N)
  x[, 1L] <- stats::rnorm(N, sd = sd)
  for (t in seq_len(periods)[-1L]) x[, t] <- x[, t] + phi * x[, t - 1L]
  x
}

noise <- function(N, periods, sd) matrix(stats::rnorm(N * periods, sd = sd), N)

after <- function(x, T0) x[, -seq_len(T0), drop = FALSE]

# This signal does not change over time.
constant <- function(x, T1) matrix(x, length(x), T1)

clip <- function(x, bounds) pmin(pmax(x, bounds[[1L]]), bounds[[2L]])

# Mean of min(X, limit) for a log-normal X.
capped_lognormal <- function(mu, sd, limit) {
  z <- (log(limit) - mu) / sd
  exp(mu + sd^2 / 2) * stats::pnorm(z - sd) + limit * stats::pnorm(-z)
}

# The mean of noisy answers from 1 to 5 about a latent level.
mean_answer <- function(level, sd) {
  1 + Reduce(`+`, lapply(1.5 + 0:3, function(cut) stats::pnorm((level - cut) / sd)))
}

design_factor <- function(N, T0, T1) {
  periods <- T0 + T1
  paths <- t(ar1(4, periods, 0.8, 1))
  signal <- stats::rnorm(N, sd = 0.2) +
    tcrossprod(matrix(stats::rnorm(N * 3, sd = 0.075), N), paths[, -1L]) +
    rep(0.05 * paths[, 1L], each = N)
  list(
    rows = signal + noise(N, periods, 0.05), signal = clip(after(signal, T0), c(-1, 1)),
    bounds = c(-1, 1)
  )
}

designs <- list(
  factor = design_factor,
  # As sim_panel("linear"), with slopes and noise from truncated normals (Rho, Cummings, Misra,
  # 2023).
  linear = function(N, T0, T1) {
    periods <- T0 + T1
    between <- function(n, mean, sd, lower, upper) {
      limits <- stats::pnorm(c(lower, upper), mean, sd)
      stats::qnorm(stats::runif(n, limits[[1L]], limits[[2L]]), mean, sd)
    }
    signal <- outer(between(N, 4, 1, 3, 5), seq_len(periods))
    rows <- signal + between(N * periods, 0, sqrt(0.1), -1, 1)
    scale <- 5 * periods + 1
    list(rows = rows / scale, signal = after(signal, T0) / scale, bounds = c(-1, 1))
  },
  ar1 = function(N, T0, T1) {
    level <- stats::rnorm(N, 100, 10)
    deviation <- ar1(N, T0 + T1, 0.7, 4)
    list(
      rows = level + deviation, signal = level + outer(deviation[, T0], 0.7^seq_len(T1)),
      bounds = c(50, 150)
    )
  },
  walk = function(N, T0, T1) {
    rows <- stats::rnorm(N, 100, 10) + t(apply(noise(N, T0 + T1, 2), 1L, cumsum))
    list(rows = rows, signal = constant(rows[, T0], T1), bounds = c(40, 160))
  },
  season = function(N, T0, T1) {
    level <- stats::rnorm(N, 50, 8)
    signal <- level + outer(stats::rnorm(N, 10, 3), cos(2 * pi * seq_len(T0 + T1) / 12))
    list(
      rows = signal + noise(N, T0 + T1, 3), signal = after(signal, T0), bounds = c(0, 100)
    )
  },
  binary = function(N, T0, T1) {
    rate <- stats::plogis(stats::rnorm(N, -1, 1.2))
    rows <- matrix(stats::rbinom(N * (T0 + T1), 1, rate), N)
    list(rows = rows, signal = constant(rate, T1), bounds = c(0, 1))
  },
  # Two in a hundred person-months contain an event.
  rare = function(N, T0, T1) {
    rate <- stats::plogis(stats::rnorm(N, -4.3, 0.9))
    rows <- matrix(stats::rbinom(N * (T0 + T1), 1, rate), N)
    list(rows = rows, signal = constant(rate, T1), bounds = c(0, 1))
  },
  # Sixty people in a hundred never have costs. The other people have log-normal costs in some
  # months.
  costs = function(N, T0, T1) {
    cells <- N * (T0 + T1)
    rate <- (stats::runif(N) > 0.6) * stats::rbeta(N, 1.5, 2)
    mu <- stats::rnorm(N, 5, 0.7)
    rows <- matrix(stats::rbinom(cells, 1, rate) * exp(stats::rnorm(cells, mu, 0.9)), N)
    list(
      rows = rows, signal = constant(rate * capped_lognormal(mu, 0.9, 3000), T1),
      bounds = c(0, 3000)
    )
  },
  poisson = function(N, T0, T1) {
    rate <- stats::rgamma(N, 2, 0.5)
    rows <- matrix(stats::rpois(N * (T0 + T1), rate), N)
    list(rows = rows, signal = constant(rate, T1), bounds = c(0, 20))
  },
  # Answers from 1 to 5. Four people in ten always give the same answer.
  answers = function(N, T0, T1) {
    level <- stats::rnorm(N, 3, 1.1)
    flat <- stats::runif(N) < 0.4
    rows <- clip(round(level + noise(N, T0 + T1, ifelse(flat, 0, 0.8))), c(1, 5))
    list(
      rows = rows,
      signal = constant(ifelse(flat, rows[, 1L], mean_answer(level, 0.8)), T1), bounds = c(1, 5)
    )
  },
  heavy = function(N, T0, T1) {
    level <- stats::rnorm(N, 0, 2)
    rows <- level + matrix(stats::rt(N * (T0 + T1), 3), N)
    list(rows = rows, signal = constant(level, T1), bounds = c(-15, 15))
  },
  # Three types of people with different paths, and hardly any differences within a type.
  types = function(N, T0, T1) {
    paths <- c(-0.4, 0.1, 0.5) + ar1(3, T0 + T1, 0.8, 0.15)
    signal <- paths[sample.int(3L, N, replace = TRUE, prob = c(0.6, 0.3, 0.1)), , drop = FALSE]
    list(
      rows = signal + noise(N, T0 + T1, 0.03), signal = clip(after(signal, T0), c(-1, 1)),
      bounds = c(-1, 1)
    )
  },
  wide = function(N, T0, T1) utils::modifyList(design_factor(N, T0, T1), list(bounds = c(-5, 5)))
)

# Real people: all rows, and the numbers of periods T0 and T1 that the bench uses.
long_to_rows <- function(data, unit, time, value, periods) {
  wide <- tapply(data[[value]], list(as.character(data[[unit]]), data[[time]]), mean)
  wide <- wide[, as.character(periods), drop = FALSE]
  unname(wide[stats::complete.cases(wide), , drop = FALSE])
}

plm_data <- function(name) {
  place <- new.env()
  utils::data(list = name, package = "plm", envir = place)
  get(name, place)
}

shared_file <- function(name) {
  place <- Sys.getenv("DPSC_SHARED", file.path("..", "shared"))
  file.path(place, "data", name)
}

real_panels <- list(
  clinic = function() {
    data <- dpsc::clinic_panel
    data <- data[data$patient != "programme", ]
    list(
      rows = long_to_rows(data, "patient", "month", "pressure", sort(unique(data$month))),
      T0 = 18, T1 = 6, bounds = c(80, 200)
    )
  },
  wages = function() {
    data <- plm_data("Wages")
    data$person <- rep(seq_len(nrow(data) / 7), each = 7)
    data$year <- rep(1:7, nrow(data) / 7)
    list(
      rows = long_to_rows(data, "person", "year", "lwage", 1:7), T0 = 5, T1 = 2, bounds = c(4, 9)
    )
  },
  males = function() {
    data <- plm_data("Males")
    data$union <- as.numeric(data$union == "yes")
    list(
      rows = long_to_rows(data, "nr", "year", "union", 1980:1987), T0 = 5, T1 = 3, bounds = c(0, 1)
    )
  },
  # Log employment of the firms observed in every year from 1977 to 1982.
  firms = function() {
    data <- plm_data("EmplUK")
    data$log_emp <- log(data$emp)
    list(
      rows = long_to_rows(data, "firm", "year", "log_emp", 1977:1982), T0 = 4, T1 = 2,
      bounds = c(-3, 6)
    )
  },
  smoking = function() {
    data <- utils::read.csv(shared_file("smoking.csv"))
    data <- data[data$state != "California", ]
    list(
      rows = long_to_rows(data, "state", "year", "cigsale", 1970:2000), T0 = 19, T1 = 12,
      bounds = c(0, 400)
    )
  }
)

# Kinds of targets: persons ("person"); means of k persons ("mean20"); persons chosen from batches
# of 200 because their past is the most extreme or the flattest ("edge", "flat"); means of the k
# persons with the lowest level of 200, who are not a random sample of the donors ("low20"); means
# of 30 people from the upper third, or the upper two thirds, by the mean of their past ("third30",
# "twothirds30").
people_per_target <- function(kind) {
  if (kind == "person") return(1L)
  if (grepl("^mean", kind)) return(group_size(kind))
  if (upper_share(kind) == 0) return(200L)
  max(90L, as.integer(ceiling(group_size(kind) / upper_share(kind))))
}

# The share of people from whom targets are drawn, by the mean of their past.
upper_share <- function(kind) {
  if (grepl("^third", kind)) 1 / 3 else if (grepl("^twothirds", kind)) 2 / 3 else 0
}

group_size <- function(kind) as.integer(sub("[a-z]+", "", kind))

choose_targets <- function(people, kind, T0) {
  each <- people_per_target(kind)
  batch <- (seq_len(nrow(people$rows)) - 1L) %/% each
  pre <- people$rows[, seq_len(T0), drop = FALSE]
  if (kind %in% c("edge", "flat")) {
    level <- rowMeans(pre)
    score <- if (kind == "edge") abs(level - mean(level)) else -rowSums((pre - level)^2)
    keep <- vapply(split(seq_along(batch), batch), function(i) i[[which.max(score[i])]], 0L)
    return(list(
      rows = people$rows[keep, , drop = FALSE], size = 1L,
      signal = if (!is.null(people$signal)) people$signal[keep, , drop = FALSE]
    ))
  }
  keep <- seq_along(batch)
  if (grepl("^low", kind)) {
    each <- group_size(kind)
    keep <- unlist(lapply(split(keep, batch), function(i) {
      i[order(rowMeans(pre[i, , drop = FALSE]))[seq_len(each)]]
    }))
  }
  if (upper_share(kind) > 0) {
    size <- group_size(kind)
    keep <- unlist(lapply(split(keep, batch), function(i) {
      # Ties of whole numbers are broken at random, and targets within the upper share are drawn at
      # random.
      upper <- i[order(-rowMeans(pre[i, , drop = FALSE]), stats::runif(each))]
      upper <- upper[seq_len(round(upper_share(kind) * each))]
      upper[sample.int(length(upper), size)]
    }))
    each <- size
  }
  mean_of <- function(x) {
    if (!is.null(x)) unname(rowsum(x[keep, , drop = FALSE], batch[keep])) / each
  }
  list(rows = mean_of(people$rows), signal = mean_of(people$signal), size = each)
}

#' Donors and targets without effect
#'
#' @param design (`string` or `function`)\cr a name of `designs` or `real_panels`, or a design.
#' @param targets (`count`)\cr number of targets; the release is made for the first.
#' @return A list: `donors` (n x T), `targets` (k x T), `signal` (k x T1 or NULL), `size` (people
#'   in a target), `bounds`, `T0`, `T1`.
draw_panel <- function(design, n, T0, T1, targets = 200L, kind = "person", seed = NULL) {
  if (!is.null(seed)) set.seed(seed)
  extra <- targets * people_per_target(kind)
  if (is.character(design) && design %in% names(real_panels)) {
    people <- real_panels[[design]]()
    T0 <- people$T0
    T1 <- people$T1
    people$rows <- people$rows[sample.int(nrow(people$rows)), , drop = FALSE]
    n <- nrow(people$rows) - extra
  } else {
    if (is.character(design)) design <- designs[[design]]
    people <- design(n + extra, T0, T1)
  }
  rows <- clip(people$rows, people$bounds)
  outside <- n + seq_len(extra)
  chosen <- choose_targets(list(
    rows = rows[outside, , drop = FALSE],
    signal = if (!is.null(people$signal)) people$signal[outside, , drop = FALSE]
  ), kind, T0)
  list(
    donors = rows[seq_len(n), , drop = FALSE], targets = chosen$rows, signal = chosen$signal,
    size = chosen$size, bounds = people$bounds, T0 = T0, T1 = T1
  )
}
