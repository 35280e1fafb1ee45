// People's weights, the last column of their rows: a person counts by the ratio of the weight to
// the largest weight. Proof: inst/proofs/gram.md, section 10.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "source.hpp"
#include "sums.hpp"

namespace dpsc {

/// Shares are whole multiples of 2^-bits.
constexpr int weight_bits = 20;

/// Weights are clipped to these limits. PUBLIC.
struct weight_limits {
  double least = 0.0, most = 0.0;  // without weights: both zero

  bool given() const { return most > 0.0; }

  /// A weight over the largest: in [0, 1]. A missing weight counts as the least.
  double share(double weight) const;
};

/// A table without its last column, and this column: the weights. PRIVATE.
struct weighted_table {
  weighted_table(const table_view& whole, const weight_limits& limits);

  /// Shares of some rows.
  Eigen::ArrayXd shares(Eigen::Index first, Eigen::Index count) const;

  table_view rows;  // without weights, if there are any

 private:
  table_view whole_;
  weight_limits limits_;
};

/// Another source's rows without their weights: for questions that count every person alike.
class unweighted_source : public row_source {
 public:
  unweighted_source(const row_source& source, const weight_limits& limits)
      : source_(source), limits_(limits) {}

  void pass(const table_visitor& visit) const override {
    source_.pass([&](const table_view& whole) { visit(weighted_table(whole, limits_).rows); });
  }

 private:
  const row_source& source_;
  weight_limits limits_;
};

/// Gram matrix of the rows sqrt(share) (w, K), w clipped, rounded to whole numbers: each is no
/// longer than (w, K). If all people have the largest weight, it equals their clipped_moments.
class weighted_moments {
 public:
  weighted_moments(Eigen::Index dimension, double radius, double limit, double constant);

  void add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share);

  double zoom() const { return rows_.zoom(); }
  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }

 private:
  clipped_sums rows_;
  double constant_;
  Eigen::MatrixXd gram_, both_;
};

/// One pass that gives an accumulator every block of features, or of their products, and the shares
/// of its people.
template <typename Map, typename Accumulator, typename Tick>
void add_weighted(const row_source& source, const Map& map, const weight_limits& limits,
                  Accumulator& into, Tick&& tick) {
  source.pass([&](const table_view& whole) {
    const weighted_table table(whole, limits);
    block_reader reader(table.rows, features_of(map));
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      into.add(summed_of(map, z), table.shares(reader.first_row(b), z.rows()));
      tick(static_cast<double>(z.size() * (z.cols() + features_of(map).periods())));
    }
  });
}

/// The mean share of people, from noisy totals of several rounds, weighted by their precisions.
/// RELEASED.
class mean_share {
 public:
  explicit mean_share(const weight_limits& limits) : limits_(limits) {}

  void add(double share, double sd);

  /// Within the limits, and at least its own standard deviation, since it is a divisor.
  double value() const;

 private:
  weight_limits limits_;
  double sum_ = 0.0, precision_ = 0.0;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "weighted.cpp"
#endif
