// Bodies of cohorts.hpp.
#pragma once

#include "cohorts.hpp"

namespace dpsc {

std::vector<Eigen::Index> cohort_order(Eigen::Index before, Eigen::Index q, Eigen::Index T0,
                                       Eigen::Index periods) {
  std::vector<Eigen::Index> order;
  for (Eigen::Index t = 0; t < T0; ++t) order.push_back(t < before ? t : t + q);
  for (Eigen::Index j = 0; j < q; ++j) order.push_back(before + j);
  for (Eigen::Index t = T0; t < periods; ++t) order.push_back(t + q);
  return order;
}

gram_statistics cohort_view(const gram_statistics& s, Eigen::Index T0) {
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

shared_errors cohort_errors(const std::vector<cohort_target>& cohorts, double n) {
  std::vector<linear_error> parts;
  Eigen::Index size = 0, longest = 0;
  Eigen::MatrixXd covariance, whitened;
  double moment = 0.0, mean = 0.0;
  for (const cohort_target& cohort : cohorts) {
    const counterfactual_estimator estimator(cohort.view, cohort.options);
    parts.push_back(estimator.linear(cohort.pre));
    size += cohort.view.T1();
    // The last cohort's past includes every other cohort's past.
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
