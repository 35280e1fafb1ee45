// Bodies of exponential.hpp.
#pragma once

#include "exponential.hpp"

namespace dpsc {

std::vector<uint128> private_choice::exponents() const {
  if (losses.empty() || (!offsets.empty() && offsets.size() != losses.size()))
    throw std::invalid_argument("a private choice needs candidates and as many offsets");
  std::vector<uint128> gamma(losses.size());
  for (std::size_t k = 0; k < losses.size(); ++k) {
    if (losses[k] < 0) throw std::invalid_argument("losses must not be negative");
    gamma[k] = static_cast<uint128>(losses[k]) * units + (offsets.empty() ? 0 : offsets[k]);
  }
  return gamma;
}

bool private_choice::whole(const std::vector<uint128>& gamma) const {
  const uint128 rest = (static_cast<uint128>(1) << parts) - 1;
  return std::all_of(gamma.begin(), gamma.end(), [rest](uint128 x) { return (x & rest) == 0; });
}

std::uint64_t exponent_units(double exponent, int shift) {
  if (!(exponent >= 0.0)) throw std::domain_error("an exponent must not be negative");
  const double units = std::floor(std::ldexp(exponent, shift));
  return static_cast<std::uint64_t>(std::min(units, 9007199254740992.0));
}

std::vector<std::uint64_t> prior_offsets(const std::vector<double>& log_prior, int shift) {
  std::vector<std::uint64_t> out(log_prior.size());
  if (out.empty()) return out;
  const double top = *std::max_element(log_prior.begin(), log_prior.end());
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(top - log_prior[k], shift)));
  return out;
}

}  // namespace dpsc
