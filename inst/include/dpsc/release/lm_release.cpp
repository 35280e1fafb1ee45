// Bodies of lm_release.hpp.
#pragma once

#include "lm_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

void lm_shares::check() const {
  if (!(location >= 0.0 && moments > 0.0 && counts >= 0.0 && scores >= 0.0 && rounds > 0 &&
        location + moments + counts + scores <= 1.0 + 1e-12))
    throw std::logic_error("the shares of a regression exceed the budget");
}

double lm_rho(const total_budget& budget, Eigen::Index p, int rounds) {
  if (budget.gaussian()) return budget.rho();
  const double m = static_cast<double>(p) + 2.0;
  return budget.total() * budget.total() / (2.0 * m * (m + 3.0) * rounds);
}

namespace {

/// Radius and clip of the first round, and the least of later rounds, as large as the noise of the
/// covariance permits.
void size_rounds(double p, lm_plan& out) {
  using namespace lm_constants;
  const double permitted = std::sqrt(first_edge / (out.edge * p));
  const double radius = std::min(first_radius, std::max(first_radius_least, permitted));
  const double wider = (radius - first_radius_least) / (first_radius - first_radius_least);
  const auto between = [wider](double least, double most) {
    return least + wider * (most - least);
  };
  out.first_radius = radius * std::sqrt(p);
  out.first_reach = between(first_reach_least, first_reach);
  out.least_reach = between(noisy_reach, least_reach);
  out.least_fall = between(noisy_fall, least_fall);
  const double gain = out.tried ? radius_gain * out.strength / std::sqrt(p) : 0.0;
  const double wide = std::min(widest_radius, std::max(between(noisy_radius, 1.0), gain));
  out.radius = std::sqrt(wide * wide * out.numbers + p - out.numbers);
}

}  // namespace

lm_plan plan_lm(const lm_facts& facts) {
  using namespace lm_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  const Eigen::Index p = facts.design.p();
  const double d = static_cast<double>(p), n = facts.n;
  lm_plan out;
  out.columns = p;
  out.n = n;
  out.total = budget.total();
  out.rho = budget.rho();
  out.signal = n * std::sqrt(lm_rho(budget, p, rounds_pure));
  out.resolved = out.signal >= lm_constants::resolved * std::pow(d, 1.5);
  lm_shares& shares = out.shares;
  // Counts and scores get their shares first.
  out.counts = plan_counts(n, budget, lm_constants::counts);
  if (out.counts.made) shares.counts = lm_constants::counts;
  if (facts.scores) {
    shares.scores = lm_constants::scores;
    out.scores = plan_scores(n, p, budget, shares.scores);
  }
  const double rest = 1.0 - shares.counts - shares.scores;
  const auto draws = 2.0 * static_cast<double>(facts.located.size());
  if (draws > 0.0) {
    // The budget needed to find every median, within limits.
    const double least = location_exponent(budget, rest * location_least / draws) * n / 2.0;
    const double ratio = wanted_location / least;
    const double wanted = location_least * (budget.gaussian() ? ratio * ratio : ratio);
    shares.location = rest * std::min(location_most, std::max(location_least, wanted));
    out.location =
        plan_location(budget, shares.location / draws, n, facts.located, least_found, scale_bits);
  }
  if (!out.location.made) shares.location = 0.0;
  const bool found = out.location.made || facts.located.empty();
  // Under pure privacy the noise grows with the number of rounds, not with its square root.
  shares.rounds = budget.gaussian() ? rounds : rounds_pure;
  shares.moments = rest - shares.location;
  shares.check();

  out.records = out.location.records;
  const double moments = shares.moments / shares.rounds;
  const double share = shares.moments * (budget.gaussian() ? 1.0 : shares.moments);
  const double mu = std::sqrt(2.0 * lm_rho(budget, p, shares.rounds) * share);
  out.strength = mu * std::sqrt(n);
  for (Eigen::Index k = 0; k < p; ++k) out.numbers += !facts.design.of_indicators(k);
  out.tried = out.resolved && found && budget.gaussian();
  out.longest = std::sqrt(lm_constants::longest * n * mu / std::sqrt(d));
  for (int t = 0; t < shares.rounds; ++t) {
    const bool first = t == 0;
    const std::string at = " of round " + std::to_string(t + 1);
    lm_round_plan round;
    const double weight = first ? first_weight : out.tried ? 1.0 : later_weight;
    plan_outer(round, "moments" + at, n, p, weight, budget, moments);
    for (const step_record& record : round.records) out.records.push_back(record);
    out.rounds.push_back(round);
  }
  const lm_round_plan& last = out.rounds.back();
  out.slope_noise = last.sigma / (last.limit * last.residual_limit * std::sqrt(2.0 * n));
  out.edge = std::sqrt(d / 2.0) * last.sigma / (last.limit * last.limit * n);
  size_rounds(d, out);
  if (out.counts.made) out.records.push_back(out.counts.record);
  if (out.scores.made) out.records.push_back(out.scores.record);
  return out;
}

