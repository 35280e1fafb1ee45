// Bodies of cohort_calibration.hpp.
#pragma once

#include "cohort_calibration.hpp"

namespace dpsc {

calibration_plan calibrate_cohorts(calibration_plan plan, double cohorts) {
  if (!plan.made() || cohorts == 1.0) return plan;
  step_record& record = plan.records[plan.second_at()];
  const bool gaussian = plan.second_law == law::discrete_gaussian;
  for (;; --plan.second_bits) {
    if (plan.second_bits < 8) throw budget_too_small();
    const double one = std::ldexp(1.0, plan.second_bits);
    record.sensitivity = one * (gaussian ? std::sqrt(cohorts) : cohorts);
    if (gaussian) {
      plan.second_noise = gaussian_vector_variance(record.sensitivity, record.mu);
      plan.second_sigma = std::sqrt(plan.second_noise);
    } else {
      plan.second_noise = std::ceil(record.sensitivity / record.epsilon * (1.0 + gdp_margin));
      plan.second_sigma = std::sqrt(2.0) * plan.second_noise;
    }
    if (plan.second_sigma <= largest_sigma) break;
  }
  if (gaussian) {
    record.scale = plan.second_sigma;
    record.mu = gaussian_vector_mu(record.sensitivity, plan.second_noise);
  } else {
    record.scale = plan.second_noise;
    record.epsilon = record.sensitivity / plan.second_noise;
  }
  return plan;
}

cohort_calibration release_cohort_calibration(const std::vector<placebo_errors>& cohorts,
                                              const calibration_plan& plan, noise& draws) {
  using namespace calibration_detail;
  const auto G = static_cast<Eigen::Index>(cohorts.size());
  const Eigen::Index m = cohorts.front().error.rows();
  cohort_calibration out;
  out.made = true;
  out.tail = plan.tail;
  out.group = plan.group;

  // A person's largest error of an average: one value per row.
  Eigen::VectorXd widest = cohorts.front().error.col(0).cwiseAbs();
  for (const placebo_errors& cohort : cohorts)
    for (Eigen::Index i = 0; i < m; ++i)
      widest[i] = larger(widest[i], std::fabs(cohort.error(i, 0)));
  const std::vector<double> clips = range_candidates(m);
  std::vector<double> prior;
  for (std::size_t k = 0; k < clips.size(); ++k)
    prior.push_back(-clip_price * static_cast<double>(k));
  private_choice clip;
  clip.losses = beyond(widest, clips, std::floor(0.5 / plan.clip_exponent));
  clip.units = exponent_units(plan.clip_exponent, shift);
  clip.offsets = prior_offsets(prior, shift);
  std::size_t range = draws.choose(plan.records[0].label, clip);
  out.calm = clips[range];
  if (plan.group) range = extended_range(widest, clips, range, plan, {}, draws);
  out.clip = clips[range];

  const double one = std::ldexp(1.0, plan.second_bits);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(G);
  for (Eigen::Index g = 0; g < G; ++g)
    for (Eigen::Index i = 0; i < m; ++i) {
      const double ratio = cohorts[static_cast<std::size_t>(g)].error(i, 0) / out.clip;
      const double square = ratio * ratio;
      sum[g] += square < 1.0 ? std::floor(one * square) : one;  // not a number: one
    }
  const double grid = out.clip * out.clip / (one * static_cast<double>(m));
  out.second = grid * draws.add(plan.records[plan.second_at()].label, plan.second_law, sum,
                                Eigen::VectorXd::Constant(G, plan.second_noise));
  out.second_sd = plan.second_sigma * grid;
  if (plan.group) return out;

  // Errors in units of each row's interval at a factor of one.
  Eigen::Index cells = 0;
  for (const placebo_errors& cohort : cohorts) cells += cohort.error.cols() - 1;
  Eigen::MatrixXd average(m, G), period(m, cells), largest(m, G);
  Eigen::Index at = 0;
  for (Eigen::Index g = 0; g < G; ++g) {
    const placebo_errors& cohort = cohorts[static_cast<std::size_t>(g)];
    const Eigen::Index T1 = cohort.error.cols() - 1;
    const double together = two_sided_quantile(plan.tail, static_cast<double>(T1));
    for (Eigen::Index i = 0; i < m; ++i) {
      const double lift = std::max(1.0, out.floor(g) / cohort.variance(i, 0));
      const auto ratio = [&](Eigen::Index j) {
        return std::fabs(cohort.error(i, j)) /
               (cohort.scale[i] * std::sqrt(lift * cohort.variance(i, j)));
      };
      average(i, g) = ratio(0);
      double top = 0.0;
      for (Eigen::Index t = 0; t < T1; ++t) {
        period(i, at + t) = ratio(t + 1);
        top = larger(period(i, at + t), top);
      }
      largest(i, g) = top / together;
    }
    at += T1;
  }
  const std::vector<double> factors = tail_factors();
  const std::vector<double> factor_costs =
      factor_prior(factors.size(), plan.factor_exponent * static_cast<double>(m));
  // If the draw is coarse, a reserve covers some of its error, more for the largest of several.
  const bool few = plan.factor_exponent * static_cast<double>(m) < 45.0;
  const auto factor = [&](std::size_t record, const Eigen::MatrixXd& values, double quantile,
                          double reserve) {
    const double rows = plan.tail * static_cast<double>(m);
    const double allowed =
        std::max(0.0, std::ceil(few ? rows - reserve / plan.factor_exponent : rows));
    const auto parts = static_cast<double>(values.cols());
    std::vector<double> thresholds;
    for (double f : factors) thresholds.push_back(f * quantile);
    private_choice choice;
    // A row has `parts` values, so it changes a loss by at most `parts`.
    choice.losses = beyond(values, thresholds, parts * allowed);
    choice.units = exponent_units(plan.factor_exponent / parts, shift);
    choice.offsets = prior_offsets(factor_costs, shift);
    choice.shift = shift;
    return factors[draws.choose(plan.records[record].label, choice)];
  };
  const double quantile = two_sided_quantile(plan.tail);
  out.average = factor(2, average, quantile, 0.5);
  out.period = factor(3, period, quantile, 0.5);
  out.band = factor(4, largest, 1.0, 1.0);
  return out;
}

}  // namespace dpsc
