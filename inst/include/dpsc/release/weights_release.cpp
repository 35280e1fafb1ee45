// Bodies of weights_release.hpp.
#pragma once

#include "weights_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

Eigen::MatrixXd scaled_rows(const table_view& table, const row_scale& scale, bool clip) {
  if (table.columns != scale.centre.size())
    throw std::invalid_argument("the table does not fit its scale");
  Eigen::MatrixXd out(table.rows, table.columns);
  for (Eigen::Index t = 0; t < table.columns; ++t) {
    for (Eigen::Index i = 0; i < table.rows; ++i) {
      const Eigen::Index at = t * table.rows + i;
      const double x = table.reals ? table.reals[at] : static_cast<double>(table.integers[at]);
      out(i, t) = (x - scale.centre[t]) / scale.unit;
    }
    if (clip) out.col(t) = out.col(t).cwiseMin(scale.half[t]).cwiseMax(-scale.half[t]);
  }
  return out;
}

Eigen::MatrixXd in_order(const Eigen::MatrixXd& rows, const std::vector<Eigen::Index>& order) {
  Eigen::MatrixXd out(rows.rows(), rows.cols());
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    out.row(i) = rows.row(order[static_cast<std::size_t>(i)]);
  return out;
}

Eigen::VectorXd ridge_weights(const Eigen::Ref<const Eigen::MatrixXd>& x, const Eigen::VectorXd& y,
                              double lambda) {
  Eigen::MatrixXd moment = x.transpose() * x;
  moment.diagonal().array() += lambda / 2.0;
  return x * llt(moment).solve(y);
}

weights_objective::weights_objective(const Eigen::Ref<const Eigen::MatrixXd>& x,
                                     const Eigen::VectorXd& y, const weights_plan& plan,
                                     runtime host)
    : x_(x),
      plan_(plan),
      host_(std::move(host)),
      linear_(2.0 * (x * y)),
      moment_(x.transpose() * x) {
  moment_.diagonal().array() += plan.penalty / 2.0;
}

Eigen::VectorXd weights_objective::minimiser(const Eigen::VectorXd& term) const {
  const Eigen::VectorXd linear = linear_ - term;
  // Nothing depends on whether the solver met its tolerance: in exact arithmetic it always meets
  // it, after a number of iterations known beforehand. Returning zeros on failure would reveal a
  // private event.
  if (plan_.solver == weights_plan::way::bounded)
    return capped_l1_qp(x_, linear, plan_.penalty, plan_.cap).solve(plan_.tolerance, host_).point;
  return (linear - x_ * llt(moment_).solve(x_.transpose() * linear)) / plan_.penalty;
}

Eigen::VectorXd weights_objective::gradient(const Eigen::VectorXd& f) const {
  return 2.0 * (x_ * (x_.transpose() * f)) + plan_.penalty * f - linear_;
}

double weights_objective::log_curvature(const Eigen::VectorXd&) const {
  // log det (I + 2 X'X / mu).
  const Eigen::MatrixXd root = llt(moment_ * (2.0 / plan_.penalty)).matrixL();
  return 2.0 * root.diagonal().array().log().sum();
}

Eigen::VectorXd add_step(const std::string& label, const Eigen::VectorXd& exact,
                         const real_step& step, noise& draws) {
  if (!step.drawn) return exact;
  if (step.kind != law::discrete_gaussian)
    return draws.add_real(label, step.kind, exact, step.scale);
  const double unit = std::ldexp(1.0, step.grid);
  const Eigen::VectorXd whole =
      exact.unaryExpr([unit](double x) { return std::nearbyint(x * unit); });
  return draws.add(label, step.kind, whole,
                   Eigen::VectorXd::Constant(exact.size(), step.variance)) /
         unit;
}

Eigen::VectorXd noisy_weights(const Eigen::Ref<const Eigen::MatrixXd>& x, const Eigen::VectorXd& y,
                              const weights_plan& plan, noise& draws, const runtime& host) {
  if (plan.solver == weights_plan::way::ridge)
    return add_step("ridge weights", ridge_weights(x, y, plan.penalty), plan.noise, draws);
  const weights_objective objective(x, y, plan, host);
  if (!plan.noise.drawn) return objective.minimiser(Eigen::VectorXd::Zero(objective.size()));
  const Eigen::VectorXd point =
      draws.perturb("linear term of the objective", plan.noise.kind, plan.noise.scale, objective);
  return add_step("accuracy of the solver", point, plan.cover, draws);
}

weights_release release_weights(const table_view& donors, const row_scale& scale,
                                const Eigen::VectorXd& y, const weights_plan& plan, noise& draws,
                                const runtime& host) {
  const Eigen::Index T0 = y.size(), T1 = scale.centre.size() - T0, n = donors.rows;
  Eigen::MatrixXd rows = scaled_rows(donors, scale, plan.post.drawn);
  if (plan.shuffled) rows = in_order(rows, draws.positions(n, n));
  weights_release out;
  out.weights = noisy_weights(rows.leftCols(T0), y, plan, draws, host);
  Eigen::MatrixXd post = rows.rightCols(T1);
  if (plan.post.drawn && plan.post.kind == law::discrete_gaussian) {
    // Values are on the grid and within bounds that are rounded towards zero, so the sensitivity is
    // exact.
    const double unit = std::ldexp(1.0, plan.post.grid);
    for (Eigen::Index t = 0; t < T1; ++t) {
      const double limit = std::floor(scale.half[T0 + t] * unit) / unit;
      post.col(t) = post.col(t)
                        .unaryExpr([unit](double x) { return std::nearbyint(x * unit) / unit; })
                        .cwiseMin(limit)
                        .cwiseMax(-limit);
    }
  }
  // Only the product is kept: nothing later needs the noisy outcomes themselves.
  const Eigen::VectorXd stacked = Eigen::Map<const Eigen::VectorXd>(post.data(), n * T1);
  const Eigen::VectorXd noisy = add_step("post-period outcomes", stacked, plan.post, draws);
  out.counterfactual =
      Eigen::Map<const Eigen::MatrixXd>(noisy.data(), n, T1).transpose() * out.weights;
  return out;
}

}  // namespace dpsc
