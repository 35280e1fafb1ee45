// Several adoption dates from one release: what a cohort that adopts later makes of it, and what
// the errors of two cohorts have in common. Post-processing: nothing here sees people.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "counterfactual.hpp"

namespace dpsc {

/// Where the columns of a row come from, in the order in which a cohort knows them: periods before
/// its adoption, covariates, periods after it. The release has `before` periods, q covariates, and
/// then the other ones.
inline std::vector<Eigen::Index> cohort_order(Eigen::Index before, Eigen::Index q, Eigen::Index T0,
                                              Eigen::Index periods) {
  std::vector<Eigen::Index> order;
  for (Eigen::Index t = 0; t < T0; ++t) order.push_back(t < before ? t : t + q);
  for (Eigen::Index j = 0; j < q; ++j) order.push_back(before + j);
  for (Eigen::Index t = T0; t < periods; ++t) order.push_back(t + q);
  return order;
}

/// The release as a cohort sees it that adopts after T0 periods: single periods between the first
/// adoption and its own are past to it, and levels are means over all T0. A linear map of features,
/// so the whitened ones stay what they are.
inline gram_statistics cohort_view(const gram_statistics& s, Eigen::Index T0) {
  const Eigen::Index between = T0 - s.periods_before();
  if (between < 0 || between >= s.T1())
    throw std::invalid_argument("a cohort must adopt in a period of the release's own future");
  gram_statistics out = s;
  out.pre = s.pre + between;
  if (between > 0 && s.covariates > 0) {
    const std::vector<Eigen::Index> order =
        cohort_order(s.periods_before(), s.covariates, T0, s.periods_before() + s.T1());
    for (Eigen::Index row = 0; row < out.loadings.rows(); ++row)
      out.loadings.row(row) = s.loadings.row(order[static_cast<std::size_t>(row)]);
  }
  if (!s.demean || between == 0) return out;
  const double share = 1.0 / static_cast<double>(T0);
  const Eigen::VectorXd loading = out.loadings.middleCols(s.pre, between).rowwise().sum() * share;
  const Eigen::RowVectorXd restore = s.restore.middleRows(s.pre, between).colwise().sum() * share;
  const double mean = s.mean.segment(s.pre, between).sum() * share;
  out.loadings.rightCols(out.T1()).colwise() -= loading;
  out.restore.bottomRows(out.T1()).rowwise() -= restore;
  out.mean.tail(out.T1()).array() -= mean;
  return out;
}

/// Covariances between the errors of several cohorts' counterfactuals, cohort by cohort and period
/// by period, scaled units: what the noise makes, and what the donors' own regression does.
struct shared_errors {
  Eigen::MatrixXd privacy, regression;
};

/// One cohort: its view, how it is estimated, and its path before its own adoption.
struct cohort_target {
  gram_statistics view;
  estimator_options options;
  Eigen::VectorXd pre;
};

inline shared_errors cohort_errors(const std::vector<cohort_target>& cohorts, double n) {
  std::vector<linear_error> parts;
  Eigen::Index size = 0, longest = 0;
  Eigen::MatrixXd covariance, whitened;
  double moment = 0.0, mean = 0.0;
  for (const cohort_target& cohort : cohorts) {
    const counterfactual_estimator estimator(cohort.view, cohort.options);
    parts.push_back(estimator.linear(cohort.pre));
    size += cohort.view.T1();
    // The past of the last cohort holds everybody's.
    if (cohort.view.pre >= longest) {
      longest = cohort.view.pre;
      covariance = estimator.model().covariance.topLeftCorner(longest, longest);
      whitened = positive_part(estimator.model().whitened);
      moment = estimator.model().moment_sd * estimator.model().moment_sd;
      mean = estimator.model().mean_sd * estimator.model().mean_sd;
    }
  }
  shared_errors out{Eigen::MatrixXd::Zero(size, size), Eigen::MatrixXd::Zero(size, size)};
  Eigen::Index row = 0;
  for (const linear_error& a : parts) {
    Eigen::Index column = 0;
    const Eigen::Index rows = a.g.cols();
    for (const linear_error& b : parts) {
      const Eigen::Index columns = b.g.cols();
      const double along =
          a.w.dot(covariance.topLeftCorner(a.w.size(), b.w.size()) * b.w);  // of the donors' fits
      out.regression.block(row, column, rows, columns) =
          (1.0 + along) / n * a.g.transpose() * whitened * b.g;
      Eigen::MatrixXd noise = mean * a.g.transpose() * b.g;
      for (Eigen::Index t = 0; t < rows; ++t)
        for (Eigen::Index u = 0; u < columns; ++u)
          noise(t, u) += moment * a.form[static_cast<std::size_t>(t)]
                                      .cwiseProduct(b.form[static_cast<std::size_t>(u)])
                                      .sum();
      out.privacy.block(row, column, rows, columns) = noise;
      column += columns;
    }
    row += rows;
  }
  return out;
}

}  // namespace dpsc
