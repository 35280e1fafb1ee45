// Bodies of weights_constants.hpp.
#pragma once

#include "weights_constants.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "../accountant/gaussian.hpp"
#include "../accountant/gdp.hpp"
#include "least.hpp"
#include "weights_sensitivity.hpp"

namespace dpsc {

namespace weights_detail {

/// Standard deviations stay below 2^27 grid units, so that 128-bit integers suffice for every exact
/// sampler.
constexpr double largest_sigma = 134217728.0;

/// The share of the weights' epsilon for the noise that covers the solver's error.
constexpr double cover_share = 1e-3;

inline double cover_epsilon(double epsilon) { return std::min(cover_share * epsilon, 1.0); }

/// `rounding` (grid units): contribution of rounding to the sensitivity.
inline noise_step gaussian_step(double sensitivity, double mu, double rounding = 0.0) {
  noise_step out;
  out.kind = law::discrete_gaussian;
  out.sensitivity = sensitivity;
  out.mu = mu;
  out.grid = std::floor(std::log2(largest_sigma * mu / sensitivity));
  const double reach = sensitivity * std::exp2(out.grid) + rounding;
  out.variance = gaussian_vector_variance(reach, mu);
  out.rho = reach * reach / (2.0 * out.variance);
  out.scale = std::sqrt(out.variance) / std::exp2(out.grid);
  return out;
}

inline noise_step gamma_step(double sensitivity, double epsilon) {
  noise_step out;
  out.sensitivity = sensitivity;
  out.scale = sensitivity / epsilon;
  out.epsilon = epsilon;
  return out;
}

inline double post_reach(const weights_facts& f) {
  const auto post = f.half.tail(static_cast<Eigen::Index>(f.T1));
  return post_sensitivity(f.T1, std::sqrt(post.array().square().mean()));
}

inline Eigen::VectorXd pre_half(const weights_facts& f) {
  return f.half.head(static_cast<Eigen::Index>(f.T0));
}

/// Share that minimises the expected squared privacy error of a prediction. With noise variances
/// a^2 on a weight and b^2 on an outcome it is n a^2 (m + b^2) + b^2 |f|^2, m the mean square of an
/// outcome. Public substitutes: m = 1/3 (uniform within the bounds), |f|^2 = 1/n (equal weights).
inline double best_share(const weights_facts& f, double weights, double post, double budget,
                         bool gaussian) {
  const auto variance = [&](double sensitivity, double part, double dimension) {
    const double ratio = sensitivity / part;
    return gaussian ? sensitivity * sensitivity / (2.0 * part) : (dimension + 1.0) * ratio * ratio;
  };
  const auto error = [&](double share) {
    const double a2 = variance(weights, share * budget, f.n);
    const double b2 = variance(post, (1.0 - share) * budget, f.n * f.T1);
    // Finite even if a tiny epsilon would cause overflow.
    return std::min(std::log(f.n * a2 * (1.0 / 3.0 + b2) + b2 / f.n), 1e4);
  };
  return least_between(error, 0.01, 0.99, 1e-4);
}

/// Constants of the repaired step 1 before its curvature is chosen.
struct bounded_facts {
  double epsilon = 0.0, delta = 0.0, sensitivity = 0.0, curvature = 0.0;
};

inline bounded_facts bounded(const weights_facts& f, double epsilon, double cover) {
  const Eigen::VectorXd half = pre_half(f);
  const double cap = objective_cap(f);
  // Covering noise multiplies the delta of the covered step by exp(cover / 2).
  return {epsilon, f.delta / 2.0 * std::exp(-cover / 2.0),
          gradient_sensitivity(f.n, cap, f.y, half),
          curvature_bound(f.n, f.T0, f.n * cap <= 1.0 ? faces::box : faces::l1,
                          std::sqrt(half.array().square().mean()))};
}

/// The solver's public target accuracy: 1e-9, or the rounding error of its certificate if larger.
/// The bounds on the linear term follow from the samplers: no normal deviate from 53 random bits
/// exceeds 10.
inline double solver_tolerance(const weights_facts& f, double mu, const noise_step& term) {
  const Eigen::VectorXd half = pre_half(f);
  const double shape = f.n - 1.0 / 3.0, root = 1.0 + 10.0 / (3.0 * std::sqrt(shape));
  const double largest = term.scale * (term.kind == law::gaussian ? 10.0 * std::sqrt(f.n)
                                                                  : shape * root * root * root);
  const double rows = f.n * half.squaredNorm();
  const double linear = 2.0 * std::sqrt(f.n) * half.dot(f.y.cwiseAbs()) + largest;
  const double products = 4.0 * (f.n + f.T0 + 8.0) * rows;
  const double rounding = std::numeric_limits<double>::epsilon() *
                          (products + (f.n + 8.0) * (mu + 2.1 * rows) + 2.0 * linear) / mu;
  return 1e-9 + 2.0 * rounding;
}

struct curvature_choice {
  double mu = 0.0, error = 0.0, spread = 0.0;  // spread: squared norm of the weights' noise
};

/// Expected squared error of a prediction at curvature mu, by public substitutes for private
/// values: outcomes uniform within the bounds (mean square m), donors with a common trend, whose
/// curvature is 2 n T0 m. Noise in the weights, n sd^2 / mu^2, cannot leave C, whose squared radius
/// is at most the cap. The prediction keeps the share 2 n T0 m / (2 n T0 m + mu) of its signal,
/// times the share that noise leaves before it fills C.
inline curvature_choice judge_curvature(const weights_facts& f, const bounded_facts& b, double m,
                                        double mu) {
  const double epsilon0 = b.epsilon - std::log1p(b.curvature / mu);
  const double ratio = b.sensitivity / epsilon0;
  const double variance =
      ratio * ratio * (f.delta > 0.0 ? epsilon0 - 2.0 * std::log(b.delta) : f.n + 1.0);
  const double noise = f.n * variance / (mu * mu), cap = objective_cap(f);
  const double room = cap / (cap + noise), trend = 2.0 * f.n * f.T0 * m;
  const double kept = 1.0 - room * trend / (trend + mu);
  return {mu, m * (noise * room + kept * kept), noise * room};
}

/// At most half of the signal is traded for less noise, unless half of epsilon would go to the
/// curvature: otherwise a small budget would leave no weights at all.
inline curvature_choice best_curvature(const weights_facts& f, const bounded_facts& b) {
  const double m = f.half.array().square().mean() / 3.0;
  // At least a tenth of epsilon is left for the noise.
  const double from = std::max(f.lambda, b.curvature / std::expm1(0.9 * b.epsilon));
  const double to =
      std::max({from, 2.0 * f.n * f.T0 * m, b.curvature / std::expm1(0.5 * b.epsilon)});
  constexpr int points = 500;
  const double low = std::log(from), by = (std::log(to) - low) / points;
  curvature_choice best = judge_curvature(f, b, m, std::exp(low));
  for (int i = 1; i <= points; ++i) {
    const double at = i == points ? std::log(to) : low + i * by;
    const curvature_choice next = judge_curvature(f, b, m, std::exp(at));
    if (next.error < best.error) best = next;
  }
  return best;
}

/// Log error of both steps for this share of epsilon for the weights.
inline double objective_error(const weights_facts& f, double share) {
  const double epsilon = share * f.epsilon, cover = cover_epsilon(epsilon);
  const curvature_choice first = best_curvature(f, bounded(f, epsilon - cover, cover));
  const double left = (1.0 - share) * f.epsilon, reach = post_reach(f);
  const double ratio = reach / (f.delta > 0.0 ? gdp_budget(left, f.delta / 2.0) : left);
  const double variance = (f.delta > 0.0 ? 1.0 : f.n * f.T1 + 1.0) * ratio * ratio;
  return std::min(std::log(first.error + variance * (1.0 / f.n + first.spread)), 1e4);
}

/// The share of the weights, between one tenth and nine tenths.
inline double objective_share(const weights_facts& f) {
  const auto error = [&](double share) { return objective_error(f, share); };
  double at = 0.1, least = error(at);
  for (int i = 1; i <= 16; ++i) {
    const double share = 0.1 + i * 0.05, here = error(share);
    if (here < least) at = share, least = here;
  }
  return least_between(error, std::max(at - 0.05, 0.1), std::min(at + 0.05, 0.9), 1e-4);
}

}  // namespace weights_detail

double noise_step::coordinate_variance(double dimension) const {
  return (kind == law::gamma_norm ? dimension + 1.0 : 1.0) * scale * scale;
}

output_plan plan_output(const weights_facts& f) {
  using namespace weights_detail;
  output_plan out;
  const double y_norm = f.y.norm();
  const double exact = f.published
                           ? published_ridge_sensitivity(f.n, f.T0, f.lambda)
                           : ridge_sensitivity(y_norm, f.T0, f.lambda,
                                               std::sqrt(pre_half(f).array().square().mean()));
  // A target that is zero on this scale has zero weights; any positive bound is valid.
  out.sensitivity = std::max(exact, 1e-9);
  out.solvable = ridge_backward_error(f.n, f.T0, f.lambda) <= most_backward_error;
  if (!out.solvable || std::isinf(f.epsilon)) return out;
  const double reach = out.sensitivity + ridge_rounding(f.n, f.T0, f.lambda, y_norm);
  const double post = post_reach(f);
  if (!f.published && f.delta > 0.0) {
    out.mu = gdp_budget(f.epsilon, f.delta);
    out.share =
        std::isnan(f.split) ? best_share(f, reach, post, out.mu * out.mu / 2.0, true) : f.split;
    out.weights = gaussian_step(reach, out.mu * std::sqrt(out.share), std::sqrt(f.n));
    out.post = gaussian_step(post, out.mu * std::sqrt(1.0 - out.share));
    return out;
  }
  out.share = !std::isnan(f.split) ? f.split
              : f.published        ? 0.5
                                   : best_share(f, reach, post, f.epsilon, false);
  out.weights = gamma_step(reach, out.share * f.epsilon);
  out.post = gamma_step(post, (1.0 - out.share) * f.epsilon);
  return out;
}

double objective_cap(const weights_facts& f) {
  return std::min(1.0, std::isnan(f.cap) ? 2.0 / std::sqrt(f.n) : f.cap);
}

double gaussian_objective_scale(double sensitivity, double epsilon0, double delta) {
  constexpr double half_log_two_pi = 0.91893853320467274178;
  const double target = std::log(delta), front = half_log_two_pi + epsilon0;
  const auto enough = [&](double q) {
    return front + std::log(q) + log_normal_cdf(-(epsilon0 / q + q / 2.0)) <= target;
  };
  // From the tail bound P(R > tail) = delta: valid, a little too small.
  const double tail = std::sqrt(-2.0 * target);
  double low = 2.0 * epsilon0 / (tail + std::sqrt(tail * tail + 2.0 * epsilon0));
  double high = std::sqrt(2.0 * epsilon0);
  if (enough(high)) return sensitivity / high * (1.0 + 1e-9);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2.0;
    (enough(middle) ? low : high) = middle;
  }
  return sensitivity / low * (1.0 + 1e-9);
}

