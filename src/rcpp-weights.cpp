// Output and objective perturbation for R. Weights stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/mechanism/weights_constants.hpp>
#include <dpsc/mechanism/weights_sensitivity.hpp>
#include <dpsc/release/weights_release.hpp>
#include <dpsc/solver/capped_l1_qp.hpp>

#include "r_host.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"

namespace {

using Rcpp::_;

/// A step of R's plan; a step without a distribution adds no noise.
dpsc::real_step as_step(const Rcpp::List& plan, const char* name) {
  dpsc::real_step out;
  const Rcpp::RObject given = plan.containsElementNamed(name) ? plan[name] : R_NilValue;
  if (given.isNULL()) return out;
  const Rcpp::List step(given);
  if (!step.containsElementNamed("law")) return out;
  out.drawn = true;
  const std::string law = Rcpp::as<std::string>(step["law"]);
  if (law == "discrete_gaussian") {
    out.kind = dpsc::law::discrete_gaussian;
    out.variance = Rcpp::as<double>(step["variance"]);
    out.grid = Rcpp::as<int>(step["grid"]);
  } else {
    out.kind = law == "gaussian" ? dpsc::law::gaussian : dpsc::law::gamma_norm;
    out.scale = Rcpp::as<double>(step["scale"]);
  }
  return out;
}

dpsc::weights_plan as_plan(const Rcpp::List& plan) {
  using way = dpsc::weights_plan::way;
  const std::string solver = Rcpp::as<std::string>(plan["solver"]);
  dpsc::weights_plan out;
  out.solver = solver == "ridge" ? way::ridge : solver == "bounded" ? way::bounded : way::perturbed;
  out.penalty = Rcpp::as<double>(plan["penalty"]);
  if (out.solver == way::bounded) {
    out.cap = Rcpp::as<double>(plan["cap"]);
    out.tolerance = Rcpp::as<double>(plan["tolerance"]);
  }
  out.noise = as_step(plan, "noise");
  out.cover = as_step(plan, "cover");
  out.post = as_step(plan, "post");
  out.shuffled = plan.containsElementNamed("shuffled") && Rcpp::as<bool>(plan["shuffled"]);
  return out;
}

Rcpp::List run(SEXP donors, const Rcpp::List& scale, const Eigen::VectorXd& y,
               const Rcpp::List& plan, dpsc::noise& draws) {
  const dpsc::weights_release out =
      dpsc::release_weights(as_table(donors), as_scale(scale), y, as_plan(plan), draws, r_host());
  return Rcpp::List::create(_["weights"] = Rcpp::wrap(out.weights),
                            _["counterfactual"] = Rcpp::wrap(out.counterfactual));
}

/// From R's public facts; arguments that the user left open are NULL there.
dpsc::weights_facts as_weights_facts(const Rcpp::List& x) {
  const auto asked = [&](const char* name) {
    return x.containsElementNamed(name) && !Rf_isNull(x[name]) ? Rcpp::as<double>(x[name])
                                                               : dpsc::not_asked;
  };
  dpsc::weights_facts out;
  out.published = Rcpp::as<bool>(x["published"]);
  out.n = asked("n");
  out.T0 = asked("T0");
  out.T1 = asked("T1");
  out.epsilon = asked("epsilon");
  out.delta = asked("delta");
  out.half = Rcpp::as<Eigen::VectorXd>(x["half"]);
  out.y = Rcpp::as<Eigen::VectorXd>(x["y"]);
  out.lambda = asked("lambda");
  out.split = asked("split");
  out.cap = asked("cap");
  out.curvature = asked("curvature");
  return out;
}

/// A step for R's records, without the fields that its distribution lacks.
Rcpp::List as_r(const dpsc::noise_step& step) {
  Rcpp::List out = Rcpp::List::create(_["law"] = dpsc::law_name(step.kind),
                                      _["sensitivity"] = step.sensitivity, _["scale"] = step.scale);
  const auto add = [&](const char* name, double value) {
    if (!std::isnan(value)) out[name] = value;
  };
  add("epsilon", step.epsilon);
  add("grid", step.grid);
  add("variance", step.variance);
  add("shift", step.mu);
  add("rho", step.rho);
  return out;
}

Rcpp::List as_r(const dpsc::objective_plan& plan) {
  Rcpp::List weights = as_r(plan.weights);
  weights["mu"] = plan.mu;
  weights["curvature"] = plan.curvature;
  weights["epsilon0"] = plan.epsilon0;
  if (!std::isnan(plan.cap)) {
    weights["delta"] = plan.delta;
    weights["cap"] = plan.cap;
    weights["tolerance"] = plan.tolerance;
    weights["cover"] = as_r(plan.cover);
  }
  return weights;
}

}  // namespace

