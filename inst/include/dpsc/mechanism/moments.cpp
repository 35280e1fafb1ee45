// Bodies of moments.hpp.
#pragma once

#include "moments.hpp"

namespace dpsc {

int radius_price_of(double n, double exponent) {
  const double price = std::floor(n * exponent / radius_signal);
  // With very many rows, exact sums limit the price.
  const double most = std::min<double>(most_radius_price, std::floor(0x1p43 / n) - 1.0);
  return static_cast<int>(std::max<double>(radius_price, std::min(most, price)));
}

int energy_bits(double n, int price) {
  const int bits = 52 - ceil_log2(n * (price + 1));
  if (bits < 8) throw std::domain_error("too many rows for exact sums");
  return std::min(20, bits);
}

std::vector<double> radius_grid(double low, double high) {
  const int steps = std::max(1, static_cast<int>(std::ceil(2.0 * std::log2(high / low) - 1e-9)));
  std::vector<double> out;
  for (int k = steps; k >= 0; --k) out.push_back(high * std::pow(2.0, -k / 2.0));
  return out;
}

double radius_steps(double radius, const grid_map& rows) {
  return std::max(1.0, std::floor(radius / rows.unit));
}

std::size_t choose_energy(const radius_energy& energy, int bits, double exponent,
                          const std::string& label, noise& draws) {
  private_choice choice;
  choice.losses = energy.losses();
  choice.units = exponent_units(exponent / (energy.price() + 2), choice_shift - bits);
  choice.shift = choice_shift;
  return draws.choose(label, choice);
}

std::vector<double> squared_steps(const std::vector<double>& radii, const grid_map& rows) {
  std::vector<double> out;
  for (double r : radii) out.push_back(std::pow(radius_steps(r, rows), 2.0));
  return out;
}

double choose_radius(const row_source& source, const grid_map& rows, double n,
                     const std::vector<double>& radii, double exponent, int price,
                     const std::string& label, noise& draws, const ticker& tick) {
  const int bits = energy_bits(n, price);
  radius_energy energy(squared_steps(radii, rows), price, bits);
  add_features(source, rows.map, energy, tick);
  return radii[choose_energy(energy, bits, exponent, label, draws)];
}

moments_step plan_moments(const std::string& label, double n, Eigen::Index d, double kappa,
                          const total_budget& budget, double share) {
  for (int bits = 12; bits >= 6; --bits) {
    const double R = std::ldexp(1.0, bits);
    const double K = std::max(1.0, std::nearbyint(kappa * R));
    const double B = R * R + K * K;
    if (!(n * R * R < exact_integers)) continue;
    moments_step step;
    step.limit = R;
    step.constant = K;
    const double none = std::numeric_limits<double>::quiet_NaN();
    if (budget.gaussian()) {
      step.kind = law::discrete_gaussian;
      step.noise = gaussian_step_variance(B, budget.mu(share));
      step.sigma = std::sqrt(step.noise);
      step.record = {label,
                     law_name(step.kind),
                     std::sqrt(2.0) * B,
                     step.sigma,
                     none,
                     gaussian_step_mu(B, step.noise)};
    } else {
      const double sensitivity = laplace_gram_sensitivity(R, K, static_cast<double>(d));
      step.kind = law::discrete_laplace;
      step.noise = std::ceil(sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      step.sigma = 2.0 * step.noise;
      step.record = {label,      law_name(step.kind),      sensitivity,
                     step.noise, sensitivity / step.noise, none};
    }
    if (step.sigma <= largest_sigma) return step;
  }
  throw budget_too_small();
}

inline noisy_moments noisy_means(const Eigen::MatrixXd& gram, const Eigen::VectorXd& first,
                                 double grid, double n, const moments_step& step) {
  noisy_moments out;
  out.second = gram * (grid * grid / n);
  out.mean = first * (grid / (step.constant * n));
  out.mean_sd = step.sigma / std::sqrt(2.0) * grid / (step.constant * n);
  out.second_sd = step.sigma * grid * grid / n;
  return out;
}

noisy_moments release_moments(const row_source& source, const grid_map& rows, double n,
                              double radius, const moments_step& step, noise& draws,
                              const ticker& tick) {
  const Eigen::Index d = rows.map.dimension();
  clipped_moments sums(d, radius_steps(radius, rows), step.limit);
  add_features(source, rows.map, sums, tick);
  Eigen::VectorXd first = step.constant * sums.sum();
  const Eigen::MatrixXd gram =
      add_symmetric(sums.gram(), step.record.label, step.kind, step.noise, draws, &first);
  return noisy_means(gram, first, rows.unit / sums.zoom(), n, step);
}

noisy_moments release_weighted(const row_source& source, const grid_map& rows, double n,
                               double radius, const moments_step& step,
                               const weight_limits& weights, mean_share& share, noise& draws,
                               const ticker& tick) {
  const Eigen::Index d = rows.map.dimension();
  weighted_moments sums(d, radius_steps(radius, rows), step.limit, step.constant);
  add_weighted(source, rows.map, weights, sums, tick);
  const Eigen::MatrixXd gram =
      add_symmetric(sums.gram(), step.record.label, step.kind, step.noise, draws);
  const double one = step.constant * step.constant * n;
  share.add(gram(d, d) / one, step.sigma / one);
  return noisy_means(gram.topLeftCorner(d, d), gram.col(d).head(d), rows.unit / sums.zoom(),
                     n * share.value(), step);
}

}  // namespace dpsc
