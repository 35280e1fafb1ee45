// A private release without R: simulated people, noise from the operating system, and two printed
// numbers. `tools/core` builds and runs it; it needs only Eigen's headers.
#define DPSC_ONE_UNIT  // the core's bodies, too: no library has them
#include <Eigen/Core>
#include <cmath>
#include <cstdio>
#include <dpsc/os_engine.hpp>
#include <dpsc/release/gram_release.hpp>

int main() {
  // 500 people, eight periods before a treatment and two from it on, outcomes within [0, 100].
  constexpr Eigen::Index n = 500, T0 = 8, T1 = 2, T = T0 + T1;
  Eigen::MatrixXd people(n, T);
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index t = 0; t < T; ++t)
      people(i, t) = 50.0 + 20.0 * std::sin(0.9 * static_cast<double>(i)) +
                     5.0 * std::cos(0.7 * static_cast<double>(t));
  const dpsc::row_scale bounds{Eigen::VectorXd::Constant(T, 50.0), 50.0, Eigen::VectorXd::Ones(T)};

  // Public: sizes, budget, and the target's path before the treatment, scaled to [-1, 1].
  dpsc::panel_facts facts;
  facts.n = static_cast<double>(n);
  facts.T0 = T0;
  facts.T1 = T1;
  facts.epsilon = 1.0;
  facts.delta = 1e-6;
  facts.y = Eigen::VectorXd::LinSpaced(T0, 0.1, 0.0);
  const dpsc::gram_plan plan = dpsc::plan_gram(facts);

  dpsc::os_engine engine;
  dpsc::drawn_noise<dpsc::os_engine> noise(engine);
  dpsc::estimator_options options;
  options.half = bounds.half;
  const dpsc::matrix_source source({people.data(), nullptr, n, T});
  const dpsc::gram_release release =
      dpsc::run_gram(plan, facts, bounds, options, source, noise, [](double) {});

  const dpsc::counterfactual_estimator estimator(release.statistics, options);
  const double noisy = 50.0 + 50.0 * estimator.target(facts.y).path.tail(T1).mean();
  std::printf("epsilon %g, delta %g, %zu steps\n", facts.epsilon, facts.delta, plan.records.size());
  std::printf("counterfactual mean after the treatment, with noise: %.2f\n", noisy);
  std::printf("noisy mean of the people's last feature: %.4f\n",
              release.statistics.mean[release.statistics.mean.size() - 1]);
  // An outcome outside the bounds is impossible unless the release is broken.
  return noisy >= 0.0 && noisy <= 100.0 ? 0 : 1;
}
