// Bodies of far_people.hpp.
#pragma once

#include "far_people.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace dpsc {

namespace far_detail {

constexpr double shrink = far_constants::spread * far_constants::spread /
                          (1.0 + far_constants::spread * far_constants::spread);

Eigen::MatrixXd far_places(Eigen::Index knots) {
  using far_constants::places;
  const auto each = static_cast<Eigen::Index>(std::size(places));
  Eigen::MatrixXd out = Eigen::MatrixXd::Zero(knots, (knots - 1) * each + 1);
  for (Eigen::Index k = 0; k + 1 < knots; ++k)
    for (Eigen::Index i = 0; i < each; ++i) {
      const treated_detail::unit_pair weights(places[i], 2.0);
      out(k, k * each + i) = weights.near;
      out(k + 1, k * each + i) = weights.far;
    }
  out(knots - 1, out.cols() - 1) = 1.0;
  return out;
}

double far_chance(double z, double prior) {
  const double square = far_constants::spread * far_constants::spread;
  const double odds =
      std::log(prior / (1.0 - prior)) - std::log1p(square) / 2.0 + shrink * z * z / 2.0;
  return 1.0 / (1.0 + std::exp(-odds));
}

/// Posterior mean and variance of noisy values that may be zero.
struct noisy_values {
  Eigen::ArrayXd mean, variance;

  noisy_values(const Eigen::ArrayXd& x, double sd) : mean(x.size()), variance(x.size()) {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const double there = far_chance(x[i] / sd, far_constants::doubted);
      const double value = shrink * x[i];
      mean[i] = there * value;
      variance[i] = there * shrink * sd * sd + there * (1.0 - there) * value * value;
    }
  }
};

/// The rounds' tails in weights on the last round's knots.
struct pooled_tail {
  Eigen::ArrayXd net, net_variance;
  Eigen::MatrixXd both;
  double both_variance = 0.0;

  explicit pooled_tail(const std::vector<weighted_tail>& rounds) {
    const Eigen::VectorXd& last = rounds.back().knots;
    net = net_variance = Eigen::ArrayXd::Zero(last.size());
    both = Eigen::MatrixXd::Zero(last.size(), last.size());
    for (const weighted_tail& round : rounds) {
      const Eigen::ArrayXd scaled = round.weight * round.knots.array() / last.array();
      net += scaled * round.tail.array();
      net_variance += (scaled * round.tail_sd).square();
      both += round.weight * round.both;
      both_variance += std::pow(round.weight * round.both_sd, 2.0);
    }
  }
};

}  // namespace far_detail

far_people::far_people(const std::vector<weighted_tail>& rounds, const weighted_tail& donors,
                       double calm)
    : knots(rounds.back().knots) {
  using namespace far_constants;
  using namespace far_detail;
  const Eigen::MatrixXd at = far_places(knots.size());
  const auto second = [&](const Eigen::MatrixXd& both) {
    return Eigen::ArrayXd((at.array() * (both * at).array()).colwise().sum());
  };
  const pooled_tail group(rounds);
  const noisy_values own(donors.tail.array(), donors.tail_sd);
  const noisy_values own_both(second(donors.both), donors.both_sd);
  share = (group.net - own.mean).matrix();
  const Eigen::ArrayXd noise = group.net_variance + own.variance;
  sd = noise.sqrt().matrix();
  const Eigen::ArrayXd v_net = (at.array().square().colwise() * noise).colwise().sum();
  const Eigen::ArrayXd v_both = group.both_variance + own_both.variance;
  const Eigen::ArrayXd net = (at.transpose() * share).array().abs();
  const Eigen::ArrayXd both = second(group.both) - own_both.mean;
  const Eigen::ArrayXd clear = (net / v_net + both / v_both) / (1.0 / v_net + 1.0 / v_both).sqrt();
  z = Eigen::VectorXd::Zero(knots.size());
  double doubt = 0.0, first = 0.0;
  for (Eigen::Index k = 0; k < knots.size(); ++k) {
    for (Eigen::Index i = 0; i < at.cols(); ++i)
      if (at(k, i) >= counts) z[k] = std::max(z[k], clear[i]);
    if (!(z[k] > (k == 0 ? first_gate : gate))) continue;
    const double x = knots[k] * share[k], v = knots[k] * knots[k] * noise[k];
    const double used = far_chance(z[k], std::min(0.5, prior * calm / v));
    const double there = far_chance(z[k], doubted);
    shift += used * x;
    variance += there * v;
    doubt +=
        std::sqrt(there * (1.0 - used) * (1.0 - used) + (1.0 - there) * used * used) * std::fabs(x);
    if (k == 0) first = others * there * x;
  }
  variance += doubt * doubt + first * first;
}

}  // namespace dpsc
