// The Gaussian mechanism, exactly: Balle and Wang (2018), Theorem 8, evaluated in log space, so
// that a delta of 1e-300 is as accurate as a delta of 1e-5.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>

namespace dpsc {

/// log of the standard normal distribution function, with full relative accuracy in the tail.
double log_normal_cdf(double x);

/// log(1 - exp(x)) for x < 0.
double log1m_exp(double x);

/// A logarithm and a bound on its rounding error.
struct log_value {
  double log;
  double error;
};

/// log of the smallest delta for which mu-Gaussian differential privacy implies (epsilon, delta):
/// Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu).
log_value log_gaussian_delta(double epsilon, double mu);

/// Largest mu (sensitivity over standard deviation) that is (epsilon, delta)-private, rounded down.
double gaussian_mu(double epsilon, double delta);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "gaussian.cpp"
#endif
