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

#include "../noise/noise.hpp"
#include "../noise/symmetric.hpp"
#include "../solver/glm_newton.hpp"
#include "../solver/glm_prox.hpp"
#include "glm_estimate.hpp"
#include "glm_plan.hpp"
#include "glm_radius.hpp"

namespace dpsc {

namespace glm_release_detail {

/// The outcome in the table's units, from the grid.
inline double outcome_of(const lm_variable& v, double grid) {
  return v.centre + v.half * std::ldexp(grid, -row_bits);
}

/// The smallest cap that all outcomes except a share respect.
inline double choose_cap(const row_source& source, const glm_facts& facts, const glm_plan& plan,
                         noise& draws) {
  const lm_variable& v = facts.design.variables[facts.design.response()];
  const auto j = static_cast<Eigen::Index>(facts.design.response());
  std::vector<std::int64_t> first(plan.caps.size() + 1, 0);
  lm_reader reader(facts.design);
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    count_people({grid, present, reader.people()}, first, facts.design, [&](Eigen::Index i) {
      const double y = outcome_of(v, grid(i, j));
      std::size_t k = 0;
      while (k < plan.caps.size() && y > plan.caps[k] / glm_constants::cap_margin) ++k;
      return k;
    });
  });
  return plan.caps[choose_limit(first, bits_of_shares(facts.design), plan.beyond * facts.n,
                                std::min(3.0 / plan.cap_exponent, 0.01 * facts.n),
                                plan.cap_exponent, "cap of the outcome", draws)];
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
  out.limit = release.weighting.limit;
  const offset_units known = offset_units_of(facts, release.location);
  reader.pass(source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd z = features.features(columns.columns(grid)).leftCols(out.p);
    const Eigen::ArrayXd squared = squared_row_norms(z);
    Eigen::VectorXd weight(z.rows()), outcome(z.rows());
    for (Eigen::Index i = 0; i < z.rows(); ++i) {
      const double length = 1.0 + squared[i] * out.unit * out.unit;
      // A case weight relative to the largest is given by its root, at most one.
      weight[i] = present[i] > 0.0 ? release.weighting.of(length) * (present[i] * present[i]) : 0.0;
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
    if (design.person) {
      out.people.push_back(reader.people());
      out.whole.push_back(weight);
      weight = weight.cwiseQuotient(rows_there({grid, present, reader.people()}));
    }
    out.weight.push_back(weight);
    out.outcome.push_back(outcome);
    if (facts.offset >= 0) {
      const Eigen::ArrayXd at = grid.col(facts.offset).array() * std::ldexp(1.0, -row_bits);
      out.offset.push_back((present > 0.0).select(known.half * (at - known.median), 0.0));
    }
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
  // A hundredth of the estimate's smallest error, or more if rounding requires it.
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
  mean_outer means(step.limit * step.limit, d);
  const std::vector<Eigen::VectorXd>& weights = rows.people.empty() ? rows.weight : rows.whole;
  for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
    const Eigen::MatrixXi& block = rows.blocks[b];
    u.resize(block.rows(), d);
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      double t = out.theta[0] + rows.offset_of(b, i);
      for (Eigen::Index j = 0; j + 1 < d; ++j) t += block(i, j) * rows.unit * out.theta[j + 1];
      const double k = weights[b][i] * family.curvature(t, rows.outcome[b][i]);
      const double s = zoom * std::sqrt(std::max(0.0, k));
      u(i, 0) = s;
      for (Eigen::Index j = 0; j + 1 < d; ++j) u(i, j + 1) = s * (block(i, j) * rows.unit);
    }
    for (Eigen::Index j = 0; j < d; ++j)
      u.col(j).array() = nearest_integer(u.col(j).array().eval());
    if (!(squared_row_norms(u) <= step.limit * step.limit).all())
      throw std::logic_error("a row of the information leaves its limit");
    if (rows.people.empty())
      gram.selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
    else
      means.add(u, {u, weights[b].array(), rows.people[b]}, gram);
  }
  const Eigen::MatrixXd sums = gram.selfadjointView<Eigen::Lower>();
  out.information =
      add_symmetric(sums, "information", step.kind, step.noise, draws) / (zoom * zoom);
  out.information_sd = step.sigma / (zoom * zoom);
}

