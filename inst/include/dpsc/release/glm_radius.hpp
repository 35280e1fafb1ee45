// The limit on the length of a generalised linear model's rows: the length of rows in the rarest
// group that exceeds the noise. Functions of released moments and public facts. Proof:
// inst/proofs/glm.md, section 1.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "../estimate/glm_errors.hpp"
#include "../linalg.hpp"
#include "glm_plan.hpp"

namespace dpsc {

/// Columns with two values, in standardised units: the share of the rarer value (0: no such
/// column), this value and the other.
inline rare_columns rare_columns_of(const lm_design& design, const lm_location& location,
                                    const lm_frame& frame) {
  const Eigen::Index p = design.p();
  rare_columns out{frame.centre, lu_inverse_transposed(frame.whiten), Eigen::VectorXd::Zero(p),
                   Eigen::VectorXd::Zero(p), Eigen::VectorXd::Zero(p)};
  if (frame.whiten.isIdentity(0.0)) return out;  // no moments were released
  const Eigen::VectorXd variance = out.back.rowwise().squaredNorm();
  for (Eigen::Index k = 0; k < p; ++k) {
    out.share[k] = rarer_share(design, location, k, out.centre[k], variance[k]);
    double low = 0.0, high = 1.0;
    two_values(design, location, k, low, high);
    const bool above = out.centre[k] - low < high - out.centre[k];
    out.rare[k] = above ? high : low;
    out.common[k] = above ? low : high;
  }
  return out;
}

/// The largest square of a row's length if all columns have two values; else infinity.
inline double most_square(const rare_columns& columns, const lm_frame& frame) {
  if (!(columns.share.size() > 0 && columns.share.minCoeff() > 0.0))
    return std::numeric_limits<double>::infinity();
  const Eigen::VectorXd far = (columns.rare - columns.centre).cwiseAbs();
  return 1.0 + (frame.whiten.transpose().cwiseAbs() * far).squaredNorm();
}

/// The row limit R. Up to the length of a group's rows its information grows with R^2, as the ridge
/// does, and the noise with R: the rarest group determines R. If the plan's stretch reaches as far,
/// it determines R, and shorter rows weigh one: fewer rows then have a weight that changes the
/// estimand.
inline row_weighting glm_weighting(const glm_facts& facts, double longest, double stretch,
                                   const lm_location& location, const lm_frame& frame) {
  const double p = static_cast<double>(facts.design.p());
  const rare_columns columns = rare_columns_of(facts.design, location, frame);
  double square = p + 1.0;
  const double wide = std::min(stretch * square, most_square(columns, frame));
  for (Eigen::Index k = 0; k < facts.design.p(); ++k)
    if (columns.share[k] > 0.0)
      square = std::max(
          square, 1.0 + group_square(columns.share[k], 1.0, columns_within(facts.design, k), p));
  const bool flat = !frame.whiten.isIdentity(0.0) && (wide >= square || facts.length >= 1.0);
  if (flat) square = std::max(square, wide);
  return {std::sqrt(std::min(square, std::max(p + 1.0, longest * longest))), flat};
}

}  // namespace dpsc
