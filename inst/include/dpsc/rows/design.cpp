// Bodies of design.hpp.
#pragma once

#include "design.hpp"

namespace dpsc {

Eigen::Index lm_design::table_columns() const {
  return static_cast<Eigen::Index>(variables.size()) + (weighted ? 1 : 0) + (person ? 1 : 0);
}

bool lm_design::of_indicators(Eigen::Index k) const {
  const std::vector<int>& own = columns[static_cast<std::size_t>(k)].variables;
  return std::all_of(own.begin(), own.end(),
                     [this](int j) { return variables[static_cast<std::size_t>(j)].indicator; });
}

std::vector<std::size_t> lm_design::located() const {
  std::vector<std::size_t> out;
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (!variables[j].indicator) out.push_back(j);
  return out;
}

void lm_design::check() const {
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

lm_reader::lm_reader(const lm_design& design) : design_(design) {
  design.check();
  require_exact_rounding();
}

Eigen::Index rows_of_person(const table_view& table, Eigen::Index first) {
  const double* who = table.reals + (table.columns - 1) * table.rows;
  Eigen::Index rows = 1;
  while (first + rows < table.rows && who[first + rows] == who[first]) ++rows;
  return rows;
}

Eigen::Index lm_reader::rows_of_block(const table_view& table, Eigen::Index first) {
  if (!design_.person) return std::min(block_rows, table.rows - first);
  people_.clear();
  Eigen::Index rows = 0;
  while (rows < block_rows && first + rows < table.rows) {
    people_.push_back(rows_of_person(table, first + rows));
    rows += people_.back();
  }
  return rows;
}

void lm_reader::read(const table_view& table, Eigen::Index first, Eigen::Index rows) {
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
  const Eigen::Map<const Eigen::ArrayXd> weight(table.reals + variables * table.rows + first, rows);
  present_ = (present_ > 0.0).select(weight, 0.0).max(0.0).min(1.0).sqrt();
}

lm_columns::lm_columns(const lm_design& design, const lm_location& location)
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

const Eigen::MatrixXd& lm_columns::columns(const Eigen::MatrixXd& grid) {
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

int lm_columns::variable_of(Eigen::Index k) const {
  if (k == design_.p()) return static_cast<int>(design_.response());
  const lm_column& column = design_.columns[static_cast<std::size_t>(k)];
  return column.is_variable() ? column.variables[0] : -1;
}

double lm_columns::factor(int j, double grid) const {
  const double x = std::ldexp(grid, -row_bits);
  if (design_.variables[static_cast<std::size_t>(j)].indicator) return (x + 1.0) / 2.0;
  const double t = (x - location_.median[j]) / location_.scale[j];
  return std::min(widest_factor, std::max(-widest_factor, t));
}

double lm_columns::largest(const lm_column& column) const {
  double out = 1.0;
  for (std::size_t a = 0; a < column.variables.size(); ++a) {
    const int j = column.variables[a];
    if (design_.variables[static_cast<std::size_t>(j)].indicator) continue;
    const double reach = (1.0 + std::fabs(location_.median[j])) / location_.scale[j];
    out *= std::pow(std::min(widest_factor, reach), column.powers[a]);
  }
  return out;
}

}  // namespace dpsc
