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
  basis_ = s.loadings.topLeftCorner(s.T0(), s.pre);
  // A penalty that the user fixed draws to no change.
  if (options.kind == estimator_kind::ridge && std::isnan(options.penalty) && has_level_feature(s))
    level_ = make_level_prior(s);
  prepare();
  prepare_variation();
}

target_direction counterfactual_estimator::direction(const Eigen::VectorXd& pre) const {
  need_errors();
  const features own = features_of(pre);
  const Eigen::VectorXd weights = evidence_weights(own.u);
  const Eigen::Index p = s_.pre;
  target_direction out;
  out.slopes = Eigen::MatrixXd::Zero(p, s_.T1());
  out.h = Eigen::VectorXd::Zero(p);
  for (std::size_t k = 0; k < fits_.size(); ++k) {
    const double share = weights[static_cast<Eigen::Index>(k)];
    out.slopes += share * fits_[k].slopes;
    out.h += share * (fits_[k].solve * own.u);
    out.residual += share * fits_[k].prediction.trace();
  }
  out.leverage = std::max(0.0, out.h.dot(model_.covariance.topLeftCorner(p, p) * out.h));
  out.residual = std::max(out.residual, 0.5 * model_.moment_sd * model_.restore_B.squaredNorm());
  return out;
}

target_estimate counterfactual_estimator::target(const Eigen::VectorXd& pre,
                                                 const target_correction* correction) const {
  if (correction) need_errors();
  const Eigen::Index T0 = s_.T0(), T1 = s_.T1(), p = s_.pre;
  const features own = features_of(pre);
  const Eigen::VectorXd weights = evidence_weights(own.u);
  Eigen::VectorXd fitted = Eigen::VectorXd::Zero(s_.mean.size());
  double far = 0.0;  // squared distance, over the donors'
  target_estimate out;
  out.prediction = out.privacy = Eigen::MatrixXd::Zero(T1, T1);
  Eigen::MatrixXd second = out.privacy;
  double doubt = 0.0;
  Eigen::MatrixXd posts(T1, static_cast<Eigen::Index>(fits_.size()));
  for (std::size_t k = 0; k < fits_.size(); ++k) {
    const prepared& fit = fits_[k];
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
  // How far penalties that the evidence cannot tell apart disagree: no noise of a release.
  out.disagreement = Eigen::MatrixXd::Zero(T1, T1);
  for (Eigen::Index k = 0; k < posts.cols(); ++k) {
    const Eigen::VectorXd apart = posts.col(k) - fitted.tail(T1);
    out.disagreement += weights[k] * apart * apart.transpose();
  }
  // What the level's return may differ from its prior by, as far as the moments did not decide.
  out.disagreement.array() += square(level_.doubt) * doubt;
  if (options_.is_private)
    out.disagreement.diagonal().array() += far_doubt * std::max(0.0, far - far_target) *
                                           out.prediction.trace() / static_cast<double>(T1);
  out.path.resize(T0 + T1);
  out.path.head(T0) = basis_ * basis_gram_.solve(fitted.head(p));
  if (s_.demean) {
    // The level is the target's own, also where it is a feature.
    auto before = out.path.head(s_.periods_before());
    before.array() += own.level - before.mean();
  }
  const double w2 = s_.weight * s_.weight;
  out.prediction /= w2;
  out.privacy /= w2;
  out.disagreement /= w2;
  Eigen::VectorXd post = fitted.tail(T1) / s_.weight;
  double noise = mean_noise();
  out.released = gram_inflation * out.privacy;
  if (correction) {
    // Weighed by what each is worth. What the correction leaves is of second order. Where
    // features are many for the noise its estimate runs away: three times what there was before,
    // at most.
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
    // As without a correction, a path is drawn to its own level by the noise of means alone.
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
  finish(post, own, noise);
  out.path.tail(T1) = post;
  out.variation = own.variation;
  return out;
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
  const Eigen::VectorXd u = features_of(pre).u;
  // The level is the first feature.
  const double rest = u.dot(ldlt(variance).solve(u)) - square(u[0]) / variance(0, 0);
  return std::max(0.0, rest) / static_cast<double>(p - 1);
}

void counterfactual_estimator::row(const Eigen::VectorXd& pre, row_estimate& out) const {
  const Eigen::Index T1 = s_.T1(), forms = T1 + 1;
  const features own = features_of(pre);
  const Eigen::VectorXd weights = evidence_weights(own.u);
  const double w2 = s_.weight * s_.weight;
  Eigen::VectorXd post = Eigen::VectorXd::Zero(T1);
  Eigen::MatrixXd posts(T1, static_cast<Eigen::Index>(fits_.size()));
  out.variance = Eigen::VectorXd::Zero(forms);
  for (std::size_t k = 0; k < fits_.size(); ++k) {
    const prepared& fit = fits_[k];
    const auto at = static_cast<Eigen::Index>(k);
    posts.col(at).noalias() = s_.mean.tail(T1) + fit.slopes.transpose() * own.u;
    post += weights[at] * posts.col(at);
    const Eigen::VectorXd h = fit.whitened_solve * own.u;
    const double h2 = h.squaredNorm();
    const Eigen::VectorXd gh = fit.g_forms.transpose() * h;
    double lost_h2 = 0.0;
    Eigen::VectorXd lost_gh = Eigen::VectorXd::Zero(forms);
    if (model_.noise_directions.cols() > 0) {  // Eigen's products of nothing read a null pointer
      const Eigen::VectorXd lost_h = model_.noise_directions.transpose() * h;
      lost_h2 = lost_h.squaredNorm();
      lost_gh = fit.lost_forms.transpose() * lost_h;
    }
    const double half_variance = model_.moment_sd * model_.moment_sd / 2.0;
    for (Eigen::Index j = 0; j < forms; ++j) {
      const double moved =
          fit.g2[j] * h2 + gh[j] * gh[j] - fit.lost2[j] * lost_h2 - lost_gh[j] * lost_gh[j];
      out.variance[j] += weights[at] * (fit.prediction_forms[j] + half_variance * moved +
                                        model_.mean_sd * model_.mean_sd * fit.g2[j]);
    }
  }
  for (Eigen::Index k = 0; k < posts.cols(); ++k) {
    const Eigen::VectorXd apart = posts.col(k) - post;
    const double mean = apart.mean();
    out.variance[0] += weights[k] * mean * mean;
    out.variance.tail(T1) += weights[k] * apart.cwiseAbs2();
  }
  out.variance /= w2;
  out.post = post / s_.weight;
  finish(out.post, own, mean_noise());
  if (options_.is_private) {
    const Eigen::VectorXd half = options_.half.tail(T1);
    out.variance[0] = std::min(out.variance[0], 2.0 * half.mean() * half.mean());
    out.variance.tail(T1) = out.variance.tail(T1).cwiseMin(2.0 * half.cwiseAbs2());
  }
  out.variation = own.variation;
}

linear_error counterfactual_estimator::linear(const Eigen::VectorXd& pre) const {
  const features own = features_of(pre);
  const Eigen::VectorXd weights = evidence_weights(own.u);
  const Eigen::Index d = s_.mean.size(), T1 = s_.T1();
  linear_error out{std::vector<Eigen::MatrixXd>(T1, Eigen::MatrixXd::Zero(d, d)),
                   Eigen::MatrixXd::Zero(d, T1), Eigen::VectorXd::Zero(s_.pre)};
  for (std::size_t k = 0; k < fits_.size(); ++k) {
    const double share = weights[static_cast<Eigen::Index>(k)] / s_.weight;
    const Eigen::VectorXd w = fits_[k].solve * own.u, h = model_.restore_A * w;
    out.w += weights[static_cast<Eigen::Index>(k)] * w;
    out.g += share * fits_[k].g;
    for (Eigen::Index t = 0; t < T1; ++t)
      out.form[static_cast<std::size_t>(t)] += share * fits_[k].g.col(t) * h.transpose();
  }
  // Shrinkage takes away the noise within the directions below the edge.
  const Eigen::MatrixXd& lost = model_.noise_directions;
  for (Eigen::MatrixXd& form : out.form) {
    form = ((form + form.transpose()) / 2.0).eval();
    if (lost.cols() > 0)
      form -= (lost * (lost.transpose() * form * lost) * lost.transpose()).eval();
  }
  return out;
}

mean_regression counterfactual_estimator::regression(const Eigen::VectorXd& pre) const {
  const features own = features_of(pre);
  const Eigen::VectorXd weights = evidence_weights(own.u);
  mean_regression out{basis_, own.u, own.level, Eigen::MatrixXd::Zero(s_.pre, s_.T1()),
                      Eigen::MatrixXd::Zero(s_.pre, s_.pre)};
  for (std::size_t k = 0; k < fits_.size(); ++k) {
    out.slopes += weights[static_cast<Eigen::Index>(k)] * fits_[k].slopes;
    out.solve += weights[static_cast<Eigen::Index>(k)] * fits_[k].solve;
  }
  return out;
}

counterfactual_estimator::features counterfactual_estimator::features_of(
    const Eigen::VectorXd& pre) const {
  features out;
  out.mean = pre.head(s_.periods_before()).mean();
  out.level = s_.demean ? out.mean : 0.0;
  const Eigen::VectorXd x = basis_.transpose() * pre;
  const double along = flat_.dot(x);
  out.variation = std::max(0.0, x.squaredNorm() - along * along) / typical_variation_;
  out.u = x - s_.mean.head(s_.pre);
  return out;
}

Eigen::VectorXd counterfactual_estimator::evidence_weights(const Eigen::VectorXd& u) const {
  Eigen::VectorXd evidence(static_cast<Eigen::Index>(fits_.size()));
  const double power = (evidence_freedom + static_cast<double>(u.size())) / 2.0;
  for (std::size_t k = 0; k < fits_.size(); ++k)
    evidence[static_cast<Eigen::Index>(k)] =
        fits_[k].log_prior - fits_[k].log_det -
        power * std::log1p(u.dot(fits_[k].solve * u) / evidence_freedom);
  Eigen::VectorXd out = (evidence.array() - evidence.maxCoeff()).exp();
  return out / out.sum();
}

void counterfactual_estimator::need_errors() const {
  if (!options_.errors) throw std::invalid_argument("a target's own round needs the errors");
}

double counterfactual_estimator::mean_noise() const {
  return model_.mean_sd * model_.mean_sd * model_.restore_B.colwise().squaredNorm().mean() /
         (s_.weight * s_.weight);
}

double counterfactual_estimator::kept(const Eigen::VectorXd& about, double noise) {
  const double signal = std::min(
      std::max(0.0, about.squaredNorm() / static_cast<double>(about.size()) - noise), 0.25);
  return noise > 0.0 ? signal / (signal + noise) : 1.0;
}

double counterfactual_estimator::flat_of(const features& own) const {
  const double back = level_.change * own.u[0] / s_.weight;
  return own.mean - own.level + (level_.change != 0.0 ? back : 0.0);
}

void counterfactual_estimator::finish(Eigen::VectorXd& post, const features& own,
                                      double noise) const {
  if (options_.is_private) {
    const double flat = flat_of(own);
    post.array() -= flat;
    post *= kept(post, noise);
    post.array() += flat + own.level;
    const Eigen::VectorXd half = options_.half.tail(post.size());
    post = post.cwiseMin(half).cwiseMax(-half);
  } else {
    post.array() += own.level;
  }
}

Eigen::MatrixXd counterfactual_estimator::finished_covariance(const Eigen::VectorXd& post,
                                                              const Eigen::MatrixXd& covariance,
                                                              const features& own,
                                                              double noise) const {
  const Eigen::Index T1 = post.size();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(covariance);
  const Eigen::MatrixXd moved = spectrum.eigenvectors() *
                                spectrum.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal() *
                                fixed_normals(T1);
  const double flat = flat_of(own);
  const Eigen::VectorXd centre =
      ((post.array() - flat) * kept(post.array() - flat, noise) + flat).matrix();
  Eigen::MatrixXd paths(T1, moved.cols());
  Eigen::VectorXd path(T1);
  for (Eigen::Index k = 0; k < moved.cols(); ++k) {
    path = centre + moved.col(k);
    finish(path, own, noise);
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

Eigen::MatrixXd counterfactual_estimator::second_order(const prepared& fit,
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
  prepared fit{penalty, log_prior, log_det, solve, slopes, lift, rest, {},
               {},      {},        {},      {},    {},     {},   {}};
  if (options_.errors) add_errors(fit);
  fits_.push_back(std::move(fit));
}

void counterfactual_estimator::add_errors(prepared& fit) const {
  fit.g = residual_directions(model_, fit.slopes);
  fit.prediction = residual_covariance(model_, fit.g);
  fit.whitened_solve = model_.restore_A * fit.solve;
  fit.g_forms = fit.g * forms_;
  fit.lost_forms = model_.noise_directions.transpose() * fit.g_forms;
  fit.g2 = fit.g_forms.colwise().squaredNorm().transpose();
  fit.lost2 = fit.lost_forms.colwise().squaredNorm().transpose();
  fit.prediction_forms = (forms_.transpose() * fit.prediction * forms_).diagonal().cwiseMax(0.0);
}

void counterfactual_estimator::add_ridge(double penalty, double log_prior,
                                         const Eigen::MatrixXd& shape) {
  column_prediction at = predict_columns(model_, penalty, shape);
  const Eigen::MatrixXd lift = model_.covariance.topLeftCorner(s_.pre, s_.pre) * at.solve;
  // Ridge regression about the level's prior change instead of none.
  if (level_.change != 0.0) {
    const Eigen::VectorXd kept = -at.solve * model_.covariance.col(0).head(s_.pre);
    at.slopes.colwise() += level_.change * kept;
    at.slopes.row(0).array() += level_.change;
  }
  add_fit(penalty, log_prior, at.solve, at.log_det, at.slopes, lift);
}

void counterfactual_estimator::add_mean() {
  const Eigen::Index p = s_.pre, T1 = s_.T1();
  Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(p, T1), lift = Eigen::MatrixXd::Zero(p, p);
  if (!s_.demean) {
    const Eigen::MatrixXd before = basis_.topRows(s_.periods_before());
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
  basis_gram_ = ldlt(basis_.transpose() * basis_);
  if (options_.kind == estimator_kind::did) {
    add_mean();
  } else if (!std::isnan(options_.penalty)) {
    // The penalty is on rows; features are linear in the row.
    add_ridge(options_.penalty, 0.0, basis_.transpose() * basis_);
  } else {
    const Eigen::MatrixXd shape = model_.restore_A.transpose() * model_.restore_A;
    for (const weighted_penalty& at : evidence_penalties(model_.edge))
      add_ridge(at.penalty, at.log_prior, shape);
  }
}

void counterfactual_estimator::prepare_variation() {
  const Eigen::Index p = s_.pre;
  flat_ = basis_.topRows(s_.periods_before()).colwise().sum().transpose();
  const double norm = flat_.norm();
  flat_ = norm > 1e-9 * std::sqrt(static_cast<double>(s_.periods_before()))
              ? Eigen::VectorXd(flat_ / norm)
              : Eigen::VectorXd::Zero(p);
  const Eigen::VectorXd mean = s_.mean.head(p);
  const Eigen::MatrixXd second = mean * mean.transpose() + model_.covariance.topLeftCorner(p, p);
  const double typical = second.trace() - flat_.dot(second * flat_);
  const double noise = model_.moment_sd *
                       (model_.restore_A.squaredNorm() - (model_.restore_A * flat_).squaredNorm());
  typical_variation_ = std::max({typical, noise, 1e-12});
}

}  // namespace dpsc
