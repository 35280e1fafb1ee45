// Bodies of described.hpp.
#pragma once

#include "described.hpp"

#include <array>

namespace dpsc {

namespace describe_detail {

inline double at_quantile(const described_number& found, const std::vector<int>& thousandths,
                          int which) {
  const auto at = std::find(thousandths.begin(), thousandths.end(), which);
  if (at == thousandths.end()) throw std::invalid_argument("quartiles are missing");
  return found.quantiles[at - thousandths.begin()];
}

/// A side of the window if no radius was drawn: a multiple of the distance between quartile and
/// median, or up to the bound.
inline double side_of(double own, double other) {
  const double far = std::max(own, 0.3 * (own + other));
  return far > 0.0 ? describe_constants::window * far : std::numeric_limits<double>::infinity();
}

/// A cumulative curve through the released values: values at increasing shares.
struct curve {
  std::vector<double> share, value;

  void add(double s, double v) {
    share.push_back(s);
    value.push_back(value.empty() ? v : std::max(v, value.back()));
  }

  double at(double s) const {
    if (s <= share.front()) return value.front();
    for (std::size_t i = 1; i < share.size(); ++i) {
      if (s > share[i]) continue;
      const double width = share[i] - share[i - 1];
      const double t = width > 0.0 ? (s - share[i - 1]) / width : 1.0;
      return value[i - 1] + t * (value[i] - value[i - 1]);
    }
    return value.back();
  }

  /// Is a piece near this point almost flat, compared with the others? Then many people share a
  /// value.
  bool flat_beside(double s) const {
    double least = std::numeric_limits<double>::infinity(), most = 0.0;
    for (std::size_t i = 2; i + 1 < share.size(); ++i) {
      if (std::fabs(0.5 * (share[i] + share[i - 1]) - s) > 0.4) continue;
      const double slope = (value[i] - value[i - 1]) / (share[i] - share[i - 1]);
      least = std::min(least, slope);
      most = std::max(most, slope);
    }
    return least < 0.05 * most;
  }
};

inline double share_beyond(const describe_facts& facts, const describe_plan& plan) {
  return plan.beyond * facts.parts() / facts.n;
}

/// Adds a knot between the curve's outermost point and the bound. Up to the knot the slope is
/// `thinner` times the slope inside; beyond it nothing is assumed. A curve that is flat inside gets
/// no knot.
inline void soften(curve& own, std::size_t outer, std::size_t inner, std::size_t end) {
  const double slope =
      (own.value[outer] - own.value[inner]) / (own.share[outer] - own.share[inner]);
  const double left = own.share[end] - own.share[outer];
  const double knee = own.value[outer] + 0.8 * left * describe_constants::thinner * slope;
  const double plain = own.value[outer] + 0.8 * (own.value[end] - own.value[outer]);
  if (!(slope > 0.0) || std::fabs(knee - own.value[outer]) >= std::fabs(plain - own.value[outer]))
    return;
  const auto at = static_cast<std::ptrdiff_t>(std::max(outer, end));
  own.share.insert(own.share.begin() + at, own.share[outer] + 0.8 * left);
  own.value.insert(own.value.begin() + at, knee);
}

inline curve curve_of(const describe_facts& facts, const describe_plan& plan,
                      const described_number& found, std::size_t number, double people) {
  curve out;
  out.add(0.0, facts.lower[number]);
  const double beyond = found.reached() ? plan.beyond / people : 0.0;
  const double median = at_quantile(found, facts.quantiles, 500);
  const double first = facts.quantiles.front() / 1000.0, last = facts.quantiles.back() / 1000.0;
  if (beyond > 0.0 && beyond < first)
    out.add(beyond, std::min(median - found.radii[0], found.quantiles[0]));
  for (std::size_t k = 0; k < facts.quantiles.size(); ++k)
    out.add(facts.quantiles[k] / 1000.0, found.quantiles[static_cast<Eigen::Index>(k)]);
  if (beyond > 0.0 && 1.0 - beyond > last) out.add(1.0 - beyond, median + found.radii[1]);
  out.add(1.0, facts.upper[number]);
  out.value.back() = facts.upper[number];
  for (double& v : out.value) v = std::min(v, facts.upper[number]);
  // Near the bounds the density is at least the density just inside, divided by `thinner`.
  const std::size_t last_one = out.share.size() - 1;
  soften(out, last_one - 1, last_one - 2, last_one);
  soften(out, 1, 2, 0);
  return out;
}

/// The people who are farther than `edge` from the median on one side, if the tail follows a power
/// law through the distances of the quartile and of the radius; `end` is the distance of the bound,
/// to which people past it are moved.
struct power_tail {
  double share = 0.0, power = 0.0;  // beyond the edge; 0: no tail
  double edge = 0.0, end = 0.0;

