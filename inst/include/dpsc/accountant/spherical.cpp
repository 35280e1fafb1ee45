// Bodies of spherical.hpp.
#pragma once

#include "spherical.hpp"

namespace dpsc {

double log_bessel_k(double nu, double z) {
  if (!(nu >= 0.0 && z > 0.0)) throw std::domain_error("a Bessel function outside its range");
  constexpr double step = 1.0 / 64.0;
  const auto log_term = [&](double t) {
    return -z * std::cosh(t) + nu * t + std::log1p(std::exp(-2.0 * nu * t)) - std::log(2.0);
  };
  double top = log_term(0.0), sum = 0.5;  // in units of exp(top)
  for (long k = 1;; ++k) {
    const double t = static_cast<double>(k) * step, term = log_term(t);
    if (term > top) {
      sum = sum * std::exp(top - term) + 1.0;
      top = term;
    } else {
      sum += std::exp(term - top);
    }
    // Beyond the peak, where the terms are negligible.
    if (z * std::sinh(t) > nu && term < top - 60.0) break;
  }
  return top + std::log(sum * step);
}

double log_bessel_i(double nu, double w) {
  if (!(nu >= 0.0 && w > 0.0)) throw std::domain_error("a Bessel function outside its range");
  const double quarter = w * w / 4.0;
  double term = 1.0, sum = 1.0, scale = 0.0;
  for (double k = 1.0;; k += 1.0) {
    const double ratio = quarter / (k * (k + nu));
    term *= ratio;
    sum += term;
    if (sum > 1e200) {
      term *= 1e-200;
      sum *= 1e-200;
      scale += 200.0 * std::log(10.0);
    }
    if (ratio < 0.5 && term < 1e-18 * sum) break;
  }
  return scale + std::log(sum) + nu * std::log(w / 2.0) - std::lgamma(nu + 1.0);
}

double log_add(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log1p(std::exp(-std::fabs(a - b)));
}

spherical_loss::spherical_loss(double length, int d) : length_(length), d_(d) {
  if (!(length >= 0.0 && std::isfinite(length)) || d < 1)
    throw std::domain_error("a shift must be a length, in one dimension at least");
  if (length == 0.0 || d == 1) return;
  const double nu = order(), pi = 3.14159265358979323846;
  const double z = length / 2.0, dim = static_cast<double>(d);
  log_k_ = log_bessel_k(nu, z);
  log_k_next_ = log_bessel_k(nu + 1.0, z);
  // Areas of the spheres of dimension d - 2 and d - 1, the noise's constant, the Jacobian.
  log_constant_ = dim * std::log(z) + std::lgamma(dim / 2.0) - std::lgamma((dim - 1.0) / 2.0) -
                  0.5 * std::log(pi) - std::lgamma(dim) + std::lgamma(nu + 0.5) +
                  std::lgamma(nu + 1.5);
}

double spherical_loss::log_moment(double t) const {
  if (length_ == 0.0) return 0.0;
  if (d_ == 1) {
    const double a = t + 1.0;
    return log_add(std::log(a / (2.0 * a - 1.0)) + t * length_,
                   std::log(t / (2.0 * a - 1.0)) - a * length_) +
           spherical_margin;
  }
  const double nu = order(), z = length_ / 2.0, w = z * (1.0 + 2.0 * t);
  const double lz = std::log(2.0 / z), lw = std::log(2.0 / w);
  const double one = nu * lz + (nu + 1.0) * lw + log_k_ + log_bessel_i(nu + 1.0, w);
  const double two = (nu + 1.0) * lz + nu * lw + log_k_next_ + log_bessel_i(nu, w);
  return log_constant_ + log_add(one, two) + spherical_margin;
}

double spherical_loss::delta(double epsilon) const {
  if (length_ <= epsilon) return 0.0;
  if (d_ == 1) return -std::expm1((epsilon - length_) / 2.0) * (1.0 + spherical_margin);
  const double nu = order(), z = length_ / 2.0, pi = 3.14159265358979323846;
  // Density of eta: (1 - eta^2)^(nu - 1/2) exp(-z eta) (A(nu + 1) + (1 - eta^2) A(nu)).
  const auto log_a = [&](double m, double log_k) {
    return std::lgamma(m + 0.5) - 0.5 * std::log(pi) + m * std::log(2.0 / z) + log_k;
  };
  const double a = log_a(nu, log_k_), b = log_a(nu + 1.0, log_k_next_);
  const double dim = static_cast<double>(d_);
  const double front = dim * std::log(z) + std::lgamma(dim / 2.0) - std::lgamma((dim - 1.0) / 2.0) -
                       0.5 * std::log(pi) - std::lgamma(dim);
  // eta = -cos phi, phi in [0, phi1]: the power of sin phi is d - 2, never negative.
  const double end = std::acos(std::min(1.0, epsilon / length_));
  constexpr int cells = 4096;  // Simpson
  const double h = end / cells;
  double sum = 0.0;
  for (int i = 0; i <= cells; ++i) {
    const double phi = h * i, s = std::sin(phi), c = std::cos(phi);
    if (s <= 0.0 && d_ > 2) continue;
    const double power = d_ > 2 ? (dim - 2.0) * std::log(s) : 0.0;
    const double value = std::exp(front + power + z * c + log_add(b, a + 2.0 * std::log(s)));
    const double gain = -std::expm1(epsilon - length_ * c);
    sum += (i == 0 || i == cells ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * value * std::max(0.0, gain);
  }
  return std::min(1.0, sum * h / 3.0 * (1.0 + 1e-6));
}

objective_renyi::objective_renyi(slope_kind kind, double reach, double c, int d)
    : kind_(kind),
      c_(c),
      two_(reach, d),
      half_(reach / 2.0, d),
      long_((1.0 + chord_split) * reach / 2.0, d),
      short_(kind == slope_kind::pairs ? chord_split * reach / 2.0
                                       : std::hypot(1.0, chord_split) * reach / 2.0,
             d),
      diagonal_(kind == slope_kind::pairs ? 0.0 : reach / std::sqrt(2.0), d) {}

double objective_renyi::log_moment(double t) const {
  const double a = chord_split;
  const auto sum = [](std::initializer_list<double> logs) {
    double out = -std::numeric_limits<double>::infinity();
    for (double x : logs) out = log_add(out, x);
    return out;
  };
  const double log2 = std::log(2.0);
  if (kind_ == slope_kind::pairs) {
    const double one = half_.log_moment(t);
    return sum({two_.log_moment(t), log2 + one, 0.0,
                t * c_ * (1.0 - a) + sum({long_.log_moment(t), one, short_.log_moment(t), 0.0}),
                t * c_ * a * a + log_add(one, 0.0)});
  }
  return log2 + sum({two_.log_moment(t), diagonal_.log_moment(t),
                     t * c_ * (1.0 - a) + log_add(long_.log_moment(t), short_.log_moment(t)),
                     t * c_ * (1.0 + a * a) / 2.0 + half_.log_moment(t)});
}

objective_calibration calibrate_objective(slope_kind kind, double epsilon, double delta, double rho,
                                          double c, int d) {
  if (!(epsilon > 0.0 && delta > 0.0 && delta < 1.0 && rho >= 0.0 && c > 0.0))
    throw std::domain_error("a calibration needs a budget");
  const double target = std::log(delta) + std::log1p(-1e-6);
  const auto certificate = [&](double reach) {
    const objective_renyi bound(kind, reach, c, d);
    return best_order([&](double t) { return bound.log_moment(t); }, rho, epsilon);
  };
  double low = 0.0, high = epsilon / 4.0;
  while (certificate(high).log_delta <= target) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < 60 && high - low > 1e-9 * high; ++i) {
    const double mid = (low + high) / 2.0;
    (certificate(mid).log_delta <= target ? low : high) = mid;
    if (low == 0.0 && high < 1e-6 * epsilon) break;
  }
  objective_calibration out{low * (1.0 - 1e-6), c, 0.0, 0.0};
  if (!(out.reach > 0.0)) return {0.0, c, 0.0, 0.0};
  const renyi_certificate last = certificate(out.reach);
  if (!(last.log_delta <= target)) throw std::logic_error("a calibration did not come out");
  out.order = last.order;
  out.log_delta = last.log_delta;
  return out;
}

}  // namespace dpsc
