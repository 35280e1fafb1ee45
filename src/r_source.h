// Rows of people as R holds them: a matrix, read in place, or chunks, read by R's own checks.
#pragma once

#include <RcppEigen.h>

#include <dpsc/rows/source.hpp>
#include <functional>
#include <memory>

#include "r_engine.h"
#include "r_host.h"
#include "r_people.h"

/// The grid that a block's attribute names, or none.
inline std::uint64_t grid_of(SEXP x) {
  static const SEXP on_grid = Rf_install("on_grid");
  const SEXP id = Rf_getAttrib(x, on_grid);
  if (TYPEOF(id) != REALSXP || Rf_xlength(id) != 2) return 0;
  return (static_cast<std::uint64_t>(REAL(id)[0]) << 32) | static_cast<std::uint64_t>(REAL(id)[1]);
}

inline dpsc::row_scale as_scale(const Rcpp::List& x) {
  return {Rcpp::as<Eigen::VectorXd>(x["centre"]), Rcpp::as<double>(x["unit"]),
          Rcpp::as<Eigen::VectorXd>(x["half"])};
}

inline dpsc::table_view as_table(SEXP x) {
  if (!Rf_isMatrix(x)) throw std::invalid_argument("rows of people must be a matrix");
  dpsc::table_view table;
  table.rows = Rf_nrows(x);
  table.columns = Rf_ncols(x);
  if (TYPEOF(x) == REALSXP)
    table.reals = REAL(x);
  else if (TYPEOF(x) == INTSXP)
    table.integers = INTEGER(x);
  else
    throw std::invalid_argument("rows of people must be numbers");
  table.grid = grid_of(x);
  return table;
}

/// Blocks come from R's read_block(), which checks them.
class chunk_source : public dpsc::row_source {
 public:
  chunk_source(SEXP chunks, int count, const Rcpp::Function& read)
      : chunks_(chunks), count_(count), read_(read) {}

  void pass(const std::function<void(const dpsc::table_view&)>& visit) const override {
    for (int i = 1; i <= count_; ++i) {
      const Rcpp::RObject block = read(i);
      visit(as_table(block));
    }
  }

 private:
  Rcpp::RObject read(int i) const {
    const r_code_runs guard;
    return read_(chunks_, i);
  }

  SEXP chunks_;
  int count_;
  Rcpp::Function read_;
};

inline Rcpp::Function own_function(const char* name) {
  return Rcpp::Environment::namespace_env("dpsc")[name];
}

/// Rows that remain in their source: sums come from R's answer_question(), which gets them from SQL
/// or from workers, and rows at some places from sample_rows(). Sums reach the core in the same
/// call.
class asked_source : public dpsc::row_source {
 public:
  explicit asked_source(SEXP donors) : donors_(donors) {}

  void pass(const dpsc::table_visitor& visit) const override { rows_at({}, visit); }

  bool ask(const dpsc::row_map& map, dpsc::radius_energy& into) const override {
    return energy(from_row_map(map), into);
  }

  bool ask(const dpsc::product_map& map, dpsc::radius_energy& into) const override {
    return energy(from_products(map), into);
  }

  bool ask(const dpsc::row_map& map, dpsc::clipped_moments& into) const override {
    const Rcpp::List sums = clipped("moments", from_row_map(map), into);
    into.add_sums(Rcpp::as<Eigen::VectorXd>(sums["sum"]), Rcpp::as<Eigen::MatrixXd>(sums["gram"]),
                  sums["rows"]);
    return true;
  }

  bool ask(const dpsc::product_map& map, dpsc::clipped_sums& into) const override {
    const Rcpp::List sums = clipped("sums", from_products(map), into);
    into.add_sums(Rcpp::as<Eigen::VectorXd>(sums["sum"]), sums["rows"]);
    return true;
  }

  bool ask(const dpsc::people_question& question, dpsc::people_sums& into) const override {
    const Rcpp::List sums = answer(from_question(question));
    into.add(question, Rcpp::as<Eigen::MatrixXd>(sums["sums"]), sums["rows"], sums["there"]);
    return true;
  }

  bool answers() const override { return true; }

  Eigen::Index rows_at(const dpsc::row_positions& which,
                       const dpsc::table_visitor& visit) const override {
    const Rcpp::List found = sample(which);
    for (SEXP block : Rcpp::List(found["blocks"])) visit(as_table(block));
    return static_cast<Eigen::Index>(Rcpp::as<double>(found["rows"]));
  }

 private:
  /// Places are passed in an environment, since the error of a failed call shows its arguments.
  Rcpp::List sample(const dpsc::row_positions& which) const {
    const r_code_runs guard;
    Rcpp::Environment places = Rcpp::Environment::empty_env().new_child(true);
    if (!which.all) places["at"] = Rcpp::NumericVector(which.at.begin(), which.at.end());
    return own_function("sample_rows")(donors_, places);
  }

  bool energy(const Rcpp::List& map, dpsc::radius_energy& into) const {
    using Rcpp::_;
    const Rcpp::List sums = answer(Rcpp::List::create(
        _["kind"] = "energy", _["map"] = map, _["squared"] = into.squared_radii(),
        _["inverse"] = into.inverse(), _["one"] = into.one()));
    into.add_sums(sums["kept"], sums["beyond"], sums["rows"]);
    return true;
  }

  Rcpp::List clipped(const char* kind, const Rcpp::List& map,
                     const dpsc::clipped_sums& into) const {
    using Rcpp::_;
    return answer(Rcpp::List::create(_["kind"] = kind, _["map"] = map, _["radius"] = into.radius(),
                                     _["limit"] = into.limit(), _["zoom"] = into.zoom()));
  }

  Rcpp::List answer(const Rcpp::List& question) const {
    const r_code_runs guard;
    return own_function("answer_question")(donors_, question);
  }

  SEXP donors_;
};

inline std::unique_ptr<dpsc::row_source> as_source(SEXP donors) {
  if (Rf_inherits(donors, "dp_joined")) {
    const Rcpp::List parts = Rcpp::List(donors)["parts"];
    std::vector<std::unique_ptr<dpsc::row_source>> sources;
    for (SEXP part : parts) sources.push_back(as_source(part));
    return std::make_unique<dpsc::joined_source>(std::move(sources));
  }
  if (Rf_inherits(donors, "dp_asked")) return std::make_unique<asked_source>(donors);
  if (!Rf_inherits(donors, "dp_chunks"))
    return std::make_unique<dpsc::matrix_source>(as_table(donors));
  const Rcpp::List chunks(donors);
  return std::make_unique<chunk_source>(donors, Rcpp::as<int>(chunks["count"]),
                                        own_function("read_block"));
}
