// Bodies of period_law.hpp.
#pragma once

#include "period_law.hpp"

namespace dpsc {

double moments_kept(const Eigen::VectorXd& spectrum, double radius) {
  constexpr Eigen::Index people = 512;
  fixed_normal next;
  Eigen::VectorXd lengths = Eigen::VectorXd::Zero(people);
  for (Eigen::Index i = 0; i < people; ++i)
    for (Eigen::Index j = 0; j < spectrum.size(); ++j) {
      const double z = next();
      lengths[i] += spectrum[j] * z * z;
    }
  // As a share of the rows' energy: it decreases in the assumed length of the rows.
  const double sum = spectrum.sum(), square = radius * radius;
  double low = std::log(0.05), high = 0.0;
  for (int k = 0; k < 30; ++k) {
    const double at = (low + high) / 2.0, longer = std::exp(-at);
    const double left = (lengths * longer).cwiseMin(square).mean();
    (left > sum ? low : high) = at;
  }
  return std::exp((low + high) / 2.0);
}

period_law::period_law(const Eigen::VectorXd& aim) : aim_(aim.normalized()) {
  const Eigen::Index k = aim.size() - 1;
  across_ = Eigen::VectorXd::Zero(k + 1);
  // One of the directions orthogonal to the aim.
  Eigen::Index least = 0;
  aim_.cwiseAbs().minCoeff(&least);
  across_[least] = 1.0;
  across_ -= aim_ * aim_[least];
  if (across_.norm() > 0.0) across_.normalize();
  fixed_normal next;
  people_.resize(people, 2 + k);
  for (Eigen::Index i = 0; i < people; ++i)
    for (Eigen::Index j = 0; j < 2 + k; ++j) people_(i, j) = next();
}

period_law::kept period_law::shifts(double radius, double variance) const {
  constexpr double step = 0.25;
  kept out{0.0, 0.0};
  for (Eigen::Index i = 0; i < people; ++i)
    for (double sign : {1.0, -1.0}) {
      period_detail::person_numbers z = numbers(i, variance, 1.0);
      const double own = sign * z[0];
      z[0] = own + step * along(z, aim_);
      out.aim += sum_along(z, radius, aim_);
      z[0] = own + step * along(z, across_);
      out.other += sum_along(z, radius, across_);
    }
  const double all = 2.0 * people * step;
  out.aim = std::max(0.05, out.aim / all);
  out.other = std::max(0.05, out.other / (all * period_constants::other));
  return out;
}

std::array<double, 2> period_law::seconds(double radius, double variance, double spread) const {
  using namespace period_constants;
  std::array<double, 2> out{0.0, 0.0};
  for (Eigen::Index i = 0; i < people; ++i) {
    const auto v = period_detail::vector_of(numbers(i, variance, spread), aim_);
    const double part = std::min(1.0, radius / v.norm());
    out[0] += part * v[parts - 3];
    out[1] += part * v[parts - 1];
  }
  out[0] /= people;
  out[1] /= people;
  return out;
}

period_detail::person_numbers period_law::numbers(Eigen::Index i, double variance,
                                                  double spread) const {
  period_detail::person_numbers out = period_detail::person_numbers::Zero();
  out.head(people_.cols()) = people_.row(i);
  out[0] *= std::sqrt(variance);
  if (people_.cols() > 2) out[2] *= std::sqrt(spread);
  return out;
}

double period_law::along(const period_detail::person_numbers& z,
                         const Eigen::VectorXd& direction) const {
  double out = direction[0];
  for (Eigen::Index j = 1; j < direction.size(); ++j) out += direction[j] * z[1 + j];
  return out;
}

double period_law::sum_along(const period_detail::person_numbers& z, double radius,
                             const Eigen::VectorXd& direction) const {
  const auto v = period_detail::vector_of(z, aim_);
  return std::min(1.0, radius / v.norm()) * v.head(direction.size()).dot(direction);
}

}  // namespace dpsc
