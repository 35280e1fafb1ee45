// Sample and aggregate for R, which runs the statistic on each block.
#include <RcppEigen.h>

#include <dpsc/release/aggregate.hpp>

#include "r_noise.h"
#include "r_probe.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::aggregate_facts as_aggregate_facts(const Rcpp::List& x) {
  dpsc::aggregate_facts facts;
  facts.blocks = static_cast<std::int64_t>(Rcpp::as<double>(x["blocks"]));
  facts.names = Rcpp::as<std::vector<std::string>>(x["names"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.mean = Rcpp::as<bool>(x["mean"]);
  facts.located = x.containsElementNamed("located") && Rcpp::as<bool>(x["located"]);
  facts.percents = Rcpp::as<std::vector<int>>(x["percents"]);
  return facts;
}

}  // namespace

// Budget and steps of an aggregate; reads no block.
// [[Rcpp::export(rng = false)]]
Rcpp::List aggregate_plan_cpp(const Rcpp::List& facts) {
  const dpsc::aggregate_plan plan = dpsc::plan_aggregate(as_aggregate_facts(facts));
  return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["gaussian"] = plan.gaussian,
                            _["total"] = plan.total, _["exponent"] = plan.exponent,
                            _["scale"] = plan.scale, _["grid"] = plan.grid_bits,
                            _["cells"] = plan.cell_bits);
}

// Order of n people and `seeds` integers below 2^31, from random bits alone.
// [[Rcpp::export(rng = false)]]
Rcpp::List aggregate_order_cpp(double n, int seeds, SEXP rng) {
  return with_noise(rng, [&](dpsc::noise& draws) {
    const auto people_in_all = static_cast<Eigen::Index>(n);
    const std::vector<Eigen::Index> order = draws.positions(people_in_all, people_in_all);
    Rcpp::NumericVector people(order.begin(), order.end());
    for (double& person : people) person += 1.0;
    Rcpp::IntegerVector numbers(seeds);
    for (int& seed : numbers) seed = static_cast<int>(draws.sorting_bits() >> 33);
    return Rcpp::List::create(_["order"] = people, _["seeds"] = numbers);
  });
}

// The value of a call without arguments, or NULL if it fails. No handler and no restart of a caller
// sees its conditions.
// [[Rcpp::export(rng = false)]]
SEXP apart_cpp(SEXP call) {
  int failed = 0;
  Rcpp::Shield<SEXP> out(R_tryEvalSilent(call, R_GlobalEnv, &failed));
  return failed ? R_NilValue : static_cast<SEXP>(out);
}

// Answers of blocks in [0, 1]: the returned values have noise.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd aggregate_release_cpp(const Eigen::Map<Eigen::MatrixXd>& rows,
                                      const Rcpp::List& facts, SEXP rng) {
  const dpsc::aggregate_facts known = as_aggregate_facts(facts);
  const dpsc::aggregate_plan plan = dpsc::plan_aggregate(known);
  return with_noise(
      rng, [&](dpsc::noise& draws) { return dpsc::run_aggregate(plan, known, rows, draws); });
}

// Losses of a few cells as candidates for a quantile, for tests.
std::vector<double> quantile_losses_cpp(const std::vector<double>& counts, int percent) {
  const std::vector<std::int64_t> whole(counts.begin(), counts.end());
  const std::vector<std::int64_t> out = dpsc::quantile_losses(whole, percent);
  return {out.begin(), out.end()};
}
const probe quantile_losses_probe("quantile_losses", quantile_losses_cpp);
