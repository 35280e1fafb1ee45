// A protected treated group for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/estimate/limited_translation.hpp>
#include <dpsc/release/far_people.hpp>
#include <dpsc/release/treated_release.hpp>

#include "r_gram.h"
#include "r_noise.h"
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
  if (x.containsElementNamed("control")) facts.control = Rcpp::as<double>(x["control"]);
  return facts;
}

dpsc::treated_release release(const dpsc::row_source& source, const Rcpp::List& facts,
                              const Rcpp::List& statistics, const Rcpp::List& look,
                              const Rcpp::List& scale, dpsc::noise& draws) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const dpsc::row_scale bounds = as_scale(scale);
  dpsc::donor_look donors;
  donors.radius = Rcpp::as<double>(look["radius"]);
  donors.base = Rcpp::as<double>(look["base"]);
  donors.kept = Rcpp::as<Eigen::VectorXd>(look["kept"]);
  return dpsc::run_treated(dpsc::plan_treated(group), group, as_statistics(statistics),
                           Rcpp::as<double>(statistics["second"]), donors, bounds, source, draws,
                           interrupter());
}

Rcpp::List look(const dpsc::row_source& donors, const Rcpp::List& facts, const Rcpp::List& frame,
                const Rcpp::List& scale, dpsc::noise& draws) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const dpsc::row_scale bounds = as_scale(scale);
  const dpsc::donor_look x = dpsc::run_look(
      dpsc::plan_treated(group), group, Rcpp::as<Eigen::MatrixXd>(frame["loadings"]),
      Rcpp::as<Eigen::VectorXd>(frame["origin"]), bounds, donors, draws, interrupter());
  return Rcpp::List::create(_["radius"] = x.radius, _["base"] = x.base,
                            _["kept"] = Rcpp::wrap(x.kept), _["kept_sd"] = x.kept_sd);
}

Rcpp::List control(const dpsc::row_source& donors, const Rcpp::List& facts,
                   const Rcpp::List& treated, const Rcpp::List& scale, dpsc::noise& draws) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const Rcpp::List rounds(treated["rounds"]);
  const Rcpp::List last(rounds[rounds.size() - 1]);
  const dpsc::row_scale bounds = as_scale(scale);
  const dpsc::treated_plan plan = dpsc::plan_treated(group);
  dpsc::tail_knots at;
  if (last.containsElementNamed("knots")) {
    at.bend = Rcpp::as<double>(last["bend"]);
    at.knots = Rcpp::as<Eigen::VectorXd>(last["knots"]);
  }
  const dpsc::tail_moments x =
      dpsc::run_control(plan, group, Rcpp::as<Eigen::MatrixXd>(treated["loadings"]),
                        Rcpp::as<Eigen::VectorXd>(treated["origin"]),
                        Rcpp::as<double>(last["radius"]), at, bounds, donors, draws, interrupter());
  Rcpp::List out = Rcpp::List::create(
      _["mean"] = Rcpp::wrap(x.mean), _["mean_sd"] = x.mean_sd, _["clipped"] = plan.control.limit,
      _["constant"] = plan.control.constant, _["noise"] = plan.control.noise);
  if (plan.tail) {
    out["tail"] = Rcpp::wrap(x.tail);
    out["tail_sd"] = x.tail_sd;
    out["both"] = x.both;
    out["both_sd"] = x.both_sd;
  }
  return out;
}

dpsc::weighted_tail as_tail(const Rcpp::List& x, double weight) {
  dpsc::weighted_tail out;
  out.weight = weight;
  if (x.containsElementNamed("knots")) out.knots = Rcpp::as<Eigen::VectorXd>(x["knots"]);
  out.tail = Rcpp::as<Eigen::VectorXd>(x["tail"]);
  out.tail_sd = Rcpp::as<double>(x["tail_sd"]);
  out.both = Rcpp::as<Eigen::MatrixXd>(x["both"]);
  out.both_sd = Rcpp::as<double>(x["both_sd"]);
  return out;
}

