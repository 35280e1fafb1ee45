// Matrix completion as an estimator of one target's counterfactual: the last row of a matrix whose
// cells after treatment are missing. Its fitted values there are also a sum of donors with weights
// that sum to one, plus an intercept (the weights depend on the whole panel, not on the period):
// with H the shrinkage of rows, f_t = const + c_t + H_00 f_t + sum_i H_0i Y_it, c_t the mean of the
// column, itself (f_t + sum_i Y_it) / N.
#pragma once

#include <dpsc/classical/completion.hpp>

namespace dpsc {

struct mcnnm_fit {
  Eigen::VectorXd weights;         ///< implied for the periods after treatment, sum 1
  Eigen::VectorXd counterfactual;  ///< T; before treatment the fitted values
  double intercept = 0.0;
  double objective = 0.0, kkt = 0.0;
  Eigen::Index rank = 0;  ///< of L
};

/// The matrix of donors and, last, the target; its missing cells are those of the target's
/// `periods`.
inline matrix_completion target_completion(const matrix_completion::matrix_ref& donors,
                                           const Eigen::Ref<const Eigen::VectorXd>& target,
                                           const std::vector<Eigen::Index>& periods) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  if (target.size() != T) throw std::invalid_argument("donors and target do not fit together");
  Eigen::MatrixXd all(n + 1, T);
  all.topRows(n) = donors;
  all.row(n) = target.transpose();
  std::vector<Eigen::Index> cells;
  for (const Eigen::Index t : periods) cells.push_back(t * (n + 1) + n);
  return matrix_completion(all, std::move(cells));
}

/// The periods from T0 on, and of those before the ones of a fold, if there are folds.
inline std::vector<Eigen::Index> held_out(Eigen::Index T0, Eigen::Index T, Eigen::Index folds = 0,
                                          Eigen::Index fold = 0) {
  std::vector<Eigen::Index> out;
  for (Eigen::Index t = fold; folds > 0 && t < T0; t += folds) out.push_back(t);
  for (Eigen::Index t = T0; t < T; ++t) out.push_back(t);
  return out;
}

/// theta for the paper's lambda: half of it times the number of observed cells.
inline double completion_theta(double lambda, Eigen::Index rows, Eigen::Index T, Eigen::Index T0) {
  return 0.5 * lambda * static_cast<double>((rows - 1) * T + T0);
}

inline mcnnm_fit fit_mcnnm(const matrix_completion::matrix_ref& donors,
                           const Eigen::Ref<const Eigen::VectorXd>& target, Eigen::Index T0,
                           double lambda, runtime host = {}) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  matrix_completion problem = target_completion(donors, target, held_out(T0, T));
  problem.host = std::move(host);
  const completion_fit fit = problem.fit(completion_theta(lambda, n + 1, T, T0), {});
  mcnnm_fit out;
  out.counterfactual = fit.fitted.row(n).transpose();
  out.objective = fit.objective;
  out.kkt = fit.kkt;
  out.rank = fit.values.size();
  const double share = 1.0 / static_cast<double>(n + 1);
  out.weights = fit.shrink.row(n).head(n).transpose().array() + share;
  out.weights /= 1.0 - share - fit.shrink(n, n);
  if (T > T0)
    out.intercept =
        (out.counterfactual.tail(T - T0) - donors.rightCols(T - T0).transpose() * out.weights)
            .mean();
  return out;
}

struct mcnnm_errors {
  Eigen::VectorXd lambda;  ///< from the smallest that makes L zero, down
  Eigen::VectorXd error;   ///< mean squared error of held-out periods of the target
};

/// The target's periods before treatment, held out in at most twenty turns, every twentieth
/// together, for a path of penalties.
inline mcnnm_errors cross_validate_mcnnm(const matrix_completion::matrix_ref& donors,
                                         const Eigen::Ref<const Eigen::VectorXd>& target,
                                         Eigen::Index T0, int penalties, double smallest,
                                         runtime host = {}) {
  const Eigen::Index n = donors.rows(), T = donors.cols();
  if (T0 < 2 || penalties < 2 || !(smallest > 0.0 && smallest < 1.0))
    throw std::invalid_argument("cross-validation needs two periods and a path of penalties");
  const completion_settings rough{1e-4, 300};
  matrix_completion whole = target_completion(donors, target, held_out(T0, T));
  const double largest = whole.largest_theta({}) / completion_theta(1.0, n + 1, T, T0);
  mcnnm_errors out;
  out.lambda.resize(penalties);
  for (int j = 0; j < penalties; ++j)
    out.lambda[j] = largest * std::pow(smallest, static_cast<double>(j) / (penalties - 1));
  out.error.setZero(penalties);
  if (!(largest > 0.0)) return out;
  const Eigen::Index folds = std::min<Eigen::Index>(T0, 20);
  for (Eigen::Index fold = 0; fold < folds; ++fold) {
    matrix_completion problem = target_completion(donors, target, held_out(T0, T, folds, fold));
    problem.host = host;
    for (int j = 0; j < penalties; ++j) {
      const double theta = completion_theta(out.lambda[j], n + 1, T, T0);
      const Eigen::VectorXd fitted = problem.fit(theta, rough).fitted.row(n).transpose();
      for (Eigen::Index t = fold; t < T0; t += folds)
        out.error[j] += std::pow(target[t] - fitted[t], 2) / static_cast<double>(T0);
    }
  }
  return out;
}

}  // namespace dpsc
