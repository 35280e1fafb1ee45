// Bodies of penalised.hpp.
#pragma once

#include "penalised.hpp"

#include "../linalg.hpp"

namespace dpsc {

column_moments pooled_columns(const lm_pool& pool, const lm_units& units, double rows) {
  const Eigen::Index p = pool.p();
  const lm_solution full = solve_pool(pool);
  const Eigen::MatrixXd C = floored_covariance(pool, full.theta);
  // Raw columns are their mean plus root' w.
  const Eigen::MatrixXd root = lu_inverse(units.map.transpose() * pool.last().frame.whiten);
  const pooled_cross c(pool, full.theta);
  const double s = units.y_scale;
  const lm_estimate fit = estimate_full(pool, units, rows);
  column_moments out;
  out.covariance = root.transpose() * C * root;
  out.cross = s * root.transpose() * c.value(C);
  const Eigen::VectorXd x =
      pool.last().frame.centre + lu_solve_transposed(pool.last().frame.whiten, pool.last().mean);
  out.mean = lu_solve(units.map, x - units.shift);
  out.response_mean = fit.coefficients[0] + out.mean.dot(fit.coefficients.tail(p));
  out.response = s * s * (full.residual + full.theta.dot(full.covariance * full.theta));
  out.doubt =
      s * s * (c.variance * root.transpose() * root + full.residual / rows * out.covariance);
  return out;
}

Eigen::MatrixXd penalised_path(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& cross,
                               double alpha, const std::vector<double>& penalties) {
  const Eigen::Index p = cross.size();
  Eigen::VectorXd sd = covariance.diagonal().cwiseSqrt();
  sd = (sd.array() > 0.0).select(sd, 1.0);
  const Eigen::MatrixXd S =
      sd.cwiseInverse().asDiagonal() * covariance * sd.cwiseInverse().asDiagonal();
  const Eigen::VectorXd m = cross.cwiseQuotient(sd);
  Eigen::MatrixXd out(static_cast<Eigen::Index>(penalties.size()), p);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(p), left = m;  // left = m - S b
  const double tolerance = 1e-10 * (m.cwiseAbs().maxCoeff() + 1e-300);
  for (std::size_t k = 0; k < penalties.size(); ++k) {
    const double l1 = penalties[k] * alpha, l2 = penalties[k] * (1.0 - alpha);
    for (int sweep = 0; sweep < 10000; ++sweep) {
      double moved = 0.0;
      for (Eigen::Index j = 0; j < p; ++j) {
        const double z = left[j] + S(j, j) * b[j];
        const double shrunk = std::max(std::fabs(z) - l1, 0.0) * (z < 0.0 ? -1.0 : 1.0);
        const double step = shrunk / (S(j, j) + l2) - b[j];
        if (step == 0.0) continue;
        b[j] += step;
        left -= step * S.col(j);
        moved = std::max(moved, std::fabs(step));
      }
      if (moved < tolerance) break;
    }
    out.row(static_cast<Eigen::Index>(k)) = b.cwiseQuotient(sd).transpose();
  }
  return out;
}

}  // namespace dpsc
