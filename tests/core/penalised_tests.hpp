// Penalised minimisers in difficult problems: vanishing curvature, tiny ridges, columns that are
// nearly equal or of very different scale, rows that are equal or remote. No nearby point is
// better. The proofs do not cover a solver that fails, so it must not fail.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <dpsc/solver/glm_prox.hpp>
#include <limits>
#include <numeric>

#include "harness.hpp"

namespace {

double one_of(std::initializer_list<double> values) {
  return *(values.begin() + whole(0, static_cast<Index>(values.size()) - 1));
}

dpsc::glm_rows hard_rows(const dpsc::glm_family& family, Index n, const VectorXd& scale) {
  const Index p = scale.size();
  dpsc::glm_rows out;
  out.p = p;
  out.n = n;
  out.unit = 0x1.0p-20;
  out.limit = dpsc::row_limit(p + 1);
  Eigen::MatrixXi block(n, p);
  VectorXd weight(n), outcome(n);
  const VectorXd slopes = random_vector(p, one_of({0.0, 2.0}));
  const double shared = one_of({0.0, 0.9, 0.999});
  for (Index i = 0; i < n; ++i) {
    const double common = uniform(-2, 2);
    double squared = 1.0, eta = 0.0;
    for (Index j = 0; j < p; ++j) {
      double x = shared * common + (1.0 - shared) * uniform(-2, 2);
      if (uniform(0, 1) < 0.01) x *= 8.0;
      eta += x * slopes[j];
      block(i, j) = static_cast<int>(std::nearbyint(x * scale[j] / out.unit));
      squared += std::pow(block(i, j) * out.unit, 2);
    }
    weight[i] = dpsc::row_weighting{out.limit, false}.of(squared);
    const double mean = family.mean(eta) + uniform();
    outcome[i] = family.outcome(family.kind == dpsc::glm_kind::gaussian ? mean : std::round(mean));
  }
  out.blocks.push_back(block);
  out.weight.push_back(weight);
  out.outcome.push_back(outcome);
  return out;
}

dpsc::slope_penalty hard_penalty(Index p, double n) {
  const double none = std::numeric_limits<double>::infinity();
  dpsc::slope_penalty out;
  out.lasso = out.ridge = VectorXd::Zero(p);
  out.lower = VectorXd::Constant(p, -none);
  out.upper = VectorXd::Constant(p, none);
  const Index kind = whole(0, 3);
  if (kind == 0 || kind == 3) out.lasso.setConstant(n * one_of({0.01, 0.1, 1.0}));
  if (kind == 1 || kind == 3) out.ridge.setConstant(n * one_of({0.01, 0.1, 1.0}));
  if (kind == 2) {
    out.groups.emplace_back(static_cast<std::size_t>(p));
    std::iota(out.groups[0].begin(), out.groups[0].end(), 0);
    out.group_weight.push_back(n * one_of({0.01, 0.1, 1.0}));
  } else {
    for (Index j = 0; j < p; ++j) {
      if (whole(0, 3) == 0) out.lower[j] = one_of({-0.1, 0.0, 0.1});
      if (whole(0, 3) == 0) out.upper[j] = one_of({0.1, 0.2, 1.0});
    }
  }
  return out;
}

void test_penalised(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const auto kind = static_cast<dpsc::glm_kind>(whole(0, 2));
    const bool counts = kind == dpsc::glm_kind::poisson;
    const dpsc::glm_family family{kind, counts ? one_of({2.0, 20.0, 1000.0}) : 1.0};
    const Index n = 10 * whole(5, 30), p = whole(1, 6);
    VectorXd scale(p);
    for (Index j = 0; j < p; ++j) scale[j] = one_of({1.0, 0.1, 0.01});
    const dpsc::glm_rows rows = hard_rows(family, n, scale);
    const double R = rows.limit, share = one_of({1e-6, 1e-3, 0.1, 10.0});
    const double ridge = share * family.bend() * R * R;
    const VectorXd linear =
        random_vector(p + 1, 4.0 * family.unit() * R * one_of({1e-3, 0.1, 1.0, 10.0}));
    const dpsc::slope_penalty penalty = hard_penalty(p, static_cast<double>(n));
    dpsc::slope_units units;
    units.back = (MatrixXd::Identity(p, p) + random_matrix(p, p, 0.3)) * scale.asDiagonal();
    units.to = units.back.inverse();
    dpsc::rounding_facts facts{static_cast<double>(n), R, family.span + 20.0, linear.norm()};
    facts.start = (units.to * penalty.start()).norm();
    facts.penalty = penalty.value(penalty.start());
    facts.units = 8.0 * units.to.norm() * units.back.norm();
    const double tolerance = 5.0 * dpsc::gradient_rounding(family, ridge, facts, p + 1);
    const dpsc::glm_problem problem{rows, family, ridge, linear};
    VectorXd theta;
    try {
      theta = dpsc::minimise_penalised(problem, penalty, units, tolerance, [](double) {}).point;
    } catch (const dpsc::solver_failed&) {
    }
    CHECK(theta.size() == p + 1);
    if (theta.size() == 0) continue;
    const double least = problem.value(theta) + penalty.value(units.back * theta.tail(p));
    for (int k = 0; k < 20; ++k) {
      VectorXd z = units.back * theta.tail(p) + random_vector(p, one_of({1e-4, 0.01, 1.0}));
      z = z.cwiseMax(penalty.lower).cwiseMin(penalty.upper);
      VectorXd other(p + 1);
      other << theta[0] + uniform() * one_of({1e-4, 0.01, 1.0}), units.to * z;
      const double value = problem.value(other) + penalty.value(z);
      CHECK(value >= least - tolerance * (other - theta).norm() - 1e-11 * std::fabs(least));
    }
  }
}

