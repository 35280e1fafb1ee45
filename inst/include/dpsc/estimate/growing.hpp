// A counterfactual that grows: what periods released one by one after a gram release say of the
// target that they were made for. Post-processing: nothing here sees people.
// Formulas: inst/proofs/growing.md, section 4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "../mechanism/one_period.hpp"
#include "counterfactual.hpp"

namespace dpsc {

/// Taken for granted where data do not say: all are relative, and public.
namespace growing_constants {
// Variance of a period's change of the slope, over the squared slope.
constexpr double drift = 0.1;
constexpr double drift_count = 2.0;  // how many periods' evidence that is worth
// Deviations of a person's variance: at first, and of its change a period.
constexpr double variance_first = 0.3, variance_step = 0.1;
// The same of the correlation between periods, and what it is with one period before.
constexpr double correlation_first = 0.25, correlation_step = 0.04, correlation_usual = 0.5;
// Variance of the donors' likeness, at most about one, before it was measured; and its limits.
constexpr double spread_usual = 0.6, spread_first = 0.3, spread_least = 0.1, spread_most = 1.5;
// Deviation of what shortening keeps, where the radius is drawn and the law is not known.
constexpr double kept_error = 0.07;
}  // namespace growing_constants

/// What was released before the first new period. RELEASED or PUBLIC.
struct growing_base {
  gram_statistics statistics;
  estimator_options options;
  Eigen::VectorXd target;  // T0, scaled units
  Eigen::MatrixXd own;     // T1 x T1: how one person strays from its prediction
  double lift = 1.0;       // by what placebo errors exceed that
};

class growing_estimate {
 public:
  explicit growing_estimate(const growing_base& base)
      : base_(base), estimator_(base.statistics, base.options) {
    const gram_statistics& s = base.statistics;
    if (s.covariates > 0) throw std::invalid_argument("a growing release takes no covariates");
    const moments_model& model = estimator_.model();
    const mean_regression fit = estimator_.regression(base.target);
    const Eigen::Index p = s.pre, T1 = s.T1(), T0 = s.T0();
    const Eigen::VectorXd mean = s.mean.head(p), slope = fit.slopes.rowwise().mean();
    const Eigen::MatrixXd covariance = model.covariance.topLeftCorner(p, p);

    centre_ = fit.basis * slope / s.weight;
    if (s.demean) centre_.array() += 1.0 / static_cast<double>(T0);
    centre_at_ = (s.mean.tail(T1).mean() - slope.dot(mean)) / s.weight;
    start_ = centre_.dot(base.target) + centre_at_;

    // Donors' weights in the target's counterfactual are 1 + q'(features - mean).
    // Where the released covariance is nothing, the first release's regression is nothing either,
    // but weights would be largest: the part of the target that lies there is left out.
    Eigen::VectorXd apart = fit.u;
    for (int i = 0; i < 3; ++i) apart -= (covariance * (fit.solve * apart)).eval();
    const Eigen::VectorXd q = fit.solve * (fit.u - apart), whitened = model.restore_A * q;
    like_ = Eigen::VectorXd::Zero(T0);
    // What the noise hides of the donors' variance is taken to be there.
    const double unit = std::sqrt(q.dot(covariance * q) + model.edge * whitened.squaredNorm());
    if (unit > 1e-9) {
      like_ = fit.basis * q / unit;
      like_at_ = -q.dot(mean) / unit;
      reach_ = q.dot(fit.u) / unit;
      answer_ = reach_ / unit;
    }
    spread_ = growing_constants::spread_usual;
    spread_error_ = square(growing_constants::spread_first);
    // The likeness deserves the more weight the further the target is from the donors' mean.
    const double ratio = std::min(4.0, std::max(0.5, reach_));
    weight_ = std::sqrt(ratio);

    linear_ = estimator_.linear(base.target);
    const Eigen::MatrixXd g = (model.restore_B - model.restore_A * fit.slopes) / s.weight;
    const Eigen::VectorXd direction = g.rowwise().mean();
    slope_form_ = form_of(direction, model.restore_A * (fit.solve * fit.u));
    answer_form_ = form_of(direction, model.restore_A * (fit.solve * (covariance * q)));
    moment_ = model.moment_sd * model.moment_sd;
    // Weights that the noise turned away miss a part of what changes since; it may lie in any of
    // the directions that the covariance knows.
    if (unit > 1e-9) {
      const double directions = std::max(1.0, (covariance * fit.solve).trace());
      missed_ = moment_ * square(whitened.squaredNorm() / (unit * unit)) * (1.0 + directions) / 2.0;
    }

    own_ = base.lift * base.own;
    variance_ = least_variance_ = std::max(own_.diagonal().mean(), 1e-8);
    variance_error_ = square(growing_constants::variance_first * variance_);
    correlation_ = growing_constants::correlation_usual;
    if (T1 > 1) {
      const Eigen::VectorXd sd = own_.diagonal().cwiseSqrt();
      const double all = sd.sum() * sd.sum() - sd.squaredNorm();
      correlation_ = (own_.sum() - own_.trace()) / std::max(all, 1e-12);
    }
    correlation_ = within(correlation_);
    correlation_error_ = square(growing_constants::correlation_first);
    slope_error_ = moment_ * slope_form_.squaredNorm();
    drift_prior_ = growing_constants::drift * square(start_ - centre_mean());
  }

