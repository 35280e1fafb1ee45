// Glue for the estimators on raw data that are a header of classical/ each. Donors are n x T.
#include <RcppEigen.h>

#include <dpsc/classical/augmented.hpp>
#include <dpsc/classical/factor.hpp>
#include <dpsc/classical/mcnnm.hpp>
#include <dpsc/classical/sdid.hpp>

#include "r_host.h"

namespace {

using matrix_map = Eigen::Map<Eigen::MatrixXd>;
using vector_map = Eigen::Map<Eigen::VectorXd>;
using Rcpp::Named;

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List sdid_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                        const Eigen::Map<Eigen::VectorXd>& target, int T0, double zeta,
                        double zeta_periods) {
  const auto fit = dpsc::fit_sdid(donors, target, T0, zeta, zeta_periods, r_host());
  return Rcpp::List::create(Named("weights") = fit.weights, Named("intercept") = fit.intercept,
                            Named("counterfactual") = fit.counterfactual,
                            Named("objective") = fit.objective, Named("kkt") = fit.kkt,
                            Named("period_weights") = fit.period_weights);
}

// [[Rcpp::export(rng = false)]]
double difference_deviation_cpp(const Eigen::Map<Eigen::MatrixXd>& donors, int T0) {
  return dpsc::difference_deviation(donors, T0);
}

// `balanced` is n x m: what is balanced, outcomes before treatment first.
// [[Rcpp::export(rng = false)]]
Rcpp::List augmented_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& balanced,
                             const Eigen::Map<Eigen::VectorXd>& target, double lambda) {
  const auto fit = dpsc::fit_augmented(balanced, target, lambda, r_host());
  return Rcpp::List::create(Named("weights") = fit.weights, Named("simplex") = fit.simplex,
                            Named("objective") = fit.objective, Named("kkt") = fit.kkt,
                            Named("ties") = static_cast<double>(fit.ties));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List augmented_path_cpp(const Eigen::Map<Eigen::MatrixXd>& balanced,
                              const Eigen::Map<Eigen::VectorXd>& target, int periods, int penalties,
                              double smallest) {
  const auto path =
      dpsc::cross_validate_augmented(balanced, target, periods, penalties, smallest, r_host());
  return Rcpp::List::create(Named("lambda") = path.lambda, Named("error") = path.error);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List factor_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                          const Eigen::Map<Eigen::VectorXd>& target, int T0, int rank) {
  const dpsc::factor_model model(donors, rank);
  const auto fit = model.fit(target, T0, std::min<Eigen::Index>(rank, model.rank()));
  return Rcpp::List::create(Named("weights") = fit.weights, Named("intercept") = fit.intercept,
                            Named("counterfactual") = fit.counterfactual,
                            Named("objective") = fit.objective, Named("loadings") = fit.loadings);
}

// Errors by number of factors, from 0 on: at most `most`, as many as the donors have.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd factor_path_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                                const Eigen::Map<Eigen::VectorXd>& target, int T0, int most) {
  const dpsc::factor_model model(donors, most);
  return model.cross_validate(target, T0, model.rank());
}

// [[Rcpp::export(rng = false)]]
Rcpp::List mcnnm_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                         const Eigen::Map<Eigen::VectorXd>& target, int T0, double lambda) {
  const auto fit = dpsc::fit_mcnnm(donors, target, T0, lambda, r_host());
  return Rcpp::List::create(Named("weights") = fit.weights, Named("intercept") = fit.intercept,
                            Named("counterfactual") = fit.counterfactual,
                            Named("objective") = fit.objective, Named("kkt") = fit.kkt,
                            Named("rank") = static_cast<double>(fit.rank));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List mcnnm_path_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                          const Eigen::Map<Eigen::VectorXd>& target, int T0, int penalties,
                          double smallest) {
  const auto path = dpsc::cross_validate_mcnnm(donors, target, T0, penalties, smallest, r_host());
  return Rcpp::List::create(Named("lambda") = path.lambda, Named("error") = path.error);
}
