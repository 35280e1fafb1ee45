// Integer rows of a private regression in a frame: whitened regressors w, the residual r of the
// last fit, clipped to (s w, clip(s r), s), s = min(1, R/|w|); and what a round asks of them.
// Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../rows/people.hpp"
#include "moments.hpp"

namespace dpsc {

/// w = whiten'(x - centre), r = y - level - slope'(x - centre), in standardised units. RELEASED.
struct lm_frame {
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;
  Eigen::VectorXd slope;
  double level;

  static lm_frame start(Eigen::Index p) {
    return {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Identity(p, p), Eigen::VectorXd::Zero(p),
            0.0};
  }
};

/// Public constants of a round.
struct lm_round_plan {
  law kind = law::discrete_gaussian;
  double limit = 0.0, residual_limit = 0.0, constant = 0.0;  // R, R_r, K: whole
  double noise = 0.0;  // variance on the diagonal (half of it off), or Laplace scale
  double sigma = 0.0;  // deviation on the diagonal; off it, by sqrt 2 less
  std::vector<step_record> records;

  double bound() const {
    return limit * limit + residual_limit * residual_limit + constant * constant;
  }
};

/// Finds the first of increasing positive limits that is not below a value.
class limit_finder {
 public:
  explicit limit_finder(const std::vector<double>& limits) : limits_(limits) {
    const std::uint64_t lowest = key(limits.front()), highest = key(limits.back());
    first_ = lowest;
    for (std::uint64_t k = lowest; k <= highest; ++k) {
      // The least double with this key.
      const std::uint64_t bits = k << key_shift;
      double least = 0.0;
      std::memcpy(&least, &bits, sizeof least);
      begin_.push_back(static_cast<std::size_t>(
          std::lower_bound(limits.begin(), limits.end(), least) - limits.begin()));
    }
  }

  /// The number of limits if it is beyond all, or not a number.
  std::size_t operator()(double v) const {
    if (v <= limits_.front()) return 0;
    if (!(v <= limits_.back())) return limits_.size();
    std::size_t k = begin_[static_cast<std::size_t>(key(v) - first_)];
    while (limits_[k] < v) ++k;
    return k;
  }

 private:
  // Exponent and three bits of the mantissa: keys of positive doubles increase with them.
  static constexpr int key_shift = 49;
  static std::uint64_t key(double v) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    return bits >> key_shift;
  }

  const std::vector<double>& limits_;
  std::uint64_t first_ = 0;
  std::vector<std::size_t> begin_;
};

/// Adds up values by the first limit that is not below; the last place is for those beyond all.
template <typename Counts>
void count_limits(const Eigen::ArrayXd& values, const limit_finder& find, Counts&& counts) {
  for (Eigen::Index i = 0; i < values.size(); ++i)
    counts(static_cast<Eigen::Index>(find(values[i]))) += 1.0;
}

/// Rows beyond each limit, from their number by limit.
inline std::vector<std::int64_t> rows_beyond_limits(const Eigen::MatrixXd& first) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(first.rows()) - 1);
  std::int64_t outside = 0;
  for (std::size_t k = out.size(); k-- > 0;)
    out[k] = outside += static_cast<std::int64_t>(first(static_cast<Eigen::Index>(k) + 1, 0));
  return out;
}

/// Features of rows in a frame: p whitened regressors and the residual, all integers.
class lm_features {
 public:
  lm_features(const lm_columns& columns, const lm_frame& frame)
      : lm_features(make(columns, frame)) {}
  explicit lm_features(const grid_map& map)
      : map_(map), unit_(map.unit), diagonal_(map_.map.loadings.isDiagonal(0.0)) {
    map_.map.check();
  }

  /// `grid`: from lm_columns.
  const Eigen::MatrixXd& features(const Eigen::MatrixXd& grid) {
    if (diagonal_)
      out_.noalias() = grid * map_.map.loadings.diagonal().asDiagonal();
    else
      out_.noalias() = grid * map_.map.loadings;
    for (Eigen::Index j = 0; j < out_.cols(); ++j)
      out_.col(j).array() =
          nearest_integer((out_.col(j).array() * map_.map.rescale).eval()) - map_.map.origin[j];
    return out_;
  }

  double unit() const { return unit_; }
  const row_map& map() const { return map_.map; }

 private:
  static grid_map make(const lm_columns& columns, const lm_frame& frame) {
    const Eigen::Index p = frame.centre.size();
    const Eigen::VectorXd &gain = columns.gain(), &offset = columns.offset();
    const Eigen::VectorXd shift = frame.centre - offset.head(p);
    Eigen::MatrixXd loadings = Eigen::MatrixXd::Zero(p + 1, p + 1);
    Eigen::VectorXd origin(p + 1);
    loadings.topLeftCorner(p, p) = gain.head(p).asDiagonal() * frame.whiten;
    loadings.col(p).head(p) = -gain.head(p).cwiseProduct(frame.slope);
    loadings(p, p) = gain[p];
    origin.head(p) = frame.whiten.transpose() * shift;
    origin[p] = frame.level - offset[p] - frame.slope.dot(shift);
    return map_on_grid({Eigen::VectorXd::Zero(p + 1), 1.0, Eigen::VectorXd::Ones(p + 1)}, loadings,
                       origin);
  }

