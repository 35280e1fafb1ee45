// A private generalised linear model from facts to release: coordinates from noisy moments of the
// regressors, the minimiser of a perturbed objective in them, noisy information for intervals.
// Proofs: inst/proofs/glm.md.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../accountant/spherical.hpp"
#include "../estimate/glm_errors.hpp"
#include "../mechanism/location.hpp"
#include "../mechanism/whitening.hpp"
#include "../noise/spherical.hpp"
#include "../solver/glm_newton.hpp"
#include "../solver/glm_prox.hpp"
#include "lm_release.hpp"

namespace dpsc {

/// What slopes are asked to be. PUBLIC. Weights are a person's: sums over n rows are n times them.
struct glm_wishes {
  double lasso = 0.0, ridge = 0.0, group = 0.0;
  std::vector<std::vector<int>> groups;
  Eigen::VectorXd lower, upper;  // of coefficients, formula's units
  bool any = false;
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
};

/// Shares of the budget of every step but the objective, which takes what is left: one table, fixed
/// before the first draw.
struct glm_shares {
  double location = 0.0, radii = 0.0, moments = 0.0, cap = 0.0, accuracy = 0.0, information = 0.0;
  int rounds = 0;

  double total() const { return location + radii + moments + cap + accuracy + information; }
  void check() const {
    if (!(total() < 0.9)) throw std::logic_error("the shares of a model exceed the budget");
  }
};

/// Noise over the solver's error: a public tolerance and grid.
struct accuracy_step {
  law kind = law::discrete_gaussian;
  double tolerance = 0.0, grid = 0.0, noise = 0.0, sd = 0.0;
};

/// Noisy information: a Gram matrix of whole rows of length at most `limit`.
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
  std::vector<lm_round_plan> rounds;
  double cap_exponent = 0.0;
  std::vector<double> caps;
  double accuracy_mu = 0.0, accuracy_epsilon = 0.0;
  information_step information;
  double rho = 0.0;    // of all steps but the objective
  double reach = 0.0;  // 2 units / kappa
  double c = 0.0;      // curvature over ridge
  double order = std::numeric_limits<double>::quiet_NaN();
  double objective_epsilon = 0.0;  // of pure steps
  std::vector<step_record> records;
};

namespace glm_constants {
constexpr double location = 0.03, location_most = 0.08;
constexpr double whitening = 0.10, whitening_many = 0.16;  // up to five columns, and beyond
constexpr int fine_location = 8;                           // bits of a location's cells
constexpr double radii_part = 0.1;                         // of it
constexpr double cap = 0.02, accuracy = 0.001, information = 0.1;
constexpr double ridge_share = 0.5;  // c over epsilon
constexpr double cap_margin = 1.5, cap_quantile = 0.02;
}  // namespace glm_constants

