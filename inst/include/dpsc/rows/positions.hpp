// Some rows of a pass by their places, which nobody's data or name decided.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <vector>

namespace dpsc {

/// All rows, or those at increasing places, from 0. PRIVATE.
struct row_positions {
  bool all = true;
  std::vector<Eigen::Index> at;

  /// Places from `before` on, counted from there: what a part of the rows is asked for, which
  /// ignores what lies behind its end.
  row_positions from(Eigen::Index before) const {
    row_positions out{all, {}};
    for (auto i = first(before); i != at.end(); ++i) out.at.push_back(*i - before);
    return out;
  }

  /// Places in [before, before + rows), counted from `before`.
  std::vector<Eigen::Index> within(Eigen::Index before, Eigen::Index rows) const {
    std::vector<Eigen::Index> out;
    for (auto i = first(before); i != at.end() && *i < before + rows; ++i)
      out.push_back(*i - before);
    return out;
  }

 private:
  std::vector<Eigen::Index>::const_iterator first(Eigen::Index before) const {
    return std::lower_bound(at.begin(), at.end(), before);
  }
};

}  // namespace dpsc
