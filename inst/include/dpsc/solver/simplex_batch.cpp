// Bodies of simplex_batch.hpp.
#pragma once

#include "simplex_batch.hpp"

namespace dpsc {

simplex_batch::simplex_batch(Eigen::Index problems, Eigen::Index periods)
    : paths(problems, periods), objective(problems), kkt(problems) {}

simplex_batch placebo_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                            Eigen::Index T0, const simplex_options& options) {
  const Eigen::Index n = donors.rows();
  simplex_batch out(n, donors.cols());
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::VectorXd target = donors.row(i).head(T0).transpose();
    const simplex_solution& fit = solver.solve(donors.leftCols(T0), target, options, i);
    out.paths.row(i) = mixture(fit, donors).transpose();
    out.objective[i] = fit.objective;
    out.kkt[i] = fit.kkt;
  }
  return out;
}

simplex_batch leave_out_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                              const simplex_ls::vector_ref& target, Eigen::Index T0,
                              const simplex_options& options,
                              const std::vector<Eigen::Index>& dropped) {
  simplex_batch out(static_cast<Eigen::Index>(dropped.size()), donors.cols());
  for (std::size_t i = 0; i < dropped.size(); ++i) {
    const simplex_solution& fit =
        solver.solve(donors.leftCols(T0), target.head(T0), options, dropped[i], true);
    const Eigen::Index row = static_cast<Eigen::Index>(i);
    out.paths.row(row) = mixture(fit, donors).transpose();
    out.objective[row] = fit.objective;
    out.kkt[row] = fit.kkt;
  }
  return out;
}

simplex_batch refit_residuals(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                              const simplex_ls::matrix_ref& targets,
                              const simplex_options& options) {
  simplex_batch out(targets.rows(), targets.cols());
  for (Eigen::Index i = 0; i < targets.rows(); ++i) {
    const Eigen::VectorXd target = targets.row(i).transpose();
    const simplex_solution& fit = solver.solve(donors, target, options, -1, i > 0);
    out.paths.row(i) = (target - mixture(fit, donors)).transpose();
    out.objective[i] = fit.objective;
    out.kkt[i] = fit.kkt;
  }
  return out;
}

}  // namespace dpsc
