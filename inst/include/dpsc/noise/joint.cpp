// Bodies of joint.hpp.
#pragma once

#include "joint.hpp"

#include <map>

#include "exponential.hpp"

namespace dpsc {

namespace joint_detail {

/// The largest exponent of a clipped loss: beyond it all candidates together are unlikely.
inline double reach(std::size_t lists) { return 60.0 + 12.0 * static_cast<double>(lists); }

}  // namespace joint_detail

joint_choice joint_choice::of(std::vector<std::vector<std::int64_t>> losses, double exponent,
                              int parts) {
  joint_choice out;
  const double reach = joint_detail::reach(losses.size());
  // One unit less than fits: room for the errors of the table.
  const std::uint64_t fits = exponent_units(std::min(exponent, reach), out.shift);
  if (losses.empty() || fits < 2) throw std::domain_error("a joint choice needs an exponent");
  out.units = fits - 1;
  const double largest = parts > 0 ? std::ldexp(1.0, 62 - parts) : 1e15;
  out.cap = static_cast<std::int64_t>(std::floor(std::min(reach / out.exponent(), largest)));
  out.cap = std::max<std::int64_t>(out.cap, 1) << parts;
  out.parts = parts;
  out.shift += parts;
  out.losses = std::move(losses);
  for (std::vector<std::int64_t>& own : out.losses) {
    if (own.empty()) throw std::invalid_argument("a joint choice needs candidates");
    for (std::int64_t& loss : own) loss = out.clipped(loss);
  }
  return out;
}

bool joint_choice::whole() const {
  const std::int64_t one = std::int64_t{1} << parts;
  return std::all_of(losses.begin(), losses.end(), [one](const std::vector<std::int64_t>& own) {
    return std::all_of(own.begin(), own.end(), [one](std::int64_t x) { return x % one == 0; });
  });
}

std::vector<joint_level> joint_choice::levels() const {
  // Losses with the number of candidates that have them, list by list.
  std::map<std::int64_t, std::vector<std::uint64_t>> counts;
  std::int64_t least = -cap;
  for (std::size_t j = 0; j < losses.size(); ++j) {
    const std::vector<std::int64_t>& own = losses[j];
    least = std::max(least, *std::min_element(own.begin(), own.end()));
    for (std::size_t k = 0; k < own.size();) {
      const std::size_t from = k;
      while (k < own.size() && own[k] == own[from]) ++k;
      std::vector<std::uint64_t>& at = counts[own[from]];
      at.resize(losses.size(), 0);
      at[j] += k - from;
    }
  }
  // The same distribution and draws as with whole losses.
  const int drop = whole() ? parts : 0;
  const exponential_table table(2.0 * static_cast<double>(cap) * exponent(), shift - drop);
  std::vector<joint_level> out;
  std::vector<std::uint64_t> upto(losses.size(), 0);
  for (const auto& own : counts) {
    for (std::size_t j = 0; j < losses.size(); ++j) upto[j] += own.second[j];
    if (own.first >= least) out.push_back({own.first, upto, natural()});
  }
  natural own = table.at(0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    natural next;
    if (i + 1 < out.size()) {
      const auto more = static_cast<std::uint64_t>(out[i + 1].loss - least);
      next = table.at((static_cast<uint128>(more) * units) >> drop);
    }
    out[i].weight = own;
    out[i].weight -= next;
    for (std::uint64_t count : out[i].counts) out[i].weight = out[i].weight * natural(count);
    own = next;
  }
  return out;
}

std::size_t joint_choice::candidate(std::size_t j, std::int64_t loss, std::uint64_t before) const {
  for (std::size_t k = 0; k < losses[j].size(); ++k)
    if (losses[j][k] <= loss && before-- == 0) return k;
  throw std::logic_error("a level has fewer candidates than it counted");
}

exponential_table::exponential_table(double largest, int shift) {
  if (!(largest <= 1048576.0)) throw std::domain_error("an exponent is out of range");
  // Each product loses less than one place; the smallest entry has 2^200 or more.
  places_ = static_cast<int>(std::ceil(largest * 1.4427)) + 200 + shift;
  const natural one = natural::power_of_two(places_);
  // exp(-h), h = 2^-shift: 1 - h + h^2 / 2 - ...
  natural plus = one, minus, term = one;
  for (std::uint64_t i = 1; term.bits() > 0; ++i) {
    term = term >> shift;
    term /= i;
    (i % 2 == 1 ? minus : plus) += term;
  }
  plus -= minus;
  const int most = shift + static_cast<int>(std::ceil(std::log2(largest + 1.0))) + 1;
  for (int b = 0; b <= most; ++b) {
    powers_.push_back(plus);
    plus = (plus * plus) >> places_;
  }
}

natural exponential_table::at(uint128 steps) const {
  natural out = natural::power_of_two(places_);
  for (std::size_t b = 0; steps != 0; ++b, steps >>= 1)
    if ((steps & 1) != 0) out = (out * powers_.at(b)) >> places_;
  return out;
}

}  // namespace dpsc
