// Columns predicted from released moments, for inference that refits a release over time.
#include <RcppEigen.h>

#include <dpsc/estimate/predict_columns.hpp>

#include "r_gram.h"

namespace {

using Rcpp::_;

std::vector<Eigen::Index> positions(const std::vector<int>& from_one) {
  std::vector<Eigen::Index> out;
  for (int at : from_one) out.push_back(at - 1);
  return out;
}

}  // namespace

// Features `to` from features `from` (positions, from 1) for a unit whose features minus the mean
// are `u`: one fit per penalty; without penalties, one at each of those that are averaged by
// evidence. The penalty is on features with equal noise (`whitened`), or on the features as they
// are.
// [[Rcpp::export(rng = false)]]
Rcpp::List predict_columns_cpp(const Rcpp::List& statistics, const std::vector<int>& from,
                               const std::vector<int>& to, const Eigen::VectorXd& u,
                               const std::vector<double>& penalties, bool whitened) {
  const dpsc::moments_model model(as_statistics(statistics), positions(from), positions(to));
  const Eigen::Index p = model.pre(), T1 = model.post();
  if (u.size() != p) throw std::invalid_argument("the unit does not fit the columns");
  const Eigen::MatrixXd shape = whitened
                                    ? Eigen::MatrixXd(model.restore_A.transpose() * model.restore_A)
                                    : Eigen::MatrixXd(Eigen::MatrixXd::Identity(p, p));
  std::vector<dpsc::weighted_penalty> grid;
  for (double penalty : penalties) grid.push_back({penalty, 0.0});
  if (grid.empty()) grid = dpsc::evidence_penalties(model.edge);
  Rcpp::List out;
  for (const dpsc::weighted_penalty& at : grid) {
    const dpsc::column_prediction fit = dpsc::predict_columns(model, at.penalty, shape);
    const Eigen::VectorXd w = fit.solve * u;
    Eigen::MatrixXd map(p, p + T1), prediction(0, 0), privacy(0, 0);
    map.leftCols(p) = fit.solve * model.covariance.topLeftCorner(p, p);
    if (T1 > 0) {
      map.rightCols(T1) = fit.slopes;
      const Eigen::MatrixXd g = dpsc::residual_directions(model, fit.slopes);
      prediction = dpsc::residual_covariance(model, g);
      privacy = dpsc::privacy_covariance(model, g, model.restore_A * w);
    }
    const Eigen::VectorXd fitted = model.mean + map.transpose() * u;
    out.push_back(Rcpp::List::create(_["fitted"] = Rcpp::wrap(fitted), _["map"] = map,
                                     _["prediction"] = prediction, _["privacy"] = privacy,
                                     _["penalty"] = at.penalty,
                                     _["evidence"] = at.log_prior - fit.log_det - u.dot(w) / 2.0));
  }
  return out;
}

// Without noise: candidate penalties, and the position (from 1) of the one that cross-validation
// selects.
// [[Rcpp::export(rng = false)]]
Rcpp::List validate_penalties_cpp(const Eigen::MatrixXd& covariance, int pre, double n) {
  const dpsc::validated_penalties found = dpsc::validate_penalties(covariance, pre, n);
  return Rcpp::List::create(_["penalty"] = found.penalty,
                            _["best"] = static_cast<int>(found.best) + 1);
}
