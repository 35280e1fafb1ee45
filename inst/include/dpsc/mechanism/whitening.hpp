// Private means and covariances of regressors, and the resulting coordinates. A round is a round of
// dp_lm() without the residual. Proofs: inst/proofs/regression.md, sections 3 and 4.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../noise/symmetric.hpp"
#include "regression_rounds.hpp"

namespace dpsc {

/// Public constants of a round: with candidates for its radius, one of which is drawn.
struct whitening_plan : lm_round_plan {
  double exponent = 0.0;
  std::vector<double> radii;
  double radius_price = 0.0;  // rows that each larger radius must gain
};

/// Candidates from `high` down to `low` by factors of 2^-octaves, in increasing order.
std::vector<double> limit_grid(double low, double high, double octaves);

/// Released values of a round, in its own frame. RELEASED.
struct whitening_round {
  double radius = 0.0, weight = 0.0;
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double sd = 0.0;  // of the covariance's noise on the diagonal; off it, smaller by sqrt 2
};

/// The largest share of rows beyond a radius: a covariance needs no smaller radius.
constexpr double rows_beyond = 0.1;

/// Draws the smallest limit that contains nearly all people; the loss is the number beyond it,
/// minus the permitted number, plus a price per step. `first`: people by the first limit that
/// contains them, with the last place for people beyond all limits, in units of 2^-bits of a
/// person. Losses of neighbours differ within a range of one (regression.md, section 3; person.md,
/// section 3).
std::size_t choose_limit(const std::vector<std::int64_t>& first, int bits, double allowed,
                         double price, double exponent, const std::string& label, noise& draws);

whitening_plan plan_whitening(const std::string& at, double n, Eigen::Index p,
                              const std::vector<double>& radii, const total_budget& budget,
                              double radius_share, double moments_share);

whitening_round release_whitening(const row_source& source, const lm_design& design,
                                  const lm_location& location, const lm_frame& frame,
                                  const whitening_plan& plan, double n, noise& draws,
                                  const ticker& tick);

/// Coordinates in which the released moments are standard normal, as far as the noise permits:
/// correlations below its edge are set to zero, so that columns are at least scaled.
/// Post-processing.
lm_frame whiten(const lm_frame& frame, const whitening_round& round);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "whitening.cpp"
#endif
