# Proposition 99 with all 38 placebos: simplex weights on the 19 outcomes before 1989, by every
# installed package. Run from the package's top folder: Rscript bench/peers.R. Needs tidysynth, also
# for the data; Synth is included if installed. Writes bench/results/peers.csv.
library(dpsc)
stopifnot(requireNamespace("tidysynth", quietly = TRUE))
suppressMessages(library(tidysynth))

smoking <- as.data.frame(tidysynth::smoking)
smoking$treated <- as.integer(smoking$state == "California" & smoking$year >= 1989)
before <- 1970:1988

timed <- function(expr, times = 1) {
  body <- substitute(expr)
  frame <- parent.frame()
  clock <- system.time(for (i in seq_len(times)) value <- eval(body, frame))
  list(
    value = value, cpu = sum(clock[c("user.self", "sys.self")]) / times,
    elapsed = clock[["elapsed"]] / times
  )
}

ours <- timed({
  fit <- dp_synth(cigsale ~ treated, smoking, c("state", "year"),
    epsilon = Inf, estimator = "simplex"
  )
  list(effect = mean(effects(fit)), p = placebo_space(fit)$p_value)
}, times = 50)

by_tidysynth <- function() {
  control <- synthetic_control(smoking,
    outcome = cigsale, unit = state, time = year, i_unit = "California", i_time = 1988,
    generate_placebos = TRUE
  )
  for (year in before) {
    control <- eval(bquote(generate_predictor(control,
      time_window = .(year), .(as.name(paste0("lag_", year))) := cigsale
    )))
  }
  control <- generate_weights(control,
    optimization_window = before, custom_variable_weights = rep(1, length(before)),
    # The settings of the package's README; with the default settings the solver stops for some
    # placebos.
    margin_ipop = 0.02, sigf_ipop = 7, bound_ipop = 6
  )
  control <- generate_control(control)
  paths <- grab_synthetic_control(control)
  after <- paths$time_unit > 1988
  ranks <- grab_significance(control)
  list(
    effect = mean(paths$real_y[after] - paths$synth_y[after]),
    p = ranks$fishers_exact_pvalue[ranks$unit_name == "California"]
  )
}

by_synth <- function() {
  failed <- 0L
  smoking$id <- as.integer(factor(smoking$state))
  ids <- unique(smoking$id)
  effects <- vapply(ids, function(i) {
    prepared <- Synth::dataprep(smoking,
      special.predictors = lapply(before, function(year) list("cigsale", year, "mean")),
      dependent = "cigsale", unit.variable = "id", time.variable = "year",
      treatment.identifier = i, controls.identifier = setdiff(ids, i),
      time.predictors.prior = before, time.optimize.ssr = before, time.plot = 1970:2000
    )
    # For some states the package's solver stops with a singular system. These states count as
    # states without an effect.
    fit <- NULL
    utils::capture.output(try(suppressMessages(
      fit <- Synth::synth(prepared,
        custom.v = rep(1, length(before)), Margin.ipop = 0.02, Sigf.ipop = 7,
        Bound.ipop = 6
      )
    ), silent = TRUE))
    if (is.null(fit)) {
      failed <<- failed + 1L
      return(0i)
    }
    gap <- prepared$Y1plot - prepared$Y0plot %*% fit$solution.w
    sqrt(mean(gap[20:31]^2) / mean(gap[1:19]^2)) + 1i * mean(gap[20:31])
  }, 0i)
  california <- ids == smoking$id[smoking$state == "California"][[1L]]
  list(
    effect = Im(effects[california]), p = mean(Re(effects) >= Re(effects[california])),
    failed = failed
  )
}

row <- function(package, run) {
  data.frame(
    package = package, version = as.character(utils::packageVersion(sub(" .*", "", package))),
    cpu_seconds = signif(run$cpu, 3), elapsed_seconds = signif(run$elapsed, 3),
    ratio = signif(run$cpu / ours$cpu, 3), effect = round(run$value$effect, 2),
    p = signif(run$value$p, 3), failed_placebos = c(run$value$failed, 0L)[[1L]]
  )
}

table <- row("dpsc", ours)
for (peer in list(tidysynth = by_tidysynth, Synth = by_synth)[
  c(TRUE, requireNamespace("Synth", quietly = TRUE))
]) {
  name <- c("tidysynth", "Synth")[[nrow(table)]]
  table <- rbind(table, row(name, timed(peer())))
  print(table)
  utils::write.csv(table, "bench/results/peers.csv", row.names = FALSE)
}