  power_tail(double quartile, double radius, double at_radius, double from, double to,
             double least = 0.0)
      : edge(from), end(to) {
    const double inner = std::max(quartile, radius / 20.0);
    if (!(edge < end && radius > 0.0 && at_radius < 0.25 && inner < radius)) return;
    // Tails become steeper outwards, by this measured factor (bench/describe.R).
    constexpr double steeper = 1.5;
    power = std::max(least, steeper * std::log(0.25 / at_radius) / std::log(radius / inner));
    share = at_radius * std::pow(radius / edge, power);
  }

  /// Where no radius was drawn: the power that tails of lognormal columns have there. `window` is
  /// `describe_constants::window` distances of the quartile.
  static power_tail unseen(double window, double from, double to) {
    power_tail out(0.0, 0.0, 1.0, from, to);
    if (!(from < to && std::isfinite(window))) return out;
    constexpr double fall = 1.5;
    out.power = fall;
    out.share = 0.25 * std::pow(window / describe_constants::window / from, fall);
    return out;
  }

  /// Integral of t^(k - 1) (t / edge)^-power from the edge to the end, over edge^k.
  double moment(double k) const {
    if (std::fabs(power - k) <= 1e-6) return std::log(end / edge);
    return (std::pow(end / edge, k - power) - 1.0) / (k - power);
  }

  /// Mean of their distances beyond the edge, and of their squared distances from the median; per
  /// person of the whole group.
  double mean() const { return share > 0.0 ? share * edge * moment(1.0) : 0.0; }
  double square() const {
    if (!(share > 0.0)) return 0.0;
    return share * edge * edge * (power * moment(2.0) + std::pow(end / edge, 2.0 - power));
  }
};

/// The power of ten on whose multiples a column's values seem to lie: the smallest step of the
/// round quantiles; 0 if none is round. Unless most are round, which is rarely chance, it is at
/// most four times as long as the limits without it.
inline double common_step(const place_grid& grid, const Eigen::VectorXd& quantiles, double length) {
  double least = std::numeric_limits<double>::infinity();
  Eigen::Index round = 0;
  for (Eigen::Index k = 0; k < quantiles.size(); ++k) {
    const double step = step_of(grid, quantiles[k]);
    if (!(step > 0.0)) continue;
    ++round;
    least = std::min(least, step);
  }
  if (!std::isfinite(least)) return 0.0;
  while (2 * round <= quantiles.size() && least > 4.0 * length) least /= 10.0;
  return least;
}

inline described_row row_of(double estimate, double sampling, double privacy, double low,
                            double high) {
  described_row out;
  out << estimate, std::hypot(sampling, privacy), privacy, low, high;
  return out;
}

/// The noise's quantile depends on its distribution: a Laplace tail is longer than a normal tail.
inline double noise_reach(const describe_plan& plan, const describe_level& level) {
  return plan.gaussian ? level.reach : -std::log(level.alpha) / std::sqrt(2.0);
}

/// Limits of an estimate with sampling error and noise, within `least` and `most`.
inline described_row limited(const describe_plan& plan, const describe_level& level,
                             double estimate, double sampling, double privacy, double least,
                             double most, double down = 0.0, double up = 0.0) {
  const double reach = std::hypot(level.reach * sampling, noise_reach(plan, level) * privacy);
  return row_of(std::min(most, std::max(least, estimate)), sampling, privacy,
                std::max(least, std::min(most, estimate - reach - down)),
                std::min(most, std::max(least, estimate + reach + up)));
}

/// A deficit of people that noise explains, in standard deviations: exceeded with probability .002.
inline double hardly(const describe_plan& plan) { return plan.gaussian ? 2.9 : 3.9; }

/// Noise on one number, in standard deviations, that is exceeded with probability .05.
inline double unlikely(const describe_plan& plan) {
  return plan.gaussian ? 1.645 : std::log(10.0) / std::sqrt(2.0);
}

/// Noise on one number, in standard deviations, that is exceeded on one side with a probability of
/// alpha at most.
inline double one_sided(const describe_plan& plan, const describe_level& level) {
  return plan.gaussian ? level.reach : std::max(0.0, -std::log(2.0 * level.alpha) / std::sqrt(2.0));
}

/// The number of people with a value: all of a group, if noise explains an apparent deficit.
inline double answered(double counted, double error, const described_group& group) {
  const double noise = std::hypot(error, group.error);
  return counted > group.size - 2.0 * noise ? group.size
                                            : std::min(group.size, std::max(1.0, counted));
}

/// Released sums of one group, per person, in units of the window's half width; noise on the sums.
struct window_sums {
  double m = 0.0;       // people with a value
  double median = 0.0;  // its position
  double z = 0.0, z2 = 0.0;
  double count_error = 0.0, power_error = 0.0, z_error = 0.0;

