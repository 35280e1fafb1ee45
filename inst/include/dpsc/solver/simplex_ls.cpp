// Bodies of simplex_ls.hpp.
#pragma once

#include "simplex_ls.hpp"

namespace dpsc {

Eigen::VectorXd simplex_solution::dense(Eigen::Index n) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(n);
  for (std::size_t i = 0; i < support.size(); ++i) out[support[i]] = weights[i];
  return out;
}

const simplex_solution& simplex_ls::solve(const matrix_ref& donors, const vector_ref& target,
                                          const simplex_options& options, Eigen::Index skip,
                                          bool warm) {
  load(donors, target, options, skip);
  start(warm);
  iterate();
  finish(options);
  return solution_;
}

void simplex_ls::load(const matrix_ref& donors, const vector_ref& target,
                      const simplex_options& options, Index skip) {
  n_ = donors.rows();
  m_ = donors.cols();
  skip_ = skip;
  if (m_ < 1 || target.size() != m_ || n_ - (skip >= 0 && skip < n_) < 1)
    throw std::invalid_argument("the donors and the target do not fit together");
  if (!(std::isfinite(options.lambda) && options.lambda >= 0.0))
    throw std::invalid_argument("the penalty must be finite and not negative");
  if (!(std::isfinite(options.ridge) && options.ridge >= 0.0))
    throw std::invalid_argument("the ridge must be finite and not negative");
  points_.resize(n_, m_);
  for (Index t = 0; t < m_; ++t) points_.col(t).array() = donors.col(t).array() - target[t];
  if (options.demean) {
    means_ = points_.rowwise().mean();
    points_.colwise() -= means_;
  }
  norms_.setZero(n_);
  for (Index t = 0; t < m_; ++t) norms_.array() += points_.col(t).array().square();
  // A sum is finite only if every term is: one test for all the input.
  const double total = norms_.sum();
  if (!std::isfinite(total))
    throw std::domain_error("donors and target must be finite, and their squares too");
  // Every threshold below is relative to these two: the units of the outcome are irrelevant.
  largest_ = std::sqrt(norms_.maxCoeff());
  shift_ = total > 0.0 ? total / static_cast<double>(n_) : 1.0;
  linear_ = options.lambda > 0.0;
  if (linear_) half_linear_ = 0.5 * options.lambda * norms_;
  ridge_ = options.ridge;
  most_ = ridge_ > 0.0 ? n_ : std::min(n_, m_ + 1);
  const Index capacity = std::min(n_, m_ + 1) + 1;
  factor_.resize(capacity, capacity);
  active_.resize(m_, capacity);
  blocked_.assign(static_cast<std::size_t>(n_), 0);
  gradient_.resize(n_);
  residual_.resize(m_);
}

void simplex_ls::start(bool warm) {
  previous_ = solution_.support;
  size_ = 0;
  support_.clear();
  weights_.clear();
  if (warm && !previous_.empty()) {
    for (const Index j : previous_)
      if (j < n_ && j != skip_ && size_ + 2 < factor_.rows() && append(j) < 0) {
        support_.push_back(j);
        weights_.push_back(0.0);
      }
    if (size_ > 0) {
      std::fill(weights_.begin(), weights_.end(), 1.0 / static_cast<double>(size_));
      descend(-1);
      return;
    }
  }
  Index best = -1;
  for (Index j = 0; j < n_; ++j)
    if (j != skip_ && (best < 0 || cost(j) < cost(best))) best = j;
  append(best);
  support_.assign(1, best);
  weights_.assign(1, 1.0);
}

void simplex_ls::iterate() {
  const int limit = 100 + 20 * static_cast<int>(std::min<Index>(n_ + m_, 1000000));
  int polished = 0, idle = 0;
  double lowest = std::numeric_limits<double>::infinity();
  for (solution_.iterations = 0; solution_.iterations < limit; ++solution_.iterations) {
    host.tick(2.0 * static_cast<double>(n_) * static_cast<double>(m_) + 1e3);
    price();
    // Steps that no longer lower the objective only follow rounding error.
    idle = value_ < lowest ? 0 : idle + 1;
    if (idle > 20) return;
    lowest = std::min(lowest, value_);
    const Index j = candidate();
    const double violation = j < 0 ? 0.0 : level_ - gradient_[j];
    // Rounding error among the donors with weight must not be taken for a descent direction.
    if (spread_ > 0.25 * tolerance_ && violation < 1e4 * spread_ && polished < 3) {
      ++polished;
      if (polish()) continue;
    }
    if (j < 0 || violation <= tolerance_) return;
    polished = 0;
    if (enter(j)) {
      if (any_blocked_) std::fill(blocked_.begin(), blocked_.end(), char{0});
      any_blocked_ = false;
    } else {
      blocked_[static_cast<std::size_t>(j)] = any_blocked_ = 1;
    }
  }
}

