// One of several candidates by the exponential mechanism, in whole numbers throughout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../noise/discrete.hpp"

namespace dpsc {

/// Index with probability proportional to exp(-exponent loss_k / unit), losses whole numbers >= 0.
/// The exponent over the unit is rounded down to a multiple of 2^-60. If one record moves the
/// losses by amounts that differ by at most `range` units between candidates, the draw is (exponent
/// range)-DP and (exponent range)^2/8-zCDP (Dong, Durfee and Rogers, 2020). An infinite exponent
/// takes the least loss, the first of several.
template <typename Engine>
std::size_t choose(const std::vector<std::int64_t>& loss, double exponent, double unit,
                   Engine& engine) {
  if (loss.empty()) throw std::invalid_argument("no candidates");
  const auto best = std::min_element(loss.begin(), loss.end());
  if (std::isinf(exponent)) return static_cast<std::size_t>(best - loss.begin());
  const double scaled = std::floor(std::ldexp(exponent / unit * (1.0 - 1e-12), 60));
  if (!(scaled >= 0.0 && scaled < 9223372036854775808.0))
    throw std::domain_error("the exponent of a choice is out of range");
  const auto units = static_cast<uint128>(scaled);
  for (;;) {
    const auto k =
        static_cast<std::size_t>(uniform_below(static_cast<uint128>(loss.size()), engine));
    const auto above = static_cast<uint128>(loss[k] - *best);
    if (bernoulli_exp(above * units, uint128{1} << 60, engine)) return k;
  }
}

}  // namespace dpsc
