// Bodies of continuous.hpp.
#pragma once

#include "continuous.hpp"

namespace dpsc {

void require_scale(double scale) {
  if (!(scale > 0.0) || !std::isfinite(scale))
    throw std::domain_error("a noise scale must be positive and finite");
}

}  // namespace dpsc