  window_sums(const describe_facts& facts, const describe_plan& plan, const described_number& found,
              const describe_window& window, const described_group& group) {
    const describe_sums& sums = plan.powers(found.reached());
    const bool several = facts.parts() > 1;
    count_error = sums.deviation(plan.gaussian, sums.small);
    power_error = sums.deviation(plan.gaussian, sums.square);
    z_error = sums.deviation(plan.gaussian, sums.one);
    m = answered(found.sums[0] / sums.small, count_error, group);
    median = window.scaled(window.middle);
    // Values and squares without the rows that counted as the median.
    const double others = several ? 0.0 : facts.n - m;
    z = std::max(-1.0, std::min(1.0, (found.sums[1] / sums.one - others * median) / m));
    z2 = std::max(z * z,
                  std::min(1.0, (found.sums[2] / sums.square - others * median * median) / m));
  }

  /// Squares about the median, and the noise on them.
  double square() const { return z2 - z * z + (z - median) * (z - median); }
  double square_error() const {
    return std::hypot(std::hypot(power_error, 2.0 * median * z_error), square() * count_error) / m;
  }
};

/// Squared distances from the median, per person of the group, of one side's people: for certain,
/// from the quartile; and if the tail becomes steeper outwards, by power laws from the quartile to
/// the radius (at the next shorter candidate: `share` people at least are farther) and beyond it. A
/// radius so far out that the first power is small may lie between a column and a cluster.
struct squares_within {
  double certain = 0.0, regular = 0.0;

  squares_within(double quartile, double radius, double share, double edge) {
    // A fifth instead of a quarter: the quartile is drawn.
    certain = regular = 0.2 * quartile * quartile;
    const double from = radius / std::sqrt(2.0);
    if (!(share > 0.0 && 0.0 < quartile && quartile < from && from < edge)) return;
    const double power = std::log(0.25 / share) / std::log(from / quartile);
    if (power < describe_constants::flattest) return;
    regular = 0.25 * quartile * quartile * (4.0 / 3.0 + between(power, from / quartile)) +
              share * from * from * between(1.5 * power, edge / from);
  }

