// Bodies of tails.hpp.
#pragma once

#include "tails.hpp"

namespace dpsc {

double tail_beyond(double c, double scale, double shape) {
  if (shape == 0.0) return scale * std::exp(-c / scale);
  return scale * std::pow(1.0 + shape * c / scale, 1.0 - 1.0 / shape) / (1.0 - shape);
}

namespace tail_detail {

/// One tail's fit: the log of its evidence, the level beyond all clips, its variance, and `left`.
struct tail_fit {
  double evidence, level, variance, left;
};

/// Change of the mean beyond c by a larger scale, relative.
inline double beyond_by_scale(double c, double scale, double shape) {
  constexpr double h = 1e-3;
  return (tail_beyond(c, scale * (1.0 + h), shape) - tail_beyond(c, scale * (1.0 - h), shape)) /
         (2.0 * h);
}

inline double left_of(const std::vector<clipped_level>& levels, double range, double scale,
                      double shape) {
  const double end = beyond_by_scale(range, scale, shape);
  const double narrow = beyond_by_scale(levels.front().clip, scale, shape) - end;
  double wide = 0.0, count = 0.0;
  for (const clipped_level& own : levels) {
    if (!own.used) continue;
    wide += beyond_by_scale(own.clip, scale, shape) - end;
    count += 1.0;
  }
  wide /= std::max(count, 1.0);
  const double seen = narrow - wide;
  return seen > 0.0 ? std::min(tail_constants::most_left, std::max(0.0, wide / seen))
                    : tail_constants::most_left;
}

/// Levels are limit - size g(c): least squares with a weak prior for the size.
inline tail_fit fit_one(const std::vector<clipped_level>& levels, double range, double scale,
                        double shape) {
  using namespace tail_constants;
  const double end = tail_beyond(range, scale, shape);
  const double jump = levels[1].level - levels[0].level;
  double most = 0.0;
  for (const clipped_level& own : levels)
    most = std::max({most, std::fabs(own.level - levels[0].level), own.sd});
  const double change = tail_beyond(levels.front().clip, scale, shape) -
                        tail_beyond(levels.back().clip, scale, shape);
  const double tau = jumps * most / std::max(std::fabs(change), 1e-12);
  Eigen::Matrix2d A = Eigen::Matrix2d::Zero();
  Eigen::Vector2d c = Eigen::Vector2d::Zero();
  A(1, 1) = 1.0 / (tau * tau);
  const auto variance = [&](std::size_t t) {
    const double model = each * each + (t == 0 ? core * core : 0.0);
    return levels[t].sd * levels[t].sd + model * jump * jump;
  };
  for (std::size_t t = 0; t < levels.size(); ++t) {
    const Eigen::Vector2d x(1.0, end - tail_beyond(levels[t].clip, scale, shape));
    A += x * x.transpose() / variance(t);
    c += x * levels[t].level / variance(t);
  }
  const Eigen::Matrix2d V = A.inverse();
  const Eigen::Vector2d b = V * c;
  double misfit = b[1] * b[1] / (tau * tau);
  for (std::size_t t = 0; t < levels.size(); ++t) {
    const double g = tail_beyond(levels[t].clip, scale, shape) - end;
    const double off = levels[t].level - b[0] + b[1] * g;
    misfit += off * off / variance(t);
  }
  return {-misfit / 2.0 + std::log(V.determinant()) / 2.0 - std::log(tau), b[0], V(0, 0),
          left_of(levels, range, scale, shape)};
}

}  // namespace tail_detail

lm_tail extrapolate_level(const std::vector<clipped_level>& levels, double deviation,
                          double range) {
  using namespace tail_constants;
  std::vector<tail_detail::tail_fit> fits;
  double top = -std::numeric_limits<double>::infinity();
  for (double own : shape) {
    for (int k = first_scale; k <= last_scale; ++k) {
      const double scale = std::pow(2.0, k / 2.0), far = k / (2.0 * scale_spread);
      tail_detail::tail_fit fit = tail_detail::fit_one(levels, range, scale * deviation, own);
      fit.evidence +=
          std::log((1.0 - unknown) * std::exp(-far * far / 2.0) + unknown) - own / shape_rate;
      if (!std::isfinite(fit.evidence)) continue;
      top = std::max(top, fit.evidence);
      fits.push_back(fit);
    }
  }
  lm_tail out;
  double total = 0.0;
  for (tail_detail::tail_fit& fit : fits) total += fit.evidence = std::exp(fit.evidence - top);
  for (const tail_detail::tail_fit& fit : fits) {
    out.level += fit.evidence / total * fit.level;
    out.left += fit.evidence / total * fit.left;
  }
  for (const tail_detail::tail_fit& fit : fits) {
    const double off = fit.level - out.level, rest = fit.left - out.left;
    out.variance += fit.evidence / total * (fit.variance + off * off);
    out.left_variance += fit.evidence / total * rest * rest;
  }
  return out;
}

}  // namespace dpsc
