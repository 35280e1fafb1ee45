// Minimisers of a perturbed objective with lasso, ridge, groups or a box on the coefficients:
// Newton steps, whose quadratic models are minimised coordinate by coordinate and on faces. Zeros
// and bounds are exact. Notes: inst/proofs/glm.md, section 7.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../linalg.hpp"
#include "glm_newton.hpp"

namespace dpsc {

/// A convex function of standardised slopes z, and a box. PUBLIC, or a function of released values.
struct slope_penalty {
  Eigen::VectorXd lasso, ridge, lower, upper;  // one per slope
  std::vector<std::vector<int>> groups;        // of slopes; disjoint, and without lasso or box
  std::vector<double> group_weight;

  bool any() const { return lasso.size() > 0; }

  double value(const Eigen::VectorXd& z) const {
    double out = (lasso.array() * z.array().abs() + 0.5 * ridge.array() * z.array().square()).sum();
    for (std::size_t g = 0; g < groups.size(); ++g) out += group_weight[g] * part(z, g).norm();
    return out;
  }

  Eigen::VectorXd part(const Eigen::VectorXd& z, std::size_t g) const {
    Eigen::VectorXd out(static_cast<Eigen::Index>(groups[g].size()));
    for (std::size_t i = 0; i < groups[g].size(); ++i)
      out[static_cast<Eigen::Index>(i)] = z[groups[g][i]];
    return out;
  }

  /// The nearest feasible point to zero.
  Eigen::VectorXd start() const {
    return Eigen::VectorXd::Zero(lasso.size()).cwiseMax(lower).cwiseMin(upper);
  }

  /// argmin (1/2) q (z - a)^2 + penalty of slope j alone.
  double prox(Eigen::Index j, double q, double a) const {
    const double c = q * a;
    const double soft = std::copysign(std::max(std::fabs(c) - lasso[j], 0.0), c);
    return std::min(upper[j], std::max(lower[j], soft / (q + ridge[j])));
  }

  /// The element of gradient + subdifferential + normal cone that is nearest to zero, coordinate by
  /// coordinate or group by group.
  Eigen::VectorXd residual(const Eigen::VectorXd& z, const Eigen::VectorXd& gradient) const {
    Eigen::VectorXd out = gradient + ridge.cwiseProduct(z);
    for (Eigen::Index j = 0; j < z.size(); ++j) {
      double low = z[j] > 0.0 ? lasso[j] : -lasso[j], high = z[j] < 0.0 ? -lasso[j] : lasso[j];
      if (z[j] <= lower[j]) low = -std::numeric_limits<double>::infinity();
      if (z[j] >= upper[j]) high = std::numeric_limits<double>::infinity();
      out[j] = out[j] + low > 0.0 ? out[j] + low : out[j] + high < 0.0 ? out[j] + high : 0.0;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const Eigen::VectorXd own = part(z, g), force = part(out, g);
      const double size = own.norm(), weight = group_weight[g];
      Eigen::VectorXd left;
      if (size > 0.0)
        left = force + weight / size * own;
      else
        left = force * std::max(0.0, 1.0 - weight / std::max(force.norm(), 1e-300));
      for (std::size_t i = 0; i < groups[g].size(); ++i)
        out[groups[g][i]] = left[static_cast<Eigen::Index>(i)];
    }
    return out;
  }
};

/// A quadratic model g'(v - from) + (v - from)'Q(v - from) / 2 + penalty(slopes of v), v =
/// (intercept, slopes), and a point that moves to its minimum.
class penalised_quadratic {
 public:
  penalised_quadratic(const slope_penalty& penalty, const Eigen::MatrixXd& Q,
                      const Eigen::VectorXd& g, const Eigen::VectorXd& from)
      : penalty_(penalty), Q_(Q), g_(g), from_(from), at_(from), force_(g) {
    in_group_.assign(static_cast<std::size_t>(from.size()), 0);
    for (const std::vector<int>& group : penalty.groups) {
      const auto m = static_cast<Eigen::Index>(group.size());
      Eigen::MatrixXd own(m, m);
      for (Eigen::Index i = 0; i < m; ++i) {
        in_group_[slope(group, i)] = 1;
        for (Eigen::Index k = 0; k < m; ++k) own(i, k) = Q(slope(group, i), slope(group, k));
      }
      steep_.push_back(eigh(own).eigenvalues().maxCoeff());
    }
  }

