// Bodies of treated_release.hpp.
#pragma once

#include "treated_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

double treated_plan::cut(double m) const {
  using namespace treated_constants;
  return std::min(cut_most, std::max(cut_least, treated_constants::cut / std::sqrt(noise(m))));
}

double treated_plan::noise(double m) const {
  return moments2.sigma / std::sqrt(2.0) / (moments2.constant * m * moments2.limit);
}

treated_plan plan_treated(const treated_facts& facts) {
  using namespace treated_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  treated_plan out;
  out.total = budget.total();
  const double radius = budget.share_of_exponent(15.0 / facts.m, 0.01, 0.12);
  const double moments = 1.0 - 2.0 * radius;
  out.radius1 = out.radius2 = budget.exponent(radius);
  // As long a constant as the rows: then the mean costs what it costs alone, and the second moments
  // come free.
  out.moments1 = plan_moments("mean and moments of the treated", facts.m, facts.dimension(), 1.0,
                              budget, moments * treated_constants::moments1);
  out.moments2 =
      plan_moments("mean and moments of the treated, centred", facts.m, facts.dimension(), 1.0,
                   budget, moments * treated_constants::moments2);
  out.control =
      plan_moments("mean of the donors, cut as the treated", facts.n, facts.dimension(), 1.0,
                   budget, std::isnan(facts.control) ? treated_constants::control : facts.control);
  out.records = {budget.choice_record("radius of the treated", out.radius1), out.moments1.record,
                 budget.choice_record("radius of the treated, centred", out.radius2),
                 out.moments2.record};
  return out;
}

treated_frame::treated_frame(const gram_statistics& s, double second) {
  using namespace treated_constants;
  const Eigen::Index T0 = s.T0();
  T1 = s.T1();
  pre = s.pre;
  level = s.demean ? 1 : 0;
  const moments_model model(s);
  const Eigen::MatrixXd basis = s.loadings.topLeftCorner(T0, pre);
  // Regression at the middle of the estimator's penalties.
  Eigen::MatrixXd inner = model.covariance.topLeftCorner(pre, pre);
  inner += 0.4 * model.edge * model.restore_A.transpose() * model.restore_A;
  inner.diagonal().array() += 1e-12 * std::max(inner.trace(), 1e-12);
  const Eigen::LLT<Eigen::MatrixXd> root = llt(inner);
  if (root.info() != Eigen::Success) throw std::runtime_error("the released moments are singular");
  const Eigen::MatrixXd slopes = root.solve(model.covariance.topRightCorner(pre, T1));
  const Eigen::MatrixXd g = model.restore_B - model.restore_A * slopes;
  const Eigen::MatrixXd left =
      positive_part(g.transpose() * model.whitened * g) / (s.weight * s.weight);

  const double periods = static_cast<double>(T1);
  const Eigen::MatrixXd mean = Eigen::MatrixXd::Constant(T1, T1, 1.0 / periods);
  const Eigen::MatrixXd same = Eigen::MatrixXd::Identity(T1, T1);
  const Eigen::MatrixXd forward = shape * same + (1.0 - shape) * mean;
  const Eigen::MatrixXd backward = (same - mean) / shape + mean;
  // What the donors' own placebo errors add to the moments, if they were released.
  own_variance = std::max({left.mean(), second, 1e-8});
  const double length = (forward * left * forward).trace() + periods * (own_variance - left.mean());
  const double by_residual = std::sqrt(residual / std::max(length, 1e-8));
  const double by_past = std::sqrt(past / static_cast<double>(pre));
  const double by_level = std::sqrt(treated_constants::level) / level_spread;

  const Eigen::Index d = pre + level + T1;
  loadings = Eigen::MatrixXd::Zero(T0 + T1, d);
  path = Eigen::MatrixXd::Zero(T0 + T1, d);
  // Whitened past: z = root^-1 (f - mean).
  const Eigen::MatrixXd whiten =
      root.matrixL().solve(Eigen::MatrixXd::Identity(pre, pre)).transpose();
  const Eigen::MatrixXd lower = root.matrixL();
  loadings.topLeftCorner(T0, pre) = by_past * basis * whiten;
  const Eigen::MatrixXd raise = lower / by_past;  // v to features less their mean
  const Eigen::MatrixXd up =
      basis * ldlt(basis.transpose() * basis).solve(Eigen::MatrixXd::Identity(pre, pre));
  path.topLeftCorner(T0, pre) = up * raise;
  path.bottomLeftCorner(T1, pre) = slopes.transpose() * raise / s.weight;
  if (level == 1) {
    const Eigen::Index before = s.periods_before();
    loadings.col(pre).head(before).setConstant(by_level / static_cast<double>(before));
    path.col(pre).setConstant(1.0 / by_level);
    path.col(pre).segment(before, s.covariates).setZero();
  }
  loadings.rightCols(T1) = by_residual / s.weight *
                           (s.loadings.rightCols(T1) - s.loadings.leftCols(pre) * slopes) * forward;
  path.bottomRightCorner(T1, T1) = backward / by_residual;
  const Eigen::VectorXd mean_A = s.mean.head(pre), mean_B = s.mean.tail(T1);
  origin = Eigen::VectorXd::Zero(d);
  origin.head(pre) = by_past * whiten.transpose() * mean_A;
  origin.tail(T1) = by_residual / s.weight * forward * (mean_B - slopes.transpose() * mean_A);
  flat = Eigen::VectorXd::Zero(T0 + T1);
  flat.head(T0) = up * mean_A;
  flat.tail(T1) = mean_B / s.weight;
  average = Eigen::VectorXd::Zero(d);
  average.tail(T1).setConstant(1.0 / (periods * by_residual));
}

