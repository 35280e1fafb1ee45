// One round of a private regression: a radius for whitened regressors w, a clip for the residual r
// of the last fit, then the Gram matrix of (s w, clip(s r), s) under one noise, s = min(1, R/|w|).
// Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../rows/design.hpp"
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
  double exponent = 0.0;                        // of both choices
  std::vector<double> radii, clips;             // candidates: clips relative to the last one
  double radius_price = 0.0, clip_price = 0.0;  // rows that a step up must be worth
  law kind = law::discrete_gaussian;
  double limit = 0.0, residual_limit = 0.0, constant = 0.0;  // R, R_r, K: whole
  double noise = 0.0;  // variance on the diagonal (half of it off), or Laplace scale
  double sigma = 0.0;  // deviation on the diagonal; off it, by sqrt 2 less
  std::vector<step_record> records;

  double bound() const {
    return limit * limit + residual_limit * residual_limit + constant * constant;
  }
};

/// The finest grid whose noise the exact sampler can draw, and whose sums are exact.
inline void plan_outer(lm_round_plan& out, const std::string& label, double n, Eigen::Index p,
                       double weight, const total_budget& budget, double share) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (int bits = 12; bits >= 6; --bits) {
    const double R = std::ldexp(1.0, bits);
    const double K = std::max(1.0, std::nearbyint(R / std::sqrt(static_cast<double>(p) + 1.0)));
    const double Rr = std::nearbyint(weight * std::sqrt(R * R + K * K));
    out.limit = R;
    out.constant = K;
    out.residual_limit = Rr;
    const double B = out.bound(), longest = std::max(R, Rr);
    // Half a grid step an entry, as rounding has it, must leave most of a row.
    if (!(std::sqrt(static_cast<double>(p)) < R)) break;
    if (!(n * longest * longest < exact_integers && B * B < exact_integers)) continue;
    if (budget.gaussian()) {
      out.kind = law::discrete_gaussian;
      out.noise = gaussian_step_variance(B, budget.mu(share));
      out.sigma = std::sqrt(out.noise);
    } else {
      const double sensitivity = laplace_outer_sensitivity(B, static_cast<double>(p) + 2.0);
      out.kind = law::discrete_laplace;
      out.noise = std::ceil(sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      out.sigma = 2.0 * out.noise;
    }
    if (!(out.sigma <= largest_sigma)) continue;
    if (budget.gaussian()) {
      out.records.push_back({label, law_name(out.kind), std::sqrt(2.0) * B, out.sigma, none,
                             gaussian_step_mu(B, out.noise)});
    } else {
      const double sensitivity = laplace_outer_sensitivity(B, static_cast<double>(p) + 2.0);
      out.records.push_back(
          {label, law_name(out.kind), sensitivity, out.noise, sensitivity / out.noise, none});
    }
    return;
  }
  throw budget_too_small();
}

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

/// The smallest candidate, unless enough rows lie beyond it: rows outside, plus a price a step.
/// Counts move one way when a row is replaced (gram.md, Lemma 1): a range of the exponent.
inline std::size_t choose_limit(const Eigen::ArrayXd& values, const std::vector<double>& limits,
                                double price, double exponent, const std::string& label,
                                noise& draws) {
  std::vector<std::int64_t> first(limits.size() + 1, 0);
  const limit_finder find(limits);
  for (Eigen::Index i = 0; i < values.size(); ++i) ++first[find(values[i])];
  private_choice choice;
  choice.losses.resize(limits.size());
  std::int64_t outside = 0;
  for (std::size_t k = limits.size(); k-- > 0;) {
    outside += first[k + 1];
    choice.losses[k] =
        outside + static_cast<std::int64_t>(std::floor(price)) * static_cast<std::int64_t>(k);
  }
  choice.shift = 20;
  choice.units = exponent_units(exponent, choice.shift);
  return draws.choose(label, choice);
}

/// What a round released, in its own frame: per unit of weight. RELEASED.
struct lm_round {
  lm_frame frame;
  double radius = 0.0, clip = 0.0;
  double weight = 0.0;         // mean of s^2 over all n (case weights are in s)
  Eigen::VectorXd mean;        // of w
  double residual = 0.0;       // mean of r
  Eigen::MatrixXd covariance;  // of w
  Eigen::VectorXd cross;       // of w with r
  double variance = 0.0;       // of r
  // Deviations of the noise: entries off the diagonal of w by w (on it, sqrt 2 more), w by r, r by
  // r, means of w and of r.
  double sd_covariance = 0.0, sd_cross = 0.0, sd_variance = 0.0, sd_mean = 0.0, sd_residual = 0.0;
};

