// Descriptions of people's columns for R.
#include <RcppEigen.h>

#include <dpsc/release/describe.hpp>

#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"

namespace {

using Rcpp::_;

dpsc::describe_facts as_describe_facts(const Rcpp::List& x) {
  dpsc::describe_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.numbers = Rcpp::as<std::vector<std::string>>(x["numbers"]);
  facts.factors = Rcpp::as<std::vector<std::string>>(x["factors"]);
  facts.lower = Rcpp::as<std::vector<double>>(x["lower"]);
  facts.upper = Rcpp::as<std::vector<double>>(x["upper"]);
  facts.whole = Rcpp::as<std::vector<int>>(x["whole"]);
  facts.levels = Rcpp::as<std::vector<int>>(x["levels"]);
  facts.groups = Rcpp::as<int>(x["groups"]);
  facts.quantiles = Rcpp::as<std::vector<int>>(x["quantiles"]);
  facts.person = x.containsElementNamed("person") && Rcpp::as<bool>(x["person"]);
  return facts;
}

Rcpp::List from_sums(const dpsc::describe_sums& x) {
  return Rcpp::List::create(_["one"] = x.one, _["small"] = x.small, _["square"] = x.square,
                            _["rest"] = x.rest, _["sensitivity"] = x.sensitivity,
                            _["scale"] = x.scale);
}

/// Without a dimension.
Rcpp::NumericVector bare(const Eigen::VectorXd& x) {
  return Rcpp::NumericVector(x.data(), x.data() + x.size());
}

Rcpp::List from_described(const dpsc::described& x) {
  Rcpp::List numbers;
  for (const dpsc::described_number& own : x.numbers)
    numbers.push_back(
        Rcpp::List::create(_["quantiles"] = bare(own.quantiles),
                           _["radii"] = Rcpp::NumericVector::create(own.radii[0], own.radii[1]),
                           _["sums"] = bare(own.sums)));
  return Rcpp::List::create(_["numbers"] = numbers, _["table"] = bare(x.table),
                            _["sizes"] = bare(x.sizes));
}

dpsc::described as_described(const Rcpp::List& x, const dpsc::describe_facts& facts) {
  dpsc::described out;
  out.table = Rcpp::as<Eigen::VectorXd>(x["table"]);
  out.sizes = Rcpp::as<Eigen::VectorXd>(x["sizes"]);
  for (SEXP one : Rcpp::List(x["numbers"])) {
    const Rcpp::List own(one);
    const Rcpp::NumericVector radii = own["radii"];
    if (radii.size() != 2) throw std::invalid_argument("a description does not fit its columns");
    out.numbers.push_back({Rcpp::as<Eigen::VectorXd>(own["quantiles"]),
                           Eigen::Vector2d(radii[0], radii[1]),
                           Rcpp::as<Eigen::VectorXd>(own["sums"])});
    if (out.numbers.back().quantiles.size() != static_cast<Eigen::Index>(facts.quantiles.size()) ||
        out.numbers.back().sums.size() != dpsc::describe_constants::powers)
      throw std::invalid_argument("a description does not fit its columns");
  }
  Eigen::Index entries = 0;
  for (int levels : facts.levels) entries += levels * facts.parts();
  const auto parts = static_cast<std::size_t>(facts.parts());
  if (out.numbers.size() != facts.numbers.size() * parts || out.table.size() != entries ||
      out.sizes.size() != (facts.groups > 1 ? facts.groups : 0))
    throw std::invalid_argument("a description does not fit its columns");
  return out;
}

}  // namespace

// Budget and steps of a description; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List describe_plan_cpp(const Rcpp::List& facts) {
  const dpsc::describe_plan plan = dpsc::plan_describe(as_describe_facts(facts));
  return Rcpp::List::create(_["gaussian"] = plan.gaussian, _["total"] = plan.total,
                            _["exponents"] = plan.exponents, _["tail"] = plan.tail,
                            _["beyond"] = plan.beyond, _["late"] = plan.late,
                            _["cells"] = plan.cell_bits, _["moments"] = from_sums(plan.moments),
                            _["after"] = from_sums(plan.after), _["table"] = from_sums(plan.table),
                            _["sizes"] = from_sums(plan.sizes), _["spent"] = plan.spent);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List describe_release_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng) {
  const auto source = as_source(rows);
  const dpsc::describe_facts known = as_describe_facts(facts);
  const dpsc::describe_plan plan = dpsc::plan_describe(known);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_described(dpsc::run_describe(plan, known, *source, draws));
  });
}

