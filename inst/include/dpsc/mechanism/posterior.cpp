// Bodies of posterior.hpp.
#pragma once

#include "posterior.hpp"

namespace dpsc {

posterior_loss::posterior_loss(double leverage, double gamma, double error)
    : mu_(leverage), shift_(std::sqrt(gamma * leverage) * error / (1.0 + leverage)) {
  if (!(leverage >= 0.0 && gamma > 0.0 && std::isfinite(error)))
    throw std::domain_error("a posterior needs a leverage, a precision and an error");
  a_ = leverage / 2.0;
  b_ = -std::sqrt(gamma * leverage) * error;
  c_ = -0.5 * std::log1p(leverage) + gamma * leverage * error * error / (2.0 * (1.0 + leverage));
}

double posterior_loss::delta(double epsilon) const {
  if (mu_ == 0.0) return 0.0;
  return std::max(0.0, std::max(outside(epsilon), inside(-epsilon)));
}

double posterior_loss::epsilon(double goal) const {
  if (delta(0.0) <= goal) return 0.0;
  double low = 0.0, high = 1.0;
  while (delta(high) > goal) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double mid = (low + high) / 2.0;
    (delta(mid) > goal ? low : high) = mid;
  }
  return high;
}

bool posterior_loss::roots(double level, double& first, double& second) const {
  const double disc = b_ * b_ - 4.0 * a_ * (c_ - level);
  if (!(disc > 0.0)) return false;
  const double q = -0.5 * (b_ + (b_ < 0.0 ? -1.0 : 1.0) * std::sqrt(disc));
  first = q / a_;
  second = (c_ - level) / q;
  if (first > second) std::swap(first, second);
  return true;
}

double posterior_loss::log_between(double low, double high) {
  if (!(high > low)) return -std::numeric_limits<double>::infinity();
  // The tail without cancellation.
  const double one = low > 0.0 ? log_normal_cdf(-low) : log_normal_cdf(high);
  const double two = low > 0.0 ? log_normal_cdf(-high) : log_normal_cdf(low);
  return one + log1m_exp(std::min(two - one, -1e-300));
}

double posterior_loss::log_sum(double x, double y) {
  const double top = std::max(x, y);
  return std::isinf(top) ? top : top + std::log1p(std::exp(-std::fabs(x - y)));
}

double posterior_loss::outside(double e) const {
  double r = 0.0, s = 0.0;
  if (!roots(e, r, s)) return -std::expm1(e);
  const double own = log_sum(log_normal_cdf(r), log_normal_cdf(-s));
  const double other = log_sum(log_normal_cdf(moved(r)), log_normal_cdf(-moved(s)));
  return std::exp(own) - std::exp(e + other);
}

double posterior_loss::inside(double level) const {
  double r = 0.0, s = 0.0;
  if (!roots(level, r, s)) return 0.0;
  return std::exp(log_between(moved(r), moved(s))) - std::exp(-level + log_between(r, s));
}

double posterior_bound(double leverage, double gamma, double error, double delta) {
  const double tail = -std::log(delta);
  return leverage * (0.5 + tail) + 0.5 * gamma * std::min(leverage, 1.0) * error * error +
         error * std::sqrt(2.0 * gamma * leverage * tail);
}

double posterior_precision(double leverage, double error, double epsilon, double delta) {
  const double tail = -std::log(delta);
  const double left = epsilon - leverage * (0.5 + tail);
  if (!(left > 0.0)) return 0.0;
  // s^2 / 2 + s sqrt(2 tail) = left with s^2 = gamma leverage error^2, without cancellation.
  const double root = std::sqrt(2.0 * tail);
  const double s = 2.0 * left / (root + std::sqrt(root * root + 2.0 * left));
  return s * s / (leverage * error * error) * (1.0 - 1e-12);
}

namespace posterior_detail {

one_way::one_way(double whole, double total)
    : epsilon(whole / 2.0), delta(total / (1.0 + std::exp(whole / 2.0))) {}

double ops_gamma(double ridge, double n, const one_way& way) {
  // |x'fit| <= sqrt(leverage n) and <= sqrt(n / ridge) / 2.
  return posterior_precision(1.0 / ridge, 1.0 + 0.5 * std::sqrt(n / ridge), way.epsilon, way.delta);
}

}  // namespace posterior_detail

