// One round of a private regression: a radius for whitened regressors w, a clip for the residual r
// of the last fit, then the Gram matrix of (s w, clip(s r), s) under one noise, s = min(1, R/|w|).
// Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "../noise/symmetric.hpp"
#include "moments.hpp"
#include "regression_rows.hpp"

namespace dpsc {

/// The finest grid whose noise the exact sampler can draw, and whose sums are exact.
inline void plan_outer(lm_round_plan& out, const std::string& label, double n, Eigen::Index p,
                       double weight, const total_budget& budget, double share) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (int bits = 12; bits >= 6; --bits) {
    const double R = std::ldexp(1.0, bits);
    const double K = std::max(1.0, std::nearbyint(R / std::sqrt(static_cast<double>(p) + 1.0)));
    const double Rr = std::nearbyint(weight * std::sqrt(R * R + K * K));
    out.limit = R;
    out.constant = K;
    out.residual_limit = Rr;
    const double B = out.bound(), longest = std::max(R, Rr);
    // Half a grid step an entry, as rounding has it, must leave most of a row.
    if (!(std::sqrt(static_cast<double>(p)) < R)) break;
    if (!(n * longest * longest < exact_integers && B * B < exact_integers)) continue;
    if (budget.gaussian()) {
      out.kind = law::discrete_gaussian;
      out.noise = gaussian_step_variance(B, budget.mu(share));
      out.sigma = std::sqrt(out.noise);
    } else {
      const double sensitivity = laplace_outer_sensitivity(B, static_cast<double>(p) + 2.0);
      out.kind = law::discrete_laplace;
      out.noise = std::ceil(sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      out.sigma = 2.0 * out.noise;
    }
    if (!(out.sigma <= largest_sigma)) continue;
    if (budget.gaussian()) {
      out.records.push_back({label, law_name(out.kind), std::sqrt(2.0) * B, out.sigma, none,
                             gaussian_step_mu(B, out.noise)});
    } else {
      const double sensitivity = laplace_outer_sensitivity(B, static_cast<double>(p) + 2.0);
      out.records.push_back(
          {label, law_name(out.kind), sensitivity, out.noise, sensitivity / out.noise, none});
    }
    return;
  }
  throw budget_too_small();
}

/// Losses of radii are whole multiples of 2^-leverage_bits rows.
constexpr int leverage_bits = 10;

/// Losses of radii from counts beyond the squares l_1 < .. < l_K of all: the sum over rows of
/// (l(|w|^2) - l_k)_+ / (l_K - l_1), l(v) the least of the l that is not below v, or l_K.
///
/// Rows are nested: a replaced row moves all losses one way, and by 2^leverage_bits at most.
inline std::vector<std::int64_t> leverage_losses(const std::vector<std::int64_t>& beyond,
                                                 const std::vector<double>& squares) {
  std::vector<std::int64_t> out(beyond.size(), 0);
  const double span = squares.back() - squares.front();
  for (std::size_t k = out.size() - 1; k-- > 0;) {
    const double step = std::ldexp((squares[k + 1] - squares[k]) / span, leverage_bits);
    out[k] = out[k + 1] + static_cast<std::int64_t>(std::floor(step)) * beyond[k];
  }
  return out;
}

/// Losses of clips: rows beyond them, less those that may be. They move one way, too.
inline std::vector<std::int64_t> clip_losses(const std::vector<std::int64_t>& beyond,
                                             double allowed) {
  std::vector<std::int64_t> out;
  for (std::int64_t count : beyond)
    out.push_back(std::max<std::int64_t>(0, count - static_cast<std::int64_t>(allowed)));
  return out;
}

/// One of the candidates by its loss, in multiples of 2^-bits, and a price a step up.
inline std::size_t choose_limit(std::vector<std::int64_t> losses, int bits, double price,
                                double exponent, const std::string& label, noise& draws) {
  private_choice choice;
  choice.losses = std::move(losses);
  choice.shift = 30;
  choice.units = exponent_units(std::ldexp(exponent, -bits), choice.shift);
  // Public, so that it may be in the losses.
  const auto step = static_cast<std::int64_t>(std::ldexp(price / exponent, bits));
  for (std::size_t k = 0; k < choice.losses.size(); ++k)
    choice.losses[k] += step * static_cast<std::int64_t>(k);
  return draws.choose(label, choice);
}

/// What a round released, in its own frame: per unit of weight. RELEASED.
struct lm_round {
  lm_frame frame;
  double radius = 0.0, clip = 0.0;
  double weight = 0.0;         // mean of s^2 over all n (case weights are in s)
  Eigen::VectorXd mean;        // of w
  double residual = 0.0;       // mean of r
  Eigen::MatrixXd covariance;  // of w
  Eigen::VectorXd cross;       // of w with r
  double variance = 0.0;       // of r
  // Deviations of the noise: entries off the diagonal of w by w (on it, sqrt 2 more), w by r, r by
  // r, means of w and of r.
  double sd_covariance = 0.0, sd_cross = 0.0, sd_variance = 0.0, sd_mean = 0.0, sd_residual = 0.0;
};

/// A weight that noise has drowned is kept away from zero.
constexpr double least_weight = 0.1;

namespace rounds_detail {

/// Deviations of the noise in the moments of a round whose weight is known.
inline void read_deviations(lm_round& out, const lm_round_plan& plan, double n, double zoom_w,
                            double zoom_r) {
  const double total = std::max(out.weight, least_weight) * n;
  const double off = plan.sigma / std::sqrt(2.0);
  out.sd_covariance = off / (zoom_w * zoom_w * total);
  out.sd_cross = off / (zoom_w * zoom_r * total);
  out.sd_variance = plan.sigma / (zoom_r * zoom_r * total);
  out.sd_mean = off / (zoom_w * plan.constant * total);
  out.sd_residual = off / (zoom_r * plan.constant * total);
}

/// Sums with noise, turned into moments per unit of weight.
inline void read_moments(lm_round& out, const Eigen::MatrixXd& noisy, const lm_round_plan& plan,
                         double n, double zoom_w, double zoom_r) {
  const Eigen::Index p = out.frame.centre.size();
  const double K = plan.constant;
  out.weight = noisy(p + 1, p + 1) / (K * K * n);
  const double total = std::max(out.weight, least_weight) * n;
  out.mean = noisy.col(p + 1).head(p) / (zoom_w * K * total);
  out.residual = noisy(p, p + 1) / (zoom_r * K * total);
  out.covariance =
      noisy.topLeftCorner(p, p) / (zoom_w * zoom_w * total) - out.mean * out.mean.transpose();
  out.cross = noisy.col(p).head(p) / (zoom_w * zoom_r * total) - out.mean * out.residual;
  out.variance = noisy(p, p) / (zoom_r * zoom_r * total) - out.residual * out.residual;
  read_deviations(out, plan, n, zoom_w, zoom_r);
}

}  // namespace rounds_detail

/// A limit in whole steps of the features, one at least.
inline double limit_steps(double limit, double unit) {
  return std::max(1.0, std::floor(limit / unit));
}

/// `radius` and `clip`: where the plan has no candidates.
inline lm_round release_round(const row_source& source, const lm_design& design,
                              const lm_location& location, const lm_frame& frame,
                              const lm_round_plan& plan, double n, double radius, double clip,
                              lm_kept& kept, noise& draws, const ticker& tick) {
  const lm_columns columns(design, location);
  const lm_features features(columns, frame);
  const double unit = features.unit();
  lm_round out;
  out.frame = frame;
  const auto steps = [unit](double x) { return limit_steps(x, unit); };
  people_question question;
  question.design = &design;
  question.location = &location;
  question.map = features.map();
  question.limit = plan.limit;
  question.residual_limit = plan.residual_limit;
  question.constant = plan.constant;
  lm_round_rows rows(source, question, n, kept, tick);

  std::size_t record = 0;
  out.radius = radius;
  if (!plan.radii.empty()) {
    std::vector<double> squares;
    for (double r : plan.radii) squares.push_back(std::pow(steps(r), 2.0));
    out.radius = plan.radii[choose_limit(leverage_losses(rows.beyond_lengths(squares), squares),
                                         leverage_bits, plan.radius_price, plan.radius_exponent,
                                         plan.records[record++].label, draws)];
  }
  out.clip = clip;
  if (!plan.clips.empty()) {
    std::vector<double> limits;
    for (double c : plan.clips) limits.push_back(steps(c));
    const auto beyond = rows.beyond_residuals(steps(out.radius), limits);
    out.clip = plan.clips[choose_limit(clip_losses(beyond, plan.beyond * n), 0, plan.clip_price,
                                       plan.clip_exponent, plan.records[record++].label, draws)];
  } else {
    rows.at_radius(steps(out.radius));
  }
  const Eigen::MatrixXd noisy = add_symmetric(
      rows.gram(steps(out.clip)), plan.records[record].label, plan.kind, plan.noise, draws);
  if (plan.far > 0.0)
    kept.far = static_cast<double>(
        rows.beyond_residuals(steps(out.radius), {steps(plan.far * out.clip)}).front());
  const lm_outer sums(plan, design.p(), steps(out.radius), steps(out.clip));
  rounds_detail::read_moments(out, noisy, plan, n, sums.zoom() / unit, sums.residual_zoom() / unit);
  return out;
}

}  // namespace dpsc
