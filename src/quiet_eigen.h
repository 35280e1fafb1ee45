// Eigen's headers as system headers, for which compilers report no warnings: without this, every
// file prints hundreds of lines about attributes of vector types. Included first by Makevars.
#pragma GCC system_header
#include <Eigen/Dense>
