// Bodies of elementary.hpp.
#pragma once

#include "elementary.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace dpsc {

double proven_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  if (x < -708.0) return 0.0;
  // x = k log 2 + r, |r| <= .35; the first part of log 2 has 32 bits, so that k times it is exact.
  const double k = std::nearbyint(x * 0x1.71547652b82fep+0);
  const double r = (x - k * 0x1.62e42fee00000p-1) - k * 0x1.a39ef35793c76p-33;
  // Taylor, to the 13th power: the remainder is below 2^-57.
  static constexpr double inverse_factorials[] = {1.0,
                                                  1.0 / 2,
                                                  1.0 / 6,
                                                  1.0 / 24,
                                                  1.0 / 120,
                                                  1.0 / 720,
                                                  1.0 / 5040,
                                                  1.0 / 40320,
                                                  1.0 / 362880,
                                                  1.0 / 3628800,
                                                  1.0 / 39916800,
                                                  1.0 / 479001600,
                                                  1.0 / 6227020800.0};
  double sum = 0.0;
  for (int n = 12; n >= 0; --n) sum = inverse_factorials[n] + sum * r;
  return std::ldexp(1.0 + sum * r, static_cast<int>(k));
}

double proven_tanh(double x) {
  const double e = proven_exp(-2.0 * std::fabs(x));
  return std::copysign((1.0 - e) / (1.0 + e), x);
}

double checked_log(double x) {
  const double out = std::log(x);
  if (!(std::fabs(proven_exp(out) / x - 1.0) <= 0x1.0p-50 + 0x1.0p-52 * out))
    throw std::logic_error("the library's logarithm is not accurate");
  return out;
}

}  // namespace dpsc
