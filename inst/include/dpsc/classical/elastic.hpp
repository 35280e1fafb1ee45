// Elastic-net weights of donors (Doudchenko and Imbens, 2016, without an intercept):
//
//   |y - X'w|^2 + lambda (alpha |w|_1 + (1 - alpha) |w|^2),   signs free.
#pragma once

#include <dpsc/solver/simplex_ls.hpp>

namespace dpsc {

struct elastic_fit {
  Eigen::VectorXd weights;  ///< exact zeros
  double objective = 0.0;
  double kkt = 0.0;  ///< largest violation of the optimality conditions
};

/// Coordinate by coordinate. @param donors n x T0, one row per donor.
elastic_fit fit_elastic(const simplex_ls::matrix_ref& donors, const simplex_ls::vector_ref& target,
                        double lambda, double alpha, runtime host = {});

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "elastic.cpp"
#endif
