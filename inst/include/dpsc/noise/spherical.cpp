// Bodies of spherical.hpp.
#pragma once

#include "spherical.hpp"

namespace dpsc {

Eigen::VectorXd known_spherical::draw(Eigen::Index dimension, double scale) {
  if (value_.size() != dimension) throw std::invalid_argument("a vector of another dimension");
  return value_ * scale;
}

}  // namespace dpsc
