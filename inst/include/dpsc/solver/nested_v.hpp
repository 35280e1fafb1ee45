// Simplex weights from predictors, and the search for the predictors' importances V.
//
// Given V the weights minimise the V-weighted distance of the predictors; V is chosen so that these
// weights give the best prediction of the target's outcomes before treatment (Abadie, Diamond and
// Hainmueller). That outer loss is neither convex nor smooth, so the search has many starts and no
// guarantee.
#pragma once

#include <dpsc/solver/simplex_ls.hpp>
#include <utility>

namespace dpsc {

struct nested_settings {
  int screened = 400;     ///< importances tried before any local search
  int starts = 6;         ///< local searches, from the best of those
  int evaluations = 150;  ///< per local search and per predictor
};

struct nested_result {
  Eigen::VectorXd importance;  ///< V, sum 1
  Eigen::VectorXd weights;
  double loss = 0.0;      ///< mean squared error of the outcomes before treatment
  double distance = 0.0;  ///< squared V-distance of the predictors
  double kkt = 0.0;
};

class nested_search {
 public:
  using matrix_ref = simplex_ls::matrix_ref;
  using vector_ref = simplex_ls::vector_ref;

  simplex_ls solver;

  /// @param predictors n x K, target_predictors K: already on comparable scales.
  /// @param outcomes n x S, target_outcomes S: the periods that V is judged by.
  nested_search(const matrix_ref& predictors, const vector_ref& target_predictors,
                const matrix_ref& outcomes, const vector_ref& target_outcomes,
                Eigen::Index skip = -1);

  /// Outer loss of the weights that `importance` (not negative, some positive) leads to.
  double evaluate(const Eigen::VectorXd& importance, bool warm = false);

  nested_result result(const Eigen::VectorXd& importance);

  nested_result search(const nested_settings& settings);

 private:
  // Log importances, the largest 0; below `floor_` a predictor no longer matters.
  static constexpr double floor_ = -18.0;

  static Eigen::VectorXd importance_of(const Eigen::VectorXd& point);

  double loss_at(const Eigen::VectorXd& point) { return evaluate(importance_of(point), true); }

  // Points of a low-discrepancy sequence (additive recurrence): the same on every machine.
  static Eigen::VectorXd spread_point(int i, Eigen::Index K);

  // Nelder-Mead with coefficients that depend on the dimension (Gao and Han, 2012).
  std::pair<double, Eigen::VectorXd> nelder_mead(const Eigen::VectorXd& from, double size,
                                                 int evaluations);

  Eigen::MatrixXd predictors_, outcomes_, scaled_;
  Eigen::VectorXd target_, origin_, error_;
  Eigen::Index skip_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "nested_v.cpp"
#endif
