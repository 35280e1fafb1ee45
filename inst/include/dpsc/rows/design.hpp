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

/// A variable as rows hold it. PUBLIC. Indicators are 0 or 1 and are not located.
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

/// What regressors are made of; the response is the last variable. PUBLIC.
struct lm_design {
  std::vector<lm_variable> variables;
  std::vector<lm_column> columns;
  bool weighted = false;  // a last column holds case weights over the largest

  Eigen::Index table_columns() const {
    return static_cast<Eigen::Index>(variables.size()) + (weighted ? 1 : 0);
  }
  Eigen::Index p() const { return static_cast<Eigen::Index>(columns.size()); }
  std::size_t response() const { return variables.size() - 1; }

  /// Is column k 0 or 1, by its bounds?
  bool of_indicators(Eigen::Index k) const {
    const std::vector<int>& own = columns[static_cast<std::size_t>(k)].variables;
    return std::all_of(own.begin(), own.end(),
                       [this](int j) { return variables[static_cast<std::size_t>(j)].indicator; });
  }

  std::vector<std::size_t> located() const {
    std::vector<std::size_t> out;
    for (std::size_t j = 0; j < variables.size(); ++j)
      if (!variables[j].indicator) out.push_back(j);
    return out;
  }

  void check() const {
    if (variables.size() < 2 || columns.empty())
      throw std::invalid_argument("a regression needs a response and a regressor");
    for (const lm_variable& v : variables)
      if (!(std::isfinite(v.centre) && std::isfinite(v.half) && v.half > 0.0))
        throw std::invalid_argument("bounds must be finite");
    for (const lm_column& column : columns) {
      if (column.variables.empty() || column.variables.size() != column.powers.size())
        throw std::invalid_argument("a column needs variables and powers");
      for (std::size_t a = 0; a < column.variables.size(); ++a)
        if (column.variables[a] < 0 || column.powers[a] < 1 ||
            static_cast<std::size_t>(column.variables[a]) >= response())
          throw std::invalid_argument("a column names a variable that is not there");
    }
  }
};

/// Medians and scales in half-widths from the middle of the bounds. RELEASED, or 0 and 1.
struct lm_location {
  Eigen::VectorXd median, scale;
};

/// Standardised values are cut here before they are multiplied.
constexpr double widest_factor = 8.0;

/// Values of variables on the grid of row_bits, a block at a time, and how much each row is
/// present: 1, or the root of its case weight over the largest. A row that holds anything not
/// finite is missing: all zeros, and 0.
class lm_reader {
 public:
  static constexpr Eigen::Index block_rows = 1024;

  explicit lm_reader(const lm_design& design) : design_(design) {
    design.check();
    require_exact_rounding();
  }

  template <typename Visit>
  void pass(const row_source& source, Visit&& visit) {
    source.pass([&](const table_view& table) {
      if (table.columns != design_.table_columns())
        throw std::invalid_argument("the table does not fit the design");
      for (Eigen::Index first = 0; first < table.rows; first += block_rows) {
        read(table, first, std::min(block_rows, table.rows - first));
        visit(grid_, present_);
      }
    });
  }

 private:
  void read(const table_view& table, Eigen::Index first, Eigen::Index rows) {
    if (!table.reals) throw std::invalid_argument("rows of a regression must be doubles");
    const double one = std::ldexp(1.0, row_bits);
    const auto variables = static_cast<Eigen::Index>(design_.variables.size());
    grid_.resize(rows, variables);
    present_ = Eigen::ArrayXd::Ones(rows);
    bool whole = true;
    for (Eigen::Index j = 0; j < table.columns; ++j) {
      const Eigen::Map<const Eigen::ArrayXd> x(table.reals + j * table.rows + first, rows);
      if ((x * 0.0).sum() == 0.0) continue;  // all finite
      whole = false;
      present_ = ((x * 0.0) == 0.0).select(present_, 0.0);  // infinite or not a number: missing
    }
    for (Eigen::Index j = 0; j < variables; ++j) {
      const lm_variable& v = design_.variables[static_cast<std::size_t>(j)];
      const Eigen::Map<const Eigen::ArrayXd> x(table.reals + j * table.rows + first, rows);
      if (whole) {
        scaled_ = ((x - v.centre) / v.half).max(-1.0).min(1.0) * one;
      } else {
        scaled_ = (present_ > 0.0).select(x, v.centre);
        scaled_ = ((scaled_ - v.centre) / v.half).max(-1.0).min(1.0) * (present_ * one);
      }
      grid_.col(j).array() = nearest_integer(scaled_);
    }
    if (!design_.weighted) return;
    const Eigen::Map<const Eigen::ArrayXd> weight(table.reals + variables * table.rows + first,
                                                  rows);
    present_ = (present_ > 0.0).select(weight, 0.0).max(0.0).min(1.0).sqrt();
  }

