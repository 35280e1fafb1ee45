// Who holds the rows of people, and how the core reads them: block by block, in place.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <functional>
#include <stdexcept>

#include "row_map.hpp"

namespace dpsc {

/// A column-major table of rows, of doubles or of integers; not owned.
struct table_view {
  const double* reals = nullptr;
  const int* integers = nullptr;
  Eigen::Index rows = 0;
  Eigen::Index columns = 0;
};

/// Rows in memory or elsewhere. A pass hands out tables one after the other, in the same order and
/// with the same rows each time. PRIVATE.
class row_source {
 public:
  virtual ~row_source() = default;
  virtual void pass(const std::function<void(const table_view&)>& visit) const = 0;
};

class matrix_source : public row_source {
 public:
  explicit matrix_source(table_view table) : table_(table) {}
  void pass(const std::function<void(const table_view&)>& visit) const override { visit(table_); }

 private:
  table_view table_;
};

/// Reads a table in blocks that stay in cache: scaled rows, and features of them.
class block_reader {
 public:
  static constexpr Eigen::Index block_rows = 1024;  // T = 50: 400 kB

  block_reader(const table_view& table, const row_map& map)
      : table_(table), map_(map), identity_(is_identity(map.loadings)) {
    map_.check();
    if (table.columns != map.periods())
      throw std::invalid_argument("the table does not fit the row map");
  }

  Eigen::Index blocks() const { return (table_.rows + block_rows - 1) / block_rows; }
  Eigen::Index first_row(Eigen::Index b) const { return b * block_rows; }

  /// Rows of block b on the grid (row_bits), or as they are: at most block_rows x T.
  const Eigen::MatrixXd& scaled(Eigen::Index b) {
    if (table_.reals)
      read(table_.reals, b);
    else
      read(table_.integers, b);
    return scaled_;
  }

  /// Features of block b: at most block_rows x d.
  const Eigen::MatrixXd& features(Eigen::Index b) {
    scaled(b);
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

 private:
  template <typename Scalar>
  void read(const Scalar* table, Eigen::Index b) {
    const Eigen::Index first = first_row(b);
    const Eigen::Index rows = std::min(block_rows, table_.rows - first);
    scaled_.resize(rows, map_.periods());
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

  static bool is_identity(const Eigen::MatrixXd& m) {
    return m.rows() == m.cols() && m.isIdentity(0.0);
  }

  table_view table_;
  row_map map_;
  bool identity_;
  Eigen::MatrixXd scaled_, features_;
};

/// One pass that gives every block of features to an accumulator's `add()`.
template <typename Accumulator, typename Tick>
void add_features(const row_source& source, const row_map& map, Accumulator& into, Tick&& tick) {
  source.pass([&](const table_view& table) {
    block_reader reader(table, map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      into.add(z);
      tick(static_cast<double>(z.size() * (z.cols() + map.periods())));
    }
  });
}

}  // namespace dpsc
