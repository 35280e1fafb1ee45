// Sources of random bits. Every sampler has an engine as a template argument, so that the same code
// runs on bits of the operating system, of R's generator and of a recorded tape.
//
// An engine has one member: std::uint64_t bits(), 64 independent fair bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dpsc {

/// Replays recorded 64-bit numbers, for exact tests and audits. A tape that runs out raises an
/// error and is never repeated.
class tape_engine {
 public:
  explicit tape_engine(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

  std::uint64_t bits() {
    if (position_ == words_.size()) throw std::out_of_range("the noise tape is exhausted");
    return words_[position_++];
  }

  std::size_t used() const { return position_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t position_ = 0;
};

/// Uniform on the open interval (0, 1), with 53 random bits: (k + 1/2) / 2^53.
template <typename Engine>
double uniform_open(Engine& engine) {
  return (static_cast<double>(engine.bits() >> 11) + 0.5) * 0x1.0p-53;
}

}  // namespace dpsc
