// Private linear regression for R. Sums over people stay in C++ until noise was added to them.
#include <RcppEigen.h>

#include <dpsc/release/lm_release.hpp>

#include "r_design.h"
#include "r_noise.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::lm_facts as_facts(const Rcpp::List& x) {
  dpsc::lm_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.design = as_design(x["design"]);
  const Rcpp::CharacterVector names = Rcpp::as<Rcpp::List>(x["design"])["names"];
  for (std::size_t j : facts.design.located())
    facts.located.push_back(Rcpp::as<std::string>(names[static_cast<R_xlen_t>(j)]));
  return facts;
}

Rcpp::List from_round(const dpsc::lm_round& r) {
  return Rcpp::List::create(
      _["centre"] = r.frame.centre, _["whiten"] = r.frame.whiten, _["slope"] = r.frame.slope,
      _["level"] = r.frame.level, _["radius"] = r.radius, _["clip"] = r.clip,
      _["weight"] = r.weight, _["mean"] = r.mean, _["residual"] = r.residual,
      _["covariance"] = r.covariance, _["cross"] = r.cross, _["variance"] = r.variance,
      _["sd"] = Rcpp::NumericVector::create(r.sd_covariance, r.sd_cross, r.sd_variance, r.sd_mean,
                                            r.sd_residual));
}

dpsc::lm_round as_round(const Rcpp::List& x) {
  dpsc::lm_round r;
  r.frame = {Rcpp::as<Eigen::VectorXd>(x["centre"]), Rcpp::as<Eigen::MatrixXd>(x["whiten"]),
             Rcpp::as<Eigen::VectorXd>(x["slope"]), Rcpp::as<double>(x["level"])};
  r.radius = Rcpp::as<double>(x["radius"]);
  r.clip = Rcpp::as<double>(x["clip"]);
  r.weight = Rcpp::as<double>(x["weight"]);
  r.mean = Rcpp::as<Eigen::VectorXd>(x["mean"]);
  r.residual = Rcpp::as<double>(x["residual"]);
  r.covariance = Rcpp::as<Eigen::MatrixXd>(x["covariance"]);
  r.cross = Rcpp::as<Eigen::VectorXd>(x["cross"]);
  r.variance = Rcpp::as<double>(x["variance"]);
  const Rcpp::NumericVector sd = x["sd"];
  r.sd_covariance = sd[0];
  r.sd_cross = sd[1];
  r.sd_variance = sd[2];
  r.sd_mean = sd[3];
  r.sd_residual = sd[4];
  return r;
}

Rcpp::List from_release(const dpsc::lm_release& release) {
  Rcpp::List rounds;
  for (const dpsc::lm_round& round : release.rounds) rounds.push_back(from_round(round));
  return Rcpp::List::create(_["median"] = release.location.median,
                            _["scale"] = release.location.scale, _["rounds"] = rounds);
}

Rcpp::List from_estimate(const dpsc::lm_estimate& e) {
  return Rcpp::List::create(
      _["coefficients"] =
          Rcpp::NumericVector(e.coefficients.data(), e.coefficients.data() + e.coefficients.size()),
      _["privacy"] = e.privacy, _["sampling"] = e.sampling, _["residual"] = e.residual,
      _["r.squared"] = e.r_squared,
      _["identified"] =
          Rcpp::NumericVector(e.identified.data(), e.identified.data() + e.identified.size()));
}

std::vector<int> as_kept(const Rcpp::IntegerVector& kept, Eigen::Index p) {
  std::vector<int> out;
  for (int k : kept) {
    if (k < 1 || k > p) throw std::invalid_argument("there is no such column");
    out.push_back(k - 1);
  }
  return out;
}

}  // namespace

// What a regression will spend and on what; sees no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_plan_cpp(const Rcpp::List& facts) {
  const dpsc::lm_plan plan = dpsc::plan_lm(as_facts(facts));
  Rcpp::List rounds;
  for (const dpsc::lm_round_plan& round : plan.rounds)
    rounds.push_back(Rcpp::List::create(
        _["limit"] = round.limit, _["residual_limit"] = round.residual_limit,
        _["constant"] = round.constant, _["noise"] = round.noise, _["exponent"] = round.exponent));
  return Rcpp::List::create(
      _["steps"] = as_steps(plan.records), _["total"] = plan.total, _["rho"] = plan.rho,
      _["signal"] = plan.signal, _["resolved"] = plan.resolved, _["located"] = plan.location.made,
      _["rounds"] = rounds,
      _["shares"] = Rcpp::NumericVector::create(_["location"] = plan.shares.location,
                                                _["limits"] = plan.shares.limits,
                                                _["moments"] = plan.shares.moments));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List lm_release_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng) {
  const auto source = as_source(rows);
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_release(dpsc::run_lm(plan, known, *source, draws, interrupter()));
  });
}

