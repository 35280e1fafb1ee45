// Private medians and scales of variables, from counts. Proof: inst/proofs/regression.md,
// section 2.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../rows/design.hpp"
#include "moments.hpp"

namespace dpsc {

/// Losses of the cells of a histogram as places of the median: 0 for the cell that holds it.
///
/// loss = max(2 below - n, n - 2 upto, 0), whole for every n. A missing row counts one half below
/// and up to every cell. Replacing a row moves below and upto by one at most: losses move by two,
/// up on one side of the median and down on the other.
inline std::vector<std::int64_t> median_losses(const std::vector<std::int64_t>& counts,
                                               std::int64_t missing) {
  std::int64_t n = missing;
  for (std::int64_t count : counts) n += count;
  std::vector<std::int64_t> out;
  std::int64_t twice_below = missing;
  for (std::int64_t count : counts) {
    const std::int64_t twice_upto = twice_below + 2 * count;
    out.push_back(std::max<std::int64_t>({twice_below - n, n - twice_upto, 0}));
    twice_below = twice_upto;
  }
  return out;
}

/// Public constants of the location draws.
struct location_plan {
  bool made = false;
  double n = 0.0;
  double exponent = 0.0;  // x: a loss of two costs it
  int cell_bits = 0;      // 2^bits cells a variable
  // Public price of a smaller scale, a step, as a share of n: where few values are taken most radii
  // hold the same people, and a scale far below the gap between two values serves nobody.
  double scale_price = 0.0;
  std::vector<double> radii;
  std::vector<step_record> records;  // median and scale of every located variable
};

constexpr int location_shift = 20;

/// Where n exponent / 2 is smaller, the median's cell is not found.
constexpr double least_location = 9.7;

/// What n exponent / 2 is aimed at.
constexpr double wanted_location = 12.0;

/// Exponent of a location draw: its log-ratios have a range of twice that.
inline double location_exponent(const total_budget& budget, double share) {
  return budget.exponent(share) / 2.0;
}

/// `share` is that of one draw.
inline location_plan plan_location(const total_budget& budget, double share, double n,
                                   const std::vector<std::string>& names) {
  location_plan out;
  out.n = n;
  out.exponent = location_exponent(budget, share);
  const double h = out.exponent * n / 2.0;
  if (names.empty() || !(h >= least_location)) return out;
  out.made = true;
  // A wrong cell far off is drawn with a chance of about cells exp(-h).
  const double bits = std::floor((h + std::log(1e-3)) / std::log(2.0));
  out.cell_bits = static_cast<int>(std::min(13.0, std::max(3.0, bits)));
  const double finest = std::max(std::ldexp(1.0, -out.cell_bits), std::ldexp(1.0, -10));
  for (double r = 2.0; r >= finest * 0.999; r *= std::pow(2.0, -0.25))
    out.radii.insert(out.radii.begin(), r);
  for (const char* what : {"median of ", "scale of "})
    for (const std::string& name : names) {
      step_record record = budget.choice_record(what + name, 2.0 * out.exponent);
      record.sensitivity = 2.0;
      record.scale = 1.0 / out.exponent;
      out.records.push_back(record);
    }
  return out;
}

/// Counts of values in cells, for several variables at once; a missing row is in none.
class location_counts {
 public:
  location_counts(std::size_t variables, std::size_t cells)
      : counts_(variables, std::vector<std::int64_t>(cells, 0)) {}

  template <typename Cell>
  void add(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
           const std::vector<std::size_t>& which, const Cell& cell) {
    for (Eigen::Index i = 0; i < grid.rows(); ++i)
      if (!(present[i] > 0.0)) ++missing_;
    for (std::size_t v = 0; v < which.size(); ++v)
      for (Eigen::Index i = 0; i < grid.rows(); ++i)
        if (present[i] > 0.0) ++counts_[v][cell(v, grid(i, static_cast<Eigen::Index>(which[v])))];
  }