double ops_ridge(double n, double d, double epsilon, double delta) {
  const posterior_detail::one_way way(epsilon, delta);
  const double h = n / (3.0 * d);
  double best = 0.0, least = std::numeric_limits<double>::infinity();
  for (double ridge = 1.0; ridge < 1e12; ridge *= 1.05) {
    const double gamma = posterior_detail::ops_gamma(ridge, n, way);
    if (!(gamma > 0.0)) continue;
    const double bias = ridge / (h + ridge), error = bias * bias + d / (gamma * (h + ridge));
    if (error < least) {
      least = error;
      best = ridge;
    }
  }
  return best;
}

posterior_plan plan_ops(double n, double d, double epsilon, double delta, double ridge) {
  const posterior_detail::one_way way(epsilon, delta);
  posterior_plan plan;
  plan.ridge = ridge > 0.0 ? ridge : ops_ridge(n, d, epsilon, delta);
  plan.gamma = plan.ridge > 0.0 ? posterior_detail::ops_gamma(plan.ridge, n, way) : 0.0;
  if (!(plan.gamma > 0.0)) throw budget_too_small();
  const double none = std::numeric_limits<double>::quiet_NaN();
  plan.records.push_back({"posterior sample", "gaussian", none,
                          1.0 / std::sqrt(plan.gamma * plan.ridge), epsilon, none});
  return plan;
}

namespace posterior_detail {

double adaops_gamma(double target, double n, const one_way& way) {
  return posterior_precision(1.0 / target, 1.0 + std::sqrt(n / target), way.epsilon, way.delta);
}

}  // namespace posterior_detail

double adaops_target(double n, double d, double least, double lost,
                     const posterior_detail::one_way& way) {
  const double h = n / (3.0 * d);
  double best = least, lowest = std::numeric_limits<double>::infinity();
  for (double target = least; target < 1e12; target *= 1.05) {
    const double gamma = posterior_detail::adaops_gamma(target, n, way);
    if (!(gamma > 0.0)) continue;
    const double ridge = std::max(0.0, target + lost - h);
    const double bias = ridge / (h + ridge), error = bias * bias + d / (gamma * (h + ridge));
    if (error < lowest) {
      lowest = error;
      best = target;
    }
  }
  return best;
}

posterior_plan plan_adaops(double n, double d, double epsilon, double delta, double condition) {
  const double part = delta / 3.0, half = epsilon / 2.0;
  const posterior_detail::one_way way(half, part);
  posterior_plan plan;
  plan.adaptive = true;
  // One replaced row changes the smallest eigenvalue by at most one (Weyl), and rounding changes it
  // by at most two grid steps.
  const double sensitivity = std::ldexp(1.0, eigenvalue_bits) + 2.0;
  plan.variance = gaussian_vector_variance(sensitivity, gdp_budget(half, part));
  if (!(plan.variance < std::ldexp(1.0, 56))) throw budget_too_small();
  const double tail = std::sqrt(-2.0 * std::log(part));
  plan.allowance = std::ldexp(std::sqrt(plan.variance) * tail, -eigenvalue_bits) + 1e-4;
  const double least = (0.5 - std::log(way.delta)) / way.epsilon;
  plan.target = condition > 0.0 ? std::max(n / (d * condition), 2.0 * least)
                                : adaops_target(n, d, 2.0 * least, plan.allowance + 1.0, way);
  plan.gamma = posterior_detail::adaops_gamma(plan.target, n, way);
  if (!(plan.gamma > 0.0)) throw budget_too_small();
  const double none = std::numeric_limits<double>::quiet_NaN();
  plan.records.push_back({"smallest eigenvalue", "discrete_gaussian", sensitivity,
                          std::sqrt(plan.variance), none,
                          gaussian_vector_mu(sensitivity, plan.variance)});
  plan.records.push_back({"posterior sample", "gaussian", none,
                          1.0 / std::sqrt(plan.gamma * plan.target), half, none});
  return plan;
}

}  // namespace dpsc
