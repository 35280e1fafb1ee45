// Synthetic difference-in-differences (Arkhangelsky, Athey, Hirshberg, Imbens and Wager, 2021):
// weights of donors and weights of periods before treatment, then a weighted two-way comparison.
//
//   donors  w: min ||c + w'X - y||^2 + zeta^2 T0 ||w||^2       over the simplex, c free
//   periods l: min ||c + X l - post means||^2 + zeta_l^2 n ||l||^2, likewise
//   effect:    (mean y_post - l'y_pre) - sum_i w_i (mean X_i,post - l'X_i,pre)
//
// Both problems are strictly convex and are solved exactly, not by a fixed number of steps.
#pragma once

#include <dpsc/solver/simplex_batch.hpp>

namespace dpsc {

struct sdid_fit {
  Eigen::VectorXd weights;         ///< donors, sum 1
  Eigen::VectorXd period_weights;  ///< periods before treatment, sum 1
  Eigen::VectorXd counterfactual;  ///< of all periods: weighted donors + intercept
  double intercept = 0.0;          ///< brings the two paths together at the weighted periods
  double objective = 0.0;          ///< of the donors' weights
  double kkt = 0.0;                ///< largest violation in either problem
};

/// Standard deviation of all donors' first differences before treatment, pooled.
double difference_deviation(const simplex_ls::matrix_ref& donors, Eigen::Index T0);

/// @param donors n x T; target T; zeta, zeta_periods: regularisation, outcome units.
sdid_fit fit_sdid(const simplex_ls::matrix_ref& donors, const simplex_ls::vector_ref& target,
                  Eigen::Index T0, double zeta, double zeta_periods, runtime host = {});

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "sdid.cpp"
#endif
