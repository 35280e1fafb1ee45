// People's columns described: counts, quantiles and moments by group, from two passes over rows.
// Proof: inst/proofs/describe.md.
#pragma once

#include <Eigen/Core>

#include "../estimate/described.hpp"
#include "../mechanism/describe_plan.hpp"
#include "../rows/people.hpp"
#include "../rows/source.hpp"

namespace dpsc {

/// One pass: the number of people at each point of a grid, at each level, in each group. PRIVATE.
struct describe_counts {
  std::vector<std::vector<std::int64_t>> cells;  // number by number, group by group
  Eigen::VectorXd table, sizes;
};

describe_counts count_columns(const row_source& source, const describe_facts& facts);

/// Sums of powers within released windows, five per group, in grid steps. PRIVATE.
Eigen::VectorXd sum_powers(const row_source& source, const describe_facts& facts,
                           const describe_sums& units, std::size_t number,
                           const std::vector<describe_window>& windows);

described run_describe(const describe_plan& plan, const describe_facts& facts,
                       const row_source& source, noise& draws);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "describe.cpp"
#endif
