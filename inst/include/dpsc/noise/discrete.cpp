// Bodies of discrete.hpp.
#pragma once

#include "discrete.hpp"

namespace dpsc {

discrete_laplace::discrete_laplace(std::int64_t scale) : scale_(scale) {
  if (scale < 1 || scale > (std::int64_t{1} << 52))
    throw std::domain_error("the scale of discrete Laplace noise must lie in [1, 2^52]");
}

discrete_gaussian::discrete_gaussian(std::int64_t numerator, std::int64_t denominator)
    : numerator_(numerator), denominator_(denominator) {
  if (numerator < 1 || denominator < 1 || numerator > max_variance ||
      denominator > (std::int64_t{1} << 20) ||
      (denominator > 1 && numerator > (std::int64_t{1} << 30)))
    throw std::domain_error(
        "the variance of discrete Gaussian noise must be a positive integer up to 2^56 "
        "(or a small fraction)");
  // Any positive integer keeps the sampler exact; floor(sigma) + 1 makes it fast.
  proposal_scale_ =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(numerator) / denominator)) + 1;
}

}  // namespace dpsc
