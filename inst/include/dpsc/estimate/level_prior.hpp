// A row's own level beside features relative to it: the regression to the mean of people whose
// level is far from the others', estimated from the released variances. Post-processing.
//
// A level is a lasting part (variance a) plus the mean of a passing part (variance v over the
// pre-period). With c the covariance of the passing part's means over the pre-period and the
// post-period, the expected change of a person whose level is Delta above the others' is -(v - c) /
// (a + v) Delta. a
// + v is the released variance of levels; v - c follows from the passing part, an autoregression,
// which determines all released moments around a row's own level: these do not depend on the
// lasting part.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "moments_model.hpp"

namespace dpsc {

/// Is the first feature a row's own level, beside features relative to it?
bool has_level_feature(const gram_statistics& s);

/// RELEASED; feature units, unless stated otherwise.
struct level_prior {
  double change = 0.0;  // of the mean change after the treatment, by the level; -1 to 0 in outcomes
  double doubt = 0.0;   // its standard deviation
};

/// Covariance over time of an autoregression of variance one.
Eigen::MatrixXd autoregression(double phi, Eigen::Index periods);

level_prior make_level_prior(const gram_statistics& s);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "level_prior.cpp"
#endif
