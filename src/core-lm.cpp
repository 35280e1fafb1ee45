// Bodies of the core: linear regression, except its passes over rows (core-classical.cpp).
#include <dpsc/estimate/anderson_rubin.cpp>
#include <dpsc/estimate/described.cpp>
#include <dpsc/estimate/penalised.cpp>
#include <dpsc/estimate/pooled.cpp>
#include <dpsc/estimate/sandwich.cpp>
#include <dpsc/estimate/tails.cpp>
#include <dpsc/mechanism/describe_plan.cpp>
#include <dpsc/mechanism/regression_rounds.cpp>
#include <dpsc/mechanism/regression_scores.cpp>
#include <dpsc/mechanism/round_points.cpp>
#include <dpsc/mechanism/whitening.cpp>
#include <dpsc/release/lm_raw.cpp>
#include <dpsc/release/lm_release.cpp>
