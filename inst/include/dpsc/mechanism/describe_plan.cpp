// Bodies of describe_plan.hpp.
#pragma once

#include "describe_plan.hpp"

namespace dpsc {

void describe_facts::check() const {
  const bool fits = n >= 1.0 && lower.size() == numbers.size() && upper.size() == numbers.size() &&
                    whole.size() == numbers.size() && levels.size() == factors.size() &&
                    !(numbers.empty() && factors.empty()) && !quantiles.empty();
  if (!fits) throw std::invalid_argument("a description needs columns and quantiles");
}

double rank_exponent(const describe_plan& plan, double share, double a, int parts) {
  // Within a group a replaced row changes losses within a range of two ranks; a row that changes
  // its group changes the losses of both groups, each within a range of 2 max(a, 1-a).
  const double most = parts > 1 ? std::max(a, 1.0 - a) : 0.0;
  const double spent = share * plan.total;
  if (plan.gaussian) return std::sqrt(spent / std::max(0.5, most * most));
  return spent / std::max(2.0, 4.0 * most);
}

namespace describe_detail {

/// Distribution and grid of sums that a replaced row changes by at most `reach` times the grid
/// steps of one unit.
inline describe_sums plan_sums(const describe_plan& plan, double share, double reach, double small,
                               double rounded) {
  const double spent = share * plan.total;
  const double allowed = plan.gaussian ? std::sqrt(2.0 * spent) : spent;
  const double room = std::floor(std::log2(std::ldexp(1.0, 25) * allowed / reach));
  if (!(room >= 8.0)) throw budget_too_small();
  describe_sums out;
  out.one = std::ldexp(1.0, static_cast<int>(std::min(18.0, room)));
  out.small = small * out.one;
  out.square = out.rest = out.small;
  out.sensitivity = reach * out.one + rounded;
  out.scale = plan.gaussian ? gaussian_vector_variance(out.sensitivity, allowed)
                            : std::ceil(out.sensitivity / allowed * (1.0 + gdp_margin));
  return out;
}

inline double weights_of(const describe_facts& facts) {
  using namespace describe_constants;
  return number * static_cast<double>(facts.numbers.size()) +
         factor * static_cast<double>(facts.factors.size()) + (facts.groups > 1 ? sizes : 0.0);
}

/// Sums of powers. With one group z^2 has the same unit as z: no pair of rows is farthest apart
/// both in z and in z^2. There a missing value counts as the median.
inline describe_sums plan_powers(const describe_plan& plan, double share, bool several) {
  if (several)
    return plan_sums(plan, share, plan.gaussian ? std::sqrt(4.25) : 4.0, plan.gaussian ? 0.5 : 0.25,
                     6.0);
  describe_sums out = plan_sums(plan, share, plan.gaussian ? std::sqrt(4.375) : 2.625,
                                plan.gaussian ? 0.5 : 0.25, 6.0);
  out.square = out.one;
  out.rest = (plan.gaussian ? 0.25 : 0.0625) * out.one;
  return out;
}

/// Cost of one rank if all quantiles are drawn at once.
inline double joint_exponent(const describe_facts& facts, const describe_plan& plan, double share) {
  const double last = std::max(facts.quantiles.back(), 1000 - facts.quantiles.front()) / 1000.0;
  return rank_exponent(plan, share, last, facts.parts());
}

/// The quantiles' part of a variable's share: larger with few people, since the worst error is a
/// draw far from the quantile; smaller with many.
inline double share_of_places(const describe_facts& facts, const describe_plan& plan, double left) {
  using namespace describe_constants;
  if (plan.joint) {
    const double ranks = joint_exponent(facts, plan, left * joint) * facts.n / facts.parts() / 4.0;
    return ranks < joint_few_ranks ? joint_few : ranks > joint_many_ranks ? joint_many : joint;
  }
  const double own = left * quantiles / static_cast<double>(facts.quantiles.size());
  const double ranks =
      rank_exponent(plan, own, 0.25, facts.parts()) * facts.n / facts.parts() / 4.0;
  if (ranks < few_ranks) return places_few;
  return ranks > many_ranks ? places_many : quantiles;
}

/// Cost of one rank for both radii: one draw with the whole share, or two with half of it each.
inline double tail_exponent(const describe_plan& plan, double share, int parts) {
  return rank_exponent(plan, plan.joint ? share : share / 2.0, 1.0, parts);
}

/// The number of people beyond a radius.
inline double people_beyond(const describe_plan& plan, double share, int parts, double surely) {
  const double odds = std::log(static_cast<double>(describe_constants::radii)) + surely;
  return std::ceil(odds / tail_exponent(plan, share, parts));
}

/// log2 of the number of cells. If all people are at one point, a wrong cell far from it is drawn
/// with probability at most about 1/20; if people vary, finer cells are safe. Copies of round cells
/// double the number of candidates at most.
inline int bits_of_cells(double ranks, double jointly) {
  const double bits = std::floor((ranks + std::log(0.05 / 2.0)) / std::log(2.0) / jointly);
  const double most = describe_constants::fine_bits;
  return static_cast<int>(std::min(most, std::max(3.0, bits)));
}

/// Radii for columns whose quartiles coincide and show no scale; their budget is a part of the
/// moments' budget.
inline void plan_late_radii(const describe_facts& facts, double moments, double size,
                            describe_plan& out) {
  using namespace describe_constants;
  const double own = late_share * moments;
  const double beyond = people_beyond(out, own, facts.parts(), late_sure);
  if (beyond > late_tail * size) return;
  out.late = true;
  out.tail = tail_exponent(out, own, facts.parts());
  out.beyond = beyond;
  out.after = plan_powers(out, moments - own, facts.parts() > 1);
}

inline void plan_numbers(const describe_facts& facts, double each, describe_plan& out) {
  using namespace describe_constants;
  const double size = facts.n / facts.parts();
  out.joint = !out.gaussian && facts.quantiles.size() <= joint_most;
  const double few = out.joint ? joint_few_tails : few_tails;
  const double surely = out.joint ? joint_sure : sure;
  const bool many = people_beyond(out, each * few, facts.parts(), surely) <=
                    (out.joint ? joint_far : far_tail) * size;
  const double tail_share = many ? few : out.joint ? joint_tails : tails;
  const double beyond = people_beyond(out, each * tail_share, facts.parts(), surely);
  const bool tailed = beyond <= widest_tail * size;
  if (tailed) {
    out.tail = tail_exponent(out, each * tail_share, facts.parts());
    out.beyond = beyond;
    out.spent += each * tail_share * static_cast<double>(facts.numbers.size());
  }
  const double left = tailed ? each * (1.0 - tail_share) : each;
  const double places = left * share_of_places(facts, out, left);
  const auto count = static_cast<double>(facts.quantiles.size());
  double ranks = std::numeric_limits<double>::infinity();
  for (int q : facts.quantiles) {
    const double a = q / 1000.0;
    out.exponents.push_back(out.joint ? joint_exponent(facts, out, places)
                                      : rank_exponent(out, places / count, a, facts.parts()));
    ranks = std::min(ranks, out.exponents.back() * size * 2.0 * std::min(a, 1.0 - a));
    if (exponent_units(out.exponents.back() / 1000.0, shift) < 2) throw budget_too_small();
  }
  out.cell_bits = bits_of_cells(ranks, out.joint ? count : 1.0);
  const double moments = left - places;
  out.moments = plan_powers(out, moments, facts.parts() > 1);
  if (!tailed) plan_late_radii(facts, moments, size, out);
  out.spent += (places + moments) * static_cast<double>(facts.numbers.size());
}

inline describe_plan planned(const describe_facts& facts, const total_budget& budget) {
  using namespace describe_constants;
  describe_plan out;
  out.gaussian = budget.gaussian();
  out.total = out.gaussian ? budget.rho() : budget.total();
  if (!(out.total > 0.0)) throw budget_too_small();
  const double unit = 1.0 / weights_of(facts);
  if (!facts.numbers.empty()) plan_numbers(facts, number * unit, out);
  // A replaced row moves from one cell of a table to another.
  const double moved = out.gaussian ? std::sqrt(2.0) : 2.0;
  if (!facts.factors.empty()) {
    out.table = plan_sums(out, factor * unit, moved, 1.0, 0.0);
    out.spent += factor * unit * static_cast<double>(facts.factors.size());
  }
  if (facts.groups > 1) {
    out.sizes = plan_sums(out, sizes * unit, moved, 1.0, 0.0);
    out.spent += sizes * unit;
  }
  if (!(out.spent <= 1.0 + 1e-9)) throw std::logic_error("the shares exceed the budget");
  return out;
}

/// The size of a plan's noise, for comparing plans: on a mean, or on a count.
inline double coarseness(const describe_plan& plan) {
  const describe_sums& sums = plan.moments.one > 0.0 ? plan.moments : plan.table;
  const double added = sums.deviation(plan.gaussian, sums.one);
  return plan.exponents.empty() ? added : std::sqrt(added / plan.exponents.front());
}

}  // namespace describe_detail

describe_plan plan_describe(const describe_facts& facts) {
  facts.check();
  const describe_plan pure = describe_detail::planned(facts, total_budget(facts.epsilon, 0.0));
  if (!(facts.delta > 0.0)) return pure;
  const describe_plan shifts =
      describe_detail::planned(facts, total_budget(facts.epsilon, facts.delta));
  // A few steps cost less under pure composition, in which epsilons add up.
  return describe_detail::coarseness(shifts) < describe_detail::coarseness(pure) ? shifts : pure;
}

double rank_deviation(int jointly) { return std::sqrt((jointly + 1.0) * (jointly + 2.0) / 3.0); }

double rank_limit(int jointly, double alpha) {
  // The largest of J errors has a gamma distribution; each error is the largest, or uniform below
  // it.
  const auto beyond = [jointly](double t) {
    double sum = 0.0, term = 1.0;
    for (int k = 0; k < jointly; ++k, term *= t / k)
      sum += term * (1.0 - static_cast<double>(k) / jointly);
    return sum * std::exp(-t);
  };
  double low = 0.0, high = 700.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (beyond(middle) > alpha ? low : high) = middle;
  }
  return high;
}

place_grid fine_grid(const describe_facts& facts, std::size_t number) {
  const double last = facts.whole[number] != 0 ? facts.range(number)
                                               : std::ldexp(1.0, describe_constants::fine_bits);
  return {facts.lower[number], facts.upper[number], static_cast<std::size_t>(last), 0};
}

place_grid grid_of(const describe_facts& facts, const describe_plan& plan, std::size_t number) {
  place_grid out = fine_grid(facts, number);
  if (facts.whole[number] == 0) out.drop = describe_constants::fine_bits - plan.cell_bits;
  return out;
}

std::vector<std::int64_t> place_losses(const std::vector<std::int64_t>& counts, int thousandths) {
  std::int64_t m = 0;
  for (std::int64_t count : counts) m += count;
  std::vector<std::int64_t> out;
  out.reserve(counts.size());
  std::int64_t below = 0;
  for (std::int64_t count : counts) {
    const std::int64_t upto = below + count;
    out.push_back(
        std::max<std::int64_t>(1000 * below - thousandths * m, thousandths * m - 1000 * upto));
    below = upto;
  }
  return out;
}

}  // namespace dpsc
