// Passes over the donors. Each returns exact sums for one block of donors; R adds blocks.
#include <RcppEigen.h>

#include <dpsc/moments.hpp>

namespace {

dpsc::row_map as_row_map(const Rcpp::List& map) {
  return {Rcpp::as<Eigen::VectorXd>(map["centre"]), Rcpp::as<double>(map["scale"]),
          Rcpp::as<Eigen::VectorXd>(map["limit"]),  Rcpp::as<Eigen::MatrixXd>(map["loadings"]),
          Rcpp::as<double>(map["rescale"]),         Rcpp::as<Eigen::VectorXd>(map["origin"]),
          Rcpp::as<bool>(map["on_grid"])};
}

template <typename Scalar, typename Accumulator>
void accumulate(const Scalar* table, Eigen::Index n, const dpsc::row_map& map, Accumulator& into) {
  dpsc::feature_reader<Scalar> reader(table, n, map);
  for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
    if (b % 16 == 0) Rcpp::checkUserInterrupt();
    into.add(reader.read(b));
  }
}

// The table is read in place, whether it holds doubles or integers.
template <typename Accumulator>
void accumulate(SEXP donors, const dpsc::row_map& map, Accumulator& into) {
  if (!Rf_isMatrix(donors) || Rf_ncols(donors) != map.periods())
    throw std::invalid_argument("the donors do not fit the row map");
  const Eigen::Index n = Rf_nrows(donors);
  if (TYPEOF(donors) == REALSXP)
    accumulate(REAL(donors), n, map, into);
  else if (TYPEOF(donors) == INTSXP)
    accumulate(INTEGER(donors), n, map, into);
  else
    throw std::invalid_argument("the donors must be numeric");
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd radius_counts_cpp(SEXP donors, const Rcpp::List& map,
                                  const std::vector<double>& squared_radii) {
  dpsc::radius_counts counts(squared_radii);
  accumulate(donors, as_row_map(map), counts);
  return counts.result();
}

// [[Rcpp::export(rng = false)]]
Rcpp::List clipped_moments_cpp(SEXP donors, const Rcpp::List& map, double radius, double zoom,
                               double clipped_radius) {
  const dpsc::row_map rows = as_row_map(map);
  dpsc::clipped_moments moments(rows.dimension(), radius, zoom, clipped_radius, rows.on_grid);
  accumulate(donors, rows, moments);
  return Rcpp::List::create(Rcpp::Named("sum") = moments.sum(),
                            Rcpp::Named("gram") = moments.gram());
}

// The mapped and clipped rows themselves, for audits and tests.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd row_features_cpp(const Eigen::Map<Eigen::MatrixXd>& donors, const Rcpp::List& map) {
  const dpsc::row_map rows = as_row_map(map);
  Eigen::MatrixXd out(donors.rows(), rows.dimension());
  dpsc::feature_reader<double> reader(donors.data(), donors.rows(), rows);
  for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
    const Eigen::MatrixXd& z = reader.read(b);
    out.middleRows(b * dpsc::feature_reader<double>::block_rows, z.rows()) = z;
  }
  return out;
}
