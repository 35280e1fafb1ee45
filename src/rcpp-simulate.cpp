// Simulations of releases for plans. They use no data except a public pilot.
#include <RcppEigen.h>

#include <dpsc/release/simulate.hpp>
#include <memory>

#include "r_source.h"

namespace {

using Rcpp::_;

std::unique_ptr<dpsc::people_law> as_people(const Rcpp::List& x, int T0, int T1, int size) {
  const std::string kind = Rcpp::as<std::string>(x["kind"]);
  if (kind == "pilot")
    return std::make_unique<dpsc::pilot_people>(Rcpp::as<Eigen::MatrixXd>(x["rows"]), size > 1);
  if (kind == "linear") return std::make_unique<dpsc::linear_people>();
  dpsc::factor_people::sizes law;
  law.level = Rcpp::as<double>(x["level"]);
  law.loading = Rcpp::as<double>(x["loading"]);
  law.time = Rcpp::as<double>(x["time"]);
  law.drift = Rcpp::as<double>(x["drift"]);
  law.noise = Rcpp::as<double>(x["noise"]);
  law.shift = Rcpp::as<double>(x["shift"]);
  return std::make_unique<dpsc::factor_people>(law, T0, T1);
}

dpsc::panel_facts as_facts(const Rcpp::List& x) {
  dpsc::panel_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.T0 = Rcpp::as<int>(x["T0"]);
  facts.T1 = Rcpp::as<int>(x["T1"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.group = Rcpp::as<bool>(x["group"]);
  facts.targeted = facts.level = true;
  return facts;
}

Rcpp::List from_intervals(const dpsc::calibration& c) {
  return Rcpp::List::create(_["clip"] = c.clip, _["calm"] = c.calm, _["second"] = c.second,
                            _["second_sd"] = c.second_sd, _["average"] = c.average,
                            _["period"] = c.period, _["band"] = c.band, _["group"] = c.group);
}

}  // namespace

// Releases of made-up panels and their errors, scaled units: one matrix of the errors with privacy
// and one without (k targets x releases rows); for calibrated releases also the components of the
// first target's interval.
// [[Rcpp::export(rng = false)]]
Rcpp::List simulate_gram_cpp(const Rcpp::List& people, const Rcpp::List& facts, int targets,
                             int size, int releases, int calibrated, double seed) {
  const dpsc::panel_facts panel = as_facts(facts);
  const auto law = as_people(people, static_cast<int>(panel.T0), static_cast<int>(panel.T1), size);
  dpsc::estimator_options options;
  options.half = Eigen::VectorXd::Ones(panel.T0 + panel.T1);
  dpsc::simulation_engine engine(static_cast<std::uint64_t>(seed));
  const auto tick = interrupter();
  Eigen::MatrixXd error(targets * releases, panel.T1), raw(targets * releases, panel.T1);
  Rcpp::List intervals;
  for (int r = 0; r < releases; ++r) {
    const dpsc::simulated_release one =
        dpsc::simulate_release(*law, panel, options, targets, size, r < calibrated, engine, tick);
    error.middleRows(r * targets, targets) = one.error;
    raw.middleRows(r * targets, targets) = one.raw;
    if (one.intervals.made)
      intervals.push_back(Rcpp::List::create(
          _["prediction"] = one.own.prediction, _["privacy"] = one.own.privacy,
          _["disagreement"] = one.own.disagreement, _["leverage"] = one.own.leverage,
          _["size"] = size, _["scale"] = one.own.scale, _["shortened"] = one.shortened,
          _["intervals"] = from_intervals(one.intervals)));
  }
  return Rcpp::List::create(_["error"] = error, _["raw"] = raw, _["intervals"] = intervals);
}

// Simulated people, scaled units, for tests of their distribution: `target` of them are targets.
// [[Rcpp::export(rng = false)]]
Rcpp::List simulate_people_cpp(const Rcpp::List& people, int n, int T0, int T1, int targets,
                               int size, double seed) {
  const auto law = as_people(people, T0, T1, size);
  dpsc::simulation_engine engine(static_cast<std::uint64_t>(seed));
  const dpsc::simulated_panel panel = dpsc::draw_panel(*law, n, T0 + T1, targets, size, engine);
  return Rcpp::List::create(_["donors"] = panel.donors, _["targets"] = panel.targets);
}
