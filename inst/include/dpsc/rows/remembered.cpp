// Bodies of remembered.hpp.
#pragma once

#include "remembered.hpp"

namespace dpsc {

bool same_features(const row_map& a, const row_map& b) {
  const auto same = [](const auto& x, const auto& y) {
    return x.rows() == y.rows() && x.cols() == y.cols() && x == y;
  };
  return a.on_grid == b.on_grid && a.scale == b.scale && a.rescale == b.rescale &&
         same(a.centre, b.centre) && same(a.limit, b.limit) && same(a.loadings, b.loadings) &&
         same(a.origin, b.origin);
}

bool remembered_source::ask(const row_map& map, radius_energy& into) const {
  blocks_.clear();
  if (source_.ask(map, into)) return true;
  // Features on the grid are integers below 2^26.5 (row_map::check()).
  map_ = map;
  room_ = map.on_grid ? most_ / sizeof(std::int32_t) : 0.0;
  visit_blocks(0, [&](const Eigen::MatrixXd& z) {
    into.add(z);
    room_ -= static_cast<double>(z.size());
    if (room_ >= 0.0) blocks_.push_back(z.cast<std::int32_t>());
  });
  return true;
}

bool remembered_source::ask(const row_map& map, clipped_moments& into) const {
  if (blocks_.empty() || !same_features(map, map_)) return source_.ask(map, into);
  Eigen::MatrixXd z;
  for (const block& kept : blocks_) {
    z = kept.cast<double>();
    into.add(z);
    tick_(static_cast<double>(z.size() * z.cols()));
  }
  if (room_ < 0.0)
    visit_blocks(blocks_.size(), [&](const Eigen::MatrixXd& later) { into.add(later); });
  blocks_.clear();
  return true;
}

void remembered_source::visit_blocks(
    std::size_t first, const std::function<void(const Eigen::MatrixXd&)>& visit) const {
  std::size_t seen = 0;
  source_.pass([&](const table_view& table) {
    block_reader reader(table, map_);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b, ++seen) {
      if (seen < first) continue;
      const Eigen::MatrixXd& z = reader.features(b);
      visit(z);
      tick_(static_cast<double>(z.size() * (z.cols() + map_.periods())));
    }
  });
}

}  // namespace dpsc
