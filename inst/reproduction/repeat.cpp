// Glue for the paper's experiments, compiled by functions.R; not part of the package.
// [[Rcpp::plugins(cpp17)]]
// [[Rcpp::depends(RcppEigen)]]
#define DPSC_ONE_UNIT  // the core's bodies, too: no library has them
#include "repeat.hpp"

#include <RcppEigen.h>

#include "repeat_gram.hpp"

namespace {

/// R's generator under set.seed(), which seeds a fast one.
struct r_bits {
  std::uint64_t bits() {
    std::uint64_t word = 0;  // 16 bits a draw: R's default generator has 32 good ones
    for (int i = 0; i < 4; ++i)
      word = (word << 16) | static_cast<std::uint64_t>(unif_rand() * 65536.0);
    return word;
  }
};

reproduction::simulation_engine seeded_engine() {
  r_bits seed;
  return reproduction::simulation_engine(seed);
}

dpsc::runtime host() {
  return dpsc::runtime([] { Rcpp::checkUserInterrupt(); });
}

}  // namespace

// [[Rcpp::export]]
Eigen::VectorXd repeat_linear(const Eigen::Map<Eigen::VectorXd>& centre,
                              const Eigen::Map<Eigen::VectorXd>& spread, const std::string& law,
                              double scale, const Eigen::Map<Eigen::MatrixXd>& post,
                              const Eigen::Map<Eigen::VectorXd>& truth, const std::string& post_law,
                              double post_scale, int runs) {
  if (post.rows() != centre.size()) throw std::invalid_argument("sizes differ");
  reproduction::noisy_projection second(post, truth,
                                        reproduction::radial_law::named(post_law, post_scale));
  const auto first = reproduction::radial_law::named(law, scale);
  auto engine = seeded_engine();
  return reproduction::repeat_linear(centre, spread, first, second, runs, engine, host());
}

// [[Rcpp::export]]
Eigen::VectorXd repeat_bounded(const Eigen::Map<Eigen::MatrixXd>& pre,
                               const Eigen::Map<Eigen::VectorXd>& linear, double mu, double cap,
                               double tolerance, const std::string& law, double scale,
                               const Eigen::Map<Eigen::MatrixXd>& post,
                               const Eigen::Map<Eigen::VectorXd>& truth,
                               const std::string& post_law, double post_scale, int runs) {
  if (post.rows() != pre.rows()) throw std::invalid_argument("sizes differ");
  reproduction::noisy_projection second(post, truth,
                                        reproduction::radial_law::named(post_law, post_scale));
  const auto first = reproduction::radial_law::named(law, scale);
  auto engine = seeded_engine();
  return reproduction::repeat_bounded(pre, linear, mu, cap, tolerance, first, second, runs, engine,
                                      host());
}

// Releases by method "gram" of the panel of `donors` (bounds [-1, 1]) and their errors.
// [[Rcpp::export]]
Eigen::VectorXd repeat_gram(const Eigen::MatrixXd& donors, const Eigen::VectorXd& target,
                            const Eigen::VectorXd& truth, double epsilon, double delta, int runs) {
  dpsc::panel_facts facts;
  facts.n = static_cast<double>(donors.rows());
  facts.T0 = target.size();
  facts.T1 = truth.size();
  facts.epsilon = epsilon;
  facts.delta = delta;
  facts.y = target;
  auto engine = seeded_engine();
  return reproduction::repeat_gram(donors, facts, truth, runs, engine, host());
}
