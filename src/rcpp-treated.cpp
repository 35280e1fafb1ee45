// A protected treated group for R. Sums over people stay in C++ until noise was added to them.
#include <RcppEigen.h>

#include <dpsc/release/treated_release.hpp>

#include "r_engine.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::treated_facts as_treated_facts(const Rcpp::List& x) {
  dpsc::treated_facts facts;
  facts.m = Rcpp::as<double>(x["m"]);
  facts.n = Rcpp::as<double>(x["n"]);
  facts.T0 = Rcpp::as<int>(x["T0"]);
  facts.T1 = Rcpp::as<int>(x["T1"]);
  facts.pre = Rcpp::as<int>(x["pre"]);
  facts.level = Rcpp::as<bool>(x["level"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  return facts;
}

dpsc::gram_statistics as_donor_statistics(const Rcpp::List& x) {
  dpsc::gram_statistics s;
  s.loadings = Rcpp::as<Eigen::MatrixXd>(x["loadings"]);
  s.pre = Rcpp::as<int>(x["pre"]);
  if (x.containsElementNamed("covariates")) s.covariates = Rcpp::as<int>(x["covariates"]);
  s.weight = Rcpp::as<double>(x["weight"]);
  s.demean = Rcpp::as<bool>(x["demean"]);
  s.mean = Rcpp::as<Eigen::VectorXd>(x["mean"]);
  s.restore = Rcpp::as<Eigen::MatrixXd>(x["restore"]);
  s.covariance = Rcpp::as<Eigen::MatrixXd>(x["covariance"]);
  s.mean_sd = Rcpp::as<double>(x["mean_sd"]);
  s.moment_sd = Rcpp::as<double>(x["moment_sd"]);
  return s;
}

dpsc::treated_release release(const dpsc::row_source& source, const Rcpp::List& facts,
                              const Rcpp::List& statistics, const Rcpp::List& scale,
                              dpsc::noise& draws) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const dpsc::row_scale bounds{Rcpp::as<Eigen::VectorXd>(scale["centre"]),
                               Rcpp::as<double>(scale["unit"]),
                               Rcpp::as<Eigen::VectorXd>(scale["half"])};
  return dpsc::run_treated(dpsc::plan_treated(group), group, as_donor_statistics(statistics),
                           Rcpp::as<double>(statistics["second"]), bounds, source, draws,
                           interrupter());
}

Rcpp::List control(const dpsc::row_source& donors, const Rcpp::List& facts,
                   const Rcpp::List& treated, const Rcpp::List& scale, dpsc::noise& draws) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const Rcpp::List rounds(treated["rounds"]);
  const auto round = [&](int i) {
    const Rcpp::List x(rounds[i]);
    dpsc::treated_round out{};
    out.origin = Rcpp::as<Eigen::VectorXd>(x["origin"]);
    out.radius = Rcpp::as<double>(x["radius"]);
    return out;
  };
  const dpsc::row_scale bounds{Rcpp::as<Eigen::VectorXd>(scale["centre"]),
                               Rcpp::as<double>(scale["unit"]),
                               Rcpp::as<Eigen::VectorXd>(scale["half"])};
  const dpsc::moments_step step = dpsc::plan_treated(group).control;
  const dpsc::noisy_moments x =
      dpsc::run_control(step, group.n, Rcpp::as<Eigen::MatrixXd>(treated["loadings"]), round(0),
                        round(1), bounds, donors, draws, interrupter());
  return Rcpp::List::create(_["mean"] = Rcpp::wrap(x.mean), _["mean_sd"] = x.mean_sd,
                            _["clipped"] = step.limit, _["constant"] = step.constant,
                            _["noise"] = step.noise);
}

