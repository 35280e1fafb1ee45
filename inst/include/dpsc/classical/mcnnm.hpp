// Matrix completion as an estimator of one target's counterfactual: the last row of a matrix whose
// cells after treatment are missing. Its fitted values there are also a sum of donors with weights
// that sum to one, plus an intercept (the weights depend on the whole panel, not on the period):
// with H the smoother of rows (effects of periods and shrinkage), f_t = const + H_00 f_t +
// sum_i H_0i Y_it.
//
// Covariates x, minus their prediction by effects, have one unpenalised coefficient each: f is then
// the outcome minus x'beta. A unit's own z has coefficients by period, which are effects without a
// penalty, too (Athey et al., 2021, section 8.1).
#pragma once

#include <dpsc/classical/completion.hpp>
#include <dpsc/classical/covariates.hpp>
#include <memory>

namespace dpsc {

struct mcnnm_fit {
  Eigen::VectorXd weights;         ///< implied for the periods after treatment, sum 1
  Eigen::VectorXd counterfactual;  ///< T; before treatment the fitted values
  double intercept = 0.0;
  Eigen::VectorXd slopes;  ///< beta
  double objective = 0.0, kkt = 0.0;
  Eigen::Index rank = 0;  ///< of L
};

/// The matrix of donors and, last, the target, whose cells in some `periods` are missing.
class target_completion {
 public:
  /// @param given n + 1 rows, the target last.
  target_completion(const matrix_completion::matrix_ref& donors,
                    const Eigen::Ref<const Eigen::VectorXd>& target,
                    const std::vector<Eigen::Index>& periods, const panel_covariates& given,
                    runtime host = {});

  matrix_completion& problem() { return *problem_; }

  /// Slopes on the covariates; 0 for those collinear with others.
  Eigen::VectorXd slopes(const completion_fit& fit) const;

  /// The target's path.
  Eigen::VectorXd path(const completion_fit& fit) const;

 private:
  std::unique_ptr<matrix_completion> problem_;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> turn_;
  Eigen::RowVectorXd scale_;
  Eigen::Index rank_ = 0;
  Eigen::MatrixXd own_;  // T x p: the target's covariates minus their prediction by effects
};

/// The periods from T0 on and, with folds, the earlier periods of one fold.
std::vector<Eigen::Index> held_out(Eigen::Index T0, Eigen::Index T, Eigen::Index folds = 0,
                                   Eigen::Index fold = 0);

/// theta for the paper's lambda: half of it times the number of observed cells.
double completion_theta(double lambda, Eigen::Index rows, Eigen::Index T, Eigen::Index T0);

mcnnm_fit fit_mcnnm(const matrix_completion::matrix_ref& donors,
                    const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0, double lambda,
                    const panel_covariates& given, runtime host = {});

struct mcnnm_errors {
  Eigen::VectorXd lambda;  ///< from the smallest that makes L zero, down
  Eigen::VectorXd error;   ///< mean squared error of held-out periods of the target
};

/// The target's periods before treatment, held out in at most twenty folds, every twentieth period
/// together, for a path of penalties.
mcnnm_errors cross_validate_mcnnm(const matrix_completion::matrix_ref& donors,
                                  const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                                  int penalties, double smallest, const panel_covariates& given,
                                  runtime host = {});

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "mcnnm.cpp"
#endif
