// A release that grows for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/release/growing_release.hpp>
#include <vector>

#include "r_gram.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::growing_facts as_growing_facts(const Rcpp::List& x) {
  dpsc::growing_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.periods = Rcpp::as<double>(x["periods"]);
  return facts;
}

dpsc::growing_base as_base(const Rcpp::List& x) {
  return {as_statistics(x["statistics"]),
          as_options(x["options"]),
          Rcpp::as<Eigen::VectorXd>(x["target"]),
          Rcpp::as<Eigen::MatrixXd>(x["own"]),
          Rcpp::as<double>(x["lift"]),
          Rcpp::as<double>(x["radius"])};
}

std::vector<dpsc::period_release> as_periods(const Rcpp::List& x) {
  std::vector<dpsc::period_release> out;
  for (R_xlen_t t = 0; t < x.size(); ++t) {
    const Rcpp::List one(x[t]);
    out.push_back({Rcpp::as<Eigen::VectorXd>(one["means"]), Rcpp::as<double>(one["radius"]),
                   Rcpp::as<double>(one["sd"])});
  }
  return out;
}

Rcpp::List release(SEXP donors, const Rcpp::List& facts, const Rcpp::List& base,
                   const Rcpp::List& periods, const Rcpp::List& scale, dpsc::noise& draws) {
  const auto source = as_source(donors);
  const dpsc::period_release x =
      dpsc::run_growing(dpsc::plan_growing(as_growing_facts(facts)), as_base(base),
                        as_periods(periods), as_scale(scale), *source, draws, interrupter());
  return Rcpp::List::create(_["means"] = Rcpp::wrap(x.means), _["radius"] = x.radius,
                            _["sd"] = x.sd);
}

}  // namespace

// Budget and steps of each announced period; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List growing_plan_cpp(const Rcpp::List& facts) {
  const dpsc::period_plan plan = dpsc::plan_growing(as_growing_facts(facts));
  return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["share"] = dpsc::growing_share,
                            _["noise"] = plan.relative_noise());
}

// One more period, from rows with all periods up to it.
// [[Rcpp::export(rng = false)]]
Rcpp::List growing_release_cpp(SEXP donors, const Rcpp::List& facts, const Rcpp::List& base,
                               const Rcpp::List& periods, const Rcpp::List& scale, SEXP rng) {
  return with_noise(
      rng, [&](dpsc::noise& draws) { return release(donors, facts, base, periods, scale, draws); });
}

// The new periods' counterfactuals and all periods' errors, scaled units. `privacy`:
// covariance of the noise's errors in the base's periods.
// [[Rcpp::export(rng = false)]]
Rcpp::List growing_estimate_cpp(const Rcpp::List& base, const Rcpp::List& periods,
                                const Eigen::MatrixXd& privacy, double half) {
  const dpsc::growing_estimate e = dpsc::grow(as_base(base), as_periods(periods));
  return Rcpp::List::create(_["path"] = Rcpp::wrap(e.path(half)), _["own"] = e.own(),
                            _["left"] = Rcpp::wrap(e.left()), _["privacy"] = e.privacy(privacy),
                            _["model"] = e.model());
}

// The row map of the next period (loadings and origin), and the aim of its sums.
Rcpp::List growing_frame_cpp(const Rcpp::List& base, const Rcpp::List& periods) {
  const dpsc::period_frame x = dpsc::grow(as_base(base), as_periods(periods)).frame();
  return Rcpp::List::create(_["loadings"] = x.loadings, _["origin"] = Rcpp::wrap(x.origin),
                            _["aim"] = Rcpp::wrap(x.aim));
}
const probe growing_frame_probe("growing_frame", growing_frame_cpp);
