// Bodies of augmented.hpp.
#pragma once

#include "augmented.hpp"

#include "../linalg.hpp"

namespace dpsc {

Eigen::VectorXd ridge_step::coefficients(const Eigen::VectorXd& imbalance, double lambda) const {
  const Eigen::VectorXd along = parts_.eigenvectors().transpose() * imbalance;
  return parts_.eigenvectors() *
         (along.array() / (parts_.eigenvalues().array().max(0.0) + lambda)).matrix();
}

augmented_fit fit_augmented(const simplex_ls::matrix_ref& donors,
                            const simplex_ls::vector_ref& target, double lambda, runtime host) {
  if (!(std::isfinite(lambda) && lambda > 0.0))
    throw std::invalid_argument("the ridge penalty must be positive and finite");
  simplex_ls solver;
  solver.host = std::move(host);
  const simplex_solution& base = solver.solve(donors, target);
  augmented_fit out;
  out.simplex = base.dense(donors.rows());
  out.kkt = base.kkt;
  out.ties = base.ties;
  const Eigen::MatrixXd centred = donors.rowwise() - donors.colwise().mean();
  const Eigen::VectorXd imbalance = target - donors.transpose() * out.simplex;
  const ridge_step step(centred.transpose() * centred);
  out.weights = out.simplex + centred * step.coefficients(imbalance, lambda);
  out.objective = (target - donors.transpose() * out.weights).squaredNorm();
  return out;
}

augmented_errors cross_validate_augmented(const simplex_ls::matrix_ref& donors,
                                          const simplex_ls::vector_ref& target,
                                          Eigen::Index periods, int penalties, double smallest,
                                          runtime host) {
  const Eigen::Index m = donors.cols();
  if (periods < 2 || periods > m || penalties < 1 || !(smallest > 0.0 && smallest < 1.0))
    throw std::invalid_argument("cross-validation needs two periods and a path of penalties");
  const Eigen::MatrixXd centred = donors.rowwise() - donors.colwise().mean();
  const Eigen::MatrixXd gram = centred.transpose() * centred;
  const double largest = eigh(gram, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
  augmented_errors out;
  out.lambda.resize(penalties + 1);
  for (int j = 0; j <= penalties; ++j)
    out.lambda[j] = largest * std::pow(smallest, static_cast<double>(j) / penalties);
  out.error.resize(periods, penalties + 1);
  simplex_ls solver;
  solver.host = std::move(host);
  Eigen::MatrixXd kept(donors.rows(), m - 1), inner(m - 1, m - 1);
  Eigen::VectorXd goal(m - 1), cross(m - 1);
  for (Eigen::Index t = 0; t < periods; ++t) {
    for (Eigen::Index a = 0, from = 0; a < m - 1; ++a, ++from) {
      from += from == t;
      kept.col(a) = donors.col(from);
      goal[a] = target[from];
      cross[a] = gram(from, t);
      for (Eigen::Index b = 0, other = 0; b < m - 1; ++b, ++other) {
        other += other == t;
        inner(a, b) = gram(from, other);
      }
    }
    const Eigen::VectorXd base = solver.solve(kept, goal).dense(donors.rows());
    const Eigen::VectorXd imbalance = goal - kept.transpose() * base;
    const double left = target[t] - donors.col(t).dot(base);
    const ridge_step step(inner);
    for (Eigen::Index j = 0; j <= penalties; ++j) {
      const double error = left - cross.dot(step.coefficients(imbalance, out.lambda[j]));
      out.error(t, j) = error * error;
    }
  }
  return out;
}

}  // namespace dpsc
