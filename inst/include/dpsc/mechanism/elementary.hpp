// Elementary functions whose errors are proved and not a library's word: they enter the certificate
// of a private minimiser. Proof: inst/proofs/glm.md, section 4.
#pragma once

#include <cmath>

namespace dpsc {

/// exp(x), off by at most 2^-51 of itself where it is a normal double; 0 below those.
double proven_exp(double x);

/// tanh(x), off by at most 2^-50.
double proven_tanh(double x);

/// log(x) for x >= 1, off by at most 2^-52 of itself and 2^-49; an error where the library's is
/// farther off.
double checked_log(double x);

struct library_functions {
  static double exp(double x) { return std::exp(x); }
  static double tanh(double x) { return std::tanh(x); }
};

struct proven_functions {
  static double exp(double x) { return proven_exp(x); }
  static double tanh(double x) { return proven_tanh(x); }
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "elementary.cpp"
#endif
