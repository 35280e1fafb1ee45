// Bodies of treated_location.hpp.
#pragma once

#include "treated_location.hpp"

namespace dpsc {

unit_noise::unit_noise(const std::string& label, const total_budget& budget, double share,
                       double norm, double absolute) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (bits = 20; bits >= 8; --bits) {
    const bool gaussian = budget.gaussian();
    const double one = std::ldexp(1.0, bits);
    const double sensitivity = (gaussian ? norm : absolute) * one * (1.0 + 1e-12);
    if (gaussian) {
      noise = gaussian_vector_variance(sensitivity, budget.mu(share));
      sigma = std::sqrt(noise);
    } else {
      kind = law::discrete_laplace;
      noise = std::ceil(sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      sigma = std::sqrt(2.0) * noise;
    }
    if (!(sigma <= largest_sigma)) continue;
    record = {label,
              law_name(kind),
              sensitivity,
              gaussian ? sigma : noise,
              gaussian ? none : sensitivity / noise,
              gaussian ? gaussian_vector_mu(sensitivity, noise) : none};
    return;
  }
  throw budget_too_small();
}

double location_share(const total_budget& budget, double m) {
  using namespace location_constants;
  // Standard deviation of an entry's noise: sqrt(2) / (total sqrt(share)), or 4 / (total share).
  const double wanted = signal / (m * budget.total());
  const double share = budget.gaussian() ? 2.0 * wanted * wanted : 4.0 * wanted;
  return std::min(most, std::max(least, share));
}

unit_noise plan_location(const total_budget& budget, double m) {
  const double norm = std::sqrt(2.0);
  return unit_noise("place of the treated", budget, location_share(budget, m), norm, 2.0 * norm);
}

namespace treated_detail {

Eigen::VectorXd location_knots(double gap, double reach) {
  using namespace location_constants;
  std::vector<double> side{0.0};
  while (side.back() < reach && side.size() <= static_cast<std::size_t>(most_knots))
    side.push_back(side.back() + std::max(gap, side.back() / growth));
  const auto half = static_cast<Eigen::Index>(side.size()) - 1;
  Eigen::VectorXd knots(2 * half + 1);
  for (Eigen::Index k = 0; k <= half; ++k) {
    knots[half + k] = side[static_cast<std::size_t>(k)];
    knots[half - k] = -side[static_cast<std::size_t>(k)];
  }
  return knots;
}

knot_weights::knot_weights(const Eigen::VectorXd& knots, double x) {
  const Eigen::Index last = knots.size() - 1;
  const double* begin = knots.data();
  left = std::upper_bound(begin, begin + last, x) - begin - 1;
  left = std::max<Eigen::Index>(0, std::min(left, last - 1));
  const double place = (x - knots[left]) / (knots[left + 1] - knots[left]);
  const double angle = std::acos(0.0) * std::min(1.0, std::max(0.0, place));
  to_left = std::cos(angle);
  to_right = std::sin(angle);
}

soft_counts::soft_counts(Eigen::VectorXd knots, Eigen::Index T1, int bits)
    : knots_(std::move(knots)),
      T1_(T1),
      one_(std::ldexp(1.0, bits)),
      sums_(Eigen::VectorXd::Zero(knots_.size())) {}

void soft_counts::add(const Eigen::MatrixXd& z) {
  // For any rounding, a row adds integers between 0 and `one_`.
  const auto whole = [&](double share) {
    return std::floor(one_ * std::min(1.0, std::max(0.0, share)));
  };
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    const knot_weights at(knots_, z.row(i).tail(T1_).sum());
    sums_[at.left] += whole(at.to_left);
    sums_[at.left + 1] += whole(at.to_right);
  }
}

void find_centre(group_location& found, double m, double sd) {
  using namespace location_constants;
  // Medians of nine equally likely parts of a normal distribution.
  constexpr double nodes[] = {-1.593219, -0.967422, -0.589456, -0.282216, 0.0,
                              0.282216,  0.589456,  0.967422,  1.593219};
  const Eigen::VectorXd& knots = found.knots;
  const double narrow = knots[knots.size() / 2 + 1];
  std::vector<double> places{0.0}, widths{narrow};
  for (Eigen::Index k = 0; k + 1 < knots.size(); ++k)
    for (int j = 0; j < between; ++j) {
      widths.push_back(knots[k + 1] - knots[k]);
      places.push_back(knots[k] + widths.back() * (j + 0.5) / between);
    }
  std::vector<double> logs;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(knots.size());
    for (double node : nodes) {
      const knot_weights at(knots, places[i] + sd * node);
      expected[at.left] += m * at.to_left / 9.0;
      expected[at.left + 1] += m * at.to_right / 9.0;
    }
    const double fits = (expected.dot(found.counts) - 0.5 * expected.squaredNorm()) /
                        (found.counts_sd * found.counts_sd);
    const double before =
        i == 0 ? zero : std::log(widths[i] / narrow) - std::log1p(std::fabs(places[i]) / sd);
    logs.push_back(fits + before);
  }
  const auto best =
      static_cast<std::size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin());
  found.centre = found.doubt = 0.0;
  if (best == 0) return;
  double all = 0.0, first = 0.0, second = 0.0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double from = places[i] - places[best];
    if (std::fabs(from) > 1.01 * widths[best]) continue;
    const double weight = std::exp(logs[i] - logs[best]);
    all += weight;
    first += weight * from;
    second += weight * from * from;
  }
  first /= all;
  // Candidate locations are so far apart that their own width adds to the uncertainty.
  const double own = widths[best] / between;
  found.centre = places[best] + first;
  found.doubt = std::sqrt(std::max(0.0, second / all - first * first) + own * own / 12.0);
}

}  // namespace treated_detail

group_location run_location(const unit_noise& step, const row_source& source, const grid_map& rows,
                            double m, Eigen::Index T1, double own, double reach, noise& draws,
                            const ticker& tick) {
  using namespace location_constants;
  const double sd = wider * own;
  group_location out;
  out.knots = treated_detail::location_knots(gap * sd, reach);
  // From the average of features to the sum of their grid steps.
  const double steps = static_cast<double>(T1) / rows.unit;
  treated_detail::soft_counts sums(out.knots * steps, T1, step.bits);
  add_features(source, rows.map, sums, tick);
  const double one = std::ldexp(1.0, step.bits);
  out.counts = draws.add(step.record.label, step.kind, sums.sums(),
                         Eigen::VectorXd::Constant(out.knots.size(), step.noise)) /
               one;
  out.counts_sd = step.sigma / one;
  treated_detail::find_centre(out, m, sd);
  return out;
}

}  // namespace dpsc
