// Selection of variables one by one: private pursuit, one-shot screening and the Frank-Wolfe path.
// Every sum over people here is a sum of integers that either enters a choice or is released with
// noise.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "choose.hpp"

namespace dpsc {

/// Rows of people: |x_ij| <= 1 and |y_i| <= 1, on a grid of 2^-10. A row with a non-finite value is
/// zero.
class people {
 public:
  static constexpr std::int64_t unit = 1024;

  /// @param table n x (p + 1), column-major, the outcome last.
  people(const double* table, Eigen::Index n, Eigen::Index p)
      : n_(n), p_(p), x_(static_cast<std::size_t>(n * p)), y_(static_cast<std::size_t>(n)) {
    if (n < 0 || p < 1) throw std::invalid_argument("there must be rows and columns");
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

  /// Each person's number of rows, in order.
  void set_rows(const std::vector<double>& each) {
    first_.assign(1, 0);
    for (const double rows : each)
      first_.push_back(first_.back() + static_cast<Eigen::Index>(rows));
    if (first_.back() != n_) throw std::invalid_argument("people's rows do not add up");
  }

  /// The number of people, each with one row unless declared otherwise.
  Eigen::Index count() const {
    return first_.empty() ? n_ : static_cast<Eigen::Index>(first_.size()) - 1;
  }
  Eigen::Index first(Eigen::Index person) const {
    return first_.empty() ? person : first_[static_cast<std::size_t>(person)];
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
  std::vector<Eigen::Index> first_;
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

/// Residuals at released coefficients, clipped to [-1, 1], in grid units, each from its own row.
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

/// Sums of integers with noise for an L2 sensitivity; the results are integers.
inline void release(const std::string& label, std::vector<std::int64_t>& sums, double sensitivity,
                    double rho, noise& draws) {
  if (std::isinf(rho)) return;
  const double sigma = std::ceil(sensitivity / std::sqrt(2.0 * rho) * (1.0 + 1e-12));
  if (!(sigma <= static_cast<double>(whole_sigma_gaussian::max_sigma)))
    throw std::domain_error("the budget is too small for the exact sampler");
  Eigen::VectorXd exact(static_cast<Eigen::Index>(sums.size()));
  for (std::size_t k = 0; k < sums.size(); ++k)
    exact[static_cast<Eigen::Index>(k)] = static_cast<double>(sums[k]);
  const Eigen::VectorXd noisy =
      draws.add(label, law::whole_gaussian, exact, Eigen::VectorXd::Constant(exact.size(), sigma));
  for (std::size_t k = 0; k < sums.size(); ++k)
    sums[k] = static_cast<std::int64_t>(noisy[static_cast<Eigen::Index>(k)]);
}

constexpr double squared_unit =
    static_cast<double>(people::unit) * static_cast<double>(people::unit);

/// The outcome's noisy mean, scaled units; 0 without an intercept.
inline double outcome_mean(const people& rows, const greedy_facts& f, noise& draws) {
  if (!f.intercept) return 0.0;
  std::vector<std::int64_t> sum(1, 0);
  for (Eigen::Index i = 0; i < rows.n(); ++i) sum[0] += rows.y(i);
  release("mean", sum, 2.0 * people::unit, f.rho_step, draws);
  return static_cast<double>(sum[0]) / people::unit / static_cast<double>(rows.n());
}

}  // namespace greedy_detail

/// Private pursuit. Each round: a variable by the exponential mechanism on |sum x_ij r_i|, which
/// changes by at most 2 in either direction when one row is replaced; then noisy sums for this
/// variable's step only. Cost: size (exponent^2/8 + rho_step), plus rho_step for the mean if there
/// is an intercept.
inline greedy_path pursue(const people& rows, const greedy_facts& f, noise& draws) {
  namespace detail = greedy_detail;
  const auto n = static_cast<double>(rows.n());
  greedy_path out;
  out.theta = Eigen::VectorXd::Zero(rows.p());
  double intercept = detail::outcome_mean(rows, f, draws);
  std::vector<Eigen::Index> left(static_cast<std::size_t>(rows.p()));
  for (std::size_t j = 0; j < left.size(); ++j) left[j] = static_cast<Eigen::Index>(j);
  std::vector<std::int32_t> r;
  while (static_cast<Eigen::Index>(out.order.size()) < f.size && !left.empty()) {
    detail::residuals(rows, out.theta, intercept, r);
    std::vector<std::int64_t> loss(left.size());
    for (std::size_t k = 0; k < left.size(); ++k)
      loss[k] =
          rows.n() * people::unit * people::unit - std::abs(detail::product(rows, left[k], r));
    // Losses change by at most 2 units in either direction, so their differences change by at most
    // 4.
    const std::size_t k = choose("pick", loss, f.exponent, 4.0 * detail::squared_unit, draws);
    const Eigen::Index j = left[k];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    out.order.push_back(j);
    // Per row: x r in [-1, 1], x^2 in [0, 1], x in [-1, 1].
    std::vector<std::int64_t> sums(f.intercept ? 3 : 2, 0);
    sums[0] = detail::product(rows, j, r);
    for (Eigen::Index i = 0; i < rows.n(); ++i) {
      sums[1] += static_cast<std::int64_t>(rows.x(i, j)) * rows.x(i, j);
      if (f.intercept) sums[2] += static_cast<std::int64_t>(rows.x(i, j)) * people::unit;
    }
    detail::release("step", sums, (f.intercept ? 3.0 : std::sqrt(5.0)) * detail::squared_unit,
                    f.rho_step, draws);
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
/// (peeling; Durfee and Rogers, 2019), plus rho_step for the mean if there is an intercept.
inline greedy_path screen(const people& rows, const greedy_facts& f, noise& draws) {
  namespace detail = greedy_detail;
  greedy_path out;
  out.theta = Eigen::VectorXd::Zero(rows.p());
  const double intercept = detail::outcome_mean(rows, f, draws);
  std::vector<std::int32_t> r;
  detail::residuals(rows, out.theta, intercept, r);
  std::vector<Eigen::Index> left;
  std::vector<std::int64_t> loss;
  for (Eigen::Index j = 0; j < rows.p(); ++j) {
    left.push_back(j);
    loss.push_back(rows.n() * people::unit * people::unit - std::abs(detail::product(rows, j, r)));
  }
  while (static_cast<Eigen::Index>(out.order.size()) < f.size && !left.empty()) {
    const std::size_t k = choose("pick", loss, f.exponent, 4.0 * detail::squared_unit, draws);
    out.order.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    loss.erase(loss.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return out;
}

/// Frank-Wolfe iterations on an l1 ball, one signed vertex each (Talwar, Thakurta and Zhang, 2015).
/// Cost: iterations exponent^2/8. No intercept: centre the variables by their bounds.
inline greedy_path frank_wolfe(const people& rows, const greedy_facts& f, noise& draws) {
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
    const std::size_t k = choose("pick", loss, f.exponent, 4.0 * detail::squared_unit, draws);
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

}  // namespace dpsc
