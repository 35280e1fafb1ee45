// Products of blocks, in the processor's widest vectors, although the package is compiled for every
// processor of its family. Integer products stay below 2^53 (row_map.hpp, sums.hpp): sums of them
// have the same bits in any order, and with fused multiplication. Other products are summed in a
// fixed order.
#pragma once

#include <Eigen/Core>

#include "row_map.hpp"

namespace dpsc {

/// Do the processor and the compiler support vectors of four doubles with fused multiplication
/// (AVX2 and FMA)?
bool has_wide_vectors();

/// Adds z'z to the lower triangle: integers, whose sums are exact.
void add_whole_gram(const Eigen::MatrixXd& z, Eigen::MatrixXd& gram, bool wide);

/// round(q' loadings * rescale) - origin of every row q, for a map on the grid.
void map_whole_rows(const Eigen::MatrixXd& q, const row_map& map, Eigen::MatrixXd& out, bool wide);

/// The number of columns of a block side by side.
constexpr Eigen::Index lanes = 8;

/// A matrix, row by row, times several columns: `u` is cols x lanes and `y` rows x lanes. Every
/// lane is summed by the same steps, four columns of the matrix at a time, independent of the other
/// lanes: no result depends on its lane.
void multiply_lanes(const double* matrix, Eigen::Index rows, Eigen::Index cols, const double* u,
                    double* y, bool wide);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "wide.cpp"
#endif
