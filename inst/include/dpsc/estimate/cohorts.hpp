// Several adoption dates from one release: estimates for a cohort that adopts later, and the shared
// part of two cohorts' errors. Post-processing: nothing here reads people's rows.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "counterfactual.hpp"

namespace dpsc {

/// The origin of a row's columns, in the order of a cohort: periods before its adoption,
/// covariates, periods after it. The release has `before` periods, q covariates, and then the other
/// periods.
std::vector<Eigen::Index> cohort_order(Eigen::Index before, Eigen::Index q, Eigen::Index T0,
                                       Eigen::Index periods);

/// The release for a cohort that adopts after T0 periods: single periods between the first adoption
/// and its own belong to its past, and levels are means over all T0. This is a linear map of
/// features, so the whitened features do not change.
gram_statistics cohort_view(const gram_statistics& s, Eigen::Index T0);

/// Covariances between the errors of several cohorts' counterfactuals, cohort by cohort and period
/// by period, scaled units: the parts from the noise and from the donors' own regression.
struct shared_errors {
  Eigen::MatrixXd privacy, regression;
};

/// One cohort: its view of the release, the options of its estimate, and its path before its own
/// adoption.
struct cohort_target {
  gram_statistics view;
  estimator_options options;
  Eigen::VectorXd pre;
};

shared_errors cohort_errors(const std::vector<cohort_target>& cohorts, double n);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "cohorts.cpp"
#endif