  /// Integral of 2 t t^-power from 1 to `to`.
  static double between(double power, double to) {
    const double k = 2.0 - power;
    return std::fabs(k) < 1e-6 ? 2.0 * std::log(to) : 2.0 * (std::pow(to, k) - 1.0) / k;
  }
};

/// The largest shares of people who may lie below and above the window: each of them adds the
/// squared distance of its edge, at least, to the released squares about the median, in every
/// column. 0 if the squares exclude a cluster of `cluster` of the people.
inline Eigen::Vector2d unseen_shares(const describe_facts& facts, const describe_plan& plan,
                                     const described_number& found, std::size_t number,
                                     const describe_window& window, const window_sums& sums,
                                     const describe_level& level) {
  using describe_constants::cluster;
  const double unit = window.half() * window.half(), squares = unit * sums.square(),
               error = unit * one_sided(plan, level) * sums.square_error();
  // The number of people beyond has more noise.
  const describe_sums& noise = plan.powers(found.reached());
  const double counted =
      found.sums[4] / noise.rest + hardly(plan) * noise.deviation(plan.gaussian, noise.rest);
  // The radius is drawn: the people beyond it, with probability .95 at least.
  const bool known = found.reached() && plan.beyond < describe_constants::known_tail * sums.m;
  const double share = known ? (plan.beyond - 3.0 / plan.tail) / sums.m : 0.0;
  const Eigen::Vector2d edges(window.middle - window.low, window.high - window.middle);
  const squares_within below(window.middle - at_quantile(found, facts.quantiles, 250),
                             found.radii[0], share, edges[0]),
      above(at_quantile(found, facts.quantiles, 750) - window.middle, found.radii[1], share,
            edges[1]);
  // Of a cluster fewer may be in the table than in the population.
  const double sampled = level.reach * std::sqrt(cluster / sums.m);
  const bool open[] = {window.low > facts.lower[number], window.high < facts.upper[number]};
  Eigen::Vector2d out = Eigen::Vector2d::Zero();
  for (int side = 0; side < 2; ++side) {
    const double edge = edges[side] * edges[side];
    const double seen = (squares - below.regular - above.regular) / edge;
    if (!open[side] ||
        std::min(counted / sums.m + sampled, seen + std::hypot(error / edge, sampled)) < cluster)
      continue;
    const double most = (squares + error - below.certain - above.certain) / edge;
    out[side] = std::max(0.0, std::min({1.0, counted / sums.m, most}));
  }
  return out;
}

}  // namespace describe_detail

bool asks_radii(const describe_facts& facts, const describe_plan& plan,
                const described_number& found) {
  using namespace describe_detail;
  if (!(plan.tail > 0.0)) return false;
  return !plan.late ||
         at_quantile(found, facts.quantiles, 250) == at_quantile(found, facts.quantiles, 750);
}

describe_window window_of(const describe_facts& facts, const describe_plan& plan,
                          const described_number& found, std::size_t number) {
  using namespace describe_detail;
  const double lower = facts.lower[number], upper = facts.upper[number];
  describe_window out;
  out.middle = at_quantile(found, facts.quantiles, 500);
  double down = out.middle - at_quantile(found, facts.quantiles, 250);
  double up = at_quantile(found, facts.quantiles, 750) - out.middle;
  if (facts.whole[number] != 0 && upper - lower <= describe_constants::few) {
    // A scale with few points: clipping would bring no gain.
    down = up = upper - lower;
  } else if (found.reached()) {
    // Few people are beyond the radius, and fewer beyond the window, which ends at three to four
    // times the radius (farther if more people are beyond the radius). At least 0.7 of a quartile's
    // distance counts as the radius.
    const double times = 3.0 + std::min(1.0, 5.0 * share_beyond(facts, plan));
    down = times * std::max(found.radii[0], 0.7 * down);
    up = times * std::max(found.radii[1], 0.7 * up);
  } else {
    const double below = down;
    down = side_of(below, up);
    up = side_of(up, below);
  }
  out.low = std::max(lower, out.middle - down);
  out.high = std::min(upper, out.middle + up);
  const double least = (upper - lower) * std::ldexp(1.0, -describe_constants::fine_bits);
  if (out.width() < least) {
    out.low = std::max(lower, out.middle - least);
    out.high = std::min(upper, out.middle + least);
  }
  // In the middle of the window the noise is least. With several groups a missing value cannot
  // count as the median, and the noise of the count would be multiplied by the median's distance.
  out.center = facts.parts() > 1 ? out.middle : 0.5 * (out.low + out.high);
  return out;
}

described_group group_of(const describe_facts& facts, const describe_plan& plan,
                         const described& found, std::size_t group) {
  if (facts.parts() == 1 || facts.person) return {facts.n, 0.0};
  const double size = found.sizes[static_cast<Eigen::Index>(group)] / plan.sizes.one;
  return {std::min(facts.n, std::max(1.0, size)),
          plan.sizes.deviation(plan.gaussian, plan.sizes.one)};
}

Eigen::MatrixXd number_rows(const describe_facts& facts, const describe_plan& plan,
                            const described_number& found, std::size_t number,
                            const described_group& group, const describe_level& level) {
  using namespace describe_detail;
  const double lower = facts.lower[number], upper = facts.upper[number], range = upper - lower;
  const describe_window window = window_of(facts, plan, found, number);
  const describe_sums& sums = plan.powers(found.reached());
  const double h = window.half();
  const window_sums known(facts, plan, found, window, group);
  const double m = known.m, z = known.z, z2 = known.z2, median = known.median;
  const double count_error = known.count_error, power_error = known.power_error,
               z_error = known.z_error;
  // People beyond the window, as far as noise does not explain them.
  const double rest_error = sums.deviation(plan.gaussian, sums.rest);
  const double beyond = std::max(0.0, found.sums[4] / sums.rest - unlikely(plan) * rest_error) / m;

  Eigen::MatrixXd out(3 + static_cast<Eigen::Index>(facts.quantiles.size()), 5);
  // Not above the group's size, whose own upper limit is exceeded with a probability of .002.
  const double people = std::min(facts.n, group.size + hardly(plan) * group.error);
  out.row(0) = limited(plan, level, std::min(group.size, found.sums[0] / sums.small), 0.0,
                       count_error, 0.0, people);

  const double variance = z2 - z * z;
  const double mean_error = std::hypot(z_error, (z - median) * count_error) / m;
  // Noise of the squares, of the mean, and of the number of people.
  const double noisy = std::hypot(std::hypot(power_error, 2.0 * z * z_error),
                                  ((z - median) * (z - median) - variance) * count_error) /
                       m;
  // The part of the variance that noise may have removed counts as sampling error as well.
  const double deviation = std::sqrt(std::max(variance, noisy));
  // People beyond the window bias a mean by about their distance from it. If they are hardly fewer
  // than the people beyond the radius, the window is wrong, and they may be anywhere.
  const bool missed =
      beyond > (found.reached() ? 0.5 * share_beyond(facts, plan) : describe_constants::misplaced);
  double down = window.low > lower
                    ? beyond * (missed ? window.low - lower : window.middle - window.low)
                    : 0.0;
  double up = window.high < upper
                  ? beyond * (missed ? upper - window.high : window.high - window.middle)
                  : 0.0;
  // Noise, and a sample of this size, hide a part of the tails.
  double tails = 0.0, mean_tails = 0.0;
  const double first = at_quantile(found, facts.quantiles, 250),
               third = at_quantile(found, facts.quantiles, 750);
  if (!found.reached()) {
    const double near = window.middle - first, far = third - window.middle;
    const power_tail below = power_tail::unseen(side_of(near, far), window.middle - window.low,
                                                window.middle - lower),
                     above = power_tail::unseen(side_of(far, near), window.high - window.middle,
                                                upper - window.middle);
    down = std::max(down, below.mean());
    up = std::max(up, above.mean());
    mean_tails = tails = below.square() + above.square();
    // So skewed a column may have no finite variance: its deviation has no limit but the bounds'.
    if (std::min(near, far) > 0.0 &&
        std::max(near, far) > describe_constants::heavy * std::min(near, far))
      tails = range * range;
  } else {
    const double share = plan.beyond / m;
    const double left = window.middle - window.low, right = window.high - window.middle;
    const auto tail = [&](double least) {
      return std::array<power_tail, 2>{power_tail(window.middle - first, found.radii[0], share,
                                                  left, window.middle - lower, least),
                                       power_tail(third - window.middle, found.radii[1], share,
                                                  right, upper - window.middle, least)};
    };
    // Quartile and radius are too near each other, with few people, to reveal a power below two.
    const auto of_mean = tail(share > 0.05 ? 2.0 : 0.0), of_square = tail(0.0);
    down = std::max(down, of_mean[0].mean());
    up = std::max(up, of_mean[1].mean());
    for (int side = 0; side < 2; ++side) {
      mean_tails += of_mean[static_cast<std::size_t>(side)].square();
      tails += of_square[static_cast<std::size_t>(side)].square();
    }
  }
  // Released numbers cannot exclude a cluster of people anywhere between the window and a bound.
  if (level.clusters) {
    const Eigen::Vector2d far = unseen_shares(facts, plan, found, number, window, known, level);
    down = std::max(down, far[0] * (window.low - lower));
    up = std::max(up, far[1] * (upper - window.high));
    const double hidden = far[0] * (window.middle - lower) * (window.middle - lower) +
                          far[1] * (upper - window.middle) * (upper - window.middle);
    mean_tails = std::max(mean_tails, hidden);
    tails = std::max(tails, hidden);
  }
  out.row(1) = limited(plan, level, window.center + h * z,
                       std::sqrt((h * h * deviation * deviation + mean_tails) / m), h * mean_error,
                       lower, upper, down, up);

  const double sd = h * std::sqrt(std::max(0.0, variance));
  // The sampling error of squares, about the median.
  const double w = window.width();
  const double moved = h * (z - median), square = (h * h * variance + moved * moved) / (w * w);
  const double z4 = std::max(square * square, std::min(1.0, found.sums[3] / sums.rest / m));
  const double fourth =
      std::sqrt(std::max(0.0, z4 + sums.deviation(plan.gaussian, sums.rest) / m - square * square));
  const double vary = (w * w * fourth + 2.0 * std::fabs(moved) * h * deviation) / std::sqrt(m);
  const double twice = std::max(2.0 * std::sqrt(std::max(0.0, variance)), std::sqrt(noisy));
  described_row spread = row_of(sd, vary / (h * twice), h * noisy / twice, 0.0, 0.0);
  const double reach = std::hypot(level.reach * vary, noise_reach(plan, level) * h * h * noisy);
  spread[3] = std::sqrt(std::max(0.0, h * h * variance - reach));
  const double most =
      std::sqrt(h * h * variance + reach + tails) +
      std::sqrt(beyond) *
          (missed ? std::max(w, std::max(upper - window.high, window.low - lower)) : w);
  spread[4] = std::min(range / 2.0 * std::sqrt(m / std::max(1.0, m - 1.0)), most);
  out.row(2) = spread;

  const curve places = curve_of(facts, plan, found, number, m);
  const bool whole = facts.whole[number] != 0;
  const int jointly = plan.joint ? static_cast<int>(facts.quantiles.size()) : 1;
  const place_grid grid = grid_of(facts, plan, number);
  const double cell = whole ? 0.0 : range * std::ldexp(0.5, -plan.cell_bits);
  for (std::size_t k = 0; k < facts.quantiles.size(); ++k) {
    const double q = facts.quantiles[k] / 1000.0,
                 own = found.quantiles[static_cast<Eigen::Index>(k)];
    const double ranks = plan.exponents.empty() ? 0.0 : 1.0 / (plan.exponents[k] * m);
    const double sampling = std::sqrt(q * (1.0 - q) / m);
    const double one = std::hypot(sampling, rank_deviation(jointly) * ranks);
    const double far = std::hypot(level.reach * sampling, rank_limit(jointly, level.alpha) * ranks);
    const double slope = (places.at(q + one) - places.at(q - one)) / (2.0 * one);
    double down = std::max(0.0, own - places.at(q - far));
    double up = std::max(0.0, places.at(q + far) - own);
    // Near a bend the curve may be steeper on one side than its pieces, above all next to a flat
    // piece.
    const double steep = places.flat_beside(q) ? 10.0 : 3.0;
    const double narrow = std::min(down, up), wide = std::max(down, up);
    down = std::max(down, std::min(wide, steep * narrow));
    up = std::max(up, std::min(wide, steep * narrow));
    described_row row =
        row_of(own, slope * sampling, slope * rank_deviation(jointly) * ranks,
               std::max(lower, own - down - cell), std::min(upper, own + up + cell));
    const double length = row[4] - row[3];
    double step = whole ? 1.0 : common_step(grid, found.quantiles, length);
    // With few people drawn quantiles lie between the values even if there are few: the limits
    // extend to the next multiples of a power of ten that is not longer than they.
    if (!found.reached() && step < length)
      step = std::max(step, std::pow(10.0, std::floor(std::log10(length))));
    if (step > 0.0) {
      row[3] = std::max(lower, step * std::floor(row[3] / step));
      row[4] = std::min(upper, step * std::ceil(row[4] / step));
    }
    out.row(3 + static_cast<Eigen::Index>(k)) = row;
  }
  return out;
}

Eigen::Vector4d unseen_people(const describe_facts& facts, const describe_plan& plan,
                              const described_number& found, std::size_t number,
                              const described_group& group, const describe_level& level) {
  using namespace describe_detail;
  const describe_window window = window_of(facts, plan, found, number);
  const window_sums sums(facts, plan, found, window, group);
  const Eigen::Vector2d shares = unseen_shares(facts, plan, found, number, window, sums, level);
  return {shares[0], shares[1], window.low, window.high};
}

Eigen::MatrixXd level_rows(const describe_plan& plan, const Eigen::VectorXd& counts, double n,
                           const describe_level& level, bool whole) {
  const auto levels = static_cast<double>(counts.size());
  const double one = plan.table.deviation(plan.gaussian, plan.table.one);
  Eigen::VectorXd people = counts / plan.table.one;
  // Counts that add up to all rows except for noise are adjusted to do so. Of two levels the sum
  // has the noise of one number.
  const double sum_error =
      by_difference(plan, counts.size(), !(n > 0.0)) ? one : std::sqrt(levels) * one;
  if (n > 0.0 && people.sum() > n - describe_detail::hardly(plan) * sum_error)
    people.array() += (n - people.sum()) / levels;
  // Rounding removes a little of the noise.
  if (whole && by_difference(plan, counts.size(), !(n > 0.0)))
    people = people.unaryExpr([](double count) { return std::nearbyint(count); });
  people = people.cwiseMax(0.0);
  const double m = std::max(1.0, people.sum());
  const double noise = one / m;
  Eigen::MatrixXd out(counts.size(), 5);
  for (Eigen::Index k = 0; k < counts.size(); ++k) {
    const double p = people[k] / m;
    const double privacy = by_difference(plan, counts.size(), !(n > 0.0))
                               ? 0.5 * noise * std::hypot(1.0, 2.0 * p - 1.0)
                               : noise * std::sqrt(1.0 - 2.0 * p + levels * p * p);
    // The observed share of a rare level would underestimate its error; this one is as in Agresti
    // and Coull (1998).
    const double fair = (p * m + 2.0) / (m + 4.0);
    const double sampling = std::sqrt(fair * (1.0 - fair) / m);
    out.row(k) = describe_detail::limited(plan, level, p, sampling, privacy, 0.0, 1.0);
  }
  return out;
}

Eigen::MatrixXd size_rows(const describe_plan& plan, const Eigen::VectorXd& sizes, double n,
                          const describe_level& level) {
  const double noise = plan.sizes.deviation(plan.gaussian, plan.sizes.one);
  Eigen::MatrixXd out(sizes.size(), 5);
  for (Eigen::Index g = 0; g < sizes.size(); ++g)
    out.row(g) =
        describe_detail::limited(plan, level, sizes[g] / plan.sizes.one, 0.0, noise, 0.0, n);
  return out;
}

}  // namespace dpsc
