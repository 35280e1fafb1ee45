// Bodies of paper_release.hpp.
#pragma once

#include "paper_release.hpp"

namespace dpsc {

public_rows gather_rows(const row_source& source, const lm_design& design, const ticker& tick) {
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

Eigen::VectorXd minimise_stage(const public_rows& rows, const perturbed_stage& stage,
                               const Eigen::VectorXd& linear, const Eigen::VectorXd& centre,
                               double tolerance) {
  const Eigen::Index d = rows.x.cols();
  // (ridge / 2) |theta - centre|^2 is a ridge about zero and a linear term.
  const ridge_logistic problem{rows.x, rows.y, Eigen::VectorXd::Constant(d, stage.ridge),
                               linear - stage.ridge * centre};
  return problem.minimise(centre, tolerance);
}

Eigen::VectorXd iterate_printed(const paper_plan& plan, const public_rows& rows,
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

}  // namespace dpsc
