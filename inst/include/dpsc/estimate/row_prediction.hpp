// The prediction of one row from released moments: a struct of constant matrices, and functions of
// one vector, or of a few side by side. Only the row and the release enter. A target's
// counterfactual starts from the same code (counterfactual.hpp).
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../rows/wide.hpp"
#include "level_prior.hpp"

namespace dpsc {

/// One ridge regression of the post-period on features of the pre-period. RELEASED.
struct prediction_fit {
  double penalty, log_prior, log_det;
  Eigen::MatrixXd solve;   // p x p
  Eigen::MatrixXd slopes;  // p x T1
  Eigen::MatrixXd lift;    // p x p: fitted features of the pre-period
  Eigen::VectorXd rest;    // p: effect of the level's prior
  // Errors; empty if only paths are requested.
  Eigen::MatrixXd g;               // whitened x T1: directions of the residual
  Eigen::MatrixXd prediction;      // T1 x T1
  Eigen::MatrixXd whitened_solve;  // whitened x p
  // By form (0 the average, then the periods), of features: the moments' noise adds g2_j |h|^2 +
  // (g_j'h)^2 to form j, with h = whitened_solve u, minus the same within the part removed by
  // shrinkage.
  Eigen::MatrixXd along;          // T1 + 2 (T1 + 1) x p: path, g_j'h, and removed parts of it
  Eigen::MatrixXd length, lost;   // p x p: |h|^2, and its part that is removed
  Eigen::VectorXd g2, lost2;      // by form
  Eigen::VectorXd prediction_of;  // by form: of the residual and the noise of means
};

/// A row's features. PRIVATE if the row is.
struct row_features {
  double level, mean, variation;
  Eigen::VectorXd u;
};

/// All inputs of a row's prediction. RELEASED, except `half`, which is PUBLIC.
struct prediction_constants {
  Eigen::MatrixXd basis;        // T0 x p
  Eigen::VectorXd mean, after;  // of the donors: p features, T1 periods
  Eigen::VectorXd flat;         // p: direction of a level
  Eigen::VectorXd half;         // T1: half-width of the bounds
  std::vector<prediction_fit> fits;
  level_prior level;
  Eigen::Index before = 0;  // periods before the treatment; other rows of the basis: covariates
  double weight = 1.0, typical_variation = 1.0;
  double mean_noise = 0.0;  // variance of the noise on a post-period's mean, outcome units
  double form_noise = 0.0;  // of the noise of a moment, half
  bool demean = false, is_private = true;

  row_features features(const Eigen::VectorXd& pre) const;

  /// The likelihood of the pre-period under each penalty, if it was drawn like one donor's, with
  /// the tails of Student's t. A group's mean counts as one draw, too: its people need not be a
  /// random sample of the donors.
  Eigen::VectorXd evidence_weights(const Eigen::VectorXd& u) const;
  /// The same weights, from the quadratic form u'solve u of each fit.
  Eigen::VectorXd evidence_weights(const Eigen::VectorXd& squares, Eigen::Index features) const;

  /// The path if there is only noise, relative to `row_features::level`: it stays at the row's
  /// level, or regresses from there to the mean by the released variances.
  double flat_of(const row_features& own) const;

  /// Shrinks the path and keeps it within the bounds.
  void finish(Eigen::VectorXd& post, const row_features& own, double noise) const;
};

/// Shrinkage of a path towards the row's own level if there is only noise (positive-part empirical
/// Bayes, James and Stein, 1961).
double kept_of_path(const Eigen::VectorXd& about, double noise);

/// A donor's prediction, by form: entry 0 the average, then the periods.
struct row_estimate {
  Eigen::VectorXd post;      // T1
  Eigen::VectorXd variance;  // T1 + 1: prediction + privacy
  double variation = 0.0;
};

/// Predictions of rows on the grid, a few side by side: matrices are read once for all of them. No
/// step combines two rows, and a row's steps are the same in every lane: its estimate does not
/// depend on other rows. PRIVATE if the rows are.
class row_predictor {
 public:
  explicit row_predictor(const prediction_constants& c, bool wide = has_wide_vectors());

  /// `pre`: T0 x the number of rows, at most `lanes`. `out` has one estimate per row.
  void predict(const Eigen::MatrixXd& pre, std::vector<row_estimate>& out);

 private:
  using side_by_side = Eigen::Matrix<double, Eigen::Dynamic, lanes, Eigen::RowMajor>;
  using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using lane_values = Eigen::Array<double, 1, lanes>;

  struct fit_rows {
    row_major solve, errors;  // `errors`: length, lost and along, one below the other
  };

  const side_by_side& times(const row_major& matrix, const side_by_side& u);
  void add_fit(Eigen::Index k);
  void add_disagreement(Eigen::Index k);
  row_estimate finished(const row_features& own, Eigen::Index lane) const;

  const prediction_constants& c_;
  bool wide_;
  std::vector<fit_rows> fits_;
  side_by_side u_, product_, post_, variance_;
  std::vector<side_by_side> posts_;  // by fit
  side_by_side weights_;             // by fit
};

/// Degrees of freedom of the evidence. Released moments underestimate a minority's directions:
/// radii clip its rows, and noise hides the rest. Under a normal distribution a target from a
/// minority would seem impossible, and the largest penalty would seem most likely.
constexpr double evidence_freedom = 4.0;

/// Penalties below this total likelihood change nothing in double precision.
constexpr double least_evidence = 1e-13;

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "row_prediction.cpp"
#endif
