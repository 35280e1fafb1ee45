// Bodies of lm_raw.hpp.
#pragma once

#include "lm_raw.hpp"

#include <numeric>

#include "../linalg.hpp"

namespace dpsc {

std::vector<int> independent_columns(const Eigen::MatrixXd& covariance,
                                     const std::vector<int>& kept) {
  // Rows of the Cholesky factor; the limit is lm()'s for lengths, with the rounding of products.
  constexpr double own_share = 1e-11;
  std::vector<int> out;
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(covariance.rows(), covariance.rows());
  for (int a : kept) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(covariance.rows());
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto j = static_cast<Eigen::Index>(k);
      row[j] = (covariance(a, out[k]) - row.dot(factor.row(j).transpose())) / factor(j, j);
    }
    const double own = covariance(a, a) - row.squaredNorm();
    if (!(own > own_share * covariance(a, a))) continue;
    const auto j = static_cast<Eigen::Index>(out.size());
    row[j] = std::sqrt(own);
    factor.row(j) = row.transpose();
    out.push_back(a);
  }
  return out;
}

lm_estimate estimate_raw(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance,
                         double rows, const std::vector<int>& wanted) {
  const std::vector<int> kept = independent_columns(covariance, wanted);
  const Eigen::Index p = mean.size() - 1, q = static_cast<Eigen::Index>(kept.size());
  Eigen::MatrixXd S(q, q);
  Eigen::VectorXd c(q), sd(q);
  for (Eigen::Index i = 0; i < q; ++i) {
    const int a = kept[static_cast<std::size_t>(i)];
    sd[i] = std::sqrt(covariance(a, a));
  }
  for (Eigen::Index i = 0; i < q; ++i) {
    const int a = kept[static_cast<std::size_t>(i)];
    c[i] = covariance(a, p) / sd[i];
    for (Eigen::Index j = 0; j < q; ++j)
      S(i, j) = covariance(a, kept[static_cast<std::size_t>(j)]) / (sd[i] * sd[j]);
  }
  lm_estimate out;
  out.rows = rows;
  Eigen::MatrixXd inverse(q, q);
  if (q > 0) inverse = pseudo_inverse(S);
  const Eigen::VectorXd slope = inverse * c;
  const double left = std::max(0.0, covariance(p, p) - slope.dot(c));
  const double df = std::max(1.0, rows - static_cast<double>(q) - 1.0);
  out.residual = left * rows / df;
  out.r_squared = covariance(p, p) > 0.0 ? 1.0 - left / covariance(p, p) : 0.0;
  out.identified = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(wanted.size()));
  for (std::size_t i = 0, k = 0; i < wanted.size() && k < kept.size(); ++i)
    if (wanted[i] == kept[k]) {
      out.identified[static_cast<Eigen::Index>(i)] = std::numeric_limits<double>::infinity();
      ++k;
    }
  out.coefficients = Eigen::VectorXd::Zero(p + 1);
  out.privacy = Eigen::MatrixXd::Zero(p + 1, p + 1);
  out.sampling = Eigen::MatrixXd::Zero(p + 1, p + 1);
  Eigen::MatrixXd V = Eigen::MatrixXd::Zero(p, p);
  for (Eigen::Index i = 0; i < q; ++i) {
    const int a = kept[static_cast<std::size_t>(i)];
    out.coefficients[a + 1] = slope[i] / sd[i];
    for (Eigen::Index j = 0; j < q; ++j)
      V(a, kept[static_cast<std::size_t>(j)]) =
          out.residual / rows * inverse(i, j) / (sd[i] * sd[j]);
  }
  const Eigen::VectorXd m = mean.head(p);
  out.coefficients[0] = mean[p] - m.dot(out.coefficients.tail(p));
  out.sampling.bottomRightCorner(p, p) = V;
  out.sampling.col(0).tail(p) = -V * m;
  out.sampling.row(0).tail(p) = out.sampling.col(0).tail(p).transpose();
  out.sampling(0, 0) = out.residual / rows + m.dot(V * m);
  return out;
}

