// Bodies of round_points.hpp.
#pragma once

#include "round_points.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dpsc {

namespace round_detail {

/// Cells per round number at least, so that its cell differs from its neighbours.
constexpr double apart = 4.0;
/// Copies of one cell at most, and of all multiples of all powers of ten, as shares of all cells.
constexpr double most = 1.0 / 256.0, mass = 0.1;

/// Multiples of a power of ten between the bounds.
struct decimal_level {
  int power = 0;
  double first = 0.0, last = 0.0;

  double times(double j) const {
    return power < 0 ? j / std::pow(10.0, -power) : j * std::pow(10.0, power);
  }
  double over(double x) const {
    return power < 0 ? x * std::pow(10.0, -power) : x / std::pow(10.0, power);
  }
  double points() const { return last - first + 1.0; }
};

/// From the coarsest power of ten to the finest power that the cells distinguish.
inline std::vector<decimal_level> levels_of(const place_grid& grid) {
  std::vector<decimal_level> out;
  const double far = std::max(std::fabs(grid.lower), std::fabs(grid.upper));
  const auto cells = static_cast<double>(grid.cells());
  for (int power = static_cast<int>(std::floor(std::log10(far))); power > -300; --power) {
    decimal_level level{power, 0.0, 0.0};
    level.first = std::ceil(level.over(grid.lower));
    level.last = std::floor(level.over(grid.upper));
    if (level.points() > cells / apart) break;
    if (level.points() >= 1.0) out.push_back(level);
  }
  return out;
}

}  // namespace round_detail

std::size_t place_grid::fine_of(double x) const {
  return static_cast<std::size_t>(
      std::nearbyint((x - lower) / (upper - lower) * static_cast<double>(fine)));
}

round_points round_points_of(const place_grid& grid) {
  using namespace round_detail;
  const std::size_t cells = grid.cells();
  const auto count = static_cast<double>(cells);
  round_points out;
  out.copies.assign(cells, 1);
  for (std::size_t k = 0; k < cells; ++k)
    out.value.push_back(grid.lower + (grid.upper - grid.lower) * static_cast<double>(k) /
                                         static_cast<double>(cells - 1));
  const auto favour = [&](double x, double copies) {
    const std::size_t cell = grid.cell_of(x);
    if (out.copies[cell] > 1) return;
    out.value[cell] = x;
    out.copies[cell] = 1 + static_cast<std::uint32_t>(std::min(copies, most * count));
  };
  for (double x : {0.0, grid.lower, grid.upper})
    if (x >= grid.lower && x <= grid.upper) favour(x, count);
  const std::vector<decimal_level> levels = levels_of(grid);
  const double each = mass * count / static_cast<double>(std::max<std::size_t>(1, levels.size()));
  for (const decimal_level& level : levels)
    for (double i = 0.0; i < level.points(); i += 1.0)  // first + 1 may equal first
      favour(level.times(level.first + i), each / level.points());
  return out;
}

double step_of(const place_grid& grid, double x) {
  using namespace round_detail;
  if (x == 0.0) return std::numeric_limits<double>::infinity();
  for (const decimal_level& level : levels_of(grid))
    if (level.times(std::nearbyint(level.over(x))) == x) return level.times(1.0);
  return 0.0;
}

}  // namespace dpsc
