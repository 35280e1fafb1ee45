// Included first by Makevars. It makes Eigen's headers system headers, for which compilers report
// no warnings: otherwise every file prints hundreds of lines about attributes of vector types.
#pragma GCC system_header
// Tracking variables in optimised code, for debuggers, takes a seventh of the time of compilation.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-var-tracking")
#endif
#include "eigen_once.h"
