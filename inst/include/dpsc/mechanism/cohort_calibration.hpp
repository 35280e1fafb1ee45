// Placebo errors of several adoption dates at once: the same five draws as for one date, each on
// all the numbers to which one person contributes. Proofs: inst/proofs/gram.md, section 7.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration.hpp"

namespace dpsc {

/// RELEASED.
struct cohort_calibration {
  bool made = false;
  double clip = 0.0;       // larger errors count as equal to it, scaled units
  double calm = 0.0;       // of a group: contains nearly all errors; at most the clip
  Eigen::VectorXd second;  // by cohort: mean squared placebo error of the average
  double second_sd = 0.0;  // standard deviation of the noise of each
  double average = 1.0, period = 1.0, band = 1.0;  // tail factors, of all cohorts together
  double tail = 0.05;
  bool group = false;  // no tail factors

  double floor(Eigen::Index cohort) const { return std::max(second[cohort], 0.5 * second_sd); }
};

/// The plan for one date, with one second moment per cohort at the same total cost: one person
/// contributes to each of them.
calibration_plan calibrate_cohorts(calibration_plan plan, double cohorts);

namespace calibration_detail {

/// The larger of two, or NaN.
inline double larger(double a, double b) { return std::isnan(a) || a >= b ? a : b; }

}  // namespace calibration_detail

/// Neighbours differ in one row, the same in every cohort's errors.
cohort_calibration release_cohort_calibration(const std::vector<placebo_errors>& cohorts,
                                              const calibration_plan& plan, noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "cohort_calibration.cpp"
#endif
