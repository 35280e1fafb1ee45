// The online algorithms of Thakurta (2013), chapter 5: iterates without noise, each released with
// its own noise. "Tight" calibration follows proofs/streams.md, Theorem 5; "published" uses the
// printed constants. For reproduction: running sums under correlated noise (learner.hpp) need far
// less noise.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../linalg.hpp"
#include "../noise/noise.hpp"
#include "../solver/logistic_ball.hpp"

namespace dpsc {

/// Public facts. Losses are l(x'theta, y) + (psi/2)|theta|^2 with |x| <= radius, slopes clipped
/// so that gradients of l are at most `clip` long; theta lies in a ball.
struct iterate_facts {
  std::string method;  // "pocp", "pigd", "pgiga", "poffl"
  std::string family;  // "gaussian" (squared, linear beyond the clip), "binomial"
  bool published = false;
  std::int64_t columns = 1, horizon = 2;
  double radius = 1.0, clip = 1.0, ball = 1.0, psi = 1.0;
  double rho = 0.0;                   // tight; infinite: no noise
  double epsilon = 0.0, delta = 0.0;  // published
};

class perturbed_iterates {
 public:
  explicit perturbed_iterates(const iterate_facts& facts)
      : f_(facts),
        clean_(Eigen::VectorXd::Zero(facts.columns)),
        shown_(clean_),
        average_(clean_),
        gram_(Eigen::MatrixXd::Zero(facts.columns, facts.columns)),
        cross_(clean_),
        logistic_(facts.columns, facts.radius, facts.ball, facts.psi) {
    if (f_.horizon < 2)
      throw std::invalid_argument("iterates need a horizon of two steps at least");
    for (std::int64_t t = 1; t < f_.horizon; ++t) schedule_ += std::pow(sensitivity(t), 2.0 / 3.0);
  }

  std::int64_t steps() const { return t_; }
  const iterate_facts& facts() const { return f_; }
  const Eigen::VectorXd& theta() const { return shown_; }  // RELEASED
  const Eigen::VectorXd& clean() const { return clean_; }  // PRIVATE, for audits
  bool once() const { return f_.method == "poffl"; }

  double score(const double* row, std::int64_t stride) const {
    double eta = 0.0;
    for (std::int64_t j = 0; j < f_.columns; ++j) eta += row[j * stride] * shown_[j];
    return eta;
  }

  /// Effect of replacing one earlier loss on the release after step t.
  double sensitivity(std::int64_t t) const {
    const auto time = static_cast<double>(t);
    const auto horizon = static_cast<double>(f_.horizon);
    if (once()) {
      const double moved = f_.published ? 2.0 * lipschitz() * std::log(horizon) / horizon
                                        : 8.0 / std::exp(1.0) * f_.clip / (f_.psi * horizon);
      return std::min(moved + solver_error() * horizon, 2.0 * f_.ball);
    }
    if (f_.published) return 2.0 * lipschitz() / (f_.psi * time);
    double moved = 0.0;
    if (f_.method == "pocp")
      moved = 2.0 * leader_lipschitz() / (f_.psi * time);
    else if (f_.method == "pigd")
      moved = 2.0 * f_.clip / (f_.psi * (time + 1.0));
    else
      moved = 2.0 * f_.clip / (f_.psi * (time + delay()));
    if (by_search()) return moved + 2.0 * logistic_.slack();
    return moved + solver_error() * (horizon + 2.0);
  }

  /// Standard deviation of the noise after step t; 0 where nothing is released.
  double sd(std::int64_t t) const {
    if (std::isinf(f_.rho)) return 0.0;
    const double mu = std::sqrt(2.0 * f_.rho);
    const auto horizon = static_cast<double>(f_.horizon);
    if (once()) {
      if (!f_.published) return sensitivity(t) / mu;
      return 2.0 * std::sqrt(2.0) * lipschitz() * std::log(horizon) / (horizon * f_.epsilon) *
             std::sqrt(std::log(1.0 / f_.delta) + f_.epsilon);
    }
    if (f_.published) return printed_beta() / static_cast<double>(t);
    // The least sum of standard deviations under sum S_t^2 / s_t^2 = mu^2.
    return std::pow(sensitivity(t), 2.0 / 3.0) * std::sqrt(schedule_) / mu;
  }

