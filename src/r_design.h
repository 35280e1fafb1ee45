// A design of a regression as R holds it, and noise calls as audits show them.
#pragma once

#include <RcppEigen.h>

#include <dpsc/noise/noise.hpp>
#include <dpsc/rows/design.hpp>
#include <string>
#include <vector>

inline dpsc::lm_design as_design(const Rcpp::List& x) {
  dpsc::lm_design out;
  const Rcpp::NumericVector centre = x["centre"], half = x["half"];
  const Rcpp::LogicalVector indicator = x["indicator"];
  for (R_xlen_t j = 0; j < centre.size(); ++j)
    out.variables.push_back({centre[j], half[j], static_cast<bool>(indicator[j])});
  const Rcpp::List columns = x["columns"];
  for (R_xlen_t k = 0; k < columns.size(); ++k) {
    const Rcpp::List column = columns[k];
    dpsc::lm_column one{Rcpp::as<std::vector<int>>(column["variables"]),
                        Rcpp::as<std::vector<int>>(column["powers"])};
    for (int& j : one.variables) --j;
    out.columns.push_back(one);
  }
  out.check();
  return out;
}

inline std::vector<std::string> design_names(const Rcpp::List& x) {
  return Rcpp::as<std::vector<std::string>>(x["names"]);
}

inline Rcpp::List from_call(const dpsc::noise_call& call) {
  return Rcpp::List::create(
      Rcpp::_["label"] = call.label, Rcpp::_["law"] = dpsc::law_name(call.kind),
      Rcpp::_["scale"] = Rcpp::wrap(call.scale), Rcpp::_["value"] = Rcpp::wrap(call.exact),
      Rcpp::_["output"] = Rcpp::wrap(call.output));
}
