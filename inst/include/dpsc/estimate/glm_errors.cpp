// Bodies of glm_errors.hpp.
#pragma once

#include "glm_errors.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../engine.hpp"
#include "../linalg.hpp"
#include "../noise/continuous.hpp"

namespace dpsc {

namespace glm_detail {

/// Reproducible bits that are not secret, for averages over public noise.
class public_engine {
 public:
  std::uint64_t bits() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_ = 20;
};

/// Variance of the score over the information, and the information per row, for simulated
/// regressors with the released moments and for the model and weights of the fit.
struct surrogate {
  double ratio;
  Eigen::MatrixXd information;  // per row
  Eigen::MatrixXd weighted;     // E w xi xi', per row
  Eigen::MatrixXd score;        // covariance of the score, per row
};

/// Quantile that a standard normal exceeds with this probability, at most one half.
double upper_normal(double chance) {
  double low = 0.0, high = 40.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2.0;
    (std::erfc(middle / std::sqrt(2.0)) / 2.0 > chance ? low : high) = middle;
  }
  return low;
}

/// A normal row; columns with two values have the right shares and about the right correlations.
void draw_row(const rare_columns& rare, const Eigen::VectorXd& cut, const Eigen::MatrixXd& whiten,
              public_engine& engine, Eigen::VectorXd& xi) {
  xi[0] = 1.0;
  for (Eigen::Index j = 1; j < xi.size(); ++j) xi[j] = standard_normal(engine);
  if (!rare.any()) return;
  Eigen::VectorXd x = rare.back * xi.tail(cut.size());
  for (Eigen::Index k = 0; k < cut.size(); ++k) {
    if (!(rare.share[k] > 0.0)) continue;
    const double to = rare.rare[k] > rare.common[k] ? x[k] : -x[k];
    x[k] = (to > cut[k] ? rare.rare[k] : rare.common[k]) - rare.centre[k];
  }
  xi.tail(cut.size()) = whiten.transpose() * x;
}

surrogate draw_surrogate(const glm_facts_released& f) {
  public_engine engine;
  const Eigen::Index d = f.theta.size();
  const Eigen::VectorXd deviation = f.rare.back.rowwise().norm();
  Eigen::VectorXd cut = Eigen::VectorXd::Zero(d - 1);
  for (Eigen::Index k = 0; k + 1 < d; ++k)
    if (f.rare.share[k] > 0.0) cut[k] = deviation[k] * upper_normal(f.rare.share[k]);
  const Eigen::MatrixXd whiten = lu_inverse(f.rare.back).transpose();
  const int draws = f.rare.any() && d < 50 ? 20000 : 2000;
  const Eigen::MatrixXd zero = Eigen::MatrixXd::Zero(d, d);
  surrogate out{0.0, zero, zero, zero};
  double score = 0.0, information = 0.0;
  Eigen::VectorXd xi(d);
  for (int i = 0; i < draws; ++i) {
    draw_row(f.rare, cut, whiten, engine, xi);
    const double length = xi.squaredNorm(), w = f.weighting.of(length);
    const double t = xi.dot(f.theta);
    // Gaussian: curvature does not depend on the row under the model.
    const double k = f.family.kind == glm_kind::gaussian ? 1.0 : f.family.curvature(t, 0.0);
    score += w * w * k * length;
    information += w * k * length;
    out.information.selfadjointView<Eigen::Lower>().rankUpdate(xi, w * k / draws);
    out.weighted.selfadjointView<Eigen::Lower>().rankUpdate(xi, w / draws);
    out.score.selfadjointView<Eigen::Lower>().rankUpdate(xi, w * w * k / draws);
  }
  out.ratio = score / information;
  for (Eigen::MatrixXd* m : {&out.information, &out.weighted, &out.score})
    *m = Eigen::MatrixXd(m->selfadjointView<Eigen::Lower>());
  return out;
}

Eigen::MatrixXd symmetric_root(const Eigen::MatrixXd& x, double power) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(x);
  const Eigen::VectorXd values =
      spectrum.eigenvalues().array().max(1e-12 * spectrum.eigenvalues().maxCoeff()).pow(power);
  return spectrum.eigenvectors() * values.asDiagonal() * spectrum.eigenvectors().transpose();
}

