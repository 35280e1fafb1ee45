// Public constants of releases of weights on donors: output and objective perturbation (Rho,
// Cummings and Misra, 2023), as published and as repaired. Only public facts enter.
// Proofs: inst/proofs/ridge.md, inst/proofs/objective.md.
#pragma once

#include <Eigen/Core>
#include <limits>

#include "../noise/noise.hpp"

namespace dpsc {

constexpr double not_asked = std::numeric_limits<double>::quiet_NaN();

/// Facts behind a plan. All PUBLIC.
struct weights_facts {
  bool published = false;  // constants of the paper
  double n = 0.0, T0 = 0.0, T1 = 0.0;
  double epsilon = 0.0, delta = 0.0;
  Eigen::VectorXd half;  // T0 + T1: donors' values are within [-half, half], scaled units
  Eigen::VectorXd y;     // T0: the target before the treatment, scaled units
  double lambda = 0.0;
  double split = not_asked;      // share of the budget for the weights
  double cap = not_asked;        // largest weight of the repaired objective
  double curvature = not_asked;  // of the published objective
};

/// One noise step. Fields that do not apply to its distribution are NaN.
struct noise_step {
  law kind = law::gamma_norm;
  double sensitivity = 0.0;
  double scale = not_asked;    // scaled units
  double epsilon = not_asked;  // its cost
  double mu = not_asked;       // discrete Gaussian: its shift, and its cost in zCDP
  double rho = not_asked;
  double variance = not_asked;  // grid units
  double grid = not_asked;      // the grid is 2^-grid

  /// Variance of one coordinate of the vector that this noise is added to.
  double coordinate_variance(double dimension) const;
};

struct output_plan {
  // False if rounding could reveal donors. Then, and without privacy, no step is filled.
  bool solvable = true;
  double sensitivity = 0.0;  // of exact ridge weights; the step's sensitivity includes rounding
  double share = 0.0;
  double mu = not_asked;  // of both steps, if they are Gaussian
  noise_step weights, post;
};

struct objective_plan {
  bool solvable = true;
  double share = 0.0;
  double mu = 0.0;  // added curvature, at least lambda
  double curvature = 0.0;
  double epsilon = 0.0, epsilon0 = 0.0, delta = not_asked;  // of the linear term
  double cap = not_asked, tolerance = not_asked;            // of the repaired form
  noise_step weights, cover, post;
};

output_plan plan_output(const weights_facts& facts);

objective_plan plan_objective(const weights_facts& facts);

/// Algorithm 3, steps 1 to 5, constants as published; `epsilon` is the weights' part.
objective_plan plan_algorithm3(const weights_facts& facts, double epsilon);

double objective_cap(const weights_facts& facts);

/// The repaired step 1 at a given epsilon and curvature; `cover` is the epsilon of the noise over
/// the solver's error, whose step is not filled.
objective_plan bounded_step(const weights_facts& facts, double epsilon, double cover, double mu);

/// Standard deviation of a Gaussian linear term for epsilon0 and delta. Gradient differences of a
/// pair of neighbours lie in one plane, so the privacy loss is at most q R + q^2 / 2, q =
/// sensitivity / sd and R a Rayleigh variable. Its delta is
/// sqrt(2 pi) q exp(epsilon0) P(N > epsilon0 / q + q / 2) as long as q^2 <= 2 epsilon0.
double gaussian_objective_scale(double sensitivity, double epsilon0, double delta);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "weights_constants.cpp"
#endif
