// Covariates of a person are further columns of that person's row, after the pre-treatment periods,
// and each is a separate feature.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "gram_features.hpp"

namespace dpsc {

/// Weight of a covariate among the features of the first round (its bounds are [-1, 1]); the second
/// round estimates its scale.
constexpr double covariate_weight = 0.3;

/// Features of rows with q covariates between the T0 periods before the treatment and the later
/// periods.
gram_features with_covariates(const gram_features& f, Eigen::Index T0, Eigen::Index q);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "covariate_features.cpp"
#endif
