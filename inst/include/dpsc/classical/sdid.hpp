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

/// Standard deviation of the donors' first differences before treatment, all of them together.
inline double difference_deviation(const simplex_ls::matrix_ref& donors, Eigen::Index T0) {
  const Eigen::Index steps = T0 - 1, count = donors.rows() * steps;
  if (count < 2) throw std::invalid_argument("a noise level needs two differences of outcomes");
  const Eigen::ArrayXXd change =
      donors.middleCols(1, steps).array() - donors.leftCols(steps).array();
  return std::sqrt((change - change.mean()).square().sum() / static_cast<double>(count - 1));
}

/// @param donors n x T; target T; zeta, zeta_periods: regularisation, outcome units.
inline sdid_fit fit_sdid(const simplex_ls::matrix_ref& donors, const simplex_ls::vector_ref& target,
                         Eigen::Index T0, double zeta, double zeta_periods, runtime host = {}) {
  const Eigen::Index n = donors.rows(), T1 = donors.cols() - T0;
  if (T0 < 1 || T1 < 1 || target.size() != donors.cols())
    throw std::invalid_argument("periods before and after treatment are needed");
  simplex_ls solver;
  solver.host = std::move(host);
  sdid_fit out;
  simplex_options options{true, 0.0, zeta * zeta * static_cast<double>(T0)};
  const simplex_solution& units = solver.solve(donors.leftCols(T0), target.head(T0), options);
  out.weights = units.dense(n);
  out.objective = units.objective;
  out.kkt = units.kkt;
  options.ridge = zeta_periods * zeta_periods * static_cast<double>(n);
  const Eigen::MatrixXd periods = donors.leftCols(T0).transpose();
  const Eigen::VectorXd after = donors.rightCols(T1).rowwise().mean();
  const simplex_solution& times = solver.solve(periods, after, options);
  out.period_weights = times.dense(T0);
  out.kkt = std::max(out.kkt, times.kkt);
  out.counterfactual = donors.transpose() * out.weights;
  out.intercept = out.period_weights.dot(target.head(T0) - out.counterfactual.head(T0));
  out.counterfactual.array() += out.intercept;
  return out;
}

}  // namespace dpsc
