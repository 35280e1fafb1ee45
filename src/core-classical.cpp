// Bodies of the core: estimators without privacy.
#include <dpsc/classical/augmented.cpp>
#include <dpsc/classical/covariates.cpp>
#include <dpsc/classical/elastic.cpp>
#include <dpsc/classical/mcnnm.cpp>
#include <dpsc/classical/sdid.cpp>
