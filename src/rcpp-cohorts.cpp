// Several adoption dates for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/release/cohorts_release.hpp>

#include "r_gram.h"
#include "r_noise.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

Rcpp::List from_release(const dpsc::cohorts_release& release, const std::vector<int>& dates) {
  Rcpp::List out = from_statistics(release.moments.statistics);
  out["rounds"] = from_rounds(release.moments.rounds);
  Rcpp::List cohorts = Rcpp::List::create(_["T0"] = dates);
  if (release.intervals.made) cohorts["intervals"] = from_intervals(release.intervals);
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

// Budget and steps of a release for several adoption dates; reads no donors' rows.
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

// A release's statistics for a cohort that adopts after T0 periods.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_view_cpp(const Rcpp::List& statistics, int T0) {
  return from_statistics(dpsc::cohort_view(as_statistics(statistics), T0));
}

// Covariances between cohorts' errors, cohort by cohort and period by period, scaled units.
// `targets`: one row per cohort, a whole path in the cohort's own order, of which only its past is
// used.
// [[Rcpp::export(rng = false)]]
Rcpp::List cohort_errors_cpp(const Rcpp::List& statistics, const Rcpp::List& options,
                             const std::vector<int>& dates, const Eigen::MatrixXd& targets,
                             double n) {
  const dpsc::gram_statistics s = as_statistics(statistics);
  std::vector<dpsc::cohort_target> cohorts;
  for (std::size_t g = 0; g < dates.size(); ++g) {
    const dpsc::gram_statistics view = dpsc::cohort_view(s, dates[g]);
    cohorts.push_back({view, as_options(options[static_cast<R_xlen_t>(g)]),
                       targets.row(static_cast<Eigen::Index>(g)).head(view.T0())});
  }
  const dpsc::shared_errors errors = dpsc::cohort_errors(cohorts, n);
  return Rcpp::List::create(_["privacy"] = errors.privacy, _["regression"] = errors.regression);
}
