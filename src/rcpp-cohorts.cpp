// Several adoption dates for R. Sums over people stay in C++ until noise was added to them.
#include <RcppEigen.h>

#include <dpsc/release/cohorts_release.hpp>

#include "r_noise.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::panel_facts as_facts(const Rcpp::List& x) {
  dpsc::panel_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.T0 = Rcpp::as<int>(x["T0"]);
  facts.T1 = Rcpp::as<int>(x["T1"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.y = Rcpp::as<Eigen::VectorXd>(x["y"]);
  facts.features = Rcpp::as<double>(x["features"]);
  facts.intervals = Rcpp::as<bool>(x["intervals"]);
  facts.group = Rcpp::as<bool>(x["group"]);
  return facts;
}

dpsc::row_scale as_scale(const Rcpp::List& x) {
  return {Rcpp::as<Eigen::VectorXd>(x["centre"]), Rcpp::as<double>(x["unit"]),
          Rcpp::as<Eigen::VectorXd>(x["half"])};
}

dpsc::estimator_options as_options(const Rcpp::List& x) {
  dpsc::estimator_options options;
  options.kind = Rcpp::as<std::string>(x["estimator"]) == "did" ? dpsc::estimator_kind::did
                                                                : dpsc::estimator_kind::ridge;
  options.is_private = Rcpp::as<bool>(x["private"]);
  options.penalty = Rcpp::as<double>(x["penalty"]);
  options.half = Rcpp::as<Eigen::VectorXd>(x["half"]);
  return options;
}

Rcpp::List from_statistics(const dpsc::gram_statistics& s) {
  return Rcpp::List::create(_["loadings"] = s.loadings, _["pre"] = static_cast<int>(s.pre),
                            _["weight"] = s.weight, _["demean"] = s.demean, _["mean"] = s.mean,
                            _["restore"] = s.restore, _["covariance"] = s.covariance,
                            _["mean_sd"] = s.mean_sd, _["moment_sd"] = s.moment_sd);
}

dpsc::gram_statistics as_statistics(const Rcpp::List& x) {
  dpsc::gram_statistics s;
  s.loadings = Rcpp::as<Eigen::MatrixXd>(x["loadings"]);
  s.pre = Rcpp::as<int>(x["pre"]);
  s.weight = Rcpp::as<double>(x["weight"]);
  s.demean = Rcpp::as<bool>(x["demean"]);
  s.mean = Rcpp::as<Eigen::VectorXd>(x["mean"]);
  s.restore = Rcpp::as<Eigen::MatrixXd>(x["restore"]);
  s.covariance = Rcpp::as<Eigen::MatrixXd>(x["covariance"]);
  s.mean_sd = Rcpp::as<double>(x["mean_sd"]);
  s.moment_sd = Rcpp::as<double>(x["moment_sd"]);
  return s;
}

Rcpp::List from_rounds(const std::vector<dpsc::gram_round>& rounds) {
  Rcpp::List out;
  for (const dpsc::gram_round& round : rounds)
    out.push_back(Rcpp::List::create(_["loadings"] = round.loadings, _["origin"] = round.origin,
                                     _["radius"] = round.radius, _["exponent"] = round.exponent,
                                     _["clipped"] = round.clipped, _["constant"] = round.constant,
                                     _["noise"] = round.noise));
  return out;
}

Rcpp::List from_release(const dpsc::cohorts_release& release, const std::vector<int>& dates) {
  Rcpp::List out = from_statistics(release.moments.statistics);
  out["rounds"] = from_rounds(release.moments.rounds);
  const dpsc::cohort_calibration& c = release.intervals;
  Rcpp::List cohorts = Rcpp::List::create(_["T0"] = dates);
  if (c.made)
    cohorts["intervals"] =
        Rcpp::List::create(_["clip"] = c.clip, _["second"] = c.second, _["second_sd"] = c.second_sd,
                           _["average"] = c.average, _["period"] = c.period, _["band"] = c.band,
                           _["tail"] = c.tail, _["group"] = c.group);
  out["cohorts"] = cohorts;
  return out;
}

Rcpp::List release(SEXP donors, const Rcpp::List& facts, const std::vector<int>& dates,
                   const Rcpp::List& scale, const Rcpp::List& options, dpsc::noise& draws) {
  const auto source = as_source(donors);
  const dpsc::panel_facts panel = as_facts(facts);
  const std::vector<Eigen::Index> at(dates.begin(), dates.end());
  return from_release(dpsc::run_cohorts(dpsc::plan_cohorts(panel, at), panel, at, as_scale(scale),
                                        as_options(options), *source, draws, interrupter()),
                      dates);
}

}  // namespace

// What a release for several adoption dates will spend and on what; sees no donors.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_plan_cpp(const Rcpp::List& facts, const std::vector<int>& dates) {
  const dpsc::cohorts_plan plan = dpsc::plan_cohorts(as_facts(facts), {dates.begin(), dates.end()});
  return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["rho"] = plan.moments.rho,
                            _["total"] = plan.moments.total,
                            _["calibrated"] = plan.calibration.made());
}

// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_release_cpp(SEXP donors, const Rcpp::List& facts, const std::vector<int>& dates,
                              const Rcpp::List& scale, const Rcpp::List& options, SEXP rng) {
  return with_noise(rng, [&](dpsc::noise& draws) {
    return release(donors, facts, dates, scale, options, draws);
  });
}

// A release whose sums without noise are written down: for audits, on made-up panels only. With
// `outputs` those are given instead of noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_audit_cpp(SEXP donors, const Rcpp::List& facts, const std::vector<int>& dates,
                            const Rcpp::List& scale, const Rcpp::List& options, SEXP rng,
                            const Rcpp::Nullable<Rcpp::List>& outputs) {
  return with_record(rng, outputs, "statistics", [&](dpsc::noise& draws) {
    return release(donors, facts, dates, scale, options, draws);
  });
}

// A release's statistics as a cohort sees them that adopts after T0 periods.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_view_cpp(const Rcpp::List& statistics, int T0) {
  return from_statistics(dpsc::cohort_view(as_statistics(statistics), T0));
}

// Covariances between cohorts' errors, cohort by cohort and period by period, scaled units.
// `targets`: rows are cohorts, whole paths, of which what is past to each is used.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_errors_cpp(const Rcpp::List& statistics, const Rcpp::List& options,
                             const std::vector<int>& dates, const Eigen::MatrixXd& targets,
                             double n) {
  const dpsc::gram_statistics s = as_statistics(statistics);
  std::vector<dpsc::cohort_target> cohorts;
  for (std::size_t g = 0; g < dates.size(); ++g)
    cohorts.push_back({dpsc::cohort_view(s, dates[g]),
                       as_options(options[static_cast<R_xlen_t>(g)]),
                       targets.row(static_cast<Eigen::Index>(g)).head(dates[g])});
  const dpsc::shared_errors errors = dpsc::cohort_errors(cohorts, n);
  return Rcpp::List::create(_["privacy"] = errors.privacy, _["regression"] = errors.regression);
}
