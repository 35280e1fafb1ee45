// Bodies of weights_sensitivity.hpp.
#pragma once

#include "weights_sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpsc {

double ridge_sensitivity(double y_norm, double T0, double lambda, double bound) {
  const double r = T0 * bound * bound / (lambda / 2.0);
  return 2.0 * y_norm / std::sqrt(lambda / 2.0) * (r >= 1.0 ? 0.5 : std::sqrt(r) / (1.0 + r));
}

double published_ridge_sensitivity(double n, double T0, double lambda) {
  return 4.0 * T0 * std::sqrt(8.0 + n) / lambda;
}

double post_sensitivity(double T1, double bound) { return 2.0 * bound * std::sqrt(T1); }

double curvature_bound(double n, double T0, faces which, double bound) {
  const double factor = which == faces::l1 ? std::max(2.0, 8.0 * (1.0 - 1.0 / n)) : 2.0;
  return factor * T0 * bound * bound;
}

double published_curvature(double n, double T0) { return (1.0 + std::sqrt(16.0 * n - 15.0)) * T0; }

double gradient_sensitivity(double n, double cap, const Eigen::VectorXd& y,
                            const Eigen::VectorXd& half) {
  const auto bound_at = [&](double u) {
    const double held = std::min(1.0 - u, (n - 1.0) * cap);
    double own = 0.0, together = 0.0;
    for (Eigen::Index t = 0; t < half.size(); ++t) {
      const double h = half(t), rest = h * held + std::fabs(y(t));
      // max over s = |x + x'| of (2 half - s)(s u + rest), period by period
      const double wide = 2.0 * h * u + rest;
      own += rest >= 2.0 * h * u ? 2.0 * h * rest : wide * wide / (4.0 * u);
      together += h * std::sqrt(rest * rest + (n - 1.0) * (u * h) * (u * h));
    }
    const double others = 4.0 * u * half.squaredNorm();
    const double apart = std::sqrt((2.0 * own) * (2.0 * own) + (n - 1.0) * others * others);
    // Own and other coordinates both attain their maximum at s = 0 if there are others (see the
    // proof).
    return n > 1.0 ? std::min(apart, 4.0 * together) : apart;
  };
  const double kink = 1.0 - (n - 1.0) * cap;
  double most = std::max(bound_at(0.0), bound_at(cap));
  if (kink > 0.0 && kink < cap) most = std::max(most, bound_at(kink));
  return most;
}

double ridge_backward_error(double n, double T0, double lambda) {
  const double unit = std::numeric_limits<double>::epsilon() / 2.0;
  return (n + 4.0 * T0 * T0 + 2.0) * unit * (1.0 + 2.0 * n * T0 / lambda);
}

double ridge_rounding(double n, double T0, double lambda, double y_norm) {
  const double c = lambda / 2.0;
  const double solve = std::min(1.0 / (2.0 * std::sqrt(c)), std::sqrt(n * T0) / c);
  return 4.0 * ridge_backward_error(n, T0, lambda) * solve * y_norm;
}

}  // namespace dpsc
