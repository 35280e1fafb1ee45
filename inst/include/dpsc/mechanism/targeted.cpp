// Bodies of targeted.hpp.
#pragma once

#include "targeted.hpp"

namespace dpsc {

targeted_plan plan_targeted(const total_budget& budget, double share, double n, bool group) {
  targeted_plan out;
  const double radius =
      budget.share_of_exponent(60.0 / n, share * least_radius_part, share * most_radius_part);
  out.exponent = budget.exponent(radius);
  if (group) out.price = radius_price_of(n, out.exponent);
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double mu = budget.mu(share - radius);
  for (int bits = 20; bits >= 8; --bits) {
    out.limit = std::ldexp(1.0, bits);
    out.noise = gaussian_vector_variance(2.0 * out.limit, mu);
    out.sigma = std::sqrt(out.noise);
    if (out.sigma <= largest_sigma && n * out.limit < exact_integers) {
      out.records = {budget.choice_record("radius for the target", out.exponent),
                     {"sum for the target", law_name(law::discrete_gaussian), 2.0 * out.limit,
                      out.sigma, none, gaussian_vector_mu(2.0 * out.limit, out.noise)}};
      return out;
    }
  }
  throw budget_too_small();
}

targeted_sum release_targeted(const row_source& source, const grid_map& rows, double n,
                              const std::vector<double>& radii, const targeted_plan& plan,
                              noise& draws, const ticker& tick, const weight_limits& weights,
                              double share) {
  const grid_products products = products_on_grid(rows);
  const Eigen::Index q = products.map.dimension();
  const grid_map steps{rows.map, products.unit, rows.reach};
  const int bits = energy_bits(n, plan.price);
  radius_energy energy(squared_steps(radii, steps), plan.price, bits);
  const unweighted_source alike(source, weights);
  const row_source& people = weights.given() ? alike : source;
  add_features(people, products.map, energy, tick);
  targeted_sum out;
  const double radius = radius_steps(
      radii[choose_energy(energy, bits, plan.exponent, plan.records[0].label, draws)], steps);
  out.radius = radius * steps.unit;

  clipped_sums sums(q, radius, plan.limit);
  if (weights.given())
    add_weighted(source, products.map, weights, sums, tick);
  else
    add_features(source, products.map, sums, tick);
  const Eigen::VectorXd noisy = draws.add(plan.records[1].label, law::discrete_gaussian, sums.sum(),
                                          Eigen::VectorXd::Constant(q, plan.noise));
  const double grid = steps.unit / sums.zoom() / (n * share);
  out.mean = noisy * grid;
  out.sd = plan.sigma * grid;
  return out;
}

}  // namespace dpsc
