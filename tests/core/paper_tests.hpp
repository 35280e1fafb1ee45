// Tests of the papers' methods: a complete run of each, bounds against exact losses, unusual rows.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <dpsc/release/aggregate.hpp>
#include <dpsc/release/paper_release.hpp>
#include <limits>

#include "harness.hpp"
#include "mechanism_tests.hpp"

namespace {

dpsc::lm_design paper_design(int columns) {
  dpsc::lm_design design;
  for (int j = 0; j <= columns; ++j) design.variables.push_back({0.0, 2.0, false});
  for (int j = 0; j < columns; ++j) design.columns.push_back({{j}, {1}});
  return design;
}

void test_papers(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const double mu = std::exp(uniform(-9.0, 2.0)), gamma = std::exp(uniform(-4.0, 8.0));
    const double error = uniform(0.0, 3.0), delta = std::pow(10.0, uniform(-10.0, -1.0));
    const double exact = dpsc::posterior_loss(mu, gamma, error).epsilon(delta);
    const double bound = dpsc::posterior_bound(mu, gamma, error, delta);
    CHECK(exact <= bound);
    CHECK(dpsc::posterior_bound(mu, dpsc::posterior_precision(mu, error, bound, delta), error,
                                delta) <= bound);
    const double x = uniform(0.0, 4.0), c = std::exp(uniform(-5.0, 4.0)), p = uniform(0.0, 1.0);
    CHECK(dpsc::joint_loss(x, c) >= p * x + std::log1p(c * p * (1.0 - p)) - 1e-12);
    const double epsilon = std::exp(uniform(-3.0, 2.0)), shift = dpsc::joint_shift(epsilon, c);
    CHECK(shift == 0.0 || shift + dpsc::joint_loss(shift, c) <= epsilon);
  }
  const int columns = 3;
  const dpsc::lm_design design = paper_design(columns);
  MatrixXd table = random_matrix(300, columns + 1, 3.0);
  table(5, 1) = std::numeric_limits<double>::quiet_NaN();
  table(6, 3) = std::numeric_limits<double>::infinity();
  table(7, 0) = 1e308;
  const dpsc::matrix_source source(table_of(table));
  const dpsc::ticker quiet = [](double) {};
  const dpsc::public_rows rows = dpsc::gather_rows(source, design, quiet);
  CHECK(rows.x.rows() == 300 && rows.x.allFinite());
  CHECK(rows.x.rowwise().norm().maxCoeff() <= 1.0 + 1e-12);
  CHECK(rows.x.row(5).norm() == 0.0 && rows.x.row(6).norm() == 0.0);
  dpsc::drawn_noise<test_engine> draws(engine);
  for (int method = 0; method < 5; ++method)
    for (int calibration = 0; calibration < 2; ++calibration)
      for (double delta : {0.0, 1e-6}) {
        dpsc::paper_facts facts;
        facts.n = 300.0;
        facts.epsilon = 1.0;
        facts.d = columns + 1.0;
        facts.delta = delta;
        facts.method = static_cast<dpsc::paper_method>(method);
        facts.calibration = static_cast<dpsc::paper_calibration>(calibration);
        const dpsc::paper_plan plan = dpsc::plan_paper(facts);
        CHECK(plan.holds == !(method == 4 && calibration == 1));
        for (const VectorXd& theta : dpsc::run_paper(plan, rows, draws)) CHECK(theta.allFinite());
      }
  for (const auto kind : {dpsc::glm_kind::poisson, dpsc::glm_kind::gaussian})
    for (double delta : {0.0, 1e-6})
      for (double box : {0.0, 0.5}) {
        dpsc::paper_facts facts;
        facts.n = 300.0;
        facts.epsilon = 1.0;
        facts.d = columns + 1.0;
        facts.delta = delta;
        facts.method = box > 0.0 ? dpsc::paper_method::kst : dpsc::paper_method::napp;
        facts.loss.family = dpsc::glm_family(kind, kind == dpsc::glm_kind::poisson ? 6.0 : 0.25);
        facts.loss.box = box;
        facts.loss.upper = 6.0;
        const dpsc::public_rows own = dpsc::gather_rows(source, design, quiet, facts.loss);
        CHECK(own.y.allFinite() && own.y.minCoeff() >= (kind == dpsc::glm_kind::poisson ? 0.0 : -1.0));
        for (const VectorXd& theta : dpsc::run_paper(dpsc::plan_paper(facts), own, draws))
          CHECK(theta.allFinite() && (box == 0.0 || theta.cwiseAbs().maxCoeff() <= box + 1e-12));
      }
  const dpsc::row_products sums = dpsc::sum_products(source, design, quiet);
  const dpsc::posterior_draw ops =
      dpsc::draw_posterior(dpsc::plan_ops(300, 4, 2.0, 1e-5, 0.0), sums, draws);
  const dpsc::posterior_draw adaops =
      dpsc::draw_posterior(dpsc::plan_adaops(300, 4, 2.0, 1e-5, 4.0), sums, draws);
  CHECK(ops.theta.allFinite() && adaops.theta.allFinite() && adaops.ridge >= 0.0);

  dpsc::aggregate_facts facts;
  facts.blocks = 40;
  facts.names = {"a", "b"};
  facts.percents = {50, 16, 84};
  for (bool mean : {false, true}) {
    facts.mean = mean;
    const dpsc::aggregate_plan plan = dpsc::plan_aggregate(facts);
    MatrixXd answers = random_matrix(40, 2, 1.0);
    answers(0, 0) = std::numeric_limits<double>::quiet_NaN();
    const MatrixXd out = dpsc::run_aggregate(plan, facts, answers, draws);
    CHECK(out.allFinite() && out.rows() == 2 && out.cols() == (mean ? 1 : 3));
  }
  facts.mean = false;
  facts.located = true;
  for (double delta : {0.0, 1e-6}) {
    facts.delta = delta;
    dpsc::drawn_noise<test_engine> draws(engine);
    for (double value : {0.0, 0.3, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
      const MatrixXd out = dpsc::run_aggregate(dpsc::plan_aggregate(facts), facts,
                                               MatrixXd::Constant(40, 2, value), draws);
      CHECK(out.allFinite() && out.rows() == 2 && out.cols() == 3);
    }
  }
  CHECK_THROWS(std::domain_error, dpsc::posterior_loss(-1.0, 1.0, 0.0));
  CHECK_THROWS(std::domain_error, dpsc::joint_loss(-1.0, 1.0));
  CHECK_THROWS(dpsc::budget_too_small, dpsc::plan_ops(10, 4, 1e-6, 1e-5, 1.0));
}

}  // namespace
