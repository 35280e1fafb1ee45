// Selection of variables: between R's table of people and the core.
#include <RcppEigen.h>

#include <dpsc/mechanism/location.hpp>
#include <dpsc/select/from_moments.hpp>
#include <dpsc/select/greedy.hpp>
#include <dpsc/select/ranks.hpp>
#include <dpsc/select/stability.hpp>
#include <dpsc/select/supports.hpp>
#include <dpsc/select/votes.hpp>
#include <string>

#include "r_host.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"

namespace {

std::vector<int> from_one(const std::vector<Eigen::Index>& order) {
  std::vector<int> out;
  for (const Eigen::Index j : order) out.push_back(static_cast<int>(j) + 1);
  return out;
}

dpsc::people as_people(const Eigen::Map<Eigen::MatrixXd>& table) {
  return {table.data(), table.rows(), table.cols() - 1};
}

/// `rows` of the facts: the number of rows of each person. PRIVATE.
dpsc::people as_people(const Eigen::Map<Eigen::MatrixXd>& table, const Rcpp::List& facts) {
  dpsc::people out = as_people(table);
  if (facts.containsElementNamed("rows"))
    out.set_rows(Rcpp::as<std::vector<double>>(facts["rows"]));
  return out;
}

dpsc::stability_facts as_stability(const Rcpp::List& list) {
  dpsc::stability_facts out;
  out.penalty = Rcpp::as<double>(list["penalty"]);
  out.tau = Rcpp::as<double>(list["tau"]);
  out.psi = Rcpp::as<double>(list["psi"]);
  out.kappa1 = Rcpp::as<double>(list["kappa1"]);
  out.kappa2 = Rcpp::as<double>(list["kappa2"]);
  out.size = static_cast<Eigen::Index>(Rcpp::as<double>(list["size"]));
  return out;
}

dpsc::stable_support propose(const dpsc::people& rows, const std::string& method,
                             const Rcpp::List& facts, dpsc::noise& draws) {
  if (method == "lasso") return dpsc::lasso_stability(rows, as_stability(facts));
  if (method == "stability") return dpsc::huber_stability(rows, as_stability(facts));
  if (method == "subsamples")
    return dpsc::subset_mode(rows, static_cast<Eigen::Index>(Rcpp::as<double>(facts["size"])),
                             static_cast<std::int64_t>(Rcpp::as<double>(facts["subsets"])),
                             Rcpp::as<double>(facts["rate"]), Rcpp::as<bool>(facts["intercept"]),
                             draws);
  return dpsc::block_mode(rows, static_cast<Eigen::Index>(Rcpp::as<double>(facts["size"])),
                          static_cast<Eigen::Index>(Rcpp::as<double>(facts["blocks"])),
                          Rcpp::as<bool>(facts["intercept"]), draws);
}

/// Columns of a scaled table, the outcome last; those that are not numbers are not located.
dpsc::lm_design table_design(const Rcpp::LogicalVector& numbers) {
  dpsc::lm_design out;
  for (R_xlen_t j = 0; j < numbers.size(); ++j) {
    out.variables.push_back({0.0, 1.0, !numbers[j]});
    if (j + 1 < numbers.size()) out.columns.push_back({{static_cast<int>(j)}, {1}});
  }
  out.check();
  return out;
}

}  // namespace

// Width of the cells in which draws with this exponent find medians of n people, in scaled units;
// NULL: no median is found.
// [[Rcpp::export(rng = false)]]
SEXP select_cells_cpp(double n, double exponent) {
  const dpsc::location_plan plan = dpsc::plan_location(exponent, n, {""});
  return plan.made ? Rcpp::wrap(std::ldexp(2.0, -plan.cell_bits)) : R_NilValue;
}

// Medians and scales of the columns of a scaled table, the outcome last. RELEASED.
// [[Rcpp::export(rng = false)]]
Rcpp::List select_locate_cpp(SEXP table, const Rcpp::LogicalVector& numbers, double exponent,
                             SEXP rng) {
  const auto source = as_source(table);
  const dpsc::lm_design design = table_design(numbers);
  const std::vector<std::string> names(design.located().size(), "a column");
  dpsc::location_plan plan =
      dpsc::plan_location(exponent, static_cast<double>(Rf_nrows(table)), names);
  plan.scale_price = dpsc::few_values_price;
  return with_noise(rng, [&](dpsc::noise& draws) {
    const dpsc::lm_location found =
        dpsc::release_location(*source, design, plan, draws, interrupter());
    return Rcpp::List::create(Rcpp::Named("median") = Rcpp::wrap(found.median),
                              Rcpp::Named("scale") = Rcpp::wrap(found.scale));
  });
}

// Columns that a method selects, in order. RELEASED.
// [[Rcpp::export(rng = false)]]
std::vector<int> select_pick_cpp(const Eigen::Map<Eigen::MatrixXd>& table,
                                 const std::string& method, const Rcpp::List& facts, SEXP rng) {
  const dpsc::people rows = as_people(table, facts);
  dpsc::greedy_facts f;
  f.size = static_cast<Eigen::Index>(Rcpp::as<double>(facts["size"]));
  f.intercept = Rcpp::as<bool>(facts["intercept"]);
  f.exponent = Rcpp::as<double>(facts["exponent"]);
  f.rho_step = Rcpp::as<double>(facts["rho_step"]);
  f.ball = Rcpp::as<double>(facts["ball"]);
  return with_noise(rng, [&](dpsc::noise& draws) {
    if (method == "pursuit") return from_one(dpsc::pursue(rows, f, draws).order);
    if (method == "screening") return from_one(dpsc::screen(rows, f, draws).order);
    if (method == "frank-wolfe") return from_one(dpsc::frank_wolfe(rows, f, draws).order);
    if (method == "votes")
      return from_one(dpsc::vote(rows, f.size,
                                 static_cast<Eigen::Index>(Rcpp::as<double>(facts["blocks"])),
                                 f.intercept, f.exponent, draws));
    if (method == "exhaustive")
      return from_one(dpsc::choose_support(rows, f.size, f.ball, f.exponent, draws, r_host()));
    throw std::invalid_argument("unknown method of selection");
  });
}

