// Glue for inst/reproduction: errors of repeated releases on one panel. Simulation only.
#include <RcppEigen.h>

#include <dpsc/reproduction.hpp>

#include "r_engine.h"

namespace {

dpsc::runtime r_runtime() {
  return dpsc::runtime([] { Rcpp::checkUserInterrupt(); });
}

}  // namespace

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd repeat_linear_cpp(const Eigen::Map<Eigen::VectorXd>& centre,
                                  const Eigen::Map<Eigen::VectorXd>& spread, const std::string& law,
                                  double scale, const Eigen::Map<Eigen::MatrixXd>& post,
                                  const Eigen::Map<Eigen::VectorXd>& truth,
                                  const std::string& post_law, double post_scale, int runs,
                                  SEXP rng) {
  if (post.rows() != centre.size()) throw std::invalid_argument("sizes differ");
  dpsc::noisy_projection second(post, truth, dpsc::radial_law::named(post_law, post_scale));
  const auto first = dpsc::radial_law::named(law, scale);
  return with_engine(rng, [&](auto& seed) {
    dpsc::simulation_engine engine(seed);
    return dpsc::repeat_linear(centre, spread, first, second, runs, engine, r_runtime());
  });
}

// [[Rcpp::export(rng = false)]]
Eigen::VectorXd repeat_bounded_cpp(const Eigen::Map<Eigen::MatrixXd>& pre,
                                   const Eigen::Map<Eigen::VectorXd>& linear, double mu, double cap,
                                   double tolerance, const std::string& law, double scale,
                                   const Eigen::Map<Eigen::MatrixXd>& post,
                                   const Eigen::Map<Eigen::VectorXd>& truth,
                                   const std::string& post_law, double post_scale, int runs,
                                   SEXP rng) {
  if (post.rows() != pre.rows()) throw std::invalid_argument("sizes differ");
  dpsc::noisy_projection second(post, truth, dpsc::radial_law::named(post_law, post_scale));
  const auto first = dpsc::radial_law::named(law, scale);
  return with_engine(rng, [&](auto& seed) {
    dpsc::simulation_engine engine(seed);
    return dpsc::repeat_bounded(pre, linear, mu, cap, tolerance, first, second, runs, engine,
                                r_runtime());
  });
}
