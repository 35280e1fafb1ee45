// Bodies of gram_release.hpp.
#pragma once

#include "gram_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

double gram_signal(const panel_facts& facts, const total_budget& budget) {
  const double rho =
      budget.gaussian()
          ? budget.rho()
          : std::pow(budget.total() / (2.0 * (static_cast<double>(facts.T1) + 4.0)), 2.0);
  return facts.n * std::sqrt(rho);
}

double shortening_of(double signal) {
  using namespace gram_constants;
  return std::min(shorten_most, shorten_least * std::max(1.0, std::cbrt(signal / shorten_signal)));
}

gram_plan plan_gram(const panel_facts& facts) {
  using namespace gram_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  const double signal = gram_signal(facts, budget);
  gram_plan out;
  out.total = budget.total();
  out.rho = budget.rho();
  out.features = with_covariates(choose_features(facts, signal), facts.T0, facts.covariates);
  const double m = rows_to_calibrate(budget, facts.n);
  const double least = facts.n > calibration_rows ? least_share_of_many : 1.0;
  calibration_shares intervals;
  if (facts.intervals && can_calibrate(budget, m, facts.group, least)) {
    intervals = share_calibration(budget, m, facts.group, least);
    out.calibration = plan_calibration(budget, intervals, m, facts.group);
  }
  // Inference over time uses the single moments; under pure privacy there is no budget for this
  // round.
  const bool pays = budget.gaussian() && !std::isinf(facts.features) && signal >= least_targeted;
  const bool targeted = facts.targeted && pays;
  const bool shorter = (facts.targeted || facts.thrice) && pays;
  const double target = targeted ? gram_constants::target : 0.0;
  const double rest = 1.0 - intervals.total() - target;
  const int rounds = shorter && signal <= most_thrice ? 3 : 2;
  if (shorter) out.shorten = shortening_of(signal);
  const double radius = rest * budget.share_of_exponent(60.0 / facts.n, 0.01, 0.06);
  const double moments = rest - rounds * radius;
  out.radius = budget.exponent(radius);
  out.first_price = radius_price_of(facts.n, out.radius);
  if (facts.group) out.price = out.first_price;
  if (out.price > radius_price) out.seen = seen_priced;
  const Eigen::Index d = out.features.loadings.cols();
  const double kappa = std::min(std::max(kappa2 / signal, kappa2_least), kappa2_most);
  energy_bits(facts.n, radius_price);
  for (int k = 0; k < rounds; ++k) {
    const std::string at = k == 0 ? "" : k == 1 ? ", whitened" : ", whitened again";
    const double share = k == 0 ? first_round : (1.0 - first_round) / (rounds - 1);
    out.moments.push_back(plan_moments("mean and moments" + at, facts.n, d,
                                       std::sqrt(k == 0 ? kappa1 : kappa), budget,
                                       moments * share));
    out.records.push_back(budget.choice_record("radius" + at, out.radius));
    out.records.push_back(out.moments.back().record);
  }
  for (const step_record& record : out.calibration.records) out.records.push_back(record);
  if (targeted) {
    out.target = plan_targeted(budget, target, facts.n, facts.group);
    for (const step_record& record : out.target.records) out.records.push_back(record);
  }
  return out;
}

whitening::whitening(const noisy_moments& first, double radius) {
  const Eigen::Index d = first.mean.size();
  const double edge = spectral_edge(first.second_sd, d);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(first.second - first.mean * first.mean.transpose());
  const Eigen::VectorXd shrunk = shrink_spectrum(spectrum.eigenvalues(), edge);
  const Eigen::VectorXd values = (shrunk.array() + edge).min(radius * radius);
  const Eigen::VectorXd scale = (values / values.maxCoeff()).cwiseSqrt();
  const double length = first.mean.norm();
  centre = length > radius ? Eigen::VectorXd(first.mean * (radius / length)) : first.mean;
  whiten = spectrum.eigenvectors() * scale.cwiseInverse().asDiagonal();
  restore = spectrum.eigenvectors() * scale.asDiagonal();
  spread = std::sqrt(static_cast<double>(d) * values.maxCoeff());
  seen = std::sqrt((shrunk.array() / values.array()).min(1.0).sum() * values.maxCoeff());
}

bool is_far(const gram_statistics& s, const gram_features& f, const whitening& frame, bool group) {
  const Eigen::Index p = s.pre - s.covariates;
  const Eigen::MatrixXd root =
      s.restore.topRows(p) * (frame.spread / std::sqrt(static_cast<double>(s.mean.size())));
  const Eigen::VectorXd u = f.origin.head(p) - s.mean.head(p);
  const Eigen::LDLT<Eigen::MatrixXd> known = ldlt(root * root.transpose());
  // A mean of people drawn from the donors is closer to the donors' mean than a single person is.
  return u.dot(known.solve(u)) >
         (group ? gram_constants::far_group : far_target) * static_cast<double>(p);
}