void two_values(const lm_design& design, const lm_location& location, Eigen::Index k, double& low,
                double& high) {
  const lm_column& column = design.columns[static_cast<std::size_t>(k)];
  low = 0.0;
  high = 1.0;
  if (!column.is_variable()) return;
  const int j = column.variables[0];
  low = (-1.0 - location.median[j]) / location.scale[j];
  high = (1.0 - location.median[j]) / location.scale[j];
}

double rarer_share(const lm_design& design, const lm_location& location, Eigen::Index k,
                   double mean, double variance) {
  const lm_column& column = design.columns[static_cast<std::size_t>(k)];
  double low, high;
  two_values(design, location, k, low, high);
  const bool known = design.of_indicators(k);
  if (!known && (!column.is_variable() || variance < two_valued * (mean - low) * (high - mean)))
    return 0.0;
  const double share = (mean - low) / (high - low);
  return std::max(0.0, std::min(share, 1.0 - share));
}

double columns_within(const lm_design& design, Eigen::Index k) {
  const std::vector<int>& own = design.columns[static_cast<std::size_t>(k)].variables;
  double out = 0.0;
  for (const lm_column& column : design.columns)
    out += std::all_of(own.begin(), own.end(), [&](int j) {
      return std::find(column.variables.begin(), column.variables.end(), j) !=
             column.variables.end();
    });
  return out;
}

double radius_of(const lm_plan& plan, const lm_design& design, const lm_location& location,
                 const lm_round& last, const lm_frame& next) {
  const double p = static_cast<double>(design.p());
  const Eigen::MatrixXd back = lu_inverse_transposed(last.frame.whiten);
  const Eigen::VectorXd mean = last.frame.centre + back * last.mean;
  const Eigen::MatrixXd covariance = back * last.covariance * back.transpose();
  double square = plan.radius * plan.radius;
  for (Eigen::Index k = 0; k < design.p(); ++k) {
    const double variance = covariance(k, k);
    const double q = rarer_share(design, location, k, mean[k], variance);
    if (!(q > 0.0)) continue;
    // The squared length of the column's direction in the next frame: 1 if that is white.
    const double length = (next.whiten.transpose() * covariance.col(k)).squaredNorm() / variance;
    const double longer = std::min(lm_constants::longer_most, std::max(1.0, length));
    const double reach = group_square(q, longer, columns_within(design, k), p);
    if (reach <= plan.longest * plan.longest) square = std::max(square, reach);
  }
  return std::sqrt(square);
}

