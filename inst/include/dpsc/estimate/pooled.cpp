// Bodies of pooled.hpp.
#pragma once

#include "pooled.hpp"

#include "../linalg.hpp"

namespace dpsc {

lm_pool::lm_pool(const std::vector<lm_round>& given) : rounds(given) {
  share_weight();
  const lm_frame& last = rounds.back().frame;
  const Eigen::Index p = last.centre.size();
  const Eigen::PartialPivLU<Eigen::MatrixXd> inverse(last.whiten);
  Eigen::MatrixXd weight = Eigen::MatrixXd::Zero(p, p);
  covariance = Eigen::MatrixXd::Zero(p, p);
  std::vector<Eigen::MatrixXd> precisions;
  for (const lm_round& round : rounds) {
    const Eigen::MatrixXd to = lu_solve_all(round.frame.whiten, last.whiten).transpose();
    const Eigen::MatrixXd M = to * to.transpose();
    const Eigen::MatrixXd precision =
        ((M.diagonal() * M.diagonal().transpose()).array() + M.array().square()).inverse() /
        (round.sd_covariance * round.sd_covariance);
    own.push_back(to * round.covariance * to.transpose());
    covariance.array() += precision.array() * own.back().array();
    weight += precision;
    precisions.push_back(precision);
    kept_slope.push_back(clip_slope(round));
    slope.push_back(inverse.solve(round.frame.slope));
    cross.push_back(to * round.cross);
    cross_variance.push_back(round.sd_cross * round.sd_cross * M.trace() / static_cast<double>(p));
  }
  covariance.array() /= weight.array();
  covariance = ((covariance + covariance.transpose()) / 2.0).eval();
  const double d = static_cast<double>(p);
  sd = std::sqrt(weight.cwiseInverse().mean() * d / (d + 1.0));
  // Squares of pure-noise entries vary around their mean, more so if they are few.
  const double chance = 1.0 + 2.0 * std::sqrt(4.0 / (d * (d + 1.0)));
  for (std::size_t t = 0; t < rounds.size(); ++t) {
    own[t] = ((own[t] + own[t].transpose()) / 2.0 - covariance).eval();
    const Eigen::MatrixXd noise = precisions[t].cwiseInverse() - weight.cwiseInverse();
    const double size = own[t].squaredNorm();
    const double real = size > 0.0 ? std::max(0.0, 1.0 - chance * noise.sum() / size) : 0.0;
    own[t] *= real;
    own_variance.push_back(real * real * noise.mean());
  }
}

void lm_pool::share_weight() {
  const std::size_t from = rounds.size() > 1 ? 1 : 0;
  double mean = 0.0;
  for (std::size_t t = from; t < rounds.size(); ++t) mean += rounds[t].weight;
  mean = std::min(1.0, std::max(least_weight, mean / static_cast<double>(rounds.size() - from)));
  for (lm_round& round : rounds) {
    const double f = std::max(round.weight, least_weight) / mean;
    round.covariance *= f;
    round.cross *= f;
    round.variance *= f;
    round.sd_covariance *= f;
    round.sd_cross *= f;
    round.sd_variance *= f;
    round.weight = mean;
  }
}

pooled_cross::pooled_cross(const lm_pool& pool, const Eigen::VectorXd& theta) : pool_(pool) {
  const double d = static_cast<double>(pool.p());
  double total = 0.0;
  for (std::size_t t = 0; t < pool.rounds.size(); ++t) {
    weights.push_back(0.0);
    if (pool.left_out(t)) continue;
    const double far = (theta - pool.slope[t]).squaredNorm();
    const double k = pool.kept_slope[t];
    const double v =
        pool.cross_variance[t] / (k * k) +
        (pool.sd * pool.sd + pool.own_variance[t] + clipping_doubt * clipping_doubt / d) * far;
    total += weights.back() = 1.0 / v;
  }
  own_ = Eigen::MatrixXd::Zero(pool.p(), pool.p());
  for (std::size_t t = 0; t < weights.size(); ++t) own_ += (weights[t] /= total) * pool.own[t];
  covariance = pool.covariance + own_;
  variance = 1.0 / total;
}

Eigen::VectorXd pooled_cross::value(const Eigen::MatrixXd& C) const {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(C.rows());
  for (std::size_t t = 0; t < weights.size(); ++t)
    out += weights[t] *
           (pool_.cross[t] / pool_.kept_slope[t] + (C + pool_.own[t] - own_) * pool_.slope[t]);
  return out;
}

namespace pooled_detail {

void shrink_covariance(const lm_pool& pool, const Eigen::MatrixXd& C, lm_solution& out,
                       Eigen::VectorXd& raw) {
  const Eigen::Index p = pool.p();
  const double d = static_cast<double>(p);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(C);
  raw = spectrum.eigenvalues();
  const double middle = raw.mean();
  const double spread = (raw.array() - middle).square().sum();
  // The noise's part of it: the mean eigenvalue is a free parameter.
  const double noise = pool.sd * pool.sd * (d * (d + 1.0) - 2.0);
  const double keep = spread > 0.0 ? std::max(0.0, 1.0 - noise / spread) : 1.0;
  const double floor = pool.floor();
  out.values = (middle + keep * (raw.array() - middle)).max(floor);
  out.directions = spectrum.eigenvectors();
  out.covariance = out.directions * out.values.asDiagonal() * out.directions.transpose();
  // Below half the noise's edge a first-order correction is useless, for any number of iterations.
  out.resolved = raw / std::max(floor, 1e-300);
}

Eigen::VectorXd evidence_mean(const Eigen::VectorXd& l, const Eigen::VectorXd& c, double v,
                              double scale2) {
  std::vector<double> log_evidence;
  std::vector<Eigen::VectorXd> means;
  for (int k = -12; k <= 10; ++k) {
    const double nu = scale2 * std::ldexp(1.0, k);
    const Eigen::ArrayXd total = nu * l.array().square() + v;
    log_evidence.push_back(-0.5 * (total.log() + c.array().square() / total).sum());
    means.push_back((nu * l.array() * c.array() / total).matrix());
  }
  const double top = *std::max_element(log_evidence.begin(), log_evidence.end());
  Eigen::VectorXd out = Eigen::VectorXd::Zero(l.size());
  double weight = 0.0;
  for (std::size_t k = 0; k < means.size(); ++k) {
    const double w = std::exp(log_evidence[k] - top);
    out += w * means[k];
    weight += w;
  }
  return out / weight;
}

double residual_variance(const lm_pool& pool, const Eigen::MatrixXd& C,
                         const Eigen::VectorXd& theta) {
  double sum = 0.0, weight = 0.0;
  for (std::size_t t = 0; t < pool.rounds.size(); ++t) {
    if (pool.left_out(t)) continue;
    const lm_round& round = pool.rounds[t];
    const Eigen::VectorXd u = theta - pool.slope[t];
    const double far = u.dot(C * u);
    const double sd = round.sd_variance + clipping_doubt * far;
    const double total = unclipped_variance(round.variance, round.clip);
    sum += (total - 2.0 * u.dot(pool.cross[t]) / pool.kept_slope[t] + far) / (sd * sd);
    weight += 1.0 / (sd * sd);
  }
  return std::max(sum / weight, 0.5 / std::sqrt(weight));
}

double followed_noise(const Eigen::ArrayXd& l, const Eigen::ArrayXd& c, const Eigen::ArrayXd& theta,
                      double v) {
  const Eigen::ArrayXd kept = (c == 0.0).select(1.0, theta * l / c).max(0.0).min(1.0);
  return (v * kept * (2.0 - kept) / l).sum();
}

}  // namespace pooled_detail

lm_solution solve_pool(const lm_pool& pool) {
  using namespace pooled_detail;
  lm_solution out;
  Eigen::VectorXd raw;
  const lm_round& first = pool.rounds.front();
  out.response = std::max(first.variance, 0.0) + 2.0 * first.sd_variance;
  const double scale2 = pool.last().clip * pool.last().clip;
  out.theta = pool.slope.back();
  double variance = 0.0;
  for (int step = 0; step < 3; ++step) {
    const pooled_cross c(pool, out.theta);
    variance = c.variance;
    shrink_covariance(pool, c.covariance, out, raw);
    const Eigen::VectorXd along = out.directions.transpose() * c.value(out.covariance);
    out.theta = out.directions * evidence_mean(out.values, along, variance, scale2);
  }
  const pooled_cross last(pool, out.theta);
  variance = last.variance;
  out.residual = residual_variance(pool, out.covariance, out.theta) +
                 followed_noise(out.values, out.directions.transpose() * last.value(out.covariance),
                                out.directions.transpose() * out.theta, variance);

  // Noise of the covariance is multiplied by the remaining slope of each round and by the error of
  // theta.
  const Eigen::ArrayXd left =
      (out.directions.transpose() * (out.theta - pool.slope.back())).array().square();
  const Eigen::ArrayXd l = out.values.array(), bias = (l - raw.array()).square();
  // The distance hardly exceeds the response's whole variance. The hidden part may differ from
  // zero.
  const Eigen::ArrayXd most = out.response / l;
  Eigen::ArrayXd pv = Eigen::ArrayXd::Zero(pool.p());
  for (int step = 0; step < 6; ++step) {
    const Eigen::ArrayXd v = variance + pool.sd * pool.sd * pv.sum() + bias * (left + pv);
    pv = (v / l.square()).min(most);
  }
  out.privacy = (out.resolved.array() > 1.0).select(privacy_inflation * pv, 4.0 * most);
  return out;
}

namespace pooled_detail {

/// The response's level minus its fit by slopes b of standardised columns, with its variance.
struct round_level {
  double value, variance;
};

round_level level_of(const lm_pool& pool, std::size_t t, const Eigen::VectorXd& b) {
  const lm_round& round = pool.rounds[t];
  const lm_frame& frame = round.frame;
  const double k = pool.kept_slope[t];
  const Eigen::VectorXd x = lu_solve_transposed(frame.whiten, round.mean);
  const double y = frame.level + frame.slope.dot(x) + round.residual / k;
  const double far = lu_solve(frame.whiten, b - frame.slope).squaredNorm();
  const double sd = round.sd_residual / k;
  return {y - b.dot(frame.centre + x), sd * sd + round.sd_mean * round.sd_mean * far};
}

}  // namespace pooled_detail

namespace {

/// The variance that wide clips imply over the variance that the narrow clip implies, minus one.
double hidden_share(const lm_pool& pool) {
  const lm_round& narrow = pool.rounds[tried_round - 1];
  const lm_round& wide = pool.stays_wide() ? pool.last() : pool.rounds[tried_round];
  return std::max(0.0, unclipped_variance(wide.variance, wide.clip) /
                               unclipped_variance(narrow.variance, narrow.clip) -
                           1.0);
}

}  // namespace

bool lm_shift::moves_slopes() const {
  const auto p = static_cast<double>(slopes.size());
  return slopes_variance > 0.0 &&
         slopes.squaredNorm() > slopes_variance * (p + slopes_from * std::sqrt(2.0 * p));
}

lm_shift shift_by_clip(const lm_pool& pool, const lm_solution& solution, double rows) {
  const Eigen::VectorXd b = pool.last().frame.whiten * solution.theta;
  const double narrow = least_step * pool.rounds[tried_round - 1].clip;
  double level[2] = {0.0, 0.0}, weight[2] = {0.0, 0.0}, precision[2] = {0.0, 0.0};
  Eigen::VectorXd cross[2] = {Eigen::VectorXd::Zero(b.size()), Eigen::VectorXd::Zero(b.size())};
  for (std::size_t t = tried_round - 1; t < pool.rounds.size(); ++t) {
    const double k = pool.kept_slope[t];
    const pooled_detail::round_level own = pooled_detail::level_of(pool, t, b);
    const int wide = pool.rounds[t].clip > narrow;
    level[wide] += own.value / own.variance;
    weight[wide] += 1.0 / own.variance;
    const Eigen::VectorXd rest = pool.slope[t] - solution.theta;
    const double w =
        1.0 / (pool.cross_variance[t] / (k * k) + pool.sd * pool.sd * rest.squaredNorm());
    cross[wide] += w * (pool.cross[t] / k + solution.covariance * rest + pool.own[t] * rest);
    precision[wide] += w;
  }
  lm_shift out;
  out.slopes = Eigen::VectorXd::Zero(b.size());
  if (!(weight[0] > 0.0 && weight[1] > 0.0)) return out;
  out.slopes = ldlt(solution.covariance).solve(cross[1] / precision[1] - cross[0] / precision[0]);
  out.value = level[1] / weight[1] - level[0] / weight[0];
  const double sampling = clipping_difference * solution.residual * least_step / narrow;
  const double own = sampling * sampling / rows;
  out.sd = std::sqrt(1.0 / weight[0] + 1.0 / weight[1] + own);
  out.slopes_variance = (1.0 / precision[0] + 1.0 / precision[1]) *
                            solution.values.array().square().inverse().mean() +
                        own * solution.values.cwiseInverse().mean();
  return out;
}

lm_tail tail_of(const lm_pool& pool, const lm_units& units, const Eigen::VectorXd& b) {
  const lm_round& last = pool.last();
  const double narrow = least_step * pool.rounds[tried_round - 1].clip;
  std::vector<clipped_level> levels;
  for (std::size_t t = tried_round - 1; t < pool.rounds.size(); ++t) {
    const double clip = pool.rounds[t].clip;
    const pooled_detail::round_level own = pooled_detail::level_of(pool, t, b);
    levels.push_back({clip, own.value, std::sqrt(privacy_inflation * own.variance),
                      clip > narrow && clip > 0.5 * last.clip});
  }
  return extrapolate_level(levels, std::sqrt(unclipped_variance(last.variance, last.clip)),
                           units.range);
}

bool extrapolates(const lm_pool& pool, const lm_shift& shift) {
  return pool.stays_wide() && shift.moves_level();
}

double usual_slopes(double radius, double reach, double p, double weight) {
  const double shortened = std::min(usual_shortened * std::sqrt(std::max(0.0, 1.0 - weight)),
                                    usual_radius * std::pow(p / (radius * radius), usual_power));
  const double clipped = usual_slope * std::pow(usual_clip / reach, usual_power);
  return shortened * shortened + clipped * clipped;
}

double usual_slopes(const lm_pool& pool, const lm_solution& solution) {
  const lm_round& last = pool.last();
  const double deviation = std::sqrt(solution.residual);
  return solution.residual * usual_slopes(last.radius, last.clip / deviation,
                                          static_cast<double>(pool.p()), last.weight);
}

double usual_level(double reach) {
  return std::pow(usual_intercept * std::pow(usual_clip / reach, usual_power), 2);
}

double usual_level(const lm_pool& pool, const lm_solution& solution) {
  return solution.residual * usual_level(pool.last().clip / std::sqrt(solution.residual));
}

double level_doubt(const lm_pool& pool, const lm_solution& solution, const lm_shift& shift,
                   double rows) {
  if (!pool.tries()) return pool.unseen(rows) * usual_level(pool, solution);
  if (extrapolates(pool, shift)) return 0.0;
  const double size2 = shift.value * shift.value, noise2 = shift.sd * shift.sd;
  const double usual = usual_level(pool, solution), real = usual / (usual + noise2);
  return left_narrow * left_narrow * std::max(size2 - noise2, real * (real * size2 + noise2));
}

slope_bias clipping_bias(const lm_pool& pool, const lm_units& units, const lm_solution& solution,
                         double rows) {
  const Eigen::Index p = pool.p();
  slope_bias out{Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
  if (!pool.tries()) {
    out.doubt = pool.unseen(rows) * usual_slopes(pool, solution) *
                ldlt(solution.covariance).solve(Eigen::MatrixXd::Identity(p, p));
    return out;
  }
  const lm_shift shift = shift_by_clip(pool, solution, rows);
  const double size2 = shift.slopes.squaredNorm(), noise2 = shift.slopes_variance;
  if (!(size2 > 0.0)) return out;
  const double mean2 = size2 / static_cast<double>(p);
  const bool moved = shift.moves_slopes();
  // The true changes' mean square: as far as the level's change, or their own, makes it credible.
  const double level2 = std::max(0.0, shift.value * shift.value - shift.sd * shift.sd);
  const double likely = std::max(mean2 - noise2, least_real * noise2);
  const double real2 =
      std::max(moved ? likely : std::min(level2, likely), usual_slopes(pool, solution));
  const double real = real2 / (real2 + noise2);
  const bool known = extrapolates(pool, shift);
  lm_tail tail;
  tail.left = left_narrow;
  if (known) {
    tail = tail_of(pool, units, pool.last().frame.whiten * solution.theta);
  } else if (pool.stays_wide()) {
    const double reach2 = pool.last().clip * pool.last().clip / solution.residual;
    tail.left = std::min(left_most, left_wide / reach2 + left_heavy * hidden_share(pool));
  }
  const double whole = tail.left * tail.left + tail.left_variance;
  const bool corrects = known && moved && mean2 > corrects_from * noise2 &&
                        tail.left < corrects_most &&
                        tail.left * tail.left > 4.0 * tail.left_variance;
  const Eigen::VectorXd change = real * shift.slopes;
  if (corrects) out.value = -tail.left * change;
  out.doubt = (corrects ? tail.left_variance : whole) * change * change.transpose();
  out.doubt.diagonal().array() += whole * real * noise2;
  return out;
}

double robust_excess(const lm_pool& pool, const lm_units& units) {
  double out = clipped_efficiency(pool.last()) - 1.0;
  if (!pool.tries()) return out;
  const double narrow = 1.0 / pool.rounds[tried_round - 1].clip, end = 1.0 / units.range;
  const double wide = 1.0 / (pool.stays_wide() ? pool.last().clip : pool.rounds[tried_round].clip);
  const double beyond = std::max(0.0, wide - end) / (narrow - wide);
  out += hidden_share(pool) * (beyond + (pool.stays_wide() ? 0.0 : 1.0));
  return out;
}

lm_frame next_frame(const lm_pool& pool, const lm_solution& solution) {
  const lm_round& last = pool.last();
  const lm_frame& frame = last.frame;
  const Eigen::Index p = pool.p();
  lm_frame out;
  const Eigen::VectorXd shift = lu_solve_transposed(frame.whiten, last.mean);
  out.centre = frame.centre + shift;
  out.slope = frame.whiten * solution.theta;
  out.level = frame.level + frame.slope.dot(shift) + last.residual;
  if (pool.rounds.size() > 2) {
    // From here on rows are weighted equally, and no direction is lengthened further.
    out.whiten = frame.whiten;
    return out;
  }
  const double edge = spectral_edge(pool.sd * std::sqrt(2.0), p);
  // The first round shortens more rows than later ones do.
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(pool.covariance + pool.own.back());
  const double least = pool.rounds.size() > 1 ? longest_lengthening : 1e-12;
  const Eigen::VectorXd values =
      (shrink_spectrum(spectrum.eigenvalues(), edge).array() + edge).max(least);
  out.whiten =
      frame.whiten * spectrum.eigenvectors() * values.cwiseSqrt().cwiseInverse().asDiagonal();
  for (Eigen::Index j = 0; j < p; ++j)
    out.whiten.col(j) *= std::min(1.0, longest_direction / out.whiten.col(j).norm());
  return out;
}

namespace pooled_detail {

void add_intercept(const lm_pool& pool, const lm_units& units, const lm_solution& solution,
                   const Eigen::VectorXd& beta, const Eigen::MatrixXd& privacy,
                   const Eigen::MatrixXd& sampling, double excess, double n, lm_estimate& out) {
  const Eigen::Index p = beta.size();
  // Slopes of standardised columns that are equivalent to beta: map' b y_scale = beta.
  const Eigen::VectorXd b = lu_solve_transposed(units.map, beta) / units.y_scale;
  double level = 0.0, weight = 0.0;
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(p);
  for (std::size_t t = 0; t < pool.rounds.size(); ++t) {
    if (pool.left_out(t)) continue;
    const lm_round& round = pool.rounds[t];
    // If errors are skewed, a narrow clip hides a part of the level.
    if (pool.stays_wide() && round.clip < 0.5 * pool.last().clip) continue;
    const lm_frame& frame = round.frame;
    const Eigen::VectorXd x = frame.centre + lu_solve_transposed(frame.whiten, round.mean);
    const double y = frame.level + frame.slope.dot(x - frame.centre) + round.residual;
    const double far = lu_solve(frame.whiten, b - frame.slope).squaredNorm();
    const double v =
        round.sd_residual * round.sd_residual +
        (round.sd_mean * round.sd_mean + clipping_doubt * clipping_doubt / static_cast<double>(p)) *
            far;
    level += (y - b.dot(x)) / v;
    centre += x / v;
    weight += 1.0 / v;
  }
  level /= weight;
  centre /= weight;
  double own = privacy_inflation / weight + excess * solution.residual / n;
  const lm_shift shift = pool.tries() ? shift_by_clip(pool, solution, n) : lm_shift();
  own += level_doubt(pool, solution, shift, n);
  if (pool.tries()) {
    if (extrapolates(pool, shift)) {
      const lm_tail tail = tail_of(pool, units, b);
      level = tail.level;
      own = tail.variance;
    }
  }
  const double s = units.y_scale;
  out.coefficients.resize(p + 1);
  out.coefficients[0] = units.y_centre + s * (level + b.dot(units.shift));
  out.coefficients.tail(p) = beta;
  // Mean of the raw columns.
  const Eigen::VectorXd mean = lu_solve(units.map, centre - units.shift);
  const auto join = [&](const Eigen::MatrixXd& V, double own) {
    Eigen::MatrixXd joined(p + 1, p + 1);
    joined.bottomRightCorner(p, p) = V;
    joined.col(0).tail(p) = -V * mean;
    joined.row(0).tail(p) = joined.col(0).tail(p).transpose();
    joined(0, 0) = own + mean.dot(V * mean);
    return joined;
  };
  out.privacy = join(privacy, s * s * own);
  out.sampling = join(sampling, out.residual / n);
}

}  // namespace pooled_detail

double effective_rows(const lm_pool& pool, double n) {
  return n * std::min(1.0, std::max(least_weight, pool.last().weight));
}

namespace pooled_detail {

/// Of each slope the least eigenvalue, over noise, of the directions that it depends on.
Eigen::VectorXd told_by_moments(const lm_pool& pool, const lm_solution& s,
                                const Eigen::MatrixXd& along) {
  Eigen::VectorXd out =
      Eigen::VectorXd::Constant(along.rows(), std::numeric_limits<double>::infinity());
  for (Eigen::Index i = 0; i < along.rows(); ++i) {
    const double length = along.row(i).squaredNorm();
    for (Eigen::Index j = 0; j < along.cols(); ++j)
      if (along(i, j) * along(i, j) > 0.02 * length) out[i] = std::min(out[i], s.resolved[j]);
  }
  return out * pool.floor() / pool.told();
}

}  // namespace pooled_detail

lm_estimate estimate_full(const lm_pool& pool, const lm_units& units, double rows) {
  const lm_solution s = solve_pool(pool);
  const Eigen::Index p = pool.p();
  const Eigen::MatrixXd back = units.y_scale * units.map.transpose() * pool.last().frame.whiten;
  const Eigen::MatrixXd along = back * s.directions;
  lm_estimate out;
  out.rows = rows;
  const double unit2 = units.y_scale * units.y_scale;
  out.residual = unit2 * s.residual;
  const double explained = s.theta.dot(s.covariance * s.theta);
  out.r_squared = explained / (explained + s.residual);
  out.identified = pooled_detail::told_by_moments(pool, s, along);
  const double excess = robust_excess(pool, units);
  const slope_bias bias = clipping_bias(pool, units, s, rows);
  const Eigen::VectorXd sampled = s.residual / rows * s.values.cwiseInverse();
  const Eigen::MatrixXd privacy =
      along * (s.privacy + excess * sampled).asDiagonal() * along.transpose() +
      back * bias.doubt * back.transpose();
  const Eigen::MatrixXd sampling = along * sampled.asDiagonal() * along.transpose();
  pooled_detail::add_intercept(pool, units, s, back * (s.theta - bias.value), privacy, sampling,
                               excess, rows, out);
  return out;
}

Eigen::MatrixXd floored_covariance(const lm_pool& pool, const Eigen::VectorXd& theta) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(pooled_cross(pool, theta).covariance);
  return spectrum.eigenvectors() * spectrum.eigenvalues().cwiseMax(pool.floor()).asDiagonal() *
         spectrum.eigenvectors().transpose();
}

lm_estimate estimate_part(const lm_pool& pool, const lm_units& units, double rows,
                          const std::vector<int>& kept) {
  const lm_solution full = solve_pool(pool);
  const Eigen::Index p = pool.p(), q = static_cast<Eigen::Index>(kept.size());
  const Eigen::MatrixXd C = floored_covariance(pool, full.theta);
  // Raw columns are their mean plus root' w.
  const Eigen::MatrixXd root = lu_inverse(units.map.transpose() * pool.last().frame.whiten);
  Eigen::MatrixXd part(p, q);
  for (Eigen::Index k = 0; k < q; ++k) part.col(k) = root.col(kept[static_cast<std::size_t>(k)]);
  const double s = units.y_scale;
  lm_estimate out;
  out.rows = rows;
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(p), slope = Eigen::VectorXd::Zero(q);
  const Eigen::MatrixXd inverse =
      q > 0 ? Eigen::MatrixXd(
                  ldlt(part.transpose() * C * part).solve(Eigen::MatrixXd::Identity(q, q)))
            : Eigen::MatrixXd(0, 0);
  double variance = 0.0;
  for (int step = 0; step < 3; ++step) {
    const pooled_cross c(pool, theta);
    variance = c.variance;
    slope = inverse * (part.transpose() * c.value(C));
    theta = part * slope;
  }
  // `hat`: change of theta per change of the cross moments, whose variance v includes the
  // covariance's noise times the error of theta.
  const Eigen::MatrixXd hat = inverse * part.transpose();  // q x p
  const double gain = (part * hat).squaredNorm();
  double v = variance;
  for (int step = 0; step < 6; ++step)
    v = variance + pool.sd * pool.sd * std::min(v * gain, full.response / pool.floor());
  const double total = full.residual + full.theta.dot(full.covariance * full.theta);
  const double explained = theta.dot(C * theta);
  const double left = std::max(total - explained, full.residual);
  out.residual = s * s * left;
  out.r_squared = std::min(1.0, explained / (explained + left));
  Eigen::MatrixXd privacy = Eigen::MatrixXd::Zero(p, p), sampling = privacy;
  Eigen::VectorXd beta = Eigen::VectorXd::Zero(p);
  // A change of the cross moments moves the part's slopes by `hat`.
  const Eigen::MatrixXd change = hat * C;
  out.identified = pooled_detail::told_by_moments(pool, full, change * full.directions);
  const slope_bias bias = clipping_bias(pool, units, full, rows);
  const Eigen::MatrixXd noise =
      s * s *
      (privacy_inflation * v * hat * hat.transpose() + change * bias.doubt * change.transpose());
  slope -= change * bias.value;
  const double excess = robust_excess(pool, units);
  for (Eigen::Index i = 0; i < q; ++i) {
    const int a = kept[static_cast<std::size_t>(i)];
    beta[a] = s * slope[i];
    for (Eigen::Index j = 0; j < q; ++j) {
      const int b = kept[static_cast<std::size_t>(j)];
      sampling(a, b) = s * s * left / rows * inverse(i, j);
      privacy(a, b) = noise(i, j) + excess * sampling(a, b);
    }
  }
  pooled_detail::add_intercept(pool, units, full, beta, privacy, sampling, excess, rows, out);
  return out;
}

}  // namespace dpsc
