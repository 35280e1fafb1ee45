// Matrix completion with nuclear norm minimisation (Athey, Bayati, Doudchenko, Imbens and Khosravi,
// 2021), with fixed effects of rows and columns that are not penalised:
//
//   min 1/2 sum_observed (Y_it - a_i - b_t - L_it)^2 + theta ||L||_*
//
// (the paper's lambda is 2 theta / number of observed cells).
//
// With covariates Y_it is less x_it' beta, and effects of periods may depend on a unit's own z_i:
// `basis` spans (1, z) across units, in place of the constant alone.
//
// Given beta and values z for the missing cells the minimum over a, b, L has a
// closed form: demean both ways (across units: residuals on the basis), shrink the singular values
// by theta. What is left is a smooth convex function,
//
//   f(z, beta) = sum_k h(d_k),  h(d) = d^2 / 2 up to theta, theta d - theta^2 / 2 beyond,
//
// d the singular values of the demeaned matrix; its gradient is z minus the fitted values there
// and, for slopes on orthonormal x that are 0 in missing cells, minus the residual's products with
// them: so its Lipschitz constant is 1. Fixed-point iteration on it is the usual algorithm; L-BFGS
// needs far fewer decompositions.
#pragma once

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <deque>
#include <dpsc/runtime.hpp>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace dpsc {

struct completion_settings {
  double tolerance = 1e-9;  ///< largest gradient, relative to the data's deviation
  int iterations = 2000;
};

struct completion_fit {
  Eigen::MatrixXd fitted;  ///< a_i + b_t + L_it for all cells
  Eigen::MatrixXd smooth;  ///< rows x rows: fitted = smooth * filled matrix + effects of rows
  Eigen::VectorXd slopes;  ///< on the regressors, which are not in `fitted`
  Eigen::VectorXd values;  ///< singular values of L, those above 0
  double objective = 0.0;
  double kkt = 0.0;  ///< largest gradient at the missing cells, outcome units
  int iterations = 0;
};

class matrix_completion {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;

  runtime host;

