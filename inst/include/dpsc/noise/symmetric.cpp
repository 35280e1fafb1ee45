// Bodies of symmetric.hpp.
#pragma once

#include "symmetric.hpp"

namespace dpsc {

Eigen::MatrixXd add_symmetric(const Eigen::MatrixXd& exact, const std::string& label, law kind,
                              double noise_scale, noise& draws, Eigen::VectorXd* beside) {
  const Eigen::Index d = exact.rows(), more = beside ? beside->size() : 0;
  Eigen::VectorXd entries(d * (d + 1) / 2 + more), scale(entries.size());
  const double off = kind == law::discrete_gaussian ? noise_scale / 2.0 : noise_scale;
  scale.setConstant(off);
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at) {
      entries[at] = exact(i, j);
      if (i == j) scale[at] = noise_scale;
    }
  if (beside) entries.tail(more) = *beside;
  const Eigen::VectorXd answer = draws.add(label, kind, entries, scale);
  Eigen::MatrixXd noisy(d, d);
  at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at) noisy(i, j) = noisy(j, i) = answer[at];
  if (beside) *beside = answer.tail(more);
  return noisy;
}

}  // namespace dpsc
