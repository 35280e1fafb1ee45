// Moments of clipped residuals, by the normal law. Notes: inst/proofs/regression.md,
// section 6.
#pragma once

#include <algorithm>
#include <cmath>

#include "../mechanism/regression_rounds.hpp"

namespace dpsc {

/// Share of a normal's second moment that is left when values are clipped at 1 / tau deviations,
/// in units of the clip's square.
double clipped_second(double tau);

/// Variance of a normal whose clipped second moment is `second`.
double unclipped_variance(double second, double clip);

/// Slope of the mean of a clipped residual: the share within the clip.
double clip_slope(const lm_round& round);

/// How much larger the variance of slopes is where residuals are clipped, of normal ones.
double clipped_efficiency(const lm_round& last);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "clipped.cpp"
#endif
