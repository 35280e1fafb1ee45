// Generalised synthetic control (Xu, 2017): interactive fixed effects. Donors follow
//
//   Y_it = unit_i + time_t + sum_k u_ik d_k v_kt + error
//
// estimated by least squares on all their periods (Bai, 2009): two-way demeaning, then the leading
// singular vectors. The target's level and loadings come from its periods before treatment.
//
// Since sum_i u_ik = 0, the target's path is also a sum of donors with weights that sum to one,
// plus an intercept; these implied weights are returned.
//
// With covariates the donors' slopes are estimated jointly with the factors: see interactive.hpp. A
// unit's own covariates z, with coefficients by period, take the place of the mean over donors:
// regression on (1, z) instead of on 1.
#pragma once

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <dpsc/classical/covariates.hpp>
#include <limits>
#include <stdexcept>

namespace dpsc {

struct factor_fit {
  Eigen::VectorXd weights;         ///< implied, sum 1, signs free
  Eigen::VectorXd counterfactual;  ///< T
  Eigen::VectorXd loadings;        ///< of the target on `factors()`
  double intercept = 0.0;
  double objective = 0.0;  ///< squared errors of the target before treatment
};

/// Leading singular vectors: eigenvectors of the smaller Gram matrix, whose rounding errors are
/// relative to the largest squared singular value, then one power step and a decomposition within
/// their span.
struct leading_parts {
  Eigen::MatrixXd units, factors;  ///< N x r, T x r
  Eigen::VectorXd values;

  leading_parts() = default;
  leading_parts(const Eigen::MatrixXd& centred, Eigen::Index most);

  /// Removes directions below the rounding error of data of this size.
  void drop_rounding(double size, Eigen::Index cells);
};

class factor_model {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;
  using vector_ref = Eigen::Ref<const Eigen::VectorXd>;

  /// @param donors n x T.
  /// @param most the largest number of factors that will be requested.
  /// @param units (n + 1) x q: covariates of the donors and, last, the target.
  factor_model(const matrix_ref& donors, Eigen::Index most, const Eigen::MatrixXd& units);

  /// The number of available factors: at most `most` and at most the rank of the data.
  Eigen::Index rank() const { return parts_.values.size(); }
  const Eigen::MatrixXd& factors() const { return parts_.factors; }

  factor_fit fit(const vector_ref& target, Eigen::Index T0, Eigen::Index rank) const;

  /// Mean squared error of the target's periods before treatment, each predicted from the others,
  /// by number of factors 0 to `most`; infinite if the others do not determine the loadings.
  Eigen::VectorXd cross_validate(const vector_ref& target, Eigen::Index T0,
                                 Eigen::Index most) const;

 private:
  // A constant and the first factors, before treatment.
  Eigen::MatrixXd regressors(Eigen::Index T0, Eigen::Index rank) const;

  leading_parts parts_;
  Eigen::VectorXd levels_, times_;
  Eigen::VectorXd alike_;  // donors' weights in `times_`
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "factor.cpp"
#endif