raw_columns::raw_columns(const row_source& source, const lm_design& design)
    : mean(Eigen::VectorXd::Zero(design.p() + 1)) {
  for (int pass = 0; pass < 2; ++pass) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(mean.size());
    covariance = Eigen::MatrixXd::Zero(mean.size(), mean.size());
    rows = weight = 0.0;
    each_raw_row(source, design, [&](const Eigen::VectorXd& x, double w, bool first) {
      const Eigen::VectorXd centred = x - mean;
      sum += w * centred;
      covariance.selfadjointView<Eigen::Lower>().rankUpdate(centred, w);
      rows += first;
      weight += w;
    });
    const double total = weight > 0.0 ? weight : 1.0;
    const Eigen::VectorXd shift = sum / total;
    covariance = Eigen::MatrixXd(covariance.selfadjointView<Eigen::Lower>()) / total -
                 shift * shift.transpose();
    mean += shift;
  }
}

Eigen::MatrixXd raw_sandwich(const row_source& source, const lm_design& design,
                             const raw_columns& raw, const Eigen::VectorXd& coefficients) {
  const Eigen::Index p = design.p();
  std::vector<int> all(static_cast<std::size_t>(p));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> kept = independent_columns(raw.covariance, all);
  const Eigen::VectorXd mean = raw.mean.head(p), slope = coefficients.tail(p);
  Eigen::VectorXd sd = raw.covariance.diagonal().head(p).cwiseSqrt();
  sd = (sd.array() > 0.0).select(sd, 1.0);
  const double level = coefficients[0] + mean.dot(slope);
  Eigen::MatrixXd meat = Eigen::MatrixXd::Zero(p + 1, p + 1);
  Eigen::VectorXd z(p + 1), score = Eigen::VectorXd::Zero(p + 1);
  each_raw_row(source, design, [&](const Eigen::VectorXd& x, double w, bool first) {
    if (first) {
      meat.selfadjointView<Eigen::Lower>().rankUpdate(score);
      score.setZero();
    }
    z[0] = 1.0;
    z.tail(p) = (x.head(p) - mean).cwiseQuotient(sd);
    const double r = x[p] - level - slope.dot(x.head(p) - mean);
    score += w * r * z;
  });
  meat.selfadjointView<Eigen::Lower>().rankUpdate(score);
  meat = Eigen::MatrixXd(meat.selfadjointView<Eigen::Lower>());
  const Eigen::MatrixXd scaled = sd.cwiseInverse().asDiagonal() *
                                 raw.covariance.topLeftCorner(p, p) *
                                 sd.cwiseInverse().asDiagonal();
  const auto q = static_cast<Eigen::Index>(kept.size());
  Eigen::MatrixXd own(q, q);
  for (Eigen::Index i = 0; i < q; ++i)
    for (Eigen::Index j = 0; j < q; ++j)
      own(i, j) = scaled(kept[static_cast<std::size_t>(i)], kept[static_cast<std::size_t>(j)]);
  const Eigen::MatrixXd inverse = q > 0 ? pseudo_inverse(own) : Eigen::MatrixXd(0, 0);
  Eigen::MatrixXd bread = Eigen::MatrixXd::Zero(p + 1, p + 1);
  bread(0, 0) = 1.0;
  for (Eigen::Index i = 0; i < q; ++i)
    for (Eigen::Index j = 0; j < q; ++j)
      bread(1 + kept[static_cast<std::size_t>(i)], 1 + kept[static_cast<std::size_t>(j)]) =
          inverse(i, j);
  // From (fit at the mean, scaled slopes) to (intercept, slopes).
  Eigen::MatrixXd back = Eigen::MatrixXd::Zero(p + 1, p + 1);
  back(0, 0) = 1.0;
  back.bottomRightCorner(p, p) = sd.cwiseInverse().asDiagonal();
  back.row(0).tail(p) = -mean.cwiseQuotient(sd).transpose();
  const Eigen::MatrixXd half = back * bread;
  const double df = std::max(1.0, raw.rows - static_cast<double>(q) - 1.0);
  return half * meat * half.transpose() * (raw.rows / df / (raw.weight * raw.weight));
}

}  // namespace dpsc