/// Rows that are equal, remote, or have outcomes of very different magnitude.
inline dpsc::glm_rows hostile_rows(Index n, Index p, const dpsc::glm_family& family) {
  dpsc::glm_rows out;
  out.p = p;
  out.n = n;
  out.unit = 0x1p-20;
  out.limit = dpsc::row_limit(p + 1);
  Eigen::MatrixXi z(n, p);
  VectorXd weight(n), outcome(n);
  const Index kind = whole(0, 3);
  const VectorXd slopes = random_vector(p, 60.0);
  for (Index i = 0; i < n; ++i) {
    const double common = uniform(-3.0, 3.0);
    VectorXd x = VectorXd::Constant(p, kind == 0 ? common : i == 0 ? 900.0 : 1e-3);
    for (Index j = 0; j < p && kind > 1; ++j) x[j] = kind == 2 ? uniform(-3.0, 3.0) : whole(0, 1);
    z.row(i) = (x / out.unit).array().round().matrix().cast<int>().transpose();
    weight[i] = dpsc::row_weighting{out.limit, false}.of(1.0 + x.squaredNorm());
    const double at = slopes.dot(x) + uniform();
    outcome[i] = family.kind == dpsc::glm_kind::poisson
                     ? std::min(family.span, std::floor(std::exp(std::min(at, 6.0))))
                     : static_cast<double>(at > 0.0);
  }
  out.blocks = {z};
  out.weight = {weight};
  out.outcome = {outcome};
  return out;
}

// A row's weight bounds its length and its square; flat weights are no larger than the others.
void test_row_weights(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const double R = std::exp(uniform(0.0, 6.0)), squared = std::exp(uniform(0.0, 20.0));
    const double at = round % 4 == 0 ? R * R : squared, length = std::sqrt(at);
    const double tilted = dpsc::row_weighting{R, false}.of(at);
    const double flat = dpsc::row_weighting{R, true}.of(at);
    CHECK(tilted * length <= R && tilted * at <= R * R);
    CHECK(flat <= tilted && flat <= 1.0);
    CHECK(at > R * R * (1.0 - 3e-9) ? flat == tilted : flat == 1.0);
  }
}