// A run with its noise calls written down; with `outputs` those are given instead of noise.
template <typename Run>
Rcpp::List recorded(Run run, SEXP rng, const Rcpp::Nullable<Rcpp::List>& outputs) {
  const auto record = [&](dpsc::noise& draws) {
    dpsc::recorded_noise recorder(draws);
    const Rcpp::List statistics = run(recorder);
    Rcpp::List calls;
    for (const dpsc::noise_call& call : recorder.calls()) {
      const bool choice = call.kind == dpsc::law::exponential;
      calls.push_back(Rcpp::List::create(
          _["label"] = call.label, _["law"] = dpsc::law_name(call.kind),
          _["scale"] = Rcpp::wrap(call.scale), _["value"] = Rcpp::wrap(call.exact),
          _["offset"] = choice ? Rcpp::wrap(call.offset) : R_NilValue,
          _["output"] = Rcpp::wrap(call.output)));
    }
    return Rcpp::List::create(_["calls"] = calls, _["statistics"] = statistics);
  };
  if (outputs.isNotNull()) {
    std::vector<Eigen::VectorXd> known;
    for (SEXP output : Rcpp::List(outputs)) known.push_back(Rcpp::as<Eigen::VectorXd>(output));
    dpsc::replayed_noise draws(known);
    return record(draws);
  }
  return with_engine(rng, [&](auto& engine) {
    dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
    return record(draws);
  });
}

Rcpp::List from_treated(const dpsc::treated_release& x) {
  Rcpp::List rounds;
  for (const dpsc::treated_round& round : x.rounds)
    rounds.push_back(Rcpp::List::create(_["origin"] = Rcpp::wrap(round.origin),
                                        _["radius"] = round.radius, _["exponent"] = round.exponent,
                                        _["clipped"] = round.clipped,
                                        _["constant"] = round.constant, _["noise"] = round.noise));
  return Rcpp::List::create(_["loadings"] = x.loadings, _["mean"] = Rcpp::wrap(x.mean),
                            _["mean_sd"] = x.mean_sd, _["path"] = Rcpp::wrap(x.path),
                            _["lean"] = Rcpp::wrap(x.lean), _["moves"] = x.moves,
                            _["second"] = x.second, _["second_sd"] = x.second_sd,
                            _["own_variance"] = x.own_variance, _["rounds"] = rounds);
}

}  // namespace

// What a protected group's release will spend and on what; sees no people.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_plan_cpp(const Rcpp::List& facts) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const dpsc::treated_plan plan = dpsc::plan_treated(group);
  return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["total"] = plan.total,
                            _["control"] = as_steps({plan.control.record}),
                            _["share"] = dpsc::treated_constants::control,
                            _["noise"] = plan.noise(group.m));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List treated_release_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& statistics,
                               const Rcpp::List& scale, SEXP rng) {
  const auto source = as_source(rows);
  return with_engine(rng, [&](auto& engine) {
    dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
    return from_treated(release(*source, facts, statistics, scale, draws));
  });
}

// What the donors' own features come to under the same cut.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_control_cpp(SEXP donors, const Rcpp::List& facts, const Rcpp::List& treated,
                               const Rcpp::List& scale, SEXP rng) {
  const auto source = as_source(donors);
  return with_engine(rng, [&](auto& engine) {
    dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
    return control(*source, facts, treated, scale, draws);
  });
}

// The same two with their sums without noise written down: for audits, on made-up panels only. With
// `outputs` those are given instead of noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_audit_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& statistics,
                             const Rcpp::List& scale, SEXP rng,
                             const Rcpp::Nullable<Rcpp::List>& outputs) {
  const auto source = as_source(rows);
  return recorded(
      [&](dpsc::noise& draws) {
        return from_treated(release(*source, facts, statistics, scale, draws));
      },
      rng, outputs);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List treated_control_audit_cpp(SEXP donors, const Rcpp::List& facts,
                                     const Rcpp::List& treated, const Rcpp::List& scale, SEXP rng,
                                     const Rcpp::Nullable<Rcpp::List>& outputs) {
  const auto source = as_source(donors);
  return recorded(
      [&](dpsc::noise& draws) { return control(*source, facts, treated, scale, draws); }, rng,
      outputs);
}
