// Bodies of treated_release.hpp.
#pragma once

#include "treated_release.hpp"

#include "../linalg.hpp"

namespace dpsc {

namespace treated_detail {

/// Standard deviation of the noise on a mean of rows, relative to the length at which rows are
/// clipped.
double mean_noise(const moments_step& step, double rows) {
  return step.sigma / std::sqrt(2.0) / (step.constant * rows * step.limit);
}

}  // namespace treated_detail

double treated_plan::cut(const treated_facts& facts) const {
  using namespace treated_constants;
  const double all = std::hypot(noise(facts.m), treated_detail::mean_noise(control, facts.n));
  return std::min(cut_most, std::max(cut_least, treated_constants::cut / std::sqrt(all)));
}

double treated_plan::noise(double m) const {
  double precision = 0.0;
  for (const moments_step& step : moments) {
    precision += std::pow(treated_detail::mean_noise(step, m), -2.0);
  }
  return 1.0 / std::sqrt(precision);
}

namespace treated_detail {

look_plan plan_look(const total_budget& budget, double n, double share) {
  using namespace treated_constants;
  look_plan out;
  const double radius =
      budget.share_of_exponent(donor_votes / n, look_least * share, look_most * share);
  out.radius = budget.exponent(radius);
  out.records.push_back(budget.choice_record("radius of the donors' residuals", out.radius));
  const double points = kept_points;
  out.kept = unit_noise("what a cut keeps of donors", budget, look_kept * share, std::sqrt(points),
                        points);
  out.records.push_back(out.kept.record);
  return out;
}

}  // namespace treated_detail

treated_plan plan_treated(const treated_facts& facts) {
  using namespace treated_constants;
  const total_budget budget(facts.epsilon, facts.delta);
  if (!(budget.total() > 0.0)) throw budget_too_small();
  treated_plan out;
  out.total = budget.total();
  // Laplace noise would grow with the number of knots.
  out.tail = budget.gaussian();
  const double radius = budget.share_of_exponent(votes / facts.m, votes_least, votes_most);
  out.radius = budget.exponent(radius);
  out.place = plan_location(budget, facts.m);
  out.records.push_back(out.place.record);
  const double left = 1.0 - rounds * radius - location_share(budget, facts.m);
  const char* names[] = {"", ", centred", ", centred again"};
  for (int j = 0; j < rounds; ++j) {
    const std::string which = std::string("of the treated") + names[j];
    // With a constant as long as the rows, the mean costs as much as without second moments, and
    // these are free.
    out.moments.push_back(plan_moments("mean and moments " + which, facts.m, facts.dimension(), 1.0,
                                       budget, left * treated_constants::moments[j]));
    out.records.push_back(budget.choice_record("radius " + which, out.radius));
    out.records.push_back(out.moments.back().record);
  }
  const double share = std::isnan(facts.control) ? treated_constants::control : facts.control;
  out.look = treated_detail::plan_look(budget, facts.n, share);
  const double spent =
      budget.share_of_exponent(donor_votes / facts.n, look_least * share, look_most * share) +
      look_kept * share;
  out.control = plan_moments("mean of the donors, cut as the treated", facts.n, facts.dimension(),
                             1.0, budget, share - spent);
  return out;
}

double donor_look::kept_of(double length) const {
  const double at = std::log2(length / base);
  const auto known = [&](Eigen::Index k) { return k < kept.size() ? kept[k] : 1.0; };
  const double place = at - std::log2(treated_constants::kept_at[0]);
  // Below the shortest clip, the retained share is proportional to the clip.
  if (place <= 0.0) return std::max(treated_constants::kept_floor, kept[0] * std::exp2(place));
  if (place >= static_cast<double>(kept.size())) return 1.0;
  const auto k = static_cast<Eigen::Index>(place);
  const double part = place - static_cast<double>(k);
  return (1.0 - part) * known(k) + part * known(k + 1);
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
  // At least the second moment of the donors' own placebo errors, if it was released.
  own_variance = std::max({left.mean(), second, 1e-8});
  // The total noise over all periods is smallest if a direction is weighted by the root of people's
  // standard deviation in it.
  const double along = periods * own_variance;
  const double across =
      T1 > 1 ? std::max((left.trace() - periods * left.mean()) / (periods - 1.0), 1e-8) : along;
  const double shape =
      std::min(shape_most, std::max(shape_least, shape_lean * std::pow(along / across, 0.25)));
  const Eigen::MatrixXd forward = shape * same + (1.0 - shape) * mean;
  const Eigen::MatrixXd backward = (same - mean) / shape + mean;
  const double length = (forward * left * forward).trace() + periods * (own_variance - left.mean());
  by_residual = std::sqrt(residual / std::max(length, 1e-8));
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
  const Eigen::MatrixXd raise = lower / by_past;  // v to features minus their mean
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
                             const radius_search& search, double exponent, const std::string& label,
                             noise& draws, const ticker& tick) {
  // Radii up to a length that no features exceed.
  std::vector<double> radii, prior, squared;
  for (int k = search.lowest; k <= 80; ++k) {
    radii.push_back(search.radius(k));
    prior.push_back(search.prior(k));
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

kept_shares::kept_shares(std::vector<double> squared_radii, Eigen::Index T1, int bits)
    : squared_(std::move(squared_radii)),
      T1_(T1),
      one_(std::ldexp(1.0, bits)),
      sums_(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(squared_.size()))) {}

void kept_shares::add(const Eigen::MatrixXd& z) {
  const Eigen::ArrayXd norms = squared_row_norms(z), own = squared_row_norms(z.rightCols(T1_));
  for (std::size_t k = 0; k < squared_.size(); ++k)
    for (Eigen::Index i = 0; i < norms.size(); ++i) {
      double share = 1.0;
      if (norms[i] > squared_[k])
        share = std::sqrt(squared_[k] / norms[i]) *
                (1.0 - own[i] / (static_cast<double>(T1_) * norms[i]));
      // For any rounding, a row adds an integer between 0 and the unit.
      sums_[static_cast<Eigen::Index>(k)] += std::floor(one_ * std::min(1.0, std::max(0.0, share)));
    }
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

next_centre::next_centre(const treated_frame& frame, const Eigen::VectorXd& mean, double sd)
    : centre(Eigen::VectorXd::Zero(mean.size())) {
  const Eigen::Index p = frame.pre, T1 = frame.T1;
  const auto kept = [&](const Eigen::VectorXd& part, double noise, double directions) {
    const Eigen::VectorXd out = significant(part, noise);
    if ((out.array() != 0.0).any()) noisy += directions;
    return out;
  };
  centre.head(p) = kept(mean.head(p), sd, static_cast<double>(p));
  if (frame.level == 1) centre.segment(p, 1) = kept(mean.segment(p, 1), sd, 1.0);
  const double periods = static_cast<double>(T1), root = std::sqrt(periods);
  const double average = mean.tail(T1).mean();
  centre.tail(T1).setConstant(kept(Eigen::VectorXd::Constant(1, average * root), sd, 1.0)[0] /
                              root);
  if (T1 == 1) return;
  const Eigen::VectorXd rest = mean.tail(T1).array() - average;
  centre.tail(T1) += kept(rest, sd * std::sqrt(1.0 - 1.0 / periods), periods - 1.0);
}

bool at_the_edge(const treated_frame& frame, const treated_round& round) {
  const Eigen::Index T1 = frame.T1;
  const double along = std::fabs(round.mean.tail(T1).mean()) * std::sqrt(static_cast<double>(T1));
  return along >
         treated_constants::edge * round.radius + treated_constants::edge_noise * round.mean_sd;
}

bool nobody_there(const treated_frame& frame, const treated_round& round, double place) {
  const double along = round.mean.tail(frame.T1).mean() * std::sqrt(static_cast<double>(frame.T1));
  return (along > 0.0) != (place > 0.0) &&
         std::fabs(along) > treated_constants::nobody * round.radius;
}

/// A round's moments, with a tail if there are knots.
tail_moments round_moments(const row_source& source, const grid_map& rows, double people,
                           double radius, const moments_step& step, const tail_knots& at,
                           Eigen::Index T1, noise& draws, const ticker& tick) {
  if (at.knots.size() > 0)
    return release_tail(source, rows, people, radius, step, at, T1, draws, tick);
  tail_moments out;
  static_cast<noisy_moments&>(out) =
      release_moments(source, rows, people, radius, step, draws, tick);
  return out;
}

double distance_squared(const treated_frame& frame, const Eigen::VectorXd& missed, double sd,
                        bool near_edge) {
  const double periods = static_cast<double>(frame.T1);
  const double all = missed.tail(frame.T1).squaredNorm();
  const double mean = missed.tail(frame.T1).mean(), along = periods * mean * mean;
  const auto seen = [&](double total, double directions) {
    const double stands = near_edge ? 0.0 : treated_constants::stands_out;
    const bool out = total > (directions + stands * std::sqrt(2.0 * directions)) * sd * sd;
    return out ? total - directions * sd * sd : 0.0;
  };
  return seen(along, 1.0) + seen(std::max(0.0, all - along), periods - 1.0);
}

pooled_mean::pooled_mean(const treated_frame& frame, const std::vector<treated_round>& rounds) {
  using namespace treated_constants;
  const Eigen::VectorXd& start = frame.origin;
  const auto found = [&](const treated_round& round) {
    return Eigen::VectorXd(round.origin - start + round.mean / round.kept);
  };
  const treated_round& last = rounds.back();
  const auto size = static_cast<Eigen::Index>(rounds.size());
  Eigen::VectorXd variance(size), doubts(size);
  weights.resize(size);
  for (Eigen::Index j = 0; j < size; ++j) {
    const treated_round& round = rounds[static_cast<std::size_t>(j)];
    const Eigen::VectorXd missed = found(last) - (round.origin - start);
    const auto bias = [&](bool near_edge) {
      const double far = distance_squared(frame, missed, last.mean_sd / last.kept, near_edge);
      const double outside = std::max(0.0, std::sqrt(far) - round.radius);
      return doubt * doubt * far + outside * outside;
    };
    variance[j] = std::pow(round.mean_sd / round.kept, 2.0);
    weights[j] = 1.0 / (variance[j] + bias(at_the_edge(frame, round)));
    doubts[j] = bias(true);
  }
  weights /= weights.sum();
  stray = weights.cwiseAbs2().dot(doubts);
  mean = Eigen::VectorXd::Zero(start.size());
  for (Eigen::Index j = 0; j < size; ++j)
    mean += weights[j] * found(rounds[static_cast<std::size_t>(j)]);
  sd = std::sqrt(weights.cwiseAbs2().dot(variance));
}

}  // namespace treated_detail

donor_look run_look(const treated_plan& plan, const treated_facts& facts,
                    const Eigen::MatrixXd& loadings, const Eigen::VectorXd& origin,
                    const row_scale& scale, const row_source& donors, noise& draws,
                    const ticker& tick) {
  using namespace treated_constants;
  const grid_map rows = map_on_grid(scale, loadings, origin);
  const treated_detail::radius_search search{look_radius, look_step,  look_lowest,
                                             -look_price, look_price, look_price};
  donor_look out;
  out.radius = treated_detail::choose_treated_radius(
      donors, rows, facts.n, search, plan.look.radius, plan.look.records[0].label, draws, tick);
  out.base = plan.cut(facts) * out.radius;
  std::vector<double> squared;
  for (double at : kept_at) squared.push_back(std::pow(radius_steps(at * out.base, rows), 2.0));
  treated_detail::kept_shares sums(squared, facts.T1, plan.look.kept.bits);
  add_features(donors, rows.map, sums, tick);
  const Eigen::VectorXd noisy =
      draws.add(plan.look.records[1].label, plan.look.kept.kind, sums.sums(),
                Eigen::VectorXd::Constant(sums.sums().size(), plan.look.kept.noise));
  const double all = std::ldexp(facts.n, plan.look.kept.bits);
  // A larger clip keeps more, and no clip keeps everything.
  out.kept = noisy / all;
  double most = kept_floor;
  for (Eigen::Index k = 0; k < out.kept.size(); ++k)
    most = out.kept[k] = std::min(1.0, std::max(most, out.kept[k]));
  out.kept_sd = plan.look.kept.sigma / all;
  return out;
}

treated_release run_treated(const treated_plan& plan, const treated_facts& facts,
                            const gram_statistics& s, double second, const donor_look& look,
                            const row_scale& scale, const row_source& source, noise& draws,
                            const ticker& tick) {
  using namespace treated_detail;
  using namespace treated_constants;
  const treated_frame frame(s, second);
  if (frame.loadings.cols() != facts.dimension())
    throw std::invalid_argument("the donors' release does not fit the treated group's plan");
  treated_release out;
  out.loadings = frame.loadings;
  out.origin = frame.origin;
  Eigen::VectorXd centre = Eigen::VectorXd::Zero(frame.origin.size());
  out.place = run_location(plan.place, source, map_on_grid(scale, frame.loadings, frame.origin),
                           facts.m, frame.T1, frame.by_residual * std::sqrt(frame.own_variance),
                           2.0 * frame.by_residual, draws, tick);
  const bool placed = out.place.centre != 0.0;
  centre.tail(frame.T1).setConstant(out.place.centre);
  double middle = std::hypot(look.radius, out.place.doubt * std::sqrt(frame.T1));
  double first = placed ? above_placed_first : above_first, next = placed ? above_placed : above;
  // No effect exceeds the width of the bounds.
  const double reach = 2.0 * frame.by_residual * std::sqrt(static_cast<double>(frame.T1));
  tail_moments last;
  for (std::size_t j = 0; j < plan.moments.size(); ++j) {
    const moments_step& step = plan.moments[j];
    const Eigen::VectorXd origin = frame.origin + centre;
    const grid_map rows = map_on_grid(scale, frame.loadings, origin);
    const radius_search search{middle, 0.5, -3, below, first, next};
    const double found_radius = choose_treated_radius(source, rows, facts.m, search, plan.radius,
                                                      plan.records[2 * j + 1].label, draws, tick);
    const double radius = plan.cut(facts) * found_radius;
    // Lengths are at least the donors', so that few donors count as far.
    const double bend = tail_constants::bend * std::max({radius, found_radius, look.radius});
    const tail_knots at =
        plan.tail ? tail_knots(bend, tail_constants::bend * look.radius, reach) : tail_knots();
    last = round_moments(source, rows, facts.m, radius, step, at, frame.T1, draws, tick);
    out.rounds.push_back({origin, radius, plan.radius, step.limit, step.constant, step.noise,
                          last.mean, last.mean_sd, look.kept_of(radius), at, last.tail,
                          last.tail_sd, last.both, last.both_sd});
    const pooled_mean all(frame, out.rounds);
    out.mean = all.mean;
    out.mean_sd = all.sd;
    out.weights = all.weights;
    out.stray = all.stray;
    if (placed && j == 0 && nobody_there(frame, out.rounds.back(), out.place.centre)) {
      centre.setZero();
      middle = look.radius;
      first = above_first;
      next = above;
      continue;
    }
    // The next round: lengths are measured from a centre that differs from the group's centre by
    // noise.
    const next_centre found(frame, all.mean, all.sd);
    centre = found.centre;
    const double length = centre.norm();
    if (length > rows.reach) centre *= rows.reach / length;
    middle = std::sqrt(look.radius * look.radius + found.noisy * all.sd * all.sd);
    const bool far = at_the_edge(frame, out.rounds.back());
    first = far ? above_far : above_first;
    next = far ? above_far : above_found;
  }
  out.kept = out.rounds.back().kept;
  Eigen::VectorXd shown = out.mean, likely = out.mean;
  shown.head(frame.pre) = significant(out.mean.head(frame.pre), out.mean_sd);
  likely.head(frame.pre) = shrunk(out.mean.head(frame.pre), out.mean_sd);
  // A mean of people is taken to be no farther from the donors than a single person.
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
  // The level shifts a whole path and does not change effects.
  if (frame.level == 1) out.moves.col(frame.pre).setZero();
  const Eigen::MatrixXd about = last.second - last.mean * last.mean.transpose();
  out.second = frame.average.dot(about * frame.average);
  out.second_sd = last.second_sd * frame.average.squaredNorm();
  out.own_variance = frame.own_variance;
  return out;
}

tail_moments run_control(const treated_plan& plan, const treated_facts& facts,
                         const Eigen::MatrixXd& loadings, const Eigen::VectorXd& origin,
                         double radius, const tail_knots& at, const row_scale& scale,
                         const row_source& donors, noise& draws, const ticker& tick) {
  const grid_map rows = map_on_grid(scale, loadings, origin);
  return treated_detail::round_moments(donors, rows, facts.n, radius, plan.control, at, facts.T1,
                                       draws, tick);
}

}  // namespace dpsc
