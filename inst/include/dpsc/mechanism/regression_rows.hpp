// Integer rows of a private regression in a frame: whitened regressors w, the residual r of the
// last fit, clipped to (s w, clip(s r), s), s = min(1, R/|w|); and a round's questions about them.
// Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../rows/people.hpp"
#include "moments.hpp"
#include "person.hpp"

namespace dpsc {

/// w = whiten'(x - centre), r = y - level - slope'(x - centre), in standardised units. RELEASED.
struct lm_frame {
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;
  Eigen::VectorXd slope;
  double level;

  static lm_frame start(Eigen::Index p);
};

/// Public constants of a round.
struct lm_round_plan {
  law kind = law::discrete_gaussian;
  double limit = 0.0, residual_limit = 0.0, constant = 0.0;  // R, R_r, K: integers
  double noise = 0.0;  // variance on the diagonal (half of it off), or Laplace scale
  double sigma = 0.0;  // standard deviation on the diagonal; off it, smaller by sqrt 2
  std::vector<step_record> records;

  double bound() const;
};

/// Finds the first of increasing positive limits that is not below a value.
class limit_finder {
 public:
  explicit limit_finder(const std::vector<double>& limits);

  /// Position of this limit; the number of limits if the value exceeds all of them or is NaN.
  std::size_t operator()(double v) const;

 private:
  // Exponent and three bits of the mantissa: keys of positive doubles increase with them.
  static constexpr int key_shift = 49;
  static std::uint64_t key(double v);

  const std::vector<double>& limits_;
  std::uint64_t first_ = 0;
  std::vector<std::size_t> begin_;
};

/// Counts values by the first limit that is not smaller; the last place is for values beyond all
/// limits.
template <typename Counts>
void count_limits(const Eigen::ArrayXd& values, const limit_finder& find, Counts&& counts) {
  for (Eigen::Index i = 0; i < values.size(); ++i)
    counts(static_cast<Eigen::Index>(find(values[i]))) += 1.0;
}

/// Number of rows beyond each limit, from the counts by limit.
std::vector<std::int64_t> rows_beyond_limits(const Eigen::MatrixXd& first);

/// Features of rows in a frame: p whitened regressors and the residual, all integers.
class lm_features {
 public:
  lm_features(const lm_columns& columns, const lm_frame& frame);
  explicit lm_features(const grid_map& map);

  /// `grid`: from lm_columns.
  const Eigen::MatrixXd& features(const Eigen::MatrixXd& grid);

  double unit() const { return unit_; }
  const row_map& map() const { return map_.map; }

 private:
  static grid_map make(const lm_columns& columns, const lm_frame& frame);

  grid_map map_;
  double unit_;
  bool diagonal_;  // the first frame
  Eigen::MatrixXd out_;
};

/// Integer rows u = (w, r, k) with |w| <= R, |r| <= R_r, 0 <= k <= K; a missing row is zero.
/// `present` is in [0, 1]: the root of a row's case weight over the largest.
class lm_outer {
 public:
  lm_outer(const lm_round_plan& plan, Eigen::Index p, double radius, double clip);

  const Eigen::MatrixXd& rows(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present);

  void add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present);

  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }
  double zoom() const { return zoom_; }
  double residual_zoom() const { return residual_zoom_; }

 private:
  const lm_round_plan& plan_;
  Eigen::Index p_;
  double radius_, clip_, zoom_, residual_zoom_;
  Eigen::MatrixXd gram_, u_;
  Eigen::ArrayXd norms_, shrink_;
};

/// Features z of the rows of a block, in the frame of a question.
class asked_features {
 public:
  explicit asked_features(const people_question& question);

  const Eigen::MatrixXd& of(const Eigen::MatrixXd& grid);

 private:
  lm_columns columns_;
  lm_features features_;
};

/// |z|^2 of the regressors; a missing row counts as within every limit.
Eigen::ArrayXd lengths_of(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present);

/// a |r| min(1, R / |w|), from a |r| and |w|^2.
Eigen::ArrayXd shortened(const Eigen::ArrayXd& residual, const Eigen::ArrayXd& squared,
                         double radius);

/// Answers lengths and residuals, block by block.
class limit_counts {
 public:
  explicit limit_counts(const people_question& question);

  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& counts);
  void people(const people_block& block, Eigen::MatrixXd& counts);

 private:
  void read(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present);

  const people_question& question_;
  asked_features features_;
  limit_finder find_;
  Eigen::ArrayXd values_;
};

/// The limits of a round's rows, from a question.
lm_round_plan limits_of(const people_question& question);

/// Clipped rows (w, r, k) of a question, block by block.
class asked_outer {
 public:
  explicit asked_outer(const people_question& question);
  asked_outer(const asked_outer&) = delete;
  asked_outer& operator=(const asked_outer&) = delete;

  const Eigen::MatrixXd& rows(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present);
  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& sums);
  void people(const people_block& block, Eigen::MatrixXd& sums);
  const lm_outer& outer() const { return outer_; }

 private:
  lm_round_plan plan_;
  asked_features features_;
  lm_outer outer_;
  mean_outer mean_;
};

/// Values stored in a round's single pass if rows are in memory: features of all rows, half as
/// large as the rows; their squared lengths and residuals for both choices. The next round reuses
/// the memory. PRIVATE.
struct lm_kept {
  std::vector<Eigen::MatrixXi> blocks;
  std::vector<Eigen::ArrayXd> there;
  Eigen::ArrayXd squared, residual;
  double most = 0x1p28;          // most numbers kept; with more, one pass per question
  double rows = 0.0, far = 0.0;  // rows that count, residuals far off
};

/// Answers the questions of a round: from one pass's values, or by one pass or query per question.
class lm_round_rows {
 public:
  lm_round_rows(const row_source& source, const people_question& question, double n, lm_kept& kept,
                const ticker& tick);

  std::vector<std::int64_t> beyond_residuals(double radius, const std::vector<double>& limits);

  /// For `gram`, if no residuals are counted before it.
  void at_radius(double radius) { question_.radius = radius; }

  Eigen::MatrixXd gram(double clip);

 private:
  double work() const;

  std::vector<std::int64_t> beyond_kept(const Eigen::ArrayXd& values) const;

  void read(double n);

  const row_source& source_;
  people_question question_;
  lm_kept& kept_;
  const ticker& tick_;
  bool keeps_ = false;
  std::size_t blocks_ = 0;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "regression_rows.cpp"
#endif
