// Bodies of growing_release.hpp.
#pragma once

#include "growing_release.hpp"

namespace dpsc {

period_plan plan_growing(const growing_facts& facts) {
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0) || !(facts.periods >= 1.0)) throw budget_too_small();
  return plan_period(budget, (1.0 - growing_share) / facts.periods, facts.n);
}

growing_estimate grow(const growing_base& base, const std::vector<period_release>& months) {
  growing_estimate out(base);
  for (const period_release& month : months) out.add(month);
  return out;
}

period_release run_growing(const period_plan& plan, const growing_base& base,
                           const std::vector<period_release>& months, const row_scale& scale,
                           const row_source& source, noise& draws, const ticker& tick) {
  return release_period(source, scale, grow(base, months).frame(), plan, draws, tick);
}

}  // namespace dpsc
