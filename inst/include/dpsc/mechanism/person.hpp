// Several rows of one person: each step takes the mean of the rows' contributions, rounded once per
// person so that every step costs as much as with one row per person. Proof: inst/proofs/person.md.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../rows/people.hpp"

namespace dpsc {

inline int bits_of_shares(const lm_design& design) { return design.person ? share_bits : 0; }

/// Adds one person: for each cell, floor(units times the cumulative share) minus the same for the
/// cells before. These integers add up to `units`, a whole number, and depend on the shares only.
/// Sorts the cells.
template <typename Counts>
void add_person_shares(std::vector<Eigen::Index>& cells, Counts&& counts,
                       double units = std::ldexp(1.0, share_bits)) {
  std::sort(cells.begin(), cells.end());
  const auto parts = [&](std::size_t rows) {
    return std::floor(units * static_cast<double>(rows) / static_cast<double>(cells.size()));
  };
  for (std::size_t i = 0; i < cells.size(); ++i) counts(cells[i]) += parts(i + 1) - parts(i);
}

/// Adds all people of a block, with present rows by `cell(row)`; people without a present row add
/// nothing.
template <typename Cell, typename Counts>
void add_shares(const people_block& block, Cell&& cell, Counts&& counts) {
  std::vector<Eigen::Index> cells;
  Eigen::Index first = 0;
  for (const Eigen::Index rows : block.people) {
    cells.clear();
    for (Eigen::Index i = first; i < first + rows; ++i)
      if (block.present[i] > 0.0) cells.push_back(cell(i));
    add_person_shares(cells, counts);
    first += rows;
  }
}

/// Adds people by `cell(row)`: as whole people if each has one row, else in shares. An absent row
/// belongs to the first cell.
template <typename Cell>
void count_people(const people_block& block, std::vector<std::int64_t>& counts,
                  const lm_design& design, Cell&& cell) {
  if (!design.person) {
    for (Eigen::Index i = 0; i < block.grid.rows(); ++i)
      ++counts[block.present[i] > 0.0 ? static_cast<std::size_t>(cell(i)) : 0];
    return;
  }
  Eigen::ArrayXd found = Eigen::ArrayXd::Zero(static_cast<Eigen::Index>(counts.size()));
  add_shares(block, cell, found);
  for (std::size_t k = 0; k < counts.size(); ++k)
    counts[k] += static_cast<std::int64_t>(found[static_cast<Eigen::Index>(k)]);
}

/// Number of rows of each row's person: the divisor of weights.
Eigen::VectorXd rows_there(const people_block& block);

/// Adds the mean of u u' over each person's present rows. A non-integer mean is rounded, after
/// shrinkage by the possible effect of rounding on a distance.
class mean_outer {
 public:
  /// `bound`: |u|^2 at most, d entries.
  mean_outer(double bound, Eigen::Index d);

  /// Factor of a mean before it is rounded.
  static double keep(double bound, Eigen::Index d);

  /// Absent rows are zero in u.
  void add(const Eigen::MatrixXd& u, const people_block& block, Eigen::MatrixXd& sums);

 private:
  double keep_;
  Eigen::MatrixXd mean_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "person.cpp"
#endif
