// Subsample and aggregate: disjoint blocks of people vote. Positions determine the blocks; data
// never do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "../noise/noise.hpp"
#include "from_moments.hpp"
#include "greedy.hpp"

namespace dpsc {

/// The variables that a block of people selects, without noise. PRIVATE.
inline std::vector<Eigen::Index> block_support(const people& rows,
                                               const std::vector<Eigen::Index>& block,
                                               Eigen::Index size, bool intercept) {
  const Eigen::Index p = rows.p(), shift = intercept ? 1 : 0;
  Eigen::Index n = 0, i = 0;
  for (const Eigen::Index person : block) n += rows.first(person + 1) - rows.first(person);
  Eigen::MatrixXd x(n, p + shift);
  Eigen::VectorXd y(n);
  for (const Eigen::Index person : block) {
    const Eigen::Index end = rows.first(person + 1);
    // Each person counts once, however many rows they have.
    const double root = std::sqrt(static_cast<double>(end - rows.first(person)));
    const double weight = 1.0 / root, one = static_cast<double>(people::unit) * root;
    for (Eigen::Index row = rows.first(person); row < end; ++row, ++i) {
      if (intercept) x(i, 0) = weight;
      for (Eigen::Index j = 0; j < p; ++j) x(i, j + shift) = rows.x(row, j) / one;
      y[i] = rows.y(row) / one;
    }
  }
  const auto most = static_cast<Eigen::Index>(block.size()) / 2;
  std::vector<Eigen::Index> out = omp(x.transpose() * x, x.transpose() * y,
                                      std::min(size, std::max<Eigen::Index>(1, most)), shift, 1e-9);
  for (Eigen::Index& j : out) j -= shift;
  return out;
}

/// A random partition into blocks of nearly equal size, from random bits and the number of people.
inline std::vector<std::vector<Eigen::Index>> partition(Eigen::Index n, Eigen::Index blocks,
                                                        noise& draws) {
  const std::vector<Eigen::Index> order = draws.positions(n, n);
  std::vector<std::vector<Eigen::Index>> out(static_cast<std::size_t>(blocks));
  for (std::size_t i = 0; i < order.size(); ++i) out[i % out.size()].push_back(order[i]);
  return out;
}

/// One replaced person changes one block's votes: each count by at most 1 in either direction.
/// `size` draws by the exponential mechanism. Cost: size exponent^2/8.
inline std::vector<Eigen::Index> vote(const people& rows, Eigen::Index size, Eigen::Index blocks,
                                      bool intercept, double exponent, noise& draws) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(rows.p()), 0);
  for (const auto& block : partition(rows.count(), blocks, draws))
    for (const Eigen::Index j : block_support(rows, block, size, intercept))
      ++count[static_cast<std::size_t>(j)];
  std::vector<Eigen::Index> left, order;
  std::vector<std::int64_t> loss;
  for (Eigen::Index j = 0; j < rows.p(); ++j) {
    left.push_back(j);
    loss.push_back(blocks - count[static_cast<std::size_t>(j)]);
  }
  while (static_cast<Eigen::Index>(order.size()) < size && !left.empty()) {
    const std::size_t k = choose("pick", loss, exponent, 2.0, draws);
    order.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    loss.erase(loss.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return order;
}

struct stable_support {
  std::vector<Eigen::Index> support;
  std::int64_t distance = 0;  // a whole number of 2^-10 steps. PRIVATE until a test is passed
};

/// The support that most of the given sets of people select, and its lead over the second. Ties are
/// broken by lexical order.
inline std::int64_t common_support(const people& rows, Eigen::Index size, bool intercept,
                                   const std::vector<std::vector<Eigen::Index>>& sets,
                                   std::vector<Eigen::Index>& out) {
  std::map<std::vector<Eigen::Index>, std::int64_t> count;
  for (const auto& set : sets) {
    std::vector<Eigen::Index> support;
    if (!set.empty()) support = block_support(rows, set, size, intercept);
    std::sort(support.begin(), support.end());
    ++count[support];
  }
  std::int64_t first = 0, second = 0;
  for (const auto& entry : count) {
    if (entry.second > first) {
      second = first;
      first = entry.second;
      out = entry.first;
    } else {
      second = std::max(second, entry.second);
    }
  }
  return first - second;
}

/// The support that most blocks select, and a distance to instability: one person changes the lead
/// of the first over the second by at most 2.
inline stable_support block_mode(const people& rows, Eigen::Index size, Eigen::Index blocks,
                                 bool intercept, noise& draws) {
  stable_support out;
  const std::int64_t lead =
      common_support(rows, size, intercept, partition(rows.count(), blocks, draws), out.support);
  // ceil(lead / 2) - 1.
  out.distance = std::max<std::int64_t>(0, (lead + 1) / 2 - 1) * 1024;
  return out;
}

/// Random subsets, with each position in each subset with probability `rate`, drawn again until no
/// position is in more than `most` of them. They depend on positions and the generator, never on
/// data; in a random order, since gaps are computed in doubles, whose distribution differs slightly
/// between places.
inline std::vector<std::vector<Eigen::Index>> draw_subsets(Eigen::Index n, std::int64_t subsets,
                                                           double rate, std::int64_t most,
                                                           noise& draws) {
  const double log_out = std::log1p(-rate);
  sorting_engine sorting(draws);
  const std::vector<Eigen::Index> order = draws.positions(n, n);
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::vector<std::vector<Eigen::Index>> out(static_cast<std::size_t>(subsets));
    std::vector<std::int64_t> times(static_cast<std::size_t>(n), 0);
    for (auto& subset : out) {
      // Gaps between members are geometric.
      double at = std::floor(std::log(uniform_open(sorting)) / log_out);
      while (at < static_cast<double>(n)) {
        subset.push_back(order[static_cast<std::size_t>(at)]);
        ++times[static_cast<std::size_t>(at)];
        at += 1.0 + std::floor(std::log(uniform_open(sorting)) / log_out);
      }
    }
    if (*std::max_element(times.begin(), times.end()) <= most) return out;
  }
  throw std::domain_error("so few subsets cannot be balanced");
}

