// Facts, options and statistics of releases by method gram, as R holds them.
#pragma once

#include <RcppEigen.h>

#include <dpsc/release/gram_release.hpp>
#include <string>
#include <vector>

/// Limits of people's weights.
inline dpsc::weight_limits as_weights(SEXP x) {
  const Eigen::VectorXd limits = Rcpp::as<Eigen::VectorXd>(x);
  return {limits[0], limits[1]};
}

inline dpsc::panel_facts as_facts(const Rcpp::List& x) {
  dpsc::panel_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.T0 = Rcpp::as<int>(x["T0"]);
  facts.T1 = Rcpp::as<int>(x["T1"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.y = Rcpp::as<Eigen::VectorXd>(x["y"]);
  facts.features = Rcpp::as<double>(x["features"]);
  facts.intervals = Rcpp::as<bool>(x["intervals"]);
  if (x.containsElementNamed("covariates")) facts.covariates = Rcpp::as<int>(x["covariates"]);
  if (x.containsElementNamed("targeted")) facts.targeted = Rcpp::as<bool>(x["targeted"]);
  if (x.containsElementNamed("level")) facts.level = Rcpp::as<bool>(x["level"]);
  if (x.containsElementNamed("thrice")) facts.thrice = Rcpp::as<bool>(x["thrice"]);
  if (x.containsElementNamed("weights")) facts.weights = as_weights(x["weights"]);
  facts.group = x.containsElementNamed("group") && Rcpp::as<bool>(x["group"]);
  return facts;
}

inline dpsc::estimator_options as_options(const Rcpp::List& x) {
  dpsc::estimator_options options;
  options.kind = Rcpp::as<std::string>(x["estimator"]) == "did" ? dpsc::estimator_kind::did
                                                                : dpsc::estimator_kind::ridge;
  options.is_private = Rcpp::as<bool>(x["private"]);
  options.penalty = Rcpp::as<double>(x["penalty"]);
  options.half = Rcpp::as<Eigen::VectorXd>(x["half"]);
  return options;
}

inline Rcpp::List from_statistics(const dpsc::gram_statistics& s) {
  using Rcpp::_;
  Rcpp::List out = Rcpp::List::create(
      _["loadings"] = s.loadings, _["pre"] = static_cast<int>(s.pre), _["weight"] = s.weight,
      _["demean"] = s.demean, _["mean"] = s.mean, _["restore"] = s.restore,
      _["covariance"] = s.covariance, _["mean_sd"] = s.mean_sd, _["moment_sd"] = s.moment_sd);
  if (s.covariates > 0) out["covariates"] = static_cast<int>(s.covariates);
  return out;
}

inline dpsc::gram_statistics as_statistics(const Rcpp::List& x) {
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

inline Rcpp::List from_rounds(const std::vector<dpsc::gram_round>& rounds) {
  using Rcpp::_;
  Rcpp::List out;
  for (const dpsc::gram_round& round : rounds)
    out.push_back(Rcpp::List::create(_["loadings"] = round.loadings, _["origin"] = round.origin,
                                     _["radius"] = round.radius, _["exponent"] = round.exponent,
                                     _["clipped"] = round.clipped, _["constant"] = round.constant,
                                     _["noise"] = round.noise));
  return out;
}

/// The calibration of one adoption date, or of several.
template <typename Calibration>
Rcpp::List from_intervals(const Calibration& c) {
  using Rcpp::_;
  return Rcpp::List::create(_["clip"] = c.clip, _["calm"] = c.calm, _["second"] = c.second,
                            _["second_sd"] = c.second_sd, _["average"] = c.average,
                            _["period"] = c.period, _["band"] = c.band, _["tail"] = c.tail,
                            _["group"] = c.group);
}
