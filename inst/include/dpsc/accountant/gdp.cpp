// Bodies of gdp.hpp.
#pragma once

#include "gdp.hpp"

namespace dpsc {

double exponential_step_mu(double exponent) {
  if (!(exponent >= 0.0)) throw std::domain_error("the exponent must not be negative");
  if (std::isinf(exponent)) return exponent;
  // z with Phi(z) = logistic(exponent / 2): near zero through erf(z / sqrt 2) = tanh(exponent / 4),
  // beyond through the log of the upper tail. Both sides keep full relative accuracy there.
  const bool near = exponent <= 2.0;
  const double goal = near ? std::tanh(exponent / 4.0) : -std::log1p(std::exp(exponent / 2.0));
  const double tail = std::isfinite(goal) ? goal : -exponent / 2.0;
  const auto covers = [&](double z) {
    return near ? std::erf(z / std::sqrt(2.0)) >= goal : log_normal_cdf(-z) <= tail;
  };
  double low = 0.0, high = exponent;  // z < exponent / 2 near zero, z < sqrt(exponent) beyond
  while (high - low > 1e-15 * high) {
    const double mid = low + (high - low) / 2.0;
    if (mid <= low || mid >= high) break;
    (covers(mid) ? high : low) = mid;
  }
  return 2.0 * high * (1.0 + gdp_margin);
}

double exponential_exponent(double mu) {
  if (!(mu >= 0.0)) throw std::domain_error("mu must not be negative");
  if (std::isinf(mu)) return mu;
  const double z = mu / 2.0;
  const double exponent = z <= 0.6 ? 4.0 * std::atanh(std::erf(z / std::sqrt(2.0)))
                                   : 2.0 * (log_normal_cdf(z) - log_normal_cdf(-z));
  // Three margins, to allow for the rounding up in exponential_step_mu(), too.
  return exponent * (1.0 - 3.0 * gdp_margin);
}

double gdp_budget(double epsilon, double delta) {
  return gaussian_mu(epsilon, delta) * (1.0 - gdp_margin);
}

double gdp_epsilon(double mu, double delta) {
  if (!(mu >= 0.0)) throw std::domain_error("mu must not be negative");
  if (!(delta > 0.0)) throw std::domain_error("delta must be positive");
  if (mu == 0.0 || delta >= 1.0) return 0.0;
  if (std::isinf(mu)) return mu;
  mu *= 1.0 + gdp_margin;
  const double target = std::log(delta);
  const auto is_private = [&](double epsilon) {
    const log_value value = log_gaussian_delta(epsilon, mu);
    // The difference is lost in rounding: delta(epsilon) is below mu and below its own first term.
    return value.log == -std::numeric_limits<double>::infinity()
               ? std::fmin(std::log(mu), log_normal_cdf(mu / 2.0 - epsilon / mu)) <= target
               : value.log + value.error <= target;
  };
  if (is_private(0.0)) return 0.0;
  // The first term alone, as in gaussian_mu(): epsilon = mu z + mu^2 / 2.
  double low = 0.0, high = (mu * std::sqrt(-2.0 * target) + 0.5 * mu * mu) * (1.0 + 1e-13);
  for (int i = 0; i < 1100 && high - low > 1e-15 * high; ++i) {
    const double mid = low + (high - low) / 2.0;
    if (mid <= low || mid >= high) break;
    (is_private(mid) ? high : low) = mid;
  }
  return high;
}

double gaussian_vector_variance(double sensitivity, double mu) {
  if (!(sensitivity > 0.0)) throw std::domain_error("the sensitivity must be positive");
  if (!(mu > 0.0)) throw std::domain_error("mu must be positive");
  const double ratio = sensitivity / mu;
  return std::ceil(ratio * ratio * (1.0 + gdp_margin)) + discrete_variance;
}

double gaussian_step_variance(double bound, double mu) {
  return 2.0 * gaussian_vector_variance(bound, mu);
}

double gaussian_vector_mu(double sensitivity, double variance) {
  if (!(variance > discrete_variance)) throw std::domain_error("the variance is too small");
  return sensitivity / std::sqrt(variance - discrete_variance) * (1.0 + 1e-14);
}

double gaussian_step_mu(double bound, double variance) {
  return gaussian_vector_mu(bound, variance / 2.0);
}

double laplace_outer_sensitivity(double bound, double m) {
  if (!(bound >= 0.0)) throw std::domain_error("the bound must not be negative");
  if (!(m >= 1.0)) throw std::domain_error("there must be an entry");
  return bound * std::sqrt(m * (m + 3.0) / 2.0) * (1.0 + gdp_margin);
}

double laplace_gram_sensitivity(double radius, double constant, double d) {
  if (!(radius >= 0.0 && constant >= 0.0))
    throw std::domain_error("radius and constant must not be negative");
  if (!(d >= 1.0)) throw std::domain_error("there must be a feature");
  if (radius == 0.0) return 0.0;
  const double a = std::sqrt(d * (d + 3.0) / 2.0);
  const double c = std::sqrt(2.0 * d) * (constant / radius);
  // c = -cos 2h, y = sin h: maximise a sin 2h + sqrt(2) c cos h; 4 a y^2 + sqrt(2) c y - 2 a = 0.
  const double b = std::sqrt(2.0) * c;
  const double y = 4.0 * a / (b + std::sqrt(b * b + 32.0 * a * a));
  return radius * radius * std::sqrt(1.0 - y * y) * (2.0 * a * y + b) * (1.0 + gdp_margin);
}

}  // namespace dpsc