/// The matrix S for which H^1/2 S H^1/2 is the covariance of the score, H the information matrix.
/// If no group is rare, one ratio suffices for all directions.
Eigen::MatrixXd score_shape(const glm_facts_released& f, const surrogate& model) {
  const Eigen::Index d = f.theta.size();
  if (!f.rare.any() || !(f.weighting.limit > row_limit(d) * (1.0 + 1e-9)))
    return model.ratio * Eigen::MatrixXd::Identity(d, d);
  const Eigen::MatrixXd root = symmetric_root(model.information, -0.5);
  return root * model.score * root;
}

/// Eigenvalues shrunk towards their mean by the noise's share of their variance, none below a share
/// of the mean.
Eigen::MatrixXd shrunk_information(const Eigen::MatrixXd& noisy, double sd, double least,
                                   double share) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum = eigh(noisy);
  const Eigen::ArrayXd values = spectrum.eigenvalues();
  const double d = static_cast<double>(values.size());
  const double middle = std::max(values.mean(), least);
  const double spread = (values - middle).square().mean();
  const double noise = sd * sd * (d + 1.0) / 2.0;
  const double keep = spread > 0.0 ? std::sqrt(std::max(0.0, 1.0 - noise / spread)) : 1.0;
  const Eigen::VectorXd shrunk = (middle + keep * (values - middle)).max(share * middle);
  return spectrum.eigenvectors() * shrunk.asDiagonal() * spectrum.eigenvectors().transpose();
}

Eigen::MatrixXd shrink_information(const Eigen::MatrixXd& noisy, double sd, double least) {
  return shrunk_information(noisy, sd, least, 0.02);
}

weak_basis weak_coefficients(const glm_facts_released& f) {
  const Eigen::Index d = f.theta.size(), p = d - 1;
  const Eigen::MatrixXd whiten = lu_inverse(f.rare.back).transpose();
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(d, p);
  std::vector<double> curvature;
  for (Eigen::Index j = 0; j < p; ++j) {
    rows.col(j).tail(p) = whiten.row(j).transpose().normalized();
    curvature.push_back(rows.col(j).dot(f.information * rows.col(j)));
  }
  const double from =
      weak_curvature * std::max(0.0, f.information.trace() / static_cast<double>(d));
  Eigen::MatrixXd weak(d, p);
  weak_basis out{Eigen::MatrixXd::Identity(d, d), 0};
  for (Eigen::Index j = 0; j < p; ++j)
    if (curvature[static_cast<std::size_t>(j)] < from) weak.col(out.count++) = rows.col(j);
  if (out.count > 0)
    out.Q = Eigen::HouseholderQR<Eigen::MatrixXd>(weak.leftCols(out.count)).householderQ();
  return out;
}

Eigen::MatrixXd parted_information(const Eigen::MatrixXd& noisy, double sd, double least,
                                   const weak_basis& weak) {
  const Eigen::Index d = noisy.rows(), k = weak.count, m = d - k;
  if (k == 0 || m == 0) return shrink_information(noisy, sd, least);
  Eigen::MatrixXd own = weak.Q.transpose() * noisy * weak.Q;
  const double middle =
      std::max(own.bottomRightCorner(m, m).trace() / static_cast<double>(m), least);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> small = eigh(own.topLeftCorner(k, k));
  own.topLeftCorner(k, k) = small.eigenvectors() *
                            small.eigenvalues().cwiseMax(0.02 * middle).asDiagonal() *
                            small.eigenvectors().transpose();
  own.bottomRightCorner(m, m) = shrink_information(own.bottomRightCorner(m, m), sd, least);
  const double noise = sd * sd / 2.0 * static_cast<double>(k * m);
  const double size = own.topRightCorner(k, m).squaredNorm();
  const double chance = 1.0 + 2.0 * std::sqrt(2.0 / static_cast<double>(k * m));
  const double keep = std::max(0.0, 1.0 - chance * noise / std::max(size, 1e-300));
  own.topRightCorner(k, m) *= keep;
  own.bottomLeftCorner(m, k) = own.topRightCorner(k, m).transpose().eval();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> whole = eigh(own);
  const Eigen::VectorXd values = whole.eigenvalues().cwiseMax(0.02 * middle);
  const Eigen::MatrixXd back = weak.Q * whole.eigenvectors();
  return back * values.asDiagonal() * back.transpose();
}

