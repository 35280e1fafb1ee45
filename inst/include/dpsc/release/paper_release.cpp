// Bodies of paper_release.hpp.
#pragma once

#include "paper_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

public_rows gather_rows(const row_source& source, const lm_design& design, const ticker& tick,
                        const paper_loss& loss) {
  public_rows out{Eigen::MatrixXd(0, design.p() + 1), Eigen::VectorXd(0)};
  Eigen::Index at = 0;
  pass_public_rows(source, design, [&](const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
    if (at + x.rows() > out.x.rows()) {
      const Eigen::Index room = std::max(2 * out.x.rows(), at + x.rows());
      out.x.conservativeResize(room, Eigen::NoChange);
      out.y.conservativeResize(room);
    }
    out.x.middleRows(at, x.rows()) = x;
    for (Eigen::Index i = 0; i < y.size(); ++i) out.y[at + i] = loss.outcome(y[i]);
    at += x.rows();
    tick(static_cast<double>(x.size()));
  });
  out.x.conservativeResize(at, Eigen::NoChange);
  out.y.conservativeResize(at);
  return out;
}

stage_objective::stage_objective(const public_rows& rows, const perturbed_stage& stage,
                                 Eigen::VectorXd centre, double tolerance, const glm_family& family)
    : rows_(rows),
      ridge_(stage.ridge),
      tolerance_(tolerance),
      centre_(std::move(centre)),
      family_(family) {}

// (ridge / 2) |theta - centre|^2 is a ridge about zero and a linear term.
ridge_logistic stage_objective::problem(const Eigen::VectorXd& term) const {
  return {rows_.x, rows_.y, Eigen::VectorXd::Constant(size(), ridge_), term - ridge_ * centre_,
          family_};
}

Eigen::VectorXd stage_objective::minimiser(const Eigen::VectorXd& term) const {
  return problem(term).minimise(centre_, tolerance_);
}

Eigen::VectorXd stage_objective::gradient(const Eigen::VectorXd& f) const {
  return problem(Eigen::VectorXd::Zero(size())).gradient(f, nullptr);
}

double stage_objective::log_curvature(const Eigen::VectorXd& f) const {
  Eigen::MatrixXd hessian;
  problem(Eigen::VectorXd::Zero(size())).gradient(f, &hessian);
  const Eigen::MatrixXd root = llt(hessian).matrixL();
  return 2.0 * root.diagonal().array().log().sum();
}

box_objective::box_objective(const public_rows& rows, double ridge, double limit, double tolerance)
    : gram_(Eigen::MatrixXd::Zero(rows.x.cols(), rows.x.cols())),
      cross_(Eigen::VectorXd::Zero(rows.x.cols())),
      limit_(limit),
      tolerance_(tolerance) {
  for (Eigen::Index at = 0; at < rows.x.rows(); at += paper_loss::block) {
    const Eigen::Index some = std::min<Eigen::Index>(paper_loss::block, rows.x.rows() - at);
    gram_ += (rows.x.middleRows(at, some).transpose() * rows.x.middleRows(at, some)).eval();
    cross_ += (rows.x.middleRows(at, some).transpose() * rows.y.segment(at, some)).eval();
  }
  gram_.diagonal().array() += ridge;
}

Eigen::VectorXd box_objective::minimiser(const Eigen::VectorXd& term) const {
  return minimise_in_box(gram_, cross_ - term, limit_, tolerance_);
}

Eigen::VectorXd box_objective::gradient(const Eigen::VectorXd& f) const {
  if (f.cwiseAbs().maxCoeff() >= limit_) return Eigen::VectorXd::Constant(f.size(), std::nan(""));
  return gram_ * f - cross_;
}

double box_objective::log_curvature(const Eigen::VectorXd&) const {
  const Eigen::MatrixXd root = llt(gram_).matrixL();
  return 2.0 * root.diagonal().array().log().sum();
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

namespace {

law law_of(vector_law which) {
  if (which == vector_law::printed) return law::printed_norm;
  return which == vector_law::gaussian ? law::gaussian : law::gamma_norm;
}

/// The published algorithm minimises another objective in each iteration, so no density is known.
class printed_objective : public perturbed_objective {
 public:
  printed_objective(const paper_plan& plan, const public_rows& rows) : plan_(plan), rows_(rows) {}

  Eigen::Index size() const override { return rows_.x.cols(); }

  Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const override {
    return iterate_printed(plan_, rows_, term);
  }

  Eigen::VectorXd gradient(const Eigen::VectorXd& f) const override {
    return Eigen::VectorXd::Constant(f.size(), std::nan(""));
  }

  double log_curvature(const Eigen::VectorXd&) const override { return HUGE_VAL; }

 private:
  const paper_plan& plan_;
  const public_rows& rows_;
};

Eigen::VectorXd perturbed(const std::string& label, const perturbed_stage& stage,
                          const perturbed_objective& objective, noise& draws) {
  if (stage.law == vector_law::none)
    return objective.minimiser(Eigen::VectorXd::Zero(objective.size()));
  return draws.perturb(label, law_of(stage.law), stage.scale, objective);
}

Eigen::VectorXd covered(const paper_plan& plan, const Eigen::VectorXd& theta, noise& draws) {
  const Eigen::VectorXd out =
      draws.add_real("accuracy of the solver", law::gamma_norm, theta, plan.cover);
  // Low-order bits of floating-point noise can reveal its argument: rounding to a public grid hides
  // them.
  const double grid = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(plan.cover))) - 6);
  return (out / grid).array().round().matrix() * grid;
}

// Rows are scaled by 1 / sqrt d, so coefficients and the box are scaled by sqrt d.
Eigen::VectorXd run_on_box(const paper_plan& plan, const public_rows& rows, noise& draws) {
  const double limit = plan.loss.box * std::sqrt(static_cast<double>(rows.x.cols()));
  const perturbed_stage& stage = plan.stages[0];
  const box_objective objective(rows, stage.ridge, limit, plan.tolerance);
  const Eigen::VectorXd theta =
      covered(plan, perturbed("linear term", stage, objective, draws), draws);
  return theta.cwiseMin(limit).cwiseMax(-limit);
}

}  // namespace

std::vector<Eigen::VectorXd> run_paper(const paper_plan& plan, const public_rows& rows,
                                       noise& draws) {
  const Eigen::Index d = rows.x.cols();
  const double root = std::sqrt(static_cast<double>(d));
  if (!plan.holds)
    return {perturbed("linear term", plan.stages[0], printed_objective(plan, rows), draws) / root};
  if (plan.loss.squared()) return {run_on_box(plan, rows, draws) / root};
  std::vector<Eigen::VectorXd> out;
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(d);
  for (const perturbed_stage& stage : plan.stages) {
    if (!stage.centred) centre.setZero();
    const stage_objective objective(rows, stage, centre, plan.tolerance, plan.loss.family);
    Eigen::VectorXd theta = perturbed("linear term", stage, objective, draws);
    if (plan.output.law != vector_law::none)
      theta = draws.add_real("output", law_of(plan.output.law), theta, plan.output.scale);
    theta = covered(plan, theta, draws);
    centre = theta;
    out.push_back(theta / root);
  }
  return out;
}

}  // namespace dpsc
