// Included first by Makevars. Eigen's headers as system headers, for which compilers report no
// warnings: without this, every file prints hundreds of lines about attributes of vector types.
#pragma GCC system_header
// Where variables are in optimised code, for debuggers, takes a seventh of compiling.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-var-tracking")
#endif
#include "eigen_once.h"