namespace treated_detail {

rows_beyond::rows_beyond(std::vector<double> squared_radii)
    : squared_(std::move(squared_radii)), first_(squared_.size() + 1, 0) {}

void rows_beyond::add(const Eigen::MatrixXd& z) {
  const Eigen::ArrayXd norms = squared_row_norms(z);
  for (Eigen::Index i = 0; i < norms.size(); ++i)
    ++first_[static_cast<std::size_t>(std::lower_bound(squared_.begin(), squared_.end(), norms[i]) -
                                      squared_.begin())];
}

std::vector<std::int64_t> rows_beyond::losses(double allowed) const {
  std::vector<std::int64_t> out(squared_.size());
  std::int64_t outside = 0;
  for (std::size_t k = out.size(); k-- > 0;) {
    outside += first_[k + 1];
    out[k] = std::max<std::int64_t>(0, outside - static_cast<std::int64_t>(allowed));
  }
  return out;
}

double choose_treated_radius(const row_source& source, const grid_map& rows, double m,
                             double middle, double above, double exponent, const std::string& label,
                             noise& draws, const ticker& tick) {
  // Up to where nobody's features reach.
  std::vector<double> radii, prior, squared;
  for (int k = -3; k <= 40; ++k) {
    radii.push_back(middle * std::pow(2.0, k / 2.0));
    prior.push_back(k < 0 ? treated_constants::below * k : -above * k);
    if (radii.back() > rows.reach && k >= 3) break;
  }
  for (double r : radii) squared.push_back(std::pow(radius_steps(r, rows), 2.0));
  rows_beyond counts(squared);
  add_features(source, rows.map, counts, tick);
  private_choice choice;
  choice.losses = counts.losses(std::floor(treated_constants::beyond * m));
  choice.units = exponent_units(exponent, choice_shift);
  choice.shift = choice_shift;
  choice.offsets = prior_offsets(prior, choice_shift);
  return radii[draws.choose(label, choice)];
}

Eigen::VectorXd shrunk(const Eigen::VectorXd& x, double sd) {
  const double noise = static_cast<double>(x.size()) * sd * sd, total = x.squaredNorm();
  return total > noise ? Eigen::VectorXd(x * (1.0 - noise / total))
                       : Eigen::VectorXd(Eigen::VectorXd::Zero(x.size()));
}

Eigen::VectorXd significant(const Eigen::VectorXd& x, double sd) {
  const double p = static_cast<double>(x.size());
  const double least = p + treated_constants::stands_out * std::sqrt(2.0 * p);
  return x.squaredNorm() > least * sd * sd ? shrunk(x, sd)
                                           : Eigen::VectorXd(Eigen::VectorXd::Zero(x.size()));
}

Eigen::VectorXd centre_of(const treated_frame& frame, const noisy_moments& first) {
  const Eigen::Index p = frame.pre, l = frame.level, T1 = frame.T1;
  const double sd = first.mean_sd;
  Eigen::VectorXd out = first.mean;
  out.head(p) = significant(first.mean.head(p), sd);
  const Eigen::VectorXd residual = first.mean.tail(T1);
  const double root = std::sqrt(static_cast<double>(T1));
  const Eigen::VectorXd along = shrunk(Eigen::VectorXd::Constant(1, residual.mean() * root), sd);
  Eigen::VectorXd rest = residual.array() - residual.mean();
  rest = T1 > 1 ? shrunk(rest, sd * std::sqrt(1.0 - 1.0 / static_cast<double>(T1)))
                : Eigen::VectorXd(Eigen::VectorXd::Zero(1));
  out.tail(T1) = rest.array() + along[0] / root;
  if (l == 1) out[p] = first.mean[p];
  return out;
}

bool at_the_edge(const treated_frame& frame, const noisy_moments& first, double radius) {
  const Eigen::Index T1 = frame.T1;
  const double along = std::fabs(first.mean.tail(T1).mean()) * std::sqrt(static_cast<double>(T1));
  return along > treated_constants::edge * radius;
}

pooled_mean::pooled_mean(const treated_frame& frame, const noisy_moments& one,
                         const Eigen::VectorXd& last, double last_sd) {
  const double noise = static_cast<double>(frame.T1) * last_sd * last_sd;
  const double far = std::max(0.0, last.tail(frame.T1).squaredNorm() - noise);
  const double doubt = treated_constants::first_doubt * treated_constants::first_doubt * far;
  const double variance = one.mean_sd * one.mean_sd;
  first = last_sd * last_sd / (last_sd * last_sd + variance + doubt);
  mean = first * one.mean + (1.0 - first) * last;
  sd = std::sqrt(first * first * variance + (1.0 - first) * (1.0 - first) * last_sd * last_sd);
}

}  // namespace treated_detail