namespace glm_plan_detail {

/// rho of a step whose log-ratios have a range of `exponent` (Cesar and Rogers, 2021).
inline double choice_rho(double exponent) { return exponent * exponent / 8.0; }

inline information_step plan_information(double n, Eigen::Index d, const total_budget& budget,
                                         double share) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double dim = static_cast<double>(d);
  for (int bits = 12; bits >= 6; --bits) {
    information_step out;
    const double L = std::ldexp(1.0, bits), B = L * L;
    if (!(std::sqrt(dim) < L && n * B < exact_integers)) continue;
    out.limit = L;
    step_record record{"information", "", 0.0, 0.0, none, none};
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

}  // namespace glm_plan_detail

inline glm_plan plan_glm(const glm_facts& facts) {
  using namespace glm_constants;
  using namespace glm_plan_detail;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  const double none = std::numeric_limits<double>::quiet_NaN();
  const Eigen::Index p = facts.design.p();
  const double n = facts.n, root = std::sqrt(static_cast<double>(p));
  const bool gaussian = budget.gaussian();
  glm_plan out;
  std::vector<std::string> names;
  for (std::size_t j : facts.design.located()) {
    if (j == facts.design.response() && facts.kind != glm_kind::gaussian) continue;
    out.located.push_back(j);
    names.push_back(facts.names[j]);
  }
  glm_shares& shares = out.shares;
  const double draws = 2.0 * static_cast<double>(names.size());
  if (draws > 0.0) {
    // As much as finds every median, within limits.
    const double least = location_exponent(budget, location / draws) * n / 2.0;
    const double wanted = gaussian ? 12.6 : wanted_location;  // of n exponent / 2
    const double ratio = wanted / least;
    const double enough = location * (gaussian ? ratio * ratio : ratio);
    shares.location = std::min(location_most, std::max(location, enough));
    out.location = plan_location(budget, shares.location / draws, n, names);
    // Coarse cells lose what is far narrower than its bounds: moments alone do better then.
    if (gaussian && out.location.cell_bits < fine_location) out.location = location_plan{};
    if (!out.location.made) shares.location = 0.0;
  }
  out.records = out.location.records;
  // Coordinates that moments would whiten need Gaussian noise to be worth their share.
  if (gaussian) {
    const double all = p <= 5 ? whitening : whitening_many;
    const bool found = out.location.made || names.empty();
    shares.rounds = found ? 1 : 2;
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
  if (facts.kind == glm_kind::poisson) {
    shares.cap = cap;
    out.cap_exponent = budget.exponent(cap);
    for (double q = 1.0;; q *= std::sqrt(2.0)) {
      out.caps.push_back(std::max(2.0, cap_margin * std::min(q, facts.upper)));
      if (q >= facts.upper) break;
    }
    out.records.push_back(budget.choice_record("cap of the outcome", out.cap_exponent));
  }
  const std::size_t before = out.records.size();
  shares.accuracy = accuracy;
  out.accuracy_mu = gaussian ? budget.mu(accuracy) : 0.0;
  out.accuracy_epsilon = gaussian ? 0.0 : budget.epsilon(accuracy);
  if (facts.intervals) {
    shares.information = information;
    out.information = plan_information(n, p + 1, budget, information);
  }
  shares.check();
  step_record cover{"accuracy of the solver",
                    law_name(gaussian ? law::discrete_gaussian : law::discrete_laplace),
                    1.0,
                    1.0 / (gaussian ? out.accuracy_mu : out.accuracy_epsilon),
                    gaussian ? none : out.accuracy_epsilon,
                    gaussian ? out.accuracy_mu : none};
  out.records.push_back(cover);
  if (facts.intervals) out.records.push_back(out.information.record[0]);

  const glm_family family{facts.kind, 2.0};
  step_record objective{"linear term of the objective", spherical_law, 0.0, 1.0, none, none};
  if (gaussian) {
    for (const step_record& record : out.records)
      out.rho += record.law == "exponential" ? choice_rho(record.sensitivity / record.scale)
                                             : record.mu * record.mu / 2.0;
    out.rho *= 1.0 + 1e-12;
    out.c = ridge_share * facts.epsilon;
    const objective_calibration found = calibrate_objective(
        family.slopes(), facts.epsilon, facts.delta, out.rho, out.c, static_cast<int>(p + 1));
    if (!(found.reach > 0.0)) throw budget_too_small();
    out.reach = found.reach;
    out.order = found.order;
  } else {
    // Pure: a corner costs the reach, an edge half of it and the curvature.
    double spent = 0.0;
    for (const step_record& record : out.records) spent += record.epsilon;
    out.objective_epsilon = (facts.epsilon - spent) * (1.0 - 1e-12);
    if (!(out.objective_epsilon > 0.0)) throw budget_too_small();
    out.reach = out.objective_epsilon;
    out.c = out.objective_epsilon / 2.0;
    objective.epsilon = out.objective_epsilon;
  }
  objective.sensitivity = out.reach;
  out.records.insert(out.records.begin() + static_cast<std::ptrdiff_t>(before), objective);
  return out;
}

// Release -----------------------------------------------------------------------------------------

/// RELEASED.
struct glm_release {
  lm_location location;
  std::vector<whitening_round> rounds;
  lm_frame frame;
  double span = 1.0, ridge = 0.0, kappa = 0.0;
  Eigen::VectorXd theta;  // in the frame; intercept first
  double out_sd = 0.0;
  Eigen::MatrixXd information;
  double information_sd = 0.0;
};

// Units -------------------------------------------------------------------------------------------

/// The linear map from theta to the formula's coefficients, and what is added to them.
struct glm_units {
  Eigen::MatrixXd map;  // d x d
  Eigen::VectorXd shift;
};

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
  return out;
}

/// Standardised slopes: coefficients times the deviations that released coordinates give columns.
inline slope_units standardise_slopes(const glm_units& units, Eigen::VectorXd& sd) {
  const Eigen::Index p = units.map.rows() - 1;
  const Eigen::MatrixXd S = units.map.bottomRightCorner(p, p);
  const Eigen::MatrixXd inverse = S.partialPivLu().inverse();
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

/// Zeros and bounds that noise over the solver's error has blurred. Post-processing.
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

namespace glm_release_detail {

/// The outcome in the table's units, from the grid.
inline double outcome_of(const lm_variable& v, double grid) {
  return v.centre + v.half * std::ldexp(grid, -row_bits);
}

/// Smallest cap that all but a share of the outcomes keep to.
inline double choose_cap(const row_source& source, const glm_facts& facts, const glm_plan& plan,
                         noise& draws) {
  const lm_variable& v = facts.design.variables[facts.design.response()];
  const auto j = static_cast<Eigen::Index>(facts.design.response());
  std::vector<std::int64_t> outside(plan.caps.size(), 0);
  lm_reader reader(facts.design);
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    for (Eigen::Index i = 0; i < grid.rows(); ++i) {
      if (!(present[i] > 0.0)) continue;
      const double y = outcome_of(v, grid(i, j));
      for (std::size_t k = 0; k < plan.caps.size(); ++k)
        outside[k] += y > plan.caps[k] / glm_constants::cap_margin;
    }
  });
  private_choice choice;
  const auto allowed = static_cast<std::int64_t>(std::floor(glm_constants::cap_quantile * facts.n));
  const auto price =
      static_cast<std::int64_t>(std::floor(std::min(3.0 / plan.cap_exponent, 0.01 * facts.n)));
  for (std::size_t k = 0; k < plan.caps.size(); ++k)
    choice.losses.push_back(std::max<std::int64_t>(0, outside[k] - allowed) +
                            price * static_cast<std::int64_t>(k));
  choice.shift = 20;
  choice.units = exponent_units(plan.cap_exponent, choice.shift);
  return plan.caps[draws.choose("cap of the outcome", choice)];
}

inline glm_rows read_rows(const row_source& source, const glm_facts& facts,
                          const glm_release& release, const glm_family& family) {
  const lm_design& design = facts.design;
  const auto response = static_cast<Eigen::Index>(design.response());
  const lm_variable& v = design.variables[design.response()];
  lm_reader reader(design);
  lm_columns columns(design, release.location);
  lm_features features(columns, release.frame);
  glm_rows out;
  out.p = design.p();
  out.unit = features.unit();
  out.limit = row_limit(out.d());
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd z = features.features(columns.columns(grid)).leftCols(out.p);
    const Eigen::ArrayXd squared = squared_row_norms(z);
    Eigen::VectorXd weight(z.rows()), outcome(z.rows());
    for (Eigen::Index i = 0; i < z.rows(); ++i) {
      const double length = 1.0 + squared[i] * out.unit * out.unit;
      weight[i] = present[i] > 0.0 ? mallows_weight(length, out.limit) : 0.0;
      const double x = std::sqrt(length);
      if (!(weight[i] * x <= out.limit && weight[i] * length <= out.limit * out.limit))
        throw std::logic_error("a row of a model leaves its limits");
      const double q = grid(i, response);
      outcome[i] = family.kind == glm_kind::gaussian
                       ? (std::ldexp(q, -row_bits) - release.location.median[response]) /
                             release.location.scale[response]
                       : family.outcome(outcome_of(v, q));
      if (!(present[i] > 0.0)) outcome[i] = 0.0;
    }
    out.blocks.push_back(z.cast<int>());
    out.weight.push_back(weight);
    out.outcome.push_back(outcome);
    out.n += z.rows();
  });
  return out;
}

