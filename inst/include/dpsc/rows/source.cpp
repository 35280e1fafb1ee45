// Bodies of source.hpp.
#pragma once

#include "source.hpp"

#include "wide.hpp"

namespace dpsc {

std::uint64_t grid_id(const row_map& map) {
  const auto of = [](const Eigen::VectorXd& x) {
    return checksum(x.data(), static_cast<std::size_t>(x.size()));
  };
  return mix_bits(of(map.centre) + mix_bits(of(map.limit) + mix_bits(bits_of(map.scale)))) | 1;
}

void row_source::each_part(const std::function<void(const row_source&)>& visit) const {
  visit(*this);
}

Eigen::Index row_source::rows_at(const row_positions& which, const table_visitor& visit) const {
  Eigen::Index seen = 0;
  pass([&](const table_view& table) {
    if (which.all)
      visit(table);
    else
      visit_some(table, which.within(seen, table.rows), visit);
    seen += table.rows;
  });
  return seen;
}

void row_source::visit_some(const table_view& table, const std::vector<Eigen::Index>& at,
                            const table_visitor& visit) {
  if (at.empty()) return;
  table_view some = table;
  some.rows = static_cast<Eigen::Index>(at.size());
  const auto pick = [&](const auto* values, auto& kept) {
    kept.reserve(static_cast<std::size_t>(some.rows * some.columns));
    for (Eigen::Index t = 0; t < table.columns; ++t)
      for (const Eigen::Index i : at) kept.push_back(values[t * table.rows + i]);
    return kept.data();
  };
  std::vector<double> reals;
  std::vector<int> integers;
  if (table.reals)
    some.reals = pick(table.reals, reals);
  else
    some.integers = pick(table.integers, integers);
  visit(some);
}

block_reader::block_reader(const table_view& table, const row_map& map)
    : table_(table), map_(map), identity_(is_identity(map.loadings)) {
  map_.check();
  if (table.columns != map.periods())
    throw std::invalid_argument("the table does not fit the row map");
  if (table.grid != 0 && (!map.on_grid || table.grid != grid_id(map)))
    throw std::invalid_argument("the rows were put on another grid");
}

const Eigen::MatrixXd& block_reader::scaled(Eigen::Index b) {
  if (table_.reals)
    read(table_.reals, b);
  else
    read(table_.integers, b);
  return scaled_;
}

const Eigen::MatrixXd& block_reader::features(Eigen::Index b) {
  scaled(b);
  if (map_.on_grid && !identity_) {
    map_whole_rows(scaled_, map_, features_, has_wide_vectors());
    return features_;
  }
  if (identity_)
    features_.swap(scaled_);
  else
    features_.noalias() = scaled_ * map_.loadings;
  for (Eigen::Index j = 0; j < map_.dimension(); ++j) {
    auto column = features_.col(j).array();
    if (map_.on_grid)
      column = nearest_integer((column * map_.rescale).eval()) - map_.origin[j];
    else
      column = column * map_.rescale - map_.origin[j];
  }
  return features_;
}

bool block_reader::is_identity(const Eigen::MatrixXd& m) {
  return m.rows() == m.cols() && m.isIdentity(0.0);
}

Eigen::MatrixXd summed_of(const product_map& map, const Eigen::MatrixXd& z) { return map.rows(z); }

joined_source::joined_source(std::vector<std::unique_ptr<row_source>> parts)
    : parts_(std::move(parts)) {}

void joined_source::pass(const table_visitor& visit) const {
  for (const auto& part : parts_) part->pass(visit);
}

bool joined_source::ask(const product_map& map, radius_energy& into) const {
  return ask_all(map, into);
}

bool joined_source::answers() const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [](const auto& part) { return part->answers(); });
}

void joined_source::each_part(const std::function<void(const row_source&)>& visit) const {
  for (const auto& part : parts_) part->each_part(visit);
}

Eigen::Index joined_source::rows_at(const row_positions& which, const table_visitor& visit) const {
  Eigen::Index seen = 0;
  for (const auto& part : parts_) seen += part->rows_at(which.from(seen), visit);
  return seen;
}

}  // namespace dpsc
