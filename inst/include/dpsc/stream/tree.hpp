// Prefix sums of a stream by binary trees (Dwork, Naor, Pitassi and Rothblum, 2010; Chan, Shi and
// Song, 2011), exact integers, with the best linear estimate from below (Honaker, 2015). An entry
// touches one node of each level.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "noise.hpp"

namespace dpsc {

class tree_sums {
 public:
  tree_sums() = default;
  tree_sums(Eigen::Index d, std::int64_t horizon)
      : d_(d),
        levels_(count_levels(horizon)),
        horizon_(horizon),
        open_(static_cast<std::size_t>(levels_ * d), 0),
        copies_(static_cast<std::size_t>(levels_), 1.0),
        left_(d, levels_),
        left_variance_(static_cast<std::size_t>(levels_), 0.0) {
    left_.setZero();
  }

  /// floor(log2 T) + 1: the number of levels that ever contain a node, complete or not.
  static int count_levels(std::int64_t horizon) {
    int levels = 0;
    for (; horizon > 0; horizon /= 2) ++levels;
    return levels;
  }

  Eigen::Index dimension() const { return d_; }
  std::int64_t steps() const { return t_; }
  std::int64_t horizon() const { return horizon_; }
  int levels() const { return levels_; }

  /// Adds one entry. All draws come first: if they fail, nothing has changed.
  template <typename Engine>
  void step(const std::int64_t* x, const coordinate_noise& noise, Engine& engine,
            exposure_observer* observer = nullptr) {
    if (t_ >= horizon_) throw std::logic_error("the stream is at its horizon");
    fresh_.resize(open_.size());
    for (int l = 0; l < levels_ && t_ % (std::int64_t{1} << l) == 0; ++l)
      noise.draw(fresh_.data() + l * d_, engine);
    for (int l = 0; l < levels_; ++l) {
      std::int64_t* node = open_.data() + l * d_;
      if (t_ % (std::int64_t{1} << l) == 0) {
        for (Eigen::Index i = 0; i < d_; ++i)
          node[i] = fresh_[static_cast<std::size_t>(l * d_ + i)];
        copies_[static_cast<std::size_t>(l)] = 1.0;
      }
      for (Eigen::Index i = 0; i < d_; ++i) node[i] += x[i];
    }
    ++t_;
    complete(observer);
  }

  void estimate(Eigen::VectorXd& out) const {
    out.setZero(d_);
    for (int l = 0; l < levels_; ++l)
      if ((t_ >> l) & 1) out += left_.col(l);
  }

  /// Variance of the estimate, in units of the noise of one node.
  double variance() const {
    double out = 0.0;
    for (int l = 0; l < levels_; ++l)
      if ((t_ >> l) & 1) out += left_variance_[static_cast<std::size_t>(l)];
    return out;
  }

  /// Fresh noise on every open node: values released at a node after its own value was published
  /// must not be obtainable by subtraction. `fresh` holds levels x d draws.
  void refresh(const std::vector<std::int64_t>& fresh) {
    for (int l = 0; l < levels_; ++l) {
      if (!is_open(l)) continue;
      for (Eigen::Index i = 0; i < d_; ++i)
        open_[static_cast<std::size_t>(l * d_ + i)] += fresh[static_cast<std::size_t>(l * d_ + i)];
      copies_[static_cast<std::size_t>(l)] += 1.0;
    }
  }

  template <typename Engine>
  std::vector<std::int64_t> draw_refresh(const coordinate_noise& noise, Engine& engine) const {
    std::vector<std::int64_t> out(open_.size(), 0);
    for (int l = 0; l < levels_; ++l)
      if (is_open(l)) noise.draw(out.data() + l * d_, engine);
    return out;
  }

  /// The values in a public checkpoint, for audits.
  void show_open(exposure_observer& observer) {
    for (int l = 0; l < levels_; ++l)
      if (is_open(l)) observer.seen(open_.data() + l * d_, d_);
  }

  void write(state_writer& out) const {
    out.put(static_cast<std::int64_t>(d_));
    out.put(levels_);
    out.put(horizon_);
    out.put(t_);
    // A complete node is not open: its value is already in `left_`.
    std::vector<std::int64_t> open = open_;
    for (int l = 0; l < levels_; ++l)
      if (!is_open(l)) std::fill_n(open.begin() + l * d_, d_, 0);
    out.put(open);
    out.put(copies_);
    out.put(left_);
    out.put(left_variance_);
  }
  void read(state_reader& in) {
    std::int64_t d = 0;
    in.get(d);
    d_ = d;
    in.get(levels_);
    in.get(horizon_);
    in.get(t_);
    in.get(open_);
    in.get(copies_);
    in.get(left_);
    in.get(left_variance_);
    const auto levels = static_cast<std::size_t>(levels_);
    if (d_ < 1 || levels_ != count_levels(horizon_) || t_ < 0 || t_ > horizon_ ||
        open_.size() != levels * static_cast<std::size_t>(d_) || copies_.size() != levels ||
        left_variance_.size() != levels || left_.rows() != d_ || left_.cols() != levels_)
      throw state_error("the checkpoint is damaged");
  }

  bool is_open(int l) const { return t_ % (std::int64_t{1} << l) != 0; }

 private:
  void complete(exposure_observer* observer) {
    double variance = 0.0;
    for (int l = 0; l < levels_ && t_ % (std::int64_t{1} << l) == 0; ++l) {
      const auto at = static_cast<std::size_t>(l);
      std::int64_t* node = open_.data() + l * d_;
      if (observer) observer->seen(node, d_);
      const Eigen::VectorXd own =
          Eigen::Map<const Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>>(node, d_).cast<double>();
      const double v = copies_[at];
      if (l == 0) {
        carry_ = own;
        variance = v;
      } else {  // own value and sum of the children, weighted by their precisions
        const double children = left_variance_[at - 1] + variance;
        const double weight = children / (v + children);
        carry_ = weight * own + (1.0 - weight) * (left_.col(l - 1) + carry_);
        variance = v * weight;
      }
      if ((t_ >> l) & 1) {
        left_.col(l) = carry_;
        left_variance_[at] = variance;
        return;
      }
    }
  }

  Eigen::Index d_ = 0;
  int levels_ = 0;
  std::int64_t horizon_ = 0, t_ = 0;
  std::vector<std::int64_t> open_, fresh_;  // levels x d
  std::vector<double> copies_;              // noise of an open node, in variances
  Eigen::MatrixXd left_;                    // d x levels: estimates of complete left children
  std::vector<double> left_variance_;
  Eigen::VectorXd carry_;
};

}  // namespace dpsc
