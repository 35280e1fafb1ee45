// Request and budget of a private generalised linear model: public facts, shares of the
// budget, steps. Reads no rows. Proofs: inst/proofs/glm.md.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../accountant/spherical.hpp"
#include "../estimate/glm_errors.hpp"
#include "../mechanism/glm_family.hpp"
#include "../mechanism/location.hpp"
#include "../mechanism/whitening.hpp"
#include "lm_release.hpp"

namespace dpsc {

/// Constraints on slopes. PUBLIC. Weights are per person: sums over n rows are n times as large.
struct glm_wishes {
  double lasso = 0.0, ridge = 0.0, group = 0.0;
  std::vector<std::vector<int>> groups;
  Eigen::VectorXd lower, upper;  // of coefficients, formula's units
  Eigen::MatrixXd A;             // A slopes <= b, formula's units; with them, no lasso or groups
  Eigen::VectorXd b;
  std::vector<bool> equal;
  bool any = false;

  bool linear() const { return A.rows() > 0; }
  /// Is the penalty a ridge only? Then the standard errors of a smooth minimiser apply.
  bool smooth() const {
    return !linear() && lasso == 0.0 && group == 0.0 && (lower.array() <= -1e300).all() &&
           (upper.array() >= 1e300).all();
  }
};

/// Public facts of a generalised linear model.
struct glm_facts {
  double n = 0.0, epsilon = 0.0, delta = 0.0;
  lm_design design;
  glm_kind kind = glm_kind::binomial;
  double upper = 1.0;  // counts: public bound of the outcome
  bool intervals = true;
  std::vector<std::string> names;  // of variables, for the records
  glm_wishes wishes;
  int offset = -1;       // the variable that is a known part of the linear predictor
  double length = -1.0;  // row limit over its smallest one; negative: by row_stretch()
  bool dispersed = true;

  /// With case weights and intervals, the score's own second moments are released, too.
  bool scores() const { return design.weighted && intervals; }

  /// Of other counts their sum: the variance of counts often exceeds their mean. Releases of 0.2.0
  /// lack it.
  bool dispersion() const {
    return dispersed && intervals && !design.weighted && kind == glm_kind::poisson;
  }
};

/// Each step's share of the budget, except that of the objective, which gets the rest: one table,
/// fixed before the first draw.
struct glm_shares {
  double location = 0.0, radii = 0.0, moments = 0.0, cap = 0.0, accuracy = 0.0, information = 0.0,
         scores = 0.0;
  int rounds = 0;  // of moments

