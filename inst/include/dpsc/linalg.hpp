// Decompositions of whole matrices as plain functions: Eigen's templates for them are compiled
// once, not in every translation unit that needs an eigenvalue.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>

namespace dpsc {

/// `options`: Eigen::EigenvaluesOnly if vectors are not needed.
Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigh(const Eigen::MatrixXd& symmetric,
                                                    int options = Eigen::ComputeEigenvectors);

Eigen::LLT<Eigen::MatrixXd> llt(const Eigen::MatrixXd& positive);

Eigen::LDLT<Eigen::MatrixXd> ldlt(const Eigen::MatrixXd& symmetric);

/// Solution for a general invertible matrix, with one right-hand side or several.
Eigen::VectorXd lu_solve(const Eigen::MatrixXd& square, const Eigen::VectorXd& right);
Eigen::MatrixXd lu_solve_all(const Eigen::MatrixXd& square, const Eigen::MatrixXd& right);
Eigen::MatrixXd lu_inverse(const Eigen::MatrixXd& square);
/// The same for the transposed matrix.
Eigen::VectorXd lu_solve_transposed(const Eigen::MatrixXd& square, const Eigen::VectorXd& right);
Eigen::MatrixXd lu_inverse_transposed(const Eigen::MatrixXd& square);

/// Orthonormal columns of a Householder QR decomposition: all of them, or the first `count`.
Eigen::MatrixXd whole_q(const Eigen::MatrixXd& columns);
Eigen::MatrixXd leading_q(const Eigen::MatrixXd& columns, Eigen::Index count);

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd& m);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "linalg.cpp"
#endif