objective_plan bounded_step(const weights_facts& f, double epsilon, double cover, double mu) {
  const weights_detail::bounded_facts b = weights_detail::bounded(f, epsilon, cover);
  objective_plan out;
  out.mu = mu;
  out.curvature = b.curvature;
  out.epsilon = epsilon;
  out.epsilon0 = epsilon - std::log1p(b.curvature / mu);
  out.delta = b.delta;
  out.cap = objective_cap(f);
  out.weights.kind = f.delta > 0.0 ? law::gaussian : law::gamma_norm;
  out.weights.sensitivity = b.sensitivity;
  out.weights.epsilon = epsilon;
  out.weights.scale = f.delta > 0.0 ? gaussian_objective_scale(b.sensitivity, out.epsilon0, b.delta)
                                    : b.sensitivity / out.epsilon0;
  out.tolerance = weights_detail::solver_tolerance(f, mu, out.weights);
  return out;
}

objective_plan plan_algorithm3(const weights_facts& f, double epsilon) {
  objective_plan out;
  out.curvature = std::isnan(f.curvature) ? published_curvature(f.n, f.T0) : f.curvature;
  const double log_ratio = 2.0 * std::log1p(out.curvature / f.lambda);
  const bool enough = epsilon > log_ratio;
  out.epsilon = epsilon;
  out.epsilon0 = enough ? epsilon - log_ratio : epsilon / 2.0;
  out.mu = f.lambda + (enough ? 0.0 : out.curvature / std::expm1(epsilon / 4.0) - f.lambda);
  out.solvable = ridge_backward_error(f.n, f.T0, out.mu) <= most_backward_error;
  double gradient = 4.0 * f.T0 * std::sqrt(8.0 + f.n), width = 1.0;
  if (f.delta > 0.0) {
    out.weights.kind = law::gaussian;
    width = std::sqrt(2.0 * std::log(2.0 / f.delta) + out.epsilon0);
  } else {
    gradient = std::min(gradient, out.curvature * std::sqrt(f.n) + 4.0 * f.T0);
  }
  out.weights.sensitivity = gradient;
  out.weights.scale = gradient * width / out.epsilon0;
  out.weights.epsilon = epsilon;
  return out;
}

objective_plan plan_objective(const weights_facts& f) {
  using namespace weights_detail;
  const double share = !std::isnan(f.split) ? f.split : f.published ? 0.5 : objective_share(f);
  const double epsilon = share * f.epsilon, left = (1.0 - share) * f.epsilon;
  const double post = post_reach(f);
  objective_plan out;
  if (f.published) {
    out = plan_algorithm3(f, epsilon);
  } else {
    const double cover = cover_epsilon(epsilon);
    const curvature_choice best = best_curvature(f, bounded(f, epsilon - cover, cover));
    out = bounded_step(f, epsilon - cover, cover, best.mu);
    out.cover = gamma_step(2.0 * out.tolerance, cover);
  }
  out.share = share;
  out.post = !f.published && f.delta > 0.0 ? gaussian_step(post, gdp_budget(left, f.delta / 2.0))
                                           : gamma_step(post, left);
  return out;
}

}  // namespace dpsc
