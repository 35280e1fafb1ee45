// Bodies of fixed_normals.hpp.
#pragma once

#include "fixed_normals.hpp"

#include "../linalg.hpp"

namespace dpsc {

double fixed_normal::operator()() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

double fixed_normal::uniform() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1.0p-53;
}

Eigen::MatrixXd fixed_normals(Eigen::Index d) {
  const Eigen::Index pairs = std::max<Eigen::Index>(128, 4 * d);
  fixed_normal next;
  Eigen::MatrixXd half(d, pairs);
  for (Eigen::Index k = 0; k < half.size(); ++k) half(k % d, k / d) = next();
  const Eigen::LLT<Eigen::MatrixXd> root =
      llt(half * half.transpose() / static_cast<double>(pairs));
  root.matrixL().solveInPlace(half);
  Eigen::MatrixXd out(d, 2 * pairs);
  out << half, -half;
  return out;
}

}  // namespace dpsc
