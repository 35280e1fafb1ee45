// Bodies of cohorts_release.hpp.
#pragma once

#include "cohorts_release.hpp"

namespace dpsc {

cohorts_plan plan_cohorts(const panel_facts& facts, const std::vector<Eigen::Index>& dates) {
  cohorts_plan out;
  out.moments = plan_gram(facts);
  const auto own = static_cast<std::ptrdiff_t>(out.moments.calibration.records.size());
  out.records.assign(out.moments.records.begin(), out.moments.records.end() - own);
  out.calibration = calibrate_cohorts(out.moments.calibration, static_cast<double>(dates.size()));
  out.moments.calibration = calibration_plan();
  for (const step_record& record : out.calibration.records) out.records.push_back(record);
  return out;
}

row_scale reordered_scale(const row_scale& scale, const std::vector<Eigen::Index>& order) {
  row_scale out = scale;
  for (std::size_t t = 0; t < order.size(); ++t) {
    const auto at = static_cast<Eigen::Index>(t);
    out.centre[at] = scale.centre[order[t]];
    out.half[at] = scale.half[order[t]];
  }
  return out;
}

placebo_errors cohort_errors_of(const gram_statistics& s, const panel_facts& facts, Eigen::Index T0,
                                const row_scale& scale, const estimator_options& options,
                                const row_source& source, const row_positions& which,
                                const cohorts_plan& plan, const ticker& tick) {
  const counterfactual_estimator estimator(cohort_view(s, T0), options);
  const Eigen::Index q = facts.covariates, T = facts.T0 + facts.T1;
  const auto errors = [&](const row_source& rows, const row_scale& own) {
    return placebo_pass(rows, own, estimator, T0 + q, T - T0, which, plan.calibration.rows, tick);
  };
  if (q == 0 || T0 == facts.T0) return errors(source, scale);
  const std::vector<Eigen::Index> order = cohort_order(facts.T0, q, T0, T);
  const row_scale own = reordered_scale(scale, order);
  const auto grid = [&](const row_scale& at) {
    return grid_id(
        map_on_grid(at, Eigen::MatrixXd::Identity(T + q, T + q), Eigen::VectorXd::Zero(T + q)).map);
  };
  return errors(reordered_source(source, order, grid(scale), grid(own)), own);
}

cohorts_release run_cohorts(const cohorts_plan& plan, const panel_facts& facts,
                            const std::vector<Eigen::Index>& dates, const row_scale& scale,
                            const estimator_options& options, const row_source& source,
                            noise& draws, const ticker& tick) {
  cohorts_release out;
  out.moments = run_gram(plan.moments, facts, scale, options, source, draws, tick);
  if (!plan.calibration.made()) return out;
  // The same people, in the same order, for every cohort.
  const row_positions which = calibrating_rows(draws, facts.n, plan.calibration.rows);
  std::vector<placebo_errors> errors;
  for (const Eigen::Index T0 : dates)
    errors.push_back(cohort_errors_of(out.moments.statistics, facts, T0, scale, options, source,
                                      which, plan, tick));
  out.intervals = release_cohort_calibration(errors, plan.calibration, draws);
  return out;
}

}  // namespace dpsc