lm_size balance(const lm_plan& plan, double weight, double rounds, const lm_size& least,
                double most) {
  const double bias = weight * plan.n * rounds / (plan.slope_noise * plan.slope_noise);
  const double fixed = static_cast<double>(plan.columns) - plan.numbers;
  const double falls = 2.0 * usual_power;
  const double clipped =
      bias * usual_power * std::pow(usual_slope, 2) * std::pow(usual_clip, falls);
  const double shortened = bias * falls * std::pow(usual_radius, 2);
  lm_size out = least;
  // Each is the best one given the other; the error is convex in their logarithms.
  for (int step = 0; step < 40; ++step) {
    const double square = out.radius * out.radius;
    const double edge = std::min(lm_constants::edge_most,
                                 lm_constants::edge_gain * plan.edge * square / std::sqrt(rounds));
    const double magnified = 1.0 / std::pow(1.0 - edge, 2);
    out.reach = std::min(most, std::pow(clipped / (square * magnified), 1.0 / (falls + 2.0)));
    out.reach = std::max(least.reach, out.reach);
    if (!(plan.numbers > 0.0)) continue;
    // A longer radius also raises the edge.
    const double raised = magnified * (1.0 + 2.0 * edge / (1.0 - edge));
    const double longer =
        std::pow(shortened / (plan.numbers * out.reach * out.reach * raised), 1.0 / (falls + 1.0));
    // Half a step in logarithms, since the edge depends on the radius.
    const double best = std::max(least.radius, std::sqrt(longer * plan.numbers + fixed));
    out.radius = std::sqrt(out.radius * best);
  }
  return out;
}

namespace {

/// The share of a cross moment that a clip at c standard deviations leaves, normal errors.
double share_within(double c) { return std::erf(c / std::sqrt(2.0)); }

/// Radius times reach, magnified by the edge of the covariance's noise.
double magnified_size(const lm_plan& plan, const lm_size& size) {
  using namespace lm_constants;
  const double edge = plan.edge * size.radius * size.radius /
                      (outlook_rows * std::sqrt(static_cast<double>(plan.shares.rounds)));
  return size.radius * size.reach / (1.0 - std::min(edge_most, edge_gain * edge));
}

}  // namespace

double clipped_square(double c) {
  return c * c * clipped_second(1.0 / c) / std::pow(share_within(c), 2);
}

lm_outlook outlook_of(const lm_plan& plan, const lm_size& size, double rounds) {
  using namespace lm_constants;
  lm_outlook out;
  out.privacy = outlook_noise / outlook_rows * plan.slope_noise * magnified_size(plan, size) /
                (share_within(size.reach) * std::sqrt(rounds));
  out.square = clipped_square(size.reach) + out.privacy * out.privacy;
  return out;
}

namespace {

/// The clip is as wide as a noise of `spare` sampling errors permits, and where it then exceeds
/// every residual, the radius is as long as that noise permits.
lm_size grown(const lm_plan& plan, double rounds, lm_size size, double most, double spare) {
  const double reach = spare * std::sqrt(rounds) / (plan.slope_noise * size.radius);
  size.reach = std::max(size.reach, std::min(most, reach));
  const double longest = lm_constants::free_radius * std::sqrt(static_cast<double>(plan.columns));
  const double longer = lm_constants::spare_noise * std::sqrt(rounds) / plan.slope_noise;
  if (size.reach >= most)
    size.radius = std::max(size.radius, std::min(longest, longer / size.reach));
  return size;
}

/// The size that balances noise and the usual bias with a weight of at most `bias_weight`, as far
/// as `fits` permits.
template <class Fits>
lm_size settle(const lm_plan& plan, double rounds, const lm_size& least, double most, double spare,
               const Fits& fits) {
  const auto balanced = [&](double weight) {
    return grown(plan, rounds, balance(plan, weight, rounds, least, most), most, spare);
  };
  const lm_size whole = balanced(lm_constants::bias_weight);
  if (fits(whole)) return whole;
  // The less a bias weighs, the smaller the size.
  double high = std::log(lm_constants::bias_weight), low = high - 30.0;
  for (int step = 0; step < 40; ++step) {
    const double middle = 0.5 * (low + high);
    (fits(balanced(std::exp(middle))) ? low : high) = middle;
  }
  return balanced(std::exp(low));
}

}  // namespace

