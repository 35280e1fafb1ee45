// A private logistic regression by one of the papers' methods: rows in public units, perturbed
// minimisations, released coefficients.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <vector>

#include "../mechanism/papers.hpp"
#include "../noise/continuous.hpp"
#include "../solver/ridge_logistic.hpp"
#include "posterior_release.hpp"

namespace dpsc {

/// All rows, |x| <= 1, outcomes 0 or 1. A missing row is zero: it has a slope, but no direction.
/// PRIVATE.
struct public_rows {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
};

public_rows gather_rows(const row_source& source, const lm_design& design, const ticker& tick);

template <typename Engine>
Eigen::VectorXd draw_vector(const perturbed_stage& stage, Eigen::Index d, Engine& engine) {
  switch (stage.law) {
    case vector_law::spherical:
      return gamma_norm_vector(d, stage.scale, engine);
    case vector_law::gaussian:
      return gaussian_vector(d, stage.scale, engine);
    case vector_law::printed: {
      const Eigen::VectorXd direction = gaussian_vector(d, 1.0, engine).normalized();
      return direction * stage.scale * standard_gamma(1.0, engine);
    }
    default:
      return Eigen::VectorXd::Zero(d);
  }
}

/// One perturbed minimisation. PRIVATE with an exact minimiser's noise: covered by the caller.
Eigen::VectorXd minimise_stage(const public_rows& rows, const perturbed_stage& stage,
                               const Eigen::VectorXd& linear, const Eigen::VectorXd& centre,
                               double tolerance);

/// NAPP-ERM as printed, augmented rows without their Monte Carlo error: weights from the last
/// iterate and the SAME noise in every iteration. NOT PRIVATE.
Eigen::VectorXd iterate_printed(const paper_plan& plan, const public_rows& rows,
                                const Eigen::VectorXd& linear);

/// RELEASED: coefficients of (1, z), z in [-1, 1], after each stage; the last is the estimate.
template <typename Engine>
std::vector<Eigen::VectorXd> run_paper(const paper_plan& plan, const public_rows& rows,
                                       Engine& engine) {
  const Eigen::Index d = rows.x.cols();
  const double root = std::sqrt(static_cast<double>(d));
  if (!plan.holds) {
    const Eigen::VectorXd linear = draw_vector(plan.stages[0], d, engine);
    return {iterate_printed(plan, rows, linear) / root};
  }
  std::vector<Eigen::VectorXd> out;
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(d);
  for (const perturbed_stage& stage : plan.stages) {
    if (!stage.centred) centre.setZero();
    const Eigen::VectorXd linear = draw_vector(stage, d, engine);
    Eigen::VectorXd theta = minimise_stage(rows, stage, linear, centre, plan.tolerance);
    theta += gamma_norm_vector(d, plan.cover, engine);
    if (plan.output.law != vector_law::none) theta += draw_vector(plan.output, d, engine);
    // Low bits tell of floating-point noise: a public grid hides them.
    const double grid = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(plan.cover))) - 6);
    theta = (theta / grid).array().round().matrix() * grid;
    centre = theta;
    out.push_back(theta / root);
  }
  return out;
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "paper_release.cpp"
#endif