/// Correction of the ridge's shrinkage to second order, and none in directions in which only the
/// ridge has curvature.
Eigen::MatrixXd undo_shrinkage(const Eigen::MatrixXd& H, const Eigen::MatrixXd& A, double ridge) {
  const Eigen::MatrixXd kept = H * A, lost = ridge * A;
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(H.rows(), H.cols());
  return I + lost * kept * kept * kept * (I + 4.0 * lost);
}

/// The first-order correction of theta, for an information that is `scale` times the released one.
Eigen::VectorXd correction_of(const glm_facts_released& f, const Eigen::MatrixXd& H, double scale) {
  const Eigen::Index d = f.theta.size();
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(d, d);
  Eigen::MatrixXd whole = scale * H;
  if (f.penalty.size() > 0) whole += f.penalty;
  return (undo_shrinkage(whole, ldlt(whole + f.ridge * I).solve(I), f.ridge) - I) * f.theta;
}

/// What the whole correction of the shrinkage does to the curvature along itself, minus one.
/// Curvature follows the mean of a rare outcome, so that the information at the minimiser, which
/// the ridge draws towards zero, is too large (second order; simulated regressors with the released
/// moments).
double curvature_change(const glm_facts_released& f, const Eigen::VectorXd& correction) {
  if (f.family.kind == glm_kind::gaussian || f.penalty.size() > 0) return 0.0;
  constexpr int draws = 2000;
  constexpr double step = 1e-3, most = 0.6;
  public_engine engine;
  rare_columns normal = f.rare;
  normal.share.setZero();
  Eigen::VectorXd xi(f.theta.size());
  double third = 0.0, second = 0.0;
  for (int i = 0; i < draws; ++i) {
    draw_row(normal, Eigen::VectorXd(), Eigen::MatrixXd(), engine, xi);
    const double w = f.weighting.of(xi.squaredNorm()), t = xi.dot(f.theta);
    const double u = xi.dot(correction);
    const double below = f.family.curvature(t - step, 0.0);
    const double above = f.family.curvature(t + step, 0.0);
    third += w * (above - below) / (2.0 * step) * u * u * u;
    second += w * f.family.curvature(t, 0.0) * u * u;
  }
  return second > 0.0 ? std::min(most, std::max(-most, third / second)) : 0.0;
}

/// The covariance of the score from its own noisy second moments: a multiple of the information,
/// plus the part of the remainder that exceeds the noise. Weights with mean v in [0, 1] have second
/// moments of at least v^2 (Jensen), so the covariance is at least that share of the model's.
Eigen::MatrixXd score_covariance(const glm_facts_released& f, const Eigen::MatrixXd& H,
                                 double modelled) {
  const double d = static_cast<double>(H.rows());
  const double ratio = std::max(f.scores.trace() / H.trace(), modelled);
  const Eigen::MatrixXd beyond = f.scores - ratio * H;
  const double noise = f.scores_sd * f.scores_sd * d * (d + 1.0) / 2.0;
  const double keep = std::max(0.0, 1.0 - noise / std::max(beyond.squaredNorm(), 1e-300));
  const Eigen::MatrixXd root = symmetric_root(H, 0.5), back = symmetric_root(H, -0.5);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> shape =
      eigh(ratio * Eigen::MatrixXd::Identity(H.rows(), H.cols()) + keep * back * beyond * back);
  const Eigen::VectorXd values = shape.eigenvalues().array().max(0.1 * ratio);
  return root * shape.eigenvectors() * values.asDiagonal() * shape.eigenvectors().transpose() *
         root;
}

