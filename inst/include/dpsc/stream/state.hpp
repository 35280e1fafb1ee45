// Numbers to bytes and back, for checkpoints: fixed width, in the byte order of the machine
// (little-endian), with a checksum at the end. A truncated or altered file is an error, never a
// state.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../noise/discrete.hpp"

namespace dpsc {

__extension__ typedef __int128 int128;

struct state_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class state_writer {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain numbers");
    const auto* from = reinterpret_cast<const unsigned char*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
  }
  void put(const std::string& text) {
    put(static_cast<std::uint64_t>(text.size()));
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) put(value);
  }
  template <int R, int C>
  void put(const Eigen::Matrix<double, R, C>& m) {
    put(static_cast<std::int64_t>(m.rows()));
    put(static_cast<std::int64_t>(m.cols()));
    for (Eigen::Index i = 0; i < m.size(); ++i) put(m.data()[i]);
  }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  std::vector<unsigned char> bytes_;
};

class state_reader {
 public:
  explicit state_reader(const std::vector<unsigned char>& bytes) : bytes_(bytes) {}

  template <typename T>
  void get(T& value) {
    static_assert(std::is_trivially_copyable<T>::value, "only plain numbers");
    need(sizeof value);
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  void get(std::string& text) {
    text.resize(size());
    need(text.size());
    std::memcpy(&text[0], bytes_.data() + at_, text.size());
    at_ += text.size();
  }
  template <typename T>
  void get(std::vector<T>& values) {
    values.resize(size());
    for (T& value : values) get(value);
  }
  template <int R, int C>
  void get(Eigen::Matrix<double, R, C>& m) {
    std::int64_t rows = 0, cols = 0;
    get(rows);
    get(cols);
    if (rows < 0 || cols < 0 || rows > (1 << 28) || cols > (1 << 28))
      throw state_error("the checkpoint is damaged");
    need(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) * sizeof(double));
    m.resize(rows, cols);
    for (Eigen::Index i = 0; i < m.size(); ++i) get(m.data()[i]);
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::size_t size() {
    std::uint64_t n = 0;
    get(n);
    need(n);
    return static_cast<std::size_t>(n);
  }
  void need(std::size_t n) const {
    if (n > bytes_.size() - at_) throw state_error("the checkpoint is damaged");
  }
  const std::vector<unsigned char>& bytes_;
  std::size_t at_ = 0;
};

/// The hash of Fowler, Noll and Vo: it protects against accidents, not against forgers.
inline std::uint64_t checksum(const std::vector<unsigned char>& bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211ULL;
  return hash;
}

}  // namespace dpsc