lm_course course_of(const lm_plan& plan, double radius, double most, double shift) {
  using namespace lm_constants;
  const double all = plan.shares.rounds - 1.0, late = all + 1.0 - static_cast<double>(tried_round);
  lm_course out;
  out.tries = plan.tried && plan.strength >= tried_from * radius;
  const lm_size least{radius, plan.least_reach};
  if (!out.tries) {
    out.narrow = balance(plan, bias_weight, all, least, most);
    out.rounds = all;
    return out;
  }
  // At no budget does the noise of slopes exceed this level.
  const double level = reach_gain * plan.strength;
  const lm_size narrow = settle(plan, all, least, most, spare_noise, [&](const lm_size& size) {
    return magnified_size(plan, size) <= level;
  });
  // The third round's clip is apart from narrow ones, so that skewness shows. Among wide rounds it
  // counts by its noise.
  const double apart = wide_step * std::min(most_reach, narrow.reach);
  const auto counted = [&](const lm_size& size) {
    return late - 1.0 + std::min(1.0, std::pow(size.reach / apart, 2));
  };
  // Wide clips stay from where they leave less bias, without larger errors.
  const double from = std::sqrt(left_wide / left_narrow);
  const double free = outlook_of(plan, narrow, all).square - clipped_square(from);
  const lm_size calm = settle(plan, late, least, most, wide_spare, [&](const lm_size& size) {
    return std::pow(outlook_of(plan, size, counted(size)).privacy, 2) <= free;
  });
  const bool stays = calm.reach >= std::min(from, most);
  out.narrow = stays ? lm_size{calm.radius, std::min(most_reach, calm.reach / wide_step)} : narrow;
  out.wide = stays ? calm : lm_size{calm.radius, std::max(calm.reach, wide_step * narrow.reach)};
  const double wide = std::max(radius, wide_radius * std::sqrt(static_cast<double>(plan.columns)));
  const double first = std::max(std::min(wide_most, std::sqrt(plan.strength / wide)), wide_least);
  out.tried = stays ? lm_size{calm.radius, std::max(apart, calm.reach)}
                    : lm_size{std::max(wide, narrow.radius),
                              std::max(wide_step * narrow.reach, std::min(most, first))};
  out.rounds = stays ? counted(calm) : all;
  out.stays = stays || shift > 0.0;
  if (!(shift > 0.0)) return out;
  // A clip c leaves about shift/c^2 of bias, for noise of 2 c wide/strength.
  const double gain = std::min(wide_most, std::cbrt(shift * plan.strength / wide));
  lm_size wider{std::max(wide, calm.radius), std::max(out.tried.reach, gain)};
  // Clips that skewness asks for do not fall where the last rounds turn wide.
  const double former = std::min(wide_most, wide_step * narrow.reach);
  wider.reach = std::max({out.wide.reach, former, std::min(most, wider.reach)});
  wider = grown(plan, late, wider, most, free_noise);
  // Evidence of a bias, relative to the usual one.
  const double usual = usual_level(std::min(most_reach, narrow.reach));
  const double weight = std::max(1.0, shift * shift / (plan.n * usual));
  out.wide = grown(plan, late, balance(plan, weight, late, wider, most), most, free_noise);
  return out;
}

double skewness_of(const lm_pool& pool, const lm_solution& solution, double rows) {
  if (!pool.tries()) return 0.0;
  const lm_shift shift = shift_by_clip(pool, solution, rows);
  const double level = shift.moves_level() ? std::fabs(shift.value) : 0.0;
  const double slopes = shift.moves_slopes() ? shift.slopes.norm() : 0.0;
  return std::max(level, slopes) / std::sqrt(solution.residual / rows);
}

