// Exact discrete noise: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential
// Privacy" (2020), Algorithms 1-3. Integer arithmetic only; no floating-point probability anywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "../engine.hpp"

namespace dpsc {

__extension__ typedef unsigned __int128 uint128;

/// Uniform on {0, ..., bound - 1}, by rejection.
template <typename Engine>
uint128 uniform_below(uint128 bound, Engine& engine) {
  if (bound == 0) throw std::domain_error("uniform_below needs a positive bound");
  const uint128 last = bound - 1;
  const std::uint64_t high = static_cast<std::uint64_t>(last >> 64);
  const std::uint64_t low = static_cast<std::uint64_t>(last);
  const auto mask = [](std::uint64_t x) {  // smallest 2^j - 1 that is not below x
    for (int shift = 1; shift < 64; shift *= 2) x |= x >> shift;
    return x;
  };
  const std::uint64_t high_mask = mask(high);
  const std::uint64_t low_mask = high ? ~std::uint64_t{0} : mask(low);
  for (;;) {
    uint128 draw = high ? static_cast<uint128>(engine.bits() & high_mask) << 64 : 0;
    draw |= engine.bits() & low_mask;
    if (draw <= last) return draw;
  }
}

/// True with probability numerator / denominator (at most 1).
template <typename Engine>
bool bernoulli_ratio(uint128 numerator, uint128 denominator, Engine& engine) {
  return uniform_below(denominator, engine) < numerator;
}

/// True with probability exp(-numerator / denominator), for a ratio of at most 1 (Algorithm 1).
template <typename Engine>
bool bernoulli_exp_below_one(uint128 numerator, uint128 denominator, Engine& engine) {
  std::uint64_t k = 1;
  // Probability g / k as g times 1 / k, two draws: no product can overflow.
  while (bernoulli_ratio(numerator, denominator, engine) && bernoulli_ratio(1, k, engine)) ++k;
  return k % 2 == 1;
}

/// True with probability exp(-numerator / denominator) (Algorithm 1).
template <typename Engine>
bool bernoulli_exp(uint128 numerator, uint128 denominator, Engine& engine) {
  if (denominator == 0) throw std::domain_error("bernoulli_exp needs a positive denominator");
  for (; numerator > denominator; numerator -= denominator)
    if (!bernoulli_exp_below_one(1, 1, engine)) return false;
  return bernoulli_exp_below_one(numerator, denominator, engine);
}

/// Discrete Laplace with integer scale t: P(x) proportional to exp(-|x| / t) (Algorithm 2).
class discrete_laplace {
 public:
  explicit discrete_laplace(std::int64_t scale);

  template <typename Engine>
  std::int64_t operator()(Engine& engine) const {
    const uint128 t = static_cast<uint128>(scale_);
    for (;;) {
      const uint128 u = uniform_below(t, engine);
      if (!bernoulli_exp_below_one(u, t, engine)) continue;
      std::int64_t v = 0;
      while (bernoulli_exp_below_one(1, 1, engine)) ++v;
      // P(v >= 1024) = exp(-1024): stop before the sum could exceed 62 bits.
      if (v >= 1024) throw std::overflow_error("discrete Laplace draw out of range");
      const std::int64_t magnitude = static_cast<std::int64_t>(u) + scale_ * v;
      const bool negative = engine.bits() & 1U;
      if (negative && magnitude == 0) continue;  // or zero would count twice
      return negative ? -magnitude : magnitude;
    }
  }

 private:
  std::int64_t scale_;
};

/// Discrete Gaussian N_Z(0, numerator / denominator) (Algorithm 3): sensitivity D costs exactly
/// D^2 / (2 sigma^2) in zCDP (Theorem 4 there).
class discrete_gaussian {
 public:
  static constexpr std::int64_t max_variance = std::int64_t{1} << 56;

  explicit discrete_gaussian(std::int64_t numerator, std::int64_t denominator = 1);

  template <typename Engine>
  std::int64_t operator()(Engine& engine) const {
    const discrete_laplace proposal(proposal_scale_);
    const uint128 t = static_cast<uint128>(proposal_scale_);
    const uint128 num = static_cast<uint128>(numerator_);
    const uint128 den = static_cast<uint128>(denominator_);
    for (;;) {
      const std::int64_t y = proposal(engine);
      const std::uint64_t magnitude =
          y < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(y) : static_cast<std::uint64_t>(y);
      // Accept with probability exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)), written as a ratio:
      // (|y| t den - num)^2 / (2 num den t^2).
      if (magnitude >= static_cast<std::uint64_t>(128 * proposal_scale_)) {
        // The exponent is above 4096. Its first 4096 unit steps decide, except with probability
        // exp(-4096); and the square below would not fit in 128 bits.
        if (!bernoulli_exp(4096, 1, engine)) continue;
        throw std::overflow_error("discrete Gaussian draw out of range");
      }
      const uint128 scaled = magnitude * t * den;
      const uint128 distance = scaled > num ? scaled - num : num - scaled;
      if (bernoulli_exp(distance * distance, 2 * num * den * t * t, engine)) return y;
    }
  }

 private:
  std::int64_t numerator_;
  std::int64_t denominator_;
  std::int64_t proposal_scale_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "discrete.cpp"
#endif