  /// Coordinates find the face on which the minimum lies, Newton's steps the point on it;
  /// coordinates alone would converge slowly if some rows have far more curvature than others. Ends
  /// within `tolerance`, or if the remaining gain is below the rounding error.
  const Eigen::VectorXd& minimise(double tolerance) {
    double least = std::numeric_limits<double>::infinity();
    for (int sweep = 0, idle = 0; sweep < 1000 && idle < 20; ++sweep) {
      by_coordinates();
      for (Eigen::Index i = 0; sweep % 4 == 3 && i < at_.size() && on_face(); ++i) {
      }
      const double now = left();
      if (now <= tolerance) break;
      idle = now < 0.9 * least ? 0 : idle + 1;
      least = std::min(least, now);
    }
    return at_;
  }

  /// Predicted gain of the model from `from`.
  double gain() const {
    const Eigen::Index p = at_.size() - 1;
    const Eigen::VectorXd step = at_ - from_;
    return -step.dot(g_ + Q_ * step / 2.0) + penalty_.value(from_.tail(p)) -
           penalty_.value(at_.tail(p));
  }

 private:
  static std::size_t slope(const std::vector<int>& group, Eigen::Index i) {
    return static_cast<std::size_t>(group[static_cast<std::size_t>(i)]) + 1;
  }

  double left() const {
    const Eigen::Index p = at_.size() - 1;
    return std::hypot(force_[0], penalty_.residual(at_.tail(p), force_.tail(p)).norm());
  }

  void move(Eigen::Index j, double to) {
    const double step = to - at_[j];
    if (step == 0.0) return;
    at_[j] = to;
    force_ += step * Q_.col(j);
  }

  void by_coordinates() {
    for (Eigen::Index j = 0; j < at_.size(); ++j) {
      if (in_group_[static_cast<std::size_t>(j)]) continue;
      const double goal = at_[j] - force_[j] / Q_(j, j);
      move(j, j == 0 ? goal : penalty_.prox(j - 1, Q_(j, j), goal));
    }
    for (std::size_t k = 0; k < penalty_.groups.size(); ++k)
      for (int step = 0; step < 5; ++step) descend(k);
  }

  // Along a group; ridge terms are part of it.
  void descend(std::size_t k) {
    const std::vector<int>& group = penalty_.groups[k];
    double ridge = 0.0;
    for (int j : group) ridge = std::max(ridge, penalty_.ridge[j]);
    const double L = steep_[k] + ridge;
    Eigen::VectorXd goal(static_cast<Eigen::Index>(group.size()));
    for (Eigen::Index i = 0; i < goal.size(); ++i) {
      const auto j = static_cast<Eigen::Index>(slope(group, i));
      goal[i] = at_[j] - (force_[j] + penalty_.ridge[j - 1] * at_[j]) / L;
    }
    const double size = goal.norm();
    const double keep =
        size > 0.0 ? std::max(0.0, 1.0 - penalty_.group_weight[k] / (L * size)) : 0.0;
    for (Eigen::Index i = 0; i < goal.size(); ++i)
      move(static_cast<Eigen::Index>(slope(group, i)), keep * goal[i]);
  }

