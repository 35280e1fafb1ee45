// Private medians and scales of variables, from counts. Proof: inst/proofs/regression.md,
// section 2.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../rows/people.hpp"
#include "moments.hpp"
#include "person.hpp"

namespace dpsc {

/// Losses of the cells of a histogram as candidates for the median: 0 for the cell that contains
/// it.
///
/// loss = max(2 below - n, n - 2 upto, 0), an integer for every n. A missing row counts one half
/// below and up to every cell. Replacing a row changes `below` and `upto` by at most one: losses
/// change by two, up on one side of the median and down on the other.
std::vector<std::int64_t> median_losses(const std::vector<std::int64_t>& counts,
                                        std::int64_t missing);

/// Public constants of the location draws.
struct location_plan {
  bool made = false;
  double n = 0.0;
  double exponent = 0.0;  // x: the cost of a loss of two
  int cell_bits = 0;      // 2^bits cells per variable
  // Public price of a smaller scale per step, as a share of n: with few distinct values most radii
  // contain the same people, and a scale far below the gap between two values is useless.
  double scale_price = 0.0;
  std::vector<double> radii;
  std::vector<step_record> records;  // median and scale of every located variable
};

/// That price where columns of few values are usual, of n per step.
constexpr double few_values_price = 0.02;

constexpr int location_shift = 20;

/// If n exponent / 2 is smaller, draws do not find the median's cell.
constexpr double least_location = 9.7;

/// The largest probability of a wrong cell, and the larger one that is allowed for up to 2^few_bits
/// cells.
constexpr double wrong_cell = 1e-3, wrong_of_few = 0.03, few_bits = 6.0;

/// The smallest radius of a variable with bounds 0 and 1, in halves of their width: eight scales
/// contain both bounds. From `sure_bits` on wrong draws are rare.
constexpr double narrow_of_unit = 0.17;
constexpr int sure_bits = 10;

/// Target value of n exponent / 2.
constexpr double wanted_location = 12.0;

/// Exponent of a location draw: its log ratios have a range of twice this value.
double location_exponent(const total_budget& budget, double share);

/// A plan of draws with a given exponent and no budget: its records contain labels only.
location_plan plan_location(double exponent, double n, const std::vector<std::string>& names,
                            double least = least_location, int scale_bits = 0);

/// `share` is one draw's share. Nothing is drawn if n exponent / 2 is below `least`; if cells are
/// wider than 2^-`scale_bits` of the bounds, scales still go down to this size.
location_plan plan_location(const total_budget& budget, double share, double n,
                            const std::vector<std::string>& names, double least = least_location,
                            int scale_bits = 0);

/// Counts people in the cells of each located variable; a missing row is in none. `Own` gives the
/// cell of a value.
template <typename Own>
class located_counts {
 public:
  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& counts) const;

  /// The same, where a person's rows share one count.
  void people(const people_block& block, Eigen::MatrixXd& counts) const;

 protected:
  explicit located_counts(std::vector<std::size_t> which) : which_(std::move(which)) {}

  std::vector<std::size_t> which_;

 private:
  /// The cell of the value at row i of located variable v.
  Eigen::Index cell(const Eigen::MatrixXd& grid, Eigen::Index i, std::size_t v) const {
    return static_cast<const Own&>(*this).place(grid(i, static_cast<Eigen::Index>(which_[v])), v);
  }
};

/// Cells of equal width.
class median_counts : public located_counts<median_counts> {
 public:
  explicit median_counts(const people_question& question);

  /// The cell of a value of located variable v.
  Eigen::Index place(double x, std::size_t v) const;

 private:
  double width_;
  std::size_t last_;
};

/// Cells by the distance from the middle: the first limit that is not smaller, or the last.
class scale_counts : public located_counts<scale_counts> {
 public:
  explicit scale_counts(const people_question& question);

  /// The cell of a value of located variable v.
  Eigen::Index place(double x, std::size_t v) const;

 private:
  std::vector<double> middle_;
  const std::vector<double>& limits_;
  std::vector<std::size_t> begin_;
};

/// Draws the cell of variable v. Counts are in units of 2^-bits of a person.
std::size_t choose_cell(const people_sums& found, std::size_t v, int bits, double exponent,
                        const std::string& label, noise& draws, std::int64_t price = 0,
                        std::int64_t most = 0);

/// Median of the absolute standard normal: scales are in units of a normal standard deviation.
constexpr double normal_mad = 0.6744897501960817;

/// Medians and scales of all located variables; two passes.
lm_location release_location(const row_source& source, const lm_design& design,
                             const location_plan& plan, noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "location.cpp"
#endif
