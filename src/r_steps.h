// The steps of a release as R shows them: one row per step.
#pragma once

#include <RcppEigen.h>

#include <cmath>
#include <dpsc/mechanism/budget.hpp>
#include <vector>

inline Rcpp::List as_steps(const std::vector<dpsc::step_record>& records) {
  const auto rows = static_cast<R_xlen_t>(records.size());
  Rcpp::CharacterVector step(rows), law(rows);
  Rcpp::NumericVector sensitivity(rows), scale(rows), epsilon(rows), rho(rows), mu(rows);
  for (R_xlen_t i = 0; i < rows; ++i) {
    const dpsc::step_record& record = records[static_cast<std::size_t>(i)];
    step[i] = record.label;
    law[i] = record.law;
    sensitivity[i] = record.sensitivity;
    scale[i] = record.scale;
    const bool gaussian = !std::isnan(record.mu);
    epsilon[i] = gaussian ? NA_REAL : record.epsilon;
    mu[i] = gaussian ? record.mu : NA_REAL;
    rho[i] = gaussian ? record.mu * record.mu / 2.0 : NA_REAL;
  }
  // Rcpp::DataFrame::create() calls R's as.data.frame(), which takes as long as the release.
  Rcpp::List table =
      Rcpp::List::create(Rcpp::_["step"] = step, Rcpp::_["law"] = law,
                         Rcpp::_["sensitivity"] = sensitivity, Rcpp::_["scale"] = scale,
                         Rcpp::_["epsilon"] = epsilon, Rcpp::_["rho"] = rho, Rcpp::_["mu"] = mu);
  table.attr("class") = "data.frame";
  table.attr("row.names") = Rcpp::IntegerVector::create(NA_INTEGER, -static_cast<int>(rows));
  return table;
}
