// One more period of people who were released before: a short vector of each, shortened to a
// radius, summed and noised. Proof: inst/proofs/growing.md, sections 1 and 2.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../rows/source.hpp"
#include "calibration.hpp"
#include "moments.hpp"

namespace dpsc {

/// Found by simulation over public designs (bench/monitor.R); none depends on data.
namespace period_constants {
// Directions in which people's residuals are compared, the target's first; fewer where a release
// knows fewer.
constexpr Eigen::Index directions = 4;
// A person's vector: the residual times one and each direction, and three second moments.
constexpr Eigen::Index parts = directions + 4;
// What counts for less than the sum that the target needs: other sums, and second moments.
constexpr double other = 0.25, second = 0.25;
// Likeness, and residuals within second moments, are cut at so many deviations.
constexpr double cut = 3.0;
// The likeliest radius, what half an octave below and above it costs, and the share of people that
// may lie beyond it.
constexpr double radius = 2.0, below = 1.2, above = 0.9, beyond = 0.1;
// Vectors are shortened at so much of the radius over the root of the noise that it makes, within
// limits: where many people share it, noise is cheaper than what shortening takes off.
constexpr double stretch = 0.05, stretch_least = 0.5, stretch_most = 3.0;
}  // namespace period_constants

/// What one announced period may spend, and on what: the same for all of them. PUBLIC.
struct period_plan {
  double n = 0.0;
  double exponent = 0.0;  // of the choice of a radius
  law kind = law::discrete_gaussian;
  double limit = 0.0;  // R: whole grid units
  double noise = 0.0;  // variance, or Laplace scale
  double sigma = 0.0;
  std::vector<step_record> records;  // two

  /// Deviation of the noise of a mean, in units of the radius.
  double relative_noise() const { return sigma / (n * inner_limit()); }

  /// Rounding lengthens a vector by half the root of its parts at most.
  double inner_limit() const {
    return (limit - std::sqrt(static_cast<double>(period_constants::parts)) / 2.0) *
           (1.0 - 0x1.0p-40);
  }

  double stretch() const {
    using namespace period_constants;
    return std::min(stretch_most, std::max(stretch_least, period_constants::stretch /
                                                              std::sqrt(relative_noise())));
  }
};

/// `share`: of the whole budget, for each period.
inline period_plan plan_period(const total_budget& budget, double share, double n) {
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
      // A sum of vectors within R moves by 2 R at most.
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

/// From a scaled row to numbers that are affine in it: the residual of the period, the average
/// residual so far, and the directions; all in units of their own spread. A function of what was
/// released before, and public. RELEASED.
struct period_frame {
  Eigen::MatrixXd loadings;  // T x (2 + k)
  Eigen::VectorXd origin;    // 2 + k
  Eigen::VectorXd aim;       // 1 + k: of one and the directions in the sum that the target needs

  Eigen::Index directions() const { return aim.size() - 1; }
};

/// What one period released: means of people's vectors, in the frame's units. RELEASED.
struct period_release {
  Eigen::VectorXd means;  // of shortened vectors: 1 + k, zeros, three second moments
  double radius = 0.0;
  double sd = 0.0;  // of the noise of each
};

namespace period_detail {

using person_vector = Eigen::Matrix<double, period_constants::parts, 1>;
using person_numbers = Eigen::Matrix<double, 1, period_constants::directions + 2>;

/// One person's vector from the person's own numbers. `aim` has length one.
inline person_vector vector_of(const person_numbers& z, const Eigen::VectorXd& aim) {
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

/// Everybody's vector, one at a time: of as many people in every pass. PRIVATE.
template <typename Visit>
void each_vector(const row_source& source, const grid_map& rows, const Eigen::VectorXd& aim,
                 double n, const Visit& visit, const ticker& tick) {
  person_numbers one = person_numbers::Zero();
  double seen = 0.0;
  source.pass([&](const table_view& table) {
    block_reader reader(table, rows.map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      for (Eigen::Index i = 0; i < z.rows(); ++i) {
        for (Eigen::Index j = 0; j < z.cols(); ++j) one[j] = z(i, j) * rows.unit;
        visit(vector_of(one, aim));
      }
      seen += static_cast<double>(z.rows());
      tick(static_cast<double>(z.rows() * (rows.map.periods() + 40)));
    }
  });
  if (seen != n) throw std::invalid_argument("the rows are not as many as were announced");
}

}  // namespace period_detail

/// Radius, then sums: two looks at people, whose rows must come here: a vector is cut and shortened
/// in ways that no question of row_source asks.
inline period_release release_period(const row_source& source, const row_scale& scale,
                                     const period_frame& frame, const period_plan& plan,
                                     noise& draws, const ticker& tick) {
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
    // Nobody's vector reaches beyond.
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
