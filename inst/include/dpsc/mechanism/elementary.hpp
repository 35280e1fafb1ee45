// Elementary functions with proved error bounds, instead of a library's functions: the certificate
// of a private minimiser depends on them. Proof: inst/proofs/glm.md, section 4.
#pragma once

#include <cmath>

namespace dpsc {

/// exp(x), with relative error at most 2^-51 if it is a normal double; 0 below these.
double proven_exp(double x);

/// tanh(x), with error at most 2^-50.
double proven_tanh(double x);

/// log(x) for x >= 1, with error at most 2^-52 of itself plus 2^-49; stops if the library's error
/// is larger.
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
