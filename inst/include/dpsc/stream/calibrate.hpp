// From a budget to integer noise: the largest effect of one person on everything that a stream
// releases, and the grid of an entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "buffered.hpp"
#include "coefficients.hpp"
#include "toeplitz.hpp"
#include "tree.hpp"

namespace dpsc {

/// Public facts about a stream before it starts. A person has at most `times` entries, at least
/// `apart` steps from each other.
struct stream_facts {
  std::string noise;      // "toeplitz", "tree" or "blt"
  std::string shape;      // "vector", "gram", "range" or "category"
  Eigen::Index size = 1;  // entries of a vector; variables of a gram; cells of a category
  std::int64_t horizon = 1;
  std::int64_t times = 1, apart = 1;
  double rho = 0.0;      // infinite: no noise
  double epsilon = 0.0;  // pure budget, if rho is 0

  Eigen::Index dimension() const { return shape == "gram" ? size * (size + 1) / 2 : size; }
};

/// The noise of a stream. An increment is a vector of integers with |x| <= unit (vector), w w' with
/// |w| <= unit (gram), entries in [0, unit] (range), one cell of `unit` (category).
struct stream_plan {
  stream_facts facts;
  std::int64_t unit = 0;
  int grid = 0;                     // binary places of u ("blt", "toeplitz")
  double reach = 0.0;               // factor from the shift of one entry to that of the releases
  double sensitivity = 0.0;         // of all releases together, in units of the noise
  std::vector<std::int64_t> scale;  // by coordinate
  bool gaussian = true;
  double rho = 0.0, epsilon = 0.0;  // the spent budget

