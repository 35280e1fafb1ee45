// Two checks of a table of donors, each in one pass whose time does not depend on the values: is
// every entry finite, and are the entries unchanged since the last pass?
//
// Both use the bits of a number and never branch on them. A sum would be as fast, but finite terms
// can overflow, and a second pass over such tables would reveal them by its time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace dpsc {

std::uint64_t bits_of(double x);

/// NaN, NA and the infinities are the doubles whose exponent is all ones.
bool all_finite(const double* x, std::size_t size);

/// R's missing integer is the smallest one.
bool all_finite(const int* x, std::size_t size);

/// Finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a bijection in which every bit moves half
/// of the others.
std::uint64_t mix_bits(std::uint64_t x);

/// A 64-bit checksum of the entries and their places, the same for integers and for doubles with
/// the same values. Exact: sums of mixed bits modulo 2^64. A change of one entry always changes it;
/// other changes remain unnoticed with probability about 2^-64. It protects against accidents, not
/// against forgers.
template <typename Scalar>
std::uint64_t checksum(const Scalar* x, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    // Adding zero turns -0 into 0.
    const std::uint64_t bits = bits_of(static_cast<double>(x[i]) + 0.0);
    sum += mix_bits(bits + 0x9e3779b97f4a7c15 * (static_cast<std::uint64_t>(i) + 1));
  }
  return sum;
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "finite.cpp"
#endif