  const lm_design& design_;
  Eigen::MatrixXd grid_;
  Eigen::ArrayXd present_, scaled_;
};

/// Columns of the model on the grid: integers of at most 2^row_bits, with gain and offset to
/// standardised units. The response is the last column.
class lm_columns {
 public:
  lm_columns(const lm_design& design, const lm_location& location)
      : design_(design), location_(location) {
    const Eigen::Index p = design.p();
    gain_.resize(p + 1);
    offset_.resize(p + 1);
    for (Eigen::Index k = 0; k <= p; ++k) {
      if (const int j = variable_of(k); j >= 0) {
        gain_[k] = 1.0 / location.scale[j];
        offset_[k] = -location.median[j] / location.scale[j];
      } else {
        gain_[k] = largest(design.columns[static_cast<std::size_t>(k)]);
        offset_[k] = 0.0;
      }
    }
  }

  const Eigen::VectorXd& gain() const { return gain_; }
  const Eigen::VectorXd& offset() const { return offset_; }

  /// Whole numbers from whole numbers, row by row.
  const Eigen::MatrixXd& columns(const Eigen::MatrixXd& grid) {
    const Eigen::Index p = design_.p();
    out_.resize(grid.rows(), p + 1);
    for (Eigen::Index k = 0; k <= p; ++k) {
      if (const int j = variable_of(k); j >= 0) {
        out_.col(k) = grid.col(j);
        continue;
      }
      const lm_column& column = design_.columns[static_cast<std::size_t>(k)];
      const double one = std::ldexp(1.0, row_bits), scale = one / gain_[k];
      for (Eigen::Index i = 0; i < grid.rows(); ++i) {
        double value = 1.0;
        for (std::size_t a = 0; a < column.variables.size(); ++a) {
          const double t = factor(column.variables[a], grid(i, column.variables[a]));
          for (int power = 0; power < column.powers[a]; ++power) value *= t;
        }
        out_(i, k) = std::min(one, std::max(-one, value * scale));
      }
      out_.col(k).array() = nearest_integer(out_.col(k).array().eval());
    }
    return out_;
  }

 private:
  /// The variable that a column is, or -1.
  int variable_of(Eigen::Index k) const {
    if (k == design_.p()) return static_cast<int>(design_.response());
    const lm_column& column = design_.columns[static_cast<std::size_t>(k)];
    return column.is_variable() ? column.variables[0] : -1;
  }

  /// In a product: 0 or 1, or standardised and cut.
  double factor(int j, double grid) const {
    const double x = std::ldexp(grid, -row_bits);
    if (design_.variables[static_cast<std::size_t>(j)].indicator) return (x + 1.0) / 2.0;
    const double t = (x - location_.median[j]) / location_.scale[j];
    return std::min(widest_factor, std::max(-widest_factor, t));
  }

  double largest(const lm_column& column) const {
    double out = 1.0;
    for (std::size_t a = 0; a < column.variables.size(); ++a) {
      const int j = column.variables[a];
      if (design_.variables[static_cast<std::size_t>(j)].indicator) continue;
      const double reach = (1.0 + std::fabs(location_.median[j])) / location_.scale[j];
      out *= std::pow(std::min(widest_factor, reach), column.powers[a]);
    }
    return out;
  }

  const lm_design& design_;
  const lm_location& location_;
  Eigen::VectorXd gain_, offset_;
  Eigen::MatrixXd out_;
};

}  // namespace dpsc