double planned_allowance(const lm_plan& plan, double radius) {
  const lm_course course = course_of(plan, radius, std::numeric_limits<double>::infinity(), 0.0);
  const lm_size& size = course.stays ? course.wide : course.narrow;
  const double p = static_cast<double>(plan.columns);
  const double usual = plan.n * usual_slopes(size.radius, size.reach, p, 0.0);
  if (!course.tries) return unseen_square(plan.slope_noise, p) * usual;
  const auto noise_of = [&](const lm_size& of, double rounds) {
    return std::pow(plan.slope_noise * of.radius * of.reach, 2) / rounds;
  };
  const double others = plan.shares.rounds - 1.0 - static_cast<double>(tried_round);
  const double change =
      course.stays
          ? 1.0 / (1.0 / noise_of(course.tried, 1.0) + 1.0 / noise_of(course.wide, others)) +
                noise_of(course.narrow, 1.0)
          : noise_of(course.tried, 1.0) + noise_of(course.narrow, others + 1.0);
  const double real = usual / (usual + change);
  const double left =
      course.stays ? std::min(left_most, left_wide / (size.reach * size.reach)) : left_narrow;
  return left * left * real * (1.0 + real) * change;
}

lm_limits next_limits(const lm_plan& plan, const lm_design& design, const lm_location& location,
                      const lm_pool& pool, const lm_solution& solution, const lm_frame& next) {
  const lm_round& last = pool.last();
  const double deviation = std::sqrt(solution.residual);
  const double range = 2.0 / location.scale[static_cast<Eigen::Index>(design.response())];
  const std::size_t done = pool.rounds.size();
  const double shift = done > tried_round ? skewness_of(pool, solution, plan.n) : 0.0;
  const lm_course course =
      course_of(plan, radius_of(plan, design, location, last, next), range / deviation, shift);
  const bool first = done == tried_round && course.tries;
  if (first || (done > tried_round && course.tries &&
                (course.stays || (done > tried_round + 1 && pool.stays_wide())))) {
    const lm_size& size = first ? course.tried : course.wide;
    return {size.radius, size.reach * deviation, lm_constants::far * deviation};
  }
  const double wanted = course.narrow.reach * deviation;
  // Where no wide clip is tried, none may look like one.
  const double growth = done == tried_round ? 0.999 * least_step : 2.0;
  const double clip = std::min(growth * last.clip, std::max(plan.least_fall * last.clip, wanted));
  return {course.narrow.radius, clip, lm_constants::far * clip / course.narrow.reach};
}

lm_limits first_limits(const lm_plan& plan) { return {plan.first_radius, plan.first_reach, 0.0}; }

lm_release run_lm(const lm_plan& plan, const lm_facts& facts, const row_source& source,
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
    limits = next_limits(plan, facts.design, out.location, pool, solution, frame);
  }
  if (plan.counts.made) out.counts = release_counts(kept, plan.counts, draws);
  if (plan.scores.made)
    out.scores = release_scores(source, facts.design, out.location, frame, out.rounds.back(),
                                plan.rounds.back(), plan.scores, facts.n, draws, tick);
  return out;
}

double release_discrepancy(const lm_plan& plan, const lm_facts& facts, const lm_release& release) {
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
    limits = next_limits(plan, facts.design, release.location, pool, solution, frame);
  }
  if (release.counts)
    worst = std::max(worst, std::fabs(release.counts->sd / plan.counts.sigma - 1.0));
  if (release.scores) compare_frames(release.scores->frame, frame);
  return worst;
}

double sampling_rows(const lm_pool& pool, const std::optional<lm_counts>& counts, bool weighted,
                     double n) {
  if (!weighted || !counts) return effective_rows(pool, n);
  return std::min(n, std::max(least_weight * n, counts->rows));
}

lm_units multiply_out(const lm_design& design, const lm_location& location, bool& closed) {
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
  out.range = 2.0 / location.scale[static_cast<Eigen::Index>(design.response())];
  return out;
}

}  // namespace dpsc