  grid_map map_;
  double unit_;
  bool diagonal_;  // the first frame
  Eigen::MatrixXd out_;
};

/// Integer rows u = (w, r, k) with |w| <= R, |r| <= R_r, 0 <= k <= K; a missing row is zero.
/// `present` is in [0, 1]: the root of a row's case weight over the largest.
class lm_outer {
 public:
  lm_outer(const lm_round_plan& plan, Eigen::Index p, double radius, double clip)
      : plan_(plan),
        p_(p),
        radius_(radius),
        clip_(clip),
        zoom_(clipped_moments::zoom(p, radius, plan.limit)),
        residual_zoom_(plan.residual_limit / clip),
        gram_(Eigen::MatrixXd::Zero(p + 2, p + 2)) {
    if (!(radius >= 1.0 && clip >= 1.0 && zoom_ > 0.0))
      throw std::invalid_argument("a round needs a positive radius and clip");
  }

  const Eigen::MatrixXd& rows(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
    u_.resize(z.rows(), p_ + 2);
    norms_ = Eigen::ArrayXd::Zero(z.rows());
    for (Eigen::Index j = 0; j < p_; ++j) norms_ += z.col(j).array().square();
    norms_ = norms_.sqrt();
    shrink_ = present * (norms_ <= radius_).select(1.0, radius_ / norms_.max(1.0));
    for (Eigen::Index j = 0; j < p_; ++j)
      u_.col(j).array() = nearest_integer((z.col(j).array() * shrink_ * zoom_).eval());
    u_.col(p_).array() = nearest_integer(
        ((z.col(p_).array() * shrink_).max(-clip_).min(clip_) * residual_zoom_).eval());
    u_.col(p_ + 1).array() = nearest_integer((shrink_ * plan_.constant).eval());
    // The proof asks for these, whatever rounding did.
    norms_.setZero();
    for (Eigen::Index j = 0; j < p_; ++j) norms_ += u_.col(j).array().square();
    const bool fits = (norms_ <= plan_.limit * plan_.limit).all() &&
                      (u_.col(p_).array().abs() <= plan_.residual_limit).all() &&
                      (u_.col(p_ + 1).array() >= 0.0).all() &&
                      (u_.col(p_ + 1).array() <= plan_.constant).all();
    if (!fits) throw std::logic_error("a row of a round leaves its limits");
    return u_;
  }

  void add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
    rows(z, present);
    gram_.selfadjointView<Eigen::Lower>().rankUpdate(u_.transpose());
  }

  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }
  double zoom() const { return zoom_; }
  double residual_zoom() const { return residual_zoom_; }

 private:
  const lm_round_plan& plan_;
  Eigen::Index p_;
  double radius_, clip_, zoom_, residual_zoom_;
  Eigen::MatrixXd gram_, u_;
  Eigen::ArrayXd norms_, shrink_;
};

/// Features of the rows that a question is about: z and presence of a block.
class asked_features {
 public:
  explicit asked_features(const people_question& question)
      : columns_(*question.design, *question.location),
        features_(grid_map{question.map, 1.0, 0.0}) {
    if (question.map.dimension() != question.design->p() + 1)
      throw std::invalid_argument("the map of a question does not fit its design");
  }

  const Eigen::MatrixXd& of(const Eigen::MatrixXd& grid) {
    return features_.features(columns_.columns(grid));
  }

 private:
  lm_columns columns_;
  lm_features features_;
};

/// |z|^2 of the regressors; a missing row is inside.
inline Eigen::ArrayXd lengths_of(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
  return (present > 0.0).select(squared_row_norms(z.leftCols(z.cols() - 1)), 0.0);
}

/// a |r| min(1, R / |w|), from a |r| and |w|^2.
inline Eigen::ArrayXd shortened(const Eigen::ArrayXd& residual, const Eigen::ArrayXd& squared,
                                double radius) {
  return residual * (radius / squared.sqrt()).min(1.0);
}

/// Answers lengths and residuals, block by block.
class limit_counts {
 public:
  explicit limit_counts(const people_question& question)
      : question_(question), features_(question), find_(question.limits) {}

  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& counts) {
    const Eigen::MatrixXd& z = features_.of(grid);
    values_ = lengths_of(z, present);
    if (question_.what == people_question::kind::residuals)
      values_ = shortened(z.col(z.cols() - 1).array().abs() * present, values_, question_.radius);
    count_limits(values_, find_, counts.col(0));
  }

 private:
  const people_question& question_;
  asked_features features_;
  limit_finder find_;
  Eigen::ArrayXd values_;
};

/// The limits of a round's rows, as a question names them.
inline lm_round_plan limits_of(const people_question& question) {
  lm_round_plan out;
  out.limit = question.limit;
  out.residual_limit = question.residual_limit;
  out.constant = question.constant;
  return out;
}

