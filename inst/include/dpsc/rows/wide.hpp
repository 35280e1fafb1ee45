// Products of blocks, in vectors as wide as the processor has, though the package is compiled for
// every processor of its kind. Those of whole numbers stay below 2^53 (row_map.hpp, sums.hpp): they
// are the same bits in any order, and with fused multiplication. Others keep to one order.
#pragma once

#include <Eigen/Core>

#include "row_map.hpp"

namespace dpsc {

/// Has this processor vectors of four doubles with fused multiplication (AVX2 and FMA), and has the
/// compiler a way to say so?
bool has_wide_vectors();

/// Adds z'z to the lower triangle. Whole numbers, whose sums are exact.
void add_whole_gram(const Eigen::MatrixXd& z, Eigen::MatrixXd& gram, bool wide);

/// round(q' loadings * rescale) - origin of every row q, for a map on the grid.
void map_whole_rows(const Eigen::MatrixXd& q, const row_map& map, Eigen::MatrixXd& out, bool wide);

/// Columns of a block that stand side by side.
constexpr Eigen::Index lanes = 8;

/// A matrix, row by row, times so many columns: `u` is cols x lanes and `y` rows x lanes, each row
/// by itself. Every lane is summed by the same steps, four columns of the matrix at a time,
/// whatever stands in the others: no number depends on its lane.
void multiply_lanes(const double* matrix, Eigen::Index rows, Eigen::Index cols, const double* u,
                    double* y, bool wide);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "wide.cpp"
#endif