void simplex_ls::price() {
  residual_.setZero();
  for (Index i = 0; i < size_; ++i) residual_.noalias() += weights_[i] * active_.col(i);
  gradient_.noalias() = points_ * residual_;
  if (linear_) gradient_ += half_linear_;
  for (Index i = 0; i < size_; ++i) gradient_[support_[i]] += ridge_ * weights_[i];
  level_ = 0.0;
  for (Index i = 0; i < size_; ++i) level_ += weights_[i] * gradient_[support_[i]];
  spread_ = 0.0;
  for (Index i = 0; i < size_; ++i)
    spread_ = std::max(spread_, std::abs(gradient_[support_[i]] - level_));
  // Rounding error of the gradient: from its products, and from the residual, a sum of the active
  // columns.
  double terms = 0.0;
  for (Index i = 0; i < size_; ++i) terms += weights_[i] * std::sqrt(norms_[support_[i]]);
  const double length = residual_.norm();
  tolerance_ = eps * largest_ * (32.0 * length + 2.0 * terms);
  value_ = length * length;
  if (ridge_ > 0.0) {
    tolerance_ += 32.0 * eps * std::abs(level_);
    for (Index i = 0; i < size_; ++i) value_ += ridge_ * weights_[i] * weights_[i];
  }
  if (linear_) {
    tolerance_ += 32.0 * eps * std::abs(level_);
    for (Index i = 0; i < size_; ++i) value_ += 2.0 * weights_[i] * half_linear_[support_[i]];
  }
}

simplex_ls::Index simplex_ls::candidate() const {
  Index best = -1;
  double lowest = level_;
  for (Index j = 0; j < n_; ++j)
    if (gradient_[j] < lowest && j != skip_ && !blocked_[static_cast<std::size_t>(j)] &&
        !is_active(j)) {
      lowest = gradient_[j];
      best = j;
    }
  return best;
}

bool simplex_ls::is_active(Index j) const {
  return std::find(support_.begin(), support_.end(), j) != support_.end();
}

bool simplex_ls::polish() {
  scratch_.resize(static_cast<std::size_t>(size_));
  ones_.assign(static_cast<std::size_t>(size_), 1.0);
  for (Index i = 0; i < size_; ++i) scratch_[i] = level_ - gradient_[support_[i]];
  solve_factored(scratch_);
  solve_factored(ones_);
  double sum = 0.0, ones = 0.0;
  for (Index i = 0; i < size_; ++i) sum += scratch_[i], ones += ones_[i];
  const double back = sum / ones;
  for (Index i = 0; i < size_; ++i) {
    scratch_[i] += weights_[i] - back * ones_[i];
    if (!(scratch_[i] > 0.0)) return false;
  }
  normalise(scratch_);
  weights_.swap(scratch_);
  return true;
}

bool simplex_ls::enter(Index j) {
  Index leaving;
  while ((leaving = append(j)) >= 0) {
    // Donor j is a mixture of the support: follow the direction that changes the costs only.
    const double step = weights_[leaving] / -direction_[leaving];
    for (Index i = 0; i < size_; ++i)
      weights_[i] = std::max(0.0, weights_[i] + step * direction_[i]);
    entering_ += step;
    remove(leaving);
    if (size_ == 0) break;
  }
  if (size_ == 0) append(j);
  support_.push_back(j);
  weights_.push_back(entering_);
  entering_ = 0.0;
  normalise(weights_);
  return descend(j);
}

bool simplex_ls::descend(Index entered) {
  bool kept = true;
  for (;;) {
    affine_minimiser();
    double step = 1.0;
    Index leaving = -1;
    for (Index i = 0; i < size_; ++i)
      if (!(scratch_[i] > 0.0)) {
        const double ratio = weights_[i] > 0.0 ? weights_[i] / (weights_[i] - scratch_[i]) : 0.0;
        if (leaving < 0 || ratio < step) step = ratio, leaving = i;
      }
    if (leaving < 0 || size_ == 1) break;
    for (Index i = 0; i < size_; ++i)
      weights_[i] = std::max(0.0, weights_[i] + step * (scratch_[i] - weights_[i]));
    kept = kept && support_[leaving] != entered;
    remove(leaving);
  }
  if (size_ == 1) scratch_.assign(1, 1.0);
  normalise(scratch_);
  weights_.swap(scratch_);
  return kept;
}

