// Bodies of posterior_release.hpp.
#pragma once

#include "posterior_release.hpp"

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

}  // namespace dpsc
