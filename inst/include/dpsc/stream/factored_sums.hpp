// Prefix sums of a stream by a factor C of the matrix A of ones: u = C x + noise is released, and A
// C^{-1} u estimates the sums.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "noise.hpp"
#include "state.hpp"

namespace dpsc {

class factored_sums {
 public:
  Eigen::Index dimension() const { return d_; }
  std::int64_t steps() const { return t_; }
  std::int64_t horizon() const { return horizon_; }
  void estimate(Eigen::VectorXd& out) const { out = sum_; }
  double variance() const { return variance_; }

 protected:
  factored_sums() = default;
  /// @param grid binary places of u, `largest` at most.
  factored_sums(Eigen::Index d, std::int64_t horizon, int grid, int largest)
      : d_(d), horizon_(horizon), grid_(grid), sum_(Eigen::VectorXd::Zero(d)) {
    check_grid(largest);
  }

  /// Begins a step: u is the noise.
  template <typename Engine>
  void draw(const coordinate_noise& noise, Engine& engine) {
    if (t_ >= horizon_) throw std::logic_error("the stream is at its horizon");
    u_.resize(static_cast<std::size_t>(d_));
    noise.draw(u_.data(), engine);
  }
  /// Released values of this step, in units of x.
  Eigen::VectorXd released() const {
    Eigen::VectorXd w(d_);
    for (Eigen::Index i = 0; i < d_; ++i)
      w[i] = std::ldexp(static_cast<double>(u_[static_cast<std::size_t>(i)]), -grid_);
    return w;
  }
  /// Ends a step: w is its entry of C^{-1} u, g that of a unit impulse, whose running sums are the
  /// coefficients of the noise in the sums.
  void add(const Eigen::VectorXd& w, double g) {
    sum_ += w;
    impulse_sum_ += g;
    variance_ += std::ldexp(impulse_sum_ * impulse_sum_, -2 * grid_);
    ++t_;
  }

  void write_sizes(state_writer& out) const {
    out.put(static_cast<std::int64_t>(d_));
    out.put(horizon_);
    out.put(grid_);
    out.put(t_);
  }
  void write_sums(state_writer& out) const {
    out.put(impulse_);
    out.put(sum_);
    out.put(impulse_sum_);
    out.put(variance_);
  }
  void read_sizes(state_reader& in) {
    std::int64_t d = 0;
    in.get(d);
    d_ = d;
    in.get(horizon_);
    in.get(grid_);
    in.get(t_);
  }
  void read_sums(state_reader& in) {
    in.get(impulse_);
    in.get(sum_);
    in.get(impulse_sum_);
    in.get(variance_);
  }
  bool sizes_fit() const {
    return d_ >= 1 && horizon_ >= 1 && t_ >= 0 && t_ <= horizon_ && sum_.size() == d_;
  }
  void check_grid(int largest) const {
    if (grid_ > largest || grid_ < -30)
      throw std::domain_error("the grid of a stream is out of range");
  }

  Eigen::Index d_ = 0;
  std::int64_t horizon_ = 0, t_ = 0;
  int grid_ = 0;
  std::vector<std::int64_t> u_;
  std::vector<double> impulse_;

 private:
  Eigen::VectorXd sum_;
  double impulse_sum_ = 0.0, variance_ = 0.0;
};

}  // namespace dpsc