  /// What is asked of people in the next period.
  period_frame frame() const {
    const gram_statistics& s = base_.statistics;
    const Eigen::Index T0 = s.T0(), T1 = s.T1(), k = months();
    const double before = static_cast<double>(T1 + k);
    period_frame out;
    out.loadings = Eigen::MatrixXd::Zero(T0 + T1 + k + 1, 3);
    out.origin = Eigen::VectorXd::Zero(3);
    out.weight = weight_;
    const double slope = k > 0 ? slopes_.back() : 0.0, shift = k > 0 ? shifts_.back() : 0.0;
    const double unit = std::sqrt(variance_);
    out.loadings.col(0).head(T0) = -(centre_ + slope * like_) / unit;
    out.loadings(T0 + T1 + k, 0) = 1.0 / unit;
    out.origin[0] = (centre_at_ + shift + slope * like_at_) / unit;
    out.loadings.col(1).head(T0) = like_;
    out.origin[1] = -like_at_;
    double sum_slopes = 0.0, sum_shifts = 0.0;
    for (Eigen::Index t = 0; t < k; ++t) {
      sum_slopes += slopes_[static_cast<std::size_t>(t)];
      sum_shifts += shifts_[static_cast<std::size_t>(t)];
    }
    const double average = average_deviation();
    out.loadings.col(2).head(T0) = -(centre_ + sum_slopes / before * like_) / average;
    out.loadings.col(2).segment(T0, T1 + k).setConstant(1.0 / (before * average));
    out.origin[2] = (centre_at_ + (sum_shifts + sum_slopes * like_at_) / before) / average;
    return out;
  }

