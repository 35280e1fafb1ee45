// Bodies of regression_rows.hpp.
#pragma once

#include "regression_rows.hpp"

namespace dpsc {

lm_frame lm_frame::start(Eigen::Index p) {
  return {Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Identity(p, p), Eigen::VectorXd::Zero(p), 0.0};
}

double lm_round_plan::bound() const {
  return limit * limit + residual_limit * residual_limit + constant * constant;
}

limit_finder::limit_finder(const std::vector<double>& limits) : limits_(limits) {
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

std::size_t limit_finder::operator()(double v) const {
  if (v <= limits_.front()) return 0;
  if (!(v <= limits_.back())) return limits_.size();
  std::size_t k = begin_[static_cast<std::size_t>(key(v) - first_)];
  while (limits_[k] < v) ++k;
  return k;
}

std::uint64_t limit_finder::key(double v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof bits);
  return bits >> key_shift;
}

std::vector<std::int64_t> rows_beyond_limits(const Eigen::MatrixXd& first) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(first.rows()) - 1);
  std::int64_t outside = 0;
  for (std::size_t k = out.size(); k-- > 0;)
    out[k] = outside += static_cast<std::int64_t>(first(static_cast<Eigen::Index>(k) + 1, 0));
  return out;
}

lm_features::lm_features(const lm_columns& columns, const lm_frame& frame)
    : lm_features(make(columns, frame)) {}

lm_features::lm_features(const grid_map& map)
    : map_(map), unit_(map.unit), diagonal_(map_.map.loadings.isDiagonal(0.0)) {
  map_.map.check();
}

const Eigen::MatrixXd& lm_features::features(const Eigen::MatrixXd& grid) {
  if (diagonal_)
    out_.noalias() = grid * map_.map.loadings.diagonal().asDiagonal();
  else
    out_.noalias() = grid * map_.map.loadings;
  for (Eigen::Index j = 0; j < out_.cols(); ++j)
    out_.col(j).array() =
        nearest_integer((out_.col(j).array() * map_.map.rescale).eval()) - map_.map.origin[j];
  return out_;
}

grid_map lm_features::make(const lm_columns& columns, const lm_frame& frame) {
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

lm_outer::lm_outer(const lm_round_plan& plan, Eigen::Index p, double radius, double clip)
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

const Eigen::MatrixXd& lm_outer::rows(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
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
  // The proof requires these, for any rounding.
  norms_.setZero();
  for (Eigen::Index j = 0; j < p_; ++j) norms_ += u_.col(j).array().square();
  const bool fits = (norms_ <= plan_.limit * plan_.limit).all() &&
                    (u_.col(p_).array().abs() <= plan_.residual_limit).all() &&
                    (u_.col(p_ + 1).array() >= 0.0).all() &&
                    (u_.col(p_ + 1).array() <= plan_.constant).all();
  if (!fits) throw std::logic_error("a row of a round leaves its limits");
  return u_;
}

void lm_outer::add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
  rows(z, present);
  gram_.selfadjointView<Eigen::Lower>().rankUpdate(u_.transpose());
}

asked_features::asked_features(const people_question& question)
    : columns_(*question.design, *question.location), features_(grid_map{question.map, 1.0, 0.0}) {
  if (question.map.dimension() != question.design->p() + 1)
    throw std::invalid_argument("the map of a question does not fit its design");
}

const Eigen::MatrixXd& asked_features::of(const Eigen::MatrixXd& grid) {
  return features_.features(columns_.columns(grid));
}

Eigen::ArrayXd lengths_of(const Eigen::MatrixXd& z, const Eigen::ArrayXd& present) {
  return (present > 0.0).select(squared_row_norms(z.leftCols(z.cols() - 1)), 0.0);
}

Eigen::ArrayXd shortened(const Eigen::ArrayXd& residual, const Eigen::ArrayXd& squared,
                         double radius) {
  return residual * (radius / squared.sqrt()).min(1.0);
}

limit_counts::limit_counts(const people_question& question)
    : question_(question), features_(question), find_(question.limits) {}

void limit_counts::operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                              Eigen::MatrixXd& counts) {
  read(grid, present);
  count_limits(values_, find_, counts.col(0));
}

void limit_counts::people(const people_block& block, Eigen::MatrixXd& counts) {
  read(block.grid, block.present);
  add_shares(
      block, [&](Eigen::Index i) { return static_cast<Eigen::Index>(find_(values_[i])); },
      counts.col(0));
  // Lengths and residuals of missing people are zero, which is within the limits.
  const double missing = static_cast<double>(block.people.size()) - people_there(block);
  counts(0, 0) += std::ldexp(missing, share_bits);
}

void limit_counts::read(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
  const Eigen::MatrixXd& z = features_.of(grid);
  values_ = lengths_of(z, present);
  if (question_.what == people_question::kind::residuals)
    values_ = shortened(z.col(z.cols() - 1).array().abs() * present, values_, question_.radius);
}

lm_round_plan limits_of(const people_question& question) {
  lm_round_plan out;
  out.limit = question.limit;
  out.residual_limit = question.residual_limit;
  out.constant = question.constant;
  return out;
}

asked_outer::asked_outer(const people_question& question)
    : plan_(limits_of(question)),
      features_(question),
      outer_(plan_, question.design->p(), question.radius, question.clip),
      mean_(plan_.bound(), question.design->p() + 2) {}

const Eigen::MatrixXd& asked_outer::rows(const Eigen::MatrixXd& grid,
                                         const Eigen::ArrayXd& present) {
  return outer_.rows(features_.of(grid), present);
}

void asked_outer::operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                             Eigen::MatrixXd& sums) {
  sums.selfadjointView<Eigen::Lower>().rankUpdate(rows(grid, present).transpose());
}

void asked_outer::people(const people_block& block, Eigen::MatrixXd& sums) {
  mean_.add(rows(block.grid, block.present), block, sums);
}

lm_round_rows::lm_round_rows(const row_source& source, const people_question& question, double n,
                             lm_kept& kept, const ticker& tick)
    : source_(source), question_(question), kept_(kept), tick_(tick) {
  const double numbers = n * static_cast<double>(question.design->p() + 1);
  // The number of rows per person is private: only a public bound of it is stored.
  keeps_ = !source.answers() && !question.design->person && numbers <= kept.most;
  if (keeps_) read(n);
}

std::vector<std::int64_t> lm_round_rows::beyond_residuals(double radius,
                                                          const std::vector<double>& limits) {
  question_.what = people_question::kind::residuals;
  question_.radius = radius;
  question_.limits = limits;
  if (keeps_) {
    kept_.residual = shortened(kept_.residual, kept_.squared, radius);
    return beyond_kept(kept_.residual);
  }
  const people_sums found = sum_people(source_, question_, limit_counts(question_), tick_);
  kept_.rows = found.there;
  std::vector<std::int64_t> out = rows_beyond_limits(found.sums);
  // Whole people: each count still changes by at most one.
  for (std::int64_t& count : out) count >>= bits_of_shares(*question_.design);
  return out;
}

Eigen::MatrixXd lm_round_rows::gram(double clip) {
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

double lm_round_rows::work() const {
  const auto p = static_cast<double>(question_.design->p());
  return (p + 1.0) * (p + 8.0);
}

std::vector<std::int64_t> lm_round_rows::beyond_kept(const Eigen::ArrayXd& values) const {
  Eigen::MatrixXd first = Eigen::MatrixXd::Zero(question_.height(), 1);
  count_limits(values, limit_finder(question_.limits), first.col(0));
  return rows_beyond_limits(first);
}

void lm_round_rows::read(double n) {
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

}  // namespace dpsc
