// The exponential mechanism over all supports of one size (Thakurta, 2013, Algorithm 6.3).
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "../runtime.hpp"
#include "votes.hpp"

namespace dpsc {

/// Number of subsets.
inline double count_supports(Eigen::Index p, Eigen::Index size) {
  double out = 1.0;
  for (Eigen::Index i = 0; i < size; ++i)
    out *= static_cast<double>(p - i) / static_cast<double>(i + 1);
  return std::round(out);
}

/// Nearest point of an l1 ball (Duchi, Shalev-Shwartz, Singer and Chandra, 2008).
inline Eigen::VectorXd onto_l1_ball(const Eigen::VectorXd& v, double ball) {
  if (v.lpNorm<1>() <= ball) return v;
  std::vector<double> size(static_cast<std::size_t>(v.size()));
  for (Eigen::Index i = 0; i < v.size(); ++i) size[static_cast<std::size_t>(i)] = std::fabs(v[i]);
  std::sort(size.begin(), size.end(), std::greater<double>());
  double sum = 0.0, cut = 0.0;
  for (std::size_t k = 0; k < size.size(); ++k) {
    sum += size[k];
    const double next = (sum - ball) / static_cast<double>(k + 1);
    if (size[k] <= next) break;
    cut = next;
  }
  return v.unaryExpr(
      [cut](double x) { return std::copysign(std::max(std::fabs(x) - cut, 0.0), x); });
}

/// (theta'G theta - 2 h'theta + c)/2 is at most this above its least value on the l1 ball (Frank
/// and Wolfe, 1956). G, h and c of n < 2^33 people are exact, sums of multiples of 2^-20; with k
/// columns, rounding of the other operations adds at most 2 (k + 4) n (1 + ball)^2 2^-53. Relative
/// to the gap that choose_support() requires, this is (k + 4) n 2^-41: 1 % for 2^31 people and six
/// columns.
inline double frank_wolfe_gap(const Eigen::MatrixXd& g, const Eigen::VectorXd& h, double ball,
                              const Eigen::VectorXd& theta) {
  const Eigen::VectorXd gradient = g * theta - h;
  return gradient.dot(theta) + ball * gradient.lpNorm<Eigen::Infinity>();
}

/// min over |theta|_1 <= ball of (theta'G theta - 2 h'theta + c)/2, from above by at most `gap`:
/// accelerated projected gradients, restarted, until the gap certifies it: only then is a person's
/// effect bounded, so the number of iterations has no limit.
inline double least_squares_in_ball(const Eigen::MatrixXd& g, const Eigen::VectorXd& h, double c,
                                    double ball, double gap, runtime& host) {
  const auto k = static_cast<double>(h.size());
  const double slope = std::max(g.trace(), 1e-9);
  Eigen::VectorXd theta = onto_l1_ball(
      (g + 1e-9 * slope * Eigen::MatrixXd::Identity(g.rows(), g.cols())).ldlt().solve(h), ball);
  Eigen::VectorXd ahead = theta;
  double momentum = 1.0;
  for (; frank_wolfe_gap(g, h, ball, theta) > gap; host.tick(4.0 * k * k + 50.0 * k)) {
    const Eigen::VectorXd next = onto_l1_ball(ahead - (g * ahead - h) / slope, ball);
    const double more = (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0;
    if ((ahead - next).dot(next - theta) > 0.0) {  // overshooting: restart from this point
      momentum = 1.0;
      ahead = next;
    } else {
      ahead = next + (momentum - 1.0) / more * (next - theta);
      momentum = more;
    }
    theta = next;
  }
  return (theta.dot(g * theta) - 2.0 * h.dot(theta) + c) / 2.0;
}

/// A support with probability proportional to exp(-exponent q / (2 alpha)), q the least sum of
/// squared errors over two on the l1 ball, alpha = (1 + ball)^2 / 2 the largest loss of a person.
inline std::vector<Eigen::Index> choose_support(const people& rows, Eigen::Index size, double ball,
                                                double exponent, noise& draws, runtime host = {}) {
  const Eigen::Index n = rows.n(), p = rows.p();
  if (size < 1 || size > p || count_supports(p, size) > 1e6)
    throw std::domain_error("too many supports to list");
  constexpr auto unit = static_cast<double>(people::unit);
  Eigen::MatrixXd x(n, p);
  Eigen::VectorXd y(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < p; ++j) x(i, j) = rows.x(i, j) / unit;
    y[i] = rows.y(i) / unit;
  }
  const Eigen::MatrixXd g = x.transpose() * x;
  const Eigen::VectorXd h = x.transpose() * y;
  const double c = y.squaredNorm(), alpha = (1.0 + ball) * (1.0 + ball) / 2.0;
  std::vector<Eigen::Index> now(static_cast<std::size_t>(size));
  for (Eigen::Index k = 0; k < size; ++k) now[static_cast<std::size_t>(k)] = k;
  std::vector<std::vector<Eigen::Index>> supports;
  std::vector<std::int64_t> loss;
  for (;;) {
    Eigen::MatrixXd a(size, size);
    Eigen::VectorXd b(size);
    for (Eigen::Index i = 0; i < size; ++i) {
      b[i] = h[now[static_cast<std::size_t>(i)]];
      for (Eigen::Index j = 0; j < size; ++j)
        a(i, j) = g(now[static_cast<std::size_t>(i)], now[static_cast<std::size_t>(j)]);
    }
    const double q = least_squares_in_ball(a, b, c, ball, alpha / 1024.0, host);
    host.tick(1e3);
    loss.push_back(static_cast<std::int64_t>(std::floor(std::max(q, 0.0) / alpha * 1024.0)));
    supports.push_back(now);
    Eigen::Index k = size - 1;
    while (k >= 0 && now[static_cast<std::size_t>(k)] == p - size + k) --k;
    if (k < 0) break;
    ++now[static_cast<std::size_t>(k)];
    for (Eigen::Index i = k + 1; i < size; ++i)
      now[static_cast<std::size_t>(i)] = now[static_cast<std::size_t>(i - 1)] + 1;
  }
  // A person changes q by at most alpha = 1024 units; the solver and the rounding to integers add
  // less than 2. The remainder of 1028 covers twice the rounding error of the gap.
  return supports[choose("support", loss, exponent, 2.0 * 1028.0, draws)];
}

}  // namespace dpsc
