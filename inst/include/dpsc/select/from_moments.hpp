// Variables and their ridge regression from released moments: post-processing.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "../estimate/moments_model.hpp"

namespace dpsc {

/// Orthogonal matching pursuit on released moments: after the first `forced` variables, always the
/// variable that explains most of the residual. Post-processing.
inline std::vector<Eigen::Index> omp(const Eigen::MatrixXd& gram, const Eigen::VectorXd& cross,
                                     Eigen::Index size, Eigen::Index forced, double ridge) {
  std::vector<Eigen::Index> used;
  for (Eigen::Index j = 0; j < forced; ++j) used.push_back(j);
  std::vector<Eigen::Index> order;
  while (static_cast<Eigen::Index>(order.size()) < size) {
    const auto k = static_cast<Eigen::Index>(used.size());
    Eigen::MatrixXd a(k, k);
    Eigen::VectorXd b(k);
    for (Eigen::Index i = 0; i < k; ++i) {
      for (Eigen::Index j = 0; j < k; ++j) a(i, j) = gram(used[i], used[j]);
      a(i, i) += ridge;
      b[i] = cross[used[i]];
    }
    const Eigen::LDLT<Eigen::MatrixXd> solver(a);
    const Eigen::VectorXd beta = k > 0 ? Eigen::VectorXd(solver.solve(b)) : Eigen::VectorXd();
    Eigen::Index best = -1;
    double most = -1.0;
    for (Eigen::Index j = forced; j < cross.size(); ++j) {
      if (std::find(used.begin(), used.end(), j) != used.end()) continue;
      double left = cross[j], spread = gram(j, j) + ridge;
      if (k > 0) {
        Eigen::VectorXd c(k);
        for (Eigen::Index i = 0; i < k; ++i) c[i] = gram(used[i], j);
        left -= c.dot(beta);
        spread -= c.dot(solver.solve(c));
      }
      const double gain =
          left * left / std::max(spread, ridge + 1e-12 * std::fabs(gram(j, j)) + 1e-300);
      if (gain > most) {
        most = gain;
        best = j;
      }
    }
    if (best < 0) break;
    used.push_back(best);
    order.push_back(best);
  }
  return order;
}

struct moment_fit {
  Eigen::VectorXd theta;
  Eigen::MatrixXd privacy, total;  // covariances
};

/// Ridge on released moments of (x, y): `used` are the regressors, the outcome is the last
/// variable, `sd` is the noise of a diagonal entry. Post-processing.
inline moment_fit fit_moments(const Eigen::MatrixXd& all, const std::vector<Eigen::Index>& used,
                              double sd, double rows) {
  const auto k = static_cast<Eigen::Index>(used.size());
  const Eigen::Index last = all.rows() - 1;
  Eigen::MatrixXd g(k, k);
  Eigen::VectorXd h(k);
  for (Eigen::Index i = 0; i < k; ++i) {
    h[i] = all(used[static_cast<std::size_t>(i)], last);
    for (Eigen::Index j = 0; j < k; ++j)
      g(i, j) = all(used[static_cast<std::size_t>(i)], used[static_cast<std::size_t>(j)]);
  }
  moment_fit out;
  const double ridge = std::max(0.7 * sd * std::sqrt(static_cast<double>(k)), 1e-9 * rows);
  const Eigen::MatrixXd inverse = (positive_part(g) + ridge * Eigen::MatrixXd::Identity(k, k))
                                      .ldlt()
                                      .solve(Eigen::MatrixXd::Identity(k, k));
  out.theta = inverse * h;
  // To first order noise moves theta by A^{-1} (n - N theta); see stream/learner.hpp.
  const Eigen::VectorXd direct = inverse * out.theta;
  out.privacy =
      sd * sd / 2.0 *
      ((1.0 + out.theta.squaredNorm()) * (inverse * inverse) + direct * direct.transpose());
  const double residual = all(last, last) - 2.0 * out.theta.dot(h) + out.theta.dot(g * out.theta);
  out.total = out.privacy +
              std::max(residual, 0.0) / std::max(rows - static_cast<double>(k), 1.0) * inverse;
  return out;
}

/// Matching pursuit on released moments. Post-processing.
inline std::vector<Eigen::Index> pursue_moments(const Eigen::MatrixXd& all, Eigen::Index size,
                                                Eigen::Index forced, double sd) {
  const Eigen::Index p = all.rows() - 1;
  return omp(positive_part(all.topLeftCorner(p, p)), all.col(p).head(p), size, forced,
             0.7 * sd * std::sqrt(static_cast<double>(p)) + 1e-9);
}

}  // namespace dpsc
