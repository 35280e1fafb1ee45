// Ridge augmented synthetic control (Ben-Michael, Feller and Rothstein, 2021): simplex weights,
// then the step along a ridge regression that removes the remaining imbalance,
//
//   w = w_simplex + Xc (Xc'Xc + lambda I)^-1 (y - X'w_simplex),   Xc: donors minus their mean.
//
// The weights still sum to one but may be negative. As lambda grows they are the simplex weights.
#pragma once

#include <Eigen/Eigenvalues>
#include <dpsc/solver/simplex_ls.hpp>

namespace dpsc {

struct augmented_fit {
  Eigen::VectorXd weights;  ///< sum 1, signs free
  Eigen::VectorXd simplex;  ///< the weights before the step
  double objective = 0.0;   ///< squared imbalance that is left
  double kkt = 0.0;         ///< of the simplex weights
  Eigen::Index ties = 0;
};

/// The ridge step for many penalties, with one factorisation of Xc'Xc.
class ridge_step {
 public:
  /// @param gram Xc'Xc, m x m.
  explicit ridge_step(const Eigen::MatrixXd& gram) : parts_(gram) {}

  /// @param imbalance the imbalance left by the weights, m.
  /// @return the coefficients c of the step: the weights change by Xc c.
  Eigen::VectorXd coefficients(const Eigen::VectorXd& imbalance, double lambda) const;

 private:
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts_;
};

/// @param donors n x m: the balanced variables (outcomes before treatment, and covariates on their
///   scale).
augmented_fit fit_augmented(const simplex_ls::matrix_ref& donors,
                            const simplex_ls::vector_ref& target, double lambda, runtime host = {});

struct augmented_errors {
  Eigen::VectorXd lambda;  ///< from the largest eigenvalue of Xc'Xc down
  Eigen::MatrixXd error;   ///< squared errors, held-out periods x penalties
};

/// Squared errors of periods before treatment, each held out in turn, for a path of penalties.
/// @param periods the number of leading columns that are periods: the others are never held out.
augmented_errors cross_validate_augmented(const simplex_ls::matrix_ref& donors,
                                          const simplex_ls::vector_ref& target,
                                          Eigen::Index periods, int penalties, double smallest,
                                          runtime host = {});

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "augmented.cpp"
#endif