/// Tolerance and noise of the minimiser, from public and released facts.
inline accuracy_step plan_accuracy(const glm_family& family, double ridge, double kappa,
                                   const rounding_facts& f, const glm_plan& plan, Eigen::Index d) {
  const double dim = static_cast<double>(d);
  accuracy_step out;
  const bool gaussian = plan.accuracy_mu > 0.0;
  const double mu = gaussian ? plan.accuracy_mu : plan.accuracy_epsilon / std::sqrt(dim);
  const double rounding = gradient_rounding(family, ridge, f, d);
  const double error =
      kappa * std::sqrt(dim + 1.0) / (f.n * f.limit * f.limit * family.steepest() + ridge);
  // A hundredth of what the estimate is off at least; more where rounding asks for it.
  const double sd = std::max(0.01 * error, 40.0 * rounding / ridge / mu);
  out.tolerance = sd * mu / 4.0 * ridge / 2.0;  // at least 5 times the rounding
  out.grid =
      std::ldexp(1.0, static_cast<int>(std::floor(std::log2(sd * mu / (4.0 * std::sqrt(dim))))));
  const double shift = 2.0 * out.tolerance / ridge / out.grid;
  if (gaussian) {
    out.noise = gaussian_vector_variance(shift + std::sqrt(dim), mu);
    out.sd = out.grid * std::sqrt(out.noise);
  } else {
    out.kind = law::discrete_laplace;
    out.noise =
        std::ceil((std::sqrt(dim) * shift + dim) / plan.accuracy_epsilon * (1.0 + gdp_margin));
    out.sd = out.grid * std::sqrt(2.0) * out.noise;
  }
  if (!(out.sd / out.grid <= largest_sigma)) throw budget_too_small();
  return out;
}

