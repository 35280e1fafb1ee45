// Bodies of factor.hpp.
#pragma once

#include "factor.hpp"

#include "../linalg.hpp"

namespace dpsc {

leading_parts::leading_parts(const Eigen::MatrixXd& centred, Eigen::Index most) {
  const bool tall = centred.rows() >= centred.cols();
  const Eigen::MatrixXd gram =
      tall ? Eigen::MatrixXd(centred.transpose() * centred) : centred * centred.transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts = eigh(gram);
  Eigen::MatrixXd basis = parts.eigenvectors().rightCols(most);
  if (tall) basis = (centred * basis).eval();
  basis = (centred.transpose() * basis).eval();
  const Eigen::MatrixXd span = leading_q(basis, most);
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(centred * span,
                                              Eigen::ComputeThinU | Eigen::ComputeThinV);
  units = svd.matrixU();
  factors = span * svd.matrixV();
  values = svd.singularValues();
}

void leading_parts::drop_rounding(double size, Eigen::Index cells) {
  const double floor = 1e-12 * size * std::sqrt(static_cast<double>(cells));
  Eigen::Index rank = 0;
  while (rank < values.size() && values[rank] > floor) ++rank;
  units = units.leftCols(rank).eval();
  factors = factors.leftCols(rank).eval();
  values = values.head(rank).eval();
}

factor_model::factor_model(const matrix_ref& donors, Eigen::Index most,
                           const Eigen::MatrixXd& units) {
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

factor_fit factor_model::fit(const vector_ref& target, Eigen::Index T0, Eigen::Index rank) const {
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

Eigen::VectorXd factor_model::cross_validate(const vector_ref& target, Eigen::Index T0,
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
    out[r] = determined ? (error / left).square().mean() : std::numeric_limits<double>::infinity();
  }
  return out;
}

Eigen::MatrixXd factor_model::regressors(Eigen::Index T0, Eigen::Index rank) const {
  if (rank < 0 || rank > this->rank() || T0 < rank + 1 || T0 > times_.size())
    throw std::invalid_argument("too many factors for the periods before treatment");
  Eigen::MatrixXd out(T0, rank + 1);
  out.col(0).setOnes();
  if (rank > 0) out.rightCols(rank) = parts_.factors.topLeftCorner(T0, rank);
  return out;
}

}  // namespace dpsc
