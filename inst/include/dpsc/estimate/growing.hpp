// A counterfactual that grows: estimates for its target from periods released one by one after a
// gram release. Post-processing: nothing here reads people's rows. Formulas:
// inst/proofs/growing.md, section 4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "../mechanism/one_period.hpp"
#include "counterfactual.hpp"
#include "period_law.hpp"

namespace dpsc {

/// Assumptions where the data are not informative; all are relative and public.
namespace growing_constants {
// Variance of a period's change of the slopes, relative to the variance that they explain.
constexpr double drift = 0.1;
constexpr double drift_count = 2.0;  // the prior's weight, in periods
// The slopes along directions that explain less than this share of the first direction's variance
// are left unchanged.
constexpr double least_direction = 0.02;
// Standard deviation of a person's variance at the start, and of its change per period.
constexpr double variance_first = 0.3, variance_step = 0.1;
// The same for the correlation between periods, and its value with one earlier period.
constexpr double correlation_first = 0.25, correlation_step = 0.04, correlation_usual = 0.5;
// Prior standard deviation of the directions' scale, and its limits.
constexpr double spread_first = 0.2, spread_least = 0.2, spread_most = 8.0;
// The largest share of a difference across the aim that is followed, as the directions' scales
// differ.
constexpr double most_across = 0.8;
// Standard deviation of the part kept by clipping, relative to the part removed: the radius is
// random and the distribution unknown.
constexpr double kept_error = 0.33;
}  // namespace growing_constants

/// Released values before the first new period. RELEASED or PUBLIC.
struct growing_base {
  gram_statistics statistics;
  estimator_options options;
  Eigen::VectorXd target;  // T0, scaled units, then covariates
  Eigen::MatrixXd own;     // T1 x T1: of one person's deviations from the prediction
  double lift = 1.0;       // factor by which placebo errors exceed it
  double radius = 0.0;     // clip of whitened rows in the last round; 0: none
};

class growing_estimate {
 public:
  explicit growing_estimate(const growing_base& base);

  /// The sums over people in the next period.
  period_frame frame() const;

  /// Adds one period.
  void add(const period_release& month);

  Eigen::Index months() const { return static_cast<Eigen::Index>(path_.size()); }

  /// The new periods' counterfactuals, scaled units.
  Eigen::VectorXd path(double half) const;

  /// A person's deviation from the prediction in all periods, without the lift.
  Eigen::MatrixXd own() const { return own_ / base_.lift; }

  /// Share of the error from the base's slopes that remains in each new period.
  Eigen::VectorXd left() const { return Eigen::Map<const Eigen::VectorXd>(left_.data(), months()); }

  /// Covariance of the errors due to noise in all periods after the treatment; `base` is the base
  /// release's covariance.
  Eigen::MatrixXd privacy(const Eigen::MatrixXd& base) const;

  /// Covariance of the error due to the directions' scale, in all periods after the treatment.
  Eigen::MatrixXd model() const;

 private:
  /// A random walk observed with noise. The variance of its steps is estimated sequentially.
  struct walk {
    double error = 0.0, prior = 0.0, evidence = 0.0, count = 0.0;

    /// `change`: squared difference to the expected value. Returns the gain.
    double follow(double change, double noise);
  };

  static double square(double x) { return x * x; }
  static double within(double x) { return std::min(0.98, std::max(0.0, x)); }

  double average_deviation() const { return std::sqrt(std::max(own_.mean(), 1e-8)); }

  /// The target's constant and directions, in the units of people's values in the frame.
  Eigen::VectorXd aim() const;

  /// Features to directions of variance one, p x k: first the donors' weights in the target's
  /// counterfactual, 1 + q'(features - mean), then the other directions in which donors differ
  /// most.
  Eigen::MatrixXd choose_directions(const mean_regression& fit) const;

  void prepare_errors(const mean_regression& fit, const Eigen::MatrixXd& directions,
                      const Eigen::VectorXd& slope);

  /// Covariance of the errors that arise because noise in the weights and in the donors' mean hides
  /// a part of the slopes' change since the base.
  double missed(std::size_t t, std::size_t u) const;

  /// The residuals' variance now, relative to the assumed one.
  double find_variance(const period_law& law, const period_release& month) const;

  /// The likeness's variance, learnt from all periods.
  double find_spread(const period_law& law, const period_release& month, double now);

  /// Adds one period, equally correlated with all earlier periods, as far as a valid covariance
  /// permits.
  void append_own(double variance);

  growing_base base_;
  counterfactual_estimator estimator_;
  Eigen::VectorXd centre_;  // T0, then covariates: of a scaled row
  Eigen::MatrixXd ways_;    // (T0 + covariates) x k
  Eigen::VectorXd ways_at_;
  double centre_at_ = 0.0;
  double start_ = 0.0;                        // the base's prediction of the target
  Eigen::VectorXd reach_;                     // the target's own directions
  double spread_ = 0.0, spread_error_ = 0.0;  // variance of the donors' likeness
  Eigen::VectorXd sizes_;                     // squared lengths of whitened directions
  double missed_ = 0.0, start_error_ = 0.0;

  double shift_ = 0.0, sum_shifts_ = 0.0;  // since the base, and its sum over periods
  Eigen::VectorXd moves_, sums_moves_;
  walk target_walk_, other_walk_;
  std::vector<double> path_, left_, stays_, target_error_, extra_, spread_left_;
  std::vector<Eigen::VectorXd> turns_;
  Eigen::MatrixXd own_;  // lifted
  double variance_ = 0.0, least_variance_ = 0.0, variance_error_ = 0.0;
  double correlation_ = 0.0, correlation_error_ = 0.0;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "growing.cpp"
#endif
