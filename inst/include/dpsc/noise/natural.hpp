// Whole numbers of any size, for weights of private choices that need more than 128 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "discrete.hpp"

namespace dpsc {

/// A whole number in words of 64 bits, the lowest first, without leading zeros.
class natural {
 public:
  natural() = default;
  explicit natural(std::uint64_t x);

  static natural power_of_two(int exponent);

  int bits() const;  // 0: zero
  natural& operator+=(const natural& other);
  natural& operator-=(const natural& other);  // throws if it would be negative
  natural& operator/=(std::uint64_t divisor);
  natural operator*(const natural& other) const;
  natural operator>>(int bits) const;
  bool operator<(const natural& other) const;
  bool operator==(const natural& other) const { return words_ == other.words_; }
  double value() const;

  /// Uniform on {0, ..., bound - 1}, by rejection.
  template <typename Engine>
  static natural below(const natural& bound, Engine& engine) {
    const int bits = bound.bits();
    if (bits == 0) throw std::domain_error("a uniform draw needs a positive bound");
    natural out;
    do {
      out.words_.assign(static_cast<std::size_t>((bits + 63) / 64), 0);
      for (std::uint64_t& word : out.words_) word = engine.bits();
      if (bits % 64 != 0) out.words_.back() &= (std::uint64_t{1} << (bits % 64)) - 1;
      out.trim();
    } while (!(out < bound));
    return out;
  }

 private:
  void trim();

  std::vector<std::uint64_t> words_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "natural.cpp"
#endif
