// Bodies of counterfactual.hpp.
#pragma once

#include "counterfactual.hpp"

#include "../linalg.hpp"

namespace dpsc {

counterfactual_estimator::counterfactual_estimator(const gram_statistics& s,
                                                   const estimator_options& options)
    : s_(s), options_(options), model_(s) {
  const Eigen::Index T1 = s.T1();
  forms_.resize(T1, T1 + 1);
  forms_ << Eigen::VectorXd::Constant(T1, 1.0 / static_cast<double>(T1)),
      Eigen::MatrixXd::Identity(T1, T1);
  prediction_constants& c = constants_;
  c.basis = s.loadings.topLeftCorner(s.T0(), s.pre);
  c.mean = s.mean.head(s.pre);
  c.after = s.mean.tail(T1);
  c.before = s.periods_before();
  c.weight = s.weight;
  c.demean = s.demean;
  c.is_private = options.is_private;
  if (c.is_private) c.half = options.half.tail(T1);
  c.mean_noise =
      square(model_.mean_sd) * model_.restore_B.colwise().squaredNorm().mean() / square(s.weight);
  c.form_noise = square(model_.moment_sd) / 2.0;
  // A penalty fixed by the user shrinks towards no change.
  if (options.kind == estimator_kind::ridge && std::isnan(options.penalty) && has_level_feature(s))
    c.level = make_level_prior(s);
  prepare();
  prepare_variation();
}

target_direction counterfactual_estimator::direction(const Eigen::VectorXd& pre) const {
  need_errors();
  const row_features own = constants_.features(pre);
  const Eigen::VectorXd weights = constants_.evidence_weights(own.u);
  const Eigen::Index p = s_.pre;
  target_direction out;
  out.slopes = Eigen::MatrixXd::Zero(p, s_.T1());
  out.h = Eigen::VectorXd::Zero(p);
  for (std::size_t k = 0; k < constants_.fits.size(); ++k) {
    const double share = weights[static_cast<Eigen::Index>(k)];
    out.slopes += share * constants_.fits[k].slopes;
    out.h += share * (constants_.fits[k].solve * own.u);
    out.residual += share * constants_.fits[k].prediction.trace();
  }
  out.leverage = std::max(0.0, out.h.dot(model_.covariance.topLeftCorner(p, p) * out.h));
  out.residual = std::max(out.residual, 0.5 * model_.moment_sd * model_.restore_B.squaredNorm());
  return out;
}

target_estimate counterfactual_estimator::target(const Eigen::VectorXd& pre,
                                                 const target_correction* correction) const {
  if (correction) need_errors();
  const Eigen::Index T0 = s_.T0(), T1 = s_.T1(), p = s_.pre;
  const row_features own = constants_.features(pre);
  const Eigen::VectorXd weights = constants_.evidence_weights(own.u);
  Eigen::VectorXd fitted = Eigen::VectorXd::Zero(s_.mean.size());
  double far = 0.0;  // squared distance over the donors' mean
  target_estimate out;
  out.prediction = out.privacy = Eigen::MatrixXd::Zero(T1, T1);
  Eigen::MatrixXd second = out.privacy;
  double doubt = 0.0;
  Eigen::MatrixXd posts(T1, static_cast<Eigen::Index>(constants_.fits.size()));
  for (std::size_t k = 0; k < constants_.fits.size(); ++k) {
    const prediction_fit& fit = constants_.fits[k];
    const double share = weights[static_cast<Eigen::Index>(k)];
    const Eigen::VectorXd w = fit.solve * own.u;
    Eigen::VectorXd at = s_.mean;
    at.head(p) += fit.lift * own.u;
    at.tail(T1) += fit.slopes.transpose() * own.u;
    posts.col(static_cast<Eigen::Index>(k)) = at.tail(T1);
    fitted += share * at;
    doubt += share * square(fit.rest.dot(own.u));
    if (options_.errors) {
      out.prediction += share * fit.prediction;
      out.privacy += share * privacy_covariance(model_, fit.g, model_.restore_A * w);
      if (correction) second += share * second_order(fit, model_.restore_A * w);
    }
    far += share * w.dot(own.u) / static_cast<double>(p);
    out.leverage += share * w.dot(model_.covariance.topLeftCorner(p, p) * w);
    out.penalty += share * fit.penalty;
  }
  // Disagreement between penalties that the evidence does not distinguish; it is not part of a
  // release's noise.
  out.disagreement = Eigen::MatrixXd::Zero(T1, T1);
  for (Eigen::Index k = 0; k < posts.cols(); ++k) {
    const Eigen::VectorXd apart = posts.col(k) - fitted.tail(T1);
    out.disagreement += weights[k] * apart * apart.transpose();
  }
  // Possible deviation of the level's regression to the mean from its prior, if the moments are
  // inconclusive.
  out.disagreement.array() += square(constants_.level.doubt) * doubt;
  if (options_.is_private)
    out.disagreement.diagonal().array() += far_doubt * std::max(0.0, far - far_target) *
                                           out.prediction.trace() / static_cast<double>(T1);
  out.path.resize(T0 + T1);
  out.path.head(T0) = constants_.basis * basis_gram_.solve(fitted.head(p));
  if (s_.demean) {
    // The level is the target's own, even if levels are a feature.
    auto before = out.path.head(s_.periods_before());
    before.array() += own.level - before.mean();
  }
  const double w2 = s_.weight * s_.weight;
  out.prediction /= w2;
  out.privacy /= w2;
  out.disagreement /= w2;
  Eigen::VectorXd post = fitted.tail(T1) / s_.weight;
  double noise = constants_.mean_noise;
  out.released = gram_inflation * out.privacy;
  if (correction) {
    // Weighted by their precisions. The error after the correction is of second order. With many
    // features and much noise its estimate is unstable, so it is limited to three times the error
    // before.
    const double periods = static_cast<double>(T1);
    const double V = (out.privacy.trace() + out.disagreement.trace()) / periods;
    second *= std::min(1.0, 3.0 * w2 * V * periods / second.trace()) / w2;
    const double q2 = correction->sd * correction->sd, left = q2 + second.trace() / periods;
    const double gain = V / (V + left), rest = (1.0 - gain) * (1.0 - gain);
    post += gain * correction->mean;
    out.privacy = rest * out.privacy + gain * gain * second;
    out.released = gram_inflation * out.privacy;
    out.privacy.diagonal().array() += gain * gain * q2;
    out.released.diagonal().array() += gain * gain * q2;
    out.disagreement *= rest;
    // As without a correction, only the noise of means determines the shrinkage of a path towards
    // its own level.
    noise = rest * std::min(V, noise) + gain * gain * q2;
  }
  if (options_.is_private) {
    if (options_.errors) out.released = finished_covariance(post, out.released, own, noise);
    cap(out.prediction);
    cap(out.privacy);
    cap(out.released);
    cap(out.disagreement);
  }
  if (options_.errors) out.hidden = positive_part(out.privacy - out.released);
  constants_.finish(post, own, noise);
  out.path.tail(T1) = post;
  out.variation = own.variation;
  out.scale = own_scale(own);
  return out;
}

double counterfactual_estimator::own_scale(const row_features& own) const {
  const bool far = square(constants_.flat.dot(own.u)) > square(far_level) * level_variance_;
  return row_scale_factor(far ? std::max(1.0, own.variation) : own.variation);
}

double counterfactual_estimator::apart(const Eigen::VectorXd& pre, double people,
                                       double donors) const {
  const Eigen::Index p = s_.pre;
  if (model_.edge <= 0.0 || !has_level_feature(s_)) return 0.0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(model_.whitened);
  const Eigen::VectorXd known =
      shrink_spectrum(spectrum.eigenvalues(), model_.edge).array() + model_.edge;
  const Eigen::MatrixXd root = model_.restore_A.transpose() * spectrum.eigenvectors();
  const Eigen::MatrixXd variance =
      (1.0 / people + 1.0 / donors) * root * known.asDiagonal() * root.transpose() +
      square(model_.mean_sd) * model_.restore_A.transpose() * model_.restore_A;
  const Eigen::VectorXd u = constants_.features(pre).u;
  // The level is the first feature.
  const double rest = u.dot(ldlt(variance).solve(u)) - square(u[0]) / variance(0, 0);
  return std::max(0.0, rest) / static_cast<double>(p - 1);
}

linear_error counterfactual_estimator::linear(const Eigen::VectorXd& pre) const {
  const row_features own = constants_.features(pre);
  const Eigen::VectorXd weights = constants_.evidence_weights(own.u);
  const Eigen::Index d = s_.mean.size(), T1 = s_.T1();
  linear_error out{std::vector<Eigen::MatrixXd>(T1, Eigen::MatrixXd::Zero(d, d)),
                   Eigen::MatrixXd::Zero(d, T1), Eigen::VectorXd::Zero(s_.pre)};
  for (std::size_t k = 0; k < constants_.fits.size(); ++k) {
    const double share = weights[static_cast<Eigen::Index>(k)] / s_.weight;
    const Eigen::VectorXd w = constants_.fits[k].solve * own.u, h = model_.restore_A * w;
    out.w += weights[static_cast<Eigen::Index>(k)] * w;
    out.g += share * constants_.fits[k].g;
    for (Eigen::Index t = 0; t < T1; ++t)
      out.form[static_cast<std::size_t>(t)] += share * constants_.fits[k].g.col(t) * h.transpose();
  }
  // Shrinkage removes the noise in the directions below the edge.
  const Eigen::MatrixXd& lost = model_.noise_directions;
  for (Eigen::MatrixXd& form : out.form) {
    form = ((form + form.transpose()) / 2.0).eval();
    if (lost.cols() > 0)
      form -= (lost * (lost.transpose() * form * lost) * lost.transpose()).eval();
  }
  return out;
}

mean_regression counterfactual_estimator::regression(const Eigen::VectorXd& pre) const {
  const row_features own = constants_.features(pre);
  const Eigen::VectorXd weights = constants_.evidence_weights(own.u);
  mean_regression out{constants_.basis, own.u, own.level, Eigen::MatrixXd::Zero(s_.pre, s_.T1()),
                      Eigen::MatrixXd::Zero(s_.pre, s_.pre)};
  for (std::size_t k = 0; k < constants_.fits.size(); ++k) {
    out.slopes += weights[static_cast<Eigen::Index>(k)] * constants_.fits[k].slopes;
    out.solve += weights[static_cast<Eigen::Index>(k)] * constants_.fits[k].solve;
  }
  return out;
}

void counterfactual_estimator::need_errors() const {
  if (!options_.errors) throw std::invalid_argument("a target's own round needs the errors");
}

Eigen::MatrixXd counterfactual_estimator::finished_covariance(const Eigen::VectorXd& post,
                                                              const Eigen::MatrixXd& covariance,
                                                              const row_features& own,
                                                              double noise) const {
  const Eigen::Index T1 = post.size();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(covariance);
  const Eigen::MatrixXd moved = spectrum.eigenvectors() *
                                spectrum.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
                                fixed_normals(T1);
  const double flat = constants_.flat_of(own);
  const Eigen::VectorXd centre =
      ((post.array() - flat) * kept_of_path(post.array() - flat, noise) + flat).matrix();
  Eigen::MatrixXd paths(T1, moved.cols());
  Eigen::VectorXd path(T1);
  for (Eigen::Index k = 0; k < moved.cols(); ++k) {
    path = centre + moved.col(k);
    constants_.finish(path, own, noise);
    paths.col(k) = path;
  }
  paths.colwise() -= paths.rowwise().mean().eval();
  return paths * paths.transpose() / static_cast<double>(paths.cols());
}

void counterfactual_estimator::cap(Eigen::MatrixXd& covariance) const {
  const Eigen::VectorXd half = options_.half.tail(covariance.rows());
  Eigen::VectorXd factor(covariance.rows());
  for (Eigen::Index t = 0; t < factor.size(); ++t) {
    const double ratio = half[t] / std::sqrt(covariance(t, t));
    factor[t] = ratio < 1.0 ? ratio : 1.0;
  }
  covariance = factor.asDiagonal() * covariance * factor.asDiagonal();
}

Eigen::MatrixXd counterfactual_estimator::second_order(const prediction_fit& fit,
                                                       const Eigen::VectorXd& h) const {
  const Eigen::MatrixXd inverse = fit.whitened_solve * model_.restore_A.transpose();
  const double half = model_.moment_sd * model_.moment_sd / 2.0;
  const double penalty = std::isfinite(fit.penalty) ? fit.penalty : 0.0;
  const double size = half * half * h.squaredNorm() * inverse.squaredNorm() +
                      half * penalty * penalty * (inverse * h).squaredNorm();
  return size * (fit.g.transpose() * fit.g);
}

void counterfactual_estimator::add_fit(double penalty, double log_prior,
                                       const Eigen::MatrixXd& solve, double log_det,
                                       const Eigen::MatrixXd& slopes, const Eigen::MatrixXd& lift) {
  Eigen::VectorXd rest = -lift.row(0).transpose();
  rest[0] += 1.0;
  prediction_fit fit;
  fit.penalty = penalty;
  fit.log_prior = log_prior;
  fit.log_det = log_det;
  fit.solve = solve;
  fit.slopes = slopes;
  fit.lift = lift;
  fit.rest = std::move(rest);
  if (options_.errors) add_errors(fit);
  constants_.fits.push_back(std::move(fit));
}

void counterfactual_estimator::add_errors(prediction_fit& fit) const {
  fit.g = residual_directions(model_, fit.slopes);
  fit.prediction = residual_covariance(model_, fit.g);
  fit.whitened_solve = model_.restore_A * fit.solve;
  const Eigen::MatrixXd& lost = model_.noise_directions;
  const Eigen::MatrixXd g = fit.g * forms_, lost_g = lost.transpose() * g,
                        lost_solve = lost.transpose() * fit.whitened_solve;
  fit.along.resize(s_.T1() + 2 * forms_.cols(), s_.pre);
  fit.along << fit.slopes.transpose(), g.transpose() * fit.whitened_solve,
      lost_g.transpose() * lost_solve;
  fit.length = fit.whitened_solve.transpose() * fit.whitened_solve;
  fit.lost = lost_solve.transpose() * lost_solve;
  fit.g2 = g.colwise().squaredNorm().transpose();
  fit.lost2 = lost_g.colwise().squaredNorm().transpose();
  fit.prediction_of = (forms_.transpose() * fit.prediction * forms_).diagonal().cwiseMax(0.0) +
                      square(model_.mean_sd) * fit.g2;
}

void counterfactual_estimator::add_ridge(double penalty, double log_prior,
                                         const Eigen::MatrixXd& shape) {
  column_prediction at = predict_columns(model_, penalty, shape);
  const Eigen::MatrixXd lift = model_.covariance.topLeftCorner(s_.pre, s_.pre) * at.solve;
  // Ridge regression that shrinks towards the level's prior change instead of no change.
  if (constants_.level.change != 0.0) {
    const Eigen::VectorXd kept = -at.solve * model_.covariance.col(0).head(s_.pre);
    at.slopes.colwise() += constants_.level.change * kept;
    at.slopes.row(0).array() += constants_.level.change;
  }
  add_fit(penalty, log_prior, at.solve, at.log_det, at.slopes, lift);
}

void counterfactual_estimator::add_mean() {
  const Eigen::Index p = s_.pre, T1 = s_.T1();
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(p, T1), lift = Eigen::MatrixXd::Zero(p, p);
  if (!s_.demean) {
    const Eigen::MatrixXd before = constants_.basis.topRows(s_.periods_before());
    // The target's level is its mean gap to the donors over the pre-period.
    const Eigen::VectorXd level =
        basis_gram_.solve(before.colwise().sum().transpose()) / static_cast<double>(before.rows());
    slopes = s_.weight * level.replicate(1, T1);
    lift = before.colwise().sum().transpose() * level.transpose();
  }
  add_fit(std::numeric_limits<double>::infinity(), 0.0, Eigen::MatrixXd::Zero(p, p), 0.0, slopes,
          lift);
}

void counterfactual_estimator::prepare() {
  basis_gram_ = ldlt(constants_.basis.transpose() * constants_.basis);
  if (options_.kind == estimator_kind::did) {
    add_mean();
  } else if (!std::isnan(options_.penalty)) {
    // The penalty applies to rows; features are linear in the row.
    add_ridge(options_.penalty, 0.0, constants_.basis.transpose() * constants_.basis);
  } else {
    const Eigen::MatrixXd shape = model_.restore_A.transpose() * model_.restore_A;
    for (const weighted_penalty& at : evidence_penalties(model_.edge))
      add_ridge(at.penalty, at.log_prior, shape);
  }
}

void counterfactual_estimator::prepare_variation() {
  const Eigen::Index p = s_.pre;
  constants_.flat = constants_.basis.topRows(s_.periods_before()).colwise().sum().transpose();
  const double norm = constants_.flat.norm();
  constants_.flat = norm > 1e-9 * std::sqrt(static_cast<double>(s_.periods_before()))
                        ? Eigen::VectorXd(constants_.flat / norm)
                        : Eigen::VectorXd::Zero(p);
  const Eigen::VectorXd mean = s_.mean.head(p);
  const Eigen::MatrixXd second = mean * mean.transpose() + model_.covariance.topLeftCorner(p, p);
  const double typical = second.trace() - constants_.flat.dot(second * constants_.flat);
  const double flat_noise = (model_.restore_A * constants_.flat).squaredNorm();
  const double noise = model_.moment_sd * (model_.restore_A.squaredNorm() - flat_noise);
  constants_.typical_variation = std::max({typical, noise, 1e-12});
  const double levels =
      constants_.flat.dot(model_.covariance.topLeftCorner(p, p) * constants_.flat);
  level_variance_ = std::max({levels, model_.moment_sd * flat_noise, 1e-12});
}

}  // namespace dpsc
