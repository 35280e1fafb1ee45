// Bodies of one_period.hpp.
#pragma once

#include "one_period.hpp"

namespace dpsc {

double period_plan::inner_limit() const {
  return (limit - std::sqrt(static_cast<double>(period_constants::parts)) / 2.0) *
         (1.0 - 0x1.0p-40);
}

double period_plan::stretch() const {
  using namespace period_constants;
  return std::min(stretch_most,
                  std::max(stretch_least, period_constants::stretch / std::sqrt(relative_noise())));
}

period_plan plan_period(const total_budget& budget, double share, double n) {
  using namespace period_constants;
  period_plan out;
  out.n = n;
  const double radius = budget.share_of_exponent(15.0 / n, 0.02 * share, 0.12 * share);
  const double sums = share - radius;
  out.exponent = budget.exponent(radius);
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (int bits = 12; bits >= 6; --bits) {
    const double R = std::ldexp(1.0, bits);
    if (!(n * R < exact_integers)) continue;
    out.limit = R;
    step_record record{"sums of the period", "", 0.0, 0.0, none, none};
    if (budget.gaussian()) {
      out.kind = law::discrete_gaussian;
      // A sum of vectors within R changes by at most 2 R.
      record.sensitivity = 2.0 * R;
      out.noise = gaussian_vector_variance(record.sensitivity, budget.mu(sums));
      record.scale = out.sigma = std::sqrt(out.noise);
      record.mu = gaussian_vector_mu(record.sensitivity, out.noise);
    } else {
      out.kind = law::discrete_laplace;
      record.sensitivity = 2.0 * R * std::sqrt(static_cast<double>(parts));
      out.noise = std::ceil(record.sensitivity / budget.epsilon(sums) * (1.0 + gdp_margin));
      record.scale = out.noise;
      record.epsilon = record.sensitivity / out.noise;
      out.sigma = std::sqrt(2.0) * out.noise;
    }
    record.law = law_name(out.kind);
    if (!(out.sigma <= largest_sigma)) continue;
    out.records = {budget.choice_record("radius of the period", out.exponent), record};
    return out;
  }
  throw budget_too_small();
}

namespace period_detail {

person_vector vector_of(const person_numbers& z, const Eigen::VectorXd& aim) {
  using namespace period_constants;
  const auto short_of = [](double x) { return std::min(std::max(x, -cut), cut); };
  const Eigen::Index k = aim.size() - 1;
  const double inner = short_of(z[0]), alike = short_of(z[2]);
  person_vector out = person_vector::Zero();
  double along = aim[0];
  out[0] = z[0];
  for (Eigen::Index j = 1; j <= k; ++j) {
    const double at = short_of(z[1 + j]);
    along += aim[j] * at;
    out[j] = z[0] * at;
  }
  for (Eigen::Index j = 0; j <= k; ++j)
    out[j] = other * out[j] + (1.0 - other) * z[0] * along * aim[j];
  out[parts - 3] = second * (inner * inner - 1.0);
  out[parts - 2] = second * inner * short_of(z[1]);
  out[parts - 1] = second * (z[2] * alike - 1.0);
  return out;
}

}  // namespace period_detail

period_release release_period(const row_source& source, const row_scale& scale,
                              const period_frame& frame, const period_plan& plan, noise& draws,
                              const ticker& tick) {
  using namespace period_constants;
  using namespace period_detail;
  const grid_map rows = map_on_grid(scale, frame.loadings, frame.origin);
  const Eigen::VectorXd aim = frame.aim.normalized();
  if (frame.directions() > directions) throw std::invalid_argument("too many directions");
  if (source.answers()) throw std::invalid_argument("a new period takes rows, not sums of them");

  std::vector<double> radii, prior;
  for (int k = -3; k <= 40; ++k) {
    radii.push_back(radius * std::pow(2.0, k / 2.0));
    prior.push_back(k < 0 ? below * k : -above * k);
    // No vector is longer than this radius.
    if (k >= 3 &&
        radii.back() > rows.reach * (1.0 + cut * std::sqrt(static_cast<double>(directions))) + 20.0)
      break;
  }
  calibration_detail::beyond_counts outside(radii);  // PRIVATE
  each_vector(
      source, rows, aim, plan.n, [&](const person_vector& v) { outside.add(v.norm()); }, tick);
  private_choice choice;
  choice.losses = outside.losses(std::floor(beyond * plan.n));
  choice.units = exponent_units(plan.exponent, choice_shift);
  choice.shift = choice_shift;
  choice.offsets = prior_offsets(prior, choice_shift);
  period_release out;
  out.radius = plan.stretch() * radii[draws.choose(plan.records[0].label, choice)];

  const double zoom = plan.inner_limit() / out.radius;
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(parts);
  bool within = true;
  each_vector(
      source, rows, aim, plan.n,
      [&](const person_vector& v) {
        const double length = v.norm();
        const double factor = zoom * (length <= out.radius ? 1.0 : out.radius / length);
        const Eigen::VectorXd w = nearest_integer((v.array() * factor).eval()).matrix();
        within = within && w.squaredNorm() <= plan.limit * plan.limit;
        sum += w;
      },
      tick);
  if (!within) throw std::logic_error("a shortened vector is longer than its limit");
  const Eigen::VectorXd noisy = draws.add(plan.records[1].label, plan.kind, sum,
                                          Eigen::VectorXd::Constant(parts, plan.noise));
  out.means = noisy / (zoom * plan.n);
  out.sd = plan.sigma / (zoom * plan.n);
  return out;
}

}  // namespace dpsc
