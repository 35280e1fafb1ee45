// Bodies of logistic_ball.hpp.
#pragma once

#include "logistic_ball.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "../linalg.hpp"
#include "ridge_logistic.hpp"

namespace dpsc {

namespace {

constexpr double on_the_ball = 1e-12;

}  // namespace

logistic_ball::logistic_ball(Eigen::Index columns, double radius, double ball, double psi)
    : radius_(radius),
      ball_(ball),
      psi_(psi),
      x_(Eigen::MatrixXd::Zero(64, columns)),
      y_(Eigen::VectorXd::Zero(64)) {}

void logistic_ball::add(const Eigen::VectorXd& x, double y) {
  const auto at = static_cast<Eigen::Index>(rows_);
  if (at == x_.rows()) {
    x_.conservativeResize(2 * at, Eigen::NoChange);
    y_.conservativeResize(2 * at);
    x_.bottomRows(at).setZero();
    y_.tail(at).setZero();
  }
  x_.row(at) = x.transpose();
  y_[at] = y;
  rows_ += 1.0;
}

// For the gradient, per row: 64 times its possible rounding error, for minimisers of length radius
// / psi at most.
double logistic_ball::tolerance() const {
  const double reach = std::max(ball_, radius_ / psi_);
  const auto columns = static_cast<double>(x_.cols());
  return std::ldexp(radius_ * (1.0 + columns * radius_ * reach) + psi_ * reach, -46);
}

// A gradient of at most the tolerance moves the minimiser by at most the tolerance over psi; an
// error in its length moves it by this error times the condition of the Hessian.
double logistic_ball::slack() const {
  const double condition = 1.0 + radius_ * radius_ / (4.0 * psi_);
  return (condition + 1.0) * (on_the_ball * ball_ + tolerance() / psi_);
}

Eigen::VectorXd logistic_ball::with_ridge(double more, const Eigen::VectorXd& start) const {
  const Eigen::Index p = x_.cols();
  const ridge_logistic problem{x_, y_, Eigen::VectorXd::Constant(p, psi_ * rows_ + more),
                               Eigen::VectorXd::Zero(p)};
  return problem.minimise(start, tolerance() * rows_);
}

// Newton's step for 1 / |theta| = 1 / ball, whose left side is nearly linear in the ridge.
double logistic_ball::next_ridge(double more, const Eigen::VectorXd& theta) const {
  Eigen::MatrixXd hessian;
  const Eigen::Index p = x_.cols();
  const ridge_logistic problem{x_, y_, Eigen::VectorXd::Constant(p, psi_ * rows_ + more),
                               Eigen::VectorXd::Zero(p)};
  problem.gradient(theta, &hessian);
  const double length = theta.norm(), fall = theta.dot(llt(hessian).solve(theta));
  return more + (length / ball_ - 1.0) * length * length / fall;
}

Eigen::VectorXd logistic_ball::minimise(const Eigen::VectorXd& start) {
  Eigen::VectorXd theta = with_ridge(more_, start);
  if (more_ > 0.0 && theta.norm() < ball_) {
    const Eigen::VectorXd free = with_ridge(0.0, theta);
    if (free.norm() <= ball_) more_ = 0.0;
    if (more_ == 0.0) theta = free;
  }
  if (more_ == 0.0 && theta.norm() <= ball_) return theta;
  double low = 0.0, high = std::max(0.0, rows_ * (radius_ / ball_ - psi_)) + psi_;
  const double near = on_the_ball * ball_ + tolerance() / psi_;
  for (int i = 0; i < 200 && std::fabs(theta.norm() - ball_) > near; ++i) {
    (theta.norm() > ball_ ? low : high) = more_;
    more_ = next_ridge(more_, theta);
    if (!(more_ > low && more_ < high)) more_ = (low + high) / 2.0;
    theta = with_ridge(more_, theta);
  }
  return theta * std::min(1.0, ball_ / theta.norm());
}

}  // namespace dpsc
