// Bodies of calibration.hpp.
#pragma once

#include "calibration.hpp"

namespace dpsc {

double two_sided_quantile(double tail, double statements) {
  const double one = -std::expm1(std::log1p(-tail) / statements);  // tail of each
  const double target = std::log(one / 2.0);
  double low = 0.0, high = 40.0;
  for (int i = 0; i < 200; ++i) {
    const double mid = (low + high) / 2.0;
    (log_normal_cdf(-mid) > target ? low : high) = mid;
  }
  return high;
}

double unseen_share(double clip_exponent, double donors) {
  // Of more donors at least `calibration_rows` calibrate the intervals.
  return 0.5 / (clip_exponent * std::min(donors, calibration_rows));
}

Eigen::VectorXd unseen_variance(double clip, double clip_exponent, double donors,
                                const Eigen::MatrixXd& targets, const Eigen::VectorXd& half,
                                Eigen::Index T0) {
  Eigen::VectorXd out = Eigen::VectorXd::Zero(targets.rows());
  const double width = half.tail(half.size() - T0).mean();
  if (!(clip <= std::max(small_range::part, small_range::least / donors) * width)) return out;
  const double hidden = unseen_share(clip_exponent, donors) * (width * width);
  for (Eigen::Index i = 0; i < targets.rows(); ++i) {
    const Eigen::VectorXd path = targets.row(i).head(T0);
    const double lower = (half.head(T0) + path).maxCoeff(),
                 upper = (half.head(T0) - path).maxCoeff();
    if (std::min(lower, upper) <= clip) out[i] = hidden;
  }
  return out;
}

double hidden_shift(double calm, double clip, double second, double model, double shortened) {
  // A range within an octave of the calm one is only repaired. One by chance too large is not far
  // from it, either.
  constexpr double octave = 2.0, deviations = 12.0, rounding = 1.0 + 1e-9;
  const double usual = std::min(octave * calm, deviations * std::sqrt(std::max(0.0, model)));
  if (!(clip > usual * rounding)) return 0.0;
  const double tail = std::max(0.0, second - model);
  const double within = 2.0 * tail / clip;
  return std::isfinite(shortened) ? std::min(within, tail / (4.0 * shortened)) : within;
}

double rows_to_calibrate(const total_budget& budget, double n) {
  const double wanted = std::ceil((budget.gaussian() ? 400.0 : 4000.0) / budget.total());
  return std::min(n, std::min(std::max(wanted, calibration_rows), most_calibration_rows));
}

calibration_shares share_calibration(const total_budget& budget, double m, bool group,
                                     double least) {
  calibration_shares out;
  // The mean of many people depends on rare large errors of single people, which the clip must
  // cover.
  out.clip = group ? budget.share_of_exponent(100.0 / m, 0.005 * least, 0.06)
                   : budget.share_of_exponent(45.0 / m, 0.005 * least, 0.03);
  if (group) out.reach = budget.share_of_exponent(500.0 / m, 0.005 * least, 0.10);
  if (!group) out.factor = budget.share_of_exponent(40.0 / m, 0.005 * least, 0.06);
  // The second moment's noise is 1/25 of the squared clip if the budget permits, and less for a
  // group, whose clip may be far larger than most errors.
  const auto for_noise = [&](double parts) {
    return budget.gaussian() ? std::pow(parts / (m * budget.total()), 2.0)
                             : std::sqrt(2.0) * parts / (m * budget.total());
  };
  const double wanted = for_noise(24.5);
  out.second = std::min(0.05, std::max(0.01 * least, wanted));
  // A draw that cannot see a share of donors below about 6 % is not worth its budget.
  if (group && budget.exponent(out.reach) * m < least_reach_signal)
    out.reach = 0.005 * least;
  else if (group)
    out.second = std::max(out.second, std::min(0.03, for_noise(100.0)));
  return out;
}

bool can_calibrate(const total_budget& budget, double m, bool group, double least) {
  const calibration_shares shares = share_calibration(budget, m, group, least);
  return budget.exponent(group ? shares.clip : shares.factor) * m >=
         (group ? least_group_signal : least_signal);
}

calibration_plan plan_calibration(const total_budget& budget, const calibration_shares& shares,
                                  double m, bool group) {
  calibration_plan out;
  out.rows = m;
  out.group = group;
  out.clip_exponent = budget.exponent(shares.clip);
  if (group) out.reach_exponent = budget.exponent(shares.reach);
  if (!group) {
    out.factor_exponent = budget.exponent(shares.factor);
    out.tail = std::min(0.5, std::max(0.05, 1.3 / (out.factor_exponent * m)));
  }
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (out.second_bits = 20; out.second_bits >= 8; --out.second_bits) {
    const double sensitivity = std::ldexp(1.0, out.second_bits);
    if (budget.gaussian()) {
      out.second_law = law::discrete_gaussian;
      out.second_noise = gaussian_vector_variance(sensitivity, budget.mu(shares.second));
      out.second_sigma = std::sqrt(out.second_noise);
    } else {
      out.second_law = law::discrete_laplace;
      out.second_noise =
          std::ceil(sensitivity / budget.epsilon(shares.second) * (1.0 + gdp_margin));
      out.second_sigma = std::sqrt(2.0) * out.second_noise;
    }
    if (out.second_sigma <= largest_sigma) break;
  }
  if (!(out.second_sigma <= largest_sigma)) throw budget_too_small();
  const double sensitivity = std::ldexp(1.0, out.second_bits);
  const char* what[] = {"tail of the average's error", "tail of a period's error",
                        "tail of the largest error"};
  out.records.push_back(budget.choice_record("range of placebo errors", out.clip_exponent));
  if (group)
    out.records.push_back(budget.choice_record("range of the largest errors", out.reach_exponent));
  out.records.push_back(
      {"mean squared placebo error", law_name(out.second_law), sensitivity,
       budget.gaussian() ? out.second_sigma : out.second_noise,
       budget.gaussian() ? none : sensitivity / out.second_noise,
       budget.gaussian() ? gaussian_vector_mu(sensitivity, out.second_noise) : none});
  for (const char* label : what) {
    if (group) break;
    out.records.push_back(budget.choice_record(label, out.factor_exponent));
  }
  return out;
}

std::vector<double> tail_factors() {
  std::vector<double> out;
  for (int k = -2; k <= 8; ++k) out.push_back(std::pow(1.15, k));
  for (int k = 0; k < 5; ++k) out.push_back(out.back() * 3.0);
  return out;
}

namespace calibration_detail {

beyond_counts::beyond_counts(const std::vector<double>& thresholds)
    : thresholds_(thresholds), first_(thresholds.size() + 1, 0) {}

void beyond_counts::add(double v, std::int64_t part) {
  const auto at = std::isnan(v) ? thresholds_.end()
                                : std::lower_bound(thresholds_.begin(), thresholds_.end(), v);
  first_[static_cast<std::size_t>(at - thresholds_.begin())] += part;
}

std::vector<std::int64_t> beyond_counts::losses(double allowed) const {
  std::vector<std::int64_t> out(thresholds_.size());
  std::int64_t outside = 0;
  for (std::size_t k = thresholds_.size(); k-- > 0;) {
    outside += first_[k + 1];
    out[k] = std::max<std::int64_t>(0, outside - static_cast<std::int64_t>(allowed));
  }
  return out;
}

std::vector<double> range_candidates(Eigen::Index rows) {
  std::vector<double> out;
  for (double c = 2.0; out.empty() || c >= 10.0 / static_cast<double>(rows); c /= std::sqrt(2.0))
    out.insert(out.begin(), c);
  return out;
}

std::vector<double> factor_prior(std::size_t factors, double signal) {
  const double threefold = std::min(3.0, 1.1 * std::max(1.0, signal / 180.0));
  std::vector<double> out;
  for (std::size_t k = 0; k < factors; ++k) {
    const double fine = std::min(8.0, std::max(0.0, static_cast<double>(k) - 2.0));
    const double wide = std::max(0.0, static_cast<double>(k) - 10.0);
    out.push_back(-0.55 * fine - threefold * wide);
  }
  return out;
}

std::vector<std::int64_t> beyond(const Eigen::MatrixXd& values,
                                 const std::vector<double>& thresholds, double allowed,
                                 const placebo_errors& rows) {
  beyond_counts counts(thresholds);
  for (Eigen::Index j = 0; j < values.cols(); ++j)
    for (Eigen::Index i = 0; i < values.rows(); ++i) counts.add(values(i, j), rows.part(i));
  return counts.losses(std::ldexp(allowed, rows.bits()));
}

private_choice choice_beyond(const std::vector<std::int64_t>& losses, double exponent,
                             const std::vector<double>& log_prior, int bits) {
  private_choice choice;
  choice.losses = losses;
  choice.units = exponent_units(exponent, shift);
  choice.offsets = prior_offsets(log_prior, shift);
  for (std::uint64_t& offset : choice.offsets) offset <<= bits;
  choice.shift = shift + bits;
  choice.parts = bits;
  return choice;
}

std::size_t extended_range(const Eigen::MatrixXd& values, const std::vector<double>& clips,
                           std::size_t calm, const calibration_plan& plan,
                           const placebo_errors& rows, noise& draws) {
  const std::vector<double> larger(clips.begin() + static_cast<std::ptrdiff_t>(calm), clips.end());
  std::vector<double> prior(larger.size(), 0.0);
  for (std::size_t k = 1; k < prior.size(); ++k)
    prior[k] = k <= 2 ? -group_clip_price * static_cast<double>(k)
                      : -reach_price - reach_step * static_cast<double>(k);
  // Whom the calm range may leave out is no evidence of larger errors.
  const std::vector<std::int64_t> losses =
      beyond(values, larger, std::floor(0.5 / plan.clip_exponent), rows);
  return calm + draws.choose(plan.records[1].label,
                             choice_beyond(losses, plan.reach_exponent, prior, rows.bits()));
}

}  // namespace calibration_detail

calibration release_calibration(const placebo_errors& rows, const calibration_plan& plan,
                                noise& draws) {
  using namespace calibration_detail;
  const Eigen::Index m = rows.error.rows(), T1 = rows.error.cols() - 1;
  calibration out;
  out.made = true;
  out.tail = plan.tail;
  out.group = plan.group;

  // A range that contains nearly all errors of the average; each larger range has a price.
  const std::vector<double> clips = range_candidates(m);
  std::vector<double> clip_prior;
  for (std::size_t k = 0; k < clips.size(); ++k)
    clip_prior.push_back(-(plan.group ? group_clip_price : clip_price) * static_cast<double>(k));
  const std::vector<std::int64_t> wide =
      beyond(rows.error.col(0).cwiseAbs(), clips, std::floor(0.5 / plan.clip_exponent), rows);
  std::size_t range = draws.choose(
      plan.records[0].label, choice_beyond(wide, plan.clip_exponent, clip_prior, rows.bits()));
  out.calm = clips[range];
  if (plan.group)
    range = extended_range(rows.error.col(0).cwiseAbs(), clips, range, plan, rows, draws);
  out.clip = clips[range];

  const double one = std::ldexp(1.0, plan.second_bits);
  double sum = 0.0;
  for (Eigen::Index i = 0; i < m; ++i) {
    const double ratio = rows.error(i, 0) / out.clip;
    const double square = ratio * ratio;
    const double own = rows.share.size() > 0 ? one * rows.share[i] : one;
    sum += square < 1.0 ? std::floor(own * square) : std::floor(own);  // not a number: one
  }
  const double noisy = draws.add(plan.records[plan.second_at()].label, plan.second_law,
                                 Eigen::VectorXd::Constant(1, sum),
                                 Eigen::VectorXd::Constant(1, plan.second_noise))[0];
  // The total weight of the people, relative to the largest weight.
  const double mass = static_cast<double>(m) * rows.mean_share;
  const double grid = out.clip * out.clip / (one * mass);
  out.second = noisy * grid;
  out.second_sd = plan.second_sigma * grid;

  if (plan.group) return out;

  // Errors in units of each row's interval at a factor of one.
  Eigen::MatrixXd ratio(m, T1 + 1);
  Eigen::VectorXd largest(m);
  for (Eigen::Index i = 0; i < m; ++i) {
    const double lift = std::max(1.0, out.floor() / rows.variance(i, 0));
    double top = 0.0;  // a value that is not a number stays
    for (Eigen::Index j = 0; j <= T1; ++j) {
      const double deviation = rows.scale[i] * std::sqrt(lift * rows.variance(i, j));
      ratio(i, j) = std::fabs(rows.error(i, j)) / deviation;
      if (j > 0 && !std::isnan(top) && !(ratio(i, j) <= top)) top = ratio(i, j);
    }
    largest[i] = top;
  }
  const std::vector<double> factors = tail_factors();
  const std::vector<double> prior = factor_prior(factors.size(), plan.factor_exponent * mass);
  // If the draw is coarse, a reserve covers some of its error, more for the largest of several.
  const bool few = plan.factor_exponent * mass < 45.0;
  const auto allowed = [&](double reserve) {
    const double beyond = plan.tail * mass;
    return std::max(0.0, std::ceil(few ? beyond - reserve / plan.factor_exponent : beyond));
  };
  const auto factor = [&](std::size_t record, const Eigen::MatrixXd& values, double statements,
                          double parts, double reserve) {
    const double quantile = two_sided_quantile(plan.tail, statements);
    std::vector<double> thresholds;
    for (double f : factors) thresholds.push_back(f * quantile);
    // A row has `parts` values, so it changes a loss by at most `parts`.
    const std::vector<std::int64_t> losses =
        beyond(values, thresholds, parts * allowed(reserve), rows);
    return factors[draws.choose(
        plan.records[record].label,
        choice_beyond(losses, plan.factor_exponent / parts, prior, rows.bits()))];
  };
  const double periods = static_cast<double>(T1);
  out.average = factor(2, ratio.col(0), 1.0, 1.0, 0.5);
  out.period = factor(3, ratio.rightCols(T1), 1.0, periods, 0.5);
  out.band = factor(4, largest, periods, 1.0, 1.0);
  return out;
}

}  // namespace dpsc
