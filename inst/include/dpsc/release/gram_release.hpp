// Method "gram" from facts to release: two joint releases of mean and second moments of people's
// features (the second in coordinates and about a centre that the first one found), then the
// placebo errors that calibrate intervals.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../estimate/counterfactual.hpp"
#include "../mechanism/calibration.hpp"
#include "../mechanism/moments.hpp"
#include "../rows/source.hpp"
#include "covariate_features.hpp"
#include "gram_features.hpp"

namespace dpsc {

/// Fixed before anything is drawn. PUBLIC.
struct gram_plan {
  gram_features features;
  double radius1 = 0.0, radius2 = 0.0;  // exponents
  moments_step moments1, moments2;
  calibration_plan calibration;
  double rho = 0.0;     // of the whole, by the conversion of zCDP
  double total = 0.0;   // mu, or epsilon
  double stride = 1.0;  // every so many rows calibrate
  std::vector<step_record> records;
};

/// n sqrt(rho): how much the moments can tell. With Laplace noise on about T1 + 4 features, the rho
/// of Gaussian noise of the same size.
inline double gram_signal(const panel_facts& facts, const total_budget& budget) {
  const double rho =
      budget.gaussian()
          ? budget.rho()
          : std::pow(budget.total() / (2.0 * (static_cast<double>(facts.T1) + 4.0)), 2.0);
  return facts.n * std::sqrt(rho);
}

inline gram_plan plan_gram(const panel_facts& facts) {
  using namespace gram_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  const double signal = gram_signal(facts, budget);
  gram_plan out;
  out.total = budget.total();
  out.rho = budget.rho();
  out.features = with_covariates(choose_features(facts, signal), facts.T0, facts.covariates);
  out.stride = std::ceil(facts.n / calibration_rows);
  const double m = std::ceil(facts.n / out.stride);
  calibration_shares intervals;
  if (facts.intervals && can_calibrate(budget, m, facts.group)) {
    intervals = share_calibration(budget, m, facts.group);
    out.calibration = plan_calibration(budget, intervals, m, facts.group);
  }
  const double rest = 1.0 - intervals.total();
  const double radius = rest * budget.share_of_exponent(60.0 / facts.n, 0.01, 0.06);
  const double moments = rest - 2.0 * radius;
  out.radius1 = out.radius2 = budget.exponent(radius);
  const Eigen::Index d = out.features.loadings.cols();
  const double kappa = std::min(std::max(kappa2 / signal, kappa2_least), kappa2_most);
  out.moments1 = plan_moments("mean and moments", facts.n, d, std::sqrt(kappa1), budget,
                              moments * gram_constants::moments1);
  out.moments2 = plan_moments("mean and moments, whitened", facts.n, d, std::sqrt(kappa), budget,
                              moments * gram_constants::moments2);
  energy_bits(facts.n);
  out.records = {budget.choice_record("radius", out.radius1), out.moments1.record,
                 budget.choice_record("radius, whitened", out.radius2), out.moments2.record};
  for (const step_record& record : out.calibration.records) out.records.push_back(record);
  return out;
}

/// What one round was made with: what a person's own loss depends on. RELEASED or PUBLIC.
struct gram_round {
  Eigen::MatrixXd loadings;
  Eigen::VectorXd origin;
  double radius, exponent, clipped, constant, noise;
};

struct gram_release {
  gram_statistics statistics;
  std::vector<gram_round> rounds;
  calibration intervals;
};

/// Centre and whitening transform from noisy moments: directions in which the noise is larger than
/// people's spread are kept at the noise's size. RELEASED.
struct whitening {
  Eigen::VectorXd centre;
  Eigen::MatrixXd whiten;   // features to whitened features, by its transpose
  Eigen::MatrixXd restore;  // and back
  double spread;            // root mean square of whitened rows

