// Several adoption dates from one release: estimates for a cohort that adopts later, and the shared
// part of two cohorts' errors. Post-processing: nothing here sees people.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "counterfactual.hpp"

namespace dpsc {

/// Where the columns of a row come from, in the order in which a cohort knows them: periods before
/// its adoption, covariates, periods after it. The release has `before` periods, q covariates, and
/// then the other ones.
std::vector<Eigen::Index> cohort_order(Eigen::Index before, Eigen::Index q, Eigen::Index T0,
                                       Eigen::Index periods);

/// The release as a cohort sees it that adopts after T0 periods: single periods between the first
/// adoption and its own are past to it, and levels are means over all T0. A linear map of features,
/// so the whitened ones do not change.
gram_statistics cohort_view(const gram_statistics& s, Eigen::Index T0);

/// Covariances between the errors of several cohorts' counterfactuals, cohort by cohort and period
/// by period, scaled units: the parts from the noise and from the donors' own regression.
struct shared_errors {
  Eigen::MatrixXd privacy, regression;
};

/// One cohort: its view, how it is estimated, and its path before its own adoption.
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
