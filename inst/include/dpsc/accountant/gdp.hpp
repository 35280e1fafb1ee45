// Gaussian differential privacy (Dong, Roth and Su, 2022) of every step in the package: shifts mu
// of exponential draws and of discrete Gaussian noise, their sum of squares, and the conversion of
// a total to epsilon and delta. Proofs: inst/proofs/accounting.md. All rounding is conservative for
// privacy.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>

#include "gaussian.hpp"

namespace dpsc {

/// Relative margin of every rounded result; errors of the formulas are below 1e-14.
constexpr double gdp_margin = 1e-12;

/// Smallest mu such that every choice whose log-likelihood ratios span at most `exponent` is
/// mu-GDP, rounded up: 2 probit(logistic(exponent / 2)).
double exponential_step_mu(double exponent);

/// Largest exponent whose exponential_step_mu() is at most mu, rounded down: 2 logit(Phi(mu / 2)).
double exponential_exponent(double mu);

/// Largest mu such that mu-GDP is (epsilon, delta)-private, rounded down. The margin also covers
/// discreteness, even for a sum of 1e130 terms.
double gdp_budget(double epsilon, double delta);

/// Smallest epsilon such that mu-GDP is (epsilon, delta)-private, rounded up; the margin of
/// gdp_budget() is added to mu.
double gdp_epsilon(double mu, double delta);

/// mu of steps taken one after the other, adaptively: root of the sum of squares, rounded up.
template <typename Iterator>
double gdp_compose(Iterator first, Iterator last) {
  double largest = 0.0, sum = 0.0;
  for (Iterator it = first; it != last; ++it) {
    if (!(*it >= 0.0)) throw std::domain_error("mu must not be negative");
    largest = std::fmax(largest, *it);
  }
  if (largest == 0.0 || std::isinf(largest)) return largest;
  for (Iterator it = first; it != last; ++it) sum += (*it / largest) * (*it / largest);
  return largest * std::sqrt(sum) * (1.0 + 1e-14);
}

/// Variance that discreteness adds to a discrete Gaussian: N_Z(0, V) covers N(0, V - 16) up to a
/// factor 1 +- 1e-136.
constexpr double discrete_variance = 16.0;

/// Variance V of integer noise on an integer vector of L2 sensitivity `sensitivity`, so that the
/// step is mu-GDP: sensitivity^2 / (V - 16) <= mu^2. There is no upper limit: the caller refuses
/// noise that its sampler cannot draw.
double gaussian_vector_variance(double sensitivity, double mu);

/// Even variance V for the Gram matrix of vectors of squared norm at most `bound` (integers): V on
/// its diagonal, V / 2 off it, so that the step is mu-GDP: 2 bound^2 / (V - 32) <= mu^2.
double gaussian_step_variance(double bound, double mu);

/// Inverses of the two functions above: mu for a given variance, rounded up.
double gaussian_vector_mu(double sensitivity, double variance);

double gaussian_step_mu(double bound, double variance);

/// L1 sensitivity of uu' on and above the diagonal, every one of the m (m + 1) / 2 entries free and
/// |u|^2 <= bound, when one u is replaced; rounded up.
double laplace_outer_sensitivity(double bound, double m);

/// L1 sensitivity of (ww' on and above the diagonal, K w), w in R^d, |w| <= radius, K a constant
/// whose square is not released, when one w is replaced; rounded up. It is the largest value over c
/// of A sqrt(1 - c^2) + C sqrt(1 - c) (c: cosine of the angle between the two w), in closed form.
double laplace_gram_sensitivity(double radius, double constant, double d);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "gdp.cpp"
#endif
