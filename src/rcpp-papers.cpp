// The papers' private regressions for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/estimate/pooled.hpp>
#include <dpsc/release/lm_release.hpp>
#include <dpsc/release/paper_release.hpp>
#include <map>
#include <string>

#include "r_design.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

struct known_paper {
  dpsc::lm_design design;
  std::string method;
  double n, epsilon, delta, ridge, condition;
  dpsc::paper_facts facts;

  bool posterior() const { return method == "ops" || method == "adaops"; }
  double d() const { return static_cast<double>(design.p() + 1); }

  dpsc::posterior_plan plan_posterior() const {
    return method == "ops" ? dpsc::plan_ops(n, d(), epsilon, delta, ridge)
                           : dpsc::plan_adaops(n, d(), epsilon, delta, condition);
  }
};

dpsc::paper_loss as_paper_loss(const Rcpp::List& x, const dpsc::lm_variable& outcome) {
  const std::map<std::string, dpsc::glm_kind> kinds = {{"binomial", dpsc::glm_kind::binomial},
                                                       {"poisson", dpsc::glm_kind::poisson},
                                                       {"gaussian", dpsc::glm_kind::gaussian}};
  const dpsc::glm_kind kind = kinds.at(Rcpp::as<std::string>(x["family"]));
  dpsc::paper_loss out;
  out.family = dpsc::glm_family(kind, Rcpp::as<double>(x["span"]));
  out.family.check();
  out.box = Rcpp::as<double>(x["box"]);
  out.lower = outcome.centre - outcome.half;
  out.upper = outcome.centre + outcome.half;
  return out;
}

known_paper as_paper(const Rcpp::List& x) {
  known_paper out;
  out.design = as_design(x["design"]);
  out.method = Rcpp::as<std::string>(x["method"]);
  out.n = Rcpp::as<double>(x["n"]);
  out.epsilon = Rcpp::as<double>(x["epsilon"]);
  out.delta = Rcpp::as<double>(x["delta"]);
  out.ridge = Rcpp::as<double>(x["ridge"]);
  out.condition = Rcpp::as<double>(x["condition"]);
  if (out.posterior()) return out;
  dpsc::paper_facts& f = out.facts;
  f.n = out.n;
  f.d = out.d();
  f.epsilon = out.epsilon;
  f.delta = out.delta;
  f.ridge = out.ridge;
  f.stages = Rcpp::as<int>(x["stages"]);
  f.iterations = Rcpp::as<int>(x["iterations"]);
  f.target = Rcpp::as<double>(x["target"]);
  const std::map<std::string, dpsc::paper_method> methods = {
      {"output", dpsc::paper_method::output},
      {"objective", dpsc::paper_method::objective},
      {"kst", dpsc::paper_method::kst},
      {"cms", dpsc::paper_method::cms},
      {"napp", dpsc::paper_method::napp}};
  f.method = methods.at(out.method);
  if (Rcpp::as<std::string>(x["calibration"]) == "published")
    f.calibration = dpsc::paper_calibration::published;
  f.loss = as_paper_loss(x, out.design.variables.back());
  return out;
}

Rcpp::NumericVector plain(const Eigen::VectorXd& x) {
  return Rcpp::NumericVector(x.data(), x.data() + x.size());
}

/// Coefficients of (1, z) in the formula's units; `response`: whether the outcome is scaled, too.
Rcpp::NumericVector in_units(const Eigen::VectorXd& theta, const dpsc::lm_design& design,
                             bool response) {
  const auto count = static_cast<Eigen::Index>(design.variables.size());
  bool closed = true;
  const dpsc::lm_units units = dpsc::multiply_out(
      design, {Eigen::VectorXd::Zero(count), Eigen::VectorXd::Ones(count)}, closed);
  if (!closed) throw std::invalid_argument("a product needs its lower orders");
  const Eigen::VectorXd slopes = theta.tail(theta.size() - 1);
  Eigen::VectorXd out(theta.size());
  out[0] = theta[0] + slopes.dot(units.shift);
  out.tail(slopes.size()) = units.map.transpose() * slopes;
  if (response) {
    out *= units.y_scale;
    out[0] += units.y_centre;
  }
  return plain(out);
}

