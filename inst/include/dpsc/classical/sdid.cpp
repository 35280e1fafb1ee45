// Bodies of sdid.hpp.
#pragma once

#include "sdid.hpp"

namespace dpsc {

double difference_deviation(const simplex_ls::matrix_ref& donors, Eigen::Index T0) {
  const Eigen::Index steps = T0 - 1, count = donors.rows() * steps;
  if (count < 2) throw std::invalid_argument("a noise level needs two differences of outcomes");
  const Eigen::ArrayXXd change =
      donors.middleCols(1, steps).array() - donors.leftCols(steps).array();
  return std::sqrt((change - change.mean()).square().sum() / static_cast<double>(count - 1));
}

sdid_fit fit_sdid(const simplex_ls::matrix_ref& donors, const simplex_ls::vector_ref& target,
                  Eigen::Index T0, double zeta, double zeta_periods, runtime host) {
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
