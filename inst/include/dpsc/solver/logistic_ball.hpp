// Logistic regression with a ridge, on a ball, over rows that arrive one by one: the leader of a
// stream ("follow the leader"). Every minimisation starts from the last minimiser.
#pragma once

#include <Eigen/Core>

namespace dpsc {

class logistic_ball {
 public:
  /// Rows are at most `radius` long, outcomes 0 or 1; the ridge is psi for each row.
  logistic_ball(Eigen::Index columns, double radius, double ball, double psi);

  void add(const Eigen::VectorXd& x, double y);

  /// From `start`, to within slack(), for any rows (proofs/streams.md, 8).
  Eigen::VectorXd minimise(const Eigen::VectorXd& start);

  /// Distance from the exact minimiser. PUBLIC.
  double slack() const;

 private:
  double tolerance() const;
  Eigen::VectorXd with_ridge(double more, const Eigen::VectorXd& start) const;
  double next_ridge(double more, const Eigen::VectorXd& theta) const;

  double radius_, ball_, psi_, more_ = 0.0;
  double rows_ = 0.0;  // the rest of the matrix is zero, and so is its loss
  Eigen::MatrixXd x_;
  Eigen::VectorXd y_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "logistic_ball.cpp"
#endif
