// Minimisers of a perturbed objective with lasso, ridge, groups or a box on the coefficients:
// Newton steps whose quadratic models are solved coordinate by coordinate. Zeros and bounds are
// exact. Notes: inst/proofs/glm.md, section 7.
#pragma once

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "glm_newton.hpp"

namespace dpsc {

/// A convex function of standardised slopes z, and a box. PUBLIC, or a function of what was
/// released.
struct slope_penalty {
  Eigen::VectorXd lasso, ridge, lower, upper;  // one a slope
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

/// argmin g'u + (1/2) u'Qu + penalty(z + u) over u = (intercept, slopes), by coordinates; returns
/// the new (intercept, slopes) given the old ones.
inline Eigen::VectorXd minimise_quadratic(const slope_penalty& penalty, const Eigen::MatrixXd& Q,
                                          const Eigen::VectorXd& g, const Eigen::VectorXd& from,
                                          double tolerance) {
  const Eigen::Index d = from.size();
  Eigen::VectorXd at = from, force = g;  // force: gradient of the quadratic at `at`
  std::vector<bool> grouped(static_cast<std::size_t>(d), false);
  std::vector<double> steep;
  for (const std::vector<int>& group : penalty.groups) {
    Eigen::MatrixXd own(group.size(), group.size());
    for (std::size_t i = 0; i < group.size(); ++i) {
      grouped[static_cast<std::size_t>(group[i] + 1)] = true;
      for (std::size_t k = 0; k < group.size(); ++k)
        own(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) =
            Q(group[i] + 1, group[k] + 1);
    }
    steep.push_back(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(own).eigenvalues().maxCoeff());
  }
  const auto move = [&](Eigen::Index j, double to) {
    const double step = to - at[j];
    if (step == 0.0) return;
    at[j] = to;
    force += step * Q.col(j);
  };
  for (int sweep = 0; sweep < 20000; ++sweep) {
    for (Eigen::Index j = 0; j < d; ++j) {
      if (grouped[static_cast<std::size_t>(j)]) continue;
      const double goal = at[j] - force[j] / Q(j, j);
      move(j, j == 0 ? goal : penalty.prox(j - 1, Q(j, j), goal));
    }
    for (std::size_t k = 0; k < penalty.groups.size(); ++k) {
      // A few steps of descent along the group; ridge terms are part of it.
      const std::vector<int>& group = penalty.groups[k];
      double ridge = 0.0;
      for (int j : group) ridge = std::max(ridge, penalty.ridge[j]);
      const double L = steep[k] + ridge;
      for (int inner = 0; inner < 5; ++inner) {
        Eigen::VectorXd goal(static_cast<Eigen::Index>(group.size()));
        for (std::size_t i = 0; i < group.size(); ++i) {
          const Eigen::Index j = group[i] + 1;
          goal[static_cast<Eigen::Index>(i)] =
              at[j] - (force[j] + penalty.ridge[group[i]] * at[j]) / L;
        }
        const double size = goal.norm();
        const double keep =
            size > 0.0 ? std::max(0.0, 1.0 - penalty.group_weight[k] / (L * size)) : 0.0;
        for (std::size_t i = 0; i < group.size(); ++i)
          move(group[i] + 1, keep * goal[static_cast<Eigen::Index>(i)]);
      }
    }
    Eigen::VectorXd left(d);
    left[0] = force[0];
    left.tail(d - 1) = penalty.residual(at.tail(d - 1), force.tail(d - 1));
    if (left.norm() <= tolerance) break;
  }
  return at;
}

/// Standardised slopes z = back theta_s, theta_s = to z. RELEASED.
struct slope_units {
  Eigen::MatrixXd back, to;
};

struct penalised_solution {
  Eigen::VectorXd theta;
  double gradient;  // norm of an element of the subdifferential; PRIVATE
};

/// As minimise_glm(): to an element of the subdifferential, in theta, of at most `tolerance`.
inline penalised_solution minimise_penalised(const glm_problem& problem,
                                             const slope_penalty& penalty, const slope_units& units,
                                             double tolerance, const ticker& tick) {
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
  for (int step = 0; step < 300; ++step) {
    const Eigen::VectorXd theta = theta_of(u);
    const Eigen::VectorXd gradient = problem.gradient(theta, &hessian, tick);
    double left = in_theta(u, gradient);
    if (left <= tolerance / 4.0 || step > 40) {
      left = in_theta(u, problem.exact_gradient(theta, tick));
      if (left <= tolerance) return {theta, left};
    }
    const Eigen::MatrixXd whole = hessian.selfadjointView<Eigen::Lower>();
    const Eigen::MatrixXd Q = J.transpose() * whole * J;
    const Eigen::VectorXd next = minimise_quadratic(penalty, Q, J.transpose() * gradient, u,
                                                    std::min(1e-3 * left, 0.01 * tolerance));
    // What the step promises to first order: a sufficient part of it ends every search far from the
    // minimum (Lee, Sun and Saunders, 2014). Near it rounding hides what is left to gain, and the
    // certificate still sees it: there alone, or the value would not come down again.
    const double promised = (J.transpose() * gradient).dot(next - u) + penalty.value(next.tail(p)) -
                            penalty.value(u.tail(p));
    const bool near = -promised <= 1e-9 * (1.0 + std::fabs(here));
    double size = 1.0;
    for (int half = 0;; ++half, size /= 2.0) {
      if (half > 60) throw solver_failed();
      const Eigen::VectorXd there = size == 1.0 ? next : Eigen::VectorXd(u + size * (next - u));
      const double now = value(there);
      if (now <= here + std::min(0.0, 1e-4 * size * promised) + 1e-13 * std::fabs(here) ||
          (near && in_theta(there, problem.exact_gradient(theta_of(there), tick)) < 0.9 * left)) {
        u = there;
        here = std::min(here, now);
        break;
      }
    }
  }
  throw solver_failed();
}

}  // namespace dpsc
