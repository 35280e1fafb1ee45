// Bodies of the core: releases from donors, by moments and by weights, and their solvers.
#include <dpsc/mechanism/calibration.cpp>
#include <dpsc/mechanism/location.cpp>
#include <dpsc/mechanism/moments.cpp>
#include <dpsc/mechanism/targeted.cpp>
#include <dpsc/mechanism/weights_constants.cpp>
#include <dpsc/mechanism/weights_sensitivity.cpp>
#include <dpsc/release/covariate_features.cpp>
#include <dpsc/release/gram_features.cpp>
#include <dpsc/release/gram_release.cpp>
#include <dpsc/release/simulate.cpp>
#include <dpsc/release/weights_release.cpp>
#include <dpsc/solver/capped_l1_qp.cpp>
#include <dpsc/solver/nearest_within.cpp>
#include <dpsc/solver/nested_v.cpp>
#include <dpsc/solver/ridge_logistic.cpp>
#include <dpsc/solver/simplex_batch.cpp>
#include <dpsc/solver/simplex_ls.cpp>
