// Coefficients in the formula's units, with errors, from a released minimiser. Post-processing:
// nothing here reads people's rows. Notes: inst/proofs/glm.md, sections 6 and 7.
#pragma once

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "../estimate/glm_errors.hpp"
#include "../linalg.hpp"
#include "../solver/glm_linear.hpp"
#include "../solver/glm_prox.hpp"
#include "glm_plan.hpp"
#include "glm_radius.hpp"

namespace dpsc {

/// RELEASED.
struct glm_release {
  lm_location location;
  std::vector<whitening_round> rounds;
  lm_frame frame;
  row_weighting weighting;
  double span = 1.0, ridge = 0.0, kappa = 0.0;
  Eigen::VectorXd theta;  // in the frame; intercept first
  double out_sd = 0.0;
  Eigen::MatrixXd information;
  double information_sd = 0.0;
  Eigen::MatrixXd scores;  // with case weights; of other counts their trace
  double scores_sd = 0.0;
};

/// The linear map from theta to the formula's coefficients, and the constants added to them.
struct glm_units {
  Eigen::MatrixXd map;  // d x d
  Eigen::VectorXd shift;
};

/// Origin of an offset, and its half-width in units of linear predictors: its largest value.
/// PUBLIC, or a function of released values.
struct offset_units {
  double centre, median, half, largest;
};

inline offset_units offset_units_of(const glm_facts& facts, const lm_location& location) {
  if (facts.offset < 0) return {0.0, 0.0, 0.0, 0.0};
  const auto at = static_cast<std::size_t>(facts.offset), y = facts.design.response();
  if (!(at < y)) throw std::invalid_argument("an offset is a variable before the outcome");
  const lm_variable& v = facts.design.variables[at];
  const double unit =
      facts.kind == glm_kind::gaussian
          ? facts.design.variables[y].half * location.scale[static_cast<Eigen::Index>(y)]
          : 1.0;
  const double median = location.median[facts.offset], half = v.half / unit;
  return {v.centre + v.half * median, median, half, half * (1.0 + std::fabs(median))};
}

inline glm_units units_of(const glm_facts& facts, const lm_location& location,
                          const lm_frame& frame) {
  bool closed = true;
  const lm_units raw = multiply_out(facts.design, location, closed);
  if (!closed) throw std::invalid_argument("a product needs its lower orders");
  const Eigen::Index p = facts.design.p();
  const bool gaussian = facts.kind == glm_kind::gaussian;
  const double scale = gaussian ? raw.y_scale : 1.0;
  glm_units out{Eigen::MatrixXd::Zero(p + 1, p + 1), Eigen::VectorXd::Zero(p + 1)};
  out.map(0, 0) = scale;
  out.map.row(0).tail(p) = -scale * (frame.whiten.transpose() * (frame.centre - raw.shift));
  out.map.bottomRightCorner(p, p) = scale * raw.map.transpose() * frame.whiten;
  if (gaussian) out.shift[0] = raw.y_centre;
  out.shift[0] -= offset_units_of(facts, location).centre;
  return out;
}

/// Standardised slopes: coefficients times the columns' standard deviations in released
/// coordinates.
inline slope_units standardise_slopes(const glm_units& units, Eigen::VectorXd& sd) {
  const Eigen::Index p = units.map.rows() - 1;
  const Eigen::MatrixXd S = units.map.bottomRightCorner(p, p);
  const Eigen::MatrixXd inverse = lu_inverse(S);
  sd = inverse.colwise().norm().transpose();
  return {sd.asDiagonal() * S, inverse * sd.cwiseInverse().asDiagonal()};
}

inline slope_penalty penalty_of(const glm_wishes& wishes, double n, const Eigen::VectorXd& sd) {
  const Eigen::Index p = sd.size();
  slope_penalty out;
  out.lasso = Eigen::VectorXd::Constant(p, n * wishes.lasso);
  out.ridge = Eigen::VectorXd::Constant(p, n * wishes.ridge);
  out.lower = wishes.lower.cwiseProduct(sd);
  out.upper = wishes.upper.cwiseProduct(sd);
  if (wishes.group > 0.0) {
    out.groups = wishes.groups;
    for (const std::vector<int>& group : wishes.groups)
      out.group_weight.push_back(n * wishes.group * std::sqrt(static_cast<double>(group.size())));
  }
  return out;
}

/// Limits `A slopes <= b` in theta, as quadratic penalties ("springs"), and a ridge. Springs are a
/// thousand times as stiff as the rows can be: a limit is exceeded by at most a thousandth, which
/// is undone after the release.
inline linear_springs springs_of(const glm_wishes& wishes, const glm_family& family, double n,
                                 const glm_units& units, const slope_units& slopes,
                                 const Eigen::VectorXd& sd) {
  const Eigen::Index p = sd.size(), m = wishes.A.rows(), ridges = wishes.ridge > 0.0 ? p : 0;
  linear_springs out{Eigen::MatrixXd::Zero(m + ridges, p + 1), Eigen::VectorXd::Zero(m + ridges),
                     Eigen::VectorXd::Zero(m + ridges), wishes.equal};
  const double stiff = std::exp2(std::ceil(std::log2(1000.0 * n * family.steepest())));
  for (Eigen::Index k = 0; k < m; ++k) {
    const double size = wishes.A.row(k).cwiseQuotient(sd.transpose()).norm();
    out.rows.row(k).tail(p) = wishes.A.row(k) / size * units.map.bottomRightCorner(p, p);
    out.limit[k] = wishes.b[k] / size;
    out.stiff[k] = stiff;
  }
  for (Eigen::Index j = 0; j < ridges; ++j) {
    out.rows.row(m + j).tail(p) = slopes.back.row(j);
    out.stiff[m + j] = n * wishes.ridge;
    out.both.push_back(true);
  }
  return out;
}

/// Restores exact zeros and bounds, which the noise that covers the solver's error has blurred.
/// Post-processing.
inline Eigen::VectorXd snap(const slope_penalty& penalty, const Eigen::VectorXd& noisy,
                            const Eigen::VectorXd& sd) {
  constexpr double far = 8.0;
  Eigen::VectorXd z = noisy;
  for (Eigen::Index j = 0; j < z.size(); ++j) {
    if (penalty.lasso[j] > 0.0 && std::fabs(z[j]) <= far * sd[j]) z[j] = 0.0;
    if (z[j] <= penalty.lower[j] + far * sd[j]) z[j] = penalty.lower[j];
    if (z[j] >= penalty.upper[j] - far * sd[j]) z[j] = penalty.upper[j];
  }
  for (const std::vector<int>& group : penalty.groups) {
    bool zero = true;
    for (int j : group) zero = zero && std::fabs(z[j]) <= far * sd[j];
    if (zero)
      for (int j : group) z[j] = 0.0;
  }
  return z;
}

/// Coefficients in the formula's units; intercept first. RELEASED.
struct glm_estimate {
  Eigen::VectorXd coefficients;
  Eigen::MatrixXd privacy, sampling;
  Eigen::VectorXd identified;  // curvature over the least that identifies the direction
  Eigen::MatrixXd blur;        // covariance of the noise that covers the solver's error, same units
};

inline glm_estimate estimate_glm(const glm_release& release, const glm_facts& facts) {
  const glm_units units = units_of(facts, release.location, release.frame);
  const double n = counted_rows(facts, release.rounds);
  glm_facts_released known{family_of(facts, release.span),
                           n,
                           release.ridge,
                           release.kappa,
                           release.out_sd,
                           release.theta,
                           release.information,
                           release.information_sd,
                           {},
                           release.weighting,
                           rare_columns_of(facts.design, release.location, release.frame)};
  known.scores = release.scores;
  known.scores_sd = release.scores_sd;
  if (facts.design.weighted) known.weight = release.rounds.empty() ? 0.1 : n / facts.n;
  const Eigen::Index p = facts.design.p();
  Eigen::VectorXd sd;
  const slope_units slopes = standardise_slopes(units, sd);
  if (facts.wishes.any && facts.wishes.ridge > 0.0) {
    known.penalty = Eigen::MatrixXd::Zero(p + 1, p + 1);
    known.penalty.bottomRightCorner(p, p) =
        facts.n * facts.wishes.ridge * slopes.back.transpose() * slopes.back;
  }
  const glm_covariance errors = glm_errors(known);
  glm_estimate out;
  out.blur = release.out_sd * release.out_sd * units.map * units.map.transpose();
  if (facts.wishes.linear()) {
    // Callers that know the limits undo the excess that springs permit.
    out.coefficients = units.shift + units.map * release.theta;
  } else if (facts.wishes.any && !facts.wishes.smooth()) {
    Eigen::VectorXd theta = release.theta;
    const Eigen::VectorXd blur = release.out_sd * slopes.back.rowwise().norm();
    const Eigen::VectorXd z =
        snap(penalty_of(facts.wishes, facts.n, sd), slopes.back * theta.tail(p), blur);
    theta.tail(p) = slopes.to * z;
    out.coefficients = units.shift + units.map * theta;
    // Exact zeros and bounds, despite rounding in the change of coordinates.
    out.coefficients.tail(p) = z.cwiseQuotient(sd);
    for (Eigen::Index j = 0; j < p; ++j)
      out.coefficients[j + 1] =
          std::min(facts.wishes.upper[j], std::max(facts.wishes.lower[j], out.coefficients[j + 1]));
  } else {
    out.coefficients = units.shift + units.map * errors.theta;
  }
  out.privacy = units.map * errors.privacy * units.map.transpose();
  out.sampling = units.map * errors.sampling * units.map.transpose();
  const Eigen::Index d = release.theta.size();
  const double from = identified_from(facts, n);
  out.identified.resize(d);
  for (Eigen::Index j = 0; j < d; ++j) {
    const Eigen::VectorXd a = units.map.row(j).transpose();
    const double inverse = a.dot(errors.inverse * a) / a.squaredNorm();
    out.identified[j] = std::max(0.0, 1.0 / (inverse * release.ridge) - 1.0) / from;
    if (out.identified[j] > 1.0) continue;
    // This value would arise from noise alone if the ridge were the only curvature.
    const double noise = glm_inflation * (static_cast<double>(d) + 1.0) * release.kappa *
                         release.kappa * (errors.inverse * a).squaredNorm();
    out.privacy(j, j) = std::max(out.privacy(j, j), noise);
  }
  return out;
}

}  // namespace dpsc
