// Places of people, drawn from uniform bits alone: the calibration rows, the blocks, the order of
// weights. Why names must not determine them: inst/proofs/sources.md, section 5.
#pragma once

#include <Eigen/Core>
#include <numeric>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "discrete.hpp"

namespace dpsc {

/// m different numbers from 0 to n - 1: every ordered list of them is equally likely (Fisher and
/// Yates, 1938, from the end; draws are exact, by rejection).
template <typename Engine>
std::vector<Eigen::Index> random_positions(Eigen::Index n, Eigen::Index m, Engine& engine) {
  if (m < 0 || m > n) throw std::invalid_argument("there are not so many positions");
  const auto draw = [&](Eigen::Index i) {
    if (i == 1) return Eigen::Index{0};  // the last remaining place needs no bits
    return static_cast<Eigen::Index>(uniform_below(static_cast<uint128>(i), engine));
  };
  std::vector<Eigen::Index> out(static_cast<std::size_t>(m));
  if (m > n / 8) {
    std::vector<Eigen::Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), Eigen::Index{0});
    for (Eigen::Index i = n; i > n - m; --i)
      std::swap(order[static_cast<std::size_t>(i - 1)], order[static_cast<std::size_t>(draw(i))]);
    out.assign(order.end() - m, order.end());
    return out;
  }
  // The same for few numbers: only moved entries are stored.
  std::unordered_map<Eigen::Index, Eigen::Index> moved;
  const auto at = [&](Eigen::Index k) {
    const auto found = moved.find(k);
    return found == moved.end() ? k : found->second;
  };
  for (Eigen::Index i = n; i > n - m; --i) {
    const Eigen::Index j = draw(i), last = at(i - 1);
    out[static_cast<std::size_t>(i - 1 - (n - m))] = at(j);
    moved[j] = last;
  }
  return out;
}

}  // namespace dpsc
