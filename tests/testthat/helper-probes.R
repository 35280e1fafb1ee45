# Probes of compiled code, for tests only. They are called by name, with their arguments in order.
probe <- function(name, ...) dpsc:::probe_cpp(name, list(...))

log_normal_cdf_cpp <- function(x) probe("log_normal_cdf", x)
gaussian_step_variance_cpp <- function(bound, mu) probe("gaussian_step_variance", bound, mu)
gaussian_vector_variance_cpp <- function(sensitivity, mu) {
  probe("gaussian_vector_variance", sensitivity, mu)
}
gaussian_vector_mu_cpp <- function(sensitivity, variance) {
  probe("gaussian_vector_mu", sensitivity, variance)
}
laplace_outer_sensitivity_cpp <- function(bound, m) probe("laplace_outer_sensitivity", bound, m)
quantile_losses_cpp <- function(counts, percent) probe("quantile_losses", counts, percent)
glm_known_term_cpp <- function(rows, facts, linear, noise) {
  probe("glm_known_term", rows, facts, linear, noise)
}
spherical_delta_cpp <- function(epsilon, length, d) probe("spherical_delta", epsilon, length, d)
objective_log_moment_cpp <- function(slopes, t, reach, c, d) {
  probe("objective_log_moment", slopes, t, reach, c, d)
}
calibrate_objective_cpp <- function(slopes, epsilon, delta, rho, c, d) {
  probe("calibrate_objective", slopes, epsilon, delta, rho, c, d)
}
growing_frame_cpp <- function(base, periods) probe("growing_frame", base, periods)
lm_closed_cpp <- function(design) probe("lm_closed", design)
lm_score_rows_cpp <- function(row, facts) probe("lm_score_rows", row, facts)
joint_choice_cpp <- function(losses, exponent, draws, rng, parts = 0L) {
  probe("joint_choice", losses, exponent, draws, rng, parts)
}
place_losses_cpp <- function(counts, thousandths) probe("place_losses", counts, thousandths)
round_points_cpp <- function(lower, upper, fine, drop) {
  probe("round_points", lower, upper, fine, drop)
}
median_losses_cpp <- function(counts, missing) probe("median_losses", counts, missing)
radius_losses_cpp <- function(donors, scale, loadings, origin, radii, bits) {
  probe("radius_losses", donors, scale, loadings, origin, radii, bits)
}
private_choice_cpp <- function(losses, units, log_prior, shift, rng) {
  probe("private_choice", losses, units, log_prior, shift, rng)
}
discrete_gaussian_cpp <- function(variance, rng) probe("discrete_gaussian", variance, rng)
discrete_laplace_cpp <- function(scale, rng) probe("discrete_laplace", scale, rng)
discrete_gaussian_ratio_cpp <- function(n, numerator, denominator, rng) {
  probe("discrete_gaussian_ratio", n, numerator, denominator, rng)
}
gaussian_noise_cpp <- function(dimension, sigma, rng) probe("gaussian_noise", dimension, sigma, rng)
gamma_norm_noise_cpp <- function(dimension, scale, rng) {
  probe("gamma_norm_noise", dimension, scale, rng)
}
posterior_bound_cpp <- function(leverage, gamma, error, delta) {
  probe("posterior_bound", leverage, gamma, error, delta)
}
box_ridge_cpp <- function(A, v, limit, tolerance) probe("box_ridge", A, v, limit, tolerance)
joint_shift_cpp <- function(epsilon, curvature, replace) {
  probe("joint_shift", epsilon, curvature, replace)
}
select_distance_cpp <- function(table, method, facts, rng) {
  probe("select_distance", table, method, facts, rng)
}
select_passes_cpp <- function(distance, sensitivity, epsilon, delta, rng) {
  probe("select_passes", distance, sensitivity, epsilon, delta, rng)
}
select_choose_cpp <- function(loss, exponent, unit, rng) {
  probe("select_choose", loss, exponent, unit, rng)
}
iterates_clean_cpp <- function(facts, table) probe("iterates_clean", facts, table)
stream_replay_cpp <- function(plan, learner, table, other, rng) {
  probe("stream_replay", plan, learner, table, other, rng)
}
stream_shown_nodes_cpp <- function(path) probe("stream_shown_nodes", path)
stream_exposed_cpp <- function(pointer, row, rng) probe("stream_exposed", pointer, row, rng)
stream_path_cpp <- function(plan, learner, table, rng) {
  probe("stream_path", plan, learner, table, rng)
}
whole_sigma_gaussian_cpp <- function(n, sigma, rng) probe("whole_sigma_gaussian", n, sigma, rng)
ridge_weights_cpp <- function(X, y, lambda) probe("ridge_weights", X, y, lambda)
capped_l1_qp_cpp <- function(X, linear, mu, cap, tolerance) {
  probe("capped_l1_qp", X, linear, mu, cap, tolerance)
}
project_capped_l1_cpp <- function(point, cap) probe("project_capped_l1", point, cap)

# Changes by one donor, and the steps of the plans of weights.
post_sensitivity <- function(T1, bound = 1) dpsc:::post_sensitivity_cpp(T1, bound)
curvature_bound <- function(n, T0, faces, bound = 1) {
  dpsc:::curvature_bound_cpp(n, T0, faces, bound)
}
published_ridge_sensitivity <- function(n, T0, lambda) {
  dpsc:::published_ridge_sensitivity_cpp(n, T0, lambda)
}
published_curvature <- function(n, T0) probe("published_curvature", n, T0)
gradient_sensitivity <- function(n, T0, cap, y = rep(1, T0), half = rep(1, T0)) {
  probe("gradient_sensitivity", n, cap, y, half)
}
ridge_backward_error <- function(n, T0, lambda) probe("ridge_backward_error", n, T0, lambda)
ridge_rounding <- function(n, T0, lambda, y_norm) probe("ridge_rounding", n, T0, lambda, y_norm)
gaussian_objective_scale <- function(sensitivity, epsilon0, delta) {
  probe("gaussian_objective_scale", sensitivity, epsilon0, delta)
}
# The repaired step 1 at a given curvature, from public facts in the form of R.
bounded_step <- function(public, epsilon, mu, cover = 0) {
  probe("bounded_step", dpsc:::weights_facts(public), epsilon, cover, mu)
}
# `levels` contains one row per round: clipping bound, level, standard deviation, and whether the
# round is used.
extrapolate_level <- function(levels, deviation, range) {
  probe("extrapolate_level", levels, deviation, range)
}
parted_information <- function(noisy, sd, least, weak) {
  probe("parted_information", noisy, sd, least, weak)
}
