// Bodies of natural.hpp.
#pragma once

#include "natural.hpp"

#include <algorithm>
#include <cmath>

namespace dpsc {

natural::natural(std::uint64_t x) {
  if (x != 0) words_.push_back(x);
}

natural natural::power_of_two(int exponent) {
  natural out;
  out.words_.assign(static_cast<std::size_t>(exponent / 64) + 1, 0);
  out.words_.back() = std::uint64_t{1} << (exponent % 64);
  return out;
}

int natural::bits() const {
  if (words_.empty()) return 0;
  int top = 0;
  for (std::uint64_t word = words_.back(); word != 0; word >>= 1) ++top;
  return static_cast<int>(words_.size() - 1) * 64 + top;
}

natural& natural::operator+=(const natural& other) {
  words_.resize(std::max(words_.size(), other.words_.size()), 0);
  uint128 carry = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    carry += static_cast<uint128>(words_[i]) + (i < other.words_.size() ? other.words_[i] : 0);
    words_[i] = static_cast<std::uint64_t>(carry);
    carry >>= 64;
  }
  if (carry != 0) words_.push_back(static_cast<std::uint64_t>(carry));
  return *this;
}

natural& natural::operator-=(const natural& other) {
  if (*this < other) throw std::domain_error("a difference of whole numbers is negative");
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const uint128 taken =
        static_cast<uint128>(i < other.words_.size() ? other.words_[i] : 0) + borrow;
    borrow = static_cast<uint128>(words_[i]) < taken ? 1 : 0;
    words_[i] = static_cast<std::uint64_t>(words_[i] - taken);
  }
  trim();
  return *this;
}

natural& natural::operator/=(std::uint64_t divisor) {
  uint128 rest = 0;
  for (std::size_t i = words_.size(); i-- > 0;) {
    rest = (rest << 64) | words_[i];
    words_[i] = static_cast<std::uint64_t>(rest / divisor);
    rest %= divisor;
  }
  trim();
  return *this;
}

natural natural::operator*(const natural& other) const {
  natural out;
  out.words_.assign(words_.size() + other.words_.size(), 0);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    uint128 carry = 0;
    for (std::size_t j = 0; j < other.words_.size(); ++j) {
      carry += static_cast<uint128>(words_[i]) * other.words_[j] + out.words_[i + j];
      out.words_[i + j] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    out.words_[i + other.words_.size()] = static_cast<std::uint64_t>(carry);
  }
  out.trim();
  return out;
}

natural natural::operator>>(int bits) const {
  const auto skip = static_cast<std::size_t>(bits / 64);
  const int low = bits % 64;
  natural out;
  for (std::size_t i = skip; i < words_.size(); ++i) {
    const std::uint64_t above = i + 1 < words_.size() && low > 0 ? words_[i + 1] << (64 - low) : 0;
    out.words_.push_back((words_[i] >> low) | above);
  }
  out.trim();
  return out;
}

bool natural::operator<(const natural& other) const {
  if (words_.size() != other.words_.size()) return words_.size() < other.words_.size();
  return std::lexicographical_compare(words_.rbegin(), words_.rend(), other.words_.rbegin(),
                                      other.words_.rend());
}

double natural::value() const {
  double out = 0.0;
  for (std::size_t i = words_.size(); i-- > 0;)
    out = std::ldexp(out, 64) + static_cast<double>(words_[i]);
  return out;
}

void natural::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
}

}  // namespace dpsc
