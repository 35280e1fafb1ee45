// Bodies of budget.hpp.
#pragma once

#include "budget.hpp"

namespace dpsc {

budget_too_small::budget_too_small()
    : std::domain_error("epsilon is too small for this panel: the noise does not fit") {}

total_budget::total_budget(double epsilon, double delta)
    : gaussian_(delta > 0.0), total_(epsilon), rho_(std::numeric_limits<double>::quiet_NaN()) {
  if (!gaussian_) return;
  const conversion shared = converted(epsilon, delta);
  total_ = shared.mu;
  rho_ = shared.rho;
}

double total_budget::exponent(double share) const {
  return gaussian_ ? exponential_exponent(mu(share)) : epsilon(share);
}

double total_budget::share_of_exponent(double exponent, double least, double most) const {
  const double share =
      gaussian_ ? std::pow(exponential_step_mu(exponent) / total_, 2.0) : exponent / total_;
  return std::min(most, std::max(least, share));
}

step_record total_budget::choice_record(const std::string& label, double exponent) const {
  const double none = std::numeric_limits<double>::quiet_NaN();
  return {label,
          "exponential",
          1.0,
          1.0 / exponent,
          gaussian_ ? none : exponent,
          gaussian_ ? exponential_step_mu(exponent) : none};
}

total_budget::conversion total_budget::converted(double epsilon, double delta) {
  thread_local conversion last{-1.0, -1.0, 0.0, 0.0};
  if (!(epsilon == last.epsilon && delta == last.delta))
    last = {epsilon, delta, gdp_budget(epsilon, delta), cdp_rho(epsilon, delta)};
  return last;
}

}  // namespace dpsc
