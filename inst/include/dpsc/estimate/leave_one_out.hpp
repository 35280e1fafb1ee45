// Leave-one-out errors of the ridge regression of the post-period on the pre-period, donors as
// samples, and prediction intervals for one more unit, based on these errors. For fits without
// privacy.
//
// With an unpenalised mean and a fixed penalty, leaving donor i out changes its residual to
// e_i / (1 - h_i). Adding the target with outcome y to the other donors moves donor i's prediction
// by g_i (y - prediction of the target without i). Both are exact, so the set of outcomes that the
// conformal test accepts (Vovk, Gammerman and Shafer, 2005, section 2.3: ridge regression
// confidence machine, here with deleted residuals) has a closed form without a refit.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace dpsc {

/// Mean and covariance (over n) of the donors' rows, by period.
struct donor_moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double n;
};

donor_moments moments_of(const Eigen::Ref<const Eigen::MatrixXd>& rows);

/// Squared deviations of each row's pre-period from its own level.
Eigen::VectorXd own_variation(const Eigen::Ref<const Eigen::MatrixXd>& pre);

/// Errors with the row left out, and each row's leverage.
struct deleted_errors {
  Eigen::MatrixXd error;     ///< rows x (1 + T1): of the average first, then of each period
  Eigen::VectorXd leverage;  ///< h_i, below 1
};

/// Acceptance of the target's outcomes by donors, one row per donor: donor i accepts an outcome if
/// its distance from the prediction lies in [low_i, high_i], an interval that contains 0.
struct deleted_limits {
  Eigen::MatrixXd low, high;  ///< donors x (1 + T1)
  Eigen::VectorXd band;       ///< largest period in units of `spread`, either sign
  Eigen::VectorXd spread;     ///< 1 + T1: root mean squares of the deleted errors over row scales
};

/// Ridge of the post-period on the pre-period at one penalty per donor; an infinite one is
/// difference-in-differences: a row's own level plus the donors' mean change.
class deleted_ridge {
 public:
  using matrix_ref = Eigen::Ref<const Eigen::MatrixXd>;
  using vector_ref = Eigen::Ref<const Eigen::VectorXd>;

  /// `softness`: weight of the common scale in a row's own scale; if infinite, all rows have one
  /// scale.
  deleted_ridge(donor_moments moments, Eigen::Index T0, double penalty, double softness);

  Eigen::Index outcomes() const { return slopes_.cols() + 1; }
  /// Trace of the hat matrix, including one for the mean.
  double freedom() const { return freedom_; }

  /// Root mean squared errors in the sample, over 1 - freedom / n: average first.
  Eigen::VectorXd spread() const;

  deleted_errors errors(const matrix_ref& rows) const;

  /// Predicted outcomes of a row from its pre-period: average first.
  Eigen::VectorXd predict(const vector_ref& pre) const;

  /// Leverage of one more row: 1/n + u' (C + penalty)^-1 u / n. Times the variance of one error, it
  /// is the variance of the regression, shrinkage included (Nychka, 1988).
  double leverage(const vector_ref& pre) const;

  /// Row scales sqrt((softness + v / v_bar) / (softness + 1)) of variations v, `joined` rows with
  /// the sum of variations `sum` counted in v_bar besides the donors.
  Eigen::VectorXd row_scale(const vector_ref& variation, double sum = 0.0,
                            double joined = 0.0) const;

  /// The accepted distance of the target's outcomes from its prediction, by donor.
  deleted_limits limits(const matrix_ref& rows, const vector_ref& pre) const;

  /// The largest error over periods in units of its standard deviation, without the average.
  static double largest(const Eigen::RowVectorXd& errors, const Eigen::VectorXd& spread);

 private:
  Eigen::MatrixXd centred(const matrix_ref& rows) const;

  static Eigen::MatrixXd with_average(const Eigen::MatrixXd& periods);

  static Eigen::VectorXd root_mean_square(const Eigen::MatrixXd& errors,
                                          const Eigen::VectorXd& scale);

  donor_moments moments_;
  Eigen::Index T0_;
  double softness_;
  bool ridge_;
  Eigen::LLT<Eigen::MatrixXd> root_;
  Eigen::MatrixXd slopes_;  // T0 x T1
  double freedom_ = 1.0;
  double variation_ = 0.0;  // the donors' mean
};

/// The distribution of the donors' deleted errors, in bounded memory: counts on a geometric grid,
/// in units of row scale and standard deviation. Columns: average, periods, largest period.
class deleted_counts {
 public:
  static constexpr int octave = 64, lowest = -8, highest = 8;
  static constexpr Eigen::Index cells = octave * (highest - lowest) + 1;

  explicit deleted_counts(const deleted_ridge& ridge);

  void add(const Eigen::Ref<const Eigen::MatrixXd>& rows, Eigen::Index T0);

  const Eigen::MatrixXd& counts() const { return counts_; }
  /// Sums of (error / row scale)^2, of error^2 and of error^4, with errors in units of their
  /// spread.
  const Eigen::MatrixXd& powers() const { return powers_; }

  /// Upper ends of the cells; the last has none.
  static Eigen::VectorXd ends();

 private:
  static Eigen::Index cell(double score);

  const deleted_ridge& ridge_;
  Eigen::VectorXd spread_;
  Eigen::MatrixXd counts_;
  Eigen::MatrixXd powers_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "leave_one_out.cpp"
#endif
