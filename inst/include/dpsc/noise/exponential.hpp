// Exponential mechanism in integers: the one sampler behind every private choice from a grid.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "discrete.hpp"

namespace dpsc {

/// Candidate k has probability proportional to exp(-(loss_k units + offset_k) 2^-shift).
///
/// Losses are exact sums over people (PRIVATE); units, offsets and shift are public. The offsets
/// (a log-prior) cancel between neighbours, so log-ratios have a range of at most
/// units 2^-shift times the range of the losses' changes: nothing is rounded after the losses.
struct private_choice {
  std::vector<std::int64_t> losses;
  std::uint64_t units = 0;
  std::vector<std::uint64_t> offsets;  // empty: a flat prior
  int shift = 20;

  /// The exponent on a loss of one.
  double exponent() const { return std::ldexp(static_cast<double>(units), -shift); }

  std::vector<uint128> exponents() const {
    if (losses.empty() || (!offsets.empty() && offsets.size() != losses.size()))
      throw std::invalid_argument("a private choice needs candidates and as many offsets");
    std::vector<uint128> gamma(losses.size());
    for (std::size_t k = 0; k < losses.size(); ++k) {
      if (losses[k] < 0) throw std::invalid_argument("losses must not be negative");
      gamma[k] = static_cast<uint128>(losses[k]) * units + (offsets.empty() ? 0 : offsets[k]);
    }
    return gamma;
  }

  template <typename Engine>
  std::size_t draw(Engine& engine) const {
    const std::vector<uint128> gamma = exponents();
    const uint128 best = *std::min_element(gamma.begin(), gamma.end());
    const uint128 one = static_cast<uint128>(1) << shift;
    for (;;) {  // the best candidate is always accepted: at most size() proposals on average
      const std::size_t k = static_cast<std::size_t>(uniform_below(gamma.size(), engine));
      // Unit steps that fail end it at once: a large deficit takes no longer than a small one.
      if (bernoulli_exp(gamma[k] - best, one, engine)) return k;
    }
  }
};

/// floor(exponent 2^shift), and at most 2^53.
inline std::uint64_t exponent_units(double exponent, int shift) {
  if (!(exponent >= 0.0)) throw std::domain_error("an exponent must not be negative");
  const double units = std::floor(std::ldexp(exponent, shift));
  return static_cast<std::uint64_t>(std::min(units, 9007199254740992.0));
}

/// round(-log prior 2^shift), relative to the likeliest candidate.
inline std::vector<std::uint64_t> prior_offsets(const std::vector<double>& log_prior, int shift) {
  std::vector<std::uint64_t> out(log_prior.size());
  if (out.empty()) return out;
  const double top = *std::max_element(log_prior.begin(), log_prior.end());
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(top - log_prior[k], shift)));
  return out;
}

}  // namespace dpsc
