# Every function of compiled code, by its arguments and its results. In a private fit, sums over
# people without noise do not become R objects: functions that return such sums are declared here,
# with their permitted callers.

# These functions receive no people's data, only public or released numbers, or panels that the core
# simulates.
public <- c(
  "cdp_epsilon_cpp", "cdp_rho_cpp", "cohort_errors_cpp", "cohort_plan_cpp", "cohort_view_cpp",
  "deleted_count_ends_cpp", "exponential_exponent_cpp", "exponential_step_mu_cpp",
  "far_people_cpp", "hidden_shift_cpp",
  "fit_moments_cpp", "gaussian_mu_cpp", "gaussian_step_mu_cpp",
  "gdp_budget_cpp", "gdp_compose_cpp", "gdp_epsilon_cpp", "gram_estimate_cpp", "gram_plan_cpp",
  "limited_translation_cpp",
  "iterates_open_cpp", "iterates_plan_cpp", "laplace_gram_sensitivity_cpp", "log_cdp_delta_cpp",
  "log_gaussian_delta_cpp", "select_cells_cpp", "select_moments_cpp", "simulate_gram_cpp",
  "simulate_people_cpp", "state_id_cpp", "stream_here_cpp", "stream_moments_cpp",
  "stream_open_cpp", "stream_peek_cpp", "stream_slopes_cpp",
  "stream_plan_cpp", "stream_released_cpp", "lm_plan_cpp",
  "lm_estimate_cpp", "noise_close_cpp", "noise_open_cpp", "noise_recorder_cpp",
  "noise_replay_cpp", "people_map_cpp", "product_map_cpp", "row_map_cpp", "lm_anderson_cpp",
  "lm_discrepancy_cpp", "lm_moments_cpp", "penalised_path_cpp", "predict_columns_cpp",
  "glm_estimate_cpp", "glm_loss_cpp", "glm_plan_cpp", "growing_estimate_cpp", "growing_plan_cpp",
  "spherical_log_moment_cpp", "treated_frame_cpp", "treated_plan_cpp",
  "aggregate_order_cpp", "aggregate_plan_cpp",
  "even_loss_cpp", "joint_loss_cpp", "paper_plan_cpp", "csv_header_cpp", "curvature_bound_cpp",
  "describe_numbers_cpp", "describe_plan_cpp",
  "nearest_within_cpp", "plan_algorithm3_cpp", "plan_objective_cpp", "plan_output_cpp",
  "post_sensitivity_cpp", "published_ridge_sensitivity_cpp", "ridge_sensitivity_cpp",
  "unseen_share_cpp", "unseen_variance_cpp"
)

# These functions receive people's data and add noise to their results. Their results are searched
# for canaries here, in test-canary.R, test-select.R and test-stream-online.R.
released <- c(
  "aggregate_release_cpp", "paper_release_cpp",
  "cohort_release_cpp", "describe_release_cpp", "glm_release_cpp", "gram_release_cpp",
  "growing_release_cpp",
  "lm_release_cpp", "select_locate_cpp", "select_pick_cpp", "select_ranks_cpp",
  "select_stable_cpp", "stream_advance_cpp", "stream_load_cpp", "stream_save_cpp",
  "treated_control_cpp", "treated_look_cpp", "treated_release_cpp", "weights_release_cpp"
)

# These functions receive people's data and return one answer without noise that is never shown:
# whether the table is finite, and whether it is unchanged.
checks <- c("all_finite_cpp", "checksum_cpp")

# These functions receive people's data and return values WITHOUT NOISE: PRIVATE or NOT PRIVATE.
# Each function has a list of permitted callers.
unprotected <- list(
  # Audits, on simulated panels only, read the record of the noise that was passed in.
  noise_calls_cpp = c("new_recorder", "record_and_replay"),
  # The curator alone sees the losses of single people.
  glm_rows_cpp = "objective_glm", lm_rows_cpp = "lm_row_losses",
  gram_contributions_cpp = "gram_contributions", paper_loss_rows_cpp = "paper_losses",
  paper_rows_cpp = "pdp.dp_paper",
  posterior_loss_cpp = "posterior_losses", ridge_logistic_cpp = "output_row_losses",
  # The grid of a round is computed without rows.
  row_integers_cpp = "round_noise",
  # The proof of an engine uses simulated rows. A worker uses people's rows for its coordinator.
  row_sums_cpp = c("core_sums", "worker_ask"), people_sums_cpp = c("core_people", "worker_ask"),
  # The cells of a file while they are copied into an engine on this machine.
  csv_cells_cpp = "copy_csv",
  # A block's answer returns to the R code that computes the answers of all blocks.
  apart_cpp = "quiet_answer",
  # All probes of tests are listed below.
  probe_cpp = NULL,
  # These functions serve fits without privacy, epsilon = Inf.
  lm_raw_cpp = "lm_record", paper_raw_cpp = "posterior_record", lm_raw_estimate_cpp = "estimate_lm",
  augmented_fit_cpp = "fit_augmented", augmented_path_cpp = "complete_augmented",
  elastic_fit_cpp = "fit_elastic",
  difference_deviation_cpp = "complete_sdid", sdid_fit_cpp = "fit_sdid",
  covariates_out_cpp = "take_covariates_out", covariates_redundant_cpp = "check_told_apart",
  factor_fit_cpp = "fit_factor", factor_path_cpp = "complete_factor",
  mcnnm_fit_cpp = "fit_mcnnm", mcnnm_path_cpp = "complete_mcnnm",
  deleted_counts_cpp = "raw_calibration", deleted_errors_cpp = "raw_account",
  deleted_limits_cpp = "raw_account", deleted_target_cpp = "raw_account",
  nested_fit_cpp = "fit_predictors", nested_placebos_cpp = "placebo_predictors",
  raw_statistics_cpp = "raw_statistics", raw_weighted_cpp = "raw_statistics",
  simplex_fit_cpp = "simplex_record",
  validate_penalties_cpp = "validated_penalties",
  simplex_leave_out_cpp = "simplex_record",
  simplex_placebos_cpp = "simplex_record",
  simplex_residuals_cpp = "simplex_record"
)

