// The minimiser of a perturbed objective, to a gradient that is bounded with all rounding errors:
// the bound is part of the proof of privacy. Notes: inst/proofs/glm.md, section 4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "../linalg.hpp"
#include "../mechanism/glm_family.hpp"
#include "../mechanism/moments.hpp"
#include "../rows/glm_rows.hpp"

namespace dpsc {

/// The solver did not meet its public tolerance. Raised after the charge; nothing is released.
struct solver_failed : std::runtime_error {
  solver_failed() : std::runtime_error("the solver did not reach its tolerance") {}
};

/// A sum whose error is 2u |sum| + O(n u^2) sum |terms| (Neumaier, 1974).
class compensated_sum {
 public:
  void add(double x) {
    const double t = sum_ + x;
    rest_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
  }
  double value() const { return sum_ + rest_; }
  /// Rounding error of value().
  double left() const {
    const double v = value();
    return std::fabs(sum_) >= std::fabs(rest_) ? (sum_ - v) + rest_ : (rest_ - v) + sum_;
  }

 private:
  double sum_ = 0.0, rest_ = 0.0;
};

/// a'b as if in twice the precision (Ogita, Rump and Oishi, 2005).
inline double accurate_dot(const double* a, const double* b, Eigen::Index size) {
  double sum = 0.0, rest = 0.0;
  for (Eigen::Index i = 0; i < size; ++i) {
    const double product = a[i] * b[i];
    const double low = std::fma(a[i], b[i], -product);
    const double next = sum + product;
    const double other = next - sum;
    rest += ((sum - (next - other)) + (product - other)) + low;
    sum = next;
  }
  return sum + rest;
}

/// sum_i weight_i l(xi_i'theta + offset_i; y_i) + (ridge / 2) |theta|^2 + linear'theta.
struct glm_problem {
  const glm_rows& rows;
  glm_family family;
  double ridge;
  Eigen::VectorXd linear;

  double value(const Eigen::VectorXd& theta) const {
    double out = 0.5 * ridge * theta.squaredNorm() + linear.dot(theta);
    Eigen::MatrixXd x;
    for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
      rows.design(b, x);
      Eigen::VectorXd t = x * theta;
      rows.add_offset(b, t);
      double sum = 0.0;
      for (Eigen::Index i = 0; i < t.size(); ++i)
        sum += rows.weight[b][i] * family.loss(t[i], rows.outcome[b][i]);
      out += sum;
    }
    return out;
  }

  Eigen::VectorXd gradient(const Eigen::VectorXd& theta, Eigen::MatrixXd* hessian,
                           const ticker& tick) const {
    const Eigen::Index d = rows.d();
    Eigen::VectorXd out = linear + ridge * theta;
    if (hessian) hessian->setZero(d, d);
    Eigen::MatrixXd x, scaled;
    for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
      rows.design(b, x);
      Eigen::VectorXd t = x * theta;
      rows.add_offset(b, t);
      Eigen::VectorXd slope(t.size()), curve(t.size());
      for (Eigen::Index i = 0; i < t.size(); ++i) {
        const double w = rows.weight[b][i], y = rows.outcome[b][i];
        slope[i] = w * family.slope(t[i], y);
        curve[i] = std::sqrt(w * family.curvature(t[i], y));
      }
      out.noalias() += x.transpose() * slope;
      if (hessian) {
        scaled = curve.asDiagonal() * x;
        hessian->selfadjointView<Eigen::Lower>().rankUpdate(scaled.transpose());
      }
      tick(static_cast<double>(x.size() * (hessian ? d : 4)));
    }
    if (hessian) hessian->diagonal().array() += ridge;
    return out;
  }

  /// The gradient at theta (+ low) in nearly twice the precision, from scalars only; `also` may add
  /// terms to the sums.
  Eigen::VectorXd exact_gradient(
      const Eigen::VectorXd& theta, const ticker& tick, const Eigen::VectorXd* low = nullptr,
      const std::function<void(std::vector<compensated_sum>&)>& also = nullptr) const {
    const Eigen::Index d = rows.d();
    std::vector<compensated_sum> sums(static_cast<std::size_t>(d));
    // An offset is one more column, with a coefficient of one.
    Eigen::VectorXd xi(d + 1), whole(d + 1);
    xi[0] = 1.0;
    whole << theta, 1.0;
    for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
      const Eigen::MatrixXi& block = rows.blocks[b];
      for (Eigen::Index i = 0; i < block.rows(); ++i) {
        for (Eigen::Index j = 0; j + 1 < d; ++j) xi[j + 1] = block(i, j) * rows.unit;
        xi[d] = rows.offset_of(b, i);
        double t = accurate_dot(xi.data(), whole.data(), rows.offset.empty() ? d : d + 1);
        if (low) t += xi.head(d).dot(*low);
        const double s = rows.weight[b][i] * family.slope<proven_functions>(t, rows.outcome[b][i]);
        for (Eigen::Index j = 0; j < d; ++j) sums[static_cast<std::size_t>(j)].add(s * xi[j]);
      }
      tick(static_cast<double>(block.rows() * d) * 20.0);
    }
    if (also) also(sums);
    Eigen::VectorXd out(d);
    for (Eigen::Index j = 0; j < d; ++j) {
      compensated_sum& sum = sums[static_cast<std::size_t>(j)];
      sum.add(ridge * theta[j]);
      if (low) sum.add(ridge * (*low)[j]);
      sum.add(linear[j]);
      out[j] = sum.value();
    }
    return out;
  }
};

