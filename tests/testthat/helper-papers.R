# Simulated people and exact distributions for the methods from papers.

paper_people <- function(n = 300, seed = 3) {
  withr::local_seed(seed)
  data <- data.frame(a = stats::runif(n, -1, 1), g = sample(c("u", "v"), n, TRUE))
  data$y <- pmax(-3, pmin(3, 0.5 + data$a - 0.4 * (data$g == "v") + stats::rnorm(n, 0, 0.5)))
  data$z <- stats::runif(n) < stats::plogis(0.5 + 1.5 * data$a)
  data
}

paper_bounds <- function() {
  list(y = c(-3, 3), z = c(FALSE, TRUE), a = c(-1, 1), g = c("u", "v"))
}

paper_design <- function(formula = z ~ a, outcome = binary_outcome) {
  lm_design(lm_columns(formula, paper_bounds(), outcome))
}

core_facts <- function(method, calibration = "tight", epsilon = 1, delta = 0, n = 10, ridge = 0,
                       stages = 2, iterations = 20, target = 1, formula = z ~ a,
                       family = "binomial", span = 1, box = 0) {
  list(
    n = n, epsilon = epsilon, delta = delta, design = paper_design(formula), method = method,
    calibration = calibration, ridge = ridge, condition = 4, target = target, stages = stages,
    iterations = iterations, family = family, span = span, box = box
  )
}

# The log-density at theta of the minimiser of sum l + ridge/2 theta^2 + b theta, in one dimension,
# where b has log-density `log_noise`. `rows` is a matrix with columns x, y.
minimiser_density <- function(theta, rows, ridge, log_noise, offset = 0) {
  slope <- ridge * theta + offset
  curvature <- rep(ridge, length(theta))
  for (i in seq_len(nrow(rows))) {
    p <- stats::plogis(rows[i, 1L] * theta)
    slope <- slope + (p - rows[i, 2L]) * rows[i, 1L]
    curvature <- curvature + p * (1 - p) * rows[i, 1L]^2
  }
  log_noise(-slope) + log(curvature)
}

# The largest log-ratio over base rows and replaced rows, in one dimension. With `absent` a row is
# removed instead.
worst_replaced <- function(ridge, scale, absent = FALSE) {
  theta <- c(-rev(10^seq(-3, 2.5, 0.05)), 0, 10^seq(-3, 2.5, 0.05))
  laplace <- function(b) -abs(b) / scale
  all <- as.matrix(expand.grid(x = c(-1, -0.5, 0.5, 1), y = 0:1))
  # Thousands of people with x near zero have slopes that add up to any offset, without curvature.
  bases <- expand.grid(
    rows = c("none", "one", "two", "many"), offset = c(-50, -2, 0, 2, 50), stringsAsFactors = FALSE
  )
  worst <- 0
  for (i in seq_len(nrow(bases))) {
    base <- switch(bases$rows[[i]],
      none = NULL, one = all[4, , drop = FALSE], two = all[c(1, 8), ],
      many = all[rep(c(4, 5), 20), ]
    )
    law <- function(row) {
      minimiser_density(theta, rbind(base, row), ridge, laplace, bases$offset[[i]])
    }
    density <- apply(all, 1L, law)
    if (absent) {
      none <- law(c(0, 1))
      worst <- max(worst, abs(density - none))
    } else {
      worst <- max(worst, apply(density, 1L, function(v) diff(range(v))))
    }
  }
  worst
}

# The delta at epsilon between two distributions on a grid of masses.
hockey_stick <- function(p, q, epsilon) sum(pmax(p - exp(epsilon) * q, 0))

# Audits ------------------------------------------------------------------------------------------

