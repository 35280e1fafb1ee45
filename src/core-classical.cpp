// Bodies of the core: estimators without privacy; the passes of regressions and descriptions over
// rows, which must be fast.
#include <dpsc/classical/augmented.cpp>
#include <dpsc/classical/covariates.cpp>
#include <dpsc/classical/elastic.cpp>
#include <dpsc/classical/mcnnm.cpp>
#include <dpsc/classical/sdid.cpp>
#include <dpsc/mechanism/regression_rows.cpp>
#include <dpsc/release/describe.cpp>