Rcpp::List stages_of(const dpsc::paper_plan& plan) {
  Rcpp::NumericVector scale, ridge;
  for (const dpsc::perturbed_stage& stage : plan.stages) {
    scale.push_back(stage.law == dpsc::vector_law::none ? 0.0 : stage.scale);
    ridge.push_back(stage.ridge);
  }
  return Rcpp::List::create(_["scale"] = scale, _["ridge"] = ridge);
}

}  // namespace

// Budget and steps of one of the papers' regressions; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List paper_plan_cpp(const Rcpp::List& facts) {
  const known_paper known = as_paper(facts);
  if (known.posterior()) {
    const dpsc::posterior_plan plan = known.plan_posterior();
    return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["ridge"] = plan.ridge,
                              _["gamma"] = plan.gamma, _["target"] = plan.target,
                              _["allowance"] = plan.allowance, _["variance"] = plan.variance,
                              _["approximate"] = true);
  }
  const dpsc::paper_plan plan = dpsc::plan_paper(known.facts);
  const Rcpp::List stages = stages_of(plan);
  return Rcpp::List::create(_["steps"] = as_steps(plan.records), _["scale"] = stages["scale"],
                            _["ridge"] = stages["ridge"], _["output"] = plan.output.scale,
                            _["cover"] = plan.cover, _["tolerance"] = plan.tolerance,
                            _["approximate"] = plan.approximate);
}

// [[Rcpp::export(rng = false)]]
Rcpp::List paper_release_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng) {
  const auto source = as_source(rows);
  const known_paper known = as_paper(facts);
  if (known.posterior()) {
    const dpsc::posterior_plan plan = known.plan_posterior();
    const dpsc::row_products sums = dpsc::sum_products(*source, known.design, interrupter());
    const dpsc::posterior_draw draw = with_noise(
        rng, [&](dpsc::noise& draws) { return dpsc::draw_posterior(plan, sums, draws); });
    return Rcpp::List::create(
        _["ridge"] = draw.ridge,
        _["stages"] = Rcpp::List::create(in_units(draw.theta, known.design, true)),
        _["theta"] = plain(draw.theta));
  }
  const dpsc::paper_plan plan = dpsc::plan_paper(known.facts);
  const dpsc::public_rows read = dpsc::gather_rows(*source, known.design, interrupter(), plan.loss);
  const std::vector<Eigen::VectorXd> all =
      with_noise(rng, [&](dpsc::noise& draws) { return dpsc::run_paper(plan, read, draws); });
  Rcpp::List stages, scaled;
  for (const Eigen::VectorXd& theta : all) {
    const bool scaled_outcome = plan.loss.family.kind == dpsc::glm_kind::gaussian;
    stages.push_back(in_units(theta, known.design, scaled_outcome));
    scaled.push_back(plain(theta));
  }
  return Rcpp::List::create(_["ridge"] = plan.stages.back().ridge, _["stages"] = stages,
                            _["scaled"] = scaled);
}

// The same without noise and without a ridge, or with one: NOT PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List paper_raw_cpp(SEXP rows, const Rcpp::List& facts) {
  const auto source = as_source(rows);
  const known_paper known = as_paper(facts);
  const double root = std::sqrt(known.d());
  Eigen::VectorXd theta;
  if (known.posterior()) {
    const dpsc::row_products sums = dpsc::sum_products(*source, known.design, interrupter());
    Eigen::MatrixXd H = sums.gram;
    H.diagonal().array() += std::max(0.0, known.ridge);
    theta = H.ldlt().solve(sums.cross) / root;
  } else {
    const dpsc::public_rows read = dpsc::gather_rows(*source, known.design, interrupter());
    dpsc::perturbed_stage stage;
    stage.ridge = std::max(1e-9, known.ridge);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(read.x.cols());
    theta =
        dpsc::stage_objective(read, stage, zero, 1e-10 * (known.n + 1.0)).minimiser(zero) / root;
  }
  return Rcpp::List::create(
      _["ridge"] = known.ridge, _["theta"] = plain(theta),
      _["stages"] = Rcpp::List::create(in_units(theta, known.design, known.posterior())));
}

