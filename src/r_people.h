// Questions about people's rows as R holds them: lists of public and released numbers.
#pragma once

#include <RcppEigen.h>

#include <dpsc/mechanism/person.hpp>
#include <dpsc/rows/people.hpp>
#include <dpsc/rows/products.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "r_design.h"

inline Rcpp::List from_row_map(const dpsc::row_map& map) {
  using Rcpp::_;
  return Rcpp::List::create(_["centre"] = map.centre, _["scale"] = map.scale,
                            _["limit"] = map.limit, _["loadings"] = map.loadings,
                            _["rescale"] = map.rescale, _["origin"] = map.origin);
}

inline dpsc::row_map as_row_map(const Rcpp::List& x) {
  return {Rcpp::as<Eigen::VectorXd>(x["centre"]),
          Rcpp::as<double>(x["scale"]),
          Rcpp::as<Eigen::VectorXd>(x["limit"]),
          Rcpp::as<Eigen::MatrixXd>(x["loadings"]),
          Rcpp::as<double>(x["rescale"]),
          Rcpp::as<Eigen::VectorXd>(x["origin"]),
          true};
}

/// The map of the features, and the constants of their products.
inline Rcpp::List from_products(const dpsc::product_map& map) {
  Rcpp::List out = from_row_map(map.features);
  out["lift"] = map.lift;
  out["slope"] = map.slope;
  return out;
}

inline dpsc::product_map as_products(const Rcpp::List& x) {
  return {as_row_map(x), Rcpp::as<double>(x["lift"]), Rcpp::as<double>(x["slope"])};
}

inline const std::vector<std::string>& question_names() {
  static const std::vector<std::string> names{"medians",   "scales", "lengths",
                                              "residuals", "outer",  "scores"};
  return names;
}

inline Rcpp::List from_question(const dpsc::people_question& q) {
  using kind = dpsc::people_question::kind;
  Rcpp::List out;
  out["kind"] = question_names()[static_cast<std::size_t>(q.what)];
  if (q.what == kind::medians) {
    out["cells"] = q.cells;
    out["width"] = q.width;
    return out;
  }
  out["limits"] = q.limits;
  out["middle"] = q.middle;
  if (q.what == kind::scales) return out;
  out["map"] = from_row_map(q.map);
  out["median"] = q.location->median;
  out["scale"] = q.location->scale;
  out["gain"] = dpsc::lm_columns(*q.design, *q.location).gain();
  out["radius"] = q.radius;
  if (q.counts()) return out;
  out["clip"] = q.clip;
  out["limit"] = q.limit;
  out["residual_limit"] = q.residual_limit;
  out["constant"] = q.constant;
  out["zoom"] = q.zoom();
  out["residual_zoom"] = q.residual_zoom();
  const double square = q.limit * q.limit + q.residual_limit * q.residual_limit;
  if (q.design->person)
    out["keep"] = dpsc::mean_outer::keep(square + q.constant * q.constant, q.design->p() + 2);
  if (q.what != kind::scores) return out;
  out["score_limit"] = q.score_limit;
  out["score_zoom"] = q.score_zoom();
  return out;
}

/// A question, together with the design and location that it refers to.
struct held_question {
  dpsc::lm_design design;
  dpsc::lm_location location;
  dpsc::people_question question;

  held_question(const Rcpp::List& x, const Rcpp::List& own) : design(as_design(own)) {
    const auto number = [&x](const char* name, double& into) {
      if (x.containsElementNamed(name)) into = Rcpp::as<double>(x[name]);
    };
    const auto numbers = [&x](const char* name, auto& into) {
      if (x.containsElementNamed(name)) into = Rcpp::as<std::decay_t<decltype(into)>>(x[name]);
    };
    const auto name = Rcpp::as<std::string>(x["kind"]);
    const auto& names = question_names();
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) throw std::invalid_argument("there is no such question");
    question.what = static_cast<dpsc::people_question::kind>(at - names.begin());
    question.design = &design;
    question.location = &location;
    numbers("median", location.median);
    numbers("scale", location.scale);
    number("cells", question.cells);
    number("width", question.width);
    numbers("middle", question.middle);
    numbers("limits", question.limits);
    if (x.containsElementNamed("map")) question.map = as_row_map(x["map"]);
    number("radius", question.radius);
    number("clip", question.clip);
    number("limit", question.limit);
    number("residual_limit", question.residual_limit);
    number("constant", question.constant);
    number("score_limit", question.score_limit);
  }
  held_question(const held_question&) = delete;
  held_question& operator=(const held_question&) = delete;
};
