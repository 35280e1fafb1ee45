// Bodies of growing.hpp.
#pragma once

#include "growing.hpp"

#include "../linalg.hpp"

namespace dpsc {

growing_estimate::growing_estimate(const growing_base& base)
    : base_(base), estimator_(base.statistics, base.options) {
  const gram_statistics& s = base.statistics;
  const mean_regression fit = estimator_.regression(base.target);
  const Eigen::VectorXd mean = s.mean.head(s.pre), slope = fit.slopes.rowwise().mean();
  centre_ = fit.basis * slope / s.weight;
  const Eigen::Index before = s.periods_before();
  if (s.demean) centre_.head(before).array() += 1.0 / static_cast<double>(before);
  centre_at_ = (s.mean.tail(s.T1()).mean() - slope.dot(mean)) / s.weight;
  start_ = centre_.dot(base.target) + centre_at_;
  const Eigen::MatrixXd directions = choose_directions(fit);
  ways_ = fit.basis * directions;
  ways_at_ = -(directions.transpose() * mean);
  reach_ = directions.transpose() * fit.u;
  // Directions are too long by the part of the moments that clipping removed.
  spread_ = 1.0;
  if (base.radius > 0.0) {
    const Eigen::VectorXd kept = eigh(s.covariance).eigenvalues().cwiseMax(0.0);
    spread_ = 1.0 / moments_kept(kept, base.radius);
  }
  spread_error_ = square(growing_constants::spread_first * spread_);
  moves_ = sums_moves_ = Eigen::VectorXd::Zero(ways_.cols());
  prepare_errors(fit, directions, slope);

  own_ = base.lift * base.own;
  variance_ = least_variance_ = std::max(own_.diagonal().mean(), 1e-8);
  variance_error_ = square(growing_constants::variance_first * variance_);
  correlation_ = growing_constants::correlation_usual;
  if (s.T1() > 1) {
    const Eigen::VectorXd sd = own_.diagonal().cwiseSqrt();
    const double all = sd.sum() * sd.sum() - sd.squaredNorm();
    correlation_ = (own_.sum() - own_.trace()) / std::max(all, 1e-12);
  }
  correlation_ = within(correlation_);
  correlation_error_ = square(growing_constants::correlation_first);
}

period_frame growing_estimate::frame() const {
  const gram_statistics& s = base_.statistics;
  const Eigen::Index T0 = s.T0(), T1 = s.T1(), k = months(), m = ways_.cols();
  const double before = static_cast<double>(T1 + k);
  period_frame out;
  out.loadings = Eigen::MatrixXd::Zero(T0 + T1 + k + 1, 2 + m);
  out.origin = Eigen::VectorXd::Zero(2 + m);
  out.aim = aim();
  const double unit = std::sqrt(variance_), average = average_deviation();
  out.loadings.col(0).head(T0) = -(centre_ + ways_ * moves_) / unit;
  out.loadings(T0 + T1 + k, 0) = 1.0 / unit;
  out.origin[0] = (centre_at_ + shift_ + moves_.dot(ways_at_)) / unit;
  out.loadings.col(1).head(T0) = -(centre_ + ways_ * sums_moves_ / before) / average;
  out.loadings.col(1).segment(T0, T1 + k).setConstant(1.0 / (before * average));
  out.origin[1] = (centre_at_ + (sum_shifts_ + sums_moves_.dot(ways_at_)) / before) / average;
  out.loadings.topRightCorner(T0, m) = ways_ / std::sqrt(spread_);
  out.origin.tail(m) = -ways_at_ / std::sqrt(spread_);
  return out;
}

void growing_estimate::add(const period_release& month) {
  using namespace growing_constants;
  using namespace period_constants;
  const Eigen::Index m = ways_.cols();
  const Eigen::VectorXd at = aim(), e = at.normalized();
  const period_law law(e);
  const double unit = std::sqrt(variance_), before = spread_;
  const double now = find_variance(law, month);
  const double likeness = find_spread(law, month, now);
  const period_law::kept kept = law.shifts(month.radius, now);

  // Sums of the residuals' products with the constant and with each direction; the directions are
  // nearly uncorrelated.
  const Eigen::VectorXd sums = month.means.head(m + 1);
  Eigen::VectorXd found = (sums - e * e.dot(sums)) / (other * kept.other);
  found += e * (e.dot(sums) / kept.aim);
  Eigen::VectorXd weigh = Eigen::VectorXd::Ones(m + 1);
  weigh.tail(m).setConstant(before / likeness);
  const Eigen::VectorXd change = unit * weigh.cwiseProduct(found);
  const double aim_sd = unit * month.sd / kept.aim;
  const double other_sd = unit * month.sd / (other * kept.other);
  const Eigen::VectorXd asked = weigh.cwiseProduct(at);
  const double along = asked.dot(e);
  const double noise = square(aim_sd * along) +
                       square(other_sd) * std::max(0.0, asked.squaredNorm() - along * along);

  // Slopes follow a random walk that is observed with noise (Kalman, 1960), along the aim and
  // across it.
  const double moved = at.dot(change), size = at.squaredNorm();
  const Eigen::VectorXd across = change - at * (moved / size);
  const double gain = target_walk_.follow(square(moved), noise);
  const double dimensions = static_cast<double>(m);
  const double gain_across =
      m > 0 ? std::min(most_across,
                       other_walk_.follow(across.squaredNorm() / dimensions, square(other_sd)))
            : 0.0;
  const Eigen::VectorXd step = gain * moved / size * at + gain_across * across;
  shift_ += step[0];
  moves_ += step.tail(m) / std::sqrt(before);
  sum_shifts_ += shift_;
  sums_moves_ += moves_;
  path_.push_back(start_ + shift_ + moves_.dot(reach_));
  turns_.push_back(moves_);
  spread_left_.push_back(std::sqrt(spread_error_) / spread_);
  stays_.push_back(1.0 - gain);
  left_.push_back((1.0 - gain) * (left_.empty() ? 1.0 : left_.back()));
  target_error_.push_back(target_walk_.error);
  // The part kept by clipping is only approximately known, and depends on the draw of the radius.
  extra_.push_back(square(kept_error * (1.0 - kept.aim) * gain * moved));

  // One person's residual around the group's mean: its variance, and its covariance with earlier
  // residuals.
  const double explained =
      gain * std::max(0.0, square(moved) - noise) / size +
      gain_across * std::max(0.0, across.squaredNorm() - dimensions * square(other_sd));
  const double slope = (law.seconds(month.radius, 1.2 * now, 1.0)[0] -
                        law.seconds(month.radius, now / 1.2, 1.0)[0]) /
                       (now * (1.2 - 1.0 / 1.2));
  const double seen_noise = square(variance_ * month.sd / std::max(slope, 0.2 * second));
  const double seen = variance_ * now - explained;
  const double average = average_deviation(), middle = own_.diagonal().cwiseSqrt().mean() * unit;
  const double keeps = second * kept.aim;
  const double together = unit * average * month.means[parts - 2] / keeps;
  const double together_noise = square(unit * average * month.sd / keeps);
  variance_error_ += square(variance_step * variance_);
  const double follow = variance_error_ / (variance_error_ + seen_noise);
  variance_error_ *= 1.0 - follow;
  // Clipping hides tails, so no period is assumed to vary less than the first periods.
  variance_ = std::max(least_variance_, variance_ + follow * (seen - variance_));
  correlation_error_ += square(correlation_step);
  const double heed = correlation_error_ / (correlation_error_ + together_noise / square(middle));
  correlation_error_ *= 1.0 - heed;
  correlation_ = within(correlation_ + heed * (together / middle - correlation_));
  append_own(variance_ + 0.5 * std::sqrt(variance_error_));
}

Eigen::VectorXd growing_estimate::path(double half) const {
  return Eigen::Map<const Eigen::VectorXd>(path_.data(), months()).cwiseMin(half).cwiseMax(-half);
}

Eigen::MatrixXd growing_estimate::privacy(const Eigen::MatrixXd& base) const {
  const Eigen::Index T1 = base_.statistics.T1(), k = months();
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(T1 + k, T1 + k);
  out.topLeftCorner(T1, T1) = base;
  // The base's errors were corrected later, if it had a round for the target.
  const double mean = base.mean();
  const double shared = mean > start_error_ ? std::sqrt(start_error_ / mean) : 1.0;
  for (Eigen::Index t = 0; t < k; ++t) {
    const auto at = static_cast<std::size_t>(t);
    out.col(T1 + t).head(T1) = shared * left_[at] * base.rowwise().mean();
    double stays = 1.0;
    for (Eigen::Index u = t; u >= 0; --u) {
      const auto before = static_cast<std::size_t>(u);
      out(T1 + u, T1 + t) = stays * target_error_[before] + missed(at, before);
      if (u == t) out(T1 + t, T1 + t) += extra_[at];
      stays *= stays_[before];
    }
    out.row(T1 + t).head(T1 + t) = out.col(T1 + t).head(T1 + t).transpose();
  }
  return out;
}

Eigen::MatrixXd growing_estimate::model() const {
  const Eigen::Index T1 = base_.statistics.T1(), k = months();
  Eigen::VectorXd spread = Eigen::VectorXd::Zero(T1 + k);
  for (Eigen::Index t = 0; t < k; ++t) {
    const auto at = static_cast<std::size_t>(t);
    spread[T1 + t] = spread_left_[at] * turns_[at].dot(reach_);
  }
  return spread * spread.transpose();
}

double growing_estimate::walk::follow(double change, double noise) {
  using namespace growing_constants;
  evidence += change - noise - error;
  count += 1.0;
  const double expected =
      error + std::max(0.0, (drift_count * prior + evidence) / (drift_count + count));
  const double gain = expected > 0.0 ? expected / (expected + noise) : 0.0;
  error = (1.0 - gain) * expected;
  return gain;
}

Eigen::VectorXd growing_estimate::aim() const {
  Eigen::VectorXd out(ways_.cols() + 1);
  out[0] = 1.0;
  out.tail(ways_.cols()) = reach_ / std::sqrt(spread_);
  return out;
}

Eigen::MatrixXd growing_estimate::choose_directions(const mean_regression& fit) const {
  using namespace growing_constants;
  const moments_model& model = estimator_.model();
  const Eigen::Index p = base_.statistics.pre;
  const Eigen::MatrixXd covariance = model.covariance.topLeftCorner(p, p);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(covariance);
  const Eigen::VectorXd& values = spectrum.eigenvalues();
  const double least = std::max(least_direction * values[p - 1], 1e-12);
  const Eigen::Index k =
      std::min<Eigen::Index>(period_constants::directions, (values.array() > least).count());
  if (k == 0) return Eigen::MatrixXd(p, 0);
  const Eigen::VectorXd sd = values.tail(k).cwiseSqrt();
  const Eigen::MatrixXd top = spectrum.eigenvectors().rightCols(k);
  // In directions where the released covariance is zero the first release's regression is zero as
  // well, but weights would be largest: the target's part in these directions is left out.
  Eigen::VectorXd apart = fit.u;
  for (int i = 0; i < 3; ++i) apart -= (covariance * (fit.solve * apart)).eval();
  Eigen::VectorXd q = fit.solve * (fit.u - apart);
  double unit = std::sqrt(q.dot(covariance * q) + model.edge * (model.restore_A * q).squaredNorm());
  if (!(unit > 1e-9)) {
    q = top.col(k - 1);
    unit = sd[k - 1];
  }
  Eigen::MatrixXd out(p, k);
  out.col(0) = q / unit;
  const Eigen::VectorXd along = sd.cwiseProduct(top.transpose() * q);
  const Eigen::MatrixXd across = leading_q(along, k);
  out.rightCols(k - 1) = top * sd.cwiseInverse().asDiagonal() * across.rightCols(k - 1);
  return out;
}

void growing_estimate::prepare_errors(const mean_regression& fit, const Eigen::MatrixXd& directions,
                                      const Eigen::VectorXd& slope) {
  const gram_statistics& s = base_.statistics;
  const moments_model& model = estimator_.model();
  const Eigen::VectorXd g =
      ((model.restore_B - model.restore_A * fit.slopes) / s.weight).rowwise().mean();
  const Eigen::MatrixXd whitened = model.restore_A * directions;
  const Eigen::VectorXd h = model.restore_A * (fit.solve * fit.u);
  const double variance = model.moment_sd * model.moment_sd / 2.0;
  sizes_ = whitened.colwise().squaredNorm();
  target_walk_.error = variance * (g.squaredNorm() * h.squaredNorm() + square(g.dot(h)));
  start_error_ = target_walk_.error;
  const double explained =
      slope.dot(model.covariance.topLeftCorner(s.pre, s.pre) * slope) / square(s.weight);
  const double m = std::max(1.0, static_cast<double>(ways_.cols()));
  other_walk_.prior = growing_constants::drift * explained / m;
  target_walk_.prior = other_walk_.prior * (1.0 + reach_.squaredNorm());
  if (ways_.cols() > 0) {
    other_walk_.error = variance * g.squaredNorm() * sizes_.mean();
    missed_ = variance * square(reach_[0]) * sizes_[0];
  }
}

double growing_estimate::missed(std::size_t t, std::size_t u) const {
  const Eigen::VectorXd &a = turns_[t], &b = turns_[u];
  if (a.size() == 0) return 0.0;
  const double both = a.cwiseProduct(b).dot(sizes_);
  const double mean_sd = base_.statistics.mean_sd;
  return missed_ * (both + a[0] * b[0] * sizes_[0]) + mean_sd * mean_sd * both;
}

double growing_estimate::find_variance(const period_law& law, const period_release& month) const {
  const double seen = month.means[period_constants::parts - 3];
  double low = std::log(0.3), high = std::log(9.0);
  for (int i = 0; i < 9; ++i) {
    const double at = (low + high) / 2.0;
    (law.seconds(month.radius, std::exp(at), 1.0)[0] < seen ? low : high) = at;
  }
  return std::exp((low + high) / 2.0);
}

double growing_estimate::find_spread(const period_law& law, const period_release& month,
                                     double now) {
  using namespace growing_constants;
  const double one = law.seconds(month.radius, now, 1.0)[1];
  const double slope = std::max((law.seconds(month.radius, now, 1.3)[1] - one) / 0.3, 0.02);
  const double seen = spread_ * (1.0 + (month.means[period_constants::parts - 1] - one) / slope);
  const double noise = square(spread_ * month.sd / slope);
  const double learn = spread_error_ / (spread_error_ + noise);
  spread_ += learn * (seen - spread_);
  spread_ = std::min(spread_most, std::max(spread_least, spread_));
  spread_error_ *= 1.0 - learn;
  return spread_;
}

void growing_estimate::append_own(double variance) {
  const Eigen::Index k = own_.rows();
  Eigen::VectorXd with = correlation_ * std::sqrt(variance) * own_.diagonal().cwiseSqrt();
  Eigen::MatrixXd ridge = own_;
  ridge.diagonal().array() += 1e-9 * std::max(own_.trace(), 1e-12);
  const double explained = with.dot(ldlt(ridge).solve(with));
  if (explained > 0.98 * variance) with *= std::sqrt(0.98 * variance / explained);
  Eigen::MatrixXd out(k + 1, k + 1);
  out.topLeftCorner(k, k) = own_;
  out.col(k).head(k) = with;
  out.row(k).head(k) = with.transpose();
  out(k, k) = variance;
  own_ = out;
}

}  // namespace dpsc
