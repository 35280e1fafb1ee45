#include <Rcpp.h>

#include <dpsc/accountant/gaussian.hpp>
#include <dpsc/accountant/gdp.hpp>
#include <dpsc/accountant/zcdp.hpp>

#include "r_probe.h"

double log_normal_cdf_cpp(double x) { return dpsc::log_normal_cdf(x); }

// [[Rcpp::export(rng = false)]]
double log_gaussian_delta_cpp(double epsilon, double mu) {
  return dpsc::log_gaussian_delta(epsilon, mu).log;
}
const probe log_normal_cdf_probe("log_normal_cdf", log_normal_cdf_cpp);

// [[Rcpp::export(rng = false)]]
double gaussian_mu_cpp(double epsilon, double delta) { return dpsc::gaussian_mu(epsilon, delta); }

// [[Rcpp::export(rng = false)]]
double log_cdp_delta_cpp(double rho, double epsilon) { return dpsc::log_cdp_delta(rho, epsilon); }

// [[Rcpp::export(rng = false)]]
double cdp_epsilon_cpp(double rho, double delta) { return dpsc::cdp_epsilon(rho, delta); }

// [[Rcpp::export(rng = false)]]
double cdp_rho_cpp(double epsilon, double delta) { return dpsc::cdp_rho(epsilon, delta); }

// [[Rcpp::export(rng = false)]]
double exponential_step_mu_cpp(double exponent) { return dpsc::exponential_step_mu(exponent); }

// [[Rcpp::export(rng = false)]]
double exponential_exponent_cpp(double mu) { return dpsc::exponential_exponent(mu); }

// [[Rcpp::export(rng = false)]]
double gdp_budget_cpp(double epsilon, double delta) { return dpsc::gdp_budget(epsilon, delta); }

// [[Rcpp::export(rng = false)]]
double gdp_epsilon_cpp(double mu, double delta) { return dpsc::gdp_epsilon(mu, delta); }

// [[Rcpp::export(rng = false)]]
double gdp_compose_cpp(const Rcpp::NumericVector& mu) {
  return dpsc::gdp_compose(mu.begin(), mu.end());
}

const probe gaussian_vector_variance_probe("gaussian_vector_variance",
                                           dpsc::gaussian_vector_variance);

double gaussian_step_variance_cpp(double bound, double mu) {
  return dpsc::gaussian_step_variance(bound, mu);
}
const probe gaussian_step_variance_probe("gaussian_step_variance", gaussian_step_variance_cpp);

double gaussian_vector_mu_cpp(double sensitivity, double variance) {
  return dpsc::gaussian_vector_mu(sensitivity, variance);
}
const probe gaussian_vector_mu_probe("gaussian_vector_mu", gaussian_vector_mu_cpp);

// [[Rcpp::export(rng = false)]]
double gaussian_step_mu_cpp(double bound, double variance) {
  return dpsc::gaussian_step_mu(bound, variance);
}

double laplace_outer_sensitivity_cpp(double bound, double m) {
  return dpsc::laplace_outer_sensitivity(bound, m);
}
const probe laplace_outer_sensitivity_probe("laplace_outer_sensitivity",
                                            laplace_outer_sensitivity_cpp);

// [[Rcpp::export(rng = false)]]
double laplace_gram_sensitivity_cpp(double radius, double constant, double d) {
  return dpsc::laplace_gram_sensitivity(radius, constant, d);
}