  /// Constant of the noise as printed, for a third of epsilon and half of delta.
  double printed_beta() const {
    const double e = f_.epsilon / 3.0, d = f_.delta / 2.0;
    const auto T = static_cast<double>(f_.horizon);
    const double c = std::log(std::log(2.0 / d) / (2.0 * e)) / (2.0 * std::log(T));
    if (!(c > 0.0)) throw std::domain_error("the printed constants need a smaller epsilon");
    const double power = std::pow(T, 0.5 + c);
    return 2.0 * lipschitz() / f_.psi * power *
           std::sqrt(2.0 / e * (std::log(T / d) + std::sqrt(e) / power));
  }

  /// One row: the outcome is the last column. Rows that are not finite count as zero losses.
  void step(const double* row, std::int64_t stride, noise& draws) {
    if (t_ >= f_.horizon) throw std::logic_error("the stream is at its horizon");
    const std::int64_t now = t_ + 1;
    const bool last = now == f_.horizon;
    Eigen::VectorXd next = clean_;
    if (!last) advance(row, stride, now, next);
    // All draws come before anything changes.
    Eigen::VectorXd shown = shown_;
    if (once() ? last : !last && now >= silent()) {
      if (once())
        shown = average_ + weight(now) * clean_;
      else
        shown = next;
      perturb(shown, sensitivity(now), sd(now), draws);
      project(shown, f_.ball);
    }
    average_ += weight(now) * clean_;
    clean_ = next;
    shown_ = shown;
    t_ = now;
  }

 private:
  // As printed: Lipschitz constant of the loss with its regulariser.
  double lipschitz() const { return f_.clip + f_.psi * f_.ball; }
  double leader_lipschitz() const {
    return f_.radius * (f_.family == "binomial" ? 1.0 : 1.0 + f_.radius * f_.ball);
  }
  // A logistic leader has no closed form.
  bool by_search() const { return f_.method == "pocp" && f_.family == "binomial"; }
  double curvature() const {
    return (f_.family == "binomial" ? 0.25 : 1.0) * f_.radius * f_.radius + f_.psi;
  }
  double delay() const { return std::max(0.0, std::ceil((curvature() / f_.psi - 1.0) / 2.0)); }
  std::int64_t silent() const {
    if (!f_.published || f_.method != "pgiga") return 1;
    const double ratio = curvature() / f_.psi;
    return static_cast<std::int64_t>(std::min(std::ceil(2.0 * ratio * ratio) + 1.0, 9e15));
  }
  double solver_error() const { return 1e-12 * f_.ball; }

  double weight(std::int64_t t) const {
    const auto T = static_cast<double>(f_.horizon);
    return f_.published ? 1.0 / T : 2.0 * static_cast<double>(t) / (T * (T + 1.0));
  }

  double slope(double eta, double y, double limit) const {
    const double s =
        f_.family == "binomial" ? 1.0 / (1.0 + std::exp(-eta)) - (y > 0.5 ? 1.0 : 0.0) : eta - y;
    return std::min(std::max(s, -limit), limit);
  }

  static void project(Eigen::VectorXd& v, double ball) {
    const double norm = v.norm();
    if (norm > ball) v *= ball / norm;
  }

  void advance(const double* row, std::int64_t stride, std::int64_t t, Eigen::VectorXd& next) {
    Eigen::VectorXd x(f_.columns);
    for (std::int64_t j = 0; j < f_.columns; ++j) x[j] = row[j * stride];
    double y = row[f_.columns * stride];
    if (!x.allFinite() || !std::isfinite(y)) {
      x.setZero();
      y = 0.0;
    }
    y = std::min(std::max(y, -1.0), 1.0);
    const double norm = x.norm();
    if (norm > f_.radius) x *= f_.radius / norm;
    const auto time = static_cast<double>(t);
    if (by_search()) {
      logistic_.add(x, y > 0.5 ? 1.0 : 0.0);
      next = logistic_.minimise(clean_);
    } else if (f_.method == "pocp") {
      gram_.noalias() += x * x.transpose();
      cross_ += y * x;
      leader(time, next);
    } else if (f_.method == "pgiga") {
      const double rate = f_.published ? 2.0 / (f_.psi * time) : 1.0 / (f_.psi * (time + delay()));
      next -= rate * (slope(x.dot(clean_), y, limit()) * x + f_.psi * clean_);
      project(next, f_.ball);
    } else {
      const double rate = (once() && !f_.published ? 2.0 : 1.0) / (f_.psi * time);
      proximal(x, y, rate, next);
    }
  }

