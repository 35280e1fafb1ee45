// The loops around the simplex solver: every donor as a placebo, donors left out one at a time, and
// many target paths against the same donors. One workspace serves a whole loop.
#pragma once

#include <dpsc/solver/simplex_ls.hpp>

namespace dpsc {

/// One row per problem of a loop.
struct simplex_batch {
  Eigen::MatrixXd paths;  ///< counterfactuals or residuals, problems x periods
  Eigen::VectorXd objective, kkt;

  simplex_batch(Eigen::Index problems, Eigen::Index periods);
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
simplex_batch placebo_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                            Eigen::Index T0, const simplex_options& options);

/// The target without each of the `dropped` donors: row i is the counterfactual without the i-th.
simplex_batch leave_out_paths(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                              const simplex_ls::vector_ref& target, Eigen::Index T0,
                              const simplex_options& options,
                              const std::vector<Eigen::Index>& dropped);

/// Residuals of many target paths (one per row), each fitted on all of its periods.
simplex_batch refit_residuals(simplex_ls& solver, const simplex_ls::matrix_ref& donors,
                              const simplex_ls::matrix_ref& targets,
                              const simplex_options& options);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "simplex_batch.cpp"
#endif