/// No table with several rows per person has more terms: this public number takes the place of a
/// private one.
constexpr double most_terms = 0x1p27;

/// Public facts that bound the rounding errors of exact_gradient().
struct rounding_facts {
  double n, limit, largest, linear;  // rows, R, largest |outcome|, largest |linear term|
  // With a penalty: length and penalty of a feasible point, condition of the change of coordinates.
  double start = 0.0, penalty = 0.0, units = 0.0;
  double terms = n;  // of a sum; if people have several rows, an upper bound
  // With springs: rounding errors in twice the precision, from the largest objective and |theta|.
  std::function<double(double, double)> springs = nullptr;
  double offset = 0.0;  // largest |offset|
};

/// Upper bound of the Euclidean error of exact_gradient() near the minimiser, and of the effect of
/// the sampler's rounding of the linear term (2^-40 of it). PUBLIC: no row is looked at.
inline double gradient_rounding(const glm_family& family, double ridge, const rounding_facts& f,
                                Eigen::Index d) {
  const double u = std::numeric_limits<double>::epsilon();  // twice the unit roundoff
  const double dim = static_cast<double>(d);
  // |theta| at the minimiser: F(start) - inf F, with weights of at most R.
  const double start =
      f.n * f.limit * (family.start_gap(f.largest) + family.unit() * (f.start + f.offset)) +
      ridge * f.start * f.start / 2.0 + f.linear * f.start + f.penalty;
  const double theta = 2.0 * f.linear / ridge + std::sqrt(2.0 * start / ridge) + 1.0;
  // The rounding error of a change of coordinates.
  const double units =
      f.units * dim * u * theta * (f.n * f.limit * f.limit * family.steepest() + ridge);
  // Errors of a slope: of exp or tanh (4u of its range and of y), of the rounding of t, and of
  // products with weight and row; t itself is computed in twice the precision.
  const double range = family.kind == glm_kind::gaussian ? family.span : 2.0 * family.unit();
  const double slope = 8.0 * u * range + u * family.rounding_reach(f.largest);
  const double terms = f.offset > 0.0 ? dim + 1.0 : dim;
  const double twice =
      terms * terms * u * u * (theta * f.limit + f.offset) * f.limit * family.steepest();
  const double rows = f.n * (f.limit * slope + twice);
  const double sums =
      (4.0 * u + f.terms * f.terms * u * u) * f.n * f.limit * range * std::sqrt(dim);
  // The energy of the springs is at most F(start) + r(start) - inf F, and the linear term lowers
  // inf F.
  const double energy = start + f.linear * f.linear / (2.0 * ridge);
  const double pulls = f.springs ? u * u * f.springs(energy, theta) : 0.0;
  return rows + sums + pulls + units + 8.0 * u * (ridge * theta + f.linear) + 0x1.0p-40 * f.linear;
}

/// A point, and a proven bound on the norm of an element of the objective's subdifferential there,
/// with all rounding errors: the result of every solver of a private fit. PRIVATE.
struct certified_minimiser {
  Eigen::VectorXd point;
  double bound;

  /// The point, if its error is within the tolerance for which the covering noise was planned.
  const Eigen::VectorXd& within(double tolerance) const {
    if (!(bound <= tolerance)) throw solver_failed();
    return point;
  }
};

/// Newton's method, damped until the gradient shrinks: from zero it converges for every smooth,
/// strongly convex objective. Stops when the accurate gradient is at most `tolerance`.
inline certified_minimiser minimise_glm(const glm_problem& problem, double tolerance,
                                        const ticker& tick) {
  const Eigen::Index d = problem.rows.d();
  Eigen::VectorXd theta = Eigen::VectorXd::Zero(d);
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient = problem.gradient(theta, &hessian, tick);
  for (int step = 0; step < 500; ++step) {
    const double norm = gradient.norm();
    if (norm <= tolerance / 4.0 || step > 60) {
      // Rounding may hide that the plain gradient is small enough.
      const Eigen::VectorXd exact = problem.exact_gradient(theta, tick);
      if (exact.norm() <= tolerance) return {theta, exact.norm()};
      gradient = exact;
    }
    const Eigen::LLT<Eigen::MatrixXd> factor = llt(hessian);
    if (factor.info() != Eigen::Success) throw solver_failed();
    const Eigen::VectorXd direction = -factor.solve(gradient);
    double size = 1.0;
    for (int half = 0;; ++half, size /= 2.0) {
      if (half > 60) throw solver_failed();
      const Eigen::VectorXd next = theta + size * direction;
      const Eigen::VectorXd there = problem.gradient(next, &hessian, tick);
      if (there.norm() <= (1.0 - size / 4.0) * gradient.norm() || there.norm() <= tolerance / 4.0) {
        theta = next;
        gradient = there;
        break;
      }
    }
  }
  throw solver_failed();
}

}  // namespace dpsc
