// The square-root factor of prefix sums, c_k = choose(2k, k) / 4^k (Fichtenberger, Henzinger and
// Upadhyay, 2023), and its approximation by a few geometric sequences (Dvijotham, McMahan,
// Pillutla, Steinke and Thakurta, 2024) with weights in closed form.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace dpsc {

/// c_0 .. c_{T-1} as integer multiples of 1/4096.
inline std::vector<std::int64_t> integer_root_coefficients(std::int64_t horizon) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(horizon));
  double c = 1.0;
  for (std::int64_t k = 0; k < horizon; ++k) {
    if (k > 0) c *= (2.0 * static_cast<double>(k) - 1.0) / (2.0 * static_cast<double>(k));
    out[static_cast<std::size_t>(k)] = static_cast<std::int64_t>(std::llround(4096.0 * c));
  }
  return out;
}

/// C(x) = sum_j weight_j / (1 - lambda_j x), lambda_j = 1 - step_j 2^-shift_j, weight_j in 2^-30.
struct buffer_constants {
  std::vector<std::int64_t> step, weight;
  std::vector<int> shift;

  std::size_t size() const { return step.size(); }
  double rate(std::size_t j) const { return std::ldexp(static_cast<double>(step[j]), -shift[j]); }
  double lambda(std::size_t j) const { return 1.0 - rate(j); }
  double omega(std::size_t j) const { return std::ldexp(static_cast<double>(weight[j]), -30); }
};

/// c_k = (1/pi) int_0^1 l^k (l (1-l))^{-1/2} dl. With l = 1/(1 + exp(-y)) it is an integral over
/// the line of a function that the trapezoidal rule integrates with an error of exp(-pi^2/h); mass
/// beyond the last node is added to this node, and mass before the first node to l = 0.
inline buffer_constants root_buffers(double horizon) {
  constexpr double h = 1.8, pi = 3.14159265358979323846;
  buffer_constants out;
  double total = 0.0;
  std::vector<double> omega;
  const double last = std::log(horizon) + 1.5;
  for (double y = -1.0; y <= last; y += h) {
    const double rate = 1.0 / (1.0 + std::exp(y));  // 1 - lambda
    int exponent = 0;
    std::frexp(rate, &exponent);
    const int shift = 16 - exponent;  // 16 bits of mantissa
    out.step.push_back(std::llround(std::ldexp(rate, shift)));
    out.shift.push_back(shift);
    double w = h * std::sqrt(rate * (1.0 - rate)) / pi;
    if (y + h > last) {
      const double edge = 1.0 / (1.0 + std::exp(-(y + h / 2)));
      w += 1.0 - 2.0 / pi * std::asin(std::sqrt(edge));
    }
    omega.push_back(w);
    total += w;
  }
  for (const double w : omega) out.weight.push_back(std::llround(std::ldexp(w, 30)));
  out.step.insert(out.step.begin(), 1);
  out.shift.insert(out.shift.begin(), 0);
  out.weight.insert(out.weight.begin(), std::llround(std::ldexp(std::fmax(1.0 - total, 0.0), 30)));
  return out;
}

}  // namespace dpsc
