// Supports of (Huberised) LASSO fits with a certified lower bound on how many people would have to
// be replaced to change them (proofs/selection.md, Theorems 3 and 4). The conditions are taken from
// these theorems. One public slack bounds the rounding error of a sum over rows; error(),
// curvature() and the sizes of columns include it. A sensitivity of 1026 instead of 1024 covers the
// grid.
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
  // Curvature and sizes of columns, per person. 0: values from a public grid, those with the
  // largest certificate; the largest of several certificates is also a certificate.
  double psi = 0.0, kappa1 = 0.0, kappa2 = 0.0;
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
  /// A generous bound on the rounding error of a sum over the rows. PUBLIC.
  double slack() const { return 1e-9 * static_cast<double>(x_.rows()); }
  /// Largest violation of the optimality conditions.
  double error() const { return error_ + slack(); }
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
      // All variables from time to time; in between, the active variables only.
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
/// Least curvature of the rows whose residuals are within a limit.
inline double curvature(const sparse_fit& fit, const std::vector<Eigen::Index>& support,
                        double limit = std::numeric_limits<double>::infinity()) {
  const Eigen::VectorXd* residual = std::isinf(limit) ? nullptr : &fit.residual();
  return least(restricted_gram(fit.x(), support, residual, limit)) - fit.slack();
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

/// Curvatures to try: the given one, or a public grid.
inline std::vector<double> curvatures(const stability_facts& f, double n) {
  if (f.psi > 0.0) return {f.psi};
  std::vector<double> out;
  for (int k = 0; k < 24; ++k) {
    const double psi = std::exp2(-static_cast<double>(k) / 3.0);
    if (psi * n > static_cast<double>(f.size)) out.push_back(psi);
  }
  return out;
}

namespace stability_detail {

/// Conditions of the LASSO's certificate on one fit. PRIVATE.
struct lasso_reading {
  const sparse_fit& fit;
  std::vector<Eigen::Index> support;
  double n, off, curvature;

  /// The distance that a curvature certifies.
  double distance(const stability_facts& f, double psi) const {
    const auto s = static_cast<double>(f.size);
    const double a = 2.0 * std::pow(s, 1.5) / (psi * n), delta1 = 2.0 * s * s / psi + 4.0 * s;
    if (support.empty()) return (f.penalty - off) / delta1 - 1.0;
    double least = (curvature - 2.0 * psi * n) / s;
    if (!(least > 0.0)) return 0.0;
    // The distance to the minimiser on the support; gradients differ accordingly.
    const double inexact = fit.error() * std::sqrt(s) / curvature;
    for (const Eigen::Index j : support) {
      const double size = std::fabs(fit.theta()[j]);
      least = std::min(least, (std::min(size, 1.0 - size) - inexact) / a - 1.0);
    }
    return std::min(least, (f.penalty - off - n * std::sqrt(s) * inexact) / delta1 - 1.0);
  }
};

}  // namespace stability_detail

/// The published stability test of Thakurta (2013), Table 6.1, repaired: "off the support" means
/// all other variables, there is no "+1", and nothing is released from an unstable data set.
inline stable_support lasso_stability(const people& rows, const stability_facts& f) {
  namespace detail = stability_detail;
  const auto n = static_cast<double>(rows.n());
  const sparse_fit fit(rows, f.penalty, std::numeric_limits<double>::infinity(), true);
  stable_support out;
  out.support = fit.support();
  if (!fit.converged() || static_cast<Eigen::Index>(out.support.size()) > f.size) return out;
  const Eigen::VectorXd scores = fit.scores();
  double off = fit.error();
  for (Eigen::Index j = 0; j < rows.p(); ++j)
    if (fit.theta()[j] == 0.0) off = std::max(off, std::fabs(scores[j]) + fit.error());
  const double curvature = out.support.empty() ? 0.0 : detail::curvature(fit, out.support);
  const detail::lasso_reading reading{fit, out.support, n, off, curvature};
  double distance = 0.0;
  for (const double psi : curvatures(f, n)) distance = std::max(distance, reading.distance(f, psi));
  out.distance = detail::on_grid(distance - 1e-6);
  return out;
}

namespace stability_detail {

/// Conditions of the k-step certificate on one fit. PRIVATE.
class huber_reading {
 public:
  huber_reading(const sparse_fit& fit, const stability_facts& f, double n)
      : fit_(fit), f_(f), n_(n), s_(static_cast<double>(f.size)), support_(fit.support()) {
    const Eigen::VectorXd scores = fit.scores();
    for (Eigen::Index j = 0; j < scores.size(); ++j) {
      column_ = std::max(column_, fit.x().col(j).squaredNorm());
      if (fit.theta()[j] == 0.0)
        off_ = std::max(off_, std::fabs(scores[j]));
      else
        smallest_ = std::min(smallest_, std::fabs(fit.theta()[j]));
    }
    column_ += fit.slack();
    if (!support_.empty())
      whole_ = most(restricted_gram(fit.x(), support_, nullptr, 0.0)) + fit.slack();
  }

  /// Condition K(k) of Theorem 4; for some pair of kappas of the grid if none is given.
  bool holds(double k, double psi) const {
    const double first = column_ + (k - 1.0), second = whole_ + (k - 1.0) * s_;
    const double kappa1 = f_.kappa1 > 0.0 ? f_.kappa1 : first / n_ + 1e-9;
    const double kappa2 = f_.kappa2 > 0.0 ? f_.kappa2 : second / n_ + 1e-9;
    if (!(first <= kappa1 * n_)) return false;
    const double a = 2.0 * f_.tau * std::sqrt(s_) / (psi * n_), slope = std::sqrt(kappa1 * kappa2);
    // The fit is within `inexact` of the minimiser (curvature at least psi n where K(1) holds).
    const double inexact = fit_.error() * std::sqrt(s_) / (psi * n_);
    const double gap = f_.penalty - off_ - fit_.error() - slope * n_ * inexact;
    if (!(gap > k * (2.0 * f_.tau + slope * n_ * a))) return false;
    if (support_.empty()) return true;
    if (!(second <= kappa2 * n_) || !(smallest_ - inexact > k * a)) return false;
    const double limit = f_.tau - std::sqrt(s_) * (k * a + inexact);
    return curvature(fit_, support_, limit) > psi * n_ + (k - 1.0) * s_;
  }

  /// Largest k above `from` for which K(k) holds; `from` if there is none.
  double reach(double from, double psi) const {
    if (!holds(from, psi)) return from;
    double low = from, high = 2.0 * from;
    while (high < 1e6 && holds(high, psi)) {
      low = high;
      high *= 2.0;
    }
    for (int i = 0; i < 40 && high - low > 1e-5; ++i) {
      const double k = (low + high) / 2.0;
      (holds(k, psi) ? low : high) = k;
    }
    return low;
  }

 private:
  const sparse_fit& fit_;
  const stability_facts& f_;
  double n_, s_;
  std::vector<Eigen::Index> support_;
  double off_ = 0.0, column_ = 0.0, whole_ = 0.0;
  double smallest_ = std::numeric_limits<double>::infinity();
};

}  // namespace stability_detail

/// The k-step certificate for the Huberised LASSO: kbar, the largest real k >= 1 for which K(k)
/// holds, minus one.
inline stable_support huber_stability(const people& rows, const stability_facts& f) {
  namespace detail = stability_detail;
  const auto n = static_cast<double>(rows.n());
  if (f.psi > 0.0 && !(f.psi * n > static_cast<double>(f.size)))
    throw std::domain_error("psi n must exceed the size of the support");
  const sparse_fit fit(rows, f.penalty, f.tau, false);
  stable_support out;
  out.support = fit.support();
  if (!fit.converged() || static_cast<Eigen::Index>(out.support.size()) > f.size) return out;
  const detail::huber_reading reading(fit, f, n);
  double k = 1.0;
  for (const double psi : curvatures(f, n)) k = reading.reach(k, psi);
  out.distance = detail::on_grid(k - 1.0);
  return out;
}

}  // namespace dpsc
