// Bodies of reordered.hpp.
#pragma once

#include "reordered.hpp"

namespace dpsc {

reordered_source::reordered_source(const row_source& source, std::vector<Eigen::Index> order,
                                   std::uint64_t before, std::uint64_t after)
    : source_(source), order_(std::move(order)), before_(before), after_(after) {}

void reordered_source::pass(const table_visitor& visit) const {
  source_.pass([&](const table_view& table) { copy(table, visit); });
}

Eigen::Index reordered_source::rows_at(const row_positions& which,
                                       const table_visitor& visit) const {
  return source_.rows_at(which, [&](const table_view& table) { copy(table, visit); });
}

void reordered_source::copy(const table_view& table, const table_visitor& visit) const {
  if (table.columns != static_cast<Eigen::Index>(order_.size()))
    throw std::invalid_argument("the table does not fit the order of its columns");
  if (table.grid != 0 && table.grid != before_)
    throw std::invalid_argument("the rows were put on another grid");
  table_view moved = table;
  if (table.grid != 0) moved.grid = after_;
  const auto pick = [&](const auto* values, auto& kept) {
    kept.reserve(static_cast<std::size_t>(table.rows * table.columns));
    for (const Eigen::Index t : order_)
      kept.insert(kept.end(), values + t * table.rows, values + (t + 1) * table.rows);
    return kept.data();
  };
  std::vector<double> reals;
  std::vector<int> integers;
  if (table.reals)
    moved.reals = pick(table.reals, reals);
  else
    moved.integers = pick(table.integers, integers);
  visit(moved);
}

}  // namespace dpsc