  // Coordinates that are neither at a kink nor at a bound, with force and curvature of all terms
  // without kinks.
  std::vector<Eigen::Index> free_ones(Eigen::VectorXd& force, Eigen::MatrixXd& curve) const {
    const Eigen::Index p = at_.size() - 1;
    const Eigen::VectorXd z = at_.tail(p);
    std::vector<char> is_free(static_cast<std::size_t>(p) + 1, 1);
    force = force_;
    curve = Q_;
    for (Eigen::Index j = 0; j < p; ++j) {
      force[j + 1] += penalty_.ridge[j] * z[j];
      curve(j + 1, j + 1) += penalty_.ridge[j];
      if (z[j] != 0.0) force[j + 1] += std::copysign(penalty_.lasso[j], z[j]);
      is_free[static_cast<std::size_t>(j) + 1] = z[j] > penalty_.lower[j] &&
                                                 z[j] < penalty_.upper[j] &&
                                                 (z[j] != 0.0 || penalty_.lasso[j] == 0.0);
    }
    for (std::size_t k = 0; k < penalty_.groups.size(); ++k) {
      const double size = penalty_.part(z, k).norm(), pull = penalty_.group_weight[k] / size;
      for (int i : penalty_.groups[k]) {
        is_free[static_cast<std::size_t>(i) + 1] = size > 0.0;
        if (!(size > 0.0)) continue;
        force[i + 1] += pull * z[i];
        curve(i + 1, i + 1) += pull;
        for (int j : penalty_.groups[k])
          curve(i + 1, j + 1) -= pull * (z[i] / size) * (z[j] / size);
      }
    }
    std::vector<Eigen::Index> out;
    for (Eigen::Index j = 0; j <= p; ++j)
      if (is_free[static_cast<std::size_t>(j)]) out.push_back(j);
    return out;
  }

  // One step to the minimum on the face, or to the first kink or bound on the way there: then
  // another step is worthwhile.
  bool on_face() {
    Eigen::VectorXd force;
    Eigen::MatrixXd curve;
    const std::vector<Eigen::Index> free = free_ones(force, curve);
    const auto m = static_cast<Eigen::Index>(free.size());
    Eigen::MatrixXd own(m, m);
    Eigen::VectorXd right(m);
    for (Eigen::Index a = 0; a < m; ++a) {
      right[a] = -force[free[static_cast<std::size_t>(a)]];
      for (Eigen::Index b = 0; b < m; ++b)
        own(a, b) = curve(free[static_cast<std::size_t>(a)], free[static_cast<std::size_t>(b)]);
    }
    const Eigen::VectorXd found = ldlt(own).solve(right);
    if (!found.allFinite()) return false;
    Eigen::VectorXd step = Eigen::VectorXd::Zero(at_.size());
    for (Eigen::Index a = 0; a < m; ++a) step[free[static_cast<std::size_t>(a)]] = found[a];
    double size = 1.0, stop = 0.0;
    Eigen::Index first = -1;
    for (Eigen::Index j = 1; j < at_.size(); ++j) {
      const double to = at_[j] + step[j];
      double edge = std::min(penalty_.upper[j - 1], std::max(penalty_.lower[j - 1], to));
      if (penalty_.lasso[j - 1] > 0.0 && edge * at_[j] < 0.0) edge = 0.0;
      if (edge == to || (edge - at_[j]) / step[j] >= size) continue;
      size = (edge - at_[j]) / step[j];
      stop = edge;
      first = j;
    }
    // A group's norm is not quadratic, and curvature may be too uneven for doubles.
    for (int half = 0; worse(size * step); ++half, size /= 2.0, first = -1)
      if (half == 30) return false;
    at_ += size * step;
    if (first >= 0) at_[first] = stop;
    force_ = g_ + Q_ * (at_ - from_);
    return first >= 0;
  }

  bool worse(const Eigen::VectorXd& step) const {
    const Eigen::Index p = at_.size() - 1;
    const Eigen::VectorXd to = at_ + step;
    return step.dot(force_ + Q_ * step / 2.0) + penalty_.value(to.tail(p)) >
           penalty_.value(at_.tail(p));
  }

