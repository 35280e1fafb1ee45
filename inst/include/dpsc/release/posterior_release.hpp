// A private linear regression by one draw from a posterior: reads rows, draws, forgets them.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <cmath>

#include "../mechanism/moments.hpp"
#include "../mechanism/posterior.hpp"
#include "../noise/continuous.hpp"
#include "../noise/discrete.hpp"
#include "../rows/design.hpp"

namespace dpsc {

/// Rows x = (1, z) / sqrt(p + 1) in public units and y, both in [-1, 1]. A missing row is zero.
/// Sums of products. PRIVATE.
struct row_products {
  Eigen::MatrixXd gram;
  Eigen::VectorXd cross;
};

/// Visits blocks of public rows: `visit(x, y)`, x with the intercept first.
template <typename Visit>
void pass_public_rows(const row_source& source, const lm_design& design, Visit&& visit) {
  const auto count = static_cast<Eigen::Index>(design.variables.size());
  const lm_location location{Eigen::VectorXd::Zero(count), Eigen::VectorXd::Ones(count)};
  lm_reader reader(design);
  lm_columns columns(design, location);
  const Eigen::Index d = design.p() + 1;
  const double unit = std::ldexp(1.0, -row_bits), root = std::sqrt(static_cast<double>(d));
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd& values = columns.columns(grid);
    x.resize(values.rows(), d);
    x.col(0) = present.matrix() / root;
    x.rightCols(d - 1) = present.matrix().asDiagonal() * values.leftCols(d - 1) * (unit / root);
    y = present.matrix().asDiagonal() * values.col(d - 1) * unit;
    visit(x, y);
  });
}

row_products sum_products(const row_source& source, const lm_design& design, const ticker& tick);

/// RELEASED.
struct posterior_draw {
  Eigen::VectorXd theta;  // of z: intercept first, units in which everything lies in [-1, 1]
  double ridge;
};

template <typename Engine>
posterior_draw draw_posterior(const posterior_plan& plan, const row_products& sums,
                              Engine& engine) {
  const Eigen::Index d = sums.cross.size();
  double ridge = plan.ridge;
  if (plan.adaptive) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(sums.gram,
                                                                  Eigen::EigenvaluesOnly);
    const double exact = std::floor(std::ldexp(spectrum.eigenvalues()[0], eigenvalue_bits));
    const auto variance = static_cast<std::int64_t>(plan.variance);
    const double noisy = exact + static_cast<double>(discrete_gaussian(variance)(engine));
    const double least = std::ldexp(noisy, -eigenvalue_bits) - plan.allowance - 1.0;
    ridge = std::max(0.0, plan.target - least);
  }
  Eigen::MatrixXd H = sums.gram;
  H.diagonal().array() += ridge;
  const Eigen::LLT<Eigen::MatrixXd> factor(H);
  const Eigen::VectorXd noise = gaussian_vector(d, 1.0 / std::sqrt(plan.gamma), engine);
  const Eigen::VectorXd drawn = factor.solve(sums.cross) + factor.matrixU().solve(noise);
  // Low bits tell of floating-point noise: a public grid hides them.
  const double scale = 1.0 / std::sqrt(plan.gamma * static_cast<double>(d));
  const double grid = std::ldexp(1.0, static_cast<int>(std::floor(std::log2(scale))) - 30);
  const Eigen::VectorXd theta = (drawn / grid).array().round().matrix() * grid;
  return {theta / std::sqrt(static_cast<double>(d)), ridge};
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "posterior_release.cpp"
#endif