  double total() const {
    return location + radii + moments + cap + accuracy + information + scores;
  }
  void check() const {
    if (!(total() < 0.9)) throw std::logic_error("the shares of a model exceed the budget");
  }
};

/// Noise that covers the solver's error: a public tolerance and grid.
struct accuracy_step {
  law kind = law::discrete_gaussian;
  double tolerance = 0.0, grid = 0.0, noise = 0.0, sd = 0.0;
};

/// Noisy information, or scores: a Gram matrix of integer rows of length at most `limit`, or its
/// trace.
struct information_step {
  law kind = law::discrete_gaussian;
  double limit = 0.0, noise = 0.0, sigma = 0.0;
  std::vector<step_record> record;
};

/// Fixed before anything is drawn. PUBLIC.
struct glm_plan {
  glm_shares shares;
  location_plan location;
  std::vector<std::size_t> located;
  std::vector<whitening_plan> rounds;
  double cap_exponent = 0.0;
  std::vector<double> caps;
  double accuracy_mu = 0.0, accuracy_epsilon = 0.0;
  information_step information, scores;
  double longest = 0.0;  // largest row limit that the noise permits
  double stretch = 0.0;  // square of the row limit over its smallest one
  double beyond = 0.0;   // counts: the share of outcomes that may lie beyond the cap
  double rho = 0.0;      // of all steps except the objective
  double reach = 0.0;    // 2 units / kappa
  double c = 0.0;        // curvature over ridge
  double order = std::numeric_limits<double>::quiet_NaN();
  double objective_epsilon = 0.0;  // of pure steps
  std::vector<step_record> records;
};

namespace glm_constants {
constexpr double location = 0.03, location_most = 0.08;
constexpr double whitening = 0.10, whitening_many = 0.16;  // up to five columns, and beyond
constexpr int fine_location = 8;                           // log2 of a location's cells
constexpr double radii_part = 0.2;                         // of whitening
// Noise of a standardised covariance (whitening_noise()) above which one round is better than two,
// and no round better than one. Measured: bench/glm.R.
constexpr double rough_whitening = 0.15, hopeless_whitening = 0.4;
constexpr double identified = 2.0, identified_rough = 12.0;  // curvature over ridge
constexpr double cap = 0.02, accuracy = 0.001, information = 0.1, scores = 0.05;
constexpr double ridge_share = 0.5;  // c over epsilon
// The cost that a large row limit may cause for rows at the smallest limit: their ridge, per row,
// and the uncertainty of their information. Measured: bench/glm-dummies.R.
constexpr double ridge_longest = 0.08, doubt_longest = 0.19;
constexpr double cap_margin = 1.5, cap_quantile = 0.02;
}  // namespace glm_constants

namespace glm_plan_detail {

/// rho of a step whose log ratios have a range of `exponent` (Cesar and Rogers, 2021).
inline double choice_rho(double exponent) { return exponent * exponent / 8.0; }

/// Standard deviation of the noise of a covariance of p regressors with variance one, from one
/// round with the whole share: accuracy of whitening, from public facts alone.
inline double whitening_noise(const total_budget& budget, double share, double n, Eigen::Index p) {
  const double mu = budget.mu(share * (1.0 - glm_constants::radii_part));
  return 1.5 * std::sqrt(2.0) * static_cast<double>(p) / (mu * n);
}

inline information_step plan_information(const std::string& label, double n, Eigen::Index d,
                                         const total_budget& budget, double share) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double dim = static_cast<double>(d);
  for (int bits = 12; bits >= 6; --bits) {
    information_step out;
    const double L = std::ldexp(1.0, bits), B = L * L;
    if (!(std::sqrt(dim) < L && n * B < exact_integers)) continue;
    out.limit = L;
    step_record record{label, "", 0.0, 0.0, none, none};
    if (budget.gaussian()) {
      out.noise = gaussian_step_variance(B, budget.mu(share));
      out.sigma = std::sqrt(out.noise);
      record.sensitivity = std::sqrt(2.0) * B;
      record.scale = out.sigma;
      record.mu = gaussian_step_mu(B, out.noise);
    } else {
      out.kind = law::discrete_laplace;
      record.sensitivity = laplace_outer_sensitivity(B, dim);
      out.noise = std::ceil(record.sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      out.sigma = std::sqrt(2.0) * out.noise;
      record.scale = out.noise;
      record.epsilon = record.sensitivity / out.noise;
    }
    record.law = law_name(out.kind);
    out.record = {record};
    if (out.sigma <= largest_sigma) return out;
  }
  throw budget_too_small();
}

/// The sum of squared lengths of integer rows: it changes by at most the square of the limit.
inline information_step plan_dispersion(double n, Eigen::Index d, const total_budget& budget,
                                        double share) {
  information_step out = plan_information("dispersion", n, d, budget, share);
  const double B = out.limit * out.limit;
  step_record& record = out.record[0];
  record.sensitivity = B;
  if (budget.gaussian()) {
    out.noise = gaussian_vector_variance(B, budget.mu(share));
    out.sigma = std::sqrt(out.noise);
    record.scale = out.sigma;
    record.mu = gaussian_vector_mu(B, out.noise);
  } else {
    out.noise = std::ceil(B / budget.epsilon(share) * (1.0 + gdp_margin));
    out.sigma = std::sqrt(2.0) * out.noise;
    record.scale = out.noise;
    record.epsilon = B / out.noise;
  }
  return out;
}

/// Medians of the columns, and of a linear outcome: the budget needed to find all of them, within
/// limits.
inline void add_location(const glm_facts& facts, const total_budget& budget, glm_plan& out) {
  using namespace glm_constants;
  std::vector<std::string> names;
  for (std::size_t j : facts.design.located()) {
    if (j == facts.design.response() && facts.kind != glm_kind::gaussian) continue;
    out.located.push_back(j);
    names.push_back(facts.names[j]);
  }
  if (names.empty()) return;
  const bool gaussian = budget.gaussian();
  const double draws = 2.0 * static_cast<double>(names.size());
  const double least = location_exponent(budget, location / draws) * facts.n / 2.0;
  const double wanted = gaussian ? 12.6 : wanted_location;  // of n exponent / 2
  const double ratio = wanted / least;
  const double enough = location * (gaussian ? ratio * ratio : ratio);
  out.shares.location = std::min(location_most, std::max(location, enough));
  out.location = plan_location(budget, out.shares.location / draws, facts.n, names);
  out.location.scale_price = few_values_price;
  // Coarse cells miss variables much narrower than their bounds: then moments alone are better.
  if (gaussian && out.location.cell_bits < fine_location) out.location = location_plan{};
  if (!out.location.made) out.shares.location = 0.0;
  out.records = out.location.records;
}

/// Whitening by moments is worth its share only with Gaussian noise and enough people.
inline void add_whitening(const glm_facts& facts, const total_budget& budget, glm_plan& out) {
  using namespace glm_constants;
  const Eigen::Index p = facts.design.p();
  const double n = facts.n, root = std::sqrt(static_cast<double>(p));
  const double all = p <= 5 ? whitening : whitening_many;
  if (!budget.gaussian()) return;
  const double rough = whitening_noise(budget, all, n, p);
  if (!(rough <= hopeless_whitening)) return;
  glm_shares& shares = out.shares;
  const bool found = out.location.made || out.located.empty();
  shares.rounds = found || rough > rough_whitening ? 1 : 2;
  shares.radii = radii_part * all;
  shares.moments = all - shares.radii;
  const double r = shares.rounds;
  for (int t = 0; t < shares.rounds; ++t) {
    const bool first = t == 0;
    const double part = shares.rounds == 1 ? 1.0 : first ? 0.4 : 0.6;
    const std::vector<double> radii = !first  ? limit_grid(root / 16.0, 2.0 * root, 0.25)
                                      : found ? limit_grid(0.5 * root, 8.0 * root, 0.25)
                                              : limit_grid(root / 1024.0, root, 0.25);
    const std::string at = shares.rounds == 1 ? "" : ", round " + std::to_string(t + 1);
    out.rounds.push_back(
        plan_whitening(at, n, p, radii, budget, shares.radii / r, shares.moments * part));
    for (const step_record& record : out.rounds.back().records) out.records.push_back(record);
  }
}

/// A cap for counts.
inline void add_cap(const glm_facts& facts, const total_budget& budget, glm_plan& out) {
  using namespace glm_constants;
  if (facts.kind != glm_kind::poisson) return;
  out.shares.cap = cap;
  out.cap_exponent = budget.exponent(cap);
  for (double q = 1.0;; q *= std::sqrt(2.0)) {
    out.caps.push_back(std::max(2.0, cap_margin * std::min(q, facts.upper)));
    if (q >= facts.upper) break;
  }
  out.records.push_back(budget.choice_record("cap of the outcome", out.cap_exponent));
}

/// The solver's accuracy, and the information if intervals are requested.
inline void add_after(const glm_facts& facts, const total_budget& budget, glm_plan& out) {
  using namespace glm_constants;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const bool gaussian = budget.gaussian();
  out.shares.accuracy = accuracy;
  out.accuracy_mu = gaussian ? budget.mu(accuracy) : 0.0;
  out.accuracy_epsilon = gaussian ? 0.0 : budget.epsilon(accuracy);
  out.records.push_back({"accuracy of the solver",
                         law_name(gaussian ? law::discrete_gaussian : law::discrete_laplace), 1.0,
                         1.0 / (gaussian ? out.accuracy_mu : out.accuracy_epsilon),
                         gaussian ? none : out.accuracy_epsilon,
                         gaussian ? out.accuracy_mu : none});
  if (!facts.intervals) return;
  out.shares.information = information;
  const Eigen::Index d = facts.design.p() + 1;
  out.information = plan_information("information", facts.n, d, budget, information);
  out.records.push_back(out.information.record[0]);
  if (!facts.scores() && !facts.dispersion()) return;
  out.shares.scores = scores;
  out.scores = facts.scores() ? plan_information("scores", facts.n, d, budget, scores)
                              : plan_dispersion(facts.n, d, budget, scores);
  out.records.push_back(out.scores.record[0]);
}

/// The linear term, with the rest of the budget.
inline step_record price_objective(const glm_facts& facts, const total_budget& budget,
                                   glm_plan& out) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const glm_family family{facts.kind, 2.0};
  step_record objective{
      "linear term of the objective", law_name(law::spherical), 0.0, 1.0, none, none};
  if (budget.gaussian()) {
    for (const step_record& record : out.records)
      out.rho += record.law == "exponential" ? choice_rho(record.sensitivity / record.scale)
                                             : record.mu * record.mu / 2.0;
    out.rho *= 1.0 + 1e-12;
    out.c = glm_constants::ridge_share * facts.epsilon;
    const objective_calibration found =
        calibrate_objective(family.slopes(), facts.epsilon, facts.delta, out.rho, out.c,
                            static_cast<int>(facts.design.p() + 1));
    if (!(found.reach > 0.0)) throw budget_too_small();
    out.reach = found.reach;
    out.order = found.order;
  } else {
    // Pure: a corner costs the reach; an edge costs half of it and the curvature.
    double spent = 0.0;
    for (const step_record& record : out.records) spent += record.epsilon;
    out.objective_epsilon = (facts.epsilon - spent) * (1.0 - 1e-12);
    if (!(out.objective_epsilon > 0.0)) throw budget_too_small();
    out.reach = out.objective_epsilon;
    out.c = out.objective_epsilon / 2.0;
    objective.epsilon = out.objective_epsilon;
  }
  objective.sensitivity = out.reach;
  return objective;
}

/// The length of a row beyond which the ridge and the noise of the information hide its own group,
/// and beyond which this noise hides all other groups. `n`: the effective number of rows.
inline double longest_limit(const glm_facts& facts, double n, const glm_plan& plan) {
  using namespace glm_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  const double ridge = std::sqrt(ridge_longest * n * plan.c);
  if (!facts.intervals || !budget.gaussian()) return ridge;
  const double told = doubt_longest * n * budget.mu(information);
  const double d = static_cast<double>(facts.design.p() + 1);
  return std::min({ridge, std::sqrt(told), told / (3.0 * std::sqrt(d))});
}

/// The noise's variance of a coefficient over its sampling variance, times n, for the shortest row
/// limit: from public facts.
inline double noise_ratio(const glm_facts& facts, const glm_plan& plan) {
  const double d = static_cast<double>(facts.design.p() + 1);
  // The square of the largest slope over the slopes' mean square.
  const double slopes = facts.kind == glm_kind::binomial  ? 5.0
                        : facts.kind == glm_kind::poisson ? 40.0
                                                          : 2.5;
  return 4.0 * glm_inflation * slopes * (d + 1.0) * d / (plan.reach * plan.reach);
}

/// The share of counts that may lie beyond the cap: the bias of capped counts grows with sqrt(n)
/// standard errors, and the noise with the cap. Measured on two real data sets.
inline double share_beyond(const glm_facts& facts, const glm_plan& plan) {
  const double few = 1500.0 * noise_ratio(facts, plan) / (facts.n * facts.n);
  return glm_constants::cap_quantile * std::min(1.0, std::sqrt(std::sqrt(few)));
}

/// Square of the row limit over its smallest one, d; below one, short rows get larger weights.
/// Where the model does not hold, unequal weights change the estimand. On six real models it was
/// about sqrt(n / 12500) / stretch standard errors from glm()'s when short rows weighed one, and
/// the noise's variance was .8 + .4 stretch of its smallest: their sum is minimal here, in steps of
/// half a doubling. Beyond 8, scores' moments must keep their precision. `n`: the effective number
/// of rows.
inline double row_stretch(const glm_facts& facts, double n, const glm_plan& plan) {
  if (facts.length >= 0.0) return facts.length * facts.length;
  const double d = static_cast<double>(facts.design.p() + 1);
  const total_budget budget(facts.epsilon, facts.delta);
  const double share = budget.gaussian() ? budget.mu(glm_constants::information) : 0.0;
  const double most = std::max(8.0, n * share / (600.0 * d));
  const double best = std::min(most, std::cbrt(n * n / (2500.0 * noise_ratio(facts, plan))));
  return std::exp2(std::floor(2.0 * std::log2(best)) / 2.0);
}

}  // namespace glm_plan_detail

