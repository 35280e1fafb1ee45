// Leave-one-out errors of the ridge regression of the post-period on the pre-period, donors as
// samples, and prediction intervals for one more unit from them. For fits without privacy.
//
// With an unpenalised mean and a fixed penalty, leaving donor i out changes its residual to
// e_i / (1 - h_i). Adding the target with outcome y to the other donors moves donor i's prediction
// by g_i (y - prediction of the target without i). Both are exact, so the set of outcomes that the
// conformal test accepts (Vovk, Gammerman and Shafer, 2005, section 2.3: ridge regression
// confidence machine, here with deleted residuals) is known in closed form without a refit.
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

inline donor_moments moments_of(const Eigen::Ref<const Eigen::MatrixXd>& rows) {
  const Eigen::VectorXd mean = rows.colwise().mean();
  const Eigen::MatrixXd centred = rows.rowwise() - mean.transpose();
  const double n = static_cast<double>(rows.rows());
  return {mean, centred.transpose() * centred / n, n};
}

/// Squared deviations of each row's pre-period from its own level.
inline Eigen::VectorXd own_variation(const Eigen::Ref<const Eigen::MatrixXd>& pre) {
  return (pre.colwise() - pre.rowwise().mean()).rowwise().squaredNorm();
}

/// Errors with the row left out, and how much each row pulls on itself.
struct deleted_errors {
  Eigen::MatrixXd error;     ///< rows x (1 + T1): of the average first, then of each period
  Eigen::VectorXd leverage;  ///< h_i, below 1
};

