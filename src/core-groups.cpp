// Bodies of the core: protected groups, several adoption dates, growing releases; other papers'
// mechanisms.
#include <dpsc/estimate/clipped.cpp>
#include <dpsc/estimate/cohorts.cpp>
#include <dpsc/estimate/growing.cpp>
#include <dpsc/estimate/period_law.cpp>
#include <dpsc/mechanism/cohort_calibration.cpp>
#include <dpsc/mechanism/one_period.cpp>
#include <dpsc/mechanism/papers.cpp>
#include <dpsc/mechanism/posterior.cpp>
#include <dpsc/release/cohorts_release.cpp>
#include <dpsc/release/far_people.cpp>
#include <dpsc/release/growing_release.cpp>
#include <dpsc/release/paper_release.cpp>
#include <dpsc/release/posterior_release.cpp>
#include <dpsc/release/treated_location.cpp>
#include <dpsc/release/treated_release.cpp>
#include <dpsc/release/treated_tail.cpp>
