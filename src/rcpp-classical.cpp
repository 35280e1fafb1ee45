// Glue for the estimators on raw data. Donors are n x T, one row per donor; indices are R's, from
// 1.
#include <RcppEigen.h>

#include <dpsc/solver/nested_v.hpp>
#include <dpsc/solver/simplex_batch.hpp>

#include "r_host.h"

namespace {

using matrix_map = Eigen::Map<Eigen::MatrixXd>;
using vector_map = Eigen::Map<Eigen::VectorXd>;

dpsc::simplex_ls new_solver() {
  dpsc::simplex_ls solver;
  solver.host = r_host();
  return solver;
}

void check_periods(const matrix_map& donors, int T0) {
  if (T0 < 1 || T0 > donors.cols())
    throw std::invalid_argument("T0 must lie between 1 and the number of periods");
  if (!donors.allFinite()) throw std::domain_error("donors must be finite");
}

Rcpp::List as_list(const dpsc::simplex_batch& batch) {
  return Rcpp::List::create(Rcpp::Named("paths") = batch.paths,
                            Rcpp::Named("objective") = batch.objective,
                            Rcpp::Named("kkt") = batch.kkt);
}

Rcpp::List as_list(const dpsc::nested_result& result) {
  return Rcpp::List::create(
      Rcpp::Named("importance") = result.importance, Rcpp::Named("weights") = result.weights,
      Rcpp::Named("loss") = result.loss, Rcpp::Named("objective") = result.distance,
      Rcpp::Named("kkt") = result.kkt);
}

// Uses the given importances, or searches for them.
dpsc::nested_result run_nested(dpsc::nested_search& search, const Rcpp::NumericVector& importance,
                               const dpsc::nested_settings& settings) {
  search.solver.host = r_host();
  if (importance.size() == 0) return search.search(settings);
  return search.result(Rcpp::as<Eigen::VectorXd>(importance));
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::List simplex_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                           const Eigen::Map<Eigen::VectorXd>& target, int T0, bool demean,
                           double lambda) {
  check_periods(donors, T0);
  dpsc::simplex_ls solver = new_solver();
  if (target.size() < T0) throw std::invalid_argument("the target is too short");
  const auto& fit = solver.solve(donors.leftCols(T0), target.head(T0), {demean, lambda});
  return Rcpp::List::create(
      Rcpp::Named("weights") = fit.dense(donors.rows()), Rcpp::Named("intercept") = fit.intercept,
      Rcpp::Named("counterfactual") = dpsc::mixture(fit, donors),
      Rcpp::Named("objective") = fit.objective, Rcpp::Named("kkt") = fit.kkt,
      Rcpp::Named("gap") = fit.gap, Rcpp::Named("ties") = static_cast<double>(fit.ties));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List simplex_placebos_cpp(const Eigen::Map<Eigen::MatrixXd>& donors, int T0, bool demean,
                                double lambda) {
  check_periods(donors, T0);
  dpsc::simplex_ls solver = new_solver();
  return as_list(dpsc::placebo_paths(solver, donors, T0, {demean, lambda}));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List simplex_leave_out_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                                 const Eigen::Map<Eigen::VectorXd>& target, int T0, bool demean,
                                 double lambda, const std::vector<int>& dropped) {
  check_periods(donors, T0);
  dpsc::simplex_ls solver = new_solver();
  std::vector<Eigen::Index> skip;
  for (const int i : dropped) {
    if (i < 1 || i > donors.rows()) throw std::out_of_range("no such donor");
    skip.push_back(i - 1);
  }
  return as_list(dpsc::leave_out_paths(solver, donors, target, T0, {demean, lambda}, skip));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List simplex_residuals_cpp(const Eigen::Map<Eigen::MatrixXd>& donors,
                                 const Eigen::Map<Eigen::MatrixXd>& targets, bool demean,
                                 double lambda) {
  dpsc::simplex_ls solver = new_solver();
  return as_list(dpsc::refit_residuals(solver, donors, targets, {demean, lambda}));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List nested_fit_cpp(const Eigen::Map<Eigen::MatrixXd>& predictors,
                          const Eigen::Map<Eigen::VectorXd>& target_predictors,
                          const Eigen::Map<Eigen::MatrixXd>& outcomes,
                          const Eigen::Map<Eigen::VectorXd>& target_outcomes,
                          const Rcpp::NumericVector& importance, int screened, int starts,
                          int evaluations) {
  dpsc::nested_search search(predictors, target_predictors, outcomes, target_outcomes);
  return as_list(run_nested(search, importance, {screened, starts, evaluations}));
}

// Row i of `paths`: donor i's counterfactual from all other donors.
// [[Rcpp::export(rng = false)]]
Rcpp::List nested_placebos_cpp(const Eigen::Map<Eigen::MatrixXd>& predictors,
                               const Eigen::Map<Eigen::MatrixXd>& donors,
                               const std::vector<int>& judged,
                               const Rcpp::NumericVector& importance, int screened, int starts,
                               int evaluations) {
  check_periods(donors, 1);
  const Eigen::Index n = donors.rows();
  Eigen::MatrixXd outcomes(n, static_cast<Eigen::Index>(judged.size()));
  for (std::size_t s = 0; s < judged.size(); ++s) {
    if (judged[s] < 1 || judged[s] > donors.cols()) throw std::out_of_range("no such period");
    outcomes.col(static_cast<Eigen::Index>(s)) = donors.col(judged[s] - 1);
  }
  dpsc::simplex_batch out(n, donors.cols());
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::VectorXd z = predictors.row(i).transpose(), y = outcomes.row(i).transpose();
    dpsc::nested_search search(predictors, z, outcomes, y, i);
    const auto fit = run_nested(search, importance, {screened, starts, evaluations});
    out.paths.row(i) = (donors.transpose() * fit.weights).transpose();
    out.objective[i] = fit.loss;
    out.kkt[i] = fit.kkt;
  }
  return as_list(out);
}
