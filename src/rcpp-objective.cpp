#include <RcppEigen.h>

#include <dpsc/solver/capped_l1_qp.hpp>

// Minimise f'(2 XX' + mu I)f / 2 - linear'f over ||f||_1 <= 1, |f_j| <= cap.
// [[Rcpp::export(rng = false)]]
Rcpp::List capped_l1_qp_cpp(const Eigen::Map<Eigen::MatrixXd>& X,
                            const Eigen::Map<Eigen::VectorXd>& linear, double mu, double cap,
                            double tolerance) {
  const dpsc::capped_l1_qp problem(X, linear, mu, cap);
  const auto answer = problem.solve(tolerance, dpsc::runtime([] { Rcpp::checkUserInterrupt(); }));
  return Rcpp::List::create(
      Rcpp::Named("solution") = answer.point, Rcpp::Named("distance") = answer.distance,
      Rcpp::Named("certified") = answer.certified, Rcpp::Named("iterations") = answer.iterations);
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd project_capped_l1_cpp(const Eigen::Map<Eigen::VectorXd>& point, double cap) {
  return dpsc::capped_l1_ball(cap).project(point);
}
