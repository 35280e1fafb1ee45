// Prefix sums of a stream by a Toeplitz factor that is represented by a few buffers: C x by
// geometric recursions in fixed point, all integers, so that the released u = C x + noise is exact.
// The effect of rounding on the shift of one entry is bounded and charged (proofs/streams.md).
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "coefficients.hpp"
#include "factored_sums.hpp"

namespace dpsc {

class buffered_sums : public factored_sums {
 public:
  static constexpr int fraction = 32;  // binary places of a buffer

  buffered_sums() = default;
  /// @param grid binary places of u, in units of x; may be negative.
  buffered_sums(Eigen::Index d, std::int64_t horizon, int grid)
      : factored_sums(d, horizon, grid, largest_grid),
        constants_(root_buffers(static_cast<double>(horizon))),
        buffers_(constants_.size() * static_cast<std::size_t>(d), 0),
        back_(Eigen::MatrixXd::Zero(d, static_cast<Eigen::Index>(constants_.size()))) {
    impulse_.assign(constants_.size(), 0.0);
  }

  template <typename Engine>
  void step(const std::int64_t* x, const coordinate_noise& noise, Engine& engine,
            exposure_observer* observer = nullptr) {
    draw(noise, engine);
    const std::size_t m = constants_.size();
    for (Eigen::Index i = 0; i < d_; ++i) {
      int128* h = buffers_.data() + static_cast<std::size_t>(i) * m;
      const int128 entry = static_cast<int128>(x[i]) * (int128{1} << fraction);
      int128 total = 0;
      for (std::size_t j = 0; j < m; ++j) {
        h[j] += entry - ((h[j] * constants_.step[j]) >> constants_.shift[j]);
        total += h[j] * constants_.weight[j];
      }
      u_[static_cast<std::size_t>(i)] +=
          static_cast<std::int64_t>(total >> (fraction + 30 - grid_));
    }
    if (observer) observer->seen(u_.data(), d_);
    invert();
  }

  /// Shift per coordinate and step that rounding may add, in units of u.
  static double rounding(const buffer_constants& constants, int grid) {
    double reach = 0.0;
    for (std::size_t j = 0; j < constants.size(); ++j)
      reach += constants.omega(j) / constants.rate(j);
    return 1.0 + std::ldexp(reach, grid - fraction) * (1.0 + 1e-9);
  }

  void write(state_writer& out) const {
    write_sizes(out);
    out.put(buffers_);
    out.put(back_);
    write_sums(out);
  }
  void read(state_reader& in) {
    read_sizes(in);
    in.get(buffers_);
    in.get(back_);
    read_sums(in);
    if (!sizes_fit()) throw state_error("the checkpoint is damaged");
    check_grid(largest_grid);
    constants_ = root_buffers(static_cast<double>(horizon_));
    const std::size_t m = constants_.size();
    if (buffers_.size() != m * static_cast<std::size_t>(d_) || impulse_.size() != m ||
        back_.rows() != d_ || back_.cols() != static_cast<Eigen::Index>(m))
      throw state_error("the checkpoint is damaged");
  }

 private:
  static constexpr int largest_grid = 30;

  void invert() {
    double first = 0.0;
    for (std::size_t j = 0; j < constants_.size(); ++j) first += constants_.omega(j);
    Eigen::VectorXd w = released();
    double g = t_ == 0 ? 1.0 : 0.0;
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      const double weight = constants_.omega(j) * constants_.lambda(j);
      w -= weight * back_.col(static_cast<Eigen::Index>(j));
      g -= weight * impulse_[j];
    }
    w /= first;
    g /= first;
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      const double lambda = constants_.lambda(j);
      auto column = back_.col(static_cast<Eigen::Index>(j));
      column = lambda * column + w;
      impulse_[j] = lambda * impulse_[j] + g;
    }
    add(w, g);
  }

  buffer_constants constants_;
  std::vector<int128> buffers_;  // d x buffers, secret
  Eigen::MatrixXd back_;         // d x buffers, from released values
};

}  // namespace dpsc
