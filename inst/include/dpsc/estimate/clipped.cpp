// Bodies of clipped.hpp.
#pragma once

#include "clipped.hpp"

namespace dpsc {

double clipped_second(double tau) {
  const double a = 1.0 / tau;
  const double density = std::exp(-a * a / 2.0) / std::sqrt(2.0 * 3.14159265358979323846);
  const double upper = 0.5 * std::erfc(a / std::sqrt(2.0));
  return tau * tau * (1.0 - 2.0 * upper - 2.0 * a * density) + 2.0 * upper;
}

double unclipped_variance(double second, double clip) {
  const double goal = second / (clip * clip);
  if (!(goal > 0.0)) return second;
  double low = 0.0, high = 1.5;
  for (int i = 0; i < 60; ++i) {
    const double mid = (low + high) / 2.0;
    (clipped_second(mid) < goal ? low : high) = mid;
  }
  return high * high * clip * clip;
}

double clip_slope(const lm_round& round) {
  const double variance = unclipped_variance(round.variance, round.clip);
  if (!(variance > 0.0)) return 1.0;
  return std::max(0.5, std::erf(round.clip / std::sqrt(2.0 * variance)));
}

double clipped_efficiency(const lm_round& last) {
  const double k = clip_slope(last), variance = unclipped_variance(last.variance, last.clip);
  return variance > 0.0 ? std::max(1.0, last.variance / variance / (k * k)) : 1.0;
}

}  // namespace dpsc