/// The sum of squared scores over the model's: the quasi-likelihood's dispersion, of at least one.
double dispersion_of(double squares, const Eigen::MatrixXd& H, const Eigen::MatrixXd& shape) {
  const Eigen::MatrixXd root = symmetric_root(H, 0.5);
  return std::max(1.0, squares / (root * shape * root).trace());
}

/// E min(Y, cap) of a negative binomial with this mean and this ratio of variance and mean.
double capped_mean(double mean, double dispersion, double cap) {
  const bool poisson = dispersion < 1.0 + 1e-6;
  const double size = poisson ? 0.0 : mean / (dispersion - 1.0);
  const double none = poisson ? mean : size * std::log(dispersion);
  if (!(none < 600.0)) return std::min(mean, cap);
  double chance = std::exp(-none), beyond = 1.0, out = 0.0;
  for (double k = 0.0; k < cap && beyond > 1e-13; k += 1.0) {
    beyond -= chance;
    out += std::min(1.0, cap - k) * std::max(0.0, beyond);
    chance *= poisson ? mean / (k + 1.0) : (k + size) / (k + 1.0) * (1.0 - 1.0 / dispersion);
  }
  return out;
}

/// What capped counts add to the score, for simulated regressors with the released moments and
/// negative binomial counts with the fit's means and dispersion.
Eigen::VectorXd capped_score(const glm_facts_released& f, double dispersion) {
  public_engine engine;
  const Eigen::Index d = f.theta.size();
  const int draws = 2000;
  Eigen::VectorXd xi(d), out = Eigen::VectorXd::Zero(d);
  rare_columns normal = f.rare;
  normal.share.setZero();
  // Large counts in a coarser unit: the sum over counts has at most this many terms.
  const double unit = std::max(1.0, f.family.span / 2000.0), cap = f.family.span / unit;
  for (int i = 0; i < draws; ++i) {
    draw_row(normal, Eigen::VectorXd(), Eigen::MatrixXd(), engine, xi);
    const double t = xi.dot(f.theta), mean = std::min(std::exp(t), f.family.span);
    const double kept = unit * capped_mean(mean / unit, std::max(1.0, dispersion / unit), cap);
    out += f.weighting.of(xi.squaredNorm()) * (kept - f.family.mean(t)) * xi;
  }
  return f.n / draws * out;
}

/// @param shape the map from the information to the covariance of the score; `scores` is that
///   covariance if it was released.
void add_parts(const glm_facts_released& f, const Eigen::MatrixXd& H, const Eigen::MatrixXd& shape,
               const Eigen::MatrixXd& scores, glm_covariance& out) {
  const Eigen::Index d = f.theta.size();
  const double dim = static_cast<double>(d);
  const Eigen::MatrixXd I = Eigen::MatrixXd::Identity(d, d);
  // A requested penalty adds curvature, as rows do, but no score: errors refer to the population's
  // penalised fit.
  const Eigen::MatrixXd whole = f.penalty.size() > 0 ? Eigen::MatrixXd(H + f.penalty) : H;
  const Eigen::MatrixXd A = ldlt(whole + f.ridge * I).solve(I);
  const Eigen::MatrixXd G = undo_shrinkage(whole, A, f.ridge), undo = G * A;
  const Eigen::MatrixXd left = I - undo * whole;
  const double middle = whole.trace() / dim;
  // Bias that the ridge may still hide: the worst case in which theta, with its apparent length in
  // the information's metric, lies entirely along the direction in question.
  const double size = std::max(1.0, f.theta.dot(whole * f.theta) / middle);
  const Eigen::MatrixXd hidden = size * middle * ldlt(whole).solve(I);
  out.privacy += glm_inflation * (dim + 1.0) * f.kappa * f.kappa * undo * undo.transpose() +
                 left * hidden * left.transpose();
  const Eigen::MatrixXd root = symmetric_root(H, 0.5);
  const Eigen::MatrixXd own = scores.size() > 0 ? scores : Eigen::MatrixXd(root * shape * root);
  out.sampling += undo * own * undo.transpose();
}

}  // namespace glm_detail

