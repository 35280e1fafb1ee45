// Bodies of the core: weights of donors, and their solvers.
#include <dpsc/release/simulate.cpp>
#include <dpsc/release/weights_release.cpp>
#include <dpsc/solver/capped_l1_qp.cpp>
#include <dpsc/solver/nested_v.cpp>
#include <dpsc/solver/ridge_logistic.cpp>
#include <dpsc/solver/simplex_batch.cpp>
#include <dpsc/solver/simplex_ls.cpp>
