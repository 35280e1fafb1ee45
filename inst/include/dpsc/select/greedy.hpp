// Variables one by one: private pursuit, one-shot screening, Frank and Wolfe's path, and orthogonal
// matching pursuit on moments that were released. Every sum over people here is a sum of whole
// numbers that either enters a choice or leaves with noise.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "../stream/gaussian.hpp"
#include "choose.hpp"

namespace dpsc {

/// Rows of people: |x_ij| <= 1 and |y_i| <= 1, on a grid of 2^-10. A row that is not finite is
/// zero.
class people {
 public:
  static constexpr std::int64_t unit = 1024;

  /// @param table n x (p + 1), column-major, the outcome last.
  people(const double* table, Eigen::Index n, Eigen::Index p)
      : n_(n), p_(p), x_(static_cast<std::size_t>(n * p)), y_(static_cast<std::size_t>(n)) {
    if (n < 1 || p < 1) throw std::invalid_argument("there must be rows and columns");
    for (Eigen::Index i = 0; i < n; ++i) {
      bool whole = true;
      for (Eigen::Index j = 0; j <= p; ++j) whole = whole && std::isfinite(table[j * n + i]);
      for (Eigen::Index j = 0; j <= p; ++j) {
        const double value = whole ? std::min(std::max(table[j * n + i], -1.0), 1.0) : 0.0;
        const auto rounded = static_cast<std::int32_t>(std::nearbyint(value * unit));
        if (j < p)
          x_[static_cast<std::size_t>(j * n + i)] = rounded;
        else
          y_[static_cast<std::size_t>(i)] = rounded;
      }
    }
  }

  Eigen::Index n() const { return n_; }
  Eigen::Index p() const { return p_; }
  const std::int32_t* column(Eigen::Index j) const { return x_.data() + j * n_; }
  std::int32_t x(Eigen::Index i, Eigen::Index j) const {
    return x_[static_cast<std::size_t>(j * n_ + i)];
  }
  std::int32_t y(Eigen::Index i) const { return y_[static_cast<std::size_t>(i)]; }