/// Clipped rows (w, r, k) of a question, block by block.
class asked_outer {
 public:
  explicit asked_outer(const people_question& question)
      : plan_(limits_of(question)),
        features_(question),
        outer_(plan_, question.design->p(), question.radius, question.clip) {}
  asked_outer(const asked_outer&) = delete;
  asked_outer& operator=(const asked_outer&) = delete;

  const Eigen::MatrixXd& rows(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    return outer_.rows(features_.of(grid), present);
  }
  void operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                  Eigen::MatrixXd& sums) {
    sums.selfadjointView<Eigen::Lower>().rankUpdate(rows(grid, present).transpose());
  }
  const lm_outer& outer() const { return outer_; }

 private:
  lm_round_plan plan_;
  asked_features features_;
  lm_outer outer_;
};

/// What a round keeps of its one pass where rows are in memory: features of all rows, half as large
/// as the rows; their squared lengths and residuals for both choices. Memory is used again by the
/// next. PRIVATE.
struct lm_kept {
  std::vector<Eigen::MatrixXi> blocks;
  std::vector<Eigen::ArrayXd> there;
  Eigen::ArrayXd squared, residual;
  double most = 0x1p28;          // numbers that may be kept; a pass a question beyond it
  double rows = 0.0, far = 0.0;  // rows that count, residuals far off
};

/// Answers the questions of a round: from what one pass keeps, or by a pass or a query each.
class lm_round_rows {
 public:
  lm_round_rows(const row_source& source, const people_question& question, double n, lm_kept& kept,
                const ticker& tick)
      : source_(source), question_(question), kept_(kept), tick_(tick) {
    const double numbers = n * static_cast<double>(question.design->p() + 1);
    keeps_ = !source.answers() && numbers <= kept.most;
    if (keeps_) read(n);
  }

  std::vector<std::int64_t> beyond_residuals(double radius, const std::vector<double>& limits) {
    question_.what = people_question::kind::residuals;
    question_.radius = radius;
    question_.limits = limits;
    if (keeps_) {
      kept_.residual = shortened(kept_.residual, kept_.squared, radius);
      return beyond_kept(kept_.residual);
    }
    const people_sums found = sum_people(source_, question_, limit_counts(question_), tick_);
    kept_.rows = found.there;
    return rows_beyond_limits(found.sums);
  }

  /// For `gram`, where no residuals are counted before.
  void at_radius(double radius) { question_.radius = radius; }

  Eigen::MatrixXd gram(double clip) {
    question_.what = people_question::kind::outer;
    question_.clip = clip;
    if (!keeps_)
      return sum_people(source_, question_, asked_outer(question_), tick_)
          .sums.selfadjointView<Eigen::Lower>();
    const lm_round_plan limits = limits_of(question_);
    lm_outer sums(limits, question_.design->p(), question_.radius, clip);
    Eigen::MatrixXd block;
    for (std::size_t b = 0; b < blocks_; ++b) {
      block = kept_.blocks[b].cast<double>();
      sums.add(block, kept_.there[b]);
      tick_(static_cast<double>(block.rows()) * work());
    }
    return sums.gram();
  }

 private:
  double work() const {
    const auto p = static_cast<double>(question_.design->p());
    return (p + 1.0) * (p + 8.0);
  }

  std::vector<std::int64_t> beyond_kept(const Eigen::ArrayXd& values) const {
    Eigen::MatrixXd first = Eigen::MatrixXd::Zero(question_.height(), 1);
    count_limits(values, limit_finder(question_.limits), first.col(0));
    return rows_beyond_limits(first);
  }

  void read(double n) {
    kept_.squared.resize(static_cast<Eigen::Index>(n));
    kept_.residual.resize(static_cast<Eigen::Index>(n));
    kept_.rows = 0.0;
    Eigen::Index rows = 0;
    asked_features features(question_);
    lm_reader reader(*question_.design);
    reader.pass(source_, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
      const Eigen::MatrixXd& z = features.of(grid);
      if (rows + z.rows() > kept_.squared.size())
        throw std::logic_error("there are more rows than were declared");
      if (blocks_ == kept_.blocks.size()) {
        kept_.blocks.emplace_back();
        kept_.there.emplace_back();
      }
      kept_.blocks[blocks_] = z.cast<int>();  // below 2^26
      kept_.there[blocks_] = present;
      ++blocks_;
      kept_.squared.segment(rows, z.rows()) = lengths_of(z, present);
      kept_.residual.segment(rows, z.rows()) = z.col(z.cols() - 1).array().abs() * present;
      rows += z.rows();
      kept_.rows += static_cast<double>((present > 0.0).count());
      tick_(static_cast<double>(grid.rows()) * work());
    });
    kept_.squared.conservativeResize(rows);
    kept_.residual.conservativeResize(rows);
  }

  const row_source& source_;
  people_question question_;
  lm_kept& kept_;
  const ticker& tick_;
  bool keeps_ = false;
  std::size_t blocks_ = 0;
};

}  // namespace dpsc
