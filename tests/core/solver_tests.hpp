// Tests of the solvers of perturbed objectives: a solver that fails is an answer that no proof
// covers, so it must not, whatever the rows are.
#pragma once

#include <dpsc/solver/glm_prox.hpp>
#include <vector>

#include "harness.hpp"

namespace {

/// Rows that are the same, far off, or of outcomes that differ by orders of magnitude.
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
    weight[i] = dpsc::mallows_weight(1.0 + x.squaredNorm(), out.limit);
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

// A lasso, a ridge, limits or groups: the subgradient is within its tolerance, at every budget.
void test_penalised(int rounds) {
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
      CHECK(dpsc::minimise_penalised(problem, penalty, units, tolerance, idle).gradient <=
            tolerance);
    } catch (const dpsc::solver_failed&) {
      found = false;
    }
    CHECK(found);
    if (what == 4) CHECK(dpsc::minimise_glm(problem, tolerance, idle).gradient <= tolerance);
  }
}

}  // namespace