// The mean of capped negative binomial counts, against the sum over their probabilities.
void test_capped_means(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const double mean = std::exp(uniform(-6.0, 4.0)), cap = std::exp(uniform(0.7, 5.0));
    const double dispersion = round % 3 == 0 ? 1.0 : 1.0 + std::exp(uniform(-3.0, 3.0));
    const double size = mean / (dispersion - 1.0);
    double beyond = 1.0, sum = 0.0;
    for (double k = 0.0; k < cap; k += 1.0) {
      const double p =
          dispersion > 1.0
              ? std::exp(std::lgamma(k + size) - std::lgamma(size) - std::lgamma(k + 1.0) -
                         size * std::log(dispersion) + k * std::log1p(-1.0 / dispersion))
              : std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
      beyond -= p;
      sum += k * p;
    }
    const double found = dpsc::glm_detail::capped_mean(mean, dispersion, cap);
    CHECK(std::fabs(found - (sum + cap * beyond)) <= 1e-7 * (1.0 + cap));
    CHECK(found <= std::min(mean, cap) * (1.0 + 1e-9) + 1e-12);
  }
}

// A lasso, a ridge, limits or groups: the subgradient is within its tolerance, at every budget.
void test_hostile(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const bool counts = round % 4 != 0;
    const dpsc::glm_family family{counts ? dpsc::glm_kind::poisson : dpsc::glm_kind::binomial,
                                  counts ? std::exp2(uniform(1.0, 10.0)) : 1.0};
    const Index n = whole(50, 200), p = whole(1, 3), d = p + 1;
    const dpsc::glm_rows rows = hostile_rows(n, p, family);
    const double R = rows.limit, epsilon = std::pow(10.0, uniform(-1.0, 3.0));
    const double ridge = 2.0 * family.bend() * R * R / epsilon;
    const VectorXd linear = random_vector(d, 8.0 * family.unit() * R / epsilon);
    dpsc::slope_penalty penalty;
    const int what = round % 5;
    const double size = static_cast<double>(n) * std::pow(10.0, uniform(-5.0, 1.0));
    penalty.lasso = VectorXd::Constant(p, what == 0 ? size : 0.0);
    penalty.ridge = VectorXd::Constant(p, what == 1 ? size : 0.0);
    penalty.lower = VectorXd::Constant(p, what == 2 ? -uniform(0.0, 1.0) : -1e300);
    penalty.upper = VectorXd::Constant(p, what == 2 ? uniform(0.0, 1.0) : 1e300);
    if (what == 3 && p > 1) {
      penalty.groups = {{0, 1}};
      penalty.group_weight = {size};
    }
    const dpsc::slope_units units{MatrixXd::Identity(p, p), MatrixXd::Identity(p, p)};
    dpsc::rounding_facts facts{static_cast<double>(n), R, family.span, 30.0 * linear.norm()};
    facts.units = 8.0 * static_cast<double>(p);
    const double tolerance = std::max(1e-6, 5.0 * dpsc::gradient_rounding(family, ridge, facts, d));
    const dpsc::glm_problem problem{rows, family, ridge, linear};
    const auto idle = [](double) {};
    bool found = true;
    try {
      CHECK(dpsc::minimise_penalised(problem, penalty, units, tolerance, idle).bound <= tolerance);
    } catch (const dpsc::solver_failed&) {
      found = false;
    }
    CHECK(found);
    if (what == 4) CHECK(dpsc::minimise_glm(problem, tolerance, idle).bound <= tolerance);
  }
  // One function decides whether a point is accurate enough, and it rejects NaN.
  for (const double bound : {2.0, std::numeric_limits<double>::quiet_NaN()}) {
    const dpsc::certified_minimiser found{VectorXd::Zero(1), bound};
    CHECK_THROWS(dpsc::solver_failed, found.within(1.0));
  }
}

}  // namespace
