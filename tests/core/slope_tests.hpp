// Errors of a stream's slopes: the allowance for shortened rows is never too small.
#pragma once

#include <cmath>
#include <dpsc/estimate/stream_slopes.hpp>

#include "harness.hpp"

namespace {

// Rows of two lengths, some missing, with entries at their bounds or inside.
void test_shortened_rows(int rounds) {
  int shortened = 0;
  for (int round = 0; round < rounds; ++round) {
    const Index p = whole(2, 7), intercept = whole(0, 1), n = whole(20, 200);
    const double r2 = uniform(0.5, static_cast<double>(p));
    const double small = uniform(0.0, 1.0), often = uniform(0.0, 1.0);
    const Index missing = whole(0, 2) ? 0 : whole(0, n / 3);
    MatrixXd sums = MatrixXd::Zero(p + 1, p + 1);
    double hidden = 0.0;
    for (Index i = missing; i < n; ++i) {
      const double longest = uniform(0.0, 1.0) < often ? 1.0 : small;
      VectorXd row(p + 1);
      for (Index j = 0; j < p; ++j)
        row[j] = longest * (whole(0, 1) ? uniform(-1.0, 1.0) : whole(0, 1) ? 1.0 : -1.0);
      if (intercept) row[0] = 1.0;
      const double square = row.head(p).squaredNorm();
      const double s = square > 0.0 ? std::min(1.0, std::sqrt(r2 / square)) : 1.0;
      row.head(p) *= s;
      row[p] = uniform(-1.0, 1.0);
      sums += row * row.transpose();
      hidden += (1.0 / s - 1.0) * s * s * square;
    }
    const MatrixXd found = dpsc::shortened_curvature(
        {sums, 0.0, static_cast<double>(n), std::sqrt(r2), intercept == 1});
    CHECK(found.trace() >= hidden * (1.0 - 1e-9));
    shortened += hidden > 0.0;
  }
  CHECK(shortened > rounds / 2);
  // If no row can be shortened, there is no allowance, whatever rows are missing.
  dpsc::stream_moments some{50.0 * MatrixXd::Identity(4, 4), 0.0, 100.0, std::sqrt(3.0), true};
  CHECK(dpsc::shortened_curvature(some).isZero(0.0));
  some.radius = 1.5;
  CHECK(dpsc::shortened_curvature(some)(1, 1) > 0.0);
}

// Without noise these are least squares and their usual covariance; few or equal columns have none.
void test_stream_slopes(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index p = whole(1, 6), n = whole(p + 5, 100);
    MatrixXd rows(n, p + 1);
    for (Index i = 0; i < rows.size(); ++i) rows.data()[i] = uniform(-0.4, 0.4);
    dpsc::stream_moments given{rows.transpose() * rows, 0.0, static_cast<double>(n),
                               std::sqrt(static_cast<double>(p)), false};
    const dpsc::stream_slopes found = dpsc::solve_stream(given);
    CHECK(found.curvature == dpsc::stream_curvature::known);
    const MatrixXd x = rows.leftCols(p);
    const VectorXd slow = x.colPivHouseholderQr().solve(rows.col(p));
    CHECK((found.estimate - slow).norm() <= 1e-8 * (1.0 + slow.norm()));
    const double left = (rows.col(p) - x * slow).squaredNorm() / static_cast<double>(n - p);
    const MatrixXd usual = left * (x.transpose() * x).inverse();
    CHECK((found.total - usual).norm() <= 1e-6 * usual.norm() && found.privacy.isZero(0.0));
    given.rows = static_cast<double>(p);
    CHECK(dpsc::solve_stream(given).curvature == dpsc::stream_curvature::few_rows);
    given.rows = static_cast<double>(n);
    given.sd = 10.0 * static_cast<double>(n);
    CHECK(dpsc::solve_stream(given).curvature == dpsc::stream_curvature::hidden);
    given.sd = 0.0;
    given.sums.row(0).setZero();
    given.sums.col(0).setZero();
    CHECK(dpsc::solve_stream(given).curvature == dpsc::stream_curvature::collinear);
  }
}

}  // namespace
