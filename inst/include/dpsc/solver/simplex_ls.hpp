// Least squares over the simplex, exactly:
//   min ||sum_j w_j x_j - y||^2 + c'w + rho ||w||^2, w >= 0, sum w = 1.
//
// Wolfe's nearest-point method on donors. Without rho few donors carry weight (at most one more
// than there are periods), so every step solves a small system, whose factors are updated: R'R = P
// P' + s^2 1 1' + rho I over the donors with weight, p_j = x_j - y. The term s^2 1 1' is constant
// on sum w = 1 and makes the matrix definite whenever these donors are affinely independent.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <dpsc/runtime.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

namespace dpsc {

/// Terms of the objective besides the squared distance.
struct simplex_options {
  bool demean = false;  ///< allow an intercept: donors and target around their own means
  double lambda = 0.0;  ///< c_j = lambda * ||x_j - y||^2 (Abadie and L'Hour)
  double ridge = 0.0;   ///< rho
};

/// A minimiser with its certificate.
struct simplex_solution {
  std::vector<Eigen::Index> support;  ///< donors with weight
  std::vector<double> weights;        ///< their weights, positive, sum 1
  double objective = 0.0;
  double kkt = 0.0;        ///< largest violation of the optimality conditions (of the gradient)
  double gap = 0.0;        ///< duality gap: objective - minimum <= gap
  double intercept = 0.0;  ///< mean of target minus donors' mixture; 0 without `demean`
  Eigen::Index ties = 0;   ///< donors without weight that could take some at no cost
  int iterations = 0;

  Eigen::VectorXd dense(Eigen::Index n) const;
};

/// Solver with its workspace: solving many problems of one size allocates once.
class simplex_ls {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;
  using vector_ref = Eigen::Ref<const Eigen::VectorXd>;

  runtime host;  ///< where long solves, and loops of many, can be interrupted

  /// Weights of donors (n x m, one row per donor) for a target (m).
  /// @param skip a donor not to be used, or -1.
  /// @param warm start from the donors that carried weight in the previous solution.
  const simplex_solution& solve(const matrix_ref& donors, const vector_ref& target,
                                const simplex_options& options = {}, Eigen::Index skip = -1,
                                bool warm = false);

  const simplex_solution& solution() const { return solution_; }

 private:
  using Index = Eigen::Index;
  static constexpr double eps = std::numeric_limits<double>::epsilon();

  void load(const matrix_ref& donors, const vector_ref& target, const simplex_options& options,
            Index skip);

  void start(bool warm);

  double cost(Index j) const { return norms_[j] + (linear_ ? 2.0 * half_linear_[j] : 0.0); }

  void iterate();

  // Half gradient at the current weights; on the support it equals `level_` up to rounding.
  void price();

  // The donor with the smallest gradient; of equal donors the first, so that the result is unique.
  Index candidate() const;

  bool is_active(Index j) const;

  // One Newton step on the support, which removes rounding errors. False if it brings no
  // improvement.
  bool polish();

  // Gives donor j positive weight. False if the donor loses it at once, which only rounding can
  // cause.
  bool enter(Index j);

  // Moves to the minimiser over the affine hull of the support, dropping donors on the way.
  bool descend(Index entered);

  // Minimiser of the objective on sum w = 1, signs free, into scratch_.
  void affine_minimiser();

  // Adds column j to the factor and returns -1; or, if j is affinely dependent on the support,
  // leaves the factor alone and returns the position that hits zero first along `direction_`.
  Index append(Index j);

  // Deletes a position from support and factor (Givens rotations restore the triangle).
  void remove(Index at);

  void forward(double* b, Index k) const;

  void backward(std::vector<double>& b) const;

  void solve_factored(std::vector<double>& b) const;

  static void normalise(std::vector<double>& w);

  void finish(const simplex_options& options);

  Index n_ = 0, m_ = 0, skip_ = -1, size_ = 0, most_ = 0;
  bool linear_ = false;
  char any_blocked_ = 0;
  double largest_ = 0.0, shift_ = 1.0, level_ = 0.0, spread_ = 0.0, tolerance_ = 0.0, value_ = 0.0;
  double entering_ = 0.0, ridge_ = 0.0;
  Eigen::MatrixXd points_, factor_, active_;  // n x m; upper triangle; m x support
  Eigen::VectorXd means_, norms_, half_linear_, gradient_, residual_;
  std::vector<Index> support_, previous_;
  std::vector<double> weights_, scratch_, ones_, direction_;
  std::vector<char> blocked_;
  simplex_solution solution_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "simplex_ls.cpp"
#endif
