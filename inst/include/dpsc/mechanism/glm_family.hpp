// Loss functions of private generalised linear models. Each has slopes within a public range and a
// curvature that vanishes at the ends of this range: therefore the determinant of objective
// perturbation costs nothing. Proof: inst/proofs/glm.md, section 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../accountant/spherical.hpp"
#include "elementary.hpp"

namespace dpsc {

enum class glm_kind { binomial, poisson, gaussian };

/// A loss l(t; y) of the linear predictor t. PUBLIC, except `span` of counts, which is RELEASED.
struct glm_family {
  glm_kind kind;
  /// Counts: the cap M of the outcome and of the mean. Gaussian: tau; larger residuals do not count
  /// in full.
  double span;
  /// Counts: the linear predictor of half the cap.
  double middle;

  /// Not explicit: clang refuses `family = {}` otherwise.
  glm_family() : glm_family(glm_kind::binomial) {}
  explicit glm_family(glm_kind of, double at = 1.0)
      : kind(of),
        span(at),
        middle(of == glm_kind::poisson && at >= 2.0 ? checked_log(at / 2.0) : 0.0) {}

  slope_kind slopes() const {
    return kind == glm_kind::gaussian ? slope_kind::symmetric : slope_kind::pairs;
  }

  /// Shifts of one record are at most this times |w xi|, in slope.
  double unit() const { return kind == glm_kind::binomial ? 1.0 : span; }

  /// c of the theorems is this times R^2 / Lambda.
  double bend() const {
    switch (kind) {
      case glm_kind::binomial:
        return 1.0;
      case glm_kind::poisson:
        return 2.0 * span;
      default:
        return 2.0;
    }
  }

  /// Largest curvature.
  double steepest() const {
    switch (kind) {
      case glm_kind::binomial:
        return 0.25;
      case glm_kind::poisson:
        return span / 2.0;
      default:
        return 1.0;
    }
  }

  /// The outcome for the loss, from the outcome in the table: within the range of the proof.
  double outcome(double y) const {
    switch (kind) {
      case glm_kind::binomial:
        return std::min(1.0, std::max(0.0, y));
      case glm_kind::poisson:
        return std::min(span, std::max(0.0, y));
      default:
        return y;
    }
  }

  /// l(t; y), up to a constant in t.
  double loss(double t, double y) const {
    switch (kind) {
      case glm_kind::binomial:
        return std::max(t, 0.0) + std::log1p(std::exp(-std::fabs(t))) - y * t;
      case glm_kind::poisson:
        if (t <= middle) return std::exp(t) - y * t;
        return span / 2.0 * std::exp(middle - t) + span * (t - middle) - y * t;
      default: {
        const double r = std::fabs(y - t) / span;
        return span * span * (r + std::log1p(std::exp(-2.0 * r)) - std::log(2.0));
      }
    }
  }

  /// dl/dt, by the library's functions or, in a certificate, by functions with proved errors.
  template <typename Functions = library_functions>
  double slope(double t, double y) const {
    return kind == glm_kind::gaussian ? -span * Functions::tanh((y - t) / span)
                                      : mean<Functions>(t) - y;
  }

  /// d2l/dt2.
  double curvature(double t, double y) const {
    switch (kind) {
      case glm_kind::binomial: {
        const double e = std::exp(-std::fabs(t));
        return e / ((1.0 + e) * (1.0 + e));
      }
      case glm_kind::poisson: {
        const double m = mean(t);
        return std::min(m, span - m);
      }
      default: {
        const double h = std::tanh((y - t) / span);
        return (1.0 - h) * (1.0 + h);
      }
    }
  }

  template <typename Functions = library_functions>
  double mean(double t) const {
    switch (kind) {
      case glm_kind::binomial:
        return 1.0 / (1.0 + Functions::exp(-t));
      case glm_kind::poisson:
        // exp(t) up to half the cap; beyond, the gap to the cap shrinks as exp(-t).
        return t <= middle ? Functions::exp(t) : span - span / 2.0 * Functions::exp(middle - t);
      default:
        return t;
    }
  }

  /// Upper bound of l(0; y) - inf_t l(t; y) over all outcomes of at most `largest`.
  double start_gap(double largest) const {
    switch (kind) {
      case glm_kind::binomial:
        return std::log(2.0);
      case glm_kind::poisson:
        return std::max(1.0, 1.0 + span * std::log(span / 2.0));
      default:
        return span * largest;
    }
  }

  /// Upper bound of curvature times |t|: the effect of rounding t on a slope, relative to u. For
  /// counts twice this bound, since the middle of their range is rounded, too.
  double rounding_reach(double largest) const {
    switch (kind) {
      case glm_kind::binomial:
        return 0.25;
      case glm_kind::poisson:
        return span * std::max(1.0, 1.0 + std::log(span / 2.0));
      default:
        return largest + span;
    }
  }

  void check() const {
    if (!(std::isfinite(span) && span > 0.0) || (kind == glm_kind::poisson && !(span >= 2.0)))
      throw std::invalid_argument("a family needs a positive span, and counts one of two at least");
  }
};

}  // namespace dpsc
