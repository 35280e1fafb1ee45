// A private linear regression from facts to release: location, then rounds of weighted moments.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../estimate/pooled.hpp"
#include "../mechanism/location.hpp"
#include "../mechanism/regression_rounds.hpp"
#include "../mechanism/regression_scores.hpp"

namespace dpsc {

/// Public facts of a regression.
struct lm_facts {
  double n = 0.0, epsilon = 0.0, delta = 0.0;
  bool scores = false;           // pay for errors that do not assume one variance
  double kept = lm_kept().most;  // numbers kept in memory between the questions of a round
  lm_design design;
  std::vector<std::string> located;  // names, for the records
};

/// Shares of the budget: one table, fixed before the first draw.
struct lm_shares {
  double location = 0.0;  // of all its draws
  double moments = 0.0;
  double counts = 0.0, scores = 0.0;
  int rounds = 0;

  void check() const {
    if (!(location >= 0.0 && moments > 0.0 && counts >= 0.0 && scores >= 0.0 && rounds > 0 &&
          location + moments + counts + scores <= 1.0 + 1e-12))
      throw std::logic_error("the shares of a regression exceed the budget");
  }
};

/// Fixed before anything is drawn. PUBLIC.
struct lm_plan {
  lm_shares shares;
  location_plan location;
  std::vector<lm_round_plan> rounds;
  lm_counts_plan counts;
  lm_scores_plan scores;
  double total = 0.0, rho = 0.0;
  double signal = 0.0;  // n sqrt(rho)
  double first_radius = 0.0;
  double radius = 0.0, longest = 0.0;  // of the rounds after the first: at least, and at most
  double strength = 0.0;               // mu of all moments, times the root of n
  bool resolved = false;               // can the moments of all columns be told from noise?
  std::vector<step_record> records;
};

namespace lm_constants {
constexpr double location_most = 0.4, location_least = 0.08;
constexpr double counts = 0.005, scores = 0.1;
constexpr double resolved = 12.0;    // n sqrt(rho) over p^1.5
constexpr double least_found = 7.0;  // n x / 2 of a location draw, where cells are few
constexpr int scale_bits = 6;
constexpr int rounds = 5, rounds_small = 3;
// Radii over the root of p, and clips over the residual's deviation: as large as the noise allows.
constexpr double first_radius = 1.25, widest_radius = 2.5, radius_gain = 0.1;
constexpr double first_reach = 1.5, least_reach = 1.1, most_reach = 3.0, reach_gain = 0.114;
constexpr double longest = 0.33;  // of n mu over the root of p: the square of the largest radius
constexpr double far = 3.0;       // deviations
constexpr double first_weight = 0.6;  // of residuals
}  // namespace lm_constants

/// rho of Gaussian noise as large as that of the Laplace steps.
inline double lm_rho(const total_budget& budget, Eigen::Index p, int rounds) {
  if (budget.gaussian()) return budget.rho();
  const double m = static_cast<double>(p) + 2.0;
  return budget.total() * budget.total() / (2.0 * m * (m + 3.0) * rounds);
}

inline lm_plan plan_lm(const lm_facts& facts) {
  using namespace lm_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  const Eigen::Index p = facts.design.p();
  const double d = static_cast<double>(p), n = facts.n;
  lm_plan out;
  out.total = budget.total();
  out.rho = budget.rho();
  out.signal = n * std::sqrt(lm_rho(budget, p, rounds_small));
  out.resolved = out.signal >= lm_constants::resolved * std::pow(d, 1.5);
  lm_shares& shares = out.shares;
  // What is asked besides is taken out first.
  out.counts = plan_counts(n, budget, lm_constants::counts);
  if (out.counts.made) shares.counts = lm_constants::counts;
  if (facts.scores) {
    shares.scores = lm_constants::scores;
    out.scores = plan_scores(n, p, budget, shares.scores);
  }
  const double rest = 1.0 - shares.counts - shares.scores;
  const auto draws = 2.0 * static_cast<double>(facts.located.size());
  if (draws > 0.0) {
    // As much as finds every median, within limits.
    const double least = location_exponent(budget, rest * location_least / draws) * n / 2.0;
    const double ratio = wanted_location / least;
    const double wanted = location_least * (budget.gaussian() ? ratio * ratio : ratio);
    shares.location = rest * std::min(location_most, std::max(location_least, wanted));
    out.location =
        plan_location(budget, shares.location / draws, n, facts.located, least_found, scale_bits);
  }
  if (!out.location.made) shares.location = 0.0;
  const bool found = out.location.made || facts.located.empty();
  // Pure noise grows with the number of rounds, not with its root.
  shares.rounds = out.resolved && found && budget.gaussian() ? rounds : rounds_small;
  shares.moments = rest - shares.location;
  shares.check();

  out.records = out.location.records;
  const double moments = shares.moments / shares.rounds;
  const double share = shares.moments * (budget.gaussian() ? 1.0 : shares.moments);
  const double mu = std::sqrt(2.0 * lm_rho(budget, p, shares.rounds) * share);
  out.strength = mu * std::sqrt(n);
  double numbers = 0.0;
  for (Eigen::Index k = 0; k < p; ++k) numbers += !facts.design.of_indicators(k);
  const double wide =
      std::min(widest_radius, std::max(1.0, radius_gain * out.strength / std::sqrt(d)));
  out.first_radius = lm_constants::first_radius * std::sqrt(d);
  out.radius = std::sqrt(wide * wide * numbers + d - numbers);
  out.longest = std::sqrt(lm_constants::longest * n * mu / std::sqrt(d));
  for (int t = 0; t < shares.rounds; ++t) {
    const bool first = t == 0;
    const std::string at = " of round " + std::to_string(t + 1);
    lm_round_plan round;
    plan_outer(round, "moments" + at, n, p, first ? first_weight : 1.0, budget, moments);
    for (const step_record& record : round.records) out.records.push_back(record);
    out.rounds.push_back(round);
  }
  if (out.counts.made) out.records.push_back(out.counts.record);
  if (out.scores.made) out.records.push_back(out.scores.record);
  return out;
}

/// Public constants of the first round, and what rounds after it make of released moments.
struct lm_limits {
  double radius, clip, far;
};

/// A number within bounds whose variance is nearly the largest that its mean allows takes little
/// but its bounds (Bhatia and Davis, 2000).
constexpr double two_valued = 0.7;

/// Where a column is 0 or 1, a product of such, or a number at its bounds: the share of its rarer
/// value. Else 0. Mean and variance in standardised units.
inline double rarer_share(const lm_design& design, const lm_location& location, Eigen::Index k,
                          double mean, double variance) {
  const lm_column& column = design.columns[static_cast<std::size_t>(k)];
  double low = 0.0, high = 1.0;
  if (column.is_variable()) {
    const int j = column.variables[0];
    low = (-1.0 - location.median[j]) / location.scale[j];
    high = (1.0 - location.median[j]) / location.scale[j];
  }
  const bool known = design.of_indicators(k);
  if (!known && (!column.is_variable() || variance < two_valued * (mean - low) * (high - mean)))
    return 0.0;
  const double share = (mean - low) / (high - low);
  return std::max(0.0, std::min(share, 1.0 - share));
}

/// Columns that are 0 wherever column k is: those whose variables include its own.
inline double columns_within(const lm_design& design, Eigen::Index k) {
  const std::vector<int>& own = design.columns[static_cast<std::size_t>(k)].variables;
  double out = 0.0;
  for (const lm_column& column : design.columns)
    out += std::all_of(own.begin(), own.end(), [&](int j) {
      return std::find(column.variables.begin(), column.variables.end(), j) !=
             column.variables.end();
    });
  return out;
}

/// Mean square of the rows of a group of share q that has some of p whitened columns for itself.
inline double group_square(double q, double own, double p) { return own * (1.0 - q) / q + p - own; }

/// Where whitened columns have variance one a group of share q has a mean square of (1 - q) / q
/// along each column of its own. The radius holds the rarest group that the noise leaves.
/// Post-processing: shares are from released means.
inline double radius_of(const lm_plan& plan, const lm_design& design, const lm_location& location,
                        const lm_round& last) {
  const double p = static_cast<double>(design.p());
  const Eigen::MatrixXd back = last.frame.whiten.transpose().partialPivLu().inverse();
  const Eigen::VectorXd mean = last.frame.centre + back * last.mean;
  const Eigen::VectorXd variance = (back * last.covariance * back.transpose()).diagonal();
  double square = plan.radius * plan.radius;
  for (Eigen::Index k = 0; k < design.p(); ++k) {
    const double q = rarer_share(design, location, k, mean[k], variance[k]);
    if (!(q > 0.0)) continue;
    const double reach = group_square(q, columns_within(design, k), p);
    if (reach <= plan.longest * plan.longest) square = std::max(square, reach);
  }
  return std::sqrt(square);
}

/// Clips over the residual's deviation: the fewer, the more noise a row of that radius asks for.
inline double reach_of(const lm_plan& plan, double radius) {
  using namespace lm_constants;
  return std::min(most_reach, std::max(least_reach, reach_gain * plan.strength / radius));
}

/// The clip is some deviations of what the fit leaves. Post-processing.
inline lm_limits next_limits(const lm_plan& plan, const lm_design& design,
                             const lm_location& location, const lm_round& last,
                             const lm_solution& solution) {
  const double radius = radius_of(plan, design, location, last);
  const double reach = reach_of(plan, radius);
  const double wanted = reach * std::sqrt(solution.residual);
  const double clip = std::min(2.0 * last.clip, std::max(0.25 * last.clip, wanted));
  return {radius, clip, lm_constants::far * clip / reach};
}

inline lm_limits first_limits(const lm_plan& plan) {
  return {plan.first_radius, lm_constants::first_reach, 0.0};
}

struct lm_release {
  lm_location location;
  std::vector<lm_round> rounds;
  std::optional<lm_counts> counts;
  std::optional<lm_scores> scores;
};

inline lm_release run_lm(const lm_plan& plan, const lm_facts& facts, const row_source& source,
                         noise& draws, const ticker& tick) {
  lm_release out;
  out.location = release_location(source, facts.design, plan.location, draws, tick);
  lm_frame frame = lm_frame::start(facts.design.p());
  lm_kept kept;
  kept.most = facts.kept;
  lm_limits limits = first_limits(plan);
  for (std::size_t t = 0; t < plan.rounds.size(); ++t) {
    const bool counted = plan.counts.made && t + 1 == plan.rounds.size();
    out.rounds.push_back(release_round(source, facts.design, out.location, frame, plan.rounds[t],
                                       facts.n, limits.radius, limits.clip,
                                       counted ? limits.far : 0.0, kept, draws, tick));
    const lm_pool pool(out.rounds);
    const lm_solution solution = solve_pool(pool);
    frame = next_frame(pool, solution);
    limits = next_limits(plan, facts.design, out.location, out.rounds.back(), solution);
  }
  if (plan.counts.made) out.counts = release_counts(kept, plan.counts, draws);
  if (plan.scores.made)
    out.scores = release_scores(source, facts.design, out.location, frame, out.rounds.back(),
                                plan.rounds.back(), plan.scores, facts.n, draws, tick);
  return out;
}

/// How far a release is from what its plan and its own noisy moments imply: frames, grids,
/// deviations of the noise. Near 0, unless a part was changed or damaged.
inline double release_discrepancy(const lm_plan& plan, const lm_facts& facts,
                                  const lm_release& release) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (release.rounds.size() != plan.rounds.size() ||
      release.counts.has_value() != plan.counts.made ||
      release.scores.has_value() != plan.scores.made)
    return wrong;
  const lm_columns columns(facts.design, release.location);
  double worst = 0.0;
  const auto compare = [&worst](const auto& own, const auto& want) {
    const double far = (own - want).norm() / (want.norm() + 1e-300);
    worst = std::isfinite(far) ? std::max(worst, far) : std::numeric_limits<double>::infinity();
  };
  const auto compare_frames = [&](const lm_frame& own, const lm_frame& want) {
    const double size = want.whiten.norm();
    compare(own.whiten, want.whiten);
    worst = std::max(worst, (own.centre - want.centre).norm() / (1.0 + want.centre.norm()));
    worst = std::max(worst, (own.slope - want.slope).norm() / (size + want.slope.norm()));
    worst = std::max(worst, std::fabs(own.level - want.level) / (1.0 + std::fabs(want.level)));
  };
  lm_frame frame = lm_frame::start(facts.design.p());
  lm_limits limits = first_limits(plan);
  std::vector<lm_round> sofar;
  for (std::size_t t = 0; t < plan.rounds.size(); ++t) {
    const lm_round& round = release.rounds[t];
    const lm_round_plan& step = plan.rounds[t];
    compare_frames(round.frame, frame);
    compare(Eigen::Vector2d(round.radius, round.clip), Eigen::Vector2d(limits.radius, limits.clip));
    const double unit = lm_features(columns, frame).unit();
    lm_round made = round;
    const double zoom =
        clipped_moments::zoom(facts.design.p(), limit_steps(round.radius, unit), step.limit) / unit;
    const double residual = step.residual_limit / limit_steps(round.clip, unit) / unit;
    rounds_detail::read_deviations(made, step, facts.n, zoom, residual);
    compare(Eigen::Vector3d(round.sd_covariance, round.sd_cross, round.sd_variance),
            Eigen::Vector3d(made.sd_covariance, made.sd_cross, made.sd_variance));
    compare(Eigen::Vector2d(round.sd_mean, round.sd_residual),
            Eigen::Vector2d(made.sd_mean, made.sd_residual));
    sofar.push_back(round);
    const lm_pool pool(sofar);
    const lm_solution solution = solve_pool(pool);
    frame = next_frame(pool, solution);
    limits = next_limits(plan, facts.design, release.location, round, solution);
  }
  if (release.counts)
    worst = std::max(worst, std::fabs(release.counts->sd / plan.counts.sigma - 1.0));
  if (release.scores) compare_frames(release.scores->frame, frame);
  return worst;
}

