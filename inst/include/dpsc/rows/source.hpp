// Sources of people's rows, which the core reads block by block, in place.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "finite.hpp"
#include "positions.hpp"
#include "products.hpp"
#include "row_map.hpp"
#include "sums.hpp"

namespace dpsc {

/// A column-major table of rows, of doubles or of integers; not owned.
struct table_view {
  const double* reals = nullptr;
  const int* integers = nullptr;
  Eigen::Index rows = 0;
  Eigen::Index columns = 0;
  std::uint64_t grid = 0;  // grid_id if a source has put them on a grid: q, not outcomes
};

/// Identifier of a row map's grid, from its centre, scale and limit. Never zero.
std::uint64_t grid_id(const row_map& map);

using table_visitor = std::function<void(const table_view&)>;

struct people_question;  // people.hpp
struct people_sums;

/// Rows in memory or elsewhere. A pass hands out tables one after the other, in the same order and
/// with the same rows each time. PRIVATE.
class row_source {
 public:
  virtual ~row_source() = default;
  virtual void pass(const table_visitor& visit) const = 0;

  /// The closed list of questions that are answered by sums of integers over rows. A source whose
  /// sums are computed elsewhere adds them. `false`: it has no sums, and its rows must be read.
  virtual bool ask(const row_map&, radius_energy&) const { return false; }
  virtual bool ask(const row_map&, clipped_moments&) const { return false; }
  virtual bool ask(const product_map&, radius_energy&) const { return false; }
  virtual bool ask(const product_map&, clipped_sums&) const { return false; }
  virtual bool ask(const people_question&, people_sums&) const { return false; }
  /// Does the source answer with sums computed elsewhere?
  virtual bool answers() const { return false; }

  /// Each part of a source that consists of several parts.
  virtual void each_part(const std::function<void(const row_source&)>& visit) const;

  /// Rows at some places of a pass, in its order. Returns the total number of rows of the pass.
  virtual Eigen::Index rows_at(const row_positions& which, const table_visitor& visit) const;

 private:
  static void visit_some(const table_view& table, const std::vector<Eigen::Index>& at,
                         const table_visitor& visit);
};

class matrix_source : public row_source {
 public:
  explicit matrix_source(table_view table) : table_(table) {}
  void pass(const table_visitor& visit) const override { visit(table_); }

 private:
  table_view table_;
};

/// Reads a table in blocks that stay in cache: scaled rows, and features of them.
class block_reader {
 public:
  static constexpr Eigen::Index block_rows = 1024;  // T = 50: 400 kB

  block_reader(const table_view& table, const row_map& map);

  Eigen::Index blocks() const { return (table_.rows + block_rows - 1) / block_rows; }
  Eigen::Index first_row(Eigen::Index b) const { return b * block_rows; }

  /// Rows of block b on the grid (row_bits), or unchanged: at most block_rows x T.
  const Eigen::MatrixXd& scaled(Eigen::Index b);

  /// Features of block b: at most block_rows x d.
  const Eigen::MatrixXd& features(Eigen::Index b);

 private:
  template <typename Scalar>
  void read(const Scalar* table, Eigen::Index b) {
    const Eigen::Index first = first_row(b);
    const Eigen::Index rows = std::min(block_rows, table_.rows - first);
    scaled_.resize(rows, map_.periods());
    if (table_.grid != 0) {
      for (Eigen::Index t = 0; t < map_.periods(); ++t) {
        const Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>> q(
            table + t * table_.rows + first, rows);
        // Integers within the limits, for any values that the source returned.
        scaled_.col(t).array() = nearest_integer(
            q.template cast<double>().max(-map_.limit[t]).min(map_.limit[t]).eval());
      }
      return;
    }
    for (Eigen::Index t = 0; t < map_.periods(); ++t) {
      const Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>> x(
          table + t * table_.rows + first, rows);
      const auto centred = (x.template cast<double>() - map_.centre[t]) * map_.scale;
      if (map_.on_grid)
        scaled_.col(t).array() =
            nearest_integer(centred.max(-map_.limit[t]).min(map_.limit[t]).eval());
      else
        scaled_.col(t).array() = centred;
    }
  }

  static bool is_identity(const Eigen::MatrixXd& m);

  table_view table_;
  row_map map_;
  bool identity_;
  Eigen::MatrixXd scaled_, features_;
};

/// The summand of a row: its features, or products of them.
inline const row_map& features_of(const row_map& map) { return map; }
inline const row_map& features_of(const product_map& map) { return map.features; }
inline const Eigen::MatrixXd& summed_of(const row_map&, const Eigen::MatrixXd& z) { return z; }
Eigen::MatrixXd summed_of(const product_map& map, const Eigen::MatrixXd& z);

/// The answer to one question: the source's own sums, or one pass that passes every block of
/// features, or of their products, to an accumulator's `add()`.
template <typename Map, typename Accumulator, typename Tick>
void add_features(const row_source& source, const Map& map, Accumulator& into, Tick&& tick) {
  using sums = std::conditional_t<std::is_same_v<Map, row_map>, clipped_moments, clipped_sums>;
  if constexpr (std::is_same_v<Accumulator, radius_energy> || std::is_same_v<Accumulator, sums>)
    if (source.ask(map, into)) return;
  source.pass([&](const table_view& table) {
    block_reader reader(table, features_of(map));
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      into.add(summed_of(map, z));
      tick(static_cast<double>(z.size() * (z.cols() + features_of(map).periods())));
    }
  });
}

/// Several sources one after the other: their sums add up, bit for bit in any order.
class joined_source : public row_source {
 public:
  explicit joined_source(std::vector<std::unique_ptr<row_source>> parts);

  void pass(const table_visitor& visit) const override;

  bool ask(const row_map& map, radius_energy& into) const override { return ask_all(map, into); }
  bool ask(const row_map& map, clipped_moments& into) const override { return ask_all(map, into); }
  bool ask(const product_map& map, radius_energy& into) const override;
  bool ask(const product_map& map, clipped_sums& into) const override { return ask_all(map, into); }

  bool answers() const override;

  void each_part(const std::function<void(const row_source&)>& visit) const override;

  Eigen::Index rows_at(const row_positions& which, const table_visitor& visit) const override;

 private:
  template <typename Map, typename Accumulator>
  bool ask_all(const Map& map, Accumulator& into) const {
    for (const auto& part : parts_) add_features(*part, map, into, [](double) {});
    return true;
  }

  std::vector<std::unique_ptr<row_source>> parts_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "source.cpp"
#endif