/// What donors say of the target's outcomes, one row a donor: an outcome is accepted against donor
/// i when its distance to the prediction lies in [low_i, high_i], which holds 0.
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

  /// `softness`: weight of the common scale in a row's own; infinite gives all rows the same.
  deleted_ridge(donor_moments moments, Eigen::Index T0, double penalty, double softness)
      : moments_(std::move(moments)), T0_(T0), softness_(softness), ridge_(std::isfinite(penalty)) {
    const Eigen::Index periods = moments_.mean.size();
    if (T0 < 1 || T0 >= periods || moments_.covariance.rows() != periods ||
        moments_.covariance.cols() != periods)
      throw std::invalid_argument("the moments do not fit the periods");
    if (!(moments_.n >= 2.0) || !(penalty > 0.0) || !(softness > 0.0))
      throw std::domain_error("two donors at least, and a positive penalty, are needed");
    if (!moments_.mean.allFinite() || !moments_.covariance.allFinite())
      throw std::domain_error("the donors must be finite");
    const Eigen::Index T1 = periods - T0;
    const Eigen::MatrixXd pre = moments_.covariance.topLeftCorner(T0, T0);
    if (ridge_) {
      root_.compute(pre + penalty * Eigen::MatrixXd::Identity(T0, T0));
      if (root_.info() != Eigen::Success)
        throw std::domain_error("the penalty is too small for these donors");
      slopes_ = root_.solve(moments_.covariance.topRightCorner(T0, T1));
      freedom_ = 1.0 + root_.solve(pre).trace();
    } else {
      slopes_ = Eigen::MatrixXd::Constant(T0, T1, 1.0 / static_cast<double>(T0));
    }
    const Eigen::VectorXd path = moments_.mean.head(T0);
    const double level = path.mean(), common = pre.sum() / static_cast<double>(T0);
    variation_ = (path.array() - level).matrix().squaredNorm() + pre.trace() - common;
  }

  Eigen::Index outcomes() const { return slopes_.cols() + 1; }
  /// Trace of the hat matrix, the mean's one included.
  double freedom() const { return freedom_; }

  /// Root mean squared errors in the sample, over 1 - freedom / n: average first.
  Eigen::VectorXd spread() const {
    const Eigen::Index T1 = slopes_.cols();
    Eigen::MatrixXd residual(moments_.mean.size(), T1);
    residual << -slopes_, Eigen::MatrixXd::Identity(T1, T1);
    const Eigen::MatrixXd squares = residual.transpose() * moments_.covariance * residual;
    Eigen::VectorXd out(outcomes());
    out << squares.mean(), squares.diagonal();
    const double left = std::max(1.0 - freedom_ / moments_.n, 1.0 / moments_.n);
    return out.array().max(0.0).sqrt() / left;
  }

  deleted_errors errors(const matrix_ref& rows) const {
    const Eigen::MatrixXd x = centred(rows);
    const Eigen::MatrixXd residual =
        rows.rightCols(outcomes() - 1).rowwise() - moments_.mean.tail(outcomes() - 1).transpose();
    deleted_errors out{with_average(residual - x * slopes_),
                       Eigen::VectorXd::Constant(rows.rows(), 1.0 / moments_.n)};
    if (ridge_)
      out.leverage +=
          root_.matrixL().solve(x.transpose()).colwise().squaredNorm().transpose() / moments_.n;
    out.error.array().colwise() /= (1.0 - out.leverage.array());
    return out;
  }

  /// Predicted outcomes of a row from its pre-period: average first.
  Eigen::VectorXd predict(const vector_ref& pre) const {
    const Eigen::VectorXd post =
        moments_.mean.tail(outcomes() - 1) + slopes_.transpose() * (pre - moments_.mean.head(T0_));
    Eigen::VectorXd out(outcomes());
    out << post.mean(), post;
    return out;
  }

  /// Leverage of one more row: 1/n + u' (C + penalty)^-1 u / n. With the variance of one error it
  /// is that of the regression, shrinkage included (Nychka, 1988).
  double leverage(const vector_ref& pre) const {
    const Eigen::VectorXd u = pre - moments_.mean.head(T0_);
    return (1.0 + (ridge_ ? u.dot(root_.solve(u)) : 0.0)) / moments_.n;
  }

  /// Row scales sqrt((softness + v / v_bar) / (softness + 1)) of variations v, `joined` rows with
  /// the sum of variations `sum` counted in v_bar besides the donors.
  Eigen::VectorXd row_scale(const vector_ref& variation, double sum = 0.0,
                            double joined = 0.0) const {
    const double mean = (moments_.n * variation_ + sum) / (moments_.n + joined);
    if (!std::isfinite(softness_) || !(mean > 0.0)) return Eigen::VectorXd::Ones(variation.size());
    return ((softness_ + variation.array() / mean) / (softness_ + 1.0)).sqrt();
  }

  /// How far from its prediction the target's outcomes may lie, by each donor's account.
  deleted_limits limits(const matrix_ref& rows, const vector_ref& pre) const {
    const deleted_errors own = errors(rows);
    const Eigen::Index n = rows.rows(), m = outcomes();
    const double variation = own_variation(pre.transpose())[0];
    const Eigen::VectorXd scale = row_scale(own_variation(rows.leftCols(T0_)), variation, 1.0);
    const double target = row_scale(Eigen::VectorXd::Constant(1, variation), variation, 1.0)[0];
    Eigen::VectorXd shared = Eigen::VectorXd::Constant(n, 1.0);
    if (ridge_) shared += centred(rows) * root_.solve(pre - moments_.mean.head(T0_));
    shared /= moments_.n;
    const double at_target = leverage(pre);

    deleted_limits out{Eigen::MatrixXd(n, m), Eigen::MatrixXd(n, m), Eigen::VectorXd(n),
                       root_mean_square(own.error, scale)};
    // Rows that are alike tie, and a tie must not be lost to rounding.
    const Eigen::RowVectorXd slack =
        1e-9 * out.spread.transpose().array() + 1e-12 * moments_.mean.cwiseAbs().maxCoeff();
    constexpr double infinite = std::numeric_limits<double>::infinity();
    for (Eigen::Index i = 0; i < n; ++i) {
      const double left = 1.0 - own.leverage[i], a = shared[i];
      const double g = a / (left * (1.0 + at_target) + a * a);
      const double ratio = target / scale[i], pull = ratio * g;
      // |d| <= ratio |error (1 - g a) - g d|: an interval unless the target pulls too hard.
      if (!(std::abs(pull) < 1.0)) {
        out.low.row(i).setConstant(-infinite);
        out.high.row(i).setConstant(infinite);
        out.band[i] = infinite;
        continue;
      }
      const Eigen::RowVectorXd free = ratio * (1.0 - g * a) * own.error.row(i);
      const Eigen::RowVectorXd one = free / (1.0 + pull), other = -free / (1.0 - pull);
      out.low.row(i) = one.cwiseMin(other) - slack;
      out.high.row(i) = one.cwiseMax(other) + slack;
      out.band[i] = largest(free, out.spread) / (1.0 - std::abs(pull)) * (1.0 + 1e-9) + 1e-9;
    }
    return out;
  }

  /// Largest period of a row of errors in units of their spreads; the average does not count.
  static double largest(const Eigen::RowVectorXd& errors, const Eigen::VectorXd& spread) {
    double out = 0.0;
    for (Eigen::Index t = 1; t < errors.size(); ++t)
      if (spread[t] > 0.0) out = std::max(out, std::abs(errors[t]) / spread[t]);
    return out;
  }

 private:
  Eigen::MatrixXd centred(const matrix_ref& rows) const {
    return rows.leftCols(T0_).rowwise() - moments_.mean.head(T0_).transpose();
  }

  static Eigen::MatrixXd with_average(const Eigen::MatrixXd& periods) {
    Eigen::MatrixXd out(periods.rows(), periods.cols() + 1);
    out << periods.rowwise().mean(), periods;
    return out;
  }

  static Eigen::VectorXd root_mean_square(const Eigen::MatrixXd& errors,
                                          const Eigen::VectorXd& scale) {
    const Eigen::MatrixXd relative = errors.array().colwise() / scale.array();
    return relative.array().square().colwise().mean().sqrt();
  }

  donor_moments moments_;
  Eigen::Index T0_;
  double softness_;
  bool ridge_;
  Eigen::LLT<Eigen::MatrixXd> root_;
  Eigen::MatrixXd slopes_;  // T0 x T1
  double freedom_ = 1.0;
  double variation_ = 0.0;  // the donors' mean
};

