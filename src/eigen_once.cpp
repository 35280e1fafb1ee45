// Eigen's kernels, once for all units.
#define DPSC_EIGEN template
#include "eigen_once.h"