/// Rows that sampling errors reckon with. Case weights hide in a release's weight how many rows
/// there are: then the noisy count says, or, cautiously, the weight.
inline double sampling_rows(const lm_pool& pool, const std::optional<lm_counts>& counts,
                            bool weighted, double n) {
  if (!weighted || !counts) return effective_rows(pool, n);
  return std::min(n, std::max(least_weight * n, counts->rows));
}

// Units -------------------------------------------------------------------------------------------

/// Every product of standardised variables, multiplied out in the formula's columns. Needs all
/// columns of lower order: `closed` says whether they are there.
inline lm_units multiply_out(const lm_design& design, const lm_location& location, bool& closed) {
  const Eigen::Index p = design.p();
  lm_units out{Eigen::MatrixXd::Zero(p, p), Eigen::VectorXd::Zero(p), 0.0, 1.0};
  closed = true;
  const auto find = [&](const std::vector<int>& powers) -> Eigen::Index {
    for (Eigen::Index c = 0; c < p; ++c) {
      const lm_column& column = design.columns[static_cast<std::size_t>(c)];
      std::vector<int> own(design.variables.size(), 0);
      for (std::size_t a = 0; a < column.variables.size(); ++a)
        own[static_cast<std::size_t>(column.variables[a])] += column.powers[a];
      if (own == powers) return c;
    }
    return -1;
  };
  const auto scale_of = [&](std::size_t j) {
    return design.variables[j].half * location.scale[static_cast<Eigen::Index>(j)];
  };
  const auto middle_of = [&](std::size_t j) {
    return design.variables[j].centre +
           design.variables[j].half * location.median[static_cast<Eigen::Index>(j)];
  };
  for (Eigen::Index k = 0; k < p; ++k) {
    const lm_column& column = design.columns[static_cast<std::size_t>(k)];
    // Terms of the product so far: powers of raw variables, and a factor.
    std::vector<std::pair<std::vector<int>, double>> terms{
        {std::vector<int>(design.variables.size(), 0), 1.0}};
    for (std::size_t a = 0; a < column.variables.size(); ++a) {
      const auto j = static_cast<std::size_t>(column.variables[a]);
      const bool plain = design.variables[j].indicator && !column.is_variable();
      const double scale = plain ? 1.0 : scale_of(j), middle = plain ? 0.0 : middle_of(j);
      for (int power = 0; power < column.powers[a]; ++power) {
        std::vector<std::pair<std::vector<int>, double>> next;
        for (const auto& term : terms) {
          auto up = term;
          ++up.first[j];
          up.second /= scale;
          next.push_back(up);
          if (middle != 0.0) next.push_back({term.first, -term.second * middle / scale});
        }
        terms.swap(next);
      }
    }
    for (const auto& term : terms) {
      bool constant = true;
      for (int power : term.first) constant = constant && power == 0;
      if (constant) {
        out.shift[k] += term.second;
        continue;
      }
      const Eigen::Index c = find(term.first);
      if (c < 0)
        closed = false;
      else
        out.map(k, c) += term.second;
    }
  }
  out.y_centre = middle_of(design.response());
  out.y_scale = scale_of(design.response());
  return out;
}

}  // namespace dpsc
