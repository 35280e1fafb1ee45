// A private regression by one of the papers' methods: rows in public units, perturbed
// minimisations, released coefficients.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "../mechanism/papers.hpp"
#include "../noise/noise.hpp"
#include "../solver/box_ridge.hpp"
#include "../solver/ridge_logistic.hpp"
#include "posterior_release.hpp"

namespace dpsc {

/// All rows, |x| <= 1, with outcomes in the loss's form. A missing row is zero: it has a slope, but
/// no direction. PRIVATE.
struct public_rows {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

public_rows gather_rows(const row_source& source, const lm_design& design, const ticker& tick,
                        const paper_loss& loss = {});

/// The objective of one stage: a family's loss and a ridge about a released centre.
class stage_objective : public perturbed_objective {
 public:
  stage_objective(const public_rows& rows, const perturbed_stage& stage, Eigen::VectorXd centre,
                  double tolerance, const glm_family& family = {});

  Eigen::Index size() const override { return centre_.size(); }

  Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const override;

  Eigen::VectorXd gradient(const Eigen::VectorXd& f) const override;

  double log_curvature(const Eigen::VectorXd& f) const override;

 private:
  ridge_logistic problem(const Eigen::VectorXd& term) const;

  const public_rows& rows_;
  double ridge_, tolerance_;
  Eigen::VectorXd centre_;
  glm_family family_;
};

/// Squared loss and a ridge on a box (Thakurta, 2013, Algorithm 4.1). `limit`: of each coefficient.
class box_objective : public perturbed_objective {
 public:
  box_objective(const public_rows& rows, double ridge, double limit, double tolerance);

  Eigen::Index size() const override { return cross_.size(); }

  Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const override;

  /// Inside the box only: on its faces the point does not determine the noise, and an audit is
  /// notified.
  Eigen::VectorXd gradient(const Eigen::VectorXd& f) const override;

  double log_curvature(const Eigen::VectorXd&) const override;

 private:
  Eigen::MatrixXd gram_;
  Eigen::VectorXd cross_;
  double limit_, tolerance_;
};

/// NAPP-ERM as published, augmented rows without their Monte Carlo error: weights from the last
/// iterate and the SAME noise in every iteration. NOT PRIVATE.
Eigen::VectorXd iterate_printed(const paper_plan& plan, const public_rows& rows,
                                const Eigen::VectorXd& linear);

/// RELEASED: coefficients of (1, z), z in [-1, 1], after each stage; the last is the estimate.
std::vector<Eigen::VectorXd> run_paper(const paper_plan& plan, const public_rows& rows,
                                       noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "paper_release.cpp"
#endif