  whitening(const noisy_moments& first, double radius) {
    const Eigen::Index d = first.mean.size();
    const double edge = spectral_edge(first.second_sd, d);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum(
        first.second - first.mean * first.mean.transpose());
    const Eigen::VectorXd values =
        (shrink_spectrum(spectrum.eigenvalues(), edge).array() + edge).min(radius * radius);
    const Eigen::VectorXd scale = (values / values.maxCoeff()).cwiseSqrt();
    const double length = first.mean.norm();
    centre = length > radius ? Eigen::VectorXd(first.mean * (radius / length)) : first.mean;
    whiten = spectrum.eigenvectors() * scale.cwiseInverse().asDiagonal();
    restore = spectrum.eigenvectors() * scale.asDiagonal();
    spread = std::sqrt(static_cast<double>(d) * values.maxCoeff());
  }
};

/// Placebo errors of every stride-th row by the estimator itself. PRIVATE.
inline placebo_errors placebo_pass(const row_source& source, const row_scale& scale,
                                   const counterfactual_estimator& estimator, Eigen::Index T0,
                                   Eigen::Index T1, double stride, double rows,
                                   const ticker& tick) {
  const auto m = static_cast<Eigen::Index>(rows);
  const auto step = static_cast<Eigen::Index>(stride);
  placebo_errors out{Eigen::MatrixXd(m, T1 + 1), Eigen::MatrixXd(m, T1 + 1), Eigen::VectorXd(m)};
  const Eigen::Index T = T0 + T1;
  const grid_map map =
      map_on_grid(scale, Eigen::MatrixXd::Identity(T, T), Eigen::VectorXd::Zero(T));
  const double unit = std::ldexp(1.0, -row_bits);
  Eigen::Index seen = 0, at = 0;
  row_estimate estimate;
  Eigen::VectorXd pre(T0);
  source.pass([&](const table_view& table) {
    block_reader reader(table, map.map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& block = reader.scaled(b);
      for (Eigen::Index i = 0; i < block.rows(); ++i, ++seen) {
        if (seen % step != 0 || at == m) continue;
        for (Eigen::Index t = 0; t < T0; ++t) pre[t] = block(i, t) * unit;
        estimator.row(pre, estimate);
        double sum = 0.0;
        for (Eigen::Index t = 0; t < T1; ++t) {
          const double error = block(i, T0 + t) * unit - estimate.post[t];
          out.error(at, t + 1) = error;
          sum += error;
        }
        out.error(at, 0) = sum / static_cast<double>(T1);
        out.variance.row(at) = estimate.variance.transpose();
        out.scale[at] = row_scale_factor(estimate.variation);
        ++at;
        tick(1e5);
      }
    }
  });
  if (at != m) throw std::logic_error("the number of rows changed between passes");
  return out;
}

inline gram_release run_gram(const gram_plan& plan, const panel_facts& facts,
                             const row_scale& scale, const estimator_options& options,
                             const row_source& source, noise& draws, const ticker& tick) {
  using namespace gram_constants;
  const gram_features& f = plan.features;
  const auto round = [](const Eigen::MatrixXd& loadings, const Eigen::VectorXd& origin,
                        double radius, double exponent, const moments_step& step) {
    return gram_round{loadings, origin, radius, exponent, step.limit, step.constant, step.noise};
  };
  gram_release out;
  grid_map rows = map_on_grid(scale, f.loadings, f.origin);
  double radius = choose_radius(source, rows, facts.n, radius_grid(f.low, f.high), plan.radius1,
                                plan.records[0].label, draws, tick);
  const noisy_moments first =
      release_moments(source, rows, facts.n, radius, plan.moments1, draws, tick);
  out.rounds.push_back(round(f.loadings, f.origin, radius, plan.radius1, plan.moments1));

  const whitening frame(first, radius);
  const Eigen::VectorXd centre = f.origin + frame.centre;
  const Eigen::MatrixXd loadings = f.loadings * frame.whiten;
  const Eigen::VectorXd origin = frame.whiten.transpose() * centre;
  rows = map_on_grid(scale, loadings, origin);
  radius = choose_radius(source, rows, facts.n,
                         radius_grid(spread_low * frame.spread, spread_high * frame.spread),
                         plan.radius2, plan.records[2].label, draws, tick);
  const noisy_moments second =
      release_moments(source, rows, facts.n, radius, plan.moments2, draws, tick);
  out.rounds.push_back(round(loadings, origin, radius, plan.radius2, plan.moments2));

  gram_statistics& s = out.statistics;
  s.loadings = f.loadings;
  s.pre = f.pre;
  s.covariates = facts.covariates;
  s.weight = f.weight;
  s.demean = f.demean;
  s.mean = centre + frame.restore * second.mean;
  s.restore = frame.restore;
  s.covariance = second.second - second.mean * second.mean.transpose();
  s.mean_sd = second.mean_sd;
  s.moment_sd = second.second_sd;
  if (plan.calibration.made()) {
    const counterfactual_estimator estimator(s, options);
    out.intervals =
        release_calibration(placebo_pass(source, scale, estimator, facts.T0 + facts.covariates,
                                         facts.T1, plan.stride, plan.calibration.rows, tick),
                            plan.calibration, draws);
  }
  return out;
}

/// Mean and covariance as they are, in single periods: NOT PRIVATE.
inline gram_statistics raw_statistics(const row_source& source, const row_scale& scale, double n,
                                      Eigen::Index T0, Eigen::Index T1, const ticker& tick) {
  const Eigen::Index T = T0 + T1;
  const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(T, T);
  gram_statistics s;
  s.loadings = s.restore = unit;
  s.pre = T0;
  s.mean = Eigen::VectorXd::Zero(T);
  // Two passes: moments about a rough origin lose digits.
  for (int pass = 0; pass < 2; ++pass) {
    raw_moments sums(T);
    add_features(source, map_as_is(scale, unit, s.mean), sums, tick);
    const Eigen::VectorXd shift = sums.sum() / n;
    s.mean += shift;
    s.covariance = sums.gram() / n - shift * shift.transpose();
  }
  return s;
}

}  // namespace dpsc