 private:
  Eigen::Index n_, p_;
  std::vector<std::int32_t> x_, y_;
};

struct greedy_facts {
  Eigen::Index size = 1;  // variables to pick, or iterations of Frank and Wolfe
  bool intercept = true;
  double exponent = 0.0;  // epsilon of one choice; infinite: no noise
  double rho_step = 0.0;  // zCDP of one step's sums; infinite: no noise
  double ball = 1.0;      // l1 radius, Frank and Wolfe
};

struct greedy_path {
  std::vector<Eigen::Index> order;  // in the order of the picks
  Eigen::VectorXd theta;            // of the scaled variables
};

namespace greedy_detail {

/// Residuals of released coefficients, clipped to [-1, 1], in units. Each from its own row.
inline void residuals(const people& rows, const Eigen::VectorXd& theta, double intercept,
                      std::vector<std::int32_t>& out) {
  constexpr auto unit = static_cast<double>(people::unit);
  out.resize(static_cast<std::size_t>(rows.n()));
  std::vector<Eigen::Index> used;
  for (Eigen::Index j = 0; j < theta.size(); ++j)
    if (theta[j] != 0.0) used.push_back(j);
  for (Eigen::Index i = 0; i < rows.n(); ++i) {
    double fitted = intercept;
    for (const Eigen::Index j : used) fitted += theta[j] * rows.x(i, j) / unit;
    const double r = rows.y(i) / unit - std::min(std::max(fitted, -1.0), 1.0);
    out[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(std::nearbyint(std::min(std::max(r, -1.0), 1.0) * unit));
  }
}

inline std::int64_t product(const people& rows, Eigen::Index j,
                            const std::vector<std::int32_t>& r) {
  const std::int32_t* x = rows.column(j);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < r.size(); ++i) sum += static_cast<std::int64_t>(x[i]) * r[i];
  return sum;
}

/// Sums of whole numbers with noise for an L2 sensitivity, whole numbers again.
template <typename Engine>
void release(std::vector<std::int64_t>& sums, double sensitivity, double rho, Engine& engine) {
  if (std::isinf(rho)) return;
  const double sigma = std::ceil(sensitivity / std::sqrt(2.0 * rho) * (1.0 + 1e-12));
  if (!(sigma <= static_cast<double>(whole_sigma_gaussian::max_sigma)))
    throw std::domain_error("the budget is too small for the exact sampler");
  const whole_sigma_gaussian law(static_cast<std::int64_t>(sigma));
  for (std::int64_t& sum : sums) sum += law(engine);
}

constexpr double squared_unit =
    static_cast<double>(people::unit) * static_cast<double>(people::unit);

}  // namespace greedy_detail

/// Private pursuit. Each round: a variable by the exponential mechanism on |sum x_ij r_i|, which
/// one replaced row moves by at most 2 either way; then, for it alone, noisy sums that give its
/// step. Cost: size (exponent^2/8 + rho_step), and rho_step once more for the mean if there is an
/// intercept.
template <typename Engine>
greedy_path pursue(const people& rows, const greedy_facts& f, Engine& engine) {
  namespace detail = greedy_detail;
  const auto n = static_cast<double>(rows.n());
  greedy_path out;
  out.theta = Eigen::VectorXd::Zero(rows.p());
  double intercept = 0.0;
  if (f.intercept) {
    std::vector<std::int64_t> sum(1, 0);
    for (Eigen::Index i = 0; i < rows.n(); ++i) sum[0] += rows.y(i);
    detail::release(sum, 2.0 * people::unit, f.rho_step, engine);
    intercept = static_cast<double>(sum[0]) / people::unit / n;
  }
  std::vector<Eigen::Index> left(static_cast<std::size_t>(rows.p()));
  for (std::size_t j = 0; j < left.size(); ++j) left[j] = static_cast<Eigen::Index>(j);
  std::vector<std::int32_t> r;
  while (static_cast<Eigen::Index>(out.order.size()) < f.size && !left.empty()) {
    detail::residuals(rows, out.theta, intercept, r);
    std::vector<std::int64_t> loss(left.size());
    for (std::size_t k = 0; k < left.size(); ++k)
      loss[k] =
          rows.n() * people::unit * people::unit - std::abs(detail::product(rows, left[k], r));
    // Losses move by at most 2 units either way: their differences by 4.
    const std::size_t k = choose(loss, f.exponent, 4.0 * detail::squared_unit, engine);
    const Eigen::Index j = left[k];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    out.order.push_back(j);
    // sum x r in [-1, 1], sum x^2 in [0, 1], sum x in [-1, 1] a row.
    std::vector<std::int64_t> sums(f.intercept ? 3 : 2, 0);
    sums[0] = detail::product(rows, j, r);
    for (Eigen::Index i = 0; i < rows.n(); ++i) {
      sums[1] += static_cast<std::int64_t>(rows.x(i, j)) * rows.x(i, j);
      if (f.intercept) sums[2] += static_cast<std::int64_t>(rows.x(i, j)) * people::unit;
    }
    detail::release(sums, (f.intercept ? 3.0 : std::sqrt(5.0)) * detail::squared_unit, f.rho_step,
                    engine);
    const double mean = f.intercept ? static_cast<double>(sums[2]) / detail::squared_unit / n : 0.0;
    const double spread =
        std::max(static_cast<double>(sums[1]) / detail::squared_unit / n - mean * mean, 0.05);
    const double step = static_cast<double>(sums[0]) / detail::squared_unit / n / spread;
    out.theta[j] = std::min(std::max(step, -1.0 / std::sqrt(spread)), 1.0 / std::sqrt(spread));
    intercept -= out.theta[j] * mean;
  }
  return out;
}

/// One-shot: the same utilities for all picks, from the outcome alone. Cost: size exponent^2/8
/// (peeling; Durfee and Rogers, 2019), and rho_step for the mean if there is an intercept.
template <typename Engine>
greedy_path screen(const people& rows, const greedy_facts& f, Engine& engine) {
  namespace detail = greedy_detail;
  greedy_path out;
  out.theta = Eigen::VectorXd::Zero(rows.p());
  double intercept = 0.0;
  if (f.intercept) {
    std::vector<std::int64_t> sum(1, 0);
    for (Eigen::Index i = 0; i < rows.n(); ++i) sum[0] += rows.y(i);
    detail::release(sum, 2.0 * people::unit, f.rho_step, engine);
    intercept = static_cast<double>(sum[0]) / people::unit / static_cast<double>(rows.n());
  }
  std::vector<std::int32_t> r;
  detail::residuals(rows, out.theta, intercept, r);
  std::vector<Eigen::Index> left;
  std::vector<std::int64_t> loss;
  for (Eigen::Index j = 0; j < rows.p(); ++j) {
    left.push_back(j);
    loss.push_back(rows.n() * people::unit * people::unit - std::abs(detail::product(rows, j, r)));
  }
  while (static_cast<Eigen::Index>(out.order.size()) < f.size && !left.empty()) {
    const std::size_t k = choose(loss, f.exponent, 4.0 * detail::squared_unit, engine);
    out.order.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    loss.erase(loss.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return out;
}

/// Frank and Wolfe on an l1 ball, one signed vertex an iteration (Talwar, Thakurta and Zhang,
/// 2015). Cost: iterations exponent^2/8. No intercept: centre the variables by their bounds.
template <typename Engine>
greedy_path frank_wolfe(const people& rows, const greedy_facts& f, Engine& engine) {
  namespace detail = greedy_detail;
  greedy_path out;
  out.theta = Eigen::VectorXd::Zero(rows.p());
  std::vector<std::int32_t> r;
  for (Eigen::Index t = 0; t < f.size; ++t) {
    detail::residuals(rows, out.theta, 0.0, r);
    std::vector<std::int64_t> loss;
    const std::int64_t top = rows.n() * people::unit * people::unit;
    for (Eigen::Index j = 0; j < rows.p(); ++j) {
      const std::int64_t g = detail::product(rows, j, r);
      loss.push_back(top - g);
      loss.push_back(top + g);
    }
    const std::size_t k = choose(loss, f.exponent, 4.0 * detail::squared_unit, engine);
    const double rate = 2.0 / (static_cast<double>(t) + 2.0);
    out.theta *= 1.0 - rate;
    out.theta[static_cast<Eigen::Index>(k / 2)] += rate * (k % 2 == 0 ? f.ball : -f.ball);
  }
  for (Eigen::Index j = 0; j < rows.p(); ++j)
    if (out.theta[j] != 0.0) out.order.push_back(j);
  std::stable_sort(out.order.begin(), out.order.end(), [&](Eigen::Index a, Eigen::Index b) {
    return std::fabs(out.theta[a]) > std::fabs(out.theta[b]);
  });
  return out;
}

/// Orthogonal matching pursuit on moments: the variable that explains most of what is left, after
/// the `forced` first ones. For released moments: post-processing.
inline std::vector<Eigen::Index> omp(const Eigen::MatrixXd& gram, const Eigen::VectorXd& cross,
                                     Eigen::Index size, Eigen::Index forced, double ridge) {
  std::vector<Eigen::Index> used;
  for (Eigen::Index j = 0; j < forced; ++j) used.push_back(j);
  std::vector<Eigen::Index> order;
  while (static_cast<Eigen::Index>(order.size()) < size) {
    const auto k = static_cast<Eigen::Index>(used.size());
    Eigen::MatrixXd a(k, k);
    Eigen::VectorXd b(k);
    for (Eigen::Index i = 0; i < k; ++i) {
      for (Eigen::Index j = 0; j < k; ++j) a(i, j) = gram(used[i], used[j]);
      a(i, i) += ridge;
      b[i] = cross[used[i]];
    }
    const Eigen::LDLT<Eigen::MatrixXd> solver(a);
    const Eigen::VectorXd beta = k > 0 ? Eigen::VectorXd(solver.solve(b)) : Eigen::VectorXd();
    Eigen::Index best = -1;
    double most = -1.0;
    for (Eigen::Index j = forced; j < cross.size(); ++j) {
      if (std::find(used.begin(), used.end(), j) != used.end()) continue;
      double left = cross[j], spread = gram(j, j) + ridge;
      if (k > 0) {
        Eigen::VectorXd c(k);
        for (Eigen::Index i = 0; i < k; ++i) c[i] = gram(used[i], j);
        left -= c.dot(beta);
        spread -= c.dot(solver.solve(c));
      }
      const double gain =
          left * left / std::max(spread, ridge + 1e-12 * std::fabs(gram(j, j)) + 1e-300);
      if (gain > most) {
        most = gain;
        best = j;
      }
    }
    if (best < 0) break;
    used.push_back(best);
    order.push_back(best);
  }
  return order;
}

/// The part of a symmetric matrix with positive eigenvalues.
inline Eigen::MatrixXd positive_part(const Eigen::MatrixXd& m) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(m);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0.0).asDiagonal() *
         eigen.eigenvectors().transpose();
}

struct moment_fit {
  Eigen::VectorXd theta;
  Eigen::MatrixXd privacy, total;  // covariances
};

/// Ridge on released moments of (x, y): `used` are the regressors, the outcome is the last
/// variable, `sd` is the noise of a diagonal entry. Post-processing.
inline moment_fit fit_moments(const Eigen::MatrixXd& all, const std::vector<Eigen::Index>& used,
                              double sd, double rows) {
  const auto k = static_cast<Eigen::Index>(used.size());
  const Eigen::Index last = all.rows() - 1;
  Eigen::MatrixXd g(k, k);
  Eigen::VectorXd h(k);
  for (Eigen::Index i = 0; i < k; ++i) {
    h[i] = all(used[static_cast<std::size_t>(i)], last);
    for (Eigen::Index j = 0; j < k; ++j)
      g(i, j) = all(used[static_cast<std::size_t>(i)], used[static_cast<std::size_t>(j)]);
  }
  moment_fit out;
  const double ridge = std::max(0.7 * sd * std::sqrt(static_cast<double>(k)), 1e-9 * rows);
  const Eigen::MatrixXd inverse = (positive_part(g) + ridge * Eigen::MatrixXd::Identity(k, k))
                                      .ldlt()
                                      .solve(Eigen::MatrixXd::Identity(k, k));
  out.theta = inverse * h;
  // To first order noise moves theta by A^{-1} (n - N theta); see stream/learner.hpp.
  const Eigen::VectorXd direct = inverse * out.theta;
  out.privacy =
      sd * sd / 2.0 *
      ((1.0 + out.theta.squaredNorm()) * (inverse * inverse) + direct * direct.transpose());
  const double residual = all(last, last) - 2.0 * out.theta.dot(h) + out.theta.dot(g * out.theta);
  out.total = out.privacy +
              std::max(residual, 0.0) / std::max(rows - static_cast<double>(k), 1.0) * inverse;
  return out;
}

/// Matching pursuit on released moments. Post-processing.
inline std::vector<Eigen::Index> pursue_moments(const Eigen::MatrixXd& all, Eigen::Index size,
                                                Eigen::Index forced, double sd) {
  const Eigen::Index p = all.rows() - 1;
  return omp(positive_part(all.topLeftCorner(p, p)), all.col(p).head(p), size, forced,
             0.7 * sd * std::sqrt(static_cast<double>(p)) + 1e-9);
}

}  // namespace dpsc