// Cost of each step of output perturbation. PUBLIC.
// [[Rcpp::export(rng = false)]]
Rcpp::List plan_output_cpp(const Rcpp::List& facts) {
  const dpsc::output_plan plan = dpsc::plan_output(as_weights_facts(facts));
  return Rcpp::List::create(_["solvable"] = plan.solvable, _["sensitivity"] = plan.sensitivity,
                            _["share"] = plan.share, _["mu"] = plan.mu,
                            _["weights"] = as_r(plan.weights), _["post"] = as_r(plan.post));
}

// Cost of each step of objective perturbation. PUBLIC.
// [[Rcpp::export(rng = false)]]
Rcpp::List plan_objective_cpp(const Rcpp::List& facts) {
  const dpsc::objective_plan plan = dpsc::plan_objective(as_weights_facts(facts));
  return Rcpp::List::create(_["solvable"] = plan.solvable, _["share"] = plan.share,
                            _["weights"] = as_r(plan), _["post"] = as_r(plan.post));
}

// The linear term of the published Algorithm 3. PUBLIC.
// [[Rcpp::export(rng = false)]]
Rcpp::List plan_algorithm3_cpp(const Rcpp::List& facts, double epsilon) {
  return as_r(dpsc::plan_algorithm3(as_weights_facts(facts), epsilon));
}

// [[Rcpp::export(rng = false)]]
double ridge_sensitivity_cpp(double y_norm, double T0, double lambda, double bound) {
  return dpsc::ridge_sensitivity(y_norm, T0, lambda, bound);
}

// [[Rcpp::export(rng = false)]]
double published_ridge_sensitivity_cpp(double n, double T0, double lambda) {
  return dpsc::published_ridge_sensitivity(n, T0, lambda);
}

// [[Rcpp::export(rng = false)]]
double post_sensitivity_cpp(double T1, double bound) { return dpsc::post_sensitivity(T1, bound); }

// [[Rcpp::export(rng = false)]]
double curvature_bound_cpp(double n, double T0, const std::string& faces, double bound) {
  return dpsc::curvature_bound(n, T0,
                               faces == "l1"    ? dpsc::faces::l1
                               : faces == "box" ? dpsc::faces::box
                                                : dpsc::faces::none,
                               bound);
}

const probe published_curvature_probe("published_curvature", dpsc::published_curvature);
const probe ridge_backward_error_probe("ridge_backward_error", dpsc::ridge_backward_error);
const probe ridge_rounding_probe("ridge_rounding", dpsc::ridge_rounding);
const probe gaussian_objective_scale_probe("gaussian_objective_scale",
                                           dpsc::gaussian_objective_scale);

double gradient_sensitivity_cpp(double n, double cap, const Eigen::VectorXd& y,
                                const Eigen::VectorXd& half) {
  return dpsc::gradient_sensitivity(n, cap, y, half);
}
const probe gradient_sensitivity_probe("gradient_sensitivity", gradient_sensitivity_cpp);

Rcpp::List bounded_step_cpp(const Rcpp::List& facts, double epsilon, double cover, double mu) {
  return as_r(dpsc::bounded_step(as_weights_facts(facts), epsilon, cover, mu));
}
const probe bounded_step_probe("bounded_step", bounded_step_cpp);

// [[Rcpp::export(rng = false)]]
Rcpp::List weights_release_cpp(SEXP donors, const Rcpp::List& scale, const Eigen::VectorXd& y,
                               const Rcpp::List& plan, SEXP rng) {
  return with_noise(rng, [&](dpsc::noise& draws) { return run(donors, scale, y, plan, draws); });
}

// Without noise, for tests and for the losses of single people. PRIVATE.
Eigen::VectorXd ridge_weights_cpp(const Eigen::Map<Eigen::MatrixXd>& X, const Eigen::VectorXd& y,
                                  double lambda) {
  return dpsc::ridge_weights(X, y, lambda);
}
const probe ridge_weights_probe("ridge_weights", ridge_weights_cpp);

// Minimise f'(2 XX' + mu I)f / 2 - linear'f over ||f||_1 <= 1, |f_j| <= cap. Tests only.
Rcpp::List capped_l1_qp_cpp(const Eigen::Map<Eigen::MatrixXd>& X,
                            const Eigen::Map<Eigen::VectorXd>& linear, double mu, double cap,
                            double tolerance) {
  const dpsc::capped_l1_qp problem(X, linear, mu, cap);
  const auto answer = problem.solve(tolerance, r_host());
  return Rcpp::List::create(_["solution"] = answer.point, _["distance"] = answer.distance,
                            _["certified"] = answer.certified, _["iterations"] = answer.iterations);
}
const probe capped_l1_qp_probe("capped_l1_qp", capped_l1_qp_cpp);

Eigen::VectorXd project_capped_l1_cpp(const Eigen::Map<Eigen::VectorXd>& point, double cap) {
  return dpsc::capped_l1_ball(cap).project(point);
}
const probe project_capped_l1_probe("project_capped_l1", project_capped_l1_cpp);
