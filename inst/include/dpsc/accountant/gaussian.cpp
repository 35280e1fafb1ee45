// Bodies of gaussian.hpp.
#pragma once

#include "gaussian.hpp"

namespace dpsc {

double log_normal_cdf(double x) {
  constexpr double half_log_two_pi = 0.91893853320467274178032973640562;
  if (x > -5.0)
    return x > 5.0 ? std::log1p(-0.5 * std::erfc(x / std::sqrt(2.0)))
                   : std::log(0.5 * std::erfc(-x / std::sqrt(2.0)));
  // Mills ratio by its continued fraction, 1 / (z + 1 / (z + 2 / (z + ...))), evaluated backwards.
  const double z = -x;
  double tail = z;
  for (int k = 200; k >= 1; --k) tail = z + k / tail;
  return -0.5 * z * z - half_log_two_pi - std::log(tail);
}

double log1m_exp(double x) {
  return x > -0.6931471805599453 ? std::log(-std::expm1(x)) : std::log1p(-std::exp(x));
}

log_value log_gaussian_delta(double epsilon, double mu) {
  if (!(epsilon >= 0.0)) throw std::domain_error("epsilon must not be negative");
  if (!(mu >= 0.0)) throw std::domain_error("mu must not be negative");
  constexpr double minus_infinity = -std::numeric_limits<double>::infinity();
  if (mu == 0.0 || std::isinf(epsilon)) return {minus_infinity, 0.0};
  if (std::isinf(mu)) return {0.0, 0.0};
  const double a = log_normal_cdf(mu / 2.0 - epsilon / mu);
  const double b = epsilon + log_normal_cdf(-mu / 2.0 - epsilon / mu);
  if (!(b < a)) return {minus_infinity, std::numeric_limits<double>::infinity()};
  // Both logarithms have errors of a few units in the last place, which the difference magnifies.
  const double error = 1e-15 * (std::fabs(a) + std::fabs(b) + epsilon + 1.0) / -std::expm1(b - a);
  return {a + log1m_exp(b - a), error};
}

double gaussian_mu(double epsilon, double delta) {
  if (!(epsilon >= 0.0) || std::isinf(epsilon)) throw std::domain_error("epsilon must be finite");
  if (!(delta > 0.0 && delta < 1.0)) throw std::domain_error("delta must lie strictly in (0, 1)");
  const double target = std::log(delta);
  const auto is_private = [&](double mu) {
    const log_value value = log_gaussian_delta(epsilon, mu);
    return value.log == -std::numeric_limits<double>::infinity()
               ? std::log(mu) <= target  // lost in rounding; but delta(epsilon) <= delta(0) < mu
               : value.log + value.error <= target;
  };
  // The first term alone: mu/2 - epsilon/mu = -z with Phi(-z) <= exp(-z^2/2) = delta. Valid without
  // cancellation: used if epsilon is huge and rounding hides the difference.
  const double z = std::sqrt(-2.0 * target);
  double low = 2.0 * epsilon / (z + std::sqrt(z * z + 2.0 * epsilon)) * (1.0 - 1e-13);
  double high = 1.0;
  while (high > low && !is_private(high)) high /= 2.0;
  low = std::fmax(low, high > low ? high : 0.0);
  high = 2.0 * low;
  while (is_private(high)) {
    low = high;
    high *= 2.0;
  }
  while (high - low > 1e-15 * high) {
    const double mid = low + (high - low) / 2.0;
    if (mid <= low || mid >= high) break;
    (is_private(mid) ? low : high) = mid;
  }
  return low;
}

}  // namespace dpsc