/// Gram matrix of rows sqrt(weight curvature) xi on a grid, and its noise.
inline void release_information(const glm_rows& rows, const glm_family& family,
                                const information_step& step, glm_release& out, noise& draws) {
  const Eigen::Index d = rows.d();
  const double dim = static_cast<double>(d);
  const double longest = rows.limit * std::sqrt(family.steepest());
  const double zoom = (step.limit - std::sqrt(dim) / 2.0) * (1.0 - 0x1.0p-30) / longest;
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(d, d), u;
  for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
    const Eigen::MatrixXi& block = rows.blocks[b];
    u.resize(block.rows(), d);
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      double t = out.theta[0];
      for (Eigen::Index j = 0; j + 1 < d; ++j) t += block(i, j) * rows.unit * out.theta[j + 1];
      const double k = rows.weight[b][i] * family.curvature(t, rows.outcome[b][i]);
      const double s = zoom * std::sqrt(std::max(0.0, k));
      u(i, 0) = s;
      for (Eigen::Index j = 0; j + 1 < d; ++j) u(i, j + 1) = s * (block(i, j) * rows.unit);
    }
    for (Eigen::Index j = 0; j < d; ++j)
      u.col(j).array() = nearest_integer(u.col(j).array().eval());
    if (!(squared_row_norms(u) <= step.limit * step.limit).all())
      throw std::logic_error("a row of the information leaves its limit");
    gram.selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
  }
  Eigen::VectorXd entries(d * (d + 1) / 2), scale(d * (d + 1) / 2);
  const double off = step.kind == law::discrete_gaussian ? step.noise / 2.0 : step.noise;
  Eigen::Index at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at) {
      entries[at] = gram(j, i);
      scale[at] = i == j ? step.noise : off;
    }
  const Eigen::VectorXd noisy = draws.add("information", step.kind, entries, scale);
  out.information.resize(d, d);
  at = 0;
  for (Eigen::Index j = 0; j < d; ++j)
    for (Eigen::Index i = 0; i <= j; ++i, ++at)
      out.information(i, j) = out.information(j, i) = noisy[at] / (zoom * zoom);
  out.information_sd = step.sigma / (zoom * zoom);
}

}  // namespace glm_release_detail

inline glm_family family_of(const glm_facts& facts, double span) {
  const glm_family out{facts.kind, span};
  out.check();
  return out;
}