/// Gram matrix of one score per person on a grid, or its trace, and noise: it shows the effect of
/// unequal weights, or of overdispersion, on sampling errors. People with several rows contribute
/// their mean score.
inline void release_scores(const glm_rows& rows, const glm_family& family,
                           const information_step& step, bool whole, glm_release& out,
                           noise& draws) {
  const Eigen::Index d = rows.d();
  const double longest = rows.limit * family.unit();
  const double zoom =
      (step.limit - std::sqrt(static_cast<double>(d)) / 2.0) * (1.0 - 0x1.0p-30) / longest;
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(d, d), x, u;
  for (std::size_t b = 0; b < rows.blocks.size(); ++b) {
    rows.design(b, x);
    Eigen::VectorXd t = x * out.theta;
    rows.add_offset(b, t);
    for (Eigen::Index i = 0; i < t.size(); ++i)
      x.row(i) *= zoom * rows.weight[b][i] * family.slope(t[i], rows.outcome[b][i]);
    u = rows.people.empty() ? x : sums_of_people(x, rows.people[b]);
    for (Eigen::Index j = 0; j < d; ++j)
      u.col(j).array() = nearest_integer(u.col(j).array().eval());
    if (!(squared_row_norms(u) <= step.limit * step.limit).all())
      throw std::logic_error("a score leaves its limit");
    gram.selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
  }
  const Eigen::MatrixXd sums = gram.selfadjointView<Eigen::Lower>();
  out.scores = whole ? add_symmetric(sums, "scores", step.kind, step.noise, draws)
                     : Eigen::MatrixXd(draws.add("dispersion", step.kind,
                                                 Eigen::VectorXd::Constant(1, sums.trace()),
                                                 Eigen::VectorXd::Constant(1, step.noise)));
  out.scores /= zoom * zoom;
  out.scores_sd = step.sigma / (zoom * zoom);
}

/// The minimisation, by the solver that suits the limits and penalties.
class released_objective : public perturbed_objective {
 public:
  using solver = std::function<Eigen::VectorXd(const glm_problem&)>;

  /// @param smooth no penalty and no limits, so that densities are known.
  released_objective(glm_problem problem, solver minimise, bool smooth, ticker tick)
      : problem_(std::move(problem)),
        minimise_(std::move(minimise)),
        smooth_(smooth),
        tick_(std::move(tick)) {}

  Eigen::Index size() const override { return problem_.rows.d(); }

  Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const override {
    return minimise_({problem_.rows, problem_.family, problem_.ridge, term});
  }

  Eigen::VectorXd gradient(const Eigen::VectorXd& f) const override {
    return problem_.gradient(f, nullptr, tick_);
  }

  double log_curvature(const Eigen::VectorXd& f) const override {
    if (!smooth_) return std::numeric_limits<double>::infinity();
    Eigen::MatrixXd hessian;
    problem_.gradient(f, &hessian, tick_);
    const Eigen::MatrixXd root = llt(hessian).matrixL();
    return 2.0 * root.diagonal().array().log().sum();
  }

 private:
  glm_problem problem_;
  solver minimise_;
  bool smooth_;
  ticker tick_;
};

}  // namespace glm_release_detail

