// Rows whose features are needed twice: first for a radius, then for the moments within it.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

#include "source.hpp"

namespace dpsc {

/// Another source's rows, whose integer features are kept between the question for a radius and the
/// question for moments, which saves half of the reading and of the products. The sums are the
/// same. Blocks are kept from the first on, as far as memory permits. PRIVATE.
class remembered_source : public row_source {
 public:
  /// A third of the memory for 10^6 people of 50 periods.
  static constexpr double most_bytes = 0x1.0p27;

  /// `tick` receives the amount of work, as in add_features(). `most`: bytes kept.
  remembered_source(const row_source& source, std::function<void(double)> tick,
                    double most = most_bytes)
      : source_(source), tick_(std::move(tick)), most_(most) {}

  void pass(const table_visitor& visit) const override { source_.pass(visit); }
  bool ask(const row_map& map, radius_energy& into) const override;
  bool ask(const row_map& map, clipped_moments& into) const override;
  bool ask(const product_map& map, radius_energy& into) const override {
    return source_.ask(map, into);
  }
  bool ask(const product_map& map, clipped_sums& into) const override {
    return source_.ask(map, into);
  }
  bool ask(const people_question& question, people_sums& into) const override {
    return source_.ask(question, into);
  }
  bool answers() const override { return source_.answers(); }
  void each_part(const std::function<void(const row_source&)>& visit) const override {
    source_.each_part(visit);
  }
  Eigen::Index rows_at(const row_positions& which, const table_visitor& visit) const override {
    return source_.rows_at(which, visit);
  }

 private:
  using block = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic>;

  /// Features of every block from a given one on, in the order of a pass.
  void visit_blocks(std::size_t first,
                    const std::function<void(const Eigen::MatrixXd&)>& visit) const;

  const row_source& source_;
  std::function<void(double)> tick_;
  double most_;
  mutable std::vector<block> blocks_;
  mutable row_map map_;        // of the stored blocks
  mutable double room_ = 0.0;  // in entries; below zero if blocks were left out
};

/// Are the features of every row the same?
bool same_features(const row_map& a, const row_map& b);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "remembered.cpp"
#endif
