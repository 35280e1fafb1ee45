// Every random draw of the package. [[Rcpp::export(rng = false)]]: r_engine opens its own scope,
// so a secure draw leaves .Random.seed alone.
#include <RcppEigen.h>

#include <dpsc/noise/continuous.hpp>
#include <dpsc/noise/discrete.hpp>

#include "r_engine.h"

namespace {

constexpr int draws_between_interrupts = 1 << 14;

template <typename Law>
Rcpp::NumericVector draw_integers(const Rcpp::NumericVector& parameter, SEXP rng) {
  const R_xlen_t n = parameter.size();
  Rcpp::NumericVector out(n);
  with_engine(rng, [&](auto& engine) {
    for (R_xlen_t i = 0; i < n; ++i) {
      if (i % draws_between_interrupts == 0) Rcpp::checkUserInterrupt();
      out[i] = static_cast<double>(Law(static_cast<std::int64_t>(parameter[i]))(engine));
    }
    return 0;
  });
  return out;
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector discrete_gaussian_cpp(const Rcpp::NumericVector& variance, SEXP rng) {
  return draw_integers<dpsc::discrete_gaussian>(variance, rng);
}

// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector discrete_laplace_cpp(const Rcpp::NumericVector& scale, SEXP rng) {
  return draw_integers<dpsc::discrete_laplace>(scale, rng);
}

// A variance that is a fraction, for the pins of the literature (sigma^2 = 1/4 and the like).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector discrete_gaussian_ratio_cpp(int n, double numerator, double denominator,
                                                SEXP rng) {
  const dpsc::discrete_gaussian law(static_cast<std::int64_t>(numerator),
                                    static_cast<std::int64_t>(denominator));
  Rcpp::NumericVector out(n);
  with_engine(rng, [&](auto& engine) {
    for (double& value : out) value = static_cast<double>(law(engine));
    return 0;
  });
  return out;
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd gaussian_noise_cpp(int dimension, double sigma, SEXP rng) {
  return with_engine(rng,
                     [&](auto& engine) { return dpsc::gaussian_vector(dimension, sigma, engine); });
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd gamma_norm_noise_cpp(int dimension, double scale, SEXP rng) {
  return with_engine(
      rng, [&](auto& engine) { return dpsc::gamma_norm_vector(dimension, scale, engine); });
}
