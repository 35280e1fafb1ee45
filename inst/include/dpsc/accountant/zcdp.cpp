// Bodies of zcdp.hpp.
#pragma once

#include "zcdp.hpp"

namespace dpsc {

double log_cdp_delta(double rho, double epsilon) {
  if (!(rho >= 0.0)) throw std::domain_error("rho must not be negative");
  if (!(epsilon >= 0.0)) throw std::domain_error("epsilon must not be negative");
  if (rho == 0.0 || std::isinf(epsilon)) return -std::numeric_limits<double>::infinity();
  if (std::isinf(rho)) return 0.0;
  // The exponent's derivative (2 alpha - 1) rho - epsilon + log(1 - 1/alpha) increases in alpha;
  // beta = alpha - 1 is bisected on its logarithm. Any alpha gives a valid bound.
  const auto derivative = [&](double beta) {
    return (2.0 * beta + 1.0) * rho - epsilon - std::log1p(1.0 / beta);
  };
  double low = std::log(1e-12), high = std::log((epsilon + 1.0) / rho + 2.0);
  while (derivative(std::exp(high)) < 0.0) high += 1.0;
  for (int i = 0; i < 200; ++i) {
    const double mid = (low + high) / 2.0;
    double& end = derivative(std::exp(mid)) < 0.0 ? low : high;
    if (end == mid) break;  // bisection has converged
    end = mid;
  }
  const double beta = std::exp(high);
  const double alpha = 1.0 + beta;
  const double value =
      beta * (alpha * rho - epsilon) - alpha * std::log1p(1.0 / beta) - std::log(beta);
  return value < 0.0 ? value : 0.0;
}

double cdp_epsilon(double rho, double delta) {
  if (!(delta > 0.0)) throw std::domain_error("delta must be positive");
  if (delta >= 1.0 || rho == 0.0) return 0.0;
  const double target = std::log(delta);
  double low = 0.0, high = rho + 2.0 * std::sqrt(rho * -target) + 1e-300;
  while (log_cdp_delta(rho, high) > target) high *= 2.0;
  for (int i = 0; i < 200; ++i) {
    const double mid = (low + high) / 2.0;
    (log_cdp_delta(rho, mid) > target ? low : high) = mid;
  }
  return high;
}

double cdp_rho(double epsilon, double delta) {
  if (!(epsilon >= 0.0)) throw std::domain_error("epsilon must not be negative");
  if (!(delta > 0.0)) throw std::domain_error("delta must be positive");
  if (delta >= 1.0 || std::isinf(epsilon)) return std::numeric_limits<double>::infinity();
  const double target = std::log(delta);
  double low = 0.0, high = epsilon + 1.0;
  while (log_cdp_delta(high, epsilon) <= target) high *= 2.0;
  for (int i = 0; i < 1100; ++i) {
    const double mid = (low + high) / 2.0;
    if (mid <= low || mid >= high) break;
    (log_cdp_delta(mid, epsilon) <= target ? low : high) = mid;
  }
  return low;
}

}  // namespace dpsc
