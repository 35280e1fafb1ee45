// The part of skewed errors beyond the widest clip, from the response's level under several clips.
// Post-processing. Notes: inst/proofs/regression.md, section 6.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace dpsc {

/// The level under one clip, with its noise. `used`: is it one of the estimate's rounds?
struct clipped_level {
  double clip, level, sd;
  bool used;
};

/// The level without a clip; and the slopes' change beyond the estimate's clips over their change
/// up to these, if the spread of errors, not their number, differs between rows.
struct lm_tail {
  double level = 0.0, variance = 0.0;
  double left = 0.0, left_variance = 0.0;
};

namespace tail_constants {
// Shapes and scales of tails (generalised Pareto): scales in standard deviations of clipped
// residuals, by powers of 2^(1/2).
constexpr int shapes = 5, first_scale = -3, last_scale = 10;
constexpr double shape[shapes] = {0.0, 0.2, 0.4, 0.6, 0.75};
// Their prior: shapes fall off at this rate, scales are within a factor of two of one; a small part
// of it knows nothing of scales, for gross outliers.
constexpr double shape_rate = 0.2, scale_spread = 1.0, unknown = 0.01;
// The model's errors, in parts of the first change: of the narrowest level, where the errors' core
// is not a tail, and of each level.
constexpr double core = 0.25, each = 0.05;
constexpr double jumps = 3.0;      // prior standard deviation of the hidden part, in changes seen
constexpr double most_left = 5.0;  // per unit of the change that was seen
}  // namespace tail_constants

/// The mean beyond c of a generalised Pareto tail with this scale and shape, per person in it.
double tail_beyond(double c, double scale, double shape);

/// Levels from the narrowest clip on, in order of rounds; no residual exceeds `range`.
lm_tail extrapolate_level(const std::vector<clipped_level>& levels, double deviation, double range);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "tails.cpp"
#endif
