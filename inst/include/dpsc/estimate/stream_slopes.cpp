// Bodies of stream_slopes.hpp.
#pragma once

#include "stream_slopes.hpp"

#include "../linalg.hpp"

namespace dpsc {

Eigen::MatrixXd shortened_curvature(const stream_moments& given) {
  const Eigen::Index p = given.sums.rows() - 1, first = given.intercept ? 1 : 0;
  const double r2 = given.radius * given.radius, n = given.rows;
  const auto longest = static_cast<double>(p), fixed = static_cast<double>(first);
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(p, p);
  if (r2 >= longest * (1.0 - 1e-12)) return out;
  const Eigen::MatrixXd slopes = given.sums.block(first, first, p - first, p - first);
  const double free = std::max(0.0, slopes.trace());
  if (!(free > 0.0)) return out;
  // A shortened row adds radius^2 - s^2 (radius^2 without intercept) to `free`, and s^2 >= radius^2
  // / p, since no entry exceeds one.
  double lost = r2 > fixed ? free * (1.0 - r2 / longest) / (r2 * (1.0 - fixed / longest)) : n;
  if (given.intercept) lost = std::min(lost, std::max(0.0, n - given.sums(0, 0)) + 0.4 * given.sd);
  // The shortest factor: (1/s - 1) s^2 |x|^2 is radius^2 (1 - s^2) / (s (1 + s)) for every row.
  const double s = given.radius / std::sqrt(longest);
  out.block(first, first, p - first, p - first) = slopes * (std::max(0.0, r2 - fixed) / free);
  if (given.intercept) out(0, 0) = 1.0;
  return out * (lost / (s * (1.0 + s)));
}

stream_slopes solve_stream(const stream_moments& given) {
  stream_slopes out;
  const Eigen::Index p = given.sums.rows() - 1;
  const double n = given.rows, v = given.sd * given.sd / 2.0;
  if (!(n > static_cast<double>(p))) {
    out.curvature = stream_curvature::few_rows;
    return out;
  }
  const Eigen::MatrixXd A = given.sums.topLeftCorner(p, p);
  const Eigen::VectorXd h = given.sums.col(p).head(p);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(A);
  const Eigen::ArrayXd l = spectrum.eigenvalues().array();
  const double least = l.minCoeff();
  const double share = v * (l.square().inverse().sum() + 1.0 / (least * least));
  if (!(least > 1e-9 * n * given.radius * given.radius && share <= most_second_order)) {
    out.curvature = v > 0.0 ? stream_curvature::hidden : stream_curvature::collinear;
    return out;
  }
  out.curvature = stream_curvature::known;
  const Eigen::MatrixXd inverse = spectrum.eigenvectors() * l.inverse().matrix().asDiagonal() *
                                  spectrum.eigenvectors().transpose();
  const Eigen::MatrixXd square = inverse * inverse;
  out.estimate = inverse * h;
  const Eigen::VectorXd& theta = out.estimate;
  const Eigen::VectorXd direct = inverse * theta;
  const Eigen::MatrixXd noise =
      v * ((1.0 + theta.squaredNorm()) * square + direct * direct.transpose());
  const double left = std::max(0.0, given.sums(p, p) - theta.dot(h)) / (n - static_cast<double>(p));
  const Eigen::MatrixXd first = noise + left * inverse;
  const auto second = [&](const Eigen::MatrixXd& W) -> Eigen::MatrixXd {
    return v * (W.trace() * square + inverse * W * inverse);
  };
  const Eigen::VectorXd bias = v * (inverse * direct + l.inverse().sum() * direct);
  const Eigen::VectorXd shortened = inverse * (shortened_curvature(given) * theta);
  // Errors are shown if the least curvature is above a limit, which noise may have caused.
  double widened = 1.0;
  if (v > 0.0) {
    const double above = least * (1.0 - std::sqrt(share / most_second_order)) / given.sd;
    widened = std::pow(1.0 + 0.4 * std::max(0.0, 1.0 - above / 2.0), 2);
  }
  out.privacy = widened * (noise + second(noise) + bias * bias.transpose());
  out.total = widened *
              (first + second(first) + bias * bias.transpose() + shortened * shortened.transpose());
  return out;
}

}  // namespace dpsc
