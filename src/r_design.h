// A design of a regression as R holds it.
#pragma once

#include <RcppEigen.h>

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
  if (x.containsElementNamed("weighted")) out.weighted = Rcpp::as<bool>(x["weighted"]);
  if (x.containsElementNamed("person")) out.person = Rcpp::as<bool>(x["person"]);
  out.check();
  return out;
}

inline std::vector<std::string> design_names(const Rcpp::List& x) {
  return Rcpp::as<std::vector<std::string>>(x["names"]);
}