row_positions calibrating_rows(noise& draws, double n, double m) {
  row_positions out{m >= n, {}};
  if (out.all) return out;
  out.at = draws.positions(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(m));
  std::sort(out.at.begin(), out.at.end());
  return out;
}

placebo_errors placebo_pass(const row_source& source, const row_scale& scale,
                            const counterfactual_estimator& estimator, Eigen::Index T0,
                            Eigen::Index T1, const row_positions& which, double rows,
                            const ticker& tick, const weight_limits& weights) {
  const auto m = static_cast<Eigen::Index>(rows);
  placebo_errors out;
  out.error = out.variance = Eigen::MatrixXd(m, T1 + 1);
  out.scale.resize(m);
  if (weights.given()) out.share.resize(m);
  const Eigen::Index T = T0 + T1;
  const grid_map map =
      map_on_grid(scale, Eigen::MatrixXd::Identity(T, T), Eigen::VectorXd::Zero(T));
  const double unit = std::ldexp(1.0, -row_bits);
  Eigen::Index at = 0;
  row_predictor predictor(estimator.constants());
  std::vector<row_estimate> estimates;
  Eigen::MatrixXd pre;
  source.rows_at(which, [&](const table_view& whole) {
    const weighted_table table(whole, weights);
    block_reader reader(table.rows, map.map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& block = reader.scaled(b);
      if (weights.given())
        out.share.segment(at, std::min(block.rows(), m - at)) =
            table.shares(reader.first_row(b), std::min(block.rows(), m - at)).matrix();
      for (Eigen::Index i = 0; i < block.rows() && at < m; i += lanes) {
        const Eigen::Index rows = std::min({lanes, block.rows() - i, m - at});
        pre = block.block(i, 0, rows, T0).transpose() * unit;
        estimates.clear();
        predictor.predict(pre, estimates);
        for (Eigen::Index l = 0; l < rows; ++l, ++at) {
          const row_estimate& estimate = estimates[static_cast<std::size_t>(l)];
          double sum = 0.0;
          for (Eigen::Index t = 0; t < T1; ++t) {
            const double error = block(i + l, T0 + t) * unit - estimate.post[t];
            out.error(at, t + 1) = error;
            sum += error;
          }
          out.error(at, 0) = sum / static_cast<double>(T1);
          out.variance.row(at) = estimate.variance.transpose();
          out.scale[at] = row_scale_factor(estimate.variation);
          tick(1e5);
        }
      }
    }
  });
  if (at != m) throw std::logic_error("the number of rows changed between passes");
  return out;
}

targeted_sum correct_target(const targeted_plan& plan, const gram_statistics& s,
                            const counterfactual_estimator& estimator, const panel_facts& facts,
                            double share, const row_scale& scale, const row_source& source,
                            noise& draws, const ticker& tick) {
  const Eigen::Index p = s.pre, T1 = s.T1();
  const target_direction along = estimator.direction(facts.y);
  const Eigen::VectorXd centre = s.mean.head(p);
  const double gain = 1.0 / std::sqrt((1.0 + along.leverage) * along.residual);
  Eigen::MatrixXd loadings(s.loadings.rows(), 1 + T1);
  loadings.col(0) = s.loadings.leftCols(p) * along.h;
  loadings.rightCols(T1) =
      gain * (s.loadings.rightCols(T1) - s.loadings.leftCols(p) * along.slopes);
  Eigen::VectorXd origin(1 + T1);
  origin << along.h.dot(centre), gain * (s.mean.tail(T1) - along.slopes.transpose() * centre);
  targeted_sum out =
      release_targeted(source, map_on_grid(scale, loadings, origin), facts.n,
                       radius_grid(gram_constants::target_low, gram_constants::target_high), plan,
                       draws, tick, facts.weights, share);
  const double unit = 1.0 / (gain * s.weight);
  out.mean *= unit;
  out.sd *= unit;
  out.radius *= unit;
  return out;
}

