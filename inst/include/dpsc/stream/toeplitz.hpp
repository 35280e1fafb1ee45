// Prefix sums of a stream by a lower-triangular Toeplitz factor C of the matrix A of ones:
// u = C x + noise is released, A C^{-1} u estimates the sums. Exact integers (u may be on a coarser
// grid than C x: rounding is charged), the whole stream in memory, O(T) a step.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "coefficients.hpp"
#include "noise.hpp"

namespace dpsc {

class toeplitz_sums {
 public:
  static constexpr std::int64_t max_horizon = 4096;

  toeplitz_sums() = default;
  /// @param grid binary places of u, at most 0: u = floor(C x 2^grid) + noise.
  toeplitz_sums(Eigen::Index d, std::int64_t horizon, int grid)
      : d_(d),
        horizon_(horizon),
        grid_(grid),
        c_(integer_root_coefficients(horizon)),
        sum_(Eigen::VectorXd::Zero(d)) {
    if (horizon > max_horizon) throw std::domain_error("Toeplitz noise needs a horizon to 4096");
    check_grid();
  }

  Eigen::Index dimension() const { return d_; }
  std::int64_t steps() const { return t_; }
  std::int64_t horizon() const { return horizon_; }

  template <typename Engine>
  void step(const std::int64_t* x, const coordinate_noise& noise, Engine& engine,
            exposure_observer* observer = nullptr) {
    if (t_ >= horizon_) throw std::logic_error("the stream is at its horizon");
    u_.resize(static_cast<std::size_t>(d_));
    noise.draw(u_.data(), engine);
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
    ++t_;
  }

  void estimate(Eigen::VectorXd& out) const { out = sum_; }
  double variance() const { return variance_; }

  void write(state_writer& out) const {
    out.put(static_cast<std::int64_t>(d_));
    out.put(horizon_);
    out.put(grid_);
    out.put(t_);
    out.put(x_);
    out.put(increments_);
    out.put(impulse_);
    out.put(sum_);
    out.put(impulse_sum_);
    out.put(variance_);
  }
  void read(state_reader& in) {
    std::int64_t d = 0;
    in.get(d);
    d_ = d;
    in.get(horizon_);
    in.get(grid_);
    in.get(t_);
    in.get(x_);
    in.get(increments_);
    in.get(impulse_);
    in.get(sum_);
    in.get(impulse_sum_);
    in.get(variance_);
    const auto size = static_cast<std::size_t>(d_ * t_);
    if (d_ < 1 || horizon_ < 1 || horizon_ > max_horizon || t_ < 0 || t_ > horizon_ ||
        x_.size() != size || increments_.size() != size ||
        impulse_.size() != static_cast<std::size_t>(t_) || sum_.size() != d_)
      throw state_error("the checkpoint is damaged");
    check_grid();
    c_ = integer_root_coefficients(horizon_);
  }

 private:
  void check_grid() const {
    if (grid_ > 0 || grid_ < -30) throw std::domain_error("the grid of a stream is out of range");
  }

  // w = C^{-1} u by forward substitution; the same for a unit impulse, whose running sums are the
  // coefficients of the noise in the sums.
  void invert() {
    Eigen::VectorXd w(d_);
    for (Eigen::Index i = 0; i < d_; ++i)
      w[i] = std::ldexp(static_cast<double>(u_[static_cast<std::size_t>(i)]), -grid_);
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
    sum_ += w;
    impulse_sum_ += g;
    variance_ += std::ldexp(impulse_sum_ * impulse_sum_, -2 * grid_);
  }

  Eigen::Index d_ = 0;
  std::int64_t horizon_ = 0, t_ = 0;
  int grid_ = 0;
  std::vector<std::int64_t> c_, x_, u_, exact_;
  std::vector<double> increments_, impulse_;
  Eigen::VectorXd sum_;
  double impulse_sum_ = 0.0, variance_ = 0.0;
};

}  // namespace dpsc