  /// One period more.
  void add(const period_release& month) {
    using namespace growing_constants;
    const double unit = std::sqrt(variance_), average = average_deviation();
    // Where vectors were shortened, in terms of the residuals' spread as it is now seen.
    const double now =
        std::min(9.0, std::max(0.5, 1.0 + month.means[2] / period_constants::second));
    const double at = month.radius / (period_constants::usual * std::sqrt(now));
    const double stretch = std::min(4.0, std::max(0.4, at));
    const double kept = shift_kept(stretch), slope_left = slope_kept(stretch);
    const double shift = unit * month.means[0] / kept, shift_noise = square(unit * month.sd / kept);
    const double spread_noise = square(month.sd / period_constants::second);
    const double learn = spread_error_ / (spread_error_ + spread_noise);
    spread_ += learn * (1.0 + month.means[4] / period_constants::second - spread_);
    spread_ = std::min(spread_most, std::max(spread_least, spread_));
    spread_error_ *= 1.0 - learn;
    const double seen_weight = weight_ * spread_ * slope_left;
    const double tilt = unit * month.means[1] / seen_weight;
    const double tilt_noise = square(unit * month.sd / seen_weight);

    // The slope follows a random walk, seen under noise (Kalman, 1960), all in the target's units.
    const double change = square(reach_ * tilt), noise = square(reach_) * tilt_noise;
    evidence_ += change - noise - slope_error_;
    ++evidence_count_;
    const double drift =
        std::max(0.0, (drift_count * drift_prior_ + evidence_) / (drift_count + evidence_count_));
    const double expected = slope_error_ + drift;
    const double gain = reach_ > 0.0 && expected > 0.0 ? expected / (expected + noise) : 0.0;
    slope_error_ = (1.0 - gain) * expected;
    shifts_.push_back((shifts_.empty() ? 0.0 : shifts_.back()) + shift);
    slopes_.push_back((slopes_.empty() ? 0.0 : slopes_.back()) + gain * tilt);
    answers_.push_back((1.0 - gain) * (answers_.empty() ? 0.0 : answers_.back()) +
                       gain * answer_ / spread_);
    left_.push_back((1.0 - gain) * (left_.empty() ? 1.0 : left_.back()));
    // What shortening keeps is known to a part only, which the draw of the radius moves.
    shift_noise_.push_back(shift_noise + square(kept_error * shift) +
                           square(kept_error * reach_ * gain * tilt));
    for (std::vector<double>& older : tilts_) older.push_back((1.0 - gain) * older.back());
    tilts_.push_back({gain * std::sqrt(tilt_noise) * reach_});

    // One person's residual about the group's own: its variance, and that with the earlier ones.
    const double moved = std::max(0.0, square(shift) - shift_noise) +
                         gain * spread_ * std::max(0.0, square(tilt) - tilt_noise);
    const double second = period_constants::second;
    const double seen = variance_ * (1.0 + month.means[2] / second) / kept - moved;
    const double seen_noise = square(variance_ * month.sd / (second * kept));
    const double together = unit * average * month.means[3] / (second * slope_left);
    const double together_noise = square(unit * average * month.sd / (second * slope_left));
    const double middle = own_.diagonal().cwiseSqrt().mean() * unit;
    variance_error_ += square(variance_step * variance_);
    const double follow = variance_error_ / (variance_error_ + seen_noise);
    variance_error_ *= 1.0 - follow;
    // Shortening hides tails: no period is taken for calmer than the first ones.
    variance_ = std::max(least_variance_, variance_ + follow * (seen - variance_));
    correlation_error_ += square(correlation_step);
    const double heed = correlation_error_ / (correlation_error_ + together_noise / square(middle));
    correlation_error_ *= 1.0 - heed;
    correlation_ = within(correlation_ + heed * (together / middle - correlation_));
    append_own(variance_ + 0.5 * std::sqrt(variance_error_));
  }

  Eigen::Index months() const { return static_cast<Eigen::Index>(shifts_.size()); }

  /// The new periods' counterfactuals, scaled units.
  Eigen::VectorXd path(double half) const {
    Eigen::VectorXd out(months());
    for (std::size_t t = 0; t < shifts_.size(); ++t)
      out[static_cast<Eigen::Index>(t)] =
          std::min(half, std::max(-half, start_ + shifts_[t] + slopes_[t] * reach_));
    return out;
  }

  /// How one person strays from its prediction, all periods: without the lift.
  Eigen::MatrixXd own() const { return own_ / base_.lift; }

  /// What is left, in each new period, of the error that the base's slopes make.
  Eigen::VectorXd left() const { return Eigen::Map<const Eigen::VectorXd>(left_.data(), months()); }

