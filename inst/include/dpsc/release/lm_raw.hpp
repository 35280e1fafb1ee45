// A linear regression without privacy: least squares, and White's errors. NOT PRIVATE.
#pragma once

#include <Eigen/Core>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "../estimate/pooled.hpp"
#include "../rows/design.hpp"

namespace dpsc {

/// The columns, in their order, that are no linear combination of a constant and earlier ones.
std::vector<int> independent_columns(const Eigen::MatrixXd& covariance,
                                     const std::vector<int>& kept);

/// Ordinary least squares from mean and covariance (divisor `rows`) of raw columns and response.
/// A column that depends on earlier ones has slope 0 and is not identified.
lm_estimate estimate_raw(const Eigen::VectorXd& mean, const Eigen::MatrixXd& covariance,
                         double rows, const std::vector<int>& kept);

/// Rows of the person whose rows begin at i, and the number of them that count.
inline Eigen::Index raw_person(const table_view& table, const lm_design& design, Eigen::Index i,
                               double& count) {
  const Eigen::Index rows = design.person ? rows_of_person(table, i) : 1;
  count = 0.0;
  for (Eigen::Index k = i; k < i + rows; ++k) {
    bool counts = true;
    for (Eigen::Index j = 0; j < table.columns; ++j)
      counts = counts && std::isfinite(table.reals[j * table.rows + k]);
    if (design.weighted)
      counts = counts &&
               table.reals[static_cast<Eigen::Index>(design.variables.size()) * table.rows + k] > 0;
    count += counts;
  }
  return rows;
}

/// Raw columns and response of every row that counts, its weight (shared by a person's rows), and a
/// flag for a person's first row.
template <typename Visit>
void each_raw_row(const row_source& source, const lm_design& design, Visit&& visit) {
  const Eigen::Index p = design.p();
  Eigen::VectorXd x(p + 1);
  source.pass([&](const table_view& table) {
    if (table.columns != design.table_columns())
      throw std::invalid_argument("the table does not fit the design");
    Eigen::Index end = 0;
    double count = 0.0;
    bool first = true;
    for (Eigen::Index i = 0; i < table.rows; ++i) {
      if (i == end) {
        end += raw_person(table, design, i, count);
        first = true;
      }
      const auto value = [&](Eigen::Index j) { return table.reals[j * table.rows + i]; };
      bool whole = true;
      for (Eigen::Index j = 0; j < table.columns; ++j) whole = whole && std::isfinite(value(j));
      if (!whole) continue;
      for (Eigen::Index k = 0; k < p; ++k) {
        const lm_column& column = design.columns[static_cast<std::size_t>(k)];
        double product = 1.0;
        for (std::size_t a = 0; a < column.variables.size(); ++a)
          for (int power = 0; power < column.powers[a]; ++power)
            product *= value(column.variables[a]);
        x[k] = product;
      }
      x[p] = value(static_cast<Eigen::Index>(design.response()));
      const double weight =
          design.weighted ? value(static_cast<Eigen::Index>(design.variables.size())) : 1.0;
      if (!(weight > 0.0)) continue;
      visit(x, weight / count, first);
      first = false;
    }
  });
}

/// Mean and covariance of the raw columns, weighted, in two passes. NOT PRIVATE.
struct raw_columns {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double rows = 0.0, weight = 0.0;

  raw_columns(const row_source& source, const lm_design& design);
};

/// Heteroskedasticity-robust covariance of the full model's coefficients (White, 1980; MacKinnon
/// and White's HC1). NOT PRIVATE.
Eigen::MatrixXd raw_sandwich(const row_source& source, const lm_design& design,
                             const raw_columns& raw, const Eigen::VectorXd& coefficients);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "lm_raw.cpp"
#endif
