// The prediction of one row from released moments: a struct of constant matrices, and functions of
// one vector, or of a few side by side. Nothing but the row and the release enters. A target's
// counterfactual starts from the same (counterfactual.hpp).
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
  Eigen::VectorXd rest;    // p: what the prior of the level keeps
  // Errors; empty where only paths are asked for.
  Eigen::MatrixXd g;               // whitened x T1: directions of the residual
  Eigen::MatrixXd prediction;      // T1 x T1
  Eigen::MatrixXd whitened_solve;  // whitened x p
  // By form (0 the average, then the periods), of features: noise of the moments moves form j by
  // g2_j |h|^2 + (g_j'h)^2 with h = whitened_solve u, less the same within the part removed by
  // shrinkage.
  Eigen::MatrixXd along;          // T1 + 2 (T1 + 1) x p: the path, then g_j'h, then what is lost
  Eigen::MatrixXd length, lost;   // p x p: |h|^2, and of what is lost
  Eigen::VectorXd g2, lost2;      // by form
  Eigen::VectorXd prediction_of;  // by form: of what is left, and of the noise of means
};

/// A row's features. PRIVATE if the row is.
struct row_features {
  double level, mean, variation;
  Eigen::VectorXd u;
};

/// All that the prediction of a row takes. RELEASED, but for `half`, which is PUBLIC.
struct prediction_constants {
  Eigen::MatrixXd basis;        // T0 x p
  Eigen::VectorXd mean, after;  // of the donors: p features, T1 periods
  Eigen::VectorXd flat;         // p: direction of a level
  Eigen::VectorXd half;         // T1: where the bounds are
  std::vector<prediction_fit> fits;
  level_prior level;
  Eigen::Index before = 0;  // periods before the treatment; other rows of the basis: covariates
  double weight = 1.0, typical_variation = 1.0;
  double mean_noise = 0.0;  // variance of the noise on a post-period's mean, outcome units
  double form_noise = 0.0;  // of the noise of a moment, half
  bool demean = false, is_private = true;

  row_features features(const Eigen::VectorXd& pre) const;

  /// How likely each penalty makes the pre-period, if it was drawn like one donor's, by a law with
  /// the tails of Student's t. The mean of a group counts as one draw, too: its people need not be
  /// a random sample of the donors.
  Eigen::VectorXd evidence_weights(const Eigen::VectorXd& u) const;
  /// The same of u'solve u, by fit.
  Eigen::VectorXd evidence_weights(const Eigen::VectorXd& squares, Eigen::Index features) const;

  /// Where noise is all there is, a path stays at the row's level, or comes back from there by the
  /// released variances; about `row_features::level`.
  double flat_of(const row_features& own) const;

  /// Shrunk; never beyond the bounds.
  void finish(Eigen::VectorXd& post, const row_features& own, double noise) const;
};

/// Shrinkage towards the own level where noise is all there is (positive-part empirical Bayes,
/// James and Stein, 1961), of a path about it.
double kept_of_path(const Eigen::VectorXd& about, double noise);

/// A donor's prediction, by form: entry 0 the average, then the periods.
struct row_estimate {
  Eigen::VectorXd post;      // T1
  Eigen::VectorXd variance;  // T1 + 1: prediction + privacy
  double variation = 0.0;
};

/// Predictions of rows on the grid, a few side by side: matrices are read once for all of them. No
/// step takes numbers of two rows, and a row's steps are the same in every place: its estimate does
/// not depend on other rows. PRIVATE if the rows are.
class row_predictor {
 public:
  explicit row_predictor(const prediction_constants& c, bool wide = has_wide_vectors());

  /// `pre`: T0 x so many rows, at most `lanes`. As many estimates follow in `out`.
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

/// Degrees of freedom of the evidence. Released moments describe a minority's directions too
/// weakly: radii shorten its rows, and noise hides the rest. A normal law would take a target from
/// there for impossible, and the largest penalty for the likeliest.
constexpr double evidence_freedom = 4.0;

/// Penalties that are less likely together with all others move nothing that doubles show.
constexpr double least_evidence = 1e-13;

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "row_prediction.cpp"
#endif