inline glm_plan plan_glm(const glm_facts& facts) {
  using namespace glm_plan_detail;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  glm_plan out;
  add_location(facts, budget, out);
  add_whitening(facts, budget, out);
  add_cap(facts, budget, out);
  const auto before = static_cast<std::ptrdiff_t>(out.records.size());
  add_after(facts, budget, out);
  out.shares.check();
  // Charged last, but drawn before the steps that use its result.
  const step_record objective = price_objective(facts, budget, out);
  out.records.insert(out.records.begin() + before, objective);
  out.longest = longest_limit(facts, facts.n, out);
  out.stretch = row_stretch(facts, facts.n, out);
  out.beyond = share_beyond(facts, out);
  return out;
}

/// Curvature over ridge from which a coefficient counts as identified: larger if whitening is
/// rough, since the effects of other columns then leak into a coefficient. Measured: bench/glm.R.
inline double identified_from(const glm_facts& facts, double n) {
  const total_budget budget(facts.epsilon, facts.delta);
  if (!budget.gaussian()) return glm_constants::identified;
  const Eigen::Index p = facts.design.p();
  const double share = p <= 5 ? glm_constants::whitening : glm_constants::whitening_many;
  return std::max(
      glm_constants::identified,
      glm_constants::identified_rough * glm_plan_detail::whitening_noise(budget, share, n, p));
}

/// The number of rows of the largest weight that have the released total weight: n without case
/// weights, or without released moments.
inline double counted_rows(const glm_facts& facts, const std::vector<whitening_round>& rounds) {
  if (!facts.design.weighted || rounds.empty()) return facts.n;
  return facts.n * std::min(1.0, std::max(least_weight, rounds.back().weight));
}

inline glm_family family_of(const glm_facts& facts, double span) {
  const glm_family out{facts.kind, span};
  out.check();
  return out;
}

}  // namespace dpsc
