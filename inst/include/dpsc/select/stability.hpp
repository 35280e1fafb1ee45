// Supports of (Huberised) LASSO fits with a certified lower bound on how many people would have to
// be replaced to change them (proofs/selection.md, Theorems 3 and 4). The certificates are computed
// with slack for the solver's error, which sensitivity 1026 instead of 1024 pays for.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "votes.hpp"

namespace dpsc {

struct stability_facts {
  double penalty = 1.0;  // Lambda
  double tau = 1.0;      // where Huber's loss becomes linear
  double psi = 0.1;      // curvature per person
  double kappa1 = 1.0, kappa2 = 1.0;
  Eigen::Index size = 1;
};

/// argmin sum h_tau(y - x'theta) + penalty |theta|_1 by coordinate descent; tau infinite: squares.
/// Bounds theta to [-1, 1] if `box`.
class sparse_fit {
 public:
  sparse_fit(const people& rows, double penalty, double tau, bool box)
      : x_(rows.n(), rows.p()), y_(rows.n()), penalty_(penalty), tau_(tau), box_(box) {
    constexpr auto unit = static_cast<double>(people::unit);
    for (Eigen::Index j = 0; j < rows.p(); ++j)
      for (Eigen::Index i = 0; i < rows.n(); ++i) x_(i, j) = rows.x(i, j) / unit;
    for (Eigen::Index i = 0; i < rows.n(); ++i) y_[i] = rows.y(i) / unit;
    theta_ = Eigen::VectorXd::Zero(rows.p());
    residual_ = y_;
    converged_ = solve();
  }

  bool converged() const { return converged_; }
  const Eigen::MatrixXd& x() const { return x_; }
  const Eigen::VectorXd& theta() const { return theta_; }
  const Eigen::VectorXd& residual() const { return residual_; }
  double error() const { return error_; }  // largest violation of the optimality conditions
  std::vector<Eigen::Index> support() const {
    std::vector<Eigen::Index> out;
    for (Eigen::Index j = 0; j < theta_.size(); ++j)
      if (theta_[j] != 0.0) out.push_back(j);
    return out;
  }
  /// sum x_ij psi(r_i)
  double score(Eigen::Index j) const { return x_.col(j).dot(slopes()); }
  Eigen::VectorXd scores() const { return x_.transpose() * slopes(); }

 private:
  Eigen::VectorXd slopes() const { return residual_.array().max(-tau_).min(tau_).matrix(); }

  bool solve() {
    const Eigen::VectorXd squares = x_.colwise().squaredNorm();
    const double target = 1e-8 * std::max(penalty_, 1.0);
    std::vector<Eigen::Index> active;
    for (int sweep = 0; sweep < 400; ++sweep) {
      // All variables now and then, the active ones in between.
      const Eigen::VectorXd all = scores();
      error_ = 0.0;
      active.clear();
      for (Eigen::Index j = 0; j < theta_.size(); ++j) {
        error_ = std::max(error_, violation(all[j], theta_[j]));
        if (theta_[j] != 0.0 || std::fabs(all[j]) > penalty_ * (1.0 - 1e-6)) active.push_back(j);
      }
      if (error_ <= target) return true;
      for (int inner = 0; inner < 200; ++inner) {
        double moved = 0.0;
        for (const Eigen::Index j : active) {
          if (squares[j] <= 0.0) continue;
          double step_total = 0.0;
          for (int newton = 0; newton < (std::isinf(tau_) ? 1 : 3); ++newton) {
            // Huber's curvature is at most that of squares: a step that never overshoots.
            const double now = theta_[j];
            const double z = now + score(j) / squares[j];
            double next = std::copysign(std::max(std::fabs(z) - penalty_ / squares[j], 0.0), z);
            if (box_) next = std::min(std::max(next, -1.0), 1.0);
            if (next == now) break;
            residual_ -= x_.col(j) * (next - now);
            theta_[j] = next;
            step_total += std::fabs(next - now);
          }
          moved = std::max(moved, step_total * squares[j]);
        }
        if (moved <= 0.01 * target) break;
      }
      residual_ = y_ - x_ * theta_;
    }
    return false;
  }

  double violation(double score, double theta) const {
    if (theta == 0.0) return std::max(0.0, std::fabs(score) - penalty_);
    const double off = score - std::copysign(penalty_, theta);
    if (box_ && std::fabs(theta) >= 1.0 && off * theta > 0.0) return 0.0;
    return std::fabs(off);
  }

  Eigen::MatrixXd x_;
  Eigen::VectorXd y_, theta_, residual_;
  double penalty_, tau_, error_ = std::numeric_limits<double>::infinity();
  bool box_, converged_ = false;
};

namespace stability_detail {

inline Eigen::MatrixXd restricted_gram(const Eigen::MatrixXd& x,
                                       const std::vector<Eigen::Index>& support,
                                       const Eigen::VectorXd* residual, double limit) {
  const auto s = static_cast<Eigen::Index>(support.size());
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(s, s);
  Eigen::VectorXd row(s);
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    if (residual && !(std::fabs((*residual)[i]) <= limit)) continue;
    for (Eigen::Index k = 0; k < s; ++k) row[k] = x(i, support[static_cast<std::size_t>(k)]);
    out.noalias() += row * row.transpose();
  }
  return out;
}

inline double least(const Eigen::MatrixXd& m) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m, Eigen::EigenvaluesOnly).eigenvalues()[0];
}
inline double most(const Eigen::MatrixXd& m) {
  const Eigen::VectorXd e =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m, Eigen::EigenvaluesOnly).eigenvalues();
  return e[e.size() - 1];
}