// Rows in the form that these methods use. PRIVATE: losses of single people, for the curator, and
// tests.
// [[Rcpp::export(rng = false)]]
Rcpp::List paper_rows_cpp(SEXP rows, const Rcpp::List& design) {
  const auto source = as_source(rows);
  const dpsc::lm_design known = as_design(design);
  Eigen::MatrixXd x(0, known.p() + 1);
  Eigen::VectorXd y(0);
  dpsc::pass_public_rows(*source, known, [&](const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
    const Eigen::Index at = x.rows();
    x.conservativeResize(at + a.rows(), Eigen::NoChange);
    y.conservativeResize(at + a.rows());
    x.bottomRows(a.rows()) = a;
    y.tail(b.size()) = b;
  });
  return Rcpp::List::create(_["x"] = x, _["y"] = plain(y));
}

// The same rows, with outcomes in the form that the loss of these facts requires, and the loss's
// constants. PRIVATE: losses of single people, for the curator.
// [[Rcpp::export(rng = false)]]
Rcpp::List paper_loss_rows_cpp(SEXP rows, const Rcpp::List& facts) {
  const auto source = as_source(rows);
  const known_paper known = as_paper(facts);
  const dpsc::paper_loss& loss = known.facts.loss;
  const dpsc::public_rows read = dpsc::gather_rows(*source, known.design, interrupter(), loss);
  const bool symmetric = loss.family.slopes() == dpsc::slope_kind::symmetric;
  return Rcpp::List::create(_["x"] = read.x, _["y"] = plain(read.y),
                            _["unit"] = loss.unit(known.d()), _["apart"] = loss.apart(known.d()),
                            _["bend"] = loss.family.bend(), _["steepest"] = loss.steepest(),
                            _["symmetric"] = symmetric, _["span"] = loss.family.span,
                            _["box"] = loss.box);
}

// Minimiser of a logistic loss with a ridge for each coefficient and a linear term: made-up rows.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector ridge_logistic_cpp(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                                       const Eigen::VectorXd& ridge, const Eigen::VectorXd& linear,
                                       double tolerance) {
  const dpsc::ridge_logistic problem{x, y, ridge, linear};
  return plain(problem.minimise(Eigen::VectorXd::Zero(x.cols()), tolerance));
}

// Exact loss of one posterior draw: delta at epsilon = `value`, or epsilon at delta = `value`.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector posterior_loss_cpp(const Rcpp::NumericVector& leverage, double gamma,
                                       const Rcpp::NumericVector& error, double value,
                                       bool epsilon) {
  Rcpp::NumericVector out(leverage.size());
  for (R_xlen_t i = 0; i < out.size(); ++i) {
    const dpsc::posterior_loss loss(leverage[i], gamma, error[i]);
    out[i] = epsilon ? loss.epsilon(value) : loss.delta(value);
  }
  return out;
}

// An upper bound of this epsilon, and the precision at which a given bound is met.
double posterior_bound_cpp(double leverage, double gamma, double error, double delta) {
  return dpsc::posterior_bound(leverage, gamma, error, delta);
}
const probe posterior_bound_probe("posterior_bound", posterior_bound_cpp);

// [[Rcpp::export(rng = false)]]
double joint_loss_cpp(double shift, double curvature) { return dpsc::joint_loss(shift, curvature); }

double joint_shift_cpp(double epsilon, double curvature, bool replace) {
  return dpsc::joint_shift(epsilon, curvature, replace);
}
const probe joint_shift_probe("joint_shift", joint_shift_cpp);

// [[Rcpp::export(rng = false)]]
double even_loss_cpp(double shift, double curvature) { return dpsc::even_loss(shift, curvature); }

Eigen::VectorXd box_ridge_cpp(const Eigen::MatrixXd& A, const Eigen::VectorXd& v, double limit,
                              double tolerance) {
  return dpsc::minimise_in_box(A, v, limit, tolerance);
}
const probe box_ridge_probe("box_ridge", box_ridge_cpp);