# Objective perturbation in two dimensions with rows (x1, x2, y). `length` draws |b|.
perturbed <- function(plan, law = c("spherical", "gaussian", "printed")) {
  law <- match.arg(law)
  log_noise <- function(size) {
    switch(law,
      spherical = -size / plan$scale, gaussian = -size^2 / (2 * plan$scale^2),
      printed = -size / plan$scale - log(size)
    )
  }
  list(
    run = function(rows) {
      u <- stats::rnorm(2)
      size <- switch(law,
        spherical = stats::rgamma(1, 2, scale = plan$scale), gaussian = plan$scale * sqrt(sum(u^2)),
        printed = stats::rexp(1, 1 / plan$scale)
      )
      ridge_logistic_cpp(rows[, 1:2, drop = FALSE], rows[, 3], rep(plan$ridge, 2),
        u / sqrt(sum(u^2)) * size, 1e-10)
    },
    log_density = function(theta, rows) {
      p <- stats::plogis(drop(rows[, 1:2, drop = FALSE] %*% theta))
      g <- colSums((p - rows[, 3]) * rows[, 1:2, drop = FALSE]) + plan$ridge * theta
      H <- crossprod(rows[, 1:2], p * (1 - p) * rows[, 1:2]) + diag(plan$ridge, 2)
      log_noise(sqrt(sum(g^2))) + log(det(H))
    }
  )
}

paper_pair <- function() {
  list(
    data = rbind(c(0.6, 0.8, 1), c(1, 0, 0), c(0, 1, 1)),
    neighbour = rbind(c(0.6, 0.8, 0), c(1, 0, 0), c(0, 1, 1))
  )
}

audit_of_loss <- function(m, pair, delta, runs) {
  dp_audit(m$run, pair$data, pair$neighbour, epsilon = 1, delta = delta, n_runs = runs,
    mode = "loss", log_density = m$log_density)
}

# The minimiser plus noise, as a mechanism.
perturbed_output <- function(plan) {
  centre <- function(rows) {
    ridge_logistic_cpp(rows[, 1:2, drop = FALSE], rows[, 3], rep(plan$ridge, 2), c(0, 0), 1e-10)
  }
  list(
    run = function(rows) {
      u <- stats::rnorm(2)
      centre(rows) + u / sqrt(sum(u^2)) * stats::rgamma(1, 2, scale = plan$output)
    },
    log_density = function(theta, rows) -sqrt(sum((theta - centre(rows))^2)) / plan$output
  )
}

# One draw of a posterior in two dimensions.
posterior <- function(ridge, gamma) {
  law <- function(rows) {
    H <- crossprod(rows[, 1:2]) + diag(ridge, 2)
    list(H = H, mean = drop(solve(H, crossprod(rows[, 1:2], rows[, 3]))))
  }
  list(
    run = function(rows) {
      at <- law(rows)
      at$mean + backsolve(chol(at$H), stats::rnorm(2)) / sqrt(gamma)
    },
    log_density = function(theta, rows) {
      at <- law(rows)
      log(det(at$H)) / 2 - gamma / 2 * sum((theta - at$mean) * (at$H %*% (theta - at$mean)))
    }
  )
}

# NAPP-VS adds noise to |theta|.
selected_sign <- function(rows) {
  b <- stats::rexp(1, 1 / 2)
  f <- function(t) {
    sum(log1p(exp(rows[, 1] * t)) - rows[, 2] * rows[, 1] * t) + t^2 / 4 + b * abs(t)
  }
  stats::optimise(f, c(-20, 20), tol = 1e-10)$minimum
}

# Whether NAPP-ERM's slope lies between zero and the kink of its penalty. Without the person's row
# this interval has probability zero.
napp_between <- function(calibration) {
  facts <- core_facts("napp", calibration, n = 5, iterations = 800, target = 0.25)
  function(rows) {
    slope <- abs(paper_release_cpp(rows, facts, "R")$scaled[[1L]][[2L]])
    as.double(slope > 0.03 && slope < 0.99 / sqrt(2))
  }
}

napp_pair <- function() {
  data <- data.frame(z = c(NA, NA, TRUE, FALSE, TRUE), a = c(1, 1, 0, 0, 0), g = "u")
  other <- data
  other$z[1] <- TRUE
  columns <- lm_columns(z ~ a, paper_bounds(), binary_outcome)
  list(data = lm_table(columns, data, TRUE), neighbour = lm_table(columns, other, TRUE))
}

# A mean of the answers of ten blocks of one person, clipped or unclipped, with the noise of the
# dissertation.
mean_of_blocks <- function(clip) {
  function(rows) {
    answers <- if (clip) pmin(pmax(rows[, 1], 0), 1) else rows[, 1]
    mean(answers) + stats::rexp(1, 10) - stats::rexp(1, 10)
  }
}

