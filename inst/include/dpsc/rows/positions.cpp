// Bodies of positions.hpp.
#pragma once

#include "positions.hpp"

namespace dpsc {

row_positions row_positions::from(Eigen::Index before) const {
  row_positions out{all, {}};
  for (auto i = first(before); i != at.end(); ++i) out.at.push_back(*i - before);
  return out;
}

std::vector<Eigen::Index> row_positions::within(Eigen::Index before, Eigen::Index rows) const {
  std::vector<Eigen::Index> out;
  for (auto i = first(before); i != at.end() && *i < before + rows; ++i) out.push_back(*i - before);
  return out;
}

std::vector<Eigen::Index>::const_iterator row_positions::first(Eigen::Index before) const {
  return std::lower_bound(at.begin(), at.end(), before);
}

}  // namespace dpsc
