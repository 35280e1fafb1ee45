// Bodies of completion.hpp.
#pragma once

#include "completion.hpp"

#include "../linalg.hpp"

namespace dpsc {

matrix_completion::matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing)
    : matrix_completion(outcomes, std::move(missing), even_basis(outcomes.rows()),
                        Eigen::MatrixXd(outcomes.size(), 0)) {}

matrix_completion::matrix_completion(const matrix_ref& outcomes, std::vector<Eigen::Index> missing,
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
  // columns change only the fitted values: without them squares lose no digits.
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

double matrix_completion::largest_theta(const completion_settings& settings) {
  minimise(std::numeric_limits<double>::infinity(), settings);
  return values_.size() > 0 ? values_[0] : 0.0;
}

completion_fit matrix_completion::fit(double theta, const completion_settings& settings) {
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

Eigen::MatrixXd matrix_completion::even_basis(Eigen::Index N) {
  if (N < 1) throw std::invalid_argument("a matrix with no row");
  return Eigen::MatrixXd::Constant(N, 1, 1.0 / std::sqrt(static_cast<double>(N)));
}

std::vector<Eigen::Index> matrix_completion::all_rows() const {
  std::vector<Eigen::Index> out(static_cast<std::size_t>(filled_.rows()));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<Eigen::Index>(i);
  return out;
}

Eigen::MatrixXd matrix_completion::centred(const std::vector<Eigen::Index>& rows) const {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.size()), filled_.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Eigen::Index at = static_cast<Eigen::Index>(i);
    out.row(at) = filled_.row(rows[i]);
    out.row(at).noalias() -= basis_.row(rows[i]) * across_;
    out.row(at).array() -= out.row(at).mean();
  }
  return out;
}

Eigen::MatrixXd matrix_completion::fitted_rows(double theta,
                                               const std::vector<Eigen::Index>& rows) const {
  const Eigen::MatrixXd deviation = centred(rows);
  Eigen::MatrixXd out(deviation.rows(), deviation.cols());
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.row(static_cast<Eigen::Index>(i)) = filled_.row(rows[i]);
  out -= deviation;
  const Eigen::Index rank = (values_.array() > theta).count();
  if (rank == 0) return out;
  const Eigen::VectorXd shrunk = 1.0 - theta / values_.head(rank).array();
  out.noalias() +=
      (deviation * right_.leftCols(rank)) * shrunk.asDiagonal() * right_.leftCols(rank).transpose();
  return out;
}

void matrix_completion::place(const Eigen::VectorXd& point) {
  if (regressors_.cols() > 0) {
    filled_ = plain_;
    Eigen::Map<Eigen::VectorXd>(filled_.data(), filled_.size()).noalias() -=
        regressors_ * point.tail(regressors_.cols());
  }
  for (std::size_t i = 0; i < missing_.size(); ++i)
    filled_.data()[missing_[i]] = point[static_cast<Eigen::Index>(i)];
}

double matrix_completion::evaluate(const Eigen::VectorXd& z, double theta) {
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

void matrix_completion::decompose() {
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
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts = eigh(gram);
  values_ = parts.eigenvalues().reverse().cwiseMax(0.0).cwiseSqrt();
  right_ = parts.eigenvectors().rowwise().reverse();
  if (N >= T) return;
  const Eigen::ArrayXd inverse = (values_.array() > 0.0).select(1.0 / values_.array(), 0.0);
  right_ = (centred(all_rows()).transpose() * right_ * inverse.matrix().asDiagonal()).eval();
}

int matrix_completion::minimise(double theta, const completion_settings& settings) {
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
      // Near the minimum f is constant up to rounding: then the gradient is the criterion.
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

Eigen::VectorXd matrix_completion::two_loops(
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

}  // namespace dpsc