// Estimate, error, the noise's part of it, and limits: one matrix per number and group, one per
// factor and group, and one for the sizes of groups. `unseen`: see unseen_people().
// [[Rcpp::export(rng = false)]]
Rcpp::List describe_numbers_cpp(const Rcpp::List& release, const Rcpp::List& facts, double level,
                                bool clusters) {
  const dpsc::describe_facts known = as_describe_facts(facts);
  const dpsc::describe_plan plan = dpsc::plan_describe(known);
  const dpsc::described found = as_described(release, known);
  const double alpha = 1.0 - level;
  const dpsc::describe_level asked{R::qnorm(1.0 - alpha / 2.0, 0.0, 1.0, 1, 0), alpha, clusters};
  const auto parts = static_cast<std::size_t>(known.parts());
  Rcpp::List numbers, factors, unseen;
  for (std::size_t k = 0; k < found.numbers.size(); ++k) {
    const dpsc::described_number& own = found.numbers[k];
    const dpsc::described_group group = dpsc::group_of(known, plan, found, k % parts);
    numbers.push_back(Rcpp::wrap(dpsc::number_rows(known, plan, own, k / parts, group, asked)));
    unseen.push_back(bare(dpsc::unseen_people(known, plan, own, k / parts, group, asked)));
  }
  Eigen::Index entry = 0;
  for (int levels : known.levels)
    for (std::size_t g = 0; g < parts; ++g, entry += levels)
      factors.push_back(
          Rcpp::wrap(dpsc::level_rows(plan, found.table.segment(entry, levels),
                                      parts > 1 ? 0.0 : known.n, asked, !known.person)));
  Rcpp::List out =
      Rcpp::List::create(_["numbers"] = numbers, _["factors"] = factors, _["unseen"] = unseen);
  if (known.groups > 1) out["groups"] = dpsc::size_rows(plan, found.sizes, known.n, asked);
  return out;
}

// A joint choice's levels with their weights, and draws (from 0, one column each), for tests.
// `parts`: losses are in units of 2^-parts.
Rcpp::List joint_choice_cpp(const Rcpp::List& lists, double exponent, int draws, SEXP rng,
                            int parts) {
  std::vector<std::vector<std::int64_t>> losses;
  for (SEXP own : lists) {
    const auto known = Rcpp::as<std::vector<double>>(own);
    losses.emplace_back(known.begin(), known.end());
  }
  const dpsc::joint_choice choice = dpsc::joint_choice::of(losses, exponent, parts);
  std::vector<double> loss, weight, tuples;
  for (const dpsc::joint_level& level : choice.levels()) {
    loss.push_back(static_cast<double>(level.loss));
    weight.push_back(level.weight.value());
    tuples.push_back(1.0);
    for (std::uint64_t count : level.counts) tuples.back() *= static_cast<double>(count);
  }
  Rcpp::IntegerMatrix drawn(static_cast<int>(losses.size()), draws);
  with_engine(rng, [&](auto& engine) {
    for (int i = 0; i < draws; ++i) {
      const std::vector<std::size_t> found = choice.draw(engine);
      for (std::size_t j = 0; j < found.size(); ++j)
        drawn(static_cast<int>(j), i) = static_cast<int>(found[j]);
    }
    return 0;
  });
  return Rcpp::List::create(_["loss"] = loss, _["weight"] = weight, _["tuples"] = tuples,
                            _["drawn"] = drawn, _["cap"] = static_cast<double>(choice.cap));
}
const probe joint_choice_probe("joint_choice", joint_choice_cpp);

// Losses of a few cells as candidates for a quantile, for tests.
std::vector<double> place_losses_cpp(const std::vector<double>& counts, int thousandths) {
  const std::vector<std::int64_t> whole(counts.begin(), counts.end());
  const std::vector<std::int64_t> out = dpsc::place_losses(whole, thousandths);
  return {out.begin(), out.end()};
}
const probe place_losses_probe("place_losses", place_losses_cpp);

// The numbers that stand for a grid's cells, and the copies of each cell, for tests.
Rcpp::List round_points_cpp(double lower, double upper, double fine, int drop) {
  const dpsc::place_grid grid{lower, upper, static_cast<std::size_t>(fine), drop};
  const dpsc::round_points points = dpsc::round_points_of(grid);
  std::vector<double> cells, steps;
  for (double x : points.value) {
    cells.push_back(static_cast<double>(grid.cell_of(x)));
    steps.push_back(dpsc::step_of(grid, x));
  }
  const std::vector<double> copies(points.copies.begin(), points.copies.end());
  return Rcpp::List::create(_["value"] = points.value, _["copies"] = copies, _["cell"] = cells,
                            _["step"] = steps);
}
const probe round_points_probe("round_points", round_points_cpp);