glm_covariance glm_errors(const glm_facts_released& f) {
  using namespace glm_detail;
  const Eigen::Index d = f.theta.size();
  const surrogate model = draw_surrogate(f);
  Eigen::MatrixXd expected = f.n * model.information;
  Eigen::MatrixXd score = score_shape(f, model);
  const bool released = f.information.size() > 0;
  if (f.family.kind == glm_kind::gaussian) {
    // (slope / tau)^2 = 1 - curvature: the mean curvature determines the score's variance.
    const double whole = f.n * model.weighted.trace();
    const double share = released ? f.information.trace() / whole : 0.5;
    const double k = std::min(0.99, std::max(0.05, share));
    score *= f.family.span * f.family.span * (1.0 - k) / k;
    expected = k * f.n * model.weighted;
  }
  const double least = 0.02 * expected.trace() / static_cast<double>(d);
  glm_covariance out{{}, Eigen::MatrixXd::Zero(d, d), Eigen::MatrixXd::Zero(d, d), {}};
  const weak_basis weak = released ? weak_coefficients(f) : weak_basis();
  const Eigen::MatrixXd found =
      released ? parted_information(f.information, f.information_sd, least, weak) : expected;
  out.theta = f.theta + correction_of(f, found, 1.0);
  const double change = curvature_change(f, out.theta - f.theta);
  // The curvature grows exponentially along the correction: its mean is (exp(a) - 1)/a times that
  // at the minimiser for a correction of a, and so a solves exp(a) = 1 + change.
  if (change != 0.0) out.theta = f.theta + correction_of(f, found, change / std::log1p(change));
  const double kept = std::min(1.0, 1.0 + change);
  const Eigen::MatrixXd H = kept * found;
  Eigen::MatrixXd scores;
  const double dispersion = f.scores.size() > 0 ? dispersion_of(f.scores.trace(), H, score) : 1.0;
  if (f.scores.size() == 1) {
    score *= dispersion;
  } else if (f.scores.size() > 0) {
    scores = score_covariance(f, H, f.weight * score.trace() / static_cast<double>(d));
  }
  if (!released) {
    add_parts(f, H, score, scores, out);
  } else {
    // Averages over redraws of the information's own noise.
    public_engine engine;
    for (int r = 0; r < information_redraws; ++r) {
      Eigen::MatrixXd noisy = f.information;
      for (Eigen::Index j = 0; j < d; ++j)
        for (Eigen::Index i = 0; i <= j; ++i) {
          const double e =
              f.information_sd * standard_normal(engine) / (i == j ? 1.0 : std::sqrt(2.0));
          noisy(i, j) += e;
          if (i != j) noisy(j, i) += e;
        }
      add_parts(f, kept * parted_information(noisy, std::sqrt(2.0) * f.information_sd, least, weak),
                score, scores, out);
    }
    out.privacy /= information_redraws;
    out.sampling /= information_redraws;
  }
  out.privacy.diagonal().array() += f.out_sd * f.out_sd;
  if (f.family.kind == glm_kind::poisson && f.scores.size() > 0) {
    const Eigen::VectorXd bias =
        ldlt(H + f.ridge * Eigen::MatrixXd::Identity(d, d)).solve(capped_score(f, dispersion));
    out.privacy += bias * bias.transpose();
  }
  const double doubt = released ? information_doubt * f.information_sd : 0.0;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(released ? shrunk_information(f.information, f.information_sd, least,
                                         -std::numeric_limits<double>::infinity())
                    : H);
  const Eigen::VectorXd low =
      (spectrum.eigenvalues().array() - doubt).max(1e-3 * f.ridge) + f.ridge;
  out.inverse = spectrum.eigenvectors() * low.cwiseInverse().asDiagonal() *
                spectrum.eigenvectors().transpose();
  return out;
}

}  // namespace dpsc
