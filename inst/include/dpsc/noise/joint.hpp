// Exponential mechanism for several candidates at once, whose loss is the largest of their losses.
// Proof: inst/proofs/describe.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "natural.hpp"

namespace dpsc {

/// Tuples up to one level of loss: all tuples whose candidates have at most this loss.
struct joint_level {
  std::int64_t loss = 0;
  std::vector<std::uint64_t> counts;  // candidates up to it, list by list
  natural weight;
};

/// One candidate k_j from every list j, with probability proportional to
/// exp(-max_j loss_j(k_j) units 2^-shift).
///
/// Losses are exact sums over people (PRIVATE), moved into [-cap, cap]; the other fields are
/// public. Probabilities are whole numbers over their sum: exponentials to a relative error below
/// 2^-100, for which `units` leaves room, in exact arithmetic.
struct joint_choice {
  std::vector<std::vector<std::int64_t>> losses;
  std::uint64_t units = 0;
  int shift = 40;
  int parts = 0;  // losses are in units of 2^-parts; `shift` includes parts
  std::int64_t cap = 0;

  /// Lists with the largest exponent of a loss of 2^parts that is not above `exponent`.
  static joint_choice of(std::vector<std::vector<std::int64_t>> losses, double exponent,
                         int parts = 0);

  double exponent() const { return std::ldexp(static_cast<double>(units), -shift); }

  std::int64_t clipped(std::int64_t loss) const { return std::max(-cap, std::min(cap, loss)); }

  /// In increasing order; PRIVATE. A tuple is uniform among the tuples up to a level that is drawn
  /// by weight.
  std::vector<joint_level> levels() const;

  template <typename Engine>
  std::vector<std::size_t> draw(Engine& engine) const {
    const std::vector<joint_level> all = levels();
    natural total;
    for (const joint_level& level : all) total += level.weight;
    natural rest = natural::below(total, engine);
    std::size_t at = 0;
    for (; !(rest < all[at].weight); ++at) rest -= all[at].weight;
    std::vector<std::size_t> out;
    for (std::size_t j = 0; j < losses.size(); ++j)
      out.push_back(candidate(
          j, all[at].loss, static_cast<std::uint64_t>(uniform_below(all[at].counts[j], engine))));
    return out;
  }

 private:
  /// Are all losses multiples of 2^parts?
  bool whole() const;

  /// The candidate of list j with `before` candidates before it, of those up to `loss`.
  std::size_t candidate(std::size_t j, std::int64_t loss, std::uint64_t before) const;
};

/// floor(exp(-steps 2^-shift) 2^places) to a relative error below 2^-100, by a table of powers.
class exponential_table {
 public:
  /// For exponents up to `largest`, at most 2^20.
  exponential_table(double largest, int shift);

  natural at(uint128 steps) const;

 private:
  int places_;
  std::vector<natural> powers_;  // of 2^b steps
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "joint.cpp"
#endif
