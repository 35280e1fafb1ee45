// Choice of one of several candidates by the exponential mechanism, in integers throughout.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../noise/noise.hpp"

namespace dpsc {

/// Index with probability proportional to exp(-exponent loss_k / unit), losses integers >= 0. The
/// exponent over the unit is rounded down to a multiple of 2^-60. If one record changes the losses
/// by amounts that differ by at most `range` units between candidates, the draw is (exponent
/// range)-DP and (exponent range)^2/8-zCDP (Dong, Durfee and Rogers, 2020). Exponents beyond 8
/// units are drawn as 8. An infinite exponent selects the smallest loss; of equal losses, the
/// first.
inline std::size_t choose(const std::string& label, const std::vector<std::int64_t>& loss,
                          double exponent, double unit, noise& draws) {
  if (loss.empty()) throw std::invalid_argument("no candidates");
  const auto best = std::min_element(loss.begin(), loss.end());
  if (std::isinf(exponent)) return static_cast<std::size_t>(best - loss.begin());
  if (!(exponent >= 0.0)) throw std::domain_error("an exponent must not be negative");
  // Below 2^63: a smaller exponent costs less.
  const double scaled =
      std::min(std::floor(std::ldexp(exponent / unit * (1.0 - 1e-12), 60)), 9223372036854774784.0);
  return draws.choose(label, {loss, static_cast<std::uint64_t>(scaled), {}, 60});
}

}  // namespace dpsc