// A release whose sums without noise are written down: for audits, on made-up rows only. With
// `outputs` those are given instead of noise.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_audit_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng,
                        const Rcpp::Nullable<Rcpp::List>& outputs) {
  const auto source = as_source(rows);
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  return with_record(rng, outputs, "release", [&](dpsc::noise& draws) {
    return from_release(dpsc::run_lm(plan, known, *source, draws, interrupter()));
  });
}

// Coefficients in the formula's units from a release; `kept`: columns of a submodel, or NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_estimate_cpp(const Rcpp::List& release, const Rcpp::List& design, double n,
                           const Rcpp::Nullable<Rcpp::IntegerVector>& kept) {
  const dpsc::lm_design known = as_design(design);
  const dpsc::lm_location location{Rcpp::as<Eigen::VectorXd>(release["median"]),
                                   Rcpp::as<Eigen::VectorXd>(release["scale"])};
  std::vector<dpsc::lm_round> rounds;
  for (SEXP round : Rcpp::List(release["rounds"])) rounds.push_back(as_round(round));
  bool closed = true;
  const dpsc::lm_units units = dpsc::multiply_out(known, location, closed);
  if (!closed) throw std::invalid_argument("a product needs its lower orders");
  const dpsc::lm_pool pool(rounds);
  if (kept.isNull()) return from_estimate(dpsc::estimate_full(pool, units, n));
  return from_estimate(
      dpsc::estimate_part(pool, units, n, as_kept(Rcpp::IntegerVector(kept), known.p())));
}

// Does every product have its columns of lower order?
// [[Rcpp::export(rng = false)]]
bool lm_closed_cpp(const Rcpp::List& design) {
  const dpsc::lm_design known = as_design(design);
  const auto count = static_cast<Eigen::Index>(known.variables.size());
  bool closed = true;
  // A location that is nowhere zero.
  dpsc::multiply_out(
      known, {Eigen::VectorXd::LinSpaced(count, 0.31, 0.37), Eigen::VectorXd::Ones(count)}, closed);
  return closed;
}

// Mean and covariance of the columns without noise: NOT PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_raw_cpp(SEXP rows, const Rcpp::List& design) {
  const auto source = as_source(rows);
  const dpsc::lm_design known = as_design(design);
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double count = 0.0;
  dpsc::raw_columns(*source, known, mean, covariance, count);
  return Rcpp::List::create(_["mean"] = mean, _["covariance"] = covariance, _["rows"] = count);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List lm_raw_estimate_cpp(const Rcpp::List& raw, const Rcpp::IntegerVector& kept) {
  const auto mean = Rcpp::as<Eigen::VectorXd>(raw["mean"]);
  return from_estimate(dpsc::estimate_raw(mean, Rcpp::as<Eigen::MatrixXd>(raw["covariance"]),
                                          Rcpp::as<double>(raw["rows"]),
                                          as_kept(kept, mean.size() - 1)));
}

// Integer rows of a round, for tests. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_rows_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& release, int round) {
  const auto source = as_source(rows);
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  const dpsc::lm_location location{Rcpp::as<Eigen::VectorXd>(release["median"]),
                                   Rcpp::as<Eigen::VectorXd>(release["scale"])};
  const dpsc::lm_round made =
      as_round(Rcpp::as<Rcpp::List>(release["rounds"])[static_cast<R_xlen_t>(round - 1)]);
  const dpsc::lm_round_plan& step = plan.rounds[static_cast<std::size_t>(round - 1)];
  const Eigen::Index p = known.design.p();
  dpsc::lm_reader reader(known.design);
  dpsc::lm_columns columns(known.design, location);
  dpsc::lm_features features(columns, made.frame);
  const auto steps = [&](double x) { return std::max(1.0, std::floor(x / features.unit())); };
  dpsc::lm_outer outer(step, p, steps(made.radius), steps(made.clip));
  Eigen::MatrixXd out(0, p + 2);
  reader.pass(*source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd& u = outer.rows(features.features(columns.columns(grid)), present);
    Eigen::MatrixXd joined(out.rows() + u.rows(), p + 2);
    joined << out, u;
    out.swap(joined);
  });
  return Rcpp::List::create(_["rows"] = out, _["bound"] = step.bound(), _["limit"] = step.limit,
                            _["residual_limit"] = step.residual_limit,
                            _["constant"] = step.constant);
}

// Losses of a median from counts, for tests.
// [[Rcpp::export(rng = false)]]
std::vector<double> median_losses_cpp(const std::vector<double>& counts, double missing) {
  const std::vector<std::int64_t> whole(counts.begin(), counts.end());
  const std::vector<std::int64_t> out =
      dpsc::median_losses(whole, static_cast<std::int64_t>(missing));
  return {out.begin(), out.end()};
}