# Functions for tests only, called through probe_cpp(), which no code of the package calls:
# functions that do not use people's data, and functions that return answers without noise about
# rows simulated by tests.
public_probes <- c(
  "extrapolate_level", "parted_information",
  "bounded_step", "calibrate_objective", "discrete_gaussian", "discrete_gaussian_ratio",
  "discrete_laplace", "gamma_norm_noise", "gaussian_noise", "gaussian_objective_scale",
  "gaussian_step_variance", "gaussian_vector_mu", "gaussian_vector_variance",
  "gradient_sensitivity", "growing_frame", "joint_choice", "joint_shift", "box_ridge",
  "laplace_outer_sensitivity", "lm_closed", "log_normal_cdf", "median_losses",
  "objective_log_moment", "place_losses", "posterior_bound",
  "private_choice", "project_capped_l1", "published_curvature", "quantile_losses",
  "ridge_backward_error", "ridge_rounding", "round_points", "select_choose", "select_passes",
  "spherical_delta", "whole_sigma_gaussian"
)
unprotected_probes <- c(
  "capped_l1_qp", "glm_known_term", "iterates_clean", "lm_score_rows", "radius_losses",
  "ridge_weights", "select_distance", "stream_exposed", "stream_path", "stream_replay",
  "stream_shown_nodes"
)

callers <- function(name) {
  namespace <- asNamespace("dpsc")
  functions <- setdiff(ls(namespace, all.names = TRUE), name)
  calls <- function(f) {
    value <- get(f, namespace)
    is.function(value) && name %in% all.names(body(value))
  }
  sort(Filter(calls, functions))
}

test_that("every compiled function is declared once: as public, released, a check or unprotected", {
  declared <- c(public, released, checks, names(unprotected))
  expect_identical(declared[duplicated(declared)], character())
  expect_setequal(declared, compiled_exports())
})

test_that("every compiled function for tests is declared once and reached only through probe()", {
  declared <- c(public_probes, unprotected_probes)
  expect_identical(declared[duplicated(declared)], character())
  expect_setequal(declared, probe(""))
  expect_identical(intersect(paste0(declared, "_cpp"), compiled_exports()), character())
  expect_error(probe("nobody"), "no such probe")
  expect_error(probe("median_losses", 1), "another number of arguments")
})

test_that("compiled functions that receive rows of people are not declared public", {
  holds_people <- c(
    "X", "donors", "balanced", "table", "rows", "row", "other", "predictors", "outcomes"
  )
  given <- Filter(function(name) {
    any(holds_people %in% names(formals(get(name, asNamespace("dpsc")))))
  }, compiled_exports())
  expect_gt(length(given), 20)
  # The argument `rows` of this function is a number of rows.
  expect_identical(intersect(given, public), "fit_moments_cpp")
})

test_that("only declared callers call compiled functions that return values without noise", {
  for (name in names(unprotected)) {
    expect_identical(as.character(callers(name)), as.character(unprotected[[name]]), label = name)
  }
  # The search finds callers that exist.
  expect_identical(callers("gram_release_cpp"), "run_gram")
})

test_that("dp_select() and dp_stream_sum() pass no row or sum of rows from compiled code to R", {
  withr::local_seed(3)
  rows <- as.data.frame(matrix(stats::runif(300 * 4, -1, 1), 300))
  rows$y <- pmax(-1, pmin(1, 0.5 * rows[[1L]] + stats::rnorm(300, 0, 0.1)))
  bounds <- stats::setNames(rep(list(c(-1, 1)), 5L), names(rows))
  x <- as.matrix(rows)
  secrets <- c(x, colSums(x), colMeans(x), crossprod(x), crossprod(x) / 300, stats::cov(x))
  expect_match(canary_found(list(1, colSums(x)[[2L]]), secrets), "a number")
  for (method in c("pursuit", "gram", "votes", "stability")) {
    results <- crossings_of(function(scope) {
      scope[["dp_select.formula"]](y ~ .,
        data = rows, epsilon = 2, size = 2, bounds = bounds, method = method
      )
    })
    expect_gt(length(results), 0)
    expect_no_canary(results, secrets, method)
  }
  for (noise in c("tree", "toeplitz", "blt")) {
    results <- crossings_of(function(scope) {
      stream <- scope$dp_stream_sum(bounds[1:2], epsilon = 1, horizon = 400, noise = noise)
      scope[["update.dp_stream"]](stream, rows[1:2])
    })
    expect_gt(length(results), 1)
    expect_no_canary(results, c(secrets, apply(x[, 1:2], 2, cumsum)), noise)
  }
})

test_that("every compiled function that R code calls exists", {
  space <- asNamespace("dpsc")
  bodies <- lapply(mget(ls(space, all.names = TRUE), space), function(x) {
    if (is.function(x)) all.names(body(x))
  })
  called <- grep("_cpp$", unique(unlist(bodies)), value = TRUE)
  expect_gt(length(called), 50L)
  expect_identical(setdiff(called, ls(space)), character())
})