  /// `price`: whole rows that a step down costs, up to `most`.
  std::size_t choose(std::size_t v, double exponent, const std::string& label, noise& draws,
                     std::int64_t price = 0, std::int64_t most = 0) const {
    private_choice choice;
    choice.losses = median_losses(counts_[v], missing_);
    const std::size_t last = choice.losses.size() - 1;
    for (std::size_t k = 0; k < last; ++k)
      choice.losses[k] += std::min(most, price * static_cast<std::int64_t>(last - k));
    choice.units = exponent_units(exponent / 2.0, location_shift);
    choice.shift = location_shift;
    return draws.choose(label, choice);
  }

 private:
  std::vector<std::vector<std::int64_t>> counts_;
  std::int64_t missing_ = 0;
};

/// Quartile of the absolute standard normal: scales are those of a normal.
constexpr double normal_mad = 0.6744897501960817;

/// Medians and scales of all located variables; two passes.
inline lm_location release_location(const row_source& source, const lm_design& design,
                                    const location_plan& plan, noise& draws, const ticker& tick) {
  const auto count = static_cast<Eigen::Index>(design.variables.size());
  lm_location out{Eigen::VectorXd::Zero(count), Eigen::VectorXd::Ones(count)};
  if (!plan.made) return out;
  const std::vector<std::size_t> which = design.located();
  const double one = std::ldexp(1.0, row_bits);
  lm_reader reader(design);

  const std::size_t cells = std::size_t{1} << plan.cell_bits;
  const double per_cell = std::ldexp(1.0, row_bits + 1 - plan.cell_bits);
  location_counts medians(which.size(), cells);
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    medians.add(grid, present, which, [&](std::size_t, double x) {
      return std::min(cells - 1, static_cast<std::size_t>((x + one) / per_cell));
    });
    tick(static_cast<double>(grid.size()) * 8.0);
  });
  for (std::size_t v = 0; v < which.size(); ++v) {
    const std::size_t k = medians.choose(v, plan.exponent, plan.records[v].label, draws);
    out.median[static_cast<Eigen::Index>(which[v])] =
        (static_cast<double>(k) + 0.5) * per_cell / one - 1.0;
  }

  std::vector<double> radii;
  for (double r : plan.radii) radii.push_back(std::floor(r * one));
  location_counts scales(which.size(), radii.size());
  std::vector<double> middle;
  for (std::size_t j : which)
    middle.push_back(std::nearbyint(out.median[static_cast<Eigen::Index>(j)] * one));
  // The first radius that is not below a multiple of 2^9: where the search begins.
  std::vector<std::size_t> begin((std::size_t{1} << (row_bits + 1 - 9)) + 1);
  for (std::size_t k = 0; k < begin.size(); ++k)
    begin[k] = static_cast<std::size_t>(
        std::lower_bound(radii.begin(), radii.end(), static_cast<double>(k << 9)) - radii.begin());
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    scales.add(grid, present, which, [&](std::size_t v, double x) {
      const double far = std::fabs(x - middle[v]);
      std::size_t k = begin[static_cast<std::size_t>(far) >> 9];
      while (k + 1 < radii.size() && radii[k] < far) ++k;
      return std::min(radii.size() - 1, k);
    });
    tick(static_cast<double>(grid.size()) * 16.0);
  });
  const auto price = static_cast<std::int64_t>(std::floor(plan.scale_price * plan.n));
  const auto most = static_cast<std::int64_t>(std::floor(plan.n / 2.0));
  for (std::size_t v = 0; v < which.size(); ++v) {
    const std::size_t k =
        scales.choose(v, plan.exponent, plan.records[which.size() + v].label, draws, price, most);
    // At the finest radius half of the people share one value: the bounds are the better scale.
    out.scale[static_cast<Eigen::Index>(which[v])] = k == 0 ? 0.5 : plan.radii[k] / normal_mad;
  }
  return out;
}

}  // namespace dpsc
