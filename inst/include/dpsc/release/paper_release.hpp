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

inline public_rows gather_rows(const row_source& source, const lm_design& design,
                               const ticker& tick) {
  public_rows out{Eigen::MatrixXd(0, design.p() + 1), Eigen::VectorXd(0)};
  Eigen::Index at = 0;
  pass_public_rows(source, design, [&](const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
    if (at + x.rows() > out.x.rows()) {
      const Eigen::Index room = std::max(2 * out.x.rows(), at + x.rows());
      out.x.conservativeResize(room, Eigen::NoChange);
      out.y.conservativeResize(room);
    }
    out.x.middleRows(at, x.rows()) = x;
    // The outcome is 0 or 1 with bounds 0 and 1: -1 or 1 on the scale of the rows.
    for (Eigen::Index i = 0; i < y.size(); ++i) out.y[at + i] = y[i] > 0.0 ? 1.0 : 0.0;
    at += x.rows();
    tick(static_cast<double>(x.size()));
  });
  out.x.conservativeResize(at, Eigen::NoChange);
  out.y.conservativeResize(at);
  return out;
}

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
inline Eigen::VectorXd minimise_stage(const public_rows& rows, const perturbed_stage& stage,
                                      const Eigen::VectorXd& linear, const Eigen::VectorXd& centre,
                                      double tolerance) {
  const Eigen::Index d = rows.x.cols();
  // (ridge / 2) |theta - centre|^2 is a ridge about zero and a linear term.
  const ridge_logistic problem{rows.x, rows.y, Eigen::VectorXd::Constant(d, stage.ridge),
                               linear - stage.ridge * centre};
  return problem.minimise(centre, tolerance);
}

/// NAPP-ERM as printed, augmented rows without their Monte Carlo error: weights from the last
/// iterate and the SAME noise in every iteration. NOT PRIVATE.
inline Eigen::VectorXd iterate_printed(const paper_plan& plan, const public_rows& rows,
                                       const Eigen::VectorXd& linear) {
  const Eigen::Index d = rows.x.cols();
  const double base = plan.stages[0].ridge / 2.0;
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(d), weight = Eigen::VectorXd::Constant(d, base);
  for (int t = 0; t < plan.iterations; ++t) {
    const ridge_logistic problem{rows.x, rows.y, 2.0 * weight, linear};
    theta = problem.minimise(theta, plan.tolerance * (1.0 + 1e-6 * weight.maxCoeff()));
    for (Eigen::Index j = 0; j < d; ++j)
      weight[j] = std::max(base, plan.target / std::max(std::fabs(theta[j]), 1e-8));
  }
  return theta;
}

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
