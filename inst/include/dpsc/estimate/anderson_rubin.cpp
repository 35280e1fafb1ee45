// Bodies of anderson_rubin.hpp.
#pragma once

#include "anderson_rubin.hpp"

#include "../linalg.hpp"

namespace dpsc {

double least_ratio(const Eigen::VectorXd& c, const Eigen::MatrixXd& A, double v_c, double v_C) {
  Eigen::MatrixXd columns(c.size(), A.cols() + 1);
  columns << c / std::sqrt(v_c), A / std::sqrt(v_C);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(columns.transpose() * columns, Eigen::EigenvaluesOnly);
  return std::max(0.0, spectrum.eigenvalues()[0]);
}

Eigen::MatrixXd anderson_rubin(const lm_pool& pool, const lm_units& units, double rows,
                               double quantile) {
  const Eigen::Index p = pool.p();
  const lm_solution solution = solve_pool(pool);
  Eigen::VectorXd c = Eigen::VectorXd::Zero(p), b = Eigen::VectorXd::Zero(p);
  double total = 0.0;
  for (std::size_t t = 0; t < pool.rounds.size(); ++t) {
    if (pool.left_out(t)) continue;
    const double k = pool.kept_slope[t], weight = k * k / pool.cross_variance[t];
    c += weight / k * pool.cross[t];
    b += weight * pool.slope[t];
    total += weight;
  }
  c /= total;
  b /= total;
  const double sampling = clipped_efficiency(pool.last()) * solution.residual / rows;
  const double v_c = 1.0 / total + sampling, v_C = 2.0 * pool.sd * pool.sd;
  const Eigen::MatrixXd C = pooled_cross(pool, solution.theta).covariance;
  const Eigen::MatrixXd back = units.y_scale * units.map.transpose() * pool.last().frame.whiten;
  const double inf = std::numeric_limits<double>::infinity();
  Eigen::MatrixXd out(p, 3);
  for (Eigen::Index j = 0; j < p; ++j) {
    out.row(j) << -inf, inf, 0.0;
    const double length = back.row(j).norm();
    if (!(length > 0.0)) continue;
    const Eigen::VectorXd l = back.row(j).transpose() / length;
    // Directions orthogonal to l.
    const Eigen::MatrixXd Q = whole_q(l).rightCols(p - 1);
    const Eigen::MatrixXd CQ = C * Q;
    out(j, 2) = least_ratio(c + C * l * l.dot(b), CQ, v_c + v_C * l.dot(b) * l.dot(b), v_C);
    Eigen::MatrixXd middle = CQ.transpose() * CQ;
    middle.diagonal().array() -= quantile * v_C;
    Eigen::VectorXd Pl = C * l, Pc = c;
    if (p > 1) {
      const Eigen::LLT<Eigen::MatrixXd> root = llt(middle);
      if (root.info() != Eigen::Success) continue;
      Pl -= CQ * root.solve(CQ.transpose() * (C * l));
      Pc -= CQ * root.solve(CQ.transpose() * c);
    }
    const double a = (C * l).dot(Pl) - quantile * v_C;
    const double half = (C * l).dot(Pc), constant = c.dot(Pc) - quantile * v_c;
    const double discriminant = half * half - a * constant;
    if (!(a > 0.0 && discriminant >= 0.0)) continue;
    const double middle_delta = half / a, reach = std::sqrt(discriminant) / a;
    out(j, 0) = length * (l.dot(b) + middle_delta - reach);
    out(j, 1) = length * (l.dot(b) + middle_delta + reach);
  }
  return out;
}

}  // namespace dpsc
