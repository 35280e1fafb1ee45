// Releases of weights on people: output and objective perturbation (Rho, Cummings and Misra, 2023),
// as published and as repaired. First the weights that fit the target's past, with noise on them or
// on their objective; then their product with the post-treatment outcomes, which get noise, too.
// Constants: mechanism/weights_constants.hpp. Proofs: inst/proofs/ridge.md and objective.md.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "../noise/noise.hpp"
#include "../rows/row_map.hpp"
#include "../rows/source.hpp"
#include "../runtime.hpp"
#include "../solver/capped_l1_qp.hpp"

namespace dpsc {

/// One step of noise on real numbers: an integer distribution on the grid 2^-grid, or a continuous
/// one.
struct real_step {
  bool drawn = false;
  law kind = law::gaussian;
  double scale = 0.0;     // of a continuous distribution
  double variance = 0.0;  // of a discrete Gaussian, grid units
  int grid = 0;
};

/// Settings for the weights. All PUBLIC.
struct weights_plan {
  enum class way { ridge, perturbed, bounded };
  way solver = way::ridge;
  double penalty = 0.0;    // lambda of ridge; the curvature mu of an objective
  double cap = 0.0;        // bounded: largest weight
  double tolerance = 0.0;  // bounded: accuracy of the solver
  real_step noise;         // on ridge weights, or the linear term of an objective
  real_step cover;         // bounded: noise that covers the solver's error
  real_step post;          // on outcomes from the treatment on
  // Do protected names determine the places? Then weights are released in random order.
  bool shuffled = false;
};

/// RELEASED.
struct weights_release {
  Eigen::VectorXd weights;         // n
  Eigen::VectorXd counterfactual;  // T1, scaled units
};

/// Rows in scaled units, within the bounds if they have any. PRIVATE.
Eigen::MatrixXd scaled_rows(const table_view& table, const row_scale& scale, bool clip);

/// Rows in another order. PRIVATE.
Eigen::MatrixXd in_order(const Eigen::MatrixXd& rows, const std::vector<Eigen::Index>& order);

/// Ridge weights X (X'X + (lambda / 2) I)^-1 y: one small system for any number of people.
Eigen::VectorXd ridge_weights(const Eigen::Ref<const Eigen::MatrixXd>& x, const Eigen::VectorXd& y,
                              double lambda);

/// f'(2 XX' + mu I)f / 2 - 2 (Xy)'f, whose minimiser is unconstrained or bounded.
class weights_objective : public perturbed_objective {
 public:
  weights_objective(const Eigen::Ref<const Eigen::MatrixXd>& x, const Eigen::VectorXd& y,
                    const weights_plan& plan, runtime host);

  Eigen::Index size() const override { return linear_.size(); }

  Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const override;

  Eigen::VectorXd gradient(const Eigen::VectorXd& f) const override;

  double log_curvature(const Eigen::VectorXd&) const override;

 private:
  Eigen::MatrixXd x_;
  weights_plan plan_;
  runtime host_;
  Eigen::VectorXd linear_;
  Eigen::MatrixXd moment_;
};

/// Adds a step's noise to numbers; they are unchanged if the step has no noise.
Eigen::VectorXd add_step(const std::string& label, const Eigen::VectorXd& exact,
                         const real_step& step, noise& draws);

Eigen::VectorXd noisy_weights(const Eigen::Ref<const Eigen::MatrixXd>& x, const Eigen::VectorXd& y,
                              const weights_plan& plan, noise& draws, const runtime& host);

/// @param y (T0, scaled units) the target before the treatment. PUBLIC.
weights_release release_weights(const table_view& donors, const row_scale& scale,
                                const Eigen::VectorXd& y, const weights_plan& plan, noise& draws,
                                const runtime& host = runtime());

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "weights_release.cpp"
#endif
