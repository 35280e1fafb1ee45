// Covariates in addition to effects of units and periods:
//
//   Y_it = unit_i + time_t + x_it' beta + z_i' b_t + ...
//
// x changes over time and has one coefficient each. z is constant over time: only changes of its
// coefficient between periods are identified in addition to the unit's effect. The residual of a
// panel from effects and z is a product of deviations over time and of residuals across units on
// (1, z).
#pragma once

#include <Eigen/QR>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dpsc {

/// The cells of a panel, column by column.
Eigen::VectorXd cells_of(const Eigen::MatrixXd& values);

/// Columns minus their means over rows, each scaled to length 1; columns of mere rounding error
/// become 0.
struct unit_columns {
  Eigen::MatrixXd columns;
  Eigen::RowVectorXd scale;  ///< what they were multiplied by

  unit_columns(const Eigen::MatrixXd& values, const Eigen::VectorXd& root);
};

/// Rows are units, of which the last may be the target.
struct panel_covariates {
  Eigen::MatrixXd varying;  ///< N x (T p): x, a block of T columns each
  Eigen::MatrixXd units;    ///< N x q: z

  Eigen::Index count(Eigen::Index T) const { return T > 0 ? varying.cols() / T : 0; }

  Eigen::MatrixXd one(Eigen::Index k, Eigen::Index T) const { return varying.middleCols(k * T, T); }

  panel_covariates rows(Eigen::Index count) const;

  /// sum_k x_k slopes_k, N x T.
  Eigen::MatrixXd explained(const Eigen::VectorXd& slopes, Eigen::Index T) const;
};

/// Covariates of units in the directions in which donors differ: directions of the last row alone
/// are left out, since donors do not identify their effect.
Eigen::MatrixXd told_by_donors(const Eigen::MatrixXd& units);

/// Least squares of panels on effects of units and periods and on z by period.
class effects_projection {
 public:
  /// @param units N x q, in any units: parts explained by other columns are ignored.
  /// @param last the weight of the last row; the others have 1.
  explicit effects_projection(const Eigen::MatrixXd& units, double last = 1.0);

  /// Orthonormal in the rows' weights: a constant first.
  const Eigen::MatrixXd& basis() const { return basis_; }

  Eigen::MatrixXd residual(Eigen::MatrixXd values) const;

  /// Fills cells of the last row with the effects' prediction, fitted to all other cells. @param
  /// periods the filled periods, not all.
  void fill(Eigen::MatrixXd& values, const std::vector<Eigen::Index>& periods) const;

  /// Coefficients b of z by period, q x T, their mean over time 0.
  Eigen::MatrixXd by_period(Eigen::MatrixXd values) const;

  const Eigen::VectorXd& root_weights() const { return root_; }

 private:
  Eigen::VectorXd root_;      // square roots of the rows' weights
  Eigen::RowVectorXd scale_;  // of z
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposed_;
  Eigen::MatrixXd basis_;
};

/// Weights of donors, sum 1, that reproduce the prediction of a regression on (1, z) for the
/// target.
Eigen::VectorXd regression_weights(const Eigen::MatrixXd& units, const Eigen::RowVectorXd& target);

/// Least squares on a few columns; if they are collinear, the solution of minimum norm for columns
/// of length 1.
Eigen::VectorXd few_slopes(Eigen::MatrixXd columns, const Eigen::VectorXd& goal);

/// Residuals of each x from effects, one column each: of N T cells, those of `periods` in the last
/// row 0. A covariate that is rounding error only is set to 0.
Eigen::MatrixXd varying_residuals(const effects_projection& effects, const panel_covariates& given,
                                  Eigen::Index T, const std::vector<Eigen::Index>& periods);

/// The first covariate, of z and then of x, that is collinear with effects and earlier ones, from
/// 1; 0 if there is none.
Eigen::Index first_redundant(const panel_covariates& given, Eigen::Index T);

struct covariate_adjustment {
  Eigen::VectorXd slopes;  ///< beta
  Eigen::MatrixXd donors;  ///< outcomes less x'beta and z'b_t, z less the donors' mean
  Eigen::VectorXd path;    ///< the same terms of the target, T
};

/// Covariates partialled out by least squares with effects of units and periods, on untreated
/// cells: all cells of the donors, and the target's before treatment.
/// @param given N = n + 1 rows, the target last.
/// @param weight of the target's row: the number of units whose mean it is.
covariate_adjustment adjust_for(const Eigen::Ref<const Eigen::MatrixXd>& donors,
                                const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                                const panel_covariates& given, double weight);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "covariates.cpp"
#endif