/// How the donors' deleted errors are distributed, in memory that does not grow with them: counts
/// on a geometric grid, in units of row scale and spread. Columns: average, periods, largest
/// period.
class deleted_counts {
 public:
  static constexpr int octave = 64, lowest = -8, highest = 8;
  static constexpr Eigen::Index cells = octave * (highest - lowest) + 1;

  explicit deleted_counts(const deleted_ridge& ridge)
      : ridge_(ridge),
        spread_(ridge.spread()),
        counts_(Eigen::MatrixXd::Zero(cells, ridge.outcomes() + 1)),
        powers_(Eigen::MatrixXd::Zero(3, ridge.outcomes())) {}

  void add(const Eigen::Ref<const Eigen::MatrixXd>& rows, Eigen::Index T0) {
    const deleted_errors own = ridge_.errors(rows);
    const Eigen::VectorXd scale = ridge_.row_scale(own_variation(rows.leftCols(T0)));
    for (Eigen::Index i = 0; i < rows.rows(); ++i) {
      const Eigen::RowVectorXd error = own.error.row(i) / scale[i];
      for (Eigen::Index t = 0; t < spread_.size(); ++t) {
        const double score = spread_[t] > 0.0 ? std::abs(error[t]) / spread_[t] : 0.0;
        const double squared = score * score, plain = squared * scale[i] * scale[i];
        counts_(cell(score), t) += 1.0;
        powers_.col(t) += Eigen::Vector3d(squared, plain, plain * plain);
      }
      counts_(cell(deleted_ridge::largest(error, spread_)), spread_.size()) += 1.0;
    }
  }

  const Eigen::MatrixXd& counts() const { return counts_; }
  /// Sums of squares over row scales, of squares, and of fourth powers, in units of spread.
  const Eigen::MatrixXd& powers() const { return powers_; }

  /// Upper ends of the cells; the last has none.
  static Eigen::VectorXd ends() {
    Eigen::VectorXd out(cells);
    for (Eigen::Index k = 0; k + 1 < cells; ++k)
      out[k] = std::exp2(lowest + static_cast<double>(k) / octave);
    out[cells - 1] = std::numeric_limits<double>::infinity();
    return out;
  }

 private:
  static Eigen::Index cell(double score) {
    const double at = std::ceil((std::log2(score) - lowest) * octave);
    if (!(at > 0.0)) return 0;
    return std::min(static_cast<Eigen::Index>(std::min(at, 1e6)), cells - 1);
  }

  const deleted_ridge& ridge_;
  Eigen::VectorXd spread_;
  Eigen::MatrixXd counts_;
  Eigen::MatrixXd powers_;
};

}  // namespace dpsc
