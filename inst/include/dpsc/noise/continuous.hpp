// Floating-point noise for the mechanisms of Rho, Cummings and Misra (2023). Rounding of doubles is
// visible to a determined attacker (Mironov, 2012): callers round the result to a public grid and
// document it; the default method uses noise/discrete.hpp only.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>

#include "../engine.hpp"

namespace dpsc {

/// Standard normal (Box and Muller).
template <typename Engine>
double standard_normal(Engine& engine) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  const double radius = std::sqrt(-2.0 * std::log(uniform_open(engine)));
  return radius * std::cos(two_pi * uniform_open(engine));
}

/// Gamma with shape >= 1 and scale 1 (Marsaglia and Tsang, 2000).
template <typename Engine>
double standard_gamma(double shape, Engine& engine) {
  if (!(shape >= 1.0)) throw std::domain_error("standard_gamma needs a shape of at least 1");
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = standard_normal(engine);
    const double base = 1.0 + c * x;
    if (base <= 0.0) continue;
    const double v = base * base * base;
    if (std::log(uniform_open(engine)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

void require_scale(double scale);

/// Independent N(0, sigma^2) coordinates; sigma is the standard deviation, not the variance.
template <typename Engine>
Eigen::VectorXd gaussian_vector(Eigen::Index dimension, double sigma, Engine& engine) {
  require_scale(sigma);
  return Eigen::VectorXd::NullaryExpr(
      dimension, [&](Eigen::Index) { return sigma * standard_normal(engine); });
}

/// Gamma-norm noise: density proportional to exp(-||v|| / scale) on R^d. Uniform direction,
/// norm ~ Gamma(d, scale), so E||v|| = d * scale (and not scale: eq. (10) of the 2023 paper is
/// wrong).
template <typename Engine>
Eigen::VectorXd gamma_norm_vector(Eigen::Index dimension, double scale, Engine& engine) {
  require_scale(scale);
  if (dimension < 1) throw std::domain_error("gamma-norm noise needs a dimension of at least 1");
  Eigen::VectorXd direction = gaussian_vector(dimension, 1.0, engine);
  const double radius = scale * standard_gamma(static_cast<double>(dimension), engine);
  return direction * (radius / direction.norm());
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "continuous.cpp"
#endif
