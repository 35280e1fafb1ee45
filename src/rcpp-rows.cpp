// Checks of a table of donors, read in place whether it holds doubles or integers.
#include <Rcpp.h>

#include <dpsc/rows/finite.hpp>

// [[Rcpp::export(rng = false)]]
bool all_finite_cpp(SEXP table) {
  const std::size_t size = Rf_xlength(table);
  switch (TYPEOF(table)) {
    case REALSXP:
      return dpsc::all_finite(REAL(table), size);
    case INTSXP:
      return dpsc::all_finite(INTEGER(table), size);
    default:
      throw std::invalid_argument("the donors must be numeric");
  }
}

// The halves of a 64-bit checksum, which doubles represent exactly.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector checksum_cpp(SEXP table) {
  const std::size_t size = Rf_xlength(table);
  std::uint64_t sum = 0;
  switch (TYPEOF(table)) {
    case REALSXP:
      sum = dpsc::checksum(REAL(table), size);
      break;
    case INTSXP:
      sum = dpsc::checksum(INTEGER(table), size);
      break;
    default:
      throw std::invalid_argument("the donors must be numeric");
  }
  return {static_cast<double>(sum >> 32), static_cast<double>(sum & 0xffffffff)};
}
