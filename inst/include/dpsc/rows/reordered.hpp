// The rows of another source with their columns in another order.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "source.hpp"

namespace dpsc {

/// Column j is column order[j] of the other source's rows, which are copied as they pass: for
/// passes over a few rows.
class reordered_source : public row_source {
 public:
  /// `before`, `after`: the grids (grid_id) on which a source may have put rows, and the same grids
  /// after the reordering.
  reordered_source(const row_source& source, std::vector<Eigen::Index> order, std::uint64_t before,
                   std::uint64_t after);

  void pass(const table_visitor& visit) const override;
  Eigen::Index rows_at(const row_positions& which, const table_visitor& visit) const override;

 private:
  void copy(const table_view& table, const table_visitor& visit) const;

  const row_source& source_;
  std::vector<Eigen::Index> order_;
  std::uint64_t before_, after_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "reordered.cpp"
#endif
