// Operating-system randomness: getrandom (Linux), getentropy (BSD, macOS), BCryptGenRandom
// (Windows).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
// clang-format off
#include <windows.h>  // first: bcrypt.h uses its types
#include <bcrypt.h>
// clang-format on
#elif defined(__linux__)
#include <sys/random.h>

#include <cerrno>
#else
#include <sys/random.h>
#include <unistd.h>
#endif

namespace dpsc {

/// No randomness is available: nothing may be released.
struct entropy_error : std::runtime_error {
  entropy_error() : std::runtime_error("the operating system gave no randomness") {}
};

/// Fills `size` bytes from the operating system's generator, or throws entropy_error.
inline void os_random_bytes(unsigned char* out, std::size_t size) {
#if defined(_WIN32)
  if (BCryptGenRandom(nullptr, out, static_cast<ULONG>(size), BCRYPT_USE_SYSTEM_PREFERRED_RNG) != 0)
    throw entropy_error();
#elif defined(__linux__)
  while (size > 0) {
    const ssize_t got = getrandom(out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw entropy_error();
    out += got;
    size -= static_cast<std::size_t>(got);
  }
#else
  while (size > 0) {  // getentropy returns at most 256 bytes per call
    const std::size_t part = size < 256 ? size : 256;
    if (getentropy(out, part) != 0) throw entropy_error();
    out += part;
    size -= part;
  }
#endif
}

/// Buffered engine over a byte source. It exists within one call of the core only, so that
/// processes that fork between calls never share buffered bytes; used bytes are wiped.
template <void (*Source)(unsigned char*, std::size_t) = os_random_bytes>
class buffered_engine {
 public:
  buffered_engine() = default;
  buffered_engine(const buffered_engine&) = delete;  // a copy would replay the same noise
  buffered_engine& operator=(const buffered_engine&) = delete;
  ~buffered_engine() { wipe(); }

  std::uint64_t bits() {
    if (position_ == words) {
      Source(reinterpret_cast<unsigned char*>(buffer_), sizeof buffer_);
      position_ = 0;
    }
    const std::uint64_t word = buffer_[position_];
    buffer_[position_++] = 0;
    return word;
  }

 private:
  static constexpr std::size_t words = 512;

  void wipe() {
    volatile std::uint64_t* p = buffer_;  // volatile: the compiler may not drop the store
    for (std::size_t i = 0; i < words; ++i) p[i] = 0;
  }

  std::uint64_t buffer_[words] = {};
  std::size_t position_ = words;
};

using os_engine = buffered_engine<>;

}  // namespace dpsc
