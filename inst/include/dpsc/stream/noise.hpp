// The noise of a stream's coordinates: exact integers, at most two distributions.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../noise/noise.hpp"
#include "state.hpp"

namespace dpsc {

/// An audit's view of a stream: every released integer. There is none in production.
struct exposure_observer {
  virtual ~exposure_observer() = default;
  virtual void seen(std::int64_t* value, Eigen::Index d) = 0;
};

/// Independent noise on d coordinates. `scale` holds the standard deviation (Gaussian) or the scale
/// (Laplace) of a coordinate, as whole numbers; a scale of 0 means no noise.
class coordinate_noise {
 public:
  coordinate_noise() = default;
  coordinate_noise(bool gaussian, std::vector<std::int64_t> scale)
      : gaussian_(gaussian), scale_(std::move(scale)) {}

  Eigen::Index dimension() const { return static_cast<Eigen::Index>(scale_.size()); }

  template <typename Engine>
  void draw(std::int64_t* out, Engine& engine) const {
    quartered<Engine> quarters(engine);
    for (std::size_t i = 0; i < scale_.size(); ++i)
      out[i] = scale_[i] == 0 ? 0
               : gaussian_    ? whole_sigma_gaussian(scale_[i]).draw(quarters)
                              : discrete_laplace(scale_[i])(engine);
  }

  /// Variance of a coordinate, grid units: sigma^2, or twice the squared Laplace scale (above the
  /// truth by at most 1/6).
  double variance(Eigen::Index i) const {
    const double scale = static_cast<double>(scale_[static_cast<std::size_t>(i)]);
    return (gaussian_ ? 1.0 : 2.0) * scale * scale;
  }

  law kind() const { return gaussian_ ? law::whole_gaussian : law::discrete_laplace; }
  Eigen::VectorXd scales() const {
    return Eigen::Map<const Eigen::Array<std::int64_t, Eigen::Dynamic, 1>>(
               scale_.data(), static_cast<Eigen::Index>(scale_.size()))
        .cast<double>();
  }

  void write(state_writer& out) const {
    out.put(gaussian_);
    out.put(scale_);
  }
  void read(state_reader& in) {
    in.get(gaussian_);
    in.get(scale_);
  }

 private:
  bool gaussian_ = true;
  std::vector<std::int64_t> scale_;
};

/// Shows the outputs of a stream to an audit, through the audit's noise.
class handed_exposures : public exposure_observer {
 public:
  handed_exposures(noise& draws, const coordinate_noise& law)
      : draws_(draws), kind_(law.kind()), scales_(law.scales()) {}

  void seen(std::int64_t* value, Eigen::Index d) override {
    Eigen::VectorXd noisy(d);
    for (Eigen::Index i = 0; i < d; ++i) noisy[i] = static_cast<double>(value[i]);
    const Eigen::VectorXd shown = draws_.show("node of a stream", kind_, noisy, scales_);
    for (Eigen::Index i = 0; i < d; ++i) value[i] = static_cast<std::int64_t>(shown[i]);
  }

 private:
  noise& draws_;
  law kind_;
  Eigen::VectorXd scales_;
};

}  // namespace dpsc