gram_release run_gram(const gram_plan& plan, const panel_facts& facts, const row_scale& scale,
                      const estimator_options& options, const row_source& source, noise& draws,
                      const ticker& tick) {
  using namespace gram_constants;
  const gram_features& f = plan.features;
  gram_release out;
  gram_statistics& s = out.statistics;
  s.loadings = f.loadings;
  s.pre = f.pre;
  s.covariates = facts.covariates;
  s.weight = f.weight;
  s.demean = f.demean;
  const Eigen::Index d = f.origin.size();
  s.restore = Eigen::MatrixXd::Identity(d, d);
  Eigen::MatrixXd whiten = s.restore;
  Eigen::VectorXd centre = f.origin;
  std::vector<double> radii = radius_grid(f.low, f.high);
  bool far = false;
  const remembered_source twice(source, tick);
  const weight_limits& weights = facts.weights;
  const unweighted_source alike(source, weights);
  const row_source& people = weights.given() ? static_cast<const row_source&>(alike) : twice;
  mean_share share(weights);
  for (std::size_t k = 0; k < plan.moments.size(); ++k) {
    const Eigen::MatrixXd loadings = f.loadings * whiten;
    const Eigen::VectorXd origin = whiten.transpose() * centre;
    const grid_map rows = map_on_grid(scale, loadings, origin);
    const double radius = (k == 0 || far ? 1.0 : plan.shorten) *
                          choose_radius(people, rows, facts.n, radii, plan.radius,
                                        k == 0 ? plan.first_price : plan.price,
                                        plan.records[2 * k].label, draws, tick);
    const moments_step& step = plan.moments[k];
    const noisy_moments found =
        weights.given()
            ? release_weighted(source, rows, facts.n, radius, step, weights, share, draws, tick)
            : release_moments(people, rows, facts.n, radius, step, draws, tick);
    out.rounds.push_back(
        {loadings, origin, radius, plan.radius, step.limit, step.constant, step.noise});
    s.mean = centre + s.restore * found.mean;
    s.covariance = found.second - found.mean * found.mean.transpose();
    s.mean_sd = found.mean_sd;
    s.moment_sd = found.second_sd;
    if (k + 1 == plan.moments.size()) break;
    const whitening frame(found, radius);
    centre += s.restore * frame.centre;
    whiten *= frame.whiten;
    s.restore *= frame.restore;
    far = far || (plan.target.made() && is_far(s, f, frame, facts.group));
    radii = radius_grid(std::max(spread_low * frame.spread, plan.seen * frame.seen),
                        spread_high * frame.spread);
  }
  if (weights.given()) out.share = share.value();
  if (!plan.calibration.made() && !plan.target.made()) return out;
  const counterfactual_estimator estimator(s, options);
  if (plan.calibration.made()) {
    placebo_errors errors =
        placebo_pass(source, scale, estimator, facts.T0 + facts.covariates, facts.T1,
                     calibrating_rows(draws, facts.n, plan.calibration.rows), plan.calibration.rows,
                     tick, weights);
    errors.mean_share = out.share;
    out.intervals = release_calibration(errors, plan.calibration, draws);
  }
  if (plan.target.made())
    out.target =
        correct_target(plan.target, s, estimator, facts, out.share, scale, source, draws, tick);
  return out;
}

gram_statistics raw_statistics(const row_source& source, const row_scale& scale, double n,
                               Eigen::Index T0, Eigen::Index T1, const ticker& tick) {
  const Eigen::Index T = T0 + T1;
  const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(T, T);
  gram_statistics s;
  s.loadings = s.restore = unit;
  s.pre = T0;
  s.mean = Eigen::VectorXd::Zero(T);
  // Two passes, since moments around a rough origin lose digits.
  for (int pass = 0; pass < 2; ++pass) {
    raw_moments sums(T);
    add_features(source, map_as_is(scale, unit, s.mean), sums, tick);
    const Eigen::VectorXd shift = sums.sum() / n;
    s.mean += shift;
    s.covariance = sums.gram() / n - shift * shift.transpose();
  }
  return s;
}

/// Sums of share (z, 1)(z, 1)', and of squared shares: NOT PRIVATE.
struct raw_shares {
  explicit raw_shares(Eigen::Index d) : gram(Eigen::MatrixXd::Zero(d + 1, d + 1)) {}

  void add(const Eigen::MatrixXd& z, const Eigen::ArrayXd& share) {
    Eigen::MatrixXd both(z.rows(), z.cols() + 1);
    both << z, Eigen::VectorXd::Ones(z.rows());
    gram += both.transpose() * share.matrix().asDiagonal() * both;
    squares += share.square().sum();
  }

  Eigen::MatrixXd gram;
  double squares = 0.0;
};

gram_statistics raw_weighted(const row_source& source, const row_scale& scale,
                             const weight_limits& weights, Eigen::Index T0, Eigen::Index T1,
                             double& people, const ticker& tick) {
  const Eigen::Index T = T0 + T1;
  gram_statistics s;
  s.loadings = s.restore = Eigen::MatrixXd::Identity(T, T);
  s.pre = T0;
  s.mean = Eigen::VectorXd::Zero(T);
  for (int pass = 0; pass < 2; ++pass) {
    raw_shares sums(T);
    add_weighted(source, map_as_is(scale, s.loadings, s.mean), weights, sums, tick);
    const Eigen::VectorXd shift = sums.gram.col(T).head(T) / sums.gram(T, T);
    s.mean += shift;
    s.covariance = sums.gram.topLeftCorner(T, T) / sums.gram(T, T) - shift * shift.transpose();
    people = sums.gram(T, T) * sums.gram(T, T) / sums.squares;
  }
  return s;
}

}  // namespace dpsc
