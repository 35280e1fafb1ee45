// Who draws the linear term of an objective: a vector with density proportional to exp(-|b| /
// scale). Nothing of people is asked for; audits give a vector of their own.
#pragma once

#include <Eigen/Core>
#include <stdexcept>
#include <utility>

#include "exact.hpp"

namespace dpsc {

/// As releases name the law: its norm is Gamma(d, scale).
constexpr const char* spherical_law = "gamma_norm";

class spherical_noise {
 public:
  virtual ~spherical_noise() = default;
  virtual Eigen::VectorXd draw(Eigen::Index dimension, double scale) = 0;
};

template <typename Engine>
class drawn_spherical : public spherical_noise {
 public:
  explicit drawn_spherical(Engine& engine) : engine_(engine) {}
  Eigen::VectorXd draw(Eigen::Index dimension, double scale) override {
    return exact_spherical(dimension, scale, engine_);
  }

 private:
  Engine& engine_;
};

/// Gives one known vector, in units of the scale.
class known_spherical : public spherical_noise {
 public:
  explicit known_spherical(Eigen::VectorXd value) : value_(std::move(value)) {}
  Eigen::VectorXd draw(Eigen::Index dimension, double scale) override;

 private:
  Eigen::VectorXd value_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "spherical.cpp"
#endif
