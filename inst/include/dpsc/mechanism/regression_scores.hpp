// Further questions of a regression besides its rounds: the numbers of rows that count and of
// clipped residuals, and the second moments of the scores, for standard errors that do not assume a
// constant variance. Proofs: inst/proofs/regression.md, section 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "regression_rounds.hpp"

namespace dpsc {

// Counts ------------------------------------------------------------------------------------------

/// Public constants of the two counts: rows that count, and residuals that are far off.
struct lm_counts_plan {
  bool made = false;
  law kind = law::discrete_gaussian;
  double noise = 0.0, sigma = 0.0;
  step_record record;
};

/// No counts are released if the noise would exceed this share of the people.
constexpr double worst_count = 0.02;

/// A row changes each count by at most one.
lm_counts_plan plan_counts(double n, const total_budget& budget, double share);

/// Noisy counts. RELEASED.
struct lm_counts {
  double rows = 0.0, far = 0.0, sd = 0.0;
};

lm_counts release_counts(const lm_kept& kept, const lm_counts_plan& plan, noise& draws);

// Scores ------------------------------------------------------------------------------------------

/// Public constants of the scores' second moments.
struct lm_scores_plan {
  bool made = false;
  law kind = law::discrete_gaussian;
  double limit = 0.0;  // integer: a score's largest length
  double noise = 0.0, sigma = 0.0;
  step_record record;
};

/// Plans the finest grid whose noise the exact sampler can draw, and whose sums are exact.
lm_scores_plan plan_scores(double n, Eigen::Index p, const total_budget& budget, double share);

/// Second moments of s^2 (w, 1) r over all n, residuals at the final slopes. RELEASED.
struct lm_scores {
  lm_frame frame;
  Eigen::MatrixXd meat;  // p + 1: the constant is the last
  // Standard deviations of the noise off the diagonal (on it, larger by sqrt 2): of w by w, of w by
  // 1, and of 1 by 1 as if it were off the diagonal.
  double sd_slopes = 0.0, sd_mixed = 0.0, sd_constant = 0.0;
};

/// Integer scores from integer rows u: the entries (u_w, u_k) of regressors and constant times the
/// residual's entry u_r, divided by R_r and rounded to a grid. No score is longer than the limit.
class lm_score_rows {
 public:
  lm_score_rows(const lm_scores_plan& plan, const lm_round_plan& round, Eigen::Index p);

  const Eigen::MatrixXd& rows(const Eigen::MatrixXd& u);

  /// One row per person: the mean of the scores of the rows that count, rounded once.
  const Eigen::MatrixXd& people(const Eigen::MatrixXd& u, const people_block& block);

  /// Grid step of the product of an entry of u and the residual's entry.
  double grid() const { return of_residual_; }

 private:
  const Eigen::MatrixXd& rounded();

  double limit2_;
  Eigen::Index p_;
  double of_residual_;
  Eigen::MatrixXd g_, each_;
  Eigen::ArrayXd factor_;
};

/// Answers for scores, block by block.
class score_sums {
 public:
  explicit score_sums(const people_question& question);

  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& sums);
  void people(const people_block& block, Eigen::MatrixXd& sums);
  const lm_outer& outer() const { return outer_.outer(); }
  double grid() const { return scores_.grid(); }

 private:
  static lm_scores_plan plan_of(const people_question& question);

  asked_outer outer_;
  lm_score_rows scores_;
};

/// One pass at the final slopes, with the radius and clip of the last round.
lm_scores release_scores(const row_source& source, const lm_design& design,
                         const lm_location& location, const lm_frame& frame, const lm_round& last,
                         const lm_round_plan& round, const lm_scores_plan& plan, double n,
                         noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "regression_scores.cpp"
#endif
