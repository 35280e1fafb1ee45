// Continuous distributions by comparison of random digits, without arithmetic on them: a resulting
// double is an exact draw, rounded. Karney, "Sampling exactly from the normal distribution" (2016).
// Proof: inst/proofs/glm.md, section 4.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "continuous.hpp"
#include "discrete.hpp"

namespace dpsc {

/// A uniform number on (0, 1). Digits are drawn on demand; digits not yet drawn remain uniform.
template <typename Engine>
class lazy_uniform {
 public:
  explicit lazy_uniform(Engine& engine) : engine_(&engine) {}

  /// Is this number smaller than the other?
  bool below(lazy_uniform& other) {
    for (std::size_t i = 0;; ++i) {
      const std::uint64_t own = word(i), its = other.word(i);
      if (own != its) return own < its;
    }
  }

  /// The sum with an integer, with relative error at most 2^-52.
  double plus(std::uint64_t whole) {
    if (whole > 0) return static_cast<double>(whole) + static_cast<double>(word(0)) * 0x1.0p-64;
    std::size_t i = 0;
    while (word(i) == 0) ++i;
    int zeros = 0;
    while (!(word(i) >> (63 - zeros) & 1U)) ++zeros;
    std::uint64_t leading = word(i) << zeros;
    if (zeros > 0) leading |= word(i + 1) >> (64 - zeros);
    return std::ldexp(static_cast<double>(leading), -64 * static_cast<int>(i + 1) - zeros);
  }

 private:
  std::uint64_t word(std::size_t i) {
    while (words_.size() <= i) words_.push_back(engine_->bits());
    return words_[i];
  }

  Engine* engine_;
  std::vector<std::uint64_t> words_;
};

/// Does a run x > u1 > u2 > ..., in which each u is kept with the probability of `keep()`, end
/// after an even number of u? The probability is exp(-x P(keep)) (von Neumann, 1951).
template <typename Engine, typename Keep>
bool even_run(lazy_uniform<Engine>& x, Engine& engine, Keep keep) {
  lazy_uniform<Engine> last(engine);
  lazy_uniform<Engine>* above = &x;
  for (bool even = true;; even = !even) {
    lazy_uniform<Engine> next(engine);
    if (!next.below(*above) || !keep()) return even;
    last = std::move(next);
    above = &last;
  }
}

/// Exponential with mean one: whole steps with probability 1/e, then a fraction.
template <typename Engine>
double exact_exponential(Engine& engine) {
  for (std::uint64_t whole = 0;; ++whole) {
    lazy_uniform<Engine> x(engine);
    if (even_run(x, engine, [] { return true; })) return x.plus(whole);
  }
}

/// True with probability (2k + x) / (2k + 2).
template <typename Engine>
bool bernoulli_part(std::uint64_t k, lazy_uniform<Engine>& x, Engine& engine) {
  const uint128 part = uniform_below(2 * static_cast<uint128>(k) + 2, engine);
  if (part != 2 * static_cast<uint128>(k)) return part < 2 * static_cast<uint128>(k);
  lazy_uniform<Engine> rest(engine);
  return rest.below(x);
}

/// Standard normal (Karney, Algorithm N): k + x with density proportional to exp(-k/2 - k(k-1)/2 -
/// x(2k+x)/2).
template <typename Engine>
double exact_normal(Engine& engine) {
  for (;;) {
    std::uint64_t k = 0;
    while (bernoulli_exp_below_one(1, 2, engine)) ++k;
    if (k > 1 && !bernoulli_exp(static_cast<uint128>(k) * (k - 1) / 2, 1, engine)) continue;
    lazy_uniform<Engine> x(engine);
    bool kept = true;
    for (std::uint64_t i = 0; kept && i <= k; ++i)
      kept = even_run(x, engine, [&] { return bernoulli_part(k, x, engine); });
    if (!kept) continue;
    const double size = x.plus(k);
    return engine.bits() & 1U ? size : -size;
  }
}

/// Density proportional to exp(-|v| / scale): a uniform direction, and a length that is a sum of
/// exponentials. It differs from an exact draw by at most 2^-40 of its length, in up to 1,000
/// dimensions.
template <typename Engine>
Eigen::VectorXd exact_spherical(Eigen::Index dimension, double scale, Engine& engine) {
  require_scale(scale);
  Eigen::VectorXd out(dimension);
  for (Eigen::Index i = 0; i < dimension; ++i) out[i] = exact_normal(engine);
  double length = 0.0;
  for (Eigen::Index i = 0; i < dimension; ++i) length += exact_exponential(engine);
  return out * (scale * length / out.norm());
}

}  // namespace dpsc