// Columns that rank correlations select, in order, with the medians and scales of those that were
// located, the outcome's last. RELEASED.
// [[Rcpp::export(rng = false)]]
Rcpp::List select_ranks_cpp(const Eigen::Map<Eigen::MatrixXd>& table,
                            const Rcpp::LogicalVector& numbers, const Rcpp::List& facts, SEXP rng) {
  dpsc::rank_facts f;
  f.greedy.size = static_cast<Eigen::Index>(Rcpp::as<double>(facts["size"]));
  f.greedy.exponent = Rcpp::as<double>(facts["exponent"]);
  f.greedy.rho_step = Rcpp::as<double>(facts["rho_step"]);
  f.location = Rcpp::as<double>(facts["location"]);
  f.locate_picks = Rcpp::as<bool>(facts["locate_picks"]);
  f.steps = Rcpp::as<bool>(facts["steps"]);
  f.centred = Rcpp::as<bool>(facts["centred"]);
  for (const int number : numbers) f.numbers.push_back(number != 0);
  std::vector<double> each;  // PRIVATE
  if (facts.containsElementNamed("rows")) each = Rcpp::as<std::vector<double>>(facts["rows"]);
  return with_noise(rng, [&](dpsc::noise& draws) {
    const dpsc::rank_path found = dpsc::pursue_ranks(table.data(), table.rows(), table.cols() - 1,
                                                     f, draws, interrupter(), each);
    return Rcpp::List::create(Rcpp::Named("order") = from_one(found.order),
                              Rcpp::Named("median") = found.location.median,
                              Rcpp::Named("scale") = found.location.scale);
  });
}

// A support if its distance to instability passes a noisy test, NULL if not. RELEASED.
// [[Rcpp::export(rng = false)]]
SEXP select_stable_cpp(const Eigen::Map<Eigen::MatrixXd>& table, const std::string& method,
                       const Rcpp::List& facts, double epsilon, double delta, SEXP rng) {
  const dpsc::people rows = as_people(table, facts);
  return with_noise(rng, [&](dpsc::noise& draws) -> SEXP {
    const dpsc::stable_support proposed = propose(rows, method, facts, draws);
    const bool released = std::isinf(epsilon)
                              ? static_cast<Eigen::Index>(proposed.support.size()) <=
                                    static_cast<Eigen::Index>(Rcpp::as<double>(facts["size"]))
                              : dpsc::passes(proposed.distance, 1026, epsilon, delta, draws);
    return released ? Rcpp::wrap(from_one(proposed.support)) : R_NilValue;
  });
}

// The proposal and its distance without noise, for audits on made-up data.
Rcpp::List select_distance_cpp(const Eigen::Map<Eigen::MatrixXd>& table, const std::string& method,
                               const Rcpp::List& facts, SEXP rng) {
  const dpsc::people rows = as_people(table, facts);
  return with_noise(rng, [&](dpsc::noise& draws) {
    const dpsc::stable_support proposed = propose(rows, method, facts, draws);
    return Rcpp::List::create(
        Rcpp::Named("support") = from_one(proposed.support),
        Rcpp::Named("distance") = static_cast<double>(proposed.distance) / 1024.0);
  });
}
const probe select_distance_probe("select_distance", select_distance_cpp);

bool select_passes_cpp(double distance, double sensitivity, double epsilon, double delta,
                       SEXP rng) {
  return with_noise(rng, [&](dpsc::noise& draws) {
    return dpsc::passes(static_cast<std::int64_t>(distance), static_cast<std::int64_t>(sensitivity),
                        epsilon, delta, draws);
  });
}
const probe select_passes_probe("select_passes", select_passes_cpp);

// Matching pursuit on released moments, and a fit: post-processing.
// [[Rcpp::export(rng = false)]]
std::vector<int> select_moments_cpp(const Eigen::Map<Eigen::MatrixXd>& moments, int size,
                                    int forced, double sd) {
  return from_one(dpsc::pursue_moments(moments, size, forced, sd));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List fit_moments_cpp(const Eigen::Map<Eigen::MatrixXd>& moments, const std::vector<int>& used,
                           double sd, double rows) {
  std::vector<Eigen::Index> from_zero;
  for (const int j : used) from_zero.push_back(j - 1);
  const dpsc::moment_fit fit = dpsc::fit_moments(moments, from_zero, sd, rows);
  return Rcpp::List::create(Rcpp::Named("theta") = fit.theta, Rcpp::Named("privacy") = fit.privacy,
                            Rcpp::Named("total") = fit.total);
}

int select_choose_cpp(const std::vector<double>& loss, double exponent, double unit, SEXP rng) {
  return with_noise(rng, [&](dpsc::noise& draws) {
    return static_cast<int>(dpsc::choose("pick",
                                         std::vector<std::int64_t>(loss.begin(), loss.end()),
                                         exponent, unit, draws)) +
           1;
  });
}
const probe select_choose_probe("select_choose", select_choose_cpp);
