// Bodies of treated_tail.hpp.
#pragma once

#include "treated_tail.hpp"

#include "../rows/wide.hpp"

namespace dpsc {

tail_knots::tail_knots(double bend_at, double least, double reach) : bend(bend_at) {
  using namespace tail_constants;
  int size = 1;
  while (size < most_knots && first * least * std::ldexp(1.0, size - 1) < reach) ++size;
  knots.resize(size);
  for (int k = 0; k < size; ++k) knots[k] = first * bend * std::ldexp(1.0, k);
}

namespace treated_detail {

unit_pair::unit_pair(double position, double ratio) {
  const double root = std::sqrt(std::max(0.0, 1.0 + ratio * ratio - position * position));
  far = std::min(1.0, std::max(0.0, (ratio * position - root) / (1.0 + ratio * ratio)));
  near = std::sqrt(1.0 - far * far);
}

bent_moments::bent_moments(Eigen::Index dimension, double radius, double limit, tail_knots steps,
                           Eigen::Index T1)
    : rows_(dimension, radius, limit),
      steps_(std::move(steps)),
      T1_(T1),
      one_(rows_.zoom() * radius),
      sum_(Eigen::VectorXd::Zero(dimension + steps_.knots.size())),
      gram_(Eigen::MatrixXd::Zero(sum_.size(), sum_.size())) {
  // A row beyond the bend is as long as its clip, so its length cannot grow.
  if (!(steps_.bend >= radius)) throw std::invalid_argument("a bend within the clip");
}

void bent_moments::add(const Eigen::MatrixXd& z) {
  const Eigen::Index d = z.cols(), size = steps_.knots.size();
  const Eigen::ArrayXd along =
      z.rightCols(T1_).rowwise().sum().array() / std::sqrt(static_cast<double>(T1_));
  Eigen::ArrayXd share = Eigen::ArrayXd::Ones(z.rows());
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(z.rows(), d + size);
  for (Eigen::Index i = 0; i < z.rows(); ++i) {
    const double far = std::fabs(along[i]);
    if (!(far > steps_.bend)) continue;
    // Towards zero, so that the squares of weights add up to at most one.
    const auto put = [&](Eigen::Index k, double weight) {
      out(i, d + k) = std::trunc(std::copysign(one_ * weight, along[i]));
    };
    Eigen::Index k = 0;
    while (k < size && steps_.knots[k] < far) ++k;
    if (k == size) {
      share[i] = 0.0;
      put(size - 1, 1.0);
      continue;
    }
    const double before = k == 0 ? steps_.bend : steps_.knots[k - 1];
    const unit_pair weights(far / before, steps_.knots[k] / before);
    share[i] = k == 0 ? weights.near : 0.0;
    put(k, weights.far);
    if (k > 0) put(k - 1, weights.near);
  }
  out.leftCols(d) = rows_.clip(z, share);
  if (!(squared_row_norms(out) <= rows_.limit() * rows_.limit()).all())
    throw std::logic_error("a row with a tail is longer than its limit");
  sum_ += out.colwise().sum().transpose();
  add_whole_gram(out, gram_, has_wide_vectors());
}

}  // namespace treated_detail

tail_moments release_tail(const row_source& source, const grid_map& rows, double n, double radius,
                          const moments_step& step, const tail_knots& at, Eigen::Index T1,
                          noise& draws, const ticker& tick) {
  const Eigen::Index d = rows.map.dimension(), size = at.knots.size();
  const double clip = radius_steps(radius, rows);
  tail_knots steps = at;
  steps.bend = std::max(clip, at.bend / rows.unit);
  steps.knots = at.knots / rows.unit;
  treated_detail::bent_moments sums(d, clip, step.limit, steps, T1);
  add_features(source, rows.map, sums, tick);
  Eigen::VectorXd first = step.constant * sums.sum();
  const Eigen::MatrixXd gram =
      add_symmetric(sums.gram(), step.record.label, step.kind, step.noise, draws, &first);
  const double grid = rows.unit / sums.zoom(), people = step.constant * n;
  tail_moments out;
  out.second = gram.topLeftCorner(d, d) * (grid * grid / n);
  out.mean = first.head(d) * (grid / people);
  out.mean_sd = step.sigma / std::sqrt(2.0) * grid / people;
  out.second_sd = step.sigma * grid * grid / n;
  out.tail = first.tail(size) / (sums.one() * people);
  out.tail_sd = step.sigma / std::sqrt(2.0) / (sums.one() * people);
  out.both = gram.bottomRightCorner(size, size) / (sums.one() * sums.one() * n);
  out.both_sd = step.sigma / (sums.one() * sums.one() * n);
  return out;
}

}  // namespace dpsc
