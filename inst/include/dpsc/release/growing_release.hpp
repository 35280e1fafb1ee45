// A release that grows: a gram release now, and one small release for each announced period. The
// whole budget is charged at the start. Proof: inst/proofs/growing.md.
#pragma once

#include <vector>

#include "../estimate/growing.hpp"
#include "../mechanism/one_period.hpp"
#include "gram_release.hpp"

namespace dpsc {

/// Share of the budget for the first release.
constexpr double growing_share = 0.45;

struct growing_facts {
  double n = 0.0;
  double epsilon = 0.0, delta = 0.0;  // of everything
  double periods = 0.0;               // announced
};

/// The same for each announced period: fixed before anything is drawn. PUBLIC.
period_plan plan_growing(const growing_facts& facts);

/// Estimates from all releases so far.
growing_estimate grow(const growing_base& base, const std::vector<period_release>& months);

/// The next period, from rows with all periods up to it.
period_release run_growing(const period_plan& plan, const growing_base& base,
                           const std::vector<period_release>& months, const row_scale& scale,
                           const row_source& source, noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "growing_release.cpp"
#endif
