// A round for one public target: the mean over people of (1 + h'w) r, one number per period, which
// corrects the target's prediction to first order. Proof: inst/proofs/gram.md, section 5.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "moments.hpp"

namespace dpsc {

/// Public constants of the target's round.
struct targeted_plan {
  double exponent = 0.0;     // of the radius
  int price = radius_price;  // of a row outside it
  double limit = 0.0;        // Q: whole
  double noise = 0.0;        // variance
  double sigma = 0.0;
  std::vector<step_record> records;

  bool made() const { return limit > 0.0; }
};

/// The radius's part of the round's share: lower and upper limit.
constexpr double least_radius_part = 0.05, most_radius_part = 0.25;

/// Plans the finest grid whose noise the exact sampler can draw. `group`: the target is the mean of
/// many people.
targeted_plan plan_targeted(const total_budget& budget, double share, double n, bool group);

/// RELEASED.
struct targeted_sum {
  Eigen::VectorXd mean;  // T1
  double sd = 0.0;       // of the noise
  double radius = 0.0;   // longer rows were shortened to it
};

/// `rows`: features f = h'w, then r. `share`: mean weight over the largest weight, if people have
/// weights.
targeted_sum release_targeted(const row_source& source, const grid_map& rows, double n,
                              const std::vector<double>& radii, const targeted_plan& plan,
                              noise& draws, const ticker& tick, const weight_limits& weights = {},
                              double share = 1.0);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "targeted.cpp"
#endif
