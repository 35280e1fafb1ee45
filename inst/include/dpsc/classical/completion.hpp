// Matrix completion with nuclear norm minimisation (Athey, Bayati, Doudchenko, Imbens and Khosravi,
// 2021), with fixed effects of rows and columns that are not penalised:
//
//   min 1/2 sum_observed (Y_it - a_i - b_t - L_it)^2 + theta ||L||_*
//
// (the paper's lambda is 2 theta / number of observed cells).
//
// With covariates Y_it is less x_it' beta, and effects of periods may depend on a unit's own z_i:
// `basis` spans (1, z) across units instead of the constant only.
//
// Given beta and values z for the missing cells, the minimum over a, b, L has a closed form: demean
// both ways (across units: residuals on the basis), shrink the singular values by theta. The
// remaining problem is a smooth convex function,
//
//   f(z, beta) = sum_k h(d_k),  h(d) = d^2 / 2 up to theta, theta d - theta^2 / 2 beyond,
//
// d the singular values of the demeaned matrix; its gradient is z minus the fitted values there
// and, for slopes on orthonormal x that are 0 in missing cells, minus the residual's products with
// them: so its Lipschitz constant is 1. Fixed-point iteration on it is the usual algorithm; L-BFGS
// needs far fewer decompositions.
#pragma once

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <deque>
#include <dpsc/runtime.hpp>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dpsc {

struct completion_settings {
  double tolerance = 1e-9;  ///< largest gradient, relative to the data's deviation
  int iterations = 2000;
};

struct completion_fit {
  Eigen::MatrixXd fitted;  ///< a_i + b_t + L_it for all cells
  Eigen::MatrixXd smooth;  ///< rows x rows: fitted = smooth * filled matrix + effects of rows
  Eigen::VectorXd slopes;  ///< on the regressors, which are not in `fitted`
  Eigen::VectorXd values;  ///< singular values of L, those above 0
  double objective = 0.0;
  double kkt = 0.0;  ///< largest gradient at the missing cells, outcome units
  int iterations = 0;
};

class matrix_completion {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;

  runtime host;

  /// @param outcomes N x T; missing cells are not read.
  /// @param missing positions of missing cells, column by column.
  matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing);

  /// @param basis N x r, orthonormal, a constant in its span.
  /// @param regressors N T x p, column by column: orthonormal, 0 in missing cells.
  matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing,
                    Eigen::MatrixXd basis, Eigen::MatrixXd regressors);

  /// The smallest theta at which L is zero: the spectral norm of two-way residuals.
  double largest_theta(const completion_settings& settings);

  /// Warm start, from the point at which the last call ended.
  completion_fit fit(double theta, const completion_settings& settings);

 private:
  static Eigen::MatrixXd even_basis(Eigen::Index N);

  Eigen::Index cells() const { return static_cast<Eigen::Index>(missing_.size()); }

  std::vector<Eigen::Index> all_rows() const;

  // Some rows of the filled matrix, demeaned both ways.
  Eigen::MatrixXd centred(const std::vector<Eigen::Index>& rows) const;

  // Their fitted values.
  Eigen::MatrixXd fitted_rows(double theta, const std::vector<Eigen::Index>& rows) const;

  // Missing cells and slopes, whose products are subtracted from the observed cells.
  void place(const Eigen::VectorXd& point);

  // f at a point; stores the decomposition and the gradient.
  double evaluate(const Eigen::VectorXd& z, double theta);

  // Singular values, largest first, and right singular vectors of the demeaned matrix, through the
  // smaller Gram matrix: only directions above theta are used, and these are accurate.
  void decompose();

  // L-BFGS from `point_`; the gradient's Lipschitz constant is 1, so a plain step always descends.
  int minimise(double theta, const completion_settings& settings);

  static Eigen::VectorXd two_loops(
      const std::deque<std::pair<Eigen::VectorXd, Eigen::VectorXd>>& memory,
      const Eigen::VectorXd& slope);

  Eigen::MatrixXd filled_, basis_, regressors_, right_;
  Eigen::MatrixXd plain_;                                    // with slopes 0
  Eigen::MatrixXd across_, steady_moments_, steady_across_;  // r x T, T x T, r x T
  Eigen::VectorXd values_, gradient_, point_;                // missing cells, then slopes
  Eigen::VectorXd row_shift_, column_shift_;
  std::vector<Eigen::Index> missing_, moving_;  // cells; rows that have one
  double scale_ = 1.0;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "completion.cpp"
#endif
