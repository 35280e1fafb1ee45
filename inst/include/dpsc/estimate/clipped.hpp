// Moments of clipped residuals under a normal distribution. Notes: inst/proofs/regression.md,
// section 6.
#pragma once

#include <algorithm>
#include <cmath>

#include "../mechanism/regression_rounds.hpp"

namespace dpsc {

/// Second moment of a normal distribution after clipping at 1 / tau standard deviations, in units
/// of the clip's square.
double clipped_second(double tau);

/// Variance of a normal distribution whose clipped second moment is `second`.
double unclipped_variance(double second, double clip);

/// Slope of the mean of a clipped residual: the share within the clip.
double clip_slope(const lm_round& round);

/// Inflation of the slopes' variance by clipping, for normal residuals.
double clipped_efficiency(const lm_round& last);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "clipped.cpp"
#endif
