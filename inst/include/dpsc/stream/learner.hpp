// Learning from a stream under differential privacy. Rows enter as integers, running sums are
// released with noise, and coefficients are functions of the released sums: every method here is
// one adaptive release of running sums (proofs/streams.md, Theorem 2) and post-processing.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gram_solver.hpp"
#include "sums.hpp"

namespace dpsc {

/// Public facts about a learner. |x| <= radius, |y| <= 1, |gradient| <= clip, |theta| <= ball.
struct learner_facts {
  std::string method;  // "gram", "ftal", "ftrl", or "sum", "count": no learner
  std::string family;  // "gaussian" or "binomial"
  std::int64_t columns = 1;
  double radius = 1.0, clip = 1.0, ball = 1.0;
  double psi = 1.0;      // curvature, ftal
  double lambda = 0.0;   // penalty, ftrl; 0: grows with the square root of time
  double damping = 1.0;  // ridge of gram and ftal, in units of the noise (see below)
};

class learner {
 public:
  learner() = default;
  learner(const stream_plan& plan, const learner_facts& facts)
      : plan_(plan),
        facts_(facts),
        sums_(plan),
        theta_(Eigen::VectorXd::Zero(facts.columns)),
        past_(Eigen::VectorXd::Zero(facts.columns)),
        share_(learns() ? 0.0 : 1.0) {
    prepare();
  }

  std::int64_t steps() const { return sums_.steps(); }
  double rows() const { return rows_; }
  const Eigen::VectorXd& theta() const { return theta_; }
  const stream_plan& plan() const { return plan_; }
  const learner_facts& facts() const { return facts_; }
  running_sums& sums() { return sums_; }
  const running_sums& sums() const { return sums_; }
  bool learns() const { return facts_.method != "sum" && facts_.method != "count"; }
  /// Columns of the table of rows: the regressors and the outcome, or the values to add up.
  std::int64_t table_columns() const { return learns() ? facts_.columns + 1 : facts_.columns; }

  /// One step of rows [first, last) of a column-major table with `stride` rows. A row with a value
  /// that is not finite counts as a row of zeros.
  template <typename Engine>
  void step(const double* table, std::int64_t stride, std::int64_t first, std::int64_t last,
            Engine& engine, exposure_observer* observer = nullptr) {
    std::fill(entry_.begin(), entry_.end(), 0);
    const double total = rows_ + static_cast<double>(last - first);
    if (!(total * plan_.largest() * room_ < 2305843009213693952.0))  // 2^61, public
      throw std::overflow_error("the stream has more rows than its integers can hold");
    for (std::int64_t row = first; row < last; ++row) add_row(table + row, stride);
    sums_.step(entry_.data(), engine, observer);
    rows_ = total;
    past_ += static_cast<double>(last - first) * theta_;
    if (learns()) learn();
    keep();
  }

  /// The prediction for a row, before the row is used.
  double score(const double* row, std::int64_t stride) const {
    double eta = 0.0;
    for (std::int64_t j = 0; j < facts_.columns; ++j) eta += row[j * stride] * theta_[j];
    return share_ * eta;
  }

  /// Share of the coefficients used for prediction: less than one if they may come from noise.
  double share() const { return share_; }

  /// Computes the current coefficients, or sums, at any point of the refresh schedule.
  /// Post-processing.
  void refresh() {
    if (facts_.method == "gram" && rows_ > 0.0) solve_gram();
  }

  Eigen::VectorXd estimate() const {
    if (learns()) return theta_;
    Eigen::VectorXd out;
    sums_.estimate(out);
    return out / static_cast<double>(plan_.unit);
  }

  /// Covariance of the estimate from privacy noise, given the released values.
  Eigen::MatrixXd noise_covariance() const {
    if (facts_.method == "gram" && privacy_.size() > 0) return privacy_;
    const Eigen::Index d = facts_.columns;
    Eigen::MatrixXd out = Eigen::MatrixXd::Zero(d, d);
    if (facts_.method == "gram") return out;
    const double per =
        learns() ? zoom_ * std::max(curvature(), 1e-300) : static_cast<double>(plan_.unit);
    for (Eigen::Index i = 0; i < d; ++i) {
      const double sd = sums_.sd(i) / per;
      out(i, i) = sd * sd;
    }
    return out;
  }

