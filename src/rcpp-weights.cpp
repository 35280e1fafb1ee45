// Output and objective perturbation for R. Weights stay in C++ until they have their noise.
#include <RcppEigen.h>

#include <dpsc/release/weights_release.hpp>
#include <dpsc/solver/capped_l1_qp.hpp>

#include "r_host.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"

namespace {

using Rcpp::_;

/// A step of R's plan; without a law it draws nothing.
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

}  // namespace

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