/// floor(2^10 x), at least 0.
inline std::int64_t on_grid(double x) {
  return static_cast<std::int64_t>(std::floor(1024.0 * std::max(0.0, std::min(x, 1e9))));
}

}  // namespace stability_detail

/// The printed stability test of Thakurta (2013), Table 6.1, repaired: off-support means all other
/// variables, no "+1", nothing released from an unstable data set.
inline stable_support lasso_stability(const people& rows, const stability_facts& f) {
  namespace detail = stability_detail;
  const auto n = static_cast<double>(rows.n());
  const auto s = static_cast<double>(f.size);
  const sparse_fit fit(rows, f.penalty, std::numeric_limits<double>::infinity(), true);
  stable_support out;
  out.support = fit.support();
  if (!fit.converged() || static_cast<Eigen::Index>(out.support.size()) > f.size) return out;
  const double a = 2.0 * std::pow(s, 1.5) / (f.psi * n);
  const double delta1 = 2.0 * s * s / f.psi + 4.0 * s;
  const Eigen::VectorXd scores = fit.scores();
  double off = fit.error() + 1e-9 * n;
  for (Eigen::Index j = 0; j < rows.p(); ++j)
    if (fit.theta()[j] == 0.0) off = std::max(off, std::fabs(scores[j]) + fit.error() + 1e-9 * n);
  double distance = std::numeric_limits<double>::infinity();
  if (!out.support.empty()) {
    const double curvature =
        detail::least(detail::restricted_gram(fit.x(), out.support, nullptr, 0.0));
    distance = (curvature - 2.0 * f.psi * n - 1e-9 * n) / s;
    if (!(distance > 0.0)) return out;
    // The minimiser on the support is as near as this, and its gradients accordingly.
    const double inexact = (fit.error() + 1e-9 * n) * std::sqrt(s) / curvature;
    off += n * std::sqrt(s) * inexact;
    for (const Eigen::Index j : out.support) {
      distance = std::min(distance, (std::fabs(fit.theta()[j]) - inexact) / a - 1.0);
      distance = std::min(distance, (1.0 - std::fabs(fit.theta()[j]) - inexact) / a - 1.0);
    }
  }
  distance = std::min(distance, (f.penalty - off) / delta1 - 1.0);
  out.distance = detail::on_grid(distance - 1e-6);
  return out;
}

/// The k-step certificate for the Huberised LASSO: kbar, the largest real k >= 1 for which K(k)
/// holds, minus one.
inline stable_support huber_stability(const people& rows, const stability_facts& f) {
  namespace detail = stability_detail;
  const auto n = static_cast<double>(rows.n());
  const auto s = static_cast<double>(f.size);
  if (!(f.psi * n > s)) throw std::domain_error("psi n must exceed the size of the support");
  const sparse_fit fit(rows, f.penalty, f.tau, false);
  stable_support out;
  out.support = fit.support();
  if (!fit.converged() || static_cast<Eigen::Index>(out.support.size()) > f.size) return out;
  const double a = 2.0 * f.tau * std::sqrt(s) / (f.psi * n);
  const double delta1 = 2.0 * f.tau + std::sqrt(f.kappa1 * f.kappa2) * n * a;
  const Eigen::VectorXd scores = fit.scores();
  const bool empty = out.support.empty();
  double off = 0.0, column = 0.0, smallest = std::numeric_limits<double>::infinity();
  for (Eigen::Index j = 0; j < rows.p(); ++j) {
    column = std::max(column, fit.x().col(j).squaredNorm());
    if (fit.theta()[j] == 0.0)
      off = std::max(off, std::fabs(scores[j]));
    else
      smallest = std::min(smallest, std::fabs(fit.theta()[j]));
  }
  const double whole =
      empty ? 0.0 : detail::most(detail::restricted_gram(fit.x(), out.support, nullptr, 0.0));
  // The fit is within `inexact` of the minimiser (curvature at least psi n where K(1) holds).
  const double inexact = (fit.error() + 1e-9 * n) * std::sqrt(s) / (f.psi * n);
  const auto holds = [&](double k) {
    if (!(column <= f.kappa1 * n - (k - 1.0) - 1e-9 * n)) return false;
    const double gap = f.penalty - off - fit.error() - std::sqrt(f.kappa1 * f.kappa2) * n * inexact;
    if (!(gap > k * delta1 + 1e-9 * n)) return false;
    if (empty) return true;
    if (!(whole <= f.kappa2 * n - (k - 1.0) * s - 1e-9 * n)) return false;
    if (!(smallest - inexact > k * a)) return false;
    const double limit = f.tau - k * std::sqrt(s) * a - std::sqrt(s) * inexact;
    return detail::least(detail::restricted_gram(fit.x(), out.support, &fit.residual(), limit)) >
           f.psi * n + (k - 1.0) * s + 1e-9 * n;
  };
  if (!holds(1.0)) return out;
  double low = 1.0, high = 2.0;
  while (high < 1e6 && holds(high)) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < 40 && high - low > 1e-5; ++i) {
    const double k = (low + high) / 2.0;
    (holds(k) ? low : high) = k;
  }
  out.distance = detail::on_grid(low - 1.0);
  return out;
}

}  // namespace dpsc
