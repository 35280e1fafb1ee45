// Minimisers of a perturbed objective with linear limits on the coefficients, as stiff springs: a
// convex function with a Lipschitz gradient, so that the gradient alone certifies a point. Notes:
// inst/proofs/glm.md, section 7.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "../linalg.hpp"
#include "glm_newton.hpp"

namespace dpsc {

/// r(theta) = sum_k stiff_k / 2 reach_k^2, reach_k = row_k'theta - limit_k, of one-sided rows only
/// where it is positive. PUBLIC, or a function of released values.
struct linear_springs {
  Eigen::MatrixXd rows;  // one per spring; one column per coordinate of theta
  Eigen::VectorXd limit, stiff;
  std::vector<bool> both;  // pulls from both sides

  bool any() const { return rows.rows() > 0; }

  Eigen::VectorXd reach(const Eigen::VectorXd& theta) const {
    Eigen::VectorXd out = rows * theta - limit;
    for (Eigen::Index k = 0; k < out.size(); ++k)
      if (!pulls(k, out[k])) out[k] = 0.0;
    return out;
  }

  bool pulls(Eigen::Index k, double reach) const {
    return both[static_cast<std::size_t>(k)] || reach > 0.0;
  }

  double value(const Eigen::VectorXd& theta) const {
    return 0.5 * (stiff.array() * reach(theta).array().square()).sum();
  }

  /// Adds the gradient and the curvature.
  void add(const Eigen::VectorXd& theta, Eigen::VectorXd& gradient,
           Eigen::MatrixXd* hessian = nullptr) const {
    const Eigen::VectorXd out = reach(theta);
    gradient += rows.transpose() * stiff.cwiseProduct(out);
    if (!hessian) return;
    for (Eigen::Index k = 0; k < out.size(); ++k)
      if (pulls(k, out[k])) *hessian += stiff[k] * rows.row(k).transpose() * rows.row(k);
  }

  /// row_k'(theta + low) - limit_k in twice the precision, and its rounding.
  std::pair<double, double> exact_reach(Eigen::Index k, const Eigen::VectorXd& theta,
                                        const Eigen::VectorXd& low) const {
    compensated_sum sum;
    for (Eigen::Index j = 0; j < theta.size(); ++j) {
      const double product = rows(k, j) * theta[j];
      sum.add(product);
      sum.add(std::fma(rows(k, j), theta[j], -product));
      sum.add(rows(k, j) * low[j]);
    }
    sum.add(-limit[k]);
    return {sum.value(), sum.left()};
  }

  /// Adds the gradient at theta + low to sums, everything in twice the precision.
  void add_exact(const Eigen::VectorXd& theta, const Eigen::VectorXd& low,
                 std::vector<compensated_sum>& sums) const {
    for (Eigen::Index k = 0; k < rows.rows(); ++k) {
      const auto far = exact_reach(k, theta, low);
      if (!pulls(k, far.first)) continue;
      const double force = stiff[k] * far.first;
      const double rest = std::fma(stiff[k], far.first, -force) + stiff[k] * far.second;
      for (Eigen::Index j = 0; j < theta.size(); ++j) {
        const double product = force * rows(k, j);
        const auto at = static_cast<std::size_t>(j);
        sums[at].add(product);
        sums[at].add(std::fma(force, rows(k, j), -product) + rest * rows(k, j));
      }
    }
  }

  /// The same springs, in coordinates with origin theta + low.
  linear_springs from(const Eigen::VectorXd& theta, const Eigen::VectorXd& low) const {
    linear_springs out = *this;
    for (Eigen::Index k = 0; k < limit.size(); ++k)
      out.limit[k] = -exact_reach(k, theta, low).first;
    return out;
  }