  /// @param outcomes N x T; what stands in missing cells is not read.
  /// @param missing positions of missing cells, column by column.
  matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing)
      : matrix_completion(outcomes, std::move(missing), even_basis(outcomes.rows()),
                          Eigen::MatrixXd(outcomes.size(), 0)) {}

  /// @param basis N x r, orthonormal, a constant in its span.
  /// @param regressors N T x p, column by column: orthonormal, 0 in missing cells.
  matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing,
                    Eigen::MatrixXd basis, Eigen::MatrixXd regressors)
      : filled_(outcomes),
        basis_(std::move(basis)),
        regressors_(std::move(regressors)),
        missing_(std::move(missing)) {
    const Eigen::Index N = filled_.rows(), T = filled_.cols();
    if (basis_.rows() != N || regressors_.rows() != N * T)
      throw std::invalid_argument("outcomes and covariates do not fit together");
    const Eigen::Index observed = N * T - static_cast<Eigen::Index>(missing_.size());
    if (observed < 1) throw std::invalid_argument("a matrix with no observed cell");
    for (const Eigen::Index at : missing_) {
      if (at < 0 || at >= N * T) throw std::out_of_range("no such cell");
      filled_.data()[at] = 0.0;
    }
    if (!filled_.allFinite()) throw std::domain_error("observed outcomes must be finite");
    const double mean = filled_.sum() / static_cast<double>(observed);
    for (const Eigen::Index at : missing_) filled_.data()[at] = mean;
    scale_ = std::sqrt((filled_.array() - mean).square().sum() / static_cast<double>(observed));
    point_ = Eigen::VectorXd::Zero(cells() + regressors_.cols());
    for (Eigen::Index i = 0; i < cells(); ++i)
      point_[i] = filled_.data()[missing_[static_cast<std::size_t>(i)]];
    // Rows without a missing cell enter every evaluation with the same moments. Effects of rows and
    // columns change nothing but the fitted values: without them no digits are lost in squares.
    row_shift_ = filled_.rowwise().mean();
    column_shift_ = filled_.colwise().mean().transpose().array() - row_shift_.mean();
    filled_.colwise() -= row_shift_;
    filled_.rowwise() -= column_shift_.transpose();
    std::vector<char> moving(static_cast<std::size_t>(N), 0);
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      const Eigen::Index row = missing_[i] % N, column = missing_[i] / N;
      moving[static_cast<std::size_t>(row)] = 1;
      point_[static_cast<Eigen::Index>(i)] -= row_shift_[row] + column_shift_[column];
    }
    for (Eigen::Index i = 0; i < N; ++i)
      if (moving[static_cast<std::size_t>(i)] || regressors_.cols() > 0) moving_.push_back(i);
    if (regressors_.cols() > 0) plain_ = filled_;
    if (N < T) return;
    Eigen::MatrixXd steady = filled_;
    for (const Eigen::Index i : moving_) steady.row(i).setZero();
    steady_moments_ = steady.transpose() * steady;
    steady_across_ = basis_.transpose() * steady;
  }

  /// The smallest theta at which L is zero: the spectral norm of two-way residuals.
  double largest_theta(const completion_settings& settings) {
    minimise(std::numeric_limits<double>::infinity(), settings);
    return values_.size() > 0 ? values_[0] : 0.0;
  }

  /// Warm start: from where the last call ended.
  completion_fit fit(double theta, const completion_settings& settings) {
    if (!(theta > 0.0)) throw std::invalid_argument("theta must be positive");
    completion_fit out;
    out.iterations = minimise(theta, settings);
    out.objective = evaluate(point_, theta);
    out.fitted = fitted_rows(theta, all_rows());
    out.fitted.colwise() += row_shift_;
    out.fitted.rowwise() += column_shift_.transpose();
    out.slopes = point_.tail(regressors_.cols());
    out.kkt = point_.size() == 0 ? 0.0 : gradient_.cwiseAbs().maxCoeff();
    const Eigen::ArrayXd kept = (values_.array() - theta).max(0.0);
    out.values = kept.head((kept > 0.0).count());
    // L = U S V' = (U diag(s / d) U') D.
    const Eigen::Index rank = out.values.size();
    const Eigen::MatrixXd scores = centred(all_rows()) * right_.leftCols(rank);
    const Eigen::ArrayXd d = values_.head(rank).array();
    out.smooth = scores * (kept.head(rank) / d.cube()).matrix().asDiagonal() * scores.transpose() +
                 basis_ * basis_.transpose();
    return out;
  }

 private:
  static Eigen::MatrixXd even_basis(Eigen::Index N) {
    if (N < 1) throw std::invalid_argument("a matrix with no row");
    return Eigen::MatrixXd::Constant(N, 1, 1.0 / std::sqrt(static_cast<double>(N)));
  }

  Eigen::Index cells() const { return static_cast<Eigen::Index>(missing_.size()); }

  std::vector<Eigen::Index> all_rows() const {
    std::vector<Eigen::Index> out(static_cast<std::size_t>(filled_.rows()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Eigen::Index>(i);
    return out;
  }

  // Some rows of the filled matrix, demeaned both ways.
  Eigen::MatrixXd centred(const std::vector<Eigen::Index>& rows) const {
    Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.size()), filled_.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Eigen::Index at = static_cast<Eigen::Index>(i);
      out.row(at) = filled_.row(rows[i]);
      out.row(at).noalias() -= basis_.row(rows[i]) * across_;
      out.row(at).array() -= out.row(at).mean();
    }
    return out;
  }

  // Their fitted values.
  Eigen::MatrixXd fitted_rows(double theta, const std::vector<Eigen::Index>& rows) const {
    const Eigen::MatrixXd deviation = centred(rows);
    Eigen::MatrixXd out(deviation.rows(), deviation.cols());
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.row(static_cast<Eigen::Index>(i)) = filled_.row(rows[i]);
    out -= deviation;
    const Eigen::Index rank = (values_.array() > theta).count();
    if (rank == 0) return out;
    const Eigen::VectorXd shrunk = 1.0 - theta / values_.head(rank).array();
    out.noalias() += (deviation * right_.leftCols(rank)) * shrunk.asDiagonal() *
                     right_.leftCols(rank).transpose();
    return out;
  }

  // Missing cells and slopes, of which the other cells are less.
  void place(const Eigen::VectorXd& point) {
    if (regressors_.cols() > 0) {
      filled_ = plain_;
      Eigen::Map<Eigen::VectorXd>(filled_.data(), filled_.size()).noalias() -=
          regressors_ * point.tail(regressors_.cols());
    }
    for (std::size_t i = 0; i < missing_.size(); ++i)
      filled_.data()[missing_[i]] = point[static_cast<Eigen::Index>(i)];
  }

  // f at a point; leaves the decomposition and the gradient behind.
  double evaluate(const Eigen::VectorXd& z, double theta) {
    const Eigen::Index N = filled_.rows(), T = filled_.cols();
    place(z);
    decompose();
    const Eigen::ArrayXd below = values_.array().min(theta), above = values_.array() - below;
    const Eigen::MatrixXd fitted = fitted_rows(theta, moving_);
    gradient_.resize(z.size());
    for (std::size_t i = 0; i < missing_.size(); ++i) {
      const auto row = std::lower_bound(moving_.begin(), moving_.end(), missing_[i] % N);
      const Eigen::Index k = static_cast<Eigen::Index>(i);
      gradient_[k] = z[k] - fitted(row - moving_.begin(), missing_[i] / N);
    }
    if (regressors_.cols() > 0) {
      const Eigen::MatrixXd left = filled_ - fitted;
      gradient_.tail(regressors_.cols()) =
          -regressors_.transpose() * Eigen::Map<const Eigen::VectorXd>(left.data(), left.size());
    }
    const double size = static_cast<double>(std::min(N, T));
    host.tick(static_cast<double>(T) *
              (static_cast<double>(T) * size * 10.0 + static_cast<double>(moving_.size()) * size));
    return 0.5 * below.square().sum() + (above.maxCoeff() > 0.0 ? theta * above.sum() : 0.0);
  }

  // Singular values, largest first, and right singular vectors of the demeaned matrix, through the
  // smaller Gram matrix: only directions above theta are used, and those are accurate.
  void decompose() {
    const Eigen::Index N = filled_.rows(), T = filled_.cols();
    Eigen::MatrixXd gram;
    if (N >= T) {
      gram = steady_moments_;
      across_ = steady_across_;
      if (regressors_.cols() > 0) {
        gram.noalias() = filled_.transpose() * filled_;
        across_.noalias() = basis_.transpose() * filled_;
      } else {
        for (const Eigen::Index i : moving_) {
          gram.noalias() += filled_.row(i).transpose() * filled_.row(i);
          across_.noalias() += basis_.row(i).transpose() * filled_.row(i);
        }
      }
      gram.noalias() -= across_.transpose() * across_;
      const Eigen::VectorXd side = gram.rowwise().mean();
      gram.colwise() -= side;
      gram.rowwise() -= (side.array() - side.mean()).matrix().transpose();
    } else {
      across_ = basis_.transpose() * filled_;
      const Eigen::MatrixXd all = centred(all_rows());
      gram = all * all.transpose();
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(gram);
    values_ = parts.eigenvalues().reverse().cwiseMax(0.0).cwiseSqrt();
    right_ = parts.eigenvectors().rowwise().reverse();
    if (N >= T) return;
    const Eigen::ArrayXd inverse = (values_.array() > 0.0).select(1.0 / values_.array(), 0.0);
    right_ = (centred(all_rows()).transpose() * right_ * inverse.matrix().asDiagonal()).eval();
  }

  // L-BFGS from `point_`; the gradient's Lipschitz constant is 1, so a plain step always descends.
  int minimise(double theta, const completion_settings& settings) {
    double value = evaluate(point_, theta);
    if (point_.size() == 0) return 0;
    Eigen::VectorXd slope = gradient_;
    std::deque<std::pair<Eigen::VectorXd, Eigen::VectorXd>> memory;  // steps, changes of gradient
    const double goal = settings.tolerance * std::max(scale_, 1e-300);
    int used = 0, stuck = 0;
    while (used < settings.iterations && slope.cwiseAbs().maxCoeff() > goal && stuck < 5) {
      Eigen::VectorXd direction = two_loops(memory, slope);
      if (!(direction.dot(slope) < 0.0)) {
        memory.clear();
        direction = -slope;
      }
      double length = 1.0, reached = 0.0;
      Eigen::VectorXd next;
      for (;; length *= 0.5) {
        next = point_ + length * direction;
        reached = evaluate(next, theta);
        ++used;
        // Near the minimum f no longer changes in its last digits: then the gradient decides.
        const double rounding = 1e-13 * std::abs(value);
        if (reached <= value + 1e-4 * length * direction.dot(slope) + rounding) break;
        if (length < 1e-3) {
          memory.clear();
          next = point_ - slope;
          reached = evaluate(next, theta);
          ++used;
          break;
        }
      }
      stuck = gradient_.norm() < slope.norm() || reached < value ? 0 : stuck + 1;
      memory.emplace_back(next - point_, gradient_ - slope);
      const auto& last = memory.back();
      if (!(last.first.dot(last.second) > 1e-14 * last.second.squaredNorm())) memory.pop_back();
      if (memory.size() > 12) memory.pop_front();
      point_ = next;
      slope = gradient_;
      value = reached;
    }
    return used;
  }

  static Eigen::VectorXd two_loops(
      const std::deque<std::pair<Eigen::VectorXd, Eigen::VectorXd>>& memory,
      const Eigen::VectorXd& slope) {
    Eigen::VectorXd out = -slope;
    std::vector<double> along(memory.size());
    for (std::size_t i = memory.size(); i-- > 0;) {
      const auto& [step, change] = memory[i];
      along[i] = step.dot(out) / step.dot(change);
      out -= along[i] * change;
    }
    if (!memory.empty()) {
      const auto& [step, change] = memory.back();
      out *= step.dot(change) / change.squaredNorm();
    }
    for (std::size_t i = 0; i < memory.size(); ++i) {
      const auto& [step, change] = memory[i];
      out += (along[i] - change.dot(out) / step.dot(change)) * step;
    }
    return out;
  }

  Eigen::MatrixXd filled_, basis_, regressors_, right_;
  Eigen::MatrixXd plain_;                                    // with slopes 0
  Eigen::MatrixXd across_, steady_moments_, steady_across_;  // r x T, T x T, r x T
  Eigen::VectorXd values_, gradient_, point_;                // missing cells, then slopes
  Eigen::VectorXd row_shift_, column_shift_;
  std::vector<Eigen::Index> missing_, moving_;  // cells; rows that have one
  double scale_ = 1.0;
};

}  // namespace dpsc
