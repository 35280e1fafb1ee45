// Repeated releases of simulated panels: the expected errors for a plan. No data of people are
// involved, and nothing here may be used for noise that protects anybody.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "../engine.hpp"
#include "../estimate/leave_one_out.hpp"
#include "gram_release.hpp"

namespace dpsc {

/// xoshiro256++ (Blackman and Vigna, 2021), seeded by splitmix64: fast, the same everywhere, and
/// predictable.
class simulation_engine {
 public:
  explicit simulation_engine(std::uint64_t seed);

  std::uint64_t bits();

  double uniform() { return uniform_open(*this); }

  /// Polar method (Marsaglia and Bray, 1964).
  double normal();

  double normal_between(double mean, double sd, double low, double high);

  Eigen::Index below(Eigen::Index n);

 private:
  static std::uint64_t turn(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

  std::uint64_t state_[4];
  double spare_ = 0.0;
  bool spare_made_ = false;
};

/// Sources of people for a simulated panel. Rows are scaled: the bounds are [-1, 1].
class people_law {
 public:
  virtual ~people_law() = default;
  /// The part shared by all people of one panel.
  virtual void renew(simulation_engine& engine) = 0;
  /// One more row. Targets and donors have the same distribution, but are never the same person.
  virtual void person(bool target, simulation_engine& engine, Eigen::VectorXd& row) = 0;
};

/// Level, loadings on shared autoregressive paths, a common path, an individual path, and noise,
/// clipped to the bounds.
class factor_people : public people_law {
 public:
  struct sizes {
    Eigen::Index factors = 3;
    double persistence = 0.8;
    // Standard deviations.
    double level = 0.0, loading = 0.0, time = 0.0, drift = 0.0, noise = 0.0;
    double shift = 0.0;  // added to all outcomes after the treatment
  };

  factor_people(sizes law, Eigen::Index T0, Eigen::Index T1);

  void renew(simulation_engine& engine) override;

  void person(bool, simulation_engine& engine, Eigen::VectorXd& row) override;

 private:
  Eigen::VectorXd path(simulation_engine& engine) const;

  sizes law_;
  Eigen::Index T0_;
  Eigen::MatrixXd paths_;
  Eigen::VectorXd common_;
};

/// sim_panel("linear"): slopes and noise from truncated normals (Rho, Cummings and Misra, 2023).
class linear_people : public people_law {
 public:
  void renew(simulation_engine&) override {}
  void person(bool, simulation_engine& engine, Eigen::VectorXd& row) override;
};

/// Rows of a public pilot, with replacement. A fifth of them, drawn anew for each panel, are
/// targets and not donors: otherwise targets would be among their own donors. Groups are drawn from
/// all rows.
class pilot_people : public people_law {
 public:
  pilot_people(Eigen::MatrixXd rows, bool groups);

  void renew(simulation_engine& engine) override;

  void person(bool target, simulation_engine& engine, Eigen::VectorXd& row) override;

 private:
  Eigen::MatrixXd rows_;
  bool groups_;
  std::vector<Eigen::Index> order_;
};

struct simulated_panel {
  Eigen::MatrixXd donors;   // n x T
  Eigen::MatrixXd targets;  // k x T: means of `size` people
};

simulated_panel draw_panel(people_law& law, Eigen::Index n, Eigen::Index T, Eigen::Index targets,
                           Eigen::Index size, simulation_engine& engine);

/// Ridge regression on the raw rows, at the penalty with the smallest generalised cross-validation
/// error.
deleted_ridge best_ridge(const donor_moments& moments, Eigen::Index T0);

/// Results of one release of a simulated panel. The release is made for the first target.
struct simulated_release {
  Eigen::MatrixXd error;  // k x T1: of the released counterfactuals
  Eigen::MatrixXd raw;    // the same without privacy
  target_estimate own;    // of the first target
  calibration intervals;
  double shortened =
      std::numeric_limits<double>::infinity();  // rows' length, by the target's round
};

/// One simulated panel, released and evaluated.
simulated_release simulate_release(people_law& law, panel_facts facts,
                                   const estimator_options& options, Eigen::Index targets,
                                   Eigen::Index size, bool with_intervals,
                                   simulation_engine& engine, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "simulate.cpp"
#endif
