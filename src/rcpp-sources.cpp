// Sums over rows as a source's answers, and rows on the grid.
#include <RcppEigen.h>

#include <dpsc/mechanism/people_answers.hpp>
#include <dpsc/rows/source.hpp>

#include "r_design.h"
#include "r_source.h"

using Rcpp::_;

// The row map for public bounds, loadings and origin: the content of a question to an engine.
// [[Rcpp::export(rng = false)]]
Rcpp::List row_map_cpp(const Rcpp::List& scale, const Eigen::MatrixXd& loadings,
                       const Eigen::VectorXd& origin) {
  const dpsc::grid_map grid = dpsc::map_on_grid(as_scale(scale), loadings, origin);
  const dpsc::row_map& map = grid.map;
  map.check();
  const std::uint64_t id = dpsc::grid_id(map);
  return Rcpp::List::create(
      _["centre"] = map.centre, _["scale"] = map.scale, _["limit"] = map.limit,
      _["loadings"] = map.loadings, _["rescale"] = map.rescale, _["origin"] = map.origin,
      // Halves of 64 bits, which doubles represent exactly.
      _["id"] = Rcpp::NumericVector::create(static_cast<double>(id >> 32),
                                            static_cast<double>(id & 0xffffffff)));
}

// Products of its features, as in the round for a target.
// [[Rcpp::export(rng = false)]]
Rcpp::List product_map_cpp(const Rcpp::List& scale, const Eigen::MatrixXd& loadings,
                           const Eigen::VectorXd& origin) {
  const dpsc::product_map map =
      dpsc::products_on_grid(dpsc::map_on_grid(as_scale(scale), loadings, origin)).map;
  map.check();
  return from_products(map);
}

namespace {

/// The answer to a question, with the number of rows that were passed.
template <typename Map>
Rcpp::List sums_of(const dpsc::row_source& source, const Map& map, const Rcpp::List& question) {
  map.check();
  double count = 0.0;
  const std::string kind = Rcpp::as<std::string>(question["kind"]);
  const auto add = [&](auto& into) {
    source.pass([&](const dpsc::table_view& table) {
      count += static_cast<double>(table.rows);
      const dpsc::matrix_source one(table);
      dpsc::add_features(one, map, into, interrupter());
    });
  };
  if (kind == "energy") {
    const auto squared = Rcpp::as<std::vector<double>>(question["squared"]);
    int bits = 0;
    std::frexp(Rcpp::as<double>(question["one"]), &bits);
    dpsc::radius_energy energy(squared, 1, bits - 1);
    add(energy);
    return Rcpp::List::create(_["rows"] = count, _["kept"] = energy.kept(),
                              _["beyond"] = energy.beyond());
  }
  const auto radius = Rcpp::as<double>(question["radius"]);
  const auto limit = Rcpp::as<double>(question["limit"]);
  if (kind == "sums") {
    dpsc::clipped_sums sums(map.dimension(), radius, limit);
    add(sums);
    return Rcpp::List::create(_["rows"] = count, _["sum"] = sums.sum());
  }
  if (kind != "moments") throw std::invalid_argument("there is no such question");
  dpsc::clipped_moments moments(map.dimension(), radius, limit);
  add(moments);
  return Rcpp::List::create(_["rows"] = count, _["sum"] = moments.sum(),
                            _["gram"] = moments.gram());
}

}  // namespace

// Sums WITHOUT NOISE over local rows, for a coordinator that adds them, or for an engine's proof.
// `question` has the form that asked_source gives it. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List row_sums_cpp(SEXP rows, const Rcpp::List& question) {
  const auto source = as_source(rows);
  const Rcpp::List map = question["map"];
  return map.containsElementNamed("lift") ? sums_of(*source, as_products(map), question)
                                          : sums_of(*source, as_row_map(map), question);
}

// The same for questions of a regression, over people's rows as numbers. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List people_sums_cpp(SEXP rows, const Rcpp::List& design, const Rcpp::List& question) {
  const auto source = as_source(rows);
  const held_question asked(question, design);
  const dpsc::people_sums found = dpsc::answer_people(*source, asked.question, interrupter());
  Eigen::MatrixXd sums = found.sums;
  if (!asked.question.counts()) sums = found.sums.selfadjointView<Eigen::Lower>();
  return Rcpp::List::create(_["rows"] = found.rows, _["there"] = found.there, _["sums"] = sums);
}

// Questions of a made-up release, for an engine's proof; reads no rows. `frame`: slopes and a
// whitening matrix.
// [[Rcpp::export(rng = false)]]
Rcpp::List people_map_cpp(const Rcpp::List& design, const Rcpp::List& location,
                          const Eigen::MatrixXd& whiten, const Eigen::VectorXd& slope) {
  const dpsc::lm_design known = as_design(design);
  const dpsc::lm_location found{Rcpp::as<Eigen::VectorXd>(location["median"]),
                                Rcpp::as<Eigen::VectorXd>(location["scale"])};
  dpsc::lm_frame frame = dpsc::lm_frame::start(known.p());
  if (whiten.rows() != known.p() || whiten.cols() != known.p() || slope.size() != known.p())
    throw std::invalid_argument("a frame does not fit the design");
  frame.whiten = whiten;
  frame.slope = slope;
  const dpsc::lm_columns columns(known, found);
  const dpsc::lm_features features(columns, frame);
  return Rcpp::List::create(_["map"] = from_row_map(features.map()), _["gain"] = columns.gain(),
                            _["unit"] = features.unit());
}
