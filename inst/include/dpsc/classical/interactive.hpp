// Interactive fixed effects with covariates (Bai, 2009; Xu, 2017): of the donors' panels
//
//   min over slopes, effects and factors  sum_it (Y_it - x_it' beta - effects - u_i' f_t)^2,
//
// then the target as in factor.hpp, on its outcome less x'beta. For given slopes the factors are
// singular vectors. The update of the slopes regresses the residual on covariates with both factors
// and loadings projected out, a Gauss-Newton step on the remaining problem; if this does not
// descend, only the factors are projected out, which always does.
#pragma once

#include <dpsc/classical/factor.hpp>
#include <dpsc/runtime.hpp>

namespace dpsc {

struct interactive_settings {
  double tolerance = 1e-11;  ///< largest step, relative to the outcomes' deviation
  int iterations = 5000;
};

struct interactive_fit {
  factor_fit factors;
  Eigen::VectorXd slopes;  ///< beta
  double kkt = 0.0;        ///< largest correlation of a covariate and the residual
  int iterations = 0;
};

class interactive_effects {
 public:
  runtime host;

  /// @param donors n x T.
  /// @param target T.
  /// @param given n + 1 rows, the target last.
  interactive_effects(const Eigen::Ref<const Eigen::MatrixXd>& donors,
                      const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                      panel_covariates given, runtime place = {});

  interactive_fit fit(Eigen::Index rank);

  /// As `factor_model::cross_validate()`, with new slopes for each number of factors: at most
  /// `most` and at most the donors' rank.
  Eigen::VectorXd cross_validate(Eigen::Index most);

 private:
  Eigen::Index slopes_wanted() const { return given_.count(donors_.cols()); }

  factor_model model_of(const Eigen::VectorXd& beta, Eigen::Index most) const;

  Eigen::VectorXd own_path(const Eigen::VectorXd& beta) const;

  Eigen::MatrixXd less(const Eigen::VectorXd& beta) const;

  // Residuals from `rank` factors, and the factors.
  struct state {
    leading_parts parts;
    Eigen::MatrixXd left;
  };

  state at(const Eigen::VectorXd& beta, Eigen::Index rank);

  // Slopes of the residuals on the covariates, with the factors projected out, and the loadings too
  // if `both`.
  Eigen::VectorXd step(const state& now, bool both) const;

  interactive_fit slopes(Eigen::Index rank, const interactive_settings& settings = {});

  double correlation(const Eigen::MatrixXd& left) const;

  Eigen::MatrixXd donors_;
  Eigen::VectorXd target_;
  Eigen::Index T0_;
  panel_covariates given_;
  Eigen::MatrixXd outcomes_, columns_;  // residuals from effects: n x T; n T x p
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "interactive.cpp"
#endif
