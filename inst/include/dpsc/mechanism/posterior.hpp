// One draw from the posterior of a linear regression as a private release (OPS; Wang, Fienberg and
// Smola, 2015), its exact per-person loss, and the repaired AdaOPS (Wang, 2019). Proof:
// inst/proofs/papers.md, sections 2 and 3.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../accountant/gaussian.hpp"
#include "budget.hpp"

namespace dpsc {

/// Loss of a person (x, y) added to rows with H = X'X + ridge I, when N(H^-1 X'y, H^-1 / gamma) is
/// drawn. `leverage` = x'H^-1 x and `error` = y - x'(fit without the person).
///
/// The log-ratio is a function of x'theta alone: a Z^2 + b Z + c, Z standard normal without the
/// person. Two normal tails in each direction give it exactly.
class posterior_loss {
 public:
  posterior_loss(double leverage, double gamma, double error);

  /// Smallest delta at epsilon, both directions.
  double delta(double epsilon) const;

  /// Smallest epsilon at delta, rounded up.
  double epsilon(double goal) const;

 private:
  /// Where a z^2 + b z + c = level; false if nowhere.
  bool roots(double level, double& first, double& second) const;

  /// z standardised by its distribution with the person.
  double moved(double z) const { return (z - shift_) * std::sqrt(1.0 + mu_); }

  static double log_between(double low, double high);

  static double log_sum(double x, double y);

  /// P(L > e) - exp(e) P'(L > e): outside the roots.
  double outside(double e) const;

  /// P'(L < level) - exp(-level) P(L < level): between the roots.
  double inside(double level) const;

  double mu_, shift_, a_ = 0.0, b_ = 0.0, c_ = 0.0;
};

/// Upper bound of this epsilon at delta for every leverage and |error| up to the given ones, both
/// directions (papers.md, Lemma 2.2); increasing in all three.
double posterior_bound(double leverage, double gamma, double error, double delta);

/// Largest gamma at which posterior_bound() is at most epsilon; 0: there is none.
double posterior_precision(double leverage, double error, double epsilon, double delta);

/// Rows (x, y) with |x| <= 1, |y| <= 1; n public; one row replaced. PUBLIC.
struct posterior_plan {
  std::vector<step_record> records;
  bool adaptive = false;
  double ridge = 0.0;      // OPS
  double target = 0.0;     // AdaOPS: the smallest eigenvalue to be ensured
  double variance = 0.0;   // AdaOPS: of the noise on the smallest eigenvalue, in grid steps
  double allowance = 0.0;  // AdaOPS: largest error of that noise
  double gamma = 0.0;
};

constexpr int eigenvalue_bits = 20;

namespace posterior_detail {

/// Replacing a row is removing one and adding one: half of epsilon each, and delta (1 + exp(epsilon
/// / 2)) in total.
struct one_way {
  double epsilon, delta;
  one_way(double whole, double total);
};

double ops_gamma(double ridge, double n, const one_way& way);

}  // namespace posterior_detail

/// Ridge of OPS by a public rule: it minimises the joint error from the ridge and the posterior's
/// variance, for evenly distributed squared length of the rows and a fit of length one.
double ops_ridge(double n, double d, double epsilon, double delta);

posterior_plan plan_ops(double n, double d, double epsilon, double delta, double ridge);

namespace posterior_detail {

double adaops_gamma(double target, double n, const one_way& way);

}  // namespace posterior_detail

/// Target of AdaOPS by the public rule of ops_ridge(). The ridge is the target minus the
/// eigenvalue, plus the part `lost` to its noise.
double adaops_target(double n, double d, double least, double lost,
                     const posterior_detail::one_way& way);

/// `condition`: largest acceptable condition number; the target is n / (d condition), or more if
/// the budget needs it. 0: by the public rule.
posterior_plan plan_adaops(double n, double d, double epsilon, double delta, double condition);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "posterior.cpp"
#endif
