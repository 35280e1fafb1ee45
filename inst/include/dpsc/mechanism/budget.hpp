// Budget of a release, in the common unit of its steps, and the cost of each step.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../accountant/gdp.hpp"
#include "../accountant/zcdp.hpp"

namespace dpsc {

/// An epsilon whose noise the exact samplers cannot draw. Public; detected before any budget is
/// spent.
struct budget_too_small : std::domain_error {
  budget_too_small();
};

/// A step as recorded in a release. PUBLIC.
struct step_record {
  std::string label;
  std::string law;
  double sensitivity;
  double scale;
  double epsilon;  // pure steps, else NaN
  double mu;       // Gaussian differential privacy, else NaN
};

/// (epsilon, delta) as a total to be divided: squares of mu if delta > 0, else epsilon.
class total_budget {
 public:
  total_budget(double epsilon, double delta);

  bool gaussian() const { return gaussian_; }
  /// mu, or epsilon.
  double total() const { return total_; }
  /// rho by the conversion through zCDP, the unit of public rules.
  double rho() const { return rho_; }

  /// mu of a step that gets a share of the budget (gaussian only).
  double mu(double share) const { return std::sqrt(share) * total_; }
  double epsilon(double share) const { return share * total_; }

  /// Exponent of a choice whose losses change within a range of one.
  double exponent(double share) const;

  /// The share that an exponent needs, within limits.
  double share_of_exponent(double exponent, double least, double most) const;

  step_record choice_record(const std::string& label, double exponent) const;

 private:
  struct conversion {
    double epsilon, delta, mu, rho;
  };

  /// A call computes its budget several times, and a simulation very often: the last budget is
  /// cached.
  static conversion converted(double epsilon, double delta);

  bool gaussian_;
  double total_, rho_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "budget.cpp"
#endif