  const slope_penalty& penalty_;
  const Eigen::MatrixXd& Q_;
  const Eigen::VectorXd &g_, &from_;
  Eigen::VectorXd at_, force_;  // force: gradient of the quadratic
  std::vector<char> in_group_;
  std::vector<double> steep_;  // of each group
};

/// Standardised slopes z = back theta_s, theta_s = to z. RELEASED.
struct slope_units {
  Eigen::MatrixXd back, to;
};

/// As minimise_glm(): to an element of the subdifferential, in theta, of at most `tolerance`.
inline certified_minimiser minimise_penalised(const glm_problem& problem,
                                              const slope_penalty& penalty,
                                              const slope_units& units, double tolerance,
                                              const ticker& tick) {
  const Eigen::Index d = problem.rows.d(), p = d - 1;
  const auto theta_of = [&](const Eigen::VectorXd& u) {
    Eigen::VectorXd theta(d);
    theta << u[0], units.to * u.tail(p);
    return theta;
  };
  const auto in_theta = [&](const Eigen::VectorXd& u, const Eigen::VectorXd& gradient) {
    Eigen::VectorXd v(d);
    v[0] = gradient[0];
    v.tail(p) = units.back.transpose() *
                penalty.residual(u.tail(p), units.to.transpose() * gradient.tail(p));
    return v.norm();
  };
  const auto value = [&](const Eigen::VectorXd& u) {
    return problem.value(theta_of(u)) + penalty.value(u.tail(p));
  };
  Eigen::VectorXd u = Eigen::VectorXd::Zero(d);
  u.tail(p) = penalty.start();
  double here = value(u);
  Eigen::MatrixXd hessian, J = Eigen::MatrixXd::Identity(d, d);
  J.bottomRightCorner(p, p) = units.to;
  for (int step = 0; step < 500; ++step) {
    const Eigen::VectorXd theta = theta_of(u);
    Eigen::VectorXd gradient = problem.gradient(theta, &hessian, tick);
    double left = in_theta(u, gradient);
    if (left <= tolerance / 4.0 || step > 40) {
      gradient = problem.exact_gradient(theta, tick);
      left = in_theta(u, gradient);
      if (left <= tolerance) return {theta, left};
    }
    const Eigen::MatrixXd whole = hessian.selfadjointView<Eigen::Lower>();
    const Eigen::MatrixXd Q = J.transpose() * whole * J;
    const Eigen::VectorXd slopes = J.transpose() * gradient;
    penalised_quadratic model(penalty, Q, slopes, u);
    const Eigen::VectorXd next = model.minimise(std::min(1e-3 * left, 0.01 * tolerance));
    const double promised = std::max(0.0, model.gain());
    const auto on_way = [&](double size) {
      return size == 1.0 ? next : Eigen::VectorXd(u + size * (next - u));
    };
    // Near the minimum the remaining gain is below the objective's rounding error: the certificate
    // still detects it.
    const double rounding = 1e-13 * std::fabs(here);
    const auto gains = [&](double size, double now) {
      if (now <= here - 0.1 * size * promised + rounding) return true;
      if (promised > 100.0 * rounding) return false;
      const Eigen::VectorXd there = on_way(size);
      return in_theta(there, problem.exact_gradient(theta_of(there), tick)) < 0.9 * left;
    };
    double size = 1.0, now = value(next);
    for (int half = 0; !gains(size, now); ++half) {
      if (half == 60) throw solver_failed();
      size /= 2.0;
      now = value(on_way(size));
    }
    // Where curvature vanishes, steps are far too long: they are halved as long as this helps.
    while (size < 1.0) {
      const double nearer = value(on_way(size / 2.0));
      if (!(nearer < now)) break;
      size /= 2.0;
      now = nearer;
    }
    u = on_way(size);
    here = now;
  }
  throw solver_failed();
}

}  // namespace dpsc
