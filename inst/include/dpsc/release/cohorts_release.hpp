// Several adoption dates: the moments of the never-treated once, about the first adoption, and
// placebo errors as every cohort's estimator makes them.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../estimate/cohorts.hpp"
#include "../mechanism/cohort_calibration.hpp"
#include "gram_release.hpp"

namespace dpsc {

/// Fixed before anything is drawn. PUBLIC.
struct cohorts_plan {
  gram_plan moments;  // calibrates nothing itself
  calibration_plan calibration;
  std::vector<step_record> records;
};

/// `dates`: numbers of periods before each cohort's adoption, increasing; the first is facts.T0.
inline cohorts_plan plan_cohorts(const panel_facts& facts, const std::vector<Eigen::Index>& dates) {
  cohorts_plan out;
  out.moments = plan_gram(facts);
  const auto own = static_cast<std::ptrdiff_t>(out.moments.calibration.records.size());
  out.records.assign(out.moments.records.begin(), out.moments.records.end() - own);
  out.calibration = calibrate_cohorts(out.moments.calibration, static_cast<double>(dates.size()));
  out.moments.calibration = calibration_plan();
  for (const step_record& record : out.calibration.records) out.records.push_back(record);
  return out;
}

struct cohorts_release {
  gram_release moments;
  cohort_calibration intervals;
};

inline cohorts_release run_cohorts(const cohorts_plan& plan, const panel_facts& facts,
                                   const std::vector<Eigen::Index>& dates, const row_scale& scale,
                                   const estimator_options& options, const row_source& source,
                                   noise& draws, const ticker& tick) {
  cohorts_release out;
  out.moments = run_gram(plan.moments, facts, scale, options, source, draws, tick);
  if (!plan.calibration.made()) return out;
  std::vector<placebo_errors> errors;
  for (const Eigen::Index T0 : dates) {
    const counterfactual_estimator estimator(cohort_view(out.moments.statistics, T0), options);
    errors.push_back(placebo_pass(source, scale, estimator, T0, facts.T0 + facts.T1 - T0,
                                  plan.moments.stride, plan.calibration.rows, tick));
  }
  out.intervals = release_cohort_calibration(errors, plan.calibration, draws);
  return out;
}

}  // namespace dpsc
