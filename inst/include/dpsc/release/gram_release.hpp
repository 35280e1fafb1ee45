// Method "gram" from facts to release: two or three joint releases of mean and second moments of
// people's features (each in coordinates and around a centre from the previous one), then the
// placebo errors that calibrate intervals, then the fit's residuals in the target's direction.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../estimate/counterfactual.hpp"
#include "../mechanism/calibration.hpp"
#include "../mechanism/moments.hpp"
#include "../mechanism/targeted.hpp"
#include "../rows/remembered.hpp"
#include "../rows/source.hpp"
#include "covariate_features.hpp"
#include "gram_features.hpp"

namespace dpsc {

/// Fixed before anything is drawn. PUBLIC.
struct gram_plan {
  gram_features features;
  double radius = 0.0;             // exponent of each round's choice of a radius
  int first_price = radius_price;  // of a row outside the first round's radius
  int price = radius_price;        // of a row outside the later radii
  double seen = gram_constants::seen_low;
  double shorten = 1.0;  // the radius of a whitened round, over the chosen radius
  std::vector<moments_step> moments;
  targeted_plan target;
  calibration_plan calibration;
  double rho = 0.0;    // of the whole release, by the conversion of zCDP
  double total = 0.0;  // mu, or epsilon
  std::vector<step_record> records;
};

/// n sqrt(rho): the information in the moments. For Laplace noise on about T1 + 4 features, rho is
/// that of Gaussian noise of the same size.
double gram_signal(const panel_facts& facts, const total_budget& budget);

/// Rounds with more budget can use larger radii, with less bias.
double shortening_of(double signal);

gram_plan plan_gram(const panel_facts& facts);

/// Settings of one round, on which a person's own loss depends. RELEASED or PUBLIC.
struct gram_round {
  Eigen::MatrixXd loadings;
  Eigen::VectorXd origin;
  double radius, exponent, clipped, constant, noise;
};

struct gram_release {
  gram_statistics statistics;
  std::vector<gram_round> rounds;
  calibration intervals;
  targeted_sum target;
  double share = 1.0;  // mean weight of people over the largest
};

/// Centre and whitening transform from noisy moments: directions in which the noise exceeds
/// people's standard deviation are kept at the noise's scale. RELEASED.
struct whitening {
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;   // features to whitened features, by its transpose
  Eigen::MatrixXd restore;  // whitened features to features
  double spread;            // root mean square of whitened rows
  double seen;              // the same for the part that exceeds the noise

  whitening(const noisy_moments& first, double radius);
};

/// Is the public target far from the released donors? Then few donors resemble it, and rows must
/// not be clipped tightly: the target depends on directions in which most donors hardly differ.
/// RELEASED.
bool is_far(const gram_statistics& s, const gram_features& f, const whitening& frame, bool group);

/// The m of n rows that calibrate: a uniform random set, independent of names and of the order of
/// rows. Drawn once per release and the same for every source. PRIVATE.
row_positions calibrating_rows(noise& draws, double n, double m);

/// Placebo errors of some rows by the estimator itself, in the order of the pass. PRIVATE.
placebo_errors placebo_pass(const row_source& source, const row_scale& scale,
                            const counterfactual_estimator& estimator, Eigen::Index T0,
                            Eigen::Index T1, const row_positions& which, double rows,
                            const ticker& tick, const weight_limits& weights = {});

/// Residuals of people's post-period in the direction of the target, outcome units. `share`:
/// people's mean weight over the largest.
targeted_sum correct_target(const targeted_plan& plan, const gram_statistics& s,
                            const counterfactual_estimator& estimator, const panel_facts& facts,
                            double share, const row_scale& scale, const row_source& source,
                            noise& draws, const ticker& tick);

gram_release run_gram(const gram_plan& plan, const panel_facts& facts, const row_scale& scale,
                      const estimator_options& options, const row_source& source, noise& draws,
                      const ticker& tick);

/// Exact mean and covariance by single period: NOT PRIVATE.
gram_statistics raw_statistics(const row_source& source, const row_scale& scale, double n,
                               Eigen::Index T0, Eigen::Index T1, const ticker& tick);

/// The same for people with weights. `people`: the effective sample size, for equal weights (Kish,
/// 1965).
gram_statistics raw_weighted(const row_source& source, const row_scale& scale,
                             const weight_limits& weights, Eigen::Index T0, Eigen::Index T1,
                             double& people, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "gram_release.cpp"
#endif
