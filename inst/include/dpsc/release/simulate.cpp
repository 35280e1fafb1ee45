// Bodies of simulate.hpp.
#pragma once

#include "simulate.hpp"

namespace dpsc {

simulation_engine::simulation_engine(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t simulation_engine::bits() {
  const std::uint64_t out = turn(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = turn(state_[3], 45);
  return out;
}

double simulation_engine::normal() {
  if (spare_made_) {
    spare_made_ = false;
    return spare_;
  }
  double x, y, s;
  do {
    x = 2.0 * uniform() - 1.0;
    y = 2.0 * uniform() - 1.0;
    s = x * x + y * y;
  } while (s >= 1.0);
  const double factor = std::sqrt(-2.0 * std::log(s) / s);
  spare_ = y * factor;
  spare_made_ = true;
  return x * factor;
}

double simulation_engine::normal_between(double mean, double sd, double low, double high) {
  for (;;) {
    const double x = mean + sd * normal();
    if (x >= low && x <= high) return x;
  }
}

Eigen::Index simulation_engine::below(Eigen::Index n) {
  return std::min(n - 1, static_cast<Eigen::Index>(uniform() * static_cast<double>(n)));
}

factor_people::factor_people(sizes law, Eigen::Index T0, Eigen::Index T1)
    : law_(law), T0_(T0), paths_(T0 + T1, law.factors), common_(T0 + T1) {}

void factor_people::renew(simulation_engine& engine) {
  for (Eigen::Index k = 0; k < paths_.cols(); ++k) paths_.col(k) = path(engine);
  common_ = law_.time * path(engine);
  common_.tail(common_.size() - T0_).array() += law_.shift;
}

void factor_people::person(bool, simulation_engine& engine, Eigen::VectorXd& row) {
  row = common_;
  row.array() += law_.level * engine.normal();
  for (Eigen::Index k = 0; k < paths_.cols(); ++k)
    row += law_.loading * engine.normal() * paths_.col(k);
  if (law_.drift > 0.0) row += law_.drift * path(engine);
  for (Eigen::Index t = 0; t < row.size(); ++t) row[t] += law_.noise * engine.normal();
  row = row.cwiseMin(1.0).cwiseMax(-1.0);
}

Eigen::VectorXd factor_people::path(simulation_engine& engine) const {
  Eigen::VectorXd out(common_.size());
  const double rest = std::sqrt(1.0 - law_.persistence * law_.persistence);
  double last = engine.normal();
  for (Eigen::Index t = 0; t < out.size(); ++t) {
    out[t] = last;
    last = law_.persistence * last + rest * engine.normal();
  }
  return out;
}

void linear_people::person(bool, simulation_engine& engine, Eigen::VectorXd& row) {
  const double slope = engine.normal_between(4.0, 1.0, 3.0, 5.0);
  const double scale = 5.0 * static_cast<double>(row.size()) + 1.0;
  for (Eigen::Index t = 0; t < row.size(); ++t)
    row[t] = (slope * static_cast<double>(t + 1) +
              engine.normal_between(0.0, std::sqrt(0.1), -1.0, 1.0)) /
             scale;
}

pilot_people::pilot_people(Eigen::MatrixXd rows, bool groups)
    : rows_(std::move(rows)), groups_(groups) {
  order_.resize(static_cast<std::size_t>(rows_.rows()));
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<Eigen::Index>(i);
}

void pilot_people::renew(simulation_engine& engine) {
  for (std::size_t i = order_.size(); i-- > 1;)
    std::swap(order_[i],
              order_[static_cast<std::size_t>(engine.below(static_cast<Eigen::Index>(i) + 1))]);
}

void pilot_people::person(bool target, simulation_engine& engine, Eigen::VectorXd& row) {
  const Eigen::Index all = rows_.rows();
  const Eigen::Index held = groups_ ? 0 : std::max<Eigen::Index>(1, all / 5);
  const Eigen::Index at = target && !groups_ ? engine.below(held) : held + engine.below(all - held);
  row = rows_.row(order_[static_cast<std::size_t>(at)]).transpose();
}

simulated_panel draw_panel(people_law& law, Eigen::Index n, Eigen::Index T, Eigen::Index targets,
                           Eigen::Index size, simulation_engine& engine) {
  simulated_panel out{Eigen::MatrixXd(n, T), Eigen::MatrixXd::Zero(targets, T)};
  law.renew(engine);
  Eigen::VectorXd row(T);
  for (Eigen::Index i = 0; i < n; ++i) {
    law.person(false, engine, row);
    out.donors.row(i) = row.transpose();
  }
  for (Eigen::Index i = 0; i < targets; ++i) {
    for (Eigen::Index j = 0; j < size; ++j) {
      law.person(true, engine, row);
      out.targets.row(i) += row.transpose();
    }
    out.targets.row(i) /= static_cast<double>(size);
  }
  return out;
}

deleted_ridge best_ridge(const donor_moments& moments, Eigen::Index T0) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double size = moments.covariance.topLeftCorner(T0, T0).trace() / static_cast<double>(T0);
  // Difference-in-differences is a candidate as well, and the best one with few donors.
  deleted_ridge best(moments, T0, infinite, infinite);
  if (!(size > 0.0)) return best;
  double least = best.spread().tail(best.outcomes() - 1).squaredNorm();
  for (int step = -16; step <= 4; ++step) {
    const deleted_ridge ridge(moments, T0, size * std::pow(2.0, step), infinite);
    const double error = ridge.spread().tail(ridge.outcomes() - 1).squaredNorm();
    if (error < least) {
      least = error;
      best = ridge;
    }
  }
  return best;
}

simulated_release simulate_release(people_law& law, panel_facts facts,
                                   const estimator_options& options, Eigen::Index targets,
                                   Eigen::Index size, bool with_intervals,
                                   simulation_engine& engine, const ticker& tick) {
  const auto n = static_cast<Eigen::Index>(facts.n);
  const Eigen::Index T0 = facts.T0, T1 = facts.T1, T = T0 + T1;
  const simulated_panel panel = draw_panel(law, n, T, targets, size, engine);
  facts.y = panel.targets.row(0).head(T0).transpose();
  gram_plan plan = plan_gram(facts);
  // The budget of the intervals is reserved, whether or not they are drawn.
  if (!with_intervals) plan.calibration = calibration_plan{};
  const row_scale scale{Eigen::VectorXd::Zero(T), 1.0, options.half};
  const matrix_source source({panel.donors.data(), nullptr, n, T});
  drawn_noise<simulation_engine> draws(engine);
  const gram_release release = run_gram(plan, facts, scale, options, source, draws, tick);
  const counterfactual_estimator estimator(release.statistics, options);
  const deleted_ridge ridge = best_ridge(moments_of(panel.donors), T0);
  simulated_release out{
      Eigen::MatrixXd(targets, T1), Eigen::MatrixXd(targets, T1), {}, release.intervals};
  if (plan.target.made()) out.shortened = release.target.radius;
  for (Eigen::Index i = 0; i < targets; ++i) {
    const Eigen::VectorXd pre = panel.targets.row(i).head(T0).transpose();
    const bool corrected = i == 0 && plan.target.made();
    const target_correction correction{release.target.mean, release.target.sd};
    const target_estimate estimate = estimator.target(pre, corrected ? &correction : nullptr);
    if (i == 0) out.own = estimate;
    out.error.row(i) = panel.targets.row(i).tail(T1) - estimate.path.tail(T1).transpose();
    out.raw.row(i) = panel.targets.row(i).tail(T1) - ridge.predict(pre).tail(T1).transpose();
  }
  return out;
}

}  // namespace dpsc