# One entry per audit: its name, whether the mechanism is wrong, and the audit as a function.
paper_audits <- function(runs) {
  pair <- paper_pair()
  out <- list()
  add <- function(name, wrong, audit) {
    out[[length(out) + 1L]] <<- list(name = name, wrong = wrong, audit = audit)
  }
  for (method in c("objective-public", "kst", "cms", "napp")) {
    core <- if (method == "objective-public") "objective" else method
    local({
      plan <- paper_plan_cpp(core_facts(core, stages = 1))
      add(method, FALSE, function() audit_of_loss(perturbed(plan), pair, 0, runs))
    })
  }
  for (calibration in c("tight", "published")) {
    local({
      gaussian <- paper_plan_cpp(core_facts("kst", calibration, delta = 0.01))
      add(paste("kst", calibration, "Gaussian"), FALSE, function() {
        audit_of_loss(perturbed(gaussian, "gaussian"), pair, 0.01, runs)
      })
      output <- paper_plan_cpp(core_facts("output", calibration, ridge = 2))
      add(paste("output", calibration), FALSE, function() {
        audit_of_loss(perturbed_output(output), pair, 0, runs)
      })
    })
  }
  ops <- paper_plan_cpp(core_facts("ops", delta = 0.01, n = 3))
  rows <- function(x) cbind(x[, 1:2], 2 * x[, 3] - 1)
  linear <- lapply(pair, rows)
  add("ops", FALSE, function() {
    audit_of_loss(posterior(ops$ridge, ops$gamma), linear, 0.01, runs)
  })
  add("ops, gamma times 100", TRUE, function() {
    audit_of_loss(posterior(ops$ridge, 100 * ops$gamma), linear, 0.01, runs)
  })
  adaops <- core_facts("adaops", delta = 0.01, n = 5)
  adaops$design <- lm_design(lm_columns(y ~ a, paper_bounds()))
  add("adaops", FALSE, function() {
    table <- cbind(c(1, 0, -1, 0.5, 0.2), c(3, 0, 1, -1, 0))
    other <- table
    other[1, ] <- c(-1, -3)
    dp_audit(function(rows) as.double(paper_release_cpp(rows, adaops, "R")$theta), table, other,
      epsilon = 1, delta = 0.01, n_runs = runs)
  })
  blocks <- list(
    blocks = 10, names = "a", epsilon = 1, delta = 0, mean = FALSE, percents = c(50L, 25L, 75L)
  )
  answers <- list(data = matrix((1:10) / 20), neighbour = matrix(c((1:9) / 20, 1)))
  add("aggregate, median", FALSE, function() {
    dp_audit(function(rows) as.double(aggregate_release_cpp(rows, blocks, "R")), answers$data,
      answers$neighbour, epsilon = 1, n_runs = max(20, runs %/% 4))
  })
  for (clip in c(TRUE, FALSE)) {
    local({
      clipped <- clip
      add(if (clipped) "aggregate, mean" else "aggregate, mean without clipping", !clipped,
        function() {
          dp_audit(mean_of_blocks(clipped), matrix(0.5, 10), matrix(c(rep(0.5, 9), 50)),
            epsilon = 1, n_runs = runs)
        })
    })
  }
  # Mechanisms known to be wrong.
  plan <- paper_plan_cpp(core_facts("objective"))
  add("objective, shape of the length", TRUE, function() {
    audit_of_loss(perturbed(plan, "printed"), pair, 0, runs)
  })
  short <- list(ridge = plan$ridge, scale = plan$scale / 3)
  add("objective, a third of the noise", TRUE, function() {
    audit_of_loss(perturbed(short), pair, 0, runs)
  })
  low <- list(ridge = plan$ridge / 100, scale = plan$scale)
  add("objective, a hundredth of the ridge", TRUE, function() {
    audit_of_loss(perturbed(low), list(
      data = rbind(c(1, 0, 1), 0), neighbour = rbind(c(0, 0, 1), 0)
    ), 0, runs)
  })
  add("NAPP-VS", TRUE, function() {
    dp_audit(selected_sign, rbind(c(0.5, 0), c(0, 0)), rbind(c(0.5, 0), c(1, 1)), epsilon = 1,
      n_runs = runs)
  })
  napp <- napp_pair()
  for (calibration in c("tight", "published")) {
    local({
      own <- calibration
      add(paste("napp", own), own == "published", function() {
        dp_audit(napp_between(own), napp$data, napp$neighbour, epsilon = 1, n_runs = 5 * runs)
      })
    })
  }
  out
}
