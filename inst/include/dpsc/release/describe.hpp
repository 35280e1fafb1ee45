// People's columns described: counts, quantiles and moments by group, from two passes over rows.
// Proof: inst/proofs/describe.md.
#pragma once

#include <Eigen/Core>

#include "../estimate/described.hpp"
#include "../mechanism/describe_plan.hpp"
#include "../mechanism/person.hpp"
#include "../rows/people.hpp"
#include "../rows/source.hpp"

namespace dpsc {

/// One pass: the number of people at each point of a grid, at each level, in each group. PRIVATE.
struct describe_counts {
  // Number by number, group by group; in units of 2^-20 if people may have several rows.
  std::vector<std::vector<double>> cells;
  Eigen::VectorXd table, sizes;  // in grid steps
};

describe_counts count_columns(const row_source& source, const describe_facts& facts,
                              const describe_plan& plan);

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
