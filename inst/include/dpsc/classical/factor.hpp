// Generalised synthetic control (Xu, 2017): interactive fixed effects. Donors follow
//
//   Y_it = unit_i + time_t + sum_k u_ik d_k v_kt + error
//
// estimated by least squares on all their periods (Bai, 2009): two-way demeaning, then the leading
// singular vectors. The target's level and loadings come from its periods before treatment.
//
// Since sum_i u_ik = 0, the target's path is also a sum of donors with weights that sum to one,
// plus an intercept; those implied weights are returned.
//
// With covariates the donors' slopes are found beside the factors: see interactive.hpp. A unit's
// own covariates z, with coefficients by period, take the place of the mean over donors: regression
// on (1, z) instead of on 1.
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

/// Leading singular vectors: eigenvectors of the smaller Gram matrix, which has rounding errors of
/// the largest singular value's square, then one power step and a decomposition among them.
struct leading_parts {
  Eigen::MatrixXd units, factors;  ///< N x r, T x r
  Eigen::VectorXd values;

  leading_parts() = default;
  leading_parts(const Eigen::MatrixXd& centred, Eigen::Index most) {
    const bool tall = centred.rows() >= centred.cols();
    const Eigen::MatrixXd gram =
        tall ? Eigen::MatrixXd(centred.transpose() * centred) : centred * centred.transpose();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(gram);
    Eigen::MatrixXd basis = parts.eigenvectors().rightCols(most);
    if (tall) basis = (centred * basis).eval();
    basis = (centred.transpose() * basis).eval();
    const Eigen::HouseholderQR<Eigen::MatrixXd> qr(basis);
    const Eigen::MatrixXd span =
        qr.householderQ() * Eigen::MatrixXd::Identity(centred.cols(), most);
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(centred * span,
                                                Eigen::ComputeThinU | Eigen::ComputeThinV);
    units = svd.matrixU();
    factors = span * svd.matrixV();
    values = svd.singularValues();
  }

  /// Without directions that are below rounding errors of data of this size: they are none.
  void drop_rounding(double size, Eigen::Index cells) {
    const double floor = 1e-12 * size * std::sqrt(static_cast<double>(cells));
    Eigen::Index rank = 0;
    while (rank < values.size() && values[rank] > floor) ++rank;
    units = units.leftCols(rank).eval();
    factors = factors.leftCols(rank).eval();
    values = values.head(rank).eval();
  }
};

class factor_model {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;
  using vector_ref = Eigen::Ref<const Eigen::VectorXd>;

  /// @param donors n x T.
  /// @param most the largest number of factors that will be asked for.
  /// @param units (n + 1) x q: covariates of the donors and, last, the target.
  factor_model(const matrix_ref& donors, Eigen::Index most, const Eigen::MatrixXd& units) {
    if (!donors.allFinite()) throw std::domain_error("donors must be finite");
    const Eigen::Index n = donors.rows();
    if (units.rows() != n + 1) throw std::invalid_argument("units and covariates do not fit");
    levels_ = donors.rowwise().mean();
    alike_ = regression_weights(units.topRows(n), units.row(n));
    times_ = donors.transpose() * alike_;
    if (most < 1) return;
    const Eigen::MatrixXd centred = effects_projection(units.topRows(n)).residual(donors);
    parts_ = leading_parts(centred, std::min({most, centred.rows(), centred.cols()}));
    parts_.drop_rounding(donors.cwiseAbs().maxCoeff(), centred.size());
  }

  /// How many factors there are to choose from: at most `most`, and the rank of the data.
  Eigen::Index rank() const { return parts_.values.size(); }
  const Eigen::MatrixXd& factors() const { return parts_.factors; }

  factor_fit fit(const vector_ref& target, Eigen::Index T0, Eigen::Index rank) const {
    const Eigen::MatrixXd design = regressors(T0, rank);
    const Eigen::VectorXd own = target.head(T0) - times_.head(T0);
    const Eigen::VectorXd coefficients = design.colPivHouseholderQr().solve(own);
    factor_fit out;
    out.loadings = coefficients.tail(rank);
    out.counterfactual = times_.array() + coefficients[0];
    Eigen::VectorXd deviation = Eigen::VectorXd::Zero(levels_.size());
    if (rank > 0) {
      out.counterfactual += parts_.factors.leftCols(rank) * out.loadings;
      deviation = parts_.units.leftCols(rank) *
                  (out.loadings.array() / parts_.values.head(rank).array()).matrix();
    }
    out.weights = deviation + alike_;
    out.intercept = coefficients[0] - deviation.dot(levels_);
    out.objective = (own - design * coefficients).squaredNorm();
    return out;
  }

  /// Mean squared error of the target's periods before treatment, each predicted from the others,
  /// by number of factors 0 to `most`; infinite where the others do not determine the loadings.
  Eigen::VectorXd cross_validate(const vector_ref& target, Eigen::Index T0,
                                 Eigen::Index most) const {
    Eigen::VectorXd out(most + 1);
    const Eigen::VectorXd own = target.head(T0) - times_.head(T0);
    for (Eigen::Index r = 0; r <= most; ++r) {
      const Eigen::MatrixXd design = regressors(T0, r);
      const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(design);
      const Eigen::MatrixXd basis = qr.householderQ() * Eigen::MatrixXd::Identity(T0, r + 1);
      const Eigen::ArrayXd left = 1.0 - basis.rowwise().squaredNorm().array();
      const Eigen::ArrayXd error = own - basis * (basis.transpose() * own);
      const bool determined = qr.rank() == r + 1 && left.minCoeff() > 1e-10;
      out[r] =
          determined ? (error / left).square().mean() : std::numeric_limits<double>::infinity();
    }
    return out;
  }

 private:
  // A constant and the first factors, before treatment.
  Eigen::MatrixXd regressors(Eigen::Index T0, Eigen::Index rank) const {
    if (rank < 0 || rank > this->rank() || T0 < rank + 1 || T0 > times_.size())
      throw std::invalid_argument("too many factors for the periods before treatment");
    Eigen::MatrixXd out(T0, rank + 1);
    out.col(0).setOnes();
    if (rank > 0) out.rightCols(rank) = parts_.factors.topLeftCorner(T0, rank);
    return out;
  }

  leading_parts parts_;
  Eigen::VectorXd levels_, times_;
  Eigen::VectorXd alike_;  // donors' weights in `times_`
};

}  // namespace dpsc