  /// Bound on the rounding errors in twice the precision (over its square) among n rows, if r is at
  /// most `energy` and |theta| at most `length`: for a sum of forces, and for each force.
  double rounding(double n, double energy, double length) const {
    const Eigen::ArrayXd size = rows.rowwise().norm().array();
    const double d = static_cast<double>(rows.cols()), count = static_cast<double>(rows.rows());
    const double forces = std::sqrt(2.0 * energy * (stiff.array() * size.square()).sum() * count);
    const double each = (stiff.array() * size * (size * length + limit.array().abs())).sum();
    return (n + count) * (n + count) * forces + 100.0 * d * d * each;
  }
};

/// argmin g'(v - from) + (v - from)'H(v - from) / 2 + springs(v): Newton steps with an exact search
/// along each, which ends for a function of quadratic pieces (Keerthi and DeCoste, 2005).
inline Eigen::VectorXd minimise_pieces(const linear_springs& springs, const Eigen::MatrixXd& H,
                                       const Eigen::VectorXd& g, const Eigen::VectorXd& from,
                                       double tolerance) {
  Eigen::VectorXd v = from;
  std::vector<std::pair<double, Eigen::Index>> turns;
  for (int step = 0; step < 500; ++step) {
    const Eigen::VectorXd plain = g + H * (v - from);
    Eigen::VectorXd gradient = plain;
    Eigen::MatrixXd bent = H;
    springs.add(v, gradient, &bent);
    if (gradient.norm() <= tolerance) break;
    const Eigen::LLT<Eigen::MatrixXd> factor = llt(bent);
    if (factor.info() != Eigen::Success) break;
    const Eigen::VectorXd p = -factor.solve(gradient);
    // The derivative along p rises piece by piece: value `rise` and slope `bend` at zero, and the
    // places where springs start or cease to act.
    const Eigen::VectorXd at = springs.rows * v - springs.limit, move = springs.rows * p;
    double rise = plain.dot(p), bend = p.dot(H * p), size = 0.0;
    turns.clear();
    for (Eigen::Index k = 0; k < at.size(); ++k) {
      const bool both = springs.both[static_cast<std::size_t>(k)];
      const bool on = both || at[k] > 0.0 || (at[k] == 0.0 && move[k] > 0.0);
      if (on) {
        rise += springs.stiff[k] * at[k] * move[k];
        bend += springs.stiff[k] * move[k] * move[k];
      }
      if (!both && move[k] != 0.0 && (on ? move[k] < 0.0 : move[k] > 0.0))
        turns.emplace_back(-at[k] / move[k], k);
    }
    if (!(rise < 0.0)) break;
    std::sort(turns.begin(), turns.end());
    for (const auto& turn : turns) {
      const double next = rise + bend * (turn.first - size);
      if (next >= 0.0) break;
      rise = next;
      size = turn.first;
      const Eigen::Index k = turn.second;
      const double own = springs.stiff[k] * move[k] * move[k];
      bend += move[k] > 0.0 ? own : -own;
    }
    if (bend > 0.0) size += std::max(0.0, -rise / bend);
    const Eigen::VectorXd next = v + size * p;
    if (!next.allFinite() || (next - v).norm() <= 1e-15 * v.norm()) break;
    v = next;
  }
  return v;
}

/// Newton steps in twice the precision, from a point near the minimiser: with stiff springs the
/// part of theta that doubles round off matters. The bound is infinite if it is not within
/// `tolerance`.
inline certified_minimiser polish_sprung(const glm_problem& problem, const linear_springs& springs,
                                         const Eigen::MatrixXd& H, double tolerance,
                                         const ticker& tick, Eigen::VectorXd theta) {
  Eigen::VectorXd low = Eigen::VectorXd::Zero(theta.size());
  double last = std::numeric_limits<double>::infinity();
  for (int step = 0; step < 30; ++step) {
    const double left =
        problem
            .exact_gradient(theta, tick, &low,
                            [&](auto& sums) { springs.add_exact(theta, low, sums); })
            .norm();
    if (left <= tolerance) return {theta + low, left};
    if (step > 5 && left > 0.5 * last) break;
    last = std::min(last, left);
    const Eigen::VectorXd plain = problem.exact_gradient(theta, tick, &low);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(theta.size());
    low += minimise_pieces(springs.from(theta, low), H, plain, zero, 0.01 * tolerance);
    const Eigen::VectorXd sum = theta + low;
    low -= sum - theta;
    theta = sum;
  }
  return {theta, std::numeric_limits<double>::infinity()};
}

/// As minimise_glm(), with springs: the point is rounded from one whose gradient is at most
/// `tolerance`.
inline certified_minimiser minimise_sprung(const glm_problem& problem,
                                           const linear_springs& springs,
                                           const Eigen::VectorXd& start, double tolerance,
                                           const ticker& tick) {
  const auto value = [&](const Eigen::VectorXd& theta) {
    return problem.value(theta) + springs.value(theta);
  };
  Eigen::VectorXd theta = start;
  double here = value(theta);
  Eigen::MatrixXd hessian;
  bool near = false;
  for (int step = 0; step < 300; ++step) {
    const Eigen::VectorXd plain = problem.gradient(theta, &hessian, tick);
    const Eigen::MatrixXd H = hessian.selfadjointView<Eigen::Lower>();
    Eigen::VectorXd gradient = plain;
    springs.add(theta, gradient);
    if (near || step % 40 == 39) {
      const certified_minimiser found = polish_sprung(problem, springs, H, tolerance, tick, theta);
      if (found.bound <= tolerance) return found;
    }
    const Eigen::VectorXd next = minimise_pieces(
        springs, H, plain, theta, std::min(1e-4 * gradient.norm(), 0.01 * tolerance));
    near = (next - theta).norm() <= 1e-7 * (1.0 + theta.norm());
    double size = 1.0;
    for (int half = 0;; ++half, size /= 2.0) {
      if (half > 60) throw solver_failed();
      const Eigen::VectorXd there =
          size == 1.0 ? next : Eigen::VectorXd(theta + size * (next - theta));
      const double now = value(there);
      // Near the minimum the remaining gain is below the rounding error.
      if (near || now <= here + 1e-13 * std::fabs(here)) {
        theta = there;
        here = std::min(here, now);
        break;
      }
    }
  }
  throw solver_failed();
}

}  // namespace dpsc