void simplex_ls::affine_minimiser() {
  ones_.assign(static_cast<std::size_t>(size_), 1.0);
  solve_factored(ones_);
  scratch_.assign(static_cast<std::size_t>(size_), 0.0);
  double pull = 0.0, ones = 0.0;
  if (linear_) {
    for (Index i = 0; i < size_; ++i) scratch_[i] = -half_linear_[support_[i]];
    solve_factored(scratch_);
  }
  for (Index i = 0; i < size_; ++i) pull += scratch_[i], ones += ones_[i];
  const double multiplier = (1.0 - pull) / ones;
  for (Index i = 0; i < size_; ++i) scratch_[i] += multiplier * ones_[i];
}

simplex_ls::Index simplex_ls::append(Index j) {
  const Index k = size_;
  if (k > most_) throw std::logic_error("more donors with weight than independent points");
  if (k >= factor_.rows()) {
    factor_.conservativeResize(2 * k, 2 * k);
    active_.conservativeResize(Eigen::NoChange, 2 * k);
  }
  active_.col(k) = points_.row(j).transpose();
  double* const column = factor_.col(k).data();
  for (Index i = 0; i < k; ++i) column[i] = active_.col(i).dot(active_.col(k)) + shift_;
  forward(column, k);
  const double diagonal = norms_[j] + shift_ + ridge_;
  double left = diagonal;
  for (Index i = 0; i < k; ++i) left -= column[i] * column[i];
  // 1e-13 is far above the rounding error of `left` and far below any real independence.
  if (k == 0 || (left > 1e-13 * diagonal && k < most_)) {
    column[k] = std::sqrt(left);
    ++size_;
    return -1;
  }
  direction_.assign(column, column + k);
  backward(direction_);
  Index leaving = -1;
  for (Index i = 0; i < k; ++i) {
    direction_[i] = -direction_[i];
    if (direction_[i] < 0.0 &&
        (leaving < 0 || weights_[i] * direction_[leaving] > weights_[leaving] * direction_[i]))
      leaving = i;
  }
  if (leaving < 0) throw std::logic_error("a dependent donor with no way to enter");
  return leaving;
}

void simplex_ls::remove(Index at) {
  for (Index c = at + 1; c < size_; ++c) {
    active_.col(c - 1) = active_.col(c);
    for (Index i = 0; i <= c; ++i) factor_(i, c - 1) = factor_(i, c);
  }
  --size_;
  for (Index c = at; c < size_; ++c) {
    const double a = factor_(c, c), b = factor_(c + 1, c), h = std::hypot(a, b);
    const double cosine = a / h, sine = b / h;
    factor_(c, c) = h;
    for (Index l = c + 1; l < size_; ++l) {
      const double upper = factor_(c, l), lower = factor_(c + 1, l);
      factor_(c, l) = cosine * upper + sine * lower;
      factor_(c + 1, l) = cosine * lower - sine * upper;
    }
  }
  support_.erase(support_.begin() + at);
  weights_.erase(weights_.begin() + at);
}

void simplex_ls::forward(double* b, Index k) const {
  for (Index i = 0; i < k; ++i) {
    const double* const column = factor_.col(i).data();
    double value = b[i];
    for (Index l = 0; l < i; ++l) value -= column[l] * b[l];
    b[i] = value / column[i];
  }
}

void simplex_ls::backward(std::vector<double>& b) const {
  for (Index i = static_cast<Index>(b.size()) - 1; i >= 0; --i) {
    const double* const column = factor_.col(i).data();
    const double value = b[i] /= column[i];
    for (Index l = 0; l < i; ++l) b[l] -= column[l] * value;
  }
}

void simplex_ls::solve_factored(std::vector<double>& b) const {
  forward(b.data(), static_cast<Index>(b.size()));
  backward(b);
}

void simplex_ls::normalise(std::vector<double>& w) {
  double sum = 0.0;
  for (const double v : w) sum += v;
  if (!(sum > 0.0)) throw std::logic_error("weights vanished");
  for (double& v : w) v /= sum;
}

void simplex_ls::finish(const simplex_options& options) {
  price();
  double lowest = level_;
  Index ties = 0;
  const double near = 1e-9 * largest_ * residual_.norm() + 16.0 * tolerance_;
  for (Index j = 0; j < n_; ++j) {
    if (j == skip_ || is_active(j)) continue;
    lowest = std::min(lowest, gradient_[j]);
    ties += gradient_[j] - level_ <= near;
  }
  solution_.objective = value_;
  solution_.intercept = 0.0;
  if (options.demean)
    for (Index i = 0; i < size_; ++i) solution_.intercept -= weights_[i] * means_[support_[i]];
  solution_.kkt = 2.0 * std::max(spread_, level_ - lowest);
  for (Index i = 0; i < size_; ++i) lowest = std::min(lowest, gradient_[support_[i]]);
  solution_.gap = 2.0 * (level_ - lowest);
  solution_.ties = ties;
  solution_.support = support_;
  solution_.weights = weights_;
}

}  // namespace dpsc
