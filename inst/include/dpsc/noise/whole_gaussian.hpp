// Exact discrete Gaussian with an integer standard deviation: Karney (2016), "Sampling exactly from
// the normal distribution", Algorithm D with mean 0. It needs a half to a fifth of the random bits
// that discrete.hpp uses, which takes any variance; streams draw one integer per step and
// coordinate.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "discrete.hpp"

namespace dpsc {

/// Returns an engine's 64-bit numbers in quarters, since a decision seldom needs more than 16 bits.
template <typename Engine>
class quartered {
 public:
  explicit quartered(Engine& engine) : engine_(engine) {}
  std::uint64_t bits() { return engine_.bits(); }
  std::uint16_t quarter() {
    if (left_ == 0) {
      word_ = engine_.bits();
      left_ = 4;
    }
    const auto out = static_cast<std::uint16_t>(word_);
    word_ >>= 16;
    --left_;
    return out;
  }

 private:
  Engine& engine_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

/// True with probability exp(-1/2), by lazy comparison with its binary expansion.
template <typename Engine>
bool bernoulli_exp_half(quartered<Engine>& engine) {
  // floor(exp(-1/2) 2^256), most significant digits first.
  static constexpr std::uint16_t digits[16] = {0x9b45, 0x97e3, 0x7cb0, 0x4ff3, 0xd675, 0xa355,
                                               0x30cd, 0xd767, 0xe347, 0xbf8a, 0xd0e8, 0x0abb,
                                               0xce4a, 0xe958, 0x6101, 0x4318};
  for (const std::uint16_t digit : digits) {
    const std::uint16_t drawn = engine.quarter();
    if (drawn != digit) return drawn < digit;
  }
  throw std::overflow_error("a lazy comparison did not end");  // one in 2^256
}

/// Uniform on {0, ..., bound - 1} for bounds of 64 bits, by rejection.
template <typename Engine>
class uniform_word {
 public:
  explicit uniform_word(std::uint64_t bound) : bound_(bound), mask_(bound - 1) {
    for (int shift = 1; shift < 64; shift *= 2) mask_ |= mask_ >> shift;
  }
  std::uint64_t operator()(Engine& engine) const {
    for (;;) {
      const std::uint64_t draw = engine.bits() & mask_;
      if (draw < bound_) return draw;
    }
  }

 private:
  std::uint64_t bound_, mask_;
};

/// P(x) proportional to exp(-x^2 / (2 sigma^2)) on the integers, sigma a whole number to 2^30.
class whole_sigma_gaussian {
 public:
  static constexpr std::int64_t max_sigma = std::int64_t{1} << 30;

  explicit whole_sigma_gaussian(std::int64_t sigma) : sigma_(sigma) {
    if (sigma < 1 || sigma > max_sigma)
      throw std::domain_error("the standard deviation must be a whole number in [1, 2^30]");
  }

  template <typename Engine>
  std::int64_t operator()(Engine& engine) const {
    quartered<Engine> quarters(engine);
    return draw(quarters);
  }

  template <typename Engine>
  std::int64_t draw(quartered<Engine>& engine) const {
    const auto sigma = static_cast<std::uint64_t>(sigma_);
    const uniform_word<quartered<Engine>> below_sigma(sigma), below_twice(2 * sigma * sigma);
    for (;;) {
      // k with probability proportional to exp(-k^2 / 2): a thinned geometric distribution.
      std::uint64_t k = 0;
      while (bernoulli_exp_half(engine)) ++k;
      bool keep = true;
      for (std::uint64_t i = k > 1 ? k * (k - 1) : 0; keep && i > 0; --i)
        keep = bernoulli_exp_half(engine);
      if (!keep) continue;
      if (k > 64) throw std::overflow_error("discrete Gaussian draw out of range");  // exp(-2048)
      const bool negative = engine.quarter() & 1U;
      const std::uint64_t j = below_sigma(engine);
      if (negative && k == 0 && j == 0) continue;  // or zero would count twice
      // exp(-((k sigma + j)^2 - (k sigma)^2) / (2 sigma^2)), at most k + 1/2 in the exponent.
      uint128 numerator = static_cast<uint128>(j) * (2 * k * sigma + j);
      const std::uint64_t denominator = 2 * sigma * sigma;
      for (; keep && numerator > denominator; numerator -= denominator)
        keep = bernoulli_exp_half(engine) && bernoulli_exp_half(engine);
      if (!keep || !below_one(static_cast<std::uint64_t>(numerator), below_twice, engine)) continue;
      const auto magnitude = static_cast<std::int64_t>(k * sigma + j);
      return negative ? -magnitude : magnitude;
    }
  }

 private:
  /// True with probability exp(-numerator / (2 sigma^2)), for a ratio of at most 1 (von Neumann).
  template <typename Engine>
  static bool below_one(std::uint64_t numerator, const uniform_word<Engine>& below_denominator,
                        Engine& engine) {
    for (std::uint64_t k = 1;; ++k) {
      const bool more =
          below_denominator(engine) < numerator && (k == 1 || uniform_word<Engine>(k)(engine) == 0);
      if (!more) return k % 2 == 1;
    }
  }

  std::int64_t sigma_;
};

}  // namespace dpsc
