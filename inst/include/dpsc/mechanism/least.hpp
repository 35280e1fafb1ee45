// The minimum of a function of one number.
#pragma once

#include <cmath>
#include <limits>

namespace dpsc {

/// The minimiser of a function between two numbers, to `tolerance`: golden sections and parabolas
/// (Brent, 1973, chapter 5). Of several local minima it finds one.
template <typename Function>
double least_between(const Function& f, double low, double high, double tolerance) {
  const double golden = (3.0 - std::sqrt(5.0)) * 0.5;
  const double precision = std::sqrt(std::numeric_limits<double>::epsilon());
  double x = low + golden * (high - low), w = x, v = x;
  double fx = f(x), fw = fx, fv = fx;
  double step = 0.0, before = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const double middle = (low + high) * 0.5;
    const double near = precision * std::fabs(x) + tolerance / 3.0, reach = near * 2.0;
    if (std::fabs(x - middle) <= reach - (high - low) * 0.5) break;
    double p = 0.0, q = 0.0, r = 0.0;
    if (std::fabs(before) > near) {  // a parabola through the three best points
      r = (x - w) * (fx - fv);
      q = (x - v) * (fx - fw);
      p = (x - v) * q - (x - w) * r;
      q = (q - r) * 2.0;
      if (q > 0.0) p = -p;
      q = std::fabs(q);
      r = before;
      before = step;
    }
    if (std::fabs(p) >= std::fabs(q * 0.5 * r) || p <= q * (low - x) || p >= q * (high - x)) {
      before = x < middle ? high - x : low - x;
      step = golden * before;
    } else {
      step = p / q;
      const double there = x + step;
      if (there - low < reach || high - there < reach) step = x >= middle ? -near : near;
    }
    const double u = std::fabs(step) >= near ? x + step : step > 0.0 ? x + near : x - near;
    const double fu = f(u);
    if (fu <= fx) {
      (u < x ? high : low) = x;
      v = w, fv = fw;
      w = x, fw = fx;
      x = u, fx = fu;
    } else {
      (u < x ? low : high) = u;
      if (fu <= fw || w == x) {
        v = w, fv = fw;
        w = u, fw = fu;
      } else if (fu <= fv || v == x || v == w) {
        v = u, fv = fu;
      }
    }
  }
  return x;
}

}  // namespace dpsc