Rcpp::List from_treated(const dpsc::treated_release& x) {
  Rcpp::List rounds;
  for (const dpsc::treated_round& round : x.rounds) {
    Rcpp::List own = Rcpp::List::create(
        _["origin"] = Rcpp::wrap(round.origin), _["radius"] = round.radius,
        _["exponent"] = round.exponent, _["clipped"] = round.clipped,
        _["constant"] = round.constant, _["noise"] = round.noise,
        _["mean"] = Rcpp::wrap(round.mean), _["mean_sd"] = round.mean_sd, _["kept"] = round.kept);
    if (round.at.knots.size() > 0) {
      own["bend"] = round.at.bend;
      own["knots"] = Rcpp::wrap(round.at.knots);
      own["tail"] = Rcpp::wrap(round.tail);
      own["tail_sd"] = round.tail_sd;
      own["both"] = round.both;
      own["both_sd"] = round.both_sd;
    }
    rounds.push_back(own);
  }
  const Rcpp::List place = Rcpp::List::create(
      _["knots"] = Rcpp::wrap(x.place.knots), _["counts"] = Rcpp::wrap(x.place.counts),
      _["counts_sd"] = x.place.counts_sd, _["centre"] = x.place.centre, _["doubt"] = x.place.doubt);
  return Rcpp::List::create(
      _["loadings"] = x.loadings, _["origin"] = Rcpp::wrap(x.origin), _["place"] = place,
      _["mean"] = Rcpp::wrap(x.mean), _["mean_sd"] = x.mean_sd,
      _["weights"] = Rcpp::wrap(x.weights), _["stray"] = x.stray, _["kept"] = x.kept,
      _["path"] = Rcpp::wrap(x.path), _["lean"] = Rcpp::wrap(x.lean), _["moves"] = x.moves,
      _["second"] = x.second, _["second_sd"] = x.second_sd, _["own_variance"] = x.own_variance,
      _["rounds"] = rounds);
}

}  // namespace

// Budget and steps of a protected group's release; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_plan_cpp(const Rcpp::List& facts) {
  const dpsc::treated_facts group = as_treated_facts(facts);
  const dpsc::treated_plan plan = dpsc::plan_treated(group);
  return Rcpp::List::create(
      _["steps"] = as_steps(plan.records), _["total"] = plan.total,
      _["look"] = as_steps(plan.look.records), _["control"] = as_steps({plan.control.record}),
      _["share"] = dpsc::treated_constants::control, _["noise"] = plan.noise(group.m));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List treated_release_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& statistics,
                               const Rcpp::List& look, const Rcpp::List& scale, SEXP rng) {
  const auto source = as_source(rows);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_treated(release(*source, facts, statistics, look, scale, draws));
  });
}

// People of a protected group far from the others, from released tails: of the rounds with their
// weights, and of the donors. `calm`: variance of the noise of the rest of the group's mean.
// [[Rcpp::export(rng = false)]]
Rcpp::List far_people_cpp(const Rcpp::List& rounds, const Rcpp::NumericVector& weights,
                          const Rcpp::List& control, double calm) {
  std::vector<dpsc::weighted_tail> tails;
  for (R_xlen_t k = 0; k < rounds.size(); ++k) tails.push_back(as_tail(rounds[k], weights[k]));
  const dpsc::far_people x(tails, as_tail(control, 1.0), calm);
  return Rcpp::List::create(_["shift"] = x.shift, _["variance"] = x.variance,
                            _["knots"] = Rcpp::wrap(x.knots), _["share"] = Rcpp::wrap(x.share),
                            _["sd"] = Rcpp::wrap(x.sd), _["z"] = Rcpp::wrap(x.z),
                            _["least"] = x.least_seen());
}

// The coordinates in which a protected group is released: a function of the donors' release.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_frame_cpp(const Rcpp::List& statistics) {
  const dpsc::treated_frame x(as_statistics(statistics), Rcpp::as<double>(statistics["second"]));
  return Rcpp::List::create(_["loadings"] = x.loadings, _["origin"] = Rcpp::wrap(x.origin));
}

// The length of the donors' own residuals, and the share of a shift that clipping keeps.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_look_cpp(SEXP donors, const Rcpp::List& facts, const Rcpp::List& frame,
                            const Rcpp::List& scale, SEXP rng) {
  const auto source = as_source(donors);
  return with_noise(rng,
                    [&](dpsc::noise& draws) { return look(*source, facts, frame, scale, draws); });
}

// The mean of the donors' own features, clipped in the same way.
// [[Rcpp::export(rng = false)]]
Rcpp::List treated_control_cpp(SEXP donors, const Rcpp::List& facts, const Rcpp::List& treated,
                               const Rcpp::List& scale, SEXP rng) {
  const auto source = as_source(donors);
  return with_noise(
      rng, [&](dpsc::noise& draws) { return control(*source, facts, treated, scale, draws); });
}

// The changes to a protected group's released effects: at most half a standard deviation each, and
// zero on average.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd limited_translation_cpp(const Eigen::VectorXd& effects,
                                        const Eigen::MatrixXd& covariance) {
  return dpsc::limited_translation(effects, covariance);
}
