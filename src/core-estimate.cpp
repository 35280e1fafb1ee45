// Bodies of the core: counterfactuals from released moments.
#include <dpsc/estimate/counterfactual.cpp>
#include <dpsc/estimate/fixed_normals.cpp>
#include <dpsc/estimate/leave_one_out.cpp>
#include <dpsc/estimate/level_prior.cpp>
#include <dpsc/estimate/limited_translation.cpp>
#include <dpsc/estimate/moments_model.cpp>
#include <dpsc/estimate/predict_columns.cpp>
#include <dpsc/estimate/row_prediction.cpp>
#include <dpsc/estimate/stream_slopes.cpp>
