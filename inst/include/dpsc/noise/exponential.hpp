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
/// Losses are exact sums over people (PRIVATE); units, offsets and shift are public. The offsets (a
/// log-prior) cancel between neighbours, so log ratios have a range of at most units 2^-shift times
/// the range of the losses' changes: nothing is rounded after the losses are computed.
struct private_choice {
  std::vector<std::int64_t> losses;
  std::uint64_t units = 0;
  std::vector<std::uint64_t> offsets;  // empty: a flat prior
  int shift = 20;
  int parts = 0;  // losses are in units of 2^-parts of a person; `shift` includes parts

  /// The exponent for a loss of one.
  double exponent() const { return std::ldexp(static_cast<double>(units), -shift); }

  std::vector<uint128> exponents() const;

  /// Are all multiples of 2^parts?
  bool whole(const std::vector<uint128>& gamma) const;

  template <typename Engine>
  std::size_t draw(Engine& engine) const {
    const std::vector<uint128> gamma = exponents();
    const uint128 best = *std::min_element(gamma.begin(), gamma.end());
    const int drop =
        whole(gamma) ? parts : 0;  // the same distribution and draws as with whole losses
    const uint128 one = static_cast<uint128>(1) << (shift - drop);
    for (;;) {  // the best candidate is always accepted: at most size() proposals on average
      const std::size_t k = static_cast<std::size_t>(uniform_below(gamma.size(), engine));
      // The first failed unit step ends the loop, so a large deficit takes no longer than a small
      // one.
      if (bernoulli_exp((gamma[k] - best) >> drop, one, engine)) return k;
    }
  }
};

/// floor(exponent 2^shift), and at most 2^53.
std::uint64_t exponent_units(double exponent, int shift);

/// round(-log prior 2^shift), relative to the likeliest candidate.
std::vector<std::uint64_t> prior_offsets(const std::vector<double>& log_prior, int shift);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "exponential.cpp"
#endif
