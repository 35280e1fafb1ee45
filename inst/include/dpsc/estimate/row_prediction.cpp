// Bodies of row_prediction.hpp.
#pragma once

#include "row_prediction.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dpsc {

row_features prediction_constants::features(const Eigen::VectorXd& pre) const {
  row_features out;
  out.mean = pre.head(before).mean();
  out.level = demean ? out.mean : 0.0;
  const Eigen::VectorXd x = basis.transpose() * pre;
  const double along = flat.dot(x);
  out.variation = std::max(0.0, x.squaredNorm() - along * along) / typical_variation;
  out.u = x - mean;
  return out;
}

Eigen::VectorXd prediction_constants::evidence_weights(const Eigen::VectorXd& u) const {
  Eigen::VectorXd squares(static_cast<Eigen::Index>(fits.size()));
  for (std::size_t k = 0; k < fits.size(); ++k)
    squares[static_cast<Eigen::Index>(k)] = u.dot(fits[k].solve * u);
  return evidence_weights(squares, u.size());
}

Eigen::VectorXd prediction_constants::evidence_weights(const Eigen::VectorXd& squares,
                                                       Eigen::Index features) const {
  Eigen::VectorXd evidence(squares.size());
  const double power = (evidence_freedom + static_cast<double>(features)) / 2.0;
  for (std::size_t k = 0; k < fits.size(); ++k) {
    const auto at = static_cast<Eigen::Index>(k);
    evidence[at] =
        fits[k].log_prior - fits[k].log_det - power * std::log1p(squares[at] / evidence_freedom);
  }
  const Eigen::VectorXd out = (evidence.array() - evidence.maxCoeff()).exp();
  return out / out.sum();
}

double kept_of_path(const Eigen::VectorXd& about, double noise) {
  const double signal = std::min(
      std::max(0.0, about.squaredNorm() / static_cast<double>(about.size()) - noise), 0.25);
  return noise > 0.0 ? signal / (signal + noise) : 1.0;
}

double prediction_constants::flat_of(const row_features& own) const {
  const double back = level.change * own.u[0] / weight;
  return own.mean - own.level + (level.change != 0.0 ? back : 0.0);
}

void prediction_constants::finish(Eigen::VectorXd& post, const row_features& own,
                                  double noise) const {
  if (!is_private) {
    post.array() += own.level;
    return;
  }
  const double flat_path = flat_of(own);
  post.array() -= flat_path;
  post *= kept_of_path(post, noise);
  post.array() += flat_path + own.level;
  post = post.cwiseMin(half).cwiseMax(-half);
}

namespace row_detail {

/// Sum of `of` over rows, lane by lane, in a fixed order: pairs of rows in two sums.
template <typename Of>
auto sum_of_rows(Eigen::Index rows, const Of& of) {
  Eigen::Array<double, 1, lanes> even = of(0), odd;
  if (rows == 1) return even;
  odd = of(1);
  const Eigen::Index pairs = rows / 2 * 2, fours = rows / 4 * 4;
  if (fours > 0) {
    Eigen::Array<double, 1, lanes> even2 = of(2), odd2 = of(3);
    for (Eigen::Index r = 4; r < fours; r += 4) {
      even += of(r);
      odd += of(r + 1);
      even2 += of(r + 2);
      odd2 += of(r + 3);
    }
    even += even2;
    odd += odd2;
    if (pairs > fours) {
      even += of(fours);
      odd += of(fours + 1);
    }
  }
  even += odd;
  if (rows > pairs) even += of(pairs);
  return even;
}

}  // namespace row_detail

row_predictor::row_predictor(const prediction_constants& c, bool wide) : c_(c), wide_(wide) {
  for (const prediction_fit& fit : c.fits) {
    fit_rows rows{fit.solve, row_major(2 * fit.length.rows() + fit.along.rows(), fit.along.cols())};
    rows.errors << fit.length, fit.lost, fit.along;
    fits_.push_back(std::move(rows));
  }
  const Eigen::Index T1 = c.after.size();
  posts_.assign(fits_.size(), side_by_side::Zero(T1, lanes));
  u_ = side_by_side::Zero(c.mean.size(), lanes);
  post_.resize(T1, lanes);
  variance_.resize(T1 + 1, lanes);
  weights_.resize(static_cast<Eigen::Index>(fits_.size()), lanes);
}

const row_predictor::side_by_side& row_predictor::times(const row_major& matrix,
                                                        const side_by_side& u) {
  product_.resize(matrix.rows(), lanes);
  multiply_lanes(matrix.data(), matrix.rows(), matrix.cols(), u.data(), product_.data(), wide_);
  return product_;
}

