// Columns of a regression from people's rows: clipped to public bounds, standardised by released
// medians and scales, multiplied where the formula has powers and products. All integers.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "row_map.hpp"
#include "source.hpp"

namespace dpsc {

/// A variable in the rows. PUBLIC. Indicators are 0 or 1 and are not located.
struct lm_variable {
  double centre;  // middle of the bounds
  double half;    // half of their width
  bool indicator;
};

/// A column of the model: a product of powers of variables. PUBLIC.
struct lm_column {
  std::vector<int> variables;
  std::vector<int> powers;

  bool is_variable() const { return variables.size() == 1 && powers[0] == 1; }
};

/// Variables of the regressors; the response is the last one. PUBLIC.
struct lm_design {
  std::vector<lm_variable> variables;
  std::vector<lm_column> columns;
  bool weighted = false;  // a column after the variables holds case weights over the largest
  bool person = false;    // the last column numbers people; rows of one person are adjacent

  Eigen::Index table_columns() const;
  Eigen::Index p() const { return static_cast<Eigen::Index>(columns.size()); }
  std::size_t response() const { return variables.size() - 1; }

  /// Is column k 0 or 1, by its bounds?
  bool of_indicators(Eigen::Index k) const;

  std::vector<std::size_t> located() const;

  void check() const;
};

/// Medians and scales in half-widths from the middle of the bounds. RELEASED, or 0 and 1.
struct lm_location {
  Eigen::VectorXd median, scale;
};

/// Standardised values are clipped here before they are multiplied.
constexpr double widest_factor = 8.0;

/// Values of variables on the grid of row_bits, a block at a time, and each row's presence: 1, or
/// the root of its case weight over the largest. A row with a non-finite value is missing: all
/// zeros, with presence 0.
class lm_reader {
 public:
  static constexpr Eigen::Index block_rows = 1024;

  explicit lm_reader(const lm_design& design);

  template <typename Visit>
  void pass(const row_source& source, Visit&& visit) {
    source.pass([&](const table_view& table) {
      if (table.columns != design_.table_columns())
        throw std::invalid_argument("the table does not fit the design");
      for (Eigen::Index first = 0, rows = 0; first < table.rows; first += rows) {
        rows = rows_of_block(table, first);
        read(table, first, rows);
        visit(grid_, present_);
      }
    });
  }

  /// Each person's number of rows in the block, if the design numbers people: then a block contains
  /// whole people, and a person with more rows than a block is one block.
  const std::vector<Eigen::Index>& people() const { return people_; }

 private:
  Eigen::Index rows_of_block(const table_view& table, Eigen::Index first);
  void read(const table_view& table, Eigen::Index first, Eigen::Index rows);

  const lm_design& design_;
  Eigen::MatrixXd grid_;
  Eigen::ArrayXd present_, scaled_;
  std::vector<Eigen::Index> people_;
};

/// Rows of the person whose rows begin at `first`: the last column identifies the person.
Eigen::Index rows_of_person(const table_view& table, Eigen::Index first);

/// Columns of the model on the grid: integers of at most 2^row_bits, with gain and offset to
/// standardised units. The response is the last column.
class lm_columns {
 public:
  lm_columns(const lm_design& design, const lm_location& location);

  const Eigen::VectorXd& gain() const { return gain_; }
  const Eigen::VectorXd& offset() const { return offset_; }

  /// Integers from integers, row by row.
  const Eigen::MatrixXd& columns(const Eigen::MatrixXd& grid);

 private:
  /// The variable of a column, or -1.
  int variable_of(Eigen::Index k) const;

  /// In a product: 0 or 1, or standardised and clipped.
  double factor(int j, double grid) const;

  double largest(const lm_column& column) const;

  const lm_design& design_;
  const lm_location& location_;
  Eigen::VectorXd gain_, offset_;
  Eigen::MatrixXd out_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "design.cpp"
#endif
