// Included first by Makevars, in every unit. It makes Eigen's headers system headers, for which
// compilers report no warnings: otherwise every file prints hundreds of lines about attributes of
// vector types.
#pragma GCC system_header
// Tracking variables in optimised code, for debuggers, takes a seventh of the time of compilation.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-var-tracking")
#endif
// Rcpp without its vector expressions and modules, which the glue does not use: a third of the time
// and two fifths of the memory that its headers take in each unit of glue.
#define RCPP_NO_MODULES
#define RCPP_NO_SUGAR
#include "eigen_once.h"
