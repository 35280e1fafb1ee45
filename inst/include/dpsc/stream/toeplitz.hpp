// Prefix sums of a stream by a lower-triangular Toeplitz factor C of the matrix A of ones: u = C x
// + noise is released, and A C^{-1} u estimates the sums. Integers are exact (u may be on a coarser
// grid than C x: rounding is charged); the whole stream is in memory; a step takes O(T).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "coefficients.hpp"
#include "factored_sums.hpp"

namespace dpsc {

class toeplitz_sums : public factored_sums {
 public:
  static constexpr std::int64_t max_horizon = 4096;

  toeplitz_sums() = default;
  /// @param grid binary places of u, at most 0: u = floor(C x 2^grid) + noise.
  toeplitz_sums(Eigen::Index d, std::int64_t horizon, int grid)
      : factored_sums(d, horizon, grid, largest_grid), c_(integer_root_coefficients(horizon)) {
    if (horizon > max_horizon) throw std::domain_error("Toeplitz noise needs a horizon to 4096");
  }

  template <typename Engine>
  void step(const std::int64_t* x, const coordinate_noise& noise, Engine& engine,
            exposure_observer* observer = nullptr) {
    draw(noise, engine);
    exact_.assign(static_cast<std::size_t>(d_), 0);
    x_.insert(x_.end(), x, x + d_);
    for (std::int64_t k = 0; k <= t_; ++k) {
      const std::int64_t* past = x_.data() + (t_ - k) * d_;
      const std::int64_t c = c_[static_cast<std::size_t>(k)];
      for (Eigen::Index i = 0; i < d_; ++i) exact_[static_cast<std::size_t>(i)] += c * past[i];
    }
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += exact_[i] >> -grid_;
    if (observer) observer->seen(u_.data(), d_);
    invert();
  }

  void write(state_writer& out) const {
    write_sizes(out);
    out.put(x_);
    out.put(increments_);
    write_sums(out);
  }
  void read(state_reader& in) {
    read_sizes(in);
    in.get(x_);
    in.get(increments_);
    read_sums(in);
    const auto size = static_cast<std::size_t>(d_ * t_);
    if (!sizes_fit() || horizon_ > max_horizon || x_.size() != size || increments_.size() != size ||
        impulse_.size() != static_cast<std::size_t>(t_))
      throw state_error("the checkpoint is damaged");
    check_grid(largest_grid);
    c_ = integer_root_coefficients(horizon_);
  }

 private:
  static constexpr int largest_grid = 0;

  // Forward substitution.
  void invert() {
    Eigen::VectorXd w = released();
    double g = t_ == 0 ? 1.0 : 0.0;
    for (std::int64_t k = 1; k <= t_; ++k) {
      const auto c = static_cast<double>(c_[static_cast<std::size_t>(k)]);
      w -= c * Eigen::Map<const Eigen::VectorXd>(increments_.data() + (t_ - k) * d_, d_);
      g -= c * impulse_[static_cast<std::size_t>(t_ - k)];
    }
    const auto first = static_cast<double>(c_[0]);
    w /= first;
    g /= first;
    increments_.insert(increments_.end(), w.data(), w.data() + d_);
    impulse_.push_back(g);
    add(w, g);
  }

  std::vector<std::int64_t> c_, x_, exact_;
  std::vector<double> increments_;
};

}  // namespace dpsc
