// Glue for leave-one-out errors. Rows are n x T, scaled units.
#include <RcppEigen.h>

#include <dpsc/estimate/leave_one_out.hpp>

namespace {

using matrix_map = Eigen::Map<Eigen::MatrixXd>;
using vector_map = Eigen::Map<Eigen::VectorXd>;

void check_rows(const matrix_map& rows, Eigen::Index periods) {
  if (rows.cols() != periods) throw std::invalid_argument("the rows do not fit the periods");
  if (!rows.allFinite()) throw std::domain_error("the rows must be finite");
}

dpsc::donor_moments as_moments(const Rcpp::List& moments) {
  return {Rcpp::as<Eigen::VectorXd>(moments["mean"]),
          Rcpp::as<Eigen::MatrixXd>(moments["covariance"]), Rcpp::as<double>(moments["n"])};
}

dpsc::deleted_ridge ridge_of_rows(const matrix_map& rows, int T0, double penalty, double softness) {
  check_rows(rows, rows.cols());
  if (rows.rows() < 2) throw std::invalid_argument("two donors at least are needed");
  return {dpsc::moments_of(rows), T0, penalty, softness};
}

Rcpp::List target_facts(const dpsc::deleted_ridge& ridge, const Eigen::VectorXd& pre) {
  const Eigen::VectorXd variation = dpsc::own_variation(pre.transpose());
  return Rcpp::List::create(
      Rcpp::Named("predicted") = ridge.predict(pre), Rcpp::Named("leverage") = ridge.leverage(pre),
      Rcpp::Named("freedom") = ridge.freedom(), Rcpp::Named("spread") = ridge.spread(),
      Rcpp::Named("row_scale") = ridge.row_scale(variation, variation[0], 1.0)[0]);
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List deleted_errors_cpp(const Eigen::Map<Eigen::MatrixXd>& rows, int T0, double penalty) {
  const dpsc::deleted_errors own = ridge_of_rows(rows, T0, penalty, 1.0).errors(rows);
  return Rcpp::List::create(Rcpp::Named("error") = own.error,
                            Rcpp::Named("leverage") = own.leverage);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List deleted_limits_cpp(const Eigen::Map<Eigen::MatrixXd>& rows,
                              const Eigen::Map<Eigen::VectorXd>& pre, double penalty,
                              double softness) {
  const dpsc::deleted_ridge ridge =
      ridge_of_rows(rows, static_cast<int>(pre.size()), penalty, softness);
  const dpsc::deleted_limits limits = ridge.limits(rows, pre);
  return Rcpp::List::create(Rcpp::Named("low") = limits.low, Rcpp::Named("high") = limits.high,
                            Rcpp::Named("band") = limits.band,
                            Rcpp::Named("spread") = limits.spread,
                            Rcpp::Named("target") = target_facts(ridge, pre));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List deleted_target_cpp(const Rcpp::List& moments, const Eigen::Map<Eigen::VectorXd>& pre,
                              double penalty, double softness) {
  return target_facts({as_moments(moments), pre.size(), penalty, softness}, pre);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List deleted_counts_cpp(const Eigen::Map<Eigen::MatrixXd>& rows, const Rcpp::List& moments,
                              int T0, double penalty, double softness) {
  const dpsc::deleted_ridge ridge(as_moments(moments), T0, penalty, softness);
  check_rows(rows, Rcpp::as<Eigen::VectorXd>(moments["mean"]).size());
  dpsc::deleted_counts counts(ridge);
  constexpr Eigen::Index block = 1024;
  for (Eigen::Index from = 0; from < rows.rows(); from += block) {
    Rcpp::checkUserInterrupt();
    counts.add(rows.middleRows(from, std::min(block, rows.rows() - from)), T0);
  }
  return Rcpp::List::create(Rcpp::Named("counts") = counts.counts(),
                            Rcpp::Named("powers") = counts.powers());
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd deleted_count_ends_cpp() { return dpsc::deleted_counts::ends(); }
