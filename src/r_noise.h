// A mechanism of the core run from R: with noise of the engine that R names, or with every noise
// call written down, for audits on made-up people only.
#pragma once

#include <RcppEigen.h>

#include <dpsc/noise/noise.hpp>
#include <string>
#include <type_traits>
#include <vector>

#include "r_engine.h"

/// Calls `run(noise)` with noise from the engine that `rng` names.
template <typename Run>
auto with_noise(SEXP rng, Run run) {
  return with_engine(rng, [&](auto& engine) {
    dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
    return run(static_cast<dpsc::noise&>(draws));
  });
}

inline Rcpp::List from_call(const dpsc::noise_call& call) {
  using Rcpp::_;
  const bool choice = call.kind == dpsc::law::exponential;
  return Rcpp::List::create(
      _["label"] = call.label, _["law"] = dpsc::law_name(call.kind),
      _["scale"] = Rcpp::wrap(call.scale), _["value"] = Rcpp::wrap(call.exact),
      _["offset"] = choice ? Rcpp::wrap(call.offset) : R_NilValue,
      _["output"] = Rcpp::wrap(call.output), _["log_curvature"] = call.log_curvature);
}

/// `run(noise)` gives what R is shown. With `outputs` those are given instead of noise. PRIVATE.
template <typename Run>
Rcpp::List with_record(SEXP rng, const Rcpp::Nullable<Rcpp::List>& outputs,
                       const std::string& shown, Run run) {
  const auto recorded = [&](dpsc::noise& draws) {
    dpsc::recorded_noise recorder(draws);
    const Rcpp::List result = run(static_cast<dpsc::noise&>(recorder));
    Rcpp::List calls;
    for (const dpsc::noise_call& call : recorder.calls()) calls.push_back(from_call(call));
    Rcpp::List places;
    for (const auto& drawn : recorder.places())
      places.push_back(Rcpp::NumericVector(drawn.begin(), drawn.end()));
    return Rcpp::List::create(Rcpp::_["calls"] = calls, Rcpp::_["places"] = places,
                              Rcpp::_[shown] = result);
  };
  if (outputs.isNull()) return with_noise(rng, recorded);
  std::vector<Eigen::VectorXd> known;
  for (SEXP output : Rcpp::List(outputs)) known.push_back(Rcpp::as<Eigen::VectorXd>(output));
  std::vector<std::vector<Eigen::Index>> places;
  const SEXP given = Rf_getAttrib(outputs.get(), Rf_install("places"));
  if (!Rf_isNull(given))
    for (SEXP drawn : Rcpp::List(given)) {
      const auto at = Rcpp::as<std::vector<double>>(drawn);
      places.emplace_back(at.begin(), at.end());
    }
  dpsc::replayed_noise draws(known, places);
  return recorded(draws);
}
