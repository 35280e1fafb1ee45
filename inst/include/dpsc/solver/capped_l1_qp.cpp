// Bodies of capped_l1_qp.hpp.
#pragma once

#include "capped_l1_qp.hpp"

#include "../linalg.hpp"

namespace dpsc {

capped_l1_ball::capped_l1_ball(double cap) : cap_(cap) {
  if (!(cap > 0.0)) throw std::domain_error("the cap must be positive");
}

Eigen::VectorXd capped_l1_ball::project(const Eigen::VectorXd& z, double* multiplier) const {
  const double theta = threshold(z);
  if (multiplier) *multiplier = theta;
  Eigen::VectorXd p(z.size());
  for (Eigen::Index j = 0; j < z.size(); ++j) {
    const double size = std::min(cap_, std::max(std::abs(z[j]) - theta, 0.0));
    p[j] = std::copysign(size, z[j]);
  }
  return p;
}

double capped_l1_ball::threshold(const Eigen::VectorXd& z) const {
  double low = 0.0, high = z.size() ? z.cwiseAbs().maxCoeff() : 0.0, theta = 0.0;
  for (int i = 0; i < 200; ++i) {
    double total = -1.0, slope = 0.0;
    for (Eigen::Index j = 0; j < z.size(); ++j) {
      const double over = std::abs(z[j]) - theta;
      if (over <= 0.0) continue;
      total += std::min(cap_, over);
      if (over < cap_) slope += 1.0;
    }
    if (theta == 0.0 && total <= 0.0) return 0.0;
    if (total > 0.0)
      low = theta;
    else
      high = theta;
    double next = slope > 0.0 ? theta + total / slope : (low + high) / 2.0;
    if (slope > 0.0 && std::abs(next - theta) <= 4e-16 * std::abs(theta)) return next;
    if (!(next > low && next < high)) next = (low + high) / 2.0;
    if (next == low || next == high) break;
    theta = next;
  }
  return high;  // no double lies in between: the side on which ||p||_1 <= 1
}

capped_l1_qp::capped_l1_qp(const Eigen::Ref<const Eigen::MatrixXd>& x,
                           const Eigen::Ref<const Eigen::VectorXd>& linear, double mu, double cap)
    : x_(x), g_(linear), mu_(mu), set_(cap) {
  if (x.rows() < 1 || x.cols() < 1 || linear.size() != x.rows())
    throw std::invalid_argument("the linear term must have one entry a row of X");
  if (!(mu > 0.0) || !std::isfinite(mu)) throw std::domain_error("mu must be positive");
  if (!x.allFinite() || !linear.allFinite())
    throw std::domain_error("X and the linear term must be finite");
  const Eigen::MatrixXd gram = x.transpose() * x;
  const double top = eigh(gram, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
  // The eigenvalue has a relative error of about T0 u; the margin makes L a bound on ||H||.
  largest_ = mu + 2.0 * std::max(top, 0.0) * (1.0 + 1e-8);
  spread_ = gram.trace();
}

capped_l1_solution capped_l1_qp::solve(double tolerance, runtime host) const {
  if (!(tolerance >= 0.0)) throw std::domain_error("the tolerance must not be negative");
  const double n = static_cast<double>(x_.rows());
  const double work = 4.0 * n * static_cast<double>(x_.cols()) + 20.0 * n;
  const double goal = std::max(tolerance, 2.0 * rounding());
  const double root = std::sqrt(mu_ / largest_), momentum = (1.0 - root) / (1.0 + root);
  const double last = iteration_bound(goal);
  capped_l1_solution best;
  Eigen::VectorXd v = Eigen::VectorXd::Zero(x_.rows()), hv = v, p = v, hp = v;
  double next_newton = 1.0;
  while (best.iterations < last) {
    best.iterations += 1.0;
    step s = projected_step(v, hv);
    offer(s, goal, best);
    if (best.certified) break;
    v = s.p + momentum * (s.p - p);
    hv = s.hp + momentum * (s.hp - hp);
    p.swap(s.p);
    hp.swap(s.hp);
    host.tick(work);
    if (best.iterations >= next_newton) {
      newton(p, hp, goal, best, host);
      if (best.certified) break;
      next_newton = best.iterations + std::max(10.0, best.iterations);
    }
  }
  return best;
}

double capped_l1_qp::iteration_bound(double goal) const {
  const double distance = goal * mu_ / (6.0 * largest_);
  const double start = 2.0 * g_.norm() / mu_ + 1.0;
  return 2.0 + std::ceil(std::sqrt(largest_ / mu_) *
                         std::max(0.0, std::log(start) - 2.0 * std::log(distance)));
}

double capped_l1_qp::rounding() const {
  constexpr double u = std::numeric_limits<double>::epsilon();
  const double n = static_cast<double>(x_.rows());
  const double products = 4.0 * (n + static_cast<double>(x_.cols()) + 8.0) * spread_;
  return u * (products + (n + 8.0) * largest_ + 2.0 * g_.norm()) / mu_;
}

Eigen::VectorXd capped_l1_qp::times_h(const Eigen::VectorXd& f) const {
  return 2.0 * (x_ * (x_.transpose() * f)) + mu_ * f;
}

capped_l1_qp::step capped_l1_qp::projected_step(const Eigen::VectorXd& v,
                                                const Eigen::VectorXd& hv) const {
  step s;
  s.target = v - (hv - g_) / largest_;
  s.p = set_.project(s.target, &s.theta);
  s.hp = times_h(s.p);
  s.distance = (largest_ * (v - s.p) - (hv - s.hp)).norm() / mu_ + rounding();
  return s;
}

void capped_l1_qp::offer(const step& s, double goal, capped_l1_solution& best) {
  if (s.distance < best.distance) {
    best.point = s.p;
    best.distance = s.distance;
    best.certified = s.distance <= goal;
  }
}

void capped_l1_qp::newton(const Eigen::VectorXd& start, const Eigen::VectorXd& h_start, double goal,
                          capped_l1_solution& best, runtime& host) const {
  step s = projected_step(start, h_start);
  std::vector<signed char> before;
  for (int i = 0; i < 15; ++i) {
    std::vector<signed char> face = classify(s);
    if (face == before) return;
    const Eigen::VectorXd v = set_.project(solve_on_face(face, s.theta > 0.0));
    if (!v.allFinite()) return;
    s = projected_step(v, times_h(v));
    offer(s, goal, best);
    host.tick(static_cast<double>(x_.size()) * static_cast<double>(x_.cols()));
    if (best.certified) return;
    before = std::move(face);
  }
}

std::vector<signed char> capped_l1_qp::classify(const step& s) const {
  std::vector<signed char> face(static_cast<std::size_t>(s.p.size()));
  for (Eigen::Index j = 0; j < s.p.size(); ++j) {
    const double size = std::abs(s.p[j]);
    signed char code = size >= set_.cap() ? 2 : (size > 0.0 || s.theta == 0.0) ? 1 : 0;
    if (std::signbit(s.p[j])) code = static_cast<signed char>(-code);
    face[static_cast<std::size_t>(j)] = code;
  }
  return face;
}

Eigen::VectorXd capped_l1_qp::solve_on_face(const std::vector<signed char>& face,
                                            bool on_sum) const {
  std::vector<Eigen::Index> free;
  Eigen::VectorXd f = Eigen::VectorXd::Zero(x_.rows());
  double mass = 1.0;
  for (std::size_t j = 0; j < face.size(); ++j) {
    const Eigen::Index at = static_cast<Eigen::Index>(j);
    if (std::abs(face[j]) == 1) free.push_back(at);
    if (std::abs(face[j]) == 2) {
      f[at] = std::copysign(set_.cap(), static_cast<double>(face[j]));
      mass -= set_.cap();
    }
  }
  if (free.empty()) return f;
  const Eigen::Index k = static_cast<Eigen::Index>(free.size());
  const Eigen::VectorXd pull = g_ - times_h(f);
  Eigen::MatrixXd x(k, x_.cols()), sides(k, 2);
  for (Eigen::Index a = 0; a < k; ++a) {
    const Eigen::Index j = free[static_cast<std::size_t>(a)];
    x.row(a) = x_.row(j);
    sides(a, 0) = pull[j];
    sides(a, 1) = face[static_cast<std::size_t>(j)];
  }
  const Eigen::MatrixXd solved = solve_regularised(x, sides);
  const Eigen::VectorXd signs = sides.col(1);
  const double multiplier =
      on_sum ? (signs.dot(solved.col(0)) - mass) / signs.dot(solved.col(1)) : 0.0;
  for (Eigen::Index a = 0; a < k; ++a)
    f[free[static_cast<std::size_t>(a)]] = solved(a, 0) - multiplier * solved(a, 1);
  return f;
}

Eigen::MatrixXd capped_l1_qp::solve_regularised(const Eigen::MatrixXd& x,
                                                const Eigen::MatrixXd& b) const {
  const bool small = x.rows() <= x.cols();
  Eigen::MatrixXd gram =
      small ? Eigen::MatrixXd(x * x.transpose()) : Eigen::MatrixXd(x.transpose() * x);
  gram.diagonal().array() += mu_ / 2.0;
  const Eigen::LLT<Eigen::MatrixXd> root = llt(gram);
  auto apply = [&](const Eigen::MatrixXd& r) -> Eigen::MatrixXd {
    if (small) return root.solve(r) / 2.0;
    return (r - x * root.solve(x.transpose() * r)) / mu_;
  };
  Eigen::MatrixXd f = apply(b);
  for (int i = 0; i < 2; ++i) f += apply(b - 2.0 * (x * (x.transpose() * f)) - mu_ * f);
  return f;
}

}  // namespace dpsc