  /// Released running sums of a gram stream, per unit of the scaled rows.
  Eigen::MatrixXd moments() const {
    Eigen::VectorXd sums;
    sums_.estimate(sums);
    const Eigen::Index q = facts_.columns + 1;
    Eigen::MatrixXd out(q, q);
    Eigen::Index at = 0;
    for (Eigen::Index j = 0; j < q; ++j)
      for (Eigen::Index i = j; i < q; ++i, ++at) out(i, j) = out(j, i) = sums[at] / (zoom_ * zoom_);
    return out;
  }
  double moment_sd() const { return sums_.sd(0) / (zoom_ * zoom_); }

  const std::vector<double>& trace() const { return trace_; }

  void write(state_writer& out) const {
    write_facts(out);
    sums_.write(out);
    out.put(theta_);
    out.put(past_);
    out.put(privacy_);
    out.put(Eigen::MatrixXd());  // version 0.2.0 wrote another covariance here
    out.put(rows_);
    out.put(next_solve_);
    out.put(next_trace_);
    out.put(trace_);
  }
  void read(state_reader& in) {
    read_facts(in);
    sums_.read(in);
    in.get(theta_);
    in.get(past_);
    in.get(privacy_);
    Eigen::MatrixXd unused;
    in.get(unused);
    in.get(rows_);
    in.get(next_solve_);
    in.get(next_trace_);
    in.get(trace_);
    if (theta_.size() != facts_.columns || past_.size() != facts_.columns || !in.at_end() ||
        sums_.noise().dimension() != plan_.facts.dimension())
      throw state_error("the checkpoint is damaged");
    prepare();
    share_ = learns() ? beyond_noise() : 1.0;
    refresh();
  }

 private:
  void prepare() {
    const bool gram = facts_.method == "gram";
    const Eigen::Index size = plan_.facts.size;
    if (facts_.columns < 1 || size != (gram ? facts_.columns + 1 : facts_.columns))
      throw std::invalid_argument("the parts of a stream do not fit together");
    entry_.assign(static_cast<std::size_t>(plan_.facts.dimension()), 0);
    row_.resize(size);
    whole_.resize(size);
    // Rounding lengthens a row by at most sqrt(size) / 2: leave room for it.
    const double bound = gram ? std::sqrt(facts_.radius * facts_.radius + 1.0) : facts_.clip;
    const auto unit = static_cast<double>(plan_.unit);
    zoom_ = std::max(unit - std::sqrt(static_cast<double>(size)) / 2.0, unit / 2.0) *
            (1.0 - 0x1.0p-40) / bound;
    room_ = plan_.facts.noise == "toeplitz" ? 4096.0
            : plan_.facts.noise == "blt"    ? std::max(1.0, std::ldexp(1.0, plan_.grid))
                                            : 1.0;
  }

  void add_row(const double* row, std::int64_t stride) {
    const std::int64_t columns = table_columns();
    for (std::int64_t j = 0; j < columns; ++j)
      if (!std::isfinite(row[j * stride])) return;
    if (facts_.method == "sum") {
      for (std::int64_t j = 0; j < columns; ++j)
        entry_[static_cast<std::size_t>(j)] += std::llround(
            std::min(std::max(row[j * stride], 0.0), 1.0) * static_cast<double>(plan_.unit));
    } else if (facts_.method == "count") {
      for (std::int64_t j = 0; j < columns; ++j)  // at most one cell per row
        if (row[j * stride] > 0.5) {
          entry_[static_cast<std::size_t>(j)] += plan_.unit;
          return;
        }
    } else {
      add_learning(row, stride);
    }
  }

