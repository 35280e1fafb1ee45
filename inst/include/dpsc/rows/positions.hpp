// Some rows of a pass by their places, which do not depend on anybody's data or name.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace dpsc {

/// All rows, or those at increasing places, from 0. PRIVATE.
struct row_positions {
  bool all = true;
  std::vector<Eigen::Index> at;

  /// Places from `before` on, counted from there: the request to one part of the rows, which
  /// ignores places beyond its end.
  row_positions from(Eigen::Index before) const;

  /// Places in [before, before + rows), counted from `before`.
  std::vector<Eigen::Index> within(Eigen::Index before, Eigen::Index rows) const;

 private:
  std::vector<Eigen::Index>::const_iterator first(Eigen::Index before) const;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "positions.cpp"
#endif