inline glm_release run_glm(const glm_plan& plan, const glm_facts& facts, const row_source& source,
                           noise& draws, spherical_noise& vectors, const ticker& tick) {
  using namespace glm_release_detail;
  const lm_design& design = facts.design;
  const Eigen::Index p = design.p(), d = p + 1;
  const auto response = static_cast<Eigen::Index>(design.response());
  glm_release out;
  // An outcome that is not located has an indicator's place.
  lm_design placed = design;
  if (facts.kind != glm_kind::gaussian) placed.variables[design.response()].indicator = true;
  out.location = release_location(source, placed, plan.location, draws, tick);
  out.frame = lm_frame::start(p);
  for (const lm_round_plan& round : plan.rounds) {
    out.rounds.push_back(
        release_whitening(source, design, out.location, out.frame, round, facts.n, draws, tick));
    out.frame = whiten(out.frame, out.rounds.back());
  }
  double largest = 1.0;
  if (facts.kind == glm_kind::poisson) out.span = largest = choose_cap(source, facts, plan, draws);
  if (facts.kind == glm_kind::gaussian) {
    out.span = plan.location.made ? 1.0 : 0.25;
    largest = (1.0 + std::fabs(out.location.median[response])) / out.location.scale[response];
  }
  const glm_family family = family_of(facts, out.span);
  const glm_rows rows = read_rows(source, facts, out, family);
  const double R = rows.limit;
  out.ridge = family.bend() * R * R / plan.c;
  out.kappa = 2.0 * family.unit() * R / plan.reach;
  const Eigen::VectorXd linear = vectors.draw(d, out.kappa);
  // |linear| / kappa is Gamma(d); beyond this with a chance of exp(-L), paid for by the margin in
  // delta.
  const double L = 60.0 + (facts.delta > 0.0 ? -std::log(facts.delta) : 0.0);
  const double dim = static_cast<double>(d);
  rounding_facts rounding{facts.n, R, largest, out.kappa * (dim + std::sqrt(2.0 * dim * L) + L)};
  slope_penalty penalty;
  slope_units slopes;
  if (facts.wishes.any) {
    Eigen::VectorXd sd;
    slopes = standardise_slopes(units_of(facts, out.location, out.frame), sd);
    penalty = penalty_of(facts.wishes, facts.n, sd);
    rounding.start = (slopes.to * penalty.start()).norm();
    rounding.penalty = penalty.value(penalty.start());
    rounding.units = 8.0 * slopes.to.norm() * slopes.back.norm();
  }
  const accuracy_step accuracy = plan_accuracy(family, out.ridge, out.kappa, rounding, plan, d);
  const glm_problem problem{rows, family, out.ridge, linear};
  // What is left of the tolerance covers the rounding of the gradient.
  const double tolerance = 0.75 * accuracy.tolerance;
  const Eigen::VectorXd minimiser =
      facts.wishes.any ? minimise_penalised(problem, penalty, slopes, tolerance, tick).theta
                       : minimise_glm(problem, tolerance, tick).theta;
  Eigen::VectorXd steps(d);
  for (Eigen::Index j = 0; j < d; ++j) steps[j] = std::nearbyint(minimiser[j] / accuracy.grid);
  out.theta = accuracy.grid * draws.add("accuracy of the solver", accuracy.kind, steps,
                                        Eigen::VectorXd::Constant(d, accuracy.noise));
  out.out_sd = accuracy.sd;
  if (facts.intervals) release_information(rows, family, plan.information, out, draws);
  return out;
}

/// Coefficients in the formula's units; intercept first. RELEASED.
struct glm_estimate {
  Eigen::VectorXd coefficients;
  Eigen::MatrixXd privacy, sampling;
  Eigen::VectorXd identified;  // curvature over ridge of the direction: above 1 it is
};

inline glm_estimate estimate_glm(const glm_release& release, const glm_facts& facts) {
  const glm_units units = units_of(facts, release.location, release.frame);
  const glm_facts_released known{family_of(facts, release.span),
                                 facts.n,
                                 release.ridge,
                                 release.kappa,
                                 release.out_sd,
                                 release.theta,
                                 release.information,
                                 release.information_sd};
  const glm_covariance errors = glm_errors(known);
  glm_estimate out;
  if (facts.wishes.any) {
    Eigen::VectorXd sd, theta = release.theta;
    const Eigen::Index p = facts.design.p();
    const slope_units slopes = standardise_slopes(units, sd);
    const Eigen::VectorXd blur = release.out_sd * slopes.back.rowwise().norm();
    const Eigen::VectorXd z =
        snap(penalty_of(facts.wishes, facts.n, sd), slopes.back * theta.tail(p), blur);
    theta.tail(p) = slopes.to * z;
    out.coefficients = units.shift + units.map * theta;
    // Exact zeros and bounds, whatever the change of coordinates rounds.
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
  out.identified.resize(d);
  for (Eigen::Index j = 0; j < d; ++j) {
    const Eigen::VectorXd a = units.map.row(j).transpose();
    const double inverse = a.dot(errors.inverse * a) / a.squaredNorm();
    out.identified[j] = std::max(0.0, 1.0 / (inverse * release.ridge) - 1.0);
  }
  return out;
}

}  // namespace dpsc
