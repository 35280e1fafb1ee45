#include <Rcpp.h>

#include <dpsc/accountant/gaussian.hpp>
#include <dpsc/accountant/zcdp.hpp>

// [[Rcpp::export(rng = false)]]
double log_normal_cdf_cpp(double x) { return dpsc::log_normal_cdf(x); }

// [[Rcpp::export(rng = false)]]
double log_gaussian_delta_cpp(double epsilon, double mu) {
  return dpsc::log_gaussian_delta(epsilon, mu).log;
}

// [[Rcpp::export(rng = false)]]
double gaussian_mu_cpp(double epsilon, double delta) { return dpsc::gaussian_mu(epsilon, delta); }

// [[Rcpp::export(rng = false)]]
double log_cdp_delta_cpp(double rho, double epsilon) { return dpsc::log_cdp_delta(rho, epsilon); }

// [[Rcpp::export(rng = false)]]
double cdp_epsilon_cpp(double rho, double delta) { return dpsc::cdp_epsilon(rho, delta); }

// [[Rcpp::export(rng = false)]]
double cdp_rho_cpp(double epsilon, double delta) { return dpsc::cdp_rho(epsilon, delta); }