/// A_samp (Thakurta, 2013, Algorithm 6.1), repaired: the same with random subsets, of which at most
/// `most` contain any one person: the lead changes by at most twice this number.
inline stable_support subset_mode(const people& rows, Eigen::Index size, std::int64_t subsets,
                                  double rate, bool intercept, noise& draws) {
  const auto most = static_cast<std::int64_t>(2.0 * static_cast<double>(subsets) * rate);
  if (most < 1) throw std::domain_error("so few subsets cannot be balanced");
  stable_support out;
  const std::int64_t lead = common_support(
      rows, size, intercept, draw_subsets(rows.count(), subsets, rate, most, draws), out.support);
  const std::int64_t step = 2 * most;
  out.distance = std::max<std::int64_t>(0, (lead + step - 1) / step - 1) * 1024;
  return out;
}

/// Propose, test, release (Dwork and Lei, 2009; proofs/selection.md, Lemma 1): true if the
/// distance, a whole number that one person moves by at most `sensitivity`, with discrete Laplace
/// noise reaches a threshold that a distance of 0 reaches with probability at most delta.
inline bool passes(std::int64_t distance, std::int64_t sensitivity, double epsilon, double delta,
                   noise& draws) {
  const double scale = std::ceil(static_cast<double>(sensitivity) / epsilon * (1.0 + 1e-12));
  if (!(scale >= 1.0 && scale < 1099511627776.0))
    throw std::domain_error("the budget is too small");
  // P(Z >= k) = exp(-k / scale) / (1 + exp(-1 / scale)).
  const double k =
      std::ceil(scale * (-std::log(delta) - std::log1p(std::exp(-1.0 / scale))) + 1e-6);
  const Eigen::VectorXd noisy =
      draws.add("distance", law::discrete_laplace,
                Eigen::VectorXd::Constant(1, static_cast<double>(distance)),
                Eigen::VectorXd::Constant(1, scale));
  return noisy[0] >= std::max(k, 1.0);
}

}  // namespace dpsc
