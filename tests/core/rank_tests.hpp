// Utilities of a pursuit by ranks: what one person changes, and all pairs by brute force.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <dpsc/noise/noise.hpp>
#include <dpsc/select/ranks.hpp>
#include <limits>
#include <vector>

#include "harness.hpp"

namespace {

/// Ties, values beyond the limits, and missing values are frequent.
double hostile_value() {
  switch (whole(0, 5)) {
    case 0:
      return 0.0;
    case 1:
      return whole(0, 1) ? 1.0 : -1.0;
    case 2:
      return uniform(-1e6, 1e6);
    case 3:
      return whole(0, 9) ? 0.5 : std::numeric_limits<double>::quiet_NaN();
    default:
      return uniform();
  }
}

int sign_of(double x) { return (x > 0.0) - (x < 0.0); }

void test_ranks(int rounds) {
  double most = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(2, round % 2 ? 6 : 40), p = whole(1, 4);
    dpsc::rank_facts facts;
    facts.centred = whole(0, 1) == 1;
    for (Index j = 0; j <= p; ++j) facts.numbers.push_back(j == p || whole(0, 1) == 1);
    MatrixXd table(n, p + 1);
    std::vector<double> r(static_cast<std::size_t>(n));
    const auto fill = [&](MatrixXd& to, std::vector<double>& residuals, Index i) {
      for (Index j = 0; j <= p; ++j)
        to(i, j) = facts.numbers[static_cast<std::size_t>(j)] ? hostile_value()
                                                              : (whole(0, 1) ? 1.0 : -1.0);
      residuals[static_cast<std::size_t>(i)] = whole(0, 3) ? uniform(-2.0, 2.0) : 0.0;
    };
    for (Index i = 0; i < n; ++i) fill(table, r, i);
    MatrixXd other = table;
    std::vector<double> s = r;
    fill(other, s, whole(0, n - 1));

    const dpsc::rank_detail::rank_table rows(table.data(), n, p), replaced(other.data(), n, p);
    // The same circle for both.
    test_engine one(static_cast<std::uint64_t>(round)), two(static_cast<std::uint64_t>(round));
    dpsc::drawn_noise<test_engine> first(one), second(two);
    dpsc::rank_detail::rank_utilities u(rows, facts, first), v(replaced, facts, second);
    u.set_residuals(r);
    v.set_residuals(s);
    for (Index j = 0; j < p; ++j) {
      const std::int64_t a = u(j), b = v(j);
      CHECK(a >= 0 && a <= u.most());
      const double change = std::fabs(static_cast<double>(a - b)) / u.unit();
      CHECK(change <= 2.0);
      most = std::max(most, change);
      if (n > 6 || (facts.centred && !facts.numbers[static_cast<std::size_t>(j)])) continue;
      std::int64_t sum = 0;
      for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < n; ++k)
          sum += sign_of(rows(i, j) - rows(k, j)) *
                 sign_of(r[static_cast<std::size_t>(i)] - r[static_cast<std::size_t>(k)]);
      CHECK(a == std::abs(sum) * dpsc::people::unit * dpsc::people::unit);
    }
  }
  // The search comes close to the bound.
  CHECK(most > 1.5);
}

}  // namespace
