// Several adoption dates: the moments of the never-treated once, relative to the first adoption,
// and placebo errors of every cohort's estimator.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "../estimate/cohorts.hpp"
#include "../mechanism/cohort_calibration.hpp"
#include "../rows/reordered.hpp"
#include "gram_release.hpp"

namespace dpsc {

/// Fixed before anything is drawn. PUBLIC.
struct cohorts_plan {
  gram_plan moments;  // without a calibration of its own
  calibration_plan calibration;
  std::vector<step_record> records;
};

/// `dates`: numbers of periods before each cohort's adoption, increasing; the first is facts.T0.
cohorts_plan plan_cohorts(const panel_facts& facts, const std::vector<Eigen::Index>& dates);

struct cohorts_release {
  gram_release moments;
  cohort_calibration intervals;
};

/// A row's scale with its columns in another order.
row_scale reordered_scale(const row_scale& scale, const std::vector<Eigen::Index>& order);

/// Placebo errors of one cohort's estimator. PRIVATE.
placebo_errors cohort_errors_of(const gram_statistics& s, const panel_facts& facts, Eigen::Index T0,
                                const row_scale& scale, const estimator_options& options,
                                const row_source& source, const row_positions& which,
                                const cohorts_plan& plan, const ticker& tick);

cohorts_release run_cohorts(const cohorts_plan& plan, const panel_facts& facts,
                            const std::vector<Eigen::Index>& dates, const row_scale& scale,
                            const estimator_options& options, const row_source& source,
                            noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "cohorts_release.cpp"
#endif
