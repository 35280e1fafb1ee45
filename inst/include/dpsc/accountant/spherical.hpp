// Spherical Laplace noise, density proportional to exp(-|b|) on R^d: its moments and privacy curve
// in closed form, and the Renyi bound of objective perturbation that follows from them. Proofs:
// inst/proofs/glm.md, sections 2 and 3. All rounding is conservative for privacy.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <vector>

namespace dpsc {

/// Absolute margin of the logarithms below; errors of the formulas are below 1e-11.
constexpr double spherical_margin = 1e-9;

/// log K_nu(z): trapezoidal rule for the integral of exp(-z cosh t) cosh(nu t), whose error
/// decreases like exp(-2 pi^2 width^2 / step^2).
double log_bessel_k(double nu, double z);

/// log I_nu(w), w > 0: its power series, all of whose terms are positive.
double log_bessel_i(double nu, double w);

double log_add(double a, double b);

/// Moments of the loss L = |b + v| - |b| for a shift v of given length, b standard spherical
/// Laplace noise in R^d. With |b| + |b + v| = |v| xi and |b| - |b + v| = |v| eta the density
/// separates, so that E exp(t L) is a sum of two positive products of Bessel functions.
class spherical_loss {
 public:
  spherical_loss(double length, int d);

  double length() const { return length_; }

  /// log E exp(t L), t > 0, rounded up.
  double log_moment(double t) const;

  /// Hockey-stick divergence E (1 - exp(epsilon - L))_+: the exact delta of the noise for a
  /// statistic that changes by this length. L = -length eta; 1-D integral over eta, rounded up.
  double delta(double epsilon) const;

 private:
  double order() const { return (static_cast<double>(d_) - 2.0) / 2.0; }

  double length_;
  int d_;
  double log_k_ = 0.0, log_k_next_ = 0.0, log_constant_ = 0.0;
};

/// Range of a loss function's slopes, for the bound below.
enum class slope_kind {
  pairs,     // [-y, M - y], y in [0, M]: logistic, counts. Unit of length M R, c = k0 R^2 / Lambda
  symmetric  // [-tau, tau] for every y: log-cosh. Unit of length tau R, c = 2 R^2 / Lambda
};

/// The point at which the proof splits the chord; at least 1 / sqrt 2 (glm.md, Lemma 2).
constexpr double chord_split = 0.7072;

/// Renyi divergence of objective perturbation with spherical Laplace noise, replace-one
/// (glm.md, Theorem 3). `reach` = 2 units / kappa: the longest shift; `c`: curvature over ridge.
class objective_renyi {
 public:
  objective_renyi(slope_kind kind, double reach, double c, int d);

  /// (order - 1) D_order, t = order - 1.
  double log_moment(double t) const;

 private:
  slope_kind kind_;
  double c_;
  spherical_loss two_, half_, long_, short_, diagonal_;
};

/// log of the delta at which Renyi divergences D_order + order rho imply (epsilon, delta)
/// (Canonne, Kamath and Steinke, 2020, Proposition 12); every order is a valid bound.
struct renyi_certificate {
  double log_delta;
  double order;
};

template <typename LogMoment>
renyi_certificate best_order(const LogMoment& log_moment, double rho, double epsilon) {
  const auto value = [&](double log_t) {
    const double t = std::exp(log_t);
    return log_moment(t) + t * ((t + 1.0) * rho - epsilon) - (t + 1.0) * std::log1p(1.0 / t) -
           std::log(t) + spherical_margin;
  };
  double best = 0.0, least = std::numeric_limits<double>::infinity();
  for (double x = -2.0; x <= 10.0; x += 0.5) {
    const double v = value(x);
    if (v < least) {
      least = v;
      best = x;
    }
    if (v > least + 50.0 && x > best + 1.0) break;
  }
  double low = best - 0.5, high = best + 0.5;
  for (int i = 0; i < 25; ++i) {
    const double left = low + 0.382 * (high - low), right = low + 0.618 * (high - low);
    if (value(left) < value(right))
      high = right;
    else
      low = left;
  }
  const double at = (low + high) / 2.0, v = value(at);
  if (v < least) {
    least = v;
    best = at;
  }
  return {std::min(0.0, least), std::exp(best) + 1.0};
}

/// Largest reach = 2 units / kappa at which objective perturbation, together with earlier and later
/// steps that cost rho-zCDP in total, is (epsilon, delta)-private; rounded down. Zero if there is
/// none.
struct objective_calibration {
  double reach;
  double c;      // the curvature over ridge that was assumed
  double order;  // of the certificate
  double log_delta;
};

objective_calibration calibrate_objective(slope_kind kind, double epsilon, double delta, double rho,
                                          double c, int d);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "spherical.cpp"
#endif
