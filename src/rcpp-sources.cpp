// Sums over rows that a source answers with, and rows put on the grid.
#include <RcppEigen.h>

#include <dpsc/rows/source.hpp>

#include "r_source.h"

namespace {

using Rcpp::_;

dpsc::row_map as_map(const Rcpp::List& x) {
  return {Rcpp::as<Eigen::VectorXd>(x["centre"]),
          Rcpp::as<double>(x["scale"]),
          Rcpp::as<Eigen::VectorXd>(x["limit"]),
          Rcpp::as<Eigen::MatrixXd>(x["loadings"]),
          Rcpp::as<double>(x["rescale"]),
          Rcpp::as<Eigen::VectorXd>(x["origin"]),
          true};
}

}  // namespace

// The row map of public bounds, loadings and origin: what a question to an engine is made of.
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
      // Halves of 64 bits, which doubles hold exactly.
      _["id"] = Rcpp::NumericVector::create(static_cast<double>(id >> 32),
                                            static_cast<double>(id & 0xffffffff)));
}

// Sums WITHOUT NOISE over rows here, for a coordinator that adds them, or for an engine's proof.
// `question` as asked_source makes it. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List row_sums_cpp(SEXP rows, const Rcpp::List& question) {
  const auto source = as_source(rows);
  const dpsc::row_map map = as_map(question["map"]);
  map.check();
  double count = 0.0;
  const std::string kind = Rcpp::as<std::string>(question["kind"]);
  // Counts what it is given on the way.
  const auto add = [&](auto& into) {
    source->pass([&](const dpsc::table_view& table) {
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
  dpsc::clipped_moments moments(map.dimension(), Rcpp::as<double>(question["radius"]),
                                Rcpp::as<double>(question["limit"]));
  add(moments);
  return Rcpp::List::create(_["rows"] = count, _["sum"] = moments.sum(),
                            _["gram"] = moments.gram());
}