  double limit() const { return f_.clip / f_.radius; }

  // argmin over the ball of |v - theta|^2 / 2 + rate (l(x'v) + psi |v|^2 / 2): in the direction of
  // x it is an equation in e = x'v; if the constraint binds, curvature is added until |v| = ball.
  void proximal(const Eigen::VectorXd& x, double y, double rate, Eigen::VectorXd& next) const {
    const double along = x.dot(clean_), squared = x.squaredNorm();
    const auto at = [&](double a) {
      double low = along / a - rate * squared / a * limit(),
             high = along / a + rate * squared / a * limit();
      for (int i = 0; i < 110 && low < high; ++i) {
        const double e = (low + high) / 2.0;
        (e - along / a + rate * squared / a * slope(e, y, limit()) < 0.0 ? low : high) = e;
      }
      return Eigen::VectorXd((clean_ - rate * slope((low + high) / 2.0, y, limit()) * x) / a);
    };
    double a = 1.0 + rate * f_.psi;
    next = at(a);
    if (next.norm() <= f_.ball) return;
    double low = a, high = 2.0 * a;
    while (at(high).norm() > f_.ball) high *= 2.0;
    for (int i = 0; i < 110; ++i) {
      a = (low + high) / 2.0;
      (at(a).norm() > f_.ball ? low : high) = a;
    }
    next = at(high);
  }

  void leader(double t, Eigen::VectorXd& next) const {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen = eigh(gram_);
    const Eigen::VectorXd h = eigen.eigenvectors().transpose() * cross_;
    const Eigen::ArrayXd values = eigen.eigenvalues().array().max(0.0) + f_.psi * t;
    const auto solve = [&](double more) { return Eigen::VectorXd(h.array() / (values + more)); };
    double more = 0.0;
    if (solve(0.0).norm() > f_.ball) {
      double low = 0.0, high = f_.psi * t;
      while (solve(high).norm() > f_.ball) high *= 2.0;
      for (int i = 0; i < 110; ++i) {
        more = (low + high) / 2.0;
        (solve(more).norm() > f_.ball ? low : high) = more;
      }
      more = high;
    }
    next = eigen.eigenvectors() * solve(more);
  }

  // On a grid of 2^-24 standard deviations: rounding moves a vector by at most root p of its units,
  // and the standard deviation grows by the same share as the sensitivity.
  void perturb(Eigen::VectorXd& v, double moved, double s, noise& draws) const {
    if (!(s > 0.0)) return;
    constexpr double fine = 16777216.0;
    const double unit = s / fine;
    const double more = std::sqrt(static_cast<double>(f_.columns)) * unit / moved;
    const auto sigma = static_cast<std::int64_t>(std::ceil(fine * (1.0 + more)));
    if (sigma > whole_sigma_gaussian::max_sigma)
      throw std::overflow_error("the noise of an iterate does not fit its grid");
    const Eigen::VectorXd whole = v.unaryExpr([&](double x) { return std::nearbyint(x / unit); });
    v = unit * draws.add("iterate", law::whole_gaussian, whole,
                         Eigen::VectorXd::Constant(v.size(), static_cast<double>(sigma)));
  }

  iterate_facts f_;
  std::int64_t t_ = 0;
  double schedule_ = 0.0;
  Eigen::VectorXd clean_, shown_, average_;
  Eigen::MatrixXd gram_;
  Eigen::VectorXd cross_;
  logistic_ball logistic_;
};

}  // namespace dpsc
