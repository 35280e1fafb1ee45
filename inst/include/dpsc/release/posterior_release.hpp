// A private linear regression by one draw from a posterior: reads rows, draws, and discards them.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "../mechanism/moments.hpp"
#include "../mechanism/posterior.hpp"
#include "../noise/noise.hpp"
#include "../rows/design.hpp"

namespace dpsc {

/// Sums of products of rows x = (1, z) / sqrt(p + 1) in public units and y, both in [-1, 1]. A
/// missing row is zero. PRIVATE.
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
  Eigen::VectorXd theta;  // of z: intercept first, units with all values in [-1, 1]
  double ridge;
};

/// The posterior of a ridge regression, its precision gamma (X'X + ridge I).
class ridge_posterior : public normal_law {
 public:
  ridge_posterior(const row_products& sums, double ridge, double gamma);

  Eigen::Index size() const override { return mean_.size(); }

  Eigen::VectorXd point(const Eigen::VectorXd& standard) const override;

  Eigen::VectorXd standard(const Eigen::VectorXd& point) const override;

  double log_curvature() const override;

 private:
  Eigen::MatrixXd upper_;  // U'U is the precision over gamma
  Eigen::VectorXd mean_;
  double gamma_;
};

posterior_draw draw_posterior(const posterior_plan& plan, const row_products& sums, noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "posterior_release.cpp"
#endif
