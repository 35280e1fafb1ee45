// Bodies of person.hpp.
#pragma once

#include "person.hpp"

namespace dpsc {

Eigen::VectorXd rows_there(const people_block& block) {
  Eigen::VectorXd out(block.present.size());
  Eigen::Index first = 0;
  for (const Eigen::Index rows : block.people) {
    const auto there = (block.present.segment(first, rows) > 0.0).count();
    out.segment(first, rows).setConstant(std::max(1.0, static_cast<double>(there)));
    first += rows;
  }
  return out;
}

mean_outer::mean_outer(double bound, Eigen::Index d) : keep_(keep(bound, d)) {}

double mean_outer::keep(double bound, Eigen::Index d) {
  const double rounded = static_cast<double>(d) / (std::sqrt(2.0) * bound);
  if (!(rounded <= 0.16)) throw std::logic_error("rounding is too coarse for means over rows");
  return 1.0 - 1.1 * rounded;
}

void mean_outer::add(const Eigen::MatrixXd& u, const people_block& block, Eigen::MatrixXd& sums) {
  Eigen::Index first = 0;
  for (const Eigen::Index rows : block.people) {
    const auto own = u.middleRows(first, rows);
    const auto there = (block.present.segment(first, rows) > 0.0).count();
    first += rows;
    if (there == 0) continue;
    mean_.setZero(u.cols(), u.cols());
    mean_.selfadjointView<Eigen::Lower>().rankUpdate(own.transpose());
    mean_ /= static_cast<double>(there);
    if (!(nearest_integer(mean_.array()) == mean_.array()).all())
      mean_.array() = nearest_integer((keep_ * mean_.array()).eval());
    sums += mean_;
  }
}

}  // namespace dpsc
