// Zero-concentrated differential privacy and its conversion: Canonne, Kamath and Steinke (2020),
// Corollary 13, with the optimal order. All rounding is conservative for privacy.
#pragma once

#include <cmath>
#include <limits>
#include <stdexcept>

namespace dpsc {

/// log of the delta at which rho-zCDP implies (epsilon, delta)-DP:
/// inf over alpha > 1 of exp((alpha-1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1).
double log_cdp_delta(double rho, double epsilon);

/// Smallest epsilon such that rho-zCDP implies (epsilon, delta)-DP, rounded up.
double cdp_epsilon(double rho, double delta);

/// Largest rho such that rho-zCDP implies (epsilon, delta)-DP, rounded down.
double cdp_rho(double epsilon, double delta);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "zcdp.cpp"
#endif
