// Rows of people as R holds them: a matrix, read in place, or chunks, read by R's own checks.
#pragma once

#include <RcppEigen.h>

#include <dpsc/rows/source.hpp>
#include <functional>
#include <memory>

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
  return table;
}

/// Blocks come from R's read_block(), which checks them.
class chunk_source : public dpsc::row_source {
 public:
  chunk_source(SEXP chunks, int count, const Rcpp::Function& read)
      : chunks_(chunks), count_(count), read_(read) {}

  void pass(const std::function<void(const dpsc::table_view&)>& visit) const override {
    for (int i = 1; i <= count_; ++i) {
      const Rcpp::Shield<SEXP> block(read_(chunks_, i));
      visit(as_table(block));
    }
  }

 private:
  SEXP chunks_;
  int count_;
  Rcpp::Function read_;
};

inline std::unique_ptr<dpsc::row_source> as_source(SEXP donors) {
  if (!Rf_inherits(donors, "dp_chunks"))
    return std::make_unique<dpsc::matrix_source>(as_table(donors));
  const Rcpp::List chunks(donors);
  const Rcpp::Function read = Rcpp::Environment::namespace_env("dpsc")["read_block"];
  return std::make_unique<chunk_source>(donors, Rcpp::as<int>(chunks["count"]), read);
}

/// Lets the user interrupt, now and then.
inline std::function<void(double)> interrupter() {
  return [pending = 0.0](double work) mutable {
    pending += work;
    if (pending < 3e7) return;
    pending = 0.0;
    Rcpp::checkUserInterrupt();
  };
}
