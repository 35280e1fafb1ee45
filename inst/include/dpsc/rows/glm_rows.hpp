// Rows of a generalised linear model in released coordinates: xi = (1, w), a weight that bounds the
// effect of one row, and the outcome. Proof: inst/proofs/glm.md, section 1.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace dpsc {

/// n rows as integers times `unit`; a missing row has weight zero. PRIVATE.
struct glm_rows {
  double unit = 1.0;
  double limit = 0.0;  // R of the proof: weight |xi| <= R and weight |xi|^2 <= R^2
  std::vector<Eigen::MatrixXi> blocks;
  std::vector<Eigen::VectorXd> weight, outcome;
  // Known parts of linear predictors; empty if there are none.
  std::vector<Eigen::VectorXd> offset;
  // For people with several rows: each person's number of rows, and weights before division by it.
  std::vector<std::vector<Eigen::Index>> people;
  std::vector<Eigen::VectorXd> whole;
  Eigen::Index p = 0, n = 0;

  Eigen::Index d() const { return p + 1; }

  double offset_of(std::size_t b, Eigen::Index i) const {
    return offset.empty() ? 0.0 : offset[b][i];
  }

  /// Adds the known parts to linear predictors of block b.
  void add_offset(std::size_t b, Eigen::VectorXd& t) const {
    if (!offset.empty()) t += offset[b];
  }

  /// Rows of block b, the intercept first.
  void design(std::size_t b, Eigen::MatrixXd& out) const {
    const Eigen::MatrixXi& block = blocks[b];
    out.resize(block.rows(), d());
    out.col(0).setOnes();
    for (Eigen::Index j = 0; j < p; ++j) out.col(j + 1) = block.col(j).cast<double>() * unit;
  }
};

/// Sums over each person's rows.
inline Eigen::MatrixXd sums_of_people(const Eigen::MatrixXd& x,
                                      const std::vector<Eigen::Index>& people) {
  Eigen::MatrixXd out(static_cast<Eigen::Index>(people.size()), x.cols());
  Eigen::Index first = 0;
  for (std::size_t k = 0; k < people.size(); ++k) {
    out.row(static_cast<Eigen::Index>(k)) = x.middleRows(first, people[k]).colwise().sum();
    first += people[k];
  }
  return out;
}

/// The smallest row limit in d = p + 1 coordinates. PUBLIC.
inline double row_limit(Eigen::Index d) { return std::sqrt(static_cast<double>(d)); }

/// How rows are weighted: the limit R on their length, and whether all shorter rows weigh one.
/// A function of released values.
struct row_weighting {
  double limit = 0.0;
  bool flat = false;

  /// The weight of a row of this squared length: q^2 for longer rows, q = R / |xi|; for shorter
  /// ones q, or one. R is slightly below the limit, so that no row exceeds it through rounding.
  double of(double squared) const {
    const double q = limit * (1.0 - 1e-9) / std::sqrt(squared);
    if (q < 1.0) return q * q;
    return flat ? 1.0 : q;
  }
};

}  // namespace dpsc
