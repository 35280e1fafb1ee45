// Bodies of the core: method gram, of one target and of what is left out.
#include <dpsc/estimate/counterfactual.cpp>
#include <dpsc/estimate/fixed_normals.cpp>
#include <dpsc/estimate/leave_one_out.cpp>
#include <dpsc/estimate/level_prior.cpp>
#include <dpsc/estimate/moments_model.cpp>
#include <dpsc/estimate/predict_columns.cpp>
#include <dpsc/mechanism/calibration.cpp>
#include <dpsc/mechanism/location.cpp>
#include <dpsc/mechanism/moments.cpp>
#include <dpsc/mechanism/targeted.cpp>
#include <dpsc/release/covariate_features.cpp>
#include <dpsc/release/gram_features.cpp>
#include <dpsc/release/gram_release.cpp>
