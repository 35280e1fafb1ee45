// Bodies of regression_rounds.hpp.
#pragma once

#include "regression_rounds.hpp"

namespace dpsc {

void plan_outer(lm_round_plan& out, const std::string& label, double n, Eigen::Index p,
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
    // Rounding, by half a grid step per entry, must leave most of a row.
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

namespace rounds_detail {

double likely_weight(double noisy, double sd) {
  constexpr double mean = 0.9, spread = 0.3;
  const double own = 1.0 / (sd * sd), prior = 1.0 / (spread * spread);
  return std::max(least_weight, (own * noisy + prior * mean) / (own + prior));
}

void read_deviations(lm_round& out, const lm_round_plan& plan, double n, double zoom_w,
                     double zoom_r) {
  const double total = std::max(out.weight, least_weight) * n;
  const double off = plan.sigma / std::sqrt(2.0);
  out.sd_covariance = off / (zoom_w * zoom_w * total);
  out.sd_cross = off / (zoom_w * zoom_r * total);
  out.sd_variance = plan.sigma / (zoom_r * zoom_r * total);
  out.sd_mean = off / (zoom_w * plan.constant * total);
  out.sd_residual = off / (zoom_r * plan.constant * total);
  // Moments around the mean include the noise of the mean and of the weight, so the first frame is
  // not centred.
  const double mean = out.mean.squaredNorm() / static_cast<double>(out.mean.size());
  const double one = out.sd_mean * out.sd_mean, pair = out.sd_covariance * out.sd_covariance;
  out.sd_covariance = std::sqrt(pair + 2.0 * mean * one + 2.0 * mean * mean * one * one / pair);
  out.sd_cross = std::sqrt(out.sd_cross * out.sd_cross + mean * out.sd_residual * out.sd_residual +
                           out.residual * out.residual * one);
}

void read_moments(lm_round& out, const Eigen::MatrixXd& noisy, const lm_round_plan& plan, double n,
                  double zoom_w, double zoom_r) {
  const Eigen::Index p = out.frame.centre.size();
  const double K = plan.constant;
  out.weight = likely_weight(noisy(p + 1, p + 1) / (K * K * n), plan.sigma / (K * K * n));
  const double total = out.weight * n;
  out.mean = Eigen::VectorXd::Zero(p);
  read_deviations(out, plan, n, zoom_w, zoom_r);
  out.mean = noisy.col(p + 1).head(p) / (zoom_w * K * total);
  // A mean smaller than its noise would shift the next frame by noise only.
  const double noise = static_cast<double>(p) * out.sd_mean * out.sd_mean;
  out.mean *= std::max(0.0, 1.0 - noise / std::max(out.mean.squaredNorm(), 1e-300));
  out.residual = noisy(p, p + 1) / (zoom_r * K * total);
  out.covariance =
      noisy.topLeftCorner(p, p) / (zoom_w * zoom_w * total) - out.mean * out.mean.transpose();
  out.cross = noisy.col(p).head(p) / (zoom_w * zoom_r * total) - out.mean * out.residual;
  out.variance = noisy(p, p) / (zoom_r * zoom_r * total) - out.residual * out.residual;
  read_deviations(out, plan, n, zoom_w, zoom_r);
}

}  // namespace rounds_detail

double limit_steps(double limit, double unit) { return std::max(1.0, std::floor(limit / unit)); }

lm_round release_round(const row_source& source, const lm_design& design,
                       const lm_location& location, const lm_frame& frame,
                       const lm_round_plan& plan, double n, double radius, double clip, double far,
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

  out.radius = radius;
  out.clip = clip;
  rows.at_radius(steps(radius));
  const Eigen::MatrixXd noisy =
      add_symmetric(rows.gram(steps(clip)), plan.records[0].label, plan.kind, plan.noise, draws);
  if (far > 0.0)
    kept.far = static_cast<double>(rows.beyond_residuals(steps(radius), {steps(far)}).front());
  const lm_outer sums(plan, design.p(), steps(out.radius), steps(out.clip));
  rounds_detail::read_moments(out, noisy, plan, n, sums.zoom() / unit, sums.residual_zoom() / unit);
  return out;
}

}  // namespace dpsc