inline glm_release run_glm(const glm_plan& plan, const glm_facts& facts, const row_source& source,
                           noise& draws, const ticker& tick) {
  using namespace glm_release_detail;
  const lm_design& design = facts.design;
  const Eigen::Index p = design.p(), d = p + 1;
  const auto response = static_cast<Eigen::Index>(design.response());
  glm_release out;
  // An outcome that is not located is treated like an indicator.
  lm_design placed = design;
  if (facts.kind != glm_kind::gaussian) placed.variables[design.response()].indicator = true;
  out.location = release_location(source, placed, plan.location, draws, tick);
  out.frame = lm_frame::start(p);
  for (const whitening_plan& round : plan.rounds) {
    out.rounds.push_back(
        release_whitening(source, design, out.location, out.frame, round, facts.n, draws, tick));
    out.frame = whiten(out.frame, out.rounds.back());
  }
  const double n = counted_rows(facts, out.rounds);
  out.weighting =
      glm_weighting(facts, glm_plan_detail::longest_limit(facts, n, plan),
                    glm_plan_detail::row_stretch(facts, n, plan), out.location, out.frame);
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
  // The linear term over kappa has length Gamma(d); larger with probability exp(-L), which the
  // margin in delta covers.
  const double L = 60.0 + (facts.delta > 0.0 ? -std::log(facts.delta) : 0.0);
  const double dim = static_cast<double>(d);
  rounding_facts rounding{facts.n, R, largest, out.kappa * (dim + std::sqrt(2.0 * dim * L) + L)};
  rounding.offset = offset_units_of(facts, out.location).largest;
  if (design.person) rounding.terms = most_terms;
  slope_penalty penalty;
  slope_units slopes;
  linear_springs springs;
  Eigen::VectorXd start;
  if (facts.wishes.linear()) {
    Eigen::VectorXd sd;
    const glm_units units = units_of(facts, out.location, out.frame);
    slopes = standardise_slopes(units, sd);
    springs = springs_of(facts.wishes, family, facts.n, units, slopes, sd);
    // Approximately the shortest theta within the limits.
    start = minimise_pieces(springs, out.ridge * Eigen::MatrixXd::Identity(d, d),
                            Eigen::VectorXd::Zero(d), Eigen::VectorXd::Zero(d), 0.0);
    rounding.start = start.norm();
    rounding.penalty = springs.value(start);
    rounding.springs = [&springs, &facts](double energy, double length) {
      return springs.rounding(facts.n, energy, length);
    };
  } else if (facts.wishes.any) {
    Eigen::VectorXd sd;
    slopes = standardise_slopes(units_of(facts, out.location, out.frame), sd);
    penalty = penalty_of(facts.wishes, facts.n, sd);
    rounding.start = (slopes.to * penalty.start()).norm();
    rounding.penalty = penalty.value(penalty.start());
    rounding.units = 8.0 * slopes.to.norm() * slopes.back.norm();
  }
  const accuracy_step accuracy = plan_accuracy(family, out.ridge, out.kappa, rounding, plan, d);
  // The rest of the tolerance covers the rounding of the gradient.
  const double tolerance = 0.75 * accuracy.tolerance;
  const auto certified = [&](const glm_problem& problem) {
    if (springs.any()) return minimise_sprung(problem, springs, start, tolerance, tick);
    if (facts.wishes.any) return minimise_penalised(problem, penalty, slopes, tolerance, tick);
    return minimise_glm(problem, tolerance, tick);
  };
  const auto solve = [&](const glm_problem& problem) -> Eigen::VectorXd {
    return certified(problem).within(tolerance);
  };
  const released_objective objective({rows, family, out.ridge, Eigen::VectorXd::Zero(d)}, solve,
                                     !facts.wishes.any && !springs.any(), tick);
  const Eigen::VectorXd minimiser =
      draws.perturb("linear term of the objective", law::spherical, out.kappa, objective);
  Eigen::VectorXd steps(d);
  for (Eigen::Index j = 0; j < d; ++j) steps[j] = std::nearbyint(minimiser[j] / accuracy.grid);
  out.theta = accuracy.grid * draws.add("accuracy of the solver", accuracy.kind, steps,
                                        Eigen::VectorXd::Constant(d, accuracy.noise));
  out.out_sd = accuracy.sd;
  if (facts.intervals) release_information(rows, family, plan.information, out, draws);
  if (facts.scores() || facts.dispersion())
    release_scores(rows, family, plan.scores, facts.scores(), out, draws);
  return out;
}

}  // namespace dpsc