  void add_learning(const double* row, std::int64_t stride) {
    const std::int64_t p = facts_.columns;
    double squared = 0.0;
    for (std::int64_t j = 0; j < p; ++j) squared += row[j * stride] * row[j * stride];
    const double norm = std::sqrt(squared);
    const double shrink = norm > facts_.radius ? facts_.radius / norm : 1.0;
    const double y = std::min(std::max(row[p * stride], -1.0), 1.0);
    if (facts_.method == "gram") {
      for (std::int64_t j = 0; j < p; ++j) row_[j] = row[j * stride] * shrink;
      row_[p] = y;
      to_whole();
      std::size_t at = 0;
      for (Eigen::Index j = 0; j <= p; ++j)
        for (Eigen::Index i = j; i <= p; ++i, ++at) entry_[at] += whole_[i] * whole_[j];
      return;
    }
    double eta = 0.0;
    for (std::int64_t j = 0; j < p; ++j) {
      row_[j] = row[j * stride] * shrink;
      eta += row_[j] * theta_[j];
    }
    const double residual = facts_.family == "binomial"
                                ? 1.0 / (1.0 + std::exp(-eta)) - (y > 0.5 ? 1.0 : 0.0)
                                : eta - y;
    const double length = std::fabs(residual) * std::min(norm, facts_.radius);
    row_ *= length > facts_.clip ? residual * (facts_.clip / length) : residual;
    to_whole();
    for (Eigen::Index i = 0; i < p; ++i) entry_[static_cast<std::size_t>(i)] += whole_[i];
  }

  /// |whole_| <= unit in integers, for any rounding errors of the row.
  void to_whole() {
    const double limit = static_cast<double>(plan_.unit) * static_cast<double>(plan_.unit);
    double factor = zoom_;
    for (;;) {
      double length = 0.0;
      for (Eigen::Index i = 0; i < row_.size(); ++i) {
        const double w = std::nearbyint(row_[i] * factor);
        whole_[i] =
            std::fabs(w) <= static_cast<double>(plan_.unit) ? static_cast<std::int64_t>(w) : 0;
        length += w * w;
      }
      if (length <= limit) return;
      factor *= 0.999;
    }
  }

  double curvature() const {
    if (facts_.method == "ftrl") return penalty();
    return facts_.psi * rows_ + damping();
  }
  /// Norm of the noise over the radius: its effect on the first outputs stays within the ball.
  double damping() const {
    return facts_.damping * std::sqrt(static_cast<double>(facts_.columns)) * sums_.sd(0) / zoom_ /
           facts_.ball;
  }
  double penalty() const {
    if (facts_.lambda > 0.0) return facts_.lambda;
    const double noise = std::sqrt(static_cast<double>(facts_.columns)) * sums_.sd(0) / zoom_;
    return std::sqrt(2.0 * rows_ * facts_.clip * (facts_.clip + noise)) / (2.0 * facts_.ball);
  }

  void project() {
    const double norm = theta_.norm();
    if (norm > facts_.ball) theta_ *= facts_.ball / norm;
  }

  void learn() {
    if (facts_.method == "gram") {
      if (rows_ < next_solve_) return;
      next_solve_ = std::floor(1.02 * rows_) + 1.0;
      solve_gram();
      return;
    }
    sums_.estimate(estimate_);
    // Until the sum of gradients at zero exceeds its noise, the coefficients remain zero, which
    // predicts better than noise does.
    if (theta_.isZero(0.0) && !stands_out(estimate_, sums_.sd(0))) return;
    const double below = std::max(curvature(), 1e-300);
    theta_ = (facts_.method == "ftal" ? facts_.psi * past_ - estimate_ / zoom_
                                      : Eigen::VectorXd(-estimate_ / zoom_)) /
             below;
    project();
    share_ = beyond_noise();
  }

  /// The positive part of 1 - E|noise|^2 / |theta|^2 (James and Stein, 1961), for prediction:
  /// coefficients that noise could explain predict worse than zero.
  double beyond_noise() const {
    const double sd = sums_.sd(0) / zoom_ / std::max(curvature(), 1e-300);
    const double noise = static_cast<double>(facts_.columns) * sd * sd;
    return theta_.isZero(0.0) ? 0.0 : std::max(0.0, 1.0 - noise / theta_.squaredNorm());
  }

