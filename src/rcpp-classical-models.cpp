// Glue for the estimators on raw data, each of which has a header in classical/. Donors are n x T.
#include <RcppEigen.h>

#include <dpsc/classical/augmented.hpp>
#include <dpsc/classical/covariates.hpp>
#include <dpsc/classical/elastic.hpp>
#include <dpsc/classical/interactive.hpp>
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

// [[Rcpp::export(rng = false)]]
Rcpp::List elastic_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                           const Eigen::Map<Eigen::VectorXd>& target, double lambda, double alpha) {
  const auto fit = dpsc::fit_elastic(donors, target, lambda, alpha, r_host());
  return Rcpp::List::create(Named("weights") = fit.weights, Named("objective") = fit.objective,
                            Named("kkt") = fit.kkt);
}

// `balanced` is n x m: the balanced variables, outcomes before treatment first.
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

// The part of the outcomes that covariates explain, removed before "sdid" is fitted. Covariates:
// `varying` is (n + 1) x T p, `units` (n + 1) x q, the target's row last.
// [[Rcpp::export(rng = false)]]
Rcpp::List covariates_out_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                              const Eigen::Map<Eigen::VectorXd>& target, int T0,
                              const Eigen::Map<Eigen::MatrixXd>& varying,
                              const Eigen::Map<Eigen::MatrixXd>& units, double weight) {
  const auto out = dpsc::adjust_for(donors, target, T0, {varying, units}, weight);
  return Rcpp::List::create(Named("slopes") = out.slopes, Named("donors") = out.donors,
                            Named("path") = out.path);
}

// The first covariate of the donors that is collinear with effects and earlier ones, from 1; else
// 0.
// [[Rcpp::export(rng = false)]]
int covariates_redundant_cpp(const Eigen::Map<Eigen::MatrixXd>& varying,
                             const Eigen::Map<Eigen::MatrixXd>& units, int periods) {
  return static_cast<int>(dpsc::first_redundant({varying, units}, periods));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List factor_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                          const Eigen::Map<Eigen::VectorXd>& target, int T0, int rank,
                          const Eigen::Map<Eigen::MatrixXd>& varying,
                          const Eigen::Map<Eigen::MatrixXd>& units) {
  dpsc::interactive_effects model(donors, target, T0, {varying, units}, r_host());
  const auto fit = model.fit(rank);
  return Rcpp::List::create(
      Named("weights") = fit.factors.weights, Named("intercept") = fit.factors.intercept,
      Named("counterfactual") = fit.factors.counterfactual,
      Named("objective") = fit.factors.objective, Named("loadings") = fit.factors.loadings,
      Named("slopes") = fit.slopes, Named("kkt") = fit.slopes.size() > 0 ? fit.kkt : NA_REAL);
}

// Errors by number of factors, from 0 to `most` or to the number that the donors permit.
// [[Rcpp::export(rng = false)]]
Eigen::VectorXd factor_path_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                                const Eigen::Map<Eigen::VectorXd>& target, int T0, int most,
                                const Eigen::Map<Eigen::MatrixXd>& varying,
                                const Eigen::Map<Eigen::MatrixXd>& units) {
  dpsc::interactive_effects model(donors, target, T0, {varying, units}, r_host());
  return model.cross_validate(most);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List mcnnm_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                         const Eigen::Map<Eigen::VectorXd>& target, int T0, double lambda,
                         const Eigen::Map<Eigen::MatrixXd>& varying,
                         const Eigen::Map<Eigen::MatrixXd>& units) {
  const auto fit = dpsc::fit_mcnnm(donors, target, T0, lambda, {varying, units}, r_host());
  return Rcpp::List::create(Named("weights") = fit.weights, Named("intercept") = fit.intercept,
                            Named("counterfactual") = fit.counterfactual,
                            Named("objective") = fit.objective, Named("kkt") = fit.kkt,
                            Named("rank") = static_cast<double>(fit.rank),
                            Named("slopes") = fit.slopes);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List mcnnm_path_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                          const Eigen::Map<Eigen::VectorXd>& target, int T0, int penalties,
                          double smallest, const Eigen::Map<Eigen::MatrixXd>& varying,
                          const Eigen::Map<Eigen::MatrixXd>& units) {
  const auto path = dpsc::cross_validate_mcnnm(donors, target, T0, penalties, smallest,
                                               {varying, units}, r_host());
  return Rcpp::List::create(Named("lambda") = path.lambda, Named("error") = path.error);
}