void row_predictor::add_fit(Eigen::Index k) {
  const prediction_fit& fit = c_.fits[static_cast<std::size_t>(k)];
  const Eigen::Index p = u_.rows(), T1 = post_.rows(), forms = T1 + 1;
  const lane_values weight = weights_.row(k);
  const side_by_side& found = times(fits_[static_cast<std::size_t>(k)].errors, u_);
  const auto square = [&](Eigen::Index from) {
    return row_detail::sum_of_rows(p, [&](Eigen::Index r) {
      return lane_values(u_.row(r).array() * found.row(from + r).array());
    });
  };
  const lane_values length = square(0), lost = square(p);
  side_by_side& posts = posts_[static_cast<std::size_t>(k)];
  // Short steps, which compilers vectorise.
  lane_values one;
  for (Eigen::Index t = 0; t < T1; ++t) {
    one = found.row(2 * p + t);
    one += c_.after[t];
    posts.row(t) = one;
    one *= weight;
    post_.row(t).array() += one;
  }
  for (Eigen::Index j = 0; j < forms; ++j) {
    one = length * fit.g2[j];
    one -= lost * fit.lost2[j];
    one += found.row(2 * p + T1 + j).array().square();
    one -= found.row(2 * p + T1 + forms + j).array().square();
    one *= c_.form_noise;
    one += fit.prediction_of[j];
    one *= weight;
    variance_.row(j).array() += one;
  }
}

void row_predictor::add_disagreement(Eigen::Index k) {
  const Eigen::Index T1 = post_.rows();
  const lane_values weight = weights_.row(k);
  side_by_side& apart = posts_[static_cast<std::size_t>(k)];
  apart -= post_;
  const lane_values mean =
      row_detail::sum_of_rows(T1, [&](Eigen::Index t) { return lane_values(apart.row(t)); }) /
      static_cast<double>(T1);
  variance_.row(0).array() += weight * mean * mean;
  lane_values one;
  for (Eigen::Index t = 0; t < T1; ++t) {
    one = apart.row(t).array().square();
    one *= weight;
    variance_.row(t + 1).array() += one;
  }
}

row_estimate row_predictor::finished(const row_features& own, Eigen::Index lane) const {
  row_estimate out;
  out.post = post_.col(lane) / c_.weight;
  out.variance = variance_.col(lane) / (c_.weight * c_.weight);
  c_.finish(out.post, own, c_.mean_noise);
  if (c_.is_private) {
    const Eigen::Index T1 = out.post.size();
    out.variance[0] = std::min(out.variance[0], 2.0 * c_.half.mean() * c_.half.mean());
    out.variance.tail(T1) = out.variance.tail(T1).cwiseMin(2.0 * c_.half.cwiseAbs2());
  }
  out.variation = own.variation;
  return out;
}

void row_predictor::predict(const Eigen::MatrixXd& pre, std::vector<row_estimate>& out) {
  const Eigen::Index p = u_.rows(), fits = weights_.rows();
  if (pre.cols() > lanes) throw std::invalid_argument("more rows than stand side by side");
  std::vector<row_features> own;
  u_.setZero();
  for (Eigen::Index l = 0; l < pre.cols(); ++l) {
    own.push_back(c_.features(pre.col(l)));
    u_.col(l) = own.back().u;
  }
  for (Eigen::Index k = 0; k < fits; ++k) {
    const side_by_side& found = times(fits_[static_cast<std::size_t>(k)].solve, u_);
    weights_.row(k) = row_detail::sum_of_rows(
        p, [&](Eigen::Index r) { return lane_values(u_.row(r).array() * found.row(r).array()); });
  }
  for (Eigen::Index l = 0; l < lanes; ++l) {
    const Eigen::VectorXd weights = c_.evidence_weights(Eigen::VectorXd(weights_.col(l)), p);
    weights_.col(l) = (weights.array() < least_evidence).select(0.0, weights);
  }
  post_.setZero();
  variance_.setZero();
  // NaN differs from zero, so a row with NaN keeps it.
  const auto counts = [&](Eigen::Index k) { return (weights_.row(k).array() != 0.0).any(); };
  for (Eigen::Index k = 0; k < fits; ++k)
    if (counts(k)) add_fit(k);
  for (Eigen::Index k = 0; k < fits; ++k)
    if (counts(k)) add_disagreement(k);
  for (Eigen::Index l = 0; l < pre.cols(); ++l)
    out.push_back(finished(own[static_cast<std::size_t>(l)], l));
}

}  // namespace dpsc
