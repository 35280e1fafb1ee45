// Bodies of finite.hpp.
#pragma once

#include "finite.hpp"

namespace dpsc {

std::uint64_t bits_of(double x) {
  std::uint64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

bool all_finite(const double* x, std::size_t size) {
  constexpr std::uint64_t exponent = 0x7ff0000000000000;
  std::uint64_t bad = 0;
  for (std::size_t i = 0; i < size; ++i) bad |= (bits_of(x[i]) & exponent) == exponent;
  return bad == 0;
}

bool all_finite(const int* x, std::size_t size) {
  unsigned bad = 0;
  for (std::size_t i = 0; i < size; ++i) bad |= x[i] == std::numeric_limits<int>::min();
  return bad == 0;
}

std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace dpsc