  /// Covariance of the noise's errors in all periods after the treatment; `base` is that of the
  /// base's own.
  Eigen::MatrixXd privacy(const Eigen::MatrixXd& base) const {
    const Eigen::Index T1 = base_.statistics.T1(), k = months();
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(T1 + k, T1 + k);
    out.topLeftCorner(T1, T1) = base;
    std::vector<Eigen::MatrixXd> form;
    for (double answered : answers_) form.push_back(slope_form_ - answered * answer_form_);
    const auto inner = [](const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
      return a.cwiseProduct(b).sum();
    };
    for (Eigen::Index t = 0; t < k; ++t) {
      const Eigen::MatrixXd& own = form[static_cast<std::size_t>(t)];
      for (Eigen::Index b = 0; b < T1; ++b)
        out(b, T1 + t) = out(T1 + t, b) =
            moment_ * inner(linear_.form[static_cast<std::size_t>(b)], own);
      for (Eigen::Index u = 0; u <= t; ++u) {
        const auto at = static_cast<std::size_t>(t), before = static_cast<std::size_t>(u);
        double both = moment_ * inner(own, form[before]) +
                      missed_ * square(reach_) * slopes_[at] * slopes_[before];
        for (Eigen::Index made = 0; made <= u; ++made) {
          const std::vector<double>& tilt = tilts_[static_cast<std::size_t>(made)];
          both +=
              tilt[static_cast<std::size_t>(t - made)] * tilt[static_cast<std::size_t>(u - made)];
        }
        if (u == t) both += shift_noise_[static_cast<std::size_t>(t)];
        out(T1 + t, T1 + u) = out(T1 + u, T1 + t) = both;
      }
    }
    return out;
  }

 private:
  static double square(double x) { return x * x; }
  static double within(double x) { return std::min(0.98, std::max(0.0, x)); }

  double average_deviation() const { return std::sqrt(std::max(own_.mean(), 1e-8)); }

  /// The prediction at the donors' mean.
  double centre_mean() const {
    const gram_statistics& s = base_.statistics;
    const double level = s.demean ? base_.target.mean() : 0.0;
    return s.mean.tail(s.T1()).mean() / s.weight + level;
  }

  Eigen::MatrixXd form_of(const Eigen::VectorXd& g, const Eigen::VectorXd& h) const {
    Eigen::MatrixXd form = (g * h.transpose() + h * g.transpose()) / 2.0;
    const Eigen::MatrixXd& lost = estimator_.model().noise_directions;
    if (lost.cols() > 0)
      form -= (lost * (lost.transpose() * form * lost) * lost.transpose()).eval();
    return form;
  }

  /// A period more, equally correlated with all before, as far as a covariance can be.
  void append_own(double variance) {
    const Eigen::Index k = own_.rows();
    Eigen::VectorXd with = correlation_ * std::sqrt(variance) * own_.diagonal().cwiseSqrt();
    Eigen::MatrixXd ridge = own_;
    ridge.diagonal().array() += 1e-9 * std::max(own_.trace(), 1e-12);
    const double explained = with.dot(ridge.ldlt().solve(with));
    if (explained > 0.98 * variance) with *= std::sqrt(0.98 * variance / explained);
    Eigen::MatrixXd out(k + 1, k + 1);
    out.topLeftCorner(k, k) = own_;
    out.col(k).head(k) = with;
    out.row(k).head(k) = with.transpose();
    out(k, k) = variance;
    own_ = out;
  }

  growing_base base_;
  counterfactual_estimator estimator_;
  Eigen::VectorXd centre_, like_;  // T0: of a scaled row
  double centre_at_ = 0.0, like_at_ = 0.0;
  double start_ = 0.0;   // the base's prediction of the target
  double reach_ = 0.0;   // the target's own likeness
  double answer_ = 0.0;  // by which a slope that is found moves the target, over the spread
  double spread_ = 0.0, spread_error_ = 0.0;  // variance of the donors' likeness
  double weight_ = 1.0;
  linear_error linear_;
  Eigen::MatrixXd slope_form_, answer_form_;
  double moment_ = 0.0;
  double missed_ = 0.0;  // squared share of a change of the slope that the weights may miss

  std::vector<double> shifts_, slopes_;  // sums up to each period
  std::vector<double> answers_, left_, shift_noise_;
  std::vector<std::vector<double>> tilts_;  // deviations of slopes' noise, by period made and on
  double slope_error_ = 0.0, drift_prior_ = 0.0, evidence_ = 0.0, evidence_count_ = 0.0;
  Eigen::MatrixXd own_;  // lifted
  double variance_ = 0.0, least_variance_ = 0.0, variance_error_ = 0.0;
  double correlation_ = 0.0, correlation_error_ = 0.0;
};

}  // namespace dpsc
