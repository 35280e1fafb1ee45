// Bodies of posterior_release.hpp.
#pragma once

#include "posterior_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

row_products sum_products(const row_source& source, const lm_design& design, const ticker& tick) {
  const Eigen::Index d = design.p() + 1;
  row_products out{Eigen::MatrixXd::Zero(d, d), Eigen::VectorXd::Zero(d)};
  pass_public_rows(source, design, [&](const Eigen::MatrixXd& x, const Eigen::VectorXd& y) {
    out.gram.noalias() += x.transpose() * x;
    out.cross.noalias() += x.transpose() * y;
    tick(static_cast<double>(x.size() * d));
  });
  return out;
}

ridge_posterior::ridge_posterior(const row_products& sums, double ridge, double gamma)
    : gamma_(gamma) {
  Eigen::MatrixXd precision = sums.gram;
  precision.diagonal().array() += ridge;
  const Eigen::LLT<Eigen::MatrixXd> factor = llt(precision);
  upper_ = factor.matrixU();
  mean_ = factor.solve(sums.cross);
}

Eigen::VectorXd ridge_posterior::point(const Eigen::VectorXd& standard) const {
  const Eigen::VectorXd scaled = 1.0 / std::sqrt(gamma_) * standard;
  const Eigen::VectorXd drawn = mean_ + upper_.triangularView<Eigen::Upper>().solve(scaled);
  // Low-order bits of floating-point noise can reveal its argument: rounding to a public grid hides
  // them.
  const double scale = 1.0 / std::sqrt(gamma_ * static_cast<double>(size()));
  const double grid = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(scale))) - 30);
  return (drawn / grid).array().round().matrix() * grid;
}

Eigen::VectorXd ridge_posterior::standard(const Eigen::VectorXd& point) const {
  const Eigen::VectorXd moved = upper_.triangularView<Eigen::Upper>() * (point - mean_);
  return std::sqrt(gamma_) * moved;
}

double ridge_posterior::log_curvature() const { return upper_.diagonal().array().log().sum(); }

posterior_draw draw_posterior(const posterior_plan& plan, const row_products& sums, noise& draws) {
  double ridge = plan.ridge;
  if (plan.adaptive) {
    const double least = eigh(sums.gram, Eigen::EigenvaluesOnly).eigenvalues()[0];
    const Eigen::VectorXd exact =
        Eigen::VectorXd::Constant(1, std::floor(std::ldexp(least, eigenvalue_bits)));
    const Eigen::VectorXd noisy = draws.add("smallest eigenvalue", law::discrete_gaussian, exact,
                                            Eigen::VectorXd::Constant(1, plan.variance));
    const double known = std::ldexp(noisy[0], -eigenvalue_bits) - plan.allowance - 1.0;
    ridge = std::max(0.0, plan.target - known);
  }
  const Eigen::VectorXd theta = draws.draw("draw", ridge_posterior(sums, ridge, plan.gamma));
  return {theta / std::sqrt(static_cast<double>(sums.cross.size())), ridge};
}

}  // namespace dpsc
