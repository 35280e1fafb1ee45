// A release that grows: a gram release now, and one small release for each of so many announced
// periods, all paid for at the start. Proof: inst/proofs/growing.md.
#pragma once

#include <vector>

#include "../estimate/growing.hpp"
#include "../mechanism/one_period.hpp"
#include "gram_release.hpp"

namespace dpsc {

/// Share of the budget for the release that is made now.
constexpr double growing_share = 0.45;

struct growing_facts {
  double n = 0.0;
  double epsilon = 0.0, delta = 0.0;  // of everything
  double periods = 0.0;               // announced
};

/// The same for each announced period: fixed before anything is drawn. PUBLIC.
inline period_plan plan_growing(const growing_facts& facts) {
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0) || !(facts.periods >= 1.0)) throw budget_too_small();
  return plan_period(budget, (1.0 - growing_share) / facts.periods, facts.n);
}

/// Estimates of all that was released so far.
inline growing_estimate grow(const growing_base& base, const std::vector<period_release>& months) {
  growing_estimate out(base);
  for (const period_release& month : months) out.add(month);
  return out;
}

/// The next period, of rows that hold all periods up to it.
inline period_release run_growing(const period_plan& plan, const growing_base& base,
                                  const std::vector<period_release>& months, const row_scale& scale,
                                  const row_source& source, noise& draws, const ticker& tick) {
  return release_period(source, scale, grow(base, months).frame(), plan, draws, tick);
}

}  // namespace dpsc
