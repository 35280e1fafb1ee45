// Every random draw of the package. [[Rcpp::export(rng = false)]]: r_engine opens its own scope,
// so a secure draw leaves .Random.seed alone.
#include <RcppEigen.h>

#include <dpsc/noise/continuous.hpp>
#include <dpsc/noise/discrete.hpp>

#include "r_noise.h"
#include "r_probe.h"

namespace {

Rcpp::List from_call(const dpsc::noise_call& call) {
  using Rcpp::_;
  const bool choice = call.kind == dpsc::law::exponential;
  return Rcpp::List::create(
      _["label"] = call.label, _["law"] = dpsc::law_name(call.kind),
      _["scale"] = Rcpp::wrap(call.scale), _["value"] = Rcpp::wrap(call.exact),
      _["offset"] = choice ? Rcpp::wrap(call.offset) : R_NilValue,
      _["output"] = Rcpp::wrap(call.output), _["log_curvature"] = call.log_curvature);
}

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

Rcpp::NumericVector discrete_gaussian_cpp(const Rcpp::NumericVector& variance, SEXP rng) {
  return draw_integers<dpsc::discrete_gaussian>(variance, rng);
}
const probe discrete_gaussian_probe("discrete_gaussian", discrete_gaussian_cpp);

Rcpp::NumericVector discrete_laplace_cpp(const Rcpp::NumericVector& scale, SEXP rng) {
  return draw_integers<dpsc::discrete_laplace>(scale, rng);
}
const probe discrete_laplace_probe("discrete_laplace", discrete_laplace_cpp);

// A variance that is a fraction, for tests against published values (sigma^2 = 1/4 and others).
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
const probe discrete_gaussian_ratio_probe("discrete_gaussian_ratio", discrete_gaussian_ratio_cpp);

Eigen::VectorXd gaussian_noise_cpp(int dimension, double sigma, SEXP rng) {
  return with_engine(rng,
                     [&](auto& engine) { return dpsc::gaussian_vector(dimension, sigma, engine); });
}
const probe gaussian_noise_probe("gaussian_noise", gaussian_noise_cpp);

Eigen::VectorXd gamma_norm_noise_cpp(int dimension, double scale, SEXP rng) {
  return with_engine(
      rng, [&](auto& engine) { return dpsc::gamma_norm_vector(dimension, scale, engine); });
}
const probe gamma_norm_noise_probe("gamma_norm_noise", gamma_norm_noise_cpp);

// A noise object to pass to mechanisms: it draws from `rng` and records the requests.
// [[Rcpp::export(rng = false)]]
SEXP noise_recorder_cpp(SEXP rng) { return Rcpp::XPtr<handed_noise>(new handed_noise(rng)); }

// [[Rcpp::export(rng = false)]]
bool noise_open_cpp(SEXP noise) {
  return TYPEOF(noise) == EXTPTRSXP && R_ExternalPtrAddr(noise) && !handed(noise).closed();
}

// Erases the record; the noise object cannot be used afterwards.
// [[Rcpp::export(rng = false)]]
void noise_close_cpp(SEXP noise) { handed(noise).close(); }

// From now on the noise object returns these outputs and positions, in their order.
// [[Rcpp::export(rng = false)]]
void noise_replay_cpp(SEXP noise, const Rcpp::List& outputs, const Rcpp::List& places) {
  std::vector<Eigen::VectorXd> known;
  for (SEXP output : outputs) known.push_back(Rcpp::as<Eigen::VectorXd>(output));
  std::vector<std::vector<Eigen::Index>> positions;
  for (SEXP drawn : places) {
    const auto at = Rcpp::as<std::vector<double>>(drawn);
    positions.emplace_back(at.begin(), at.end());
  }
  handed(noise).replay(std::move(known), std::move(positions));
}

// Requests to a noise object since it was made, or since its replay began, with the sums without
// noise. For audits, on made-up people only. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List noise_calls_cpp(SEXP noise) {
  const handed_noise& record = handed(noise);
  Rcpp::List calls, places;
  for (const dpsc::noise_call& call : record.calls()) calls.push_back(from_call(call));
  for (const auto& drawn : record.places())
    places.push_back(Rcpp::NumericVector(drawn.begin(), drawn.end()));
  return Rcpp::List::create(Rcpp::_["calls"] = calls, Rcpp::_["places"] = places,
                            Rcpp::_["diverged"] = record.diverged());
}