treated_release run_treated(const treated_plan& plan, const treated_facts& facts,
                            const gram_statistics& s, double second, const row_scale& scale,
                            const row_source& source, noise& draws, const ticker& tick) {
  using namespace treated_detail;
  const treated_frame frame(s, second);
  if (frame.loadings.cols() != facts.dimension())
    throw std::invalid_argument("the donors' release does not fit the treated group's plan");
  const auto round = [](const Eigen::VectorXd& origin, double radius, double exponent,
                        const moments_step& step) {
    return treated_round{origin, radius, exponent, step.limit, step.constant, step.noise};
  };
  treated_release out;
  out.loadings = frame.loadings;
  grid_map rows = map_on_grid(scale, frame.loadings, frame.origin);
  const double radius1 =
      plan.cut(facts.m) * choose_treated_radius(source, rows, facts.m, treated_constants::radius,
                                                treated_constants::above, plan.radius1,
                                                plan.records[0].label, draws, tick);
  const noisy_moments first =
      release_moments(source, rows, facts.m, radius1, plan.moments1, draws, tick);
  out.rounds.push_back(round(frame.origin, radius1, plan.radius1, plan.moments1));

  Eigen::VectorXd centre = centre_of(frame, first);
  const double length = centre.norm();
  if (length > rows.reach) centre *= rows.reach / length;
  // The centre misses the group's by the first round's noise, where that was not shrunk away.
  const double missed = centre.norm() > 0.0 ? first.mean_sd : 0.0;
  const double middle =
      treated_constants::radius *
      std::sqrt(1.0 + 2.0 * missed * missed * static_cast<double>((centre.array() != 0.0).count()));
  const Eigen::VectorXd origin = frame.origin + centre;
  rows = map_on_grid(scale, frame.loadings, origin);
  const double above = at_the_edge(frame, first, radius1) ? treated_constants::above
                                                          : treated_constants::above_found;
  const double radius =
      plan.cut(facts.m) * choose_treated_radius(source, rows, facts.m, middle, above, plan.radius2,
                                                plan.records[2].label, draws, tick);
  const noisy_moments last =
      release_moments(source, rows, facts.m, radius, plan.moments2, draws, tick);
  out.rounds.push_back(round(origin, radius, plan.radius2, plan.moments2));

  const pooled_mean both(frame, first, centre + last.mean, last.mean_sd);
  out.mean = both.mean;
  out.mean_sd = both.sd;
  out.of_first = both.first;
  Eigen::VectorXd shown = out.mean, likely = out.mean;
  shown.head(frame.pre) = significant(out.mean.head(frame.pre), out.mean_sd);
  likely.head(frame.pre) = shrunk(out.mean.head(frame.pre), out.mean_sd);
  // A mean of people is no further from the donors than one of them.
  for (Eigen::VectorXd* x : {&shown, &likely}) {
    const double far = x->head(frame.pre).norm() / std::sqrt(treated_constants::past);
    if (far > 1.0) x->head(frame.pre) /= far;
  }
  out.path = frame.flat + frame.path * shown;
  out.lean = frame.flat + frame.path * likely;
  out.moves = frame.path * out.mean_sd;
  const double kept =
      shown.head(frame.pre).norm() / std::max(out.mean.head(frame.pre).norm(), 1e-300);
  out.moves.leftCols(frame.pre) *= kept;
  // The level moves a path as a whole, and no effect.
  if (frame.level == 1) out.moves.col(frame.pre).setZero();
  const Eigen::MatrixXd about = last.second - last.mean * last.mean.transpose();
  out.second = frame.average.dot(about * frame.average);
  out.second_sd = last.second_sd * frame.average.squaredNorm();
  out.own_variance = frame.own_variance;
  return out;
}

noisy_moments run_control(const moments_step& step, double n, const Eigen::MatrixXd& loadings,
                          const treated_round& first, const treated_round& last,
                          const row_scale& scale, const row_source& donors, noise& draws,
                          const ticker& tick) {
  const grid_map rows = map_on_grid(scale, loadings, first.origin);
  return release_moments(donors, rows, n, last.radius, step, draws, tick);
}

}  // namespace dpsc
