// Round numbers among the cells of a grid: public candidates that a private choice favours, since
// people's values are often round. Proof: inst/proofs/describe.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpsc {

/// A grid of `cells` points between two bounds, the bounds among them; point k of it gathers the
/// 2^drop points of a finer grid around it. PUBLIC.
struct place_grid {
  double lower = 0.0, upper = 1.0;
  std::size_t fine = 1;  // the last point of the fine grid
  int drop = 0;

  std::size_t cells() const { return (fine >> drop) + 1; }
  std::size_t fine_of(double x) const;
  std::size_t cell_of(double x) const { return cell_of_fine(fine_of(x)); }
  std::size_t cell_of_fine(std::size_t point) const {
    return (point + (drop > 0 ? std::size_t{1} << (drop - 1) : 0)) >> drop;
  }
  double width() const { return (upper - lower) / static_cast<double>(fine >> drop); }
};

/// The number that stands for each cell, and how often the cell is listed as a candidate.
struct round_points {
  std::vector<double> value;  // the roundest number in the cell, or its middle
  std::vector<std::uint32_t> copies;
};

round_points round_points_of(const place_grid& grid);

/// The largest power of ten of which `x` is a multiple, among the powers that the grid's cells
/// distinguish, and infinity for 0; 0 if there is none.
double step_of(const place_grid& grid, double x);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "round_points.cpp"
#endif
