// The loops around the simplex solver: every donor as a placebo, donors left out one at a time, and
// many target paths against the same donors. One workspace serves a whole loop.
#pragma once

#include <dpsc/solver/simplex_ls.hpp>

namespace dpsc {

/// One row per problem of a loop.
struct simplex_batch {
  Eigen::MatrixXd paths;  ///< counterfactuals or residuals, problems x periods
  Eigen::VectorXd objective, kkt;

  simplex_batch(Eigen::Index problems, Eigen::Index periods)
      : paths(problems, periods), objective(problems), kkt(problems) {}
};

/// Target path implied by weights that were fitted on some of the periods.
template <typename Donors>
Eigen::VectorXd mixture(const simplex_solution& fit, const Donors& donors) {
  Eigen::VectorXd path = Eigen::VectorXd::Constant(donors.cols(), fit.intercept);
  for (std::size_t i = 0; i < fit.support.size(); ++i)
    path += fit.weights[i] * donors.row(fit.support[i]).transpose();
  return path;
}

/// Each donor in turn plays the target against all others: row i is donor i's counterfactual.
inline simplex_batch placebo_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
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

/// The target without each of the `dropped` donors: row i is the counterfactual without the i-th.
inline simplex_batch leave_out_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
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

/// Residuals of many target paths (one a row), each fitted on all of its periods.
inline simplex_batch refit_residuals(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
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
