// What a release may spend, in the one currency of its steps, and what each step costs.
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

/// An epsilon whose noise the exact samplers cannot draw. Public; found before anything is spent.
struct budget_too_small : std::domain_error {
  budget_too_small()
      : std::domain_error("epsilon is too small for this panel: the noise does not fit") {}
};

/// A step as it is told in a release. PUBLIC.
struct step_record {
  std::string label;
  std::string law;
  double sensitivity;
  double scale;
  double epsilon;  // pure steps, else NaN
  double mu;       // Gaussian differential privacy, else NaN
};

/// (epsilon, delta) as a total to be shared: squares of mu with delta > 0, epsilon without.
class total_budget {
 public:
  total_budget(double epsilon, double delta)
      : gaussian_(delta > 0.0), total_(epsilon), rho_(std::numeric_limits<double>::quiet_NaN()) {
    if (!gaussian_) return;
    const conversion shared = converted(epsilon, delta);
    total_ = shared.mu;
    rho_ = shared.rho;
  }

  bool gaussian() const { return gaussian_; }
  /// mu, or epsilon.
  double total() const { return total_; }
  /// Of the conversion through zCDP: what public rules are written in.
  double rho() const { return rho_; }

  /// mu of a step that holds a share of the budget (gaussian only).
  double mu(double share) const { return std::sqrt(share) * total_; }
  double epsilon(double share) const { return share * total_; }

  /// Exponent of a choice whose losses move within a range of one.
  double exponent(double share) const {
    return gaussian_ ? exponential_exponent(mu(share)) : epsilon(share);
  }

  /// The share that an exponent needs, within limits.
  double share_of_exponent(double exponent, double least, double most) const {
    const double share =
        gaussian_ ? std::pow(exponential_step_mu(exponent) / total_, 2.0) : exponent / total_;
    return std::min(most, std::max(least, share));
  }

  step_record choice_record(const std::string& label, double exponent) const {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {label,
            "exponential",
            1.0,
            1.0 / exponent,
            gaussian_ ? none : exponent,
            gaussian_ ? exponential_step_mu(exponent) : none};
  }

 private:
  struct conversion {
    double epsilon, delta, mu, rho;
  };

  /// A call asks for its own budget several times, a simulation for one over and over: the last one
  /// is kept.
  static conversion converted(double epsilon, double delta) {
    thread_local conversion last{-1.0, -1.0, 0.0, 0.0};
    if (!(epsilon == last.epsilon && delta == last.delta))
      last = {epsilon, delta, gdp_budget(epsilon, delta), cdp_rho(epsilon, delta)};
    return last;
  }

  bool gaussian_;
  double total_, rho_;
};

}  // namespace dpsc