  /// Ridge on the released moments, within the ball.
  void solve_gram() {
    const Eigen::MatrixXd all = moments();
    const double sd = moment_sd();
    const gram_solution found = solve_moments(all, sd, 1e-9 * rows_ * facts_.radius * facts_.radius,
                                              facts_.damping, facts_.ball);
    theta_ = found.theta;
    share_ = found.share;
    gram_variances(found.vectors, found.values, sd);
  }

  // theta = A^{-1} (h + n) with A = G + N + ridge: to first order the noise moves it by
  // A^{-1} (n - N theta), whose covariance is v ((1 + |theta|^2) I + theta theta'), v = sd^2 / 2.
  void gram_variances(const Eigen::MatrixXd& vectors, const Eigen::ArrayXd& values, double sd) {
    const Eigen::MatrixXd inverse =
        vectors * values.inverse().matrix().asDiagonal() * vectors.transpose();
    const double v = sd * sd / 2.0;
    const Eigen::VectorXd direct = inverse * theta_;
    privacy_ =
        v * ((1.0 + theta_.squaredNorm()) * (inverse * inverse) + direct * direct.transpose());
  }

  /// Keeps every step at first, then one step each time their number has grown by 1 %: O(log T)
  /// rows of released values.
  void keep() {
    const auto t = static_cast<double>(steps());
    if (t < next_trace_) return;
    next_trace_ = t < 500.0 ? t + 1.0 : std::floor(1.01 * t) + 1.0;
    const Eigen::VectorXd now = estimate();
    trace_.push_back(t);
    trace_.push_back(rows_);
    trace_.push_back(std::sqrt(noise_covariance().diagonal().mean()));
    trace_.insert(trace_.end(), now.data(), now.data() + now.size());
  }

  void write_facts(state_writer& out) const {
    const stream_facts& f = plan_.facts;
    out.put(f.noise);
    out.put(f.shape);
    out.put(static_cast<std::int64_t>(f.size));
    out.put(f.horizon);
    out.put(f.times);
    out.put(f.apart);
    out.put(f.rho);
    out.put(f.epsilon);
    out.put(plan_.unit);
    out.put(plan_.grid);
    out.put(plan_.reach);
    out.put(plan_.sensitivity);
    out.put(plan_.scale);
    out.put(plan_.gaussian);
    out.put(plan_.rho);
    out.put(plan_.epsilon);
    out.put(facts_.method);
    out.put(facts_.family);
    out.put(facts_.columns);
    for (const double x :
         {facts_.radius, facts_.clip, facts_.ball, facts_.psi, facts_.lambda, facts_.damping})
      out.put(x);
  }
  void read_facts(state_reader& in) {
    stream_facts& f = plan_.facts;
    std::int64_t size = 0;
    in.get(f.noise);
    in.get(f.shape);
    in.get(size);
    f.size = size;
    in.get(f.horizon);
    in.get(f.times);
    in.get(f.apart);
    in.get(f.rho);
    in.get(f.epsilon);
    in.get(plan_.unit);
    in.get(plan_.grid);
    in.get(plan_.reach);
    in.get(plan_.sensitivity);
    in.get(plan_.scale);
    in.get(plan_.gaussian);
    in.get(plan_.rho);
    in.get(plan_.epsilon);
    in.get(facts_.method);
    in.get(facts_.family);
    in.get(facts_.columns);
    for (double* x :
         {&facts_.radius, &facts_.clip, &facts_.ball, &facts_.psi, &facts_.lambda, &facts_.damping})
      in.get(*x);
  }

  stream_plan plan_;
  learner_facts facts_;
  running_sums sums_;
  Eigen::VectorXd theta_, past_, estimate_, row_;
  Eigen::MatrixXd privacy_;
  Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1> whole_;
  std::vector<std::int64_t> entry_;
  double share_ = 1.0, zoom_ = 1.0, room_ = 1.0, rows_ = 0.0, next_solve_ = 1.0, next_trace_ = 1.0;
  std::vector<double> trace_;
};

}  // namespace dpsc