  coordinate_noise noise() const { return {gaussian, scale}; }
  /// Largest absolute entry of an increment.
  double largest() const {
    const auto u = static_cast<double>(unit);
    return facts.shape == "gram" ? u * u : u;
  }
};

namespace calibrate_detail {

inline double squared_tree_reach(const stream_facts& f) {
  double out = 0.0;
  for (int l = 0; l < tree_sums::count_levels(f.horizon); ++l) {
    // A node of 2^l steps holds at most `inside` entries of one person.
    const std::int64_t inside =
        std::min(f.times, 1 + ((std::int64_t{1} << l) - 1) / std::max<std::int64_t>(f.apart, 1));
    const double full = static_cast<double>(f.times / inside);
    const double rest = static_cast<double>(f.times % inside);
    out += full * static_cast<double>(inside) * static_cast<double>(inside) + rest * rest;
  }
  return out;
}

/// |sum_j C e_{i_j}|^2 for i_j = 1 + (j - 1) apart, the worst pattern: C is non-negative and
/// non-increasing, so every inner product is largest for early and close columns. `product(gap,
/// terms)` is sum_{n < terms} c_n c_{n + gap}.
template <typename Product>
double squared_toeplitz_reach(const stream_facts& f, Product product) {
  const std::int64_t most =
      std::min(f.times, 1 + (f.horizon - 1) / std::max<std::int64_t>(f.apart, 1));
  double out = 0.0;
  for (std::int64_t j = 0; j < most; ++j)
    for (std::int64_t i = 0; i <= j; ++i)
      out += (i == j ? 1.0 : 2.0) * product((j - i) * f.apart, f.horizon - j * f.apart);
  return out;
}

inline double squared_reach(const stream_facts& f) {
  if (f.noise == "tree") return squared_tree_reach(f);
  if (f.noise == "toeplitz") {
    const auto c = integer_root_coefficients(f.horizon);
    return squared_toeplitz_reach(f, [&](std::int64_t gap, std::int64_t terms) {
      double sum = 0.0;  // whole numbers below 2^53: exact
      for (std::int64_t n = 0; n < terms; ++n)
        sum += static_cast<double>(c[static_cast<std::size_t>(n)]) *
               static_cast<double>(c[static_cast<std::size_t>(n + gap)]);
      return sum;
    });
  }
  const buffer_constants b = root_buffers(static_cast<double>(f.horizon));
  return squared_toeplitz_reach(f, [&](std::int64_t gap, std::int64_t terms) {
    double sum = 0.0;
    for (std::size_t j = 0; j < b.size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) {
        const double log_both = std::log1p(-b.rate(j)) + std::log1p(-b.rate(k));
        const double rest = b.rate(j) + b.rate(k) - b.rate(j) * b.rate(k);
        sum += b.omega(j) * b.omega(k) *
               (gap == 0 ? 1.0 : std::pow(b.lambda(k), static_cast<double>(gap))) *
               -std::expm1(static_cast<double>(terms) * log_both) / rest;
      }
    return sum * (1.0 + 1e-9);
  });
}

/// L2 shift of one increment when one person's entry is replaced, for unit u.
inline double shift(const stream_facts& f, double u) {
  if (f.shape == "vector") return 2.0 * u;
  if (f.shape == "gram") return std::sqrt(2.0) * u * u;
  if (f.shape == "range") return std::sqrt(static_cast<double>(f.size)) * u;
  return (f.size > 1 ? std::sqrt(2.0) : 1.0) * u;
}

inline double unit_for_shift(const stream_facts& f, double value) {
  if (f.shape == "gram") return std::sqrt(value / std::sqrt(2.0));
  return value / shift(f, 1.0);
}

}  // namespace calibrate_detail

struct budget_error : std::runtime_error {
  budget_error() : std::runtime_error("the budget is too small for the exact sampler") {}
};

inline stream_plan plan_stream(const stream_facts& f) {
  namespace detail = calibrate_detail;
  const bool buffered = f.noise == "blt";
  if (!buffered && f.noise != "tree" && f.noise != "toeplitz")
    throw std::invalid_argument("unknown noise of a stream");
  if (f.shape != "vector" && f.shape != "gram" && f.shape != "range" && f.shape != "category")
    throw std::invalid_argument("unknown shape of a stream");
  if (f.size < 1 || f.horizon < 1 || f.horizon > (std::int64_t{1} << 40) || f.times < 1 ||
      f.apart < 1)
    throw std::invalid_argument("sizes of a stream must be positive");
  if (f.noise == "toeplitz" && f.horizon > toeplitz_sums::max_horizon)
    throw std::domain_error("Toeplitz noise needs a horizon to 4096");

  constexpr double sigma_limit = 67108864.0;  // 2^26: a power of two draws fastest
  const double finest = f.shape == "gram" ? 2048.0 : 1048576.0;
  const Eigen::Index d = f.dimension();
  stream_plan out;
  out.facts = f;
  out.scale.assign(static_cast<std::size_t>(d), 0);
  out.reach = std::sqrt(detail::squared_reach(f)) * (1.0 + 1e-12);
  if (std::isinf(f.rho)) {
    out.unit = static_cast<std::int64_t>(finest);
    out.grid = !buffered || f.shape == "gram" ? 0 : 4;
    out.rho = f.rho;
    return out;
  }
  if (!(f.rho > 0.0)) {  // pure: discrete Laplace on every node, and L1 norms
    if (f.noise != "tree" || !(f.epsilon > 0.0) || f.shape == "vector" || f.shape == "gram")
      throw std::invalid_argument("pure budgets need sums by trees");
    out.gaussian = false;
    out.unit = 65536;
    const double one = (f.shape == "range" ? static_cast<double>(d)
                        : d > 1            ? 2.0
                                           : 1.0) *
                       static_cast<double>(out.unit);
    out.sensitivity = one * static_cast<double>(tree_sums::count_levels(f.horizon)) *
                      static_cast<double>(f.times);
    const double scale = std::ceil(out.sensitivity / f.epsilon * (1.0 + 1e-12));
    if (!(scale < std::ldexp(1.0, 50))) throw budget_error();
    out.scale.assign(static_cast<std::size_t>(d), static_cast<std::int64_t>(scale));
    out.epsilon = out.sensitivity / scale;
    return out;
  }

  const double room = sigma_limit * std::sqrt(2.0 * f.rho);
  double extra = 0.0;
  if (f.noise != "tree") {  // u on a grid that permits a fine unit
    const double coarse = f.shape == "gram" ? 1024.0 : 65536.0;
    const double places = std::floor(std::log2(room / (out.reach * detail::shift(f, coarse))));
    out.grid = static_cast<int>(std::min(std::max(places, -30.0), buffered ? 20.0 : 0.0));
    const double weights =
        f.shape == "gram" ? 2.0 * static_cast<double>(d) : static_cast<double>(d);
    const double rounding =
        buffered ? buffered_sums::rounding(root_buffers(static_cast<double>(f.horizon)), out.grid)
                 : (out.grid < 0 ? 1.0 : 0.0);
    extra = rounding * std::sqrt(weights * static_cast<double>(f.horizon));
  }
  const double per_shift = out.reach * std::ldexp(1.0, out.grid);
  const double unit = std::min(
      std::floor(detail::unit_for_shift(f, (room - extra) / per_shift) * (1.0 - 1e-12)), finest);
  if (!(unit >= 8.0)) throw budget_error();
  out.unit = static_cast<std::int64_t>(unit);
  out.sensitivity = per_shift * detail::shift(f, unit) * (1.0 + 1e-12) + extra;
  const double least = out.sensitivity / std::sqrt(2.0 * f.rho) * (1.0 + 1e-12);
  const double sigma = unit < finest ? sigma_limit : std::ceil(least);
  if (!(sigma >= least) || !(sigma <= sigma_limit)) throw budget_error();
  out.rho = out.sensitivity * out.sensitivity / (2.0 * sigma * sigma);
  out.scale.assign(static_cast<std::size_t>(d), static_cast<std::int64_t>(sigma));
  if (f.shape == "gram") {  // off the diagonal an entry counts twice in |.|_F: half the variance
    const auto half = static_cast<std::int64_t>(std::ceil(sigma * std::sqrt(0.5) * (1.0 + 1e-12)));
    std::size_t at = 0;
    for (Eigen::Index j = 0; j < f.size; ++j)
      for (Eigen::Index i = j; i < f.size; ++i, ++at)
        if (i != j) out.scale[at] = half;
  }
  return out;
}

}  // namespace dpsc