/// Features of rows in a frame: p whitened regressors and the residual, all integers.
class lm_features {
 public:
  lm_features(const lm_columns& columns, const lm_frame& frame)
      : map_(make(columns, frame)), unit_(map_.unit), diagonal_(map_.map.loadings.isDiagonal(0.0)) {
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

/// A weight that noise has drowned is kept away from zero.
constexpr double least_weight = 0.1;

namespace rounds_detail {

/// Deviations of the noise in the moments of a round whose weight is known.
inline void read_deviations(lm_round& out, const lm_round_plan& plan, double n, double zoom_w,
                            double zoom_r) {
  const double total = std::max(out.weight, least_weight) * n;
  const double off = plan.sigma / std::sqrt(2.0);
  out.sd_covariance = off / (zoom_w * zoom_w * total);
  out.sd_cross = off / (zoom_w * zoom_r * total);
  out.sd_variance = plan.sigma / (zoom_r * zoom_r * total);
  out.sd_mean = off / (zoom_w * plan.constant * total);
  out.sd_residual = off / (zoom_r * plan.constant * total);
}

/// Sums with noise, turned into moments per unit of weight.
inline void read_moments(lm_round& out, const Eigen::MatrixXd& noisy, const lm_round_plan& plan,
                         double n, double zoom_w, double zoom_r) {
  const Eigen::Index p = out.frame.centre.size();
  const double K = plan.constant;
  out.weight = noisy(p + 1, p + 1) / (K * K * n);
  const double total = std::max(out.weight, least_weight) * n;
  out.mean = noisy.col(p + 1).head(p) / (zoom_w * K * total);
  out.residual = noisy(p, p + 1) / (zoom_r * K * total);
  out.covariance =
      noisy.topLeftCorner(p, p) / (zoom_w * zoom_w * total) - out.mean * out.mean.transpose();
  out.cross = noisy.col(p).head(p) / (zoom_w * zoom_r * total) - out.mean * out.residual;
  out.variance = noisy(p, p) / (zoom_r * zoom_r * total) - out.residual * out.residual;
  read_deviations(out, plan, n, zoom_w, zoom_r);
}

}  // namespace rounds_detail

/// A symmetric matrix of sums plus noise: of variance `noise` on the diagonal and half of it off,
/// or of one Laplace scale.
inline Eigen::MatrixXd add_symmetric(const Eigen::MatrixXd& exact, const std::string& label,
                                     law kind, double noise_scale, noise& draws) {
  const Eigen::Index d = exact.rows();
  Eigen::VectorXd entries(d * (d + 1) / 2), scale(d * (d + 1) / 2);
  const double off = kind == law::discrete_gaussian ? noise_scale / 2.0 : noise_scale;
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at) {
      entries[at] = exact(i, j);
      scale[at] = i == j ? noise_scale : off;
    }
  const Eigen::VectorXd answer = draws.add(label, kind, entries, scale);
  Eigen::MatrixXd noisy(d, d);
  at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at) noisy(i, j) = noisy(j, i) = answer[at];
  return noisy;
}

/// A limit in whole steps of the features, one at least.
inline double limit_steps(double limit, double unit) {
  return std::max(1.0, std::floor(limit / unit));
}

/// What a round keeps of its one pass: features of all rows, half as large as the rows; their
/// squared lengths and residuals for both choices. Memory is used again by the next. PRIVATE.
struct lm_kept {
  std::vector<Eigen::MatrixXi> blocks;
  std::vector<Eigen::ArrayXd> there;
  Eigen::ArrayXd squared, residual;
  double rows = 0.0, clipped = 0.0;  // rows that count, residuals beyond the clip
};

/// `last_clip`: the clips are multiples of it.
inline lm_round release_round(const row_source& source, const lm_design& design,
                              const lm_location& location, const lm_frame& frame,
                              const lm_round_plan& plan, double n, double last_clip, lm_kept& kept,
                              noise& draws, const ticker& tick) {
  const Eigen::Index p = design.p();
  lm_reader reader(design);
  lm_columns columns(design, location);
  lm_features features(columns, frame);
  const double unit = features.unit();
  lm_round out;
  out.frame = frame;
  const auto steps = [unit](double x) { return limit_steps(x, unit); };
  const auto work = static_cast<double>((p + 1) * (p + 8));

  kept.squared.resize(static_cast<Eigen::Index>(n));
  kept.residual.resize(static_cast<Eigen::Index>(n));
  std::size_t blocks = 0;
  Eigen::Index rows = 0;
  kept.rows = 0.0;
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd& z = features.features(columns.columns(grid));
    if (rows + z.rows() > kept.squared.size())
      throw std::logic_error("there are more rows than were declared");
    if (blocks == kept.blocks.size()) {
      kept.blocks.emplace_back();
      kept.there.emplace_back();
    }
    kept.blocks[blocks] = z.cast<int>();  // below 2^26
    kept.there[blocks] = present;
    ++blocks;
    // A missing row is inside.
    kept.squared.segment(rows, z.rows()) =
        (present > 0.0).select(squared_row_norms(z.leftCols(p)), 0.0);
    kept.residual.segment(rows, z.rows()) = z.col(p).array().abs() * present;
    rows += z.rows();
    kept.rows += static_cast<double>((present > 0.0).count());
    tick(static_cast<double>(grid.rows()) * work);
  });
  kept.squared.conservativeResize(rows);
  kept.residual.conservativeResize(rows);
  std::vector<double> limits;
  for (double r : plan.radii) limits.push_back(std::pow(steps(r), 2.0));
  out.radius = plan.radii[choose_limit(kept.squared, limits, plan.radius_price, plan.exponent,
                                       plan.records[0].label, draws)];
  const double radius = steps(out.radius);
  kept.residual *= (radius / kept.squared.sqrt()).min(1.0);
  limits.clear();
  for (double c : plan.clips) limits.push_back(steps(c * last_clip));
  out.clip = last_clip * plan.clips[choose_limit(kept.residual, limits, plan.clip_price,
                                                 plan.exponent, plan.records[1].label, draws)];

  kept.clipped = static_cast<double>((kept.residual > steps(out.clip)).count());
  lm_outer sums(plan, p, radius, steps(out.clip));
  Eigen::MatrixXd block;
  for (std::size_t b = 0; b < blocks; ++b) {
    block = kept.blocks[b].cast<double>();
    sums.add(block, kept.there[b]);
    tick(static_cast<double>(block.rows()) * work);
  }
  const Eigen::MatrixXd noisy =
      add_symmetric(sums.gram(), plan.records[2].label, plan.kind, plan.noise, draws);
  rounds_detail::read_moments(out, noisy, plan, n, sums.zoom() / unit, sums.residual_zoom() / unit);
  return out;
}

}  // namespace dpsc
