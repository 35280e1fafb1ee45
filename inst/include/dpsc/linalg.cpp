// Bodies of linalg.hpp.
#pragma once

#include "linalg.hpp"

namespace dpsc {

Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigh(const Eigen::MatrixXd& symmetric, int options) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, options);
}

Eigen::LLT<Eigen::MatrixXd> llt(const Eigen::MatrixXd& positive) {
  return Eigen::LLT<Eigen::MatrixXd>(positive);
}

Eigen::LDLT<Eigen::MatrixXd> ldlt(const Eigen::MatrixXd& symmetric) {
  return Eigen::LDLT<Eigen::MatrixXd>(symmetric);
}

Eigen::VectorXd lu_solve(const Eigen::MatrixXd& square, const Eigen::VectorXd& right) {
  return square.partialPivLu().solve(right);
}

Eigen::MatrixXd lu_solve_all(const Eigen::MatrixXd& square, const Eigen::MatrixXd& right) {
  return square.partialPivLu().solve(right);
}

Eigen::MatrixXd lu_inverse(const Eigen::MatrixXd& square) {
  return square.partialPivLu().inverse();
}

Eigen::VectorXd lu_solve_transposed(const Eigen::MatrixXd& square, const Eigen::VectorXd& right) {
  return square.transpose().partialPivLu().solve(right);
}

Eigen::MatrixXd lu_inverse_transposed(const Eigen::MatrixXd& square) {
  return square.transpose().partialPivLu().inverse();
}

Eigen::MatrixXd whole_q(const Eigen::MatrixXd& columns) {
  return Eigen::MatrixXd(Eigen::HouseholderQR<Eigen::MatrixXd>(columns).householderQ());
}

Eigen::MatrixXd leading_q(const Eigen::MatrixXd& columns, Eigen::Index count) {
  return Eigen::HouseholderQR<Eigen::MatrixXd>(columns).householderQ() *
         Eigen::MatrixXd::Identity(columns.rows(), count);
}

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& m) {
  return Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd>(m).pseudoInverse();
}

}  // namespace dpsc
