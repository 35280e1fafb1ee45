// Bodies of predict_columns.hpp.
#pragma once

#include "predict_columns.hpp"

#include "../linalg.hpp"

namespace dpsc {

column_prediction predict_columns(const moments_model& model, double penalty,
                                  const Eigen::MatrixXd& shape) {
  const Eigen::Index p = model.pre();
  const Eigen::LLT<Eigen::MatrixXd> root =
      llt(model.covariance.topLeftCorner(p, p) + penalty * shape);
  if (root.info() != Eigen::Success)
    throw std::runtime_error("the penalised moments are singular: use a larger penalty");
  return {root.matrixLLT().diagonal().array().abs().log().sum(),
          root.solve(Eigen::MatrixXd::Identity(p, p)),
          root.solve(model.covariance.topRightCorner(p, model.post()))};
}

Eigen::MatrixXd residual_directions(const moments_model& model, const Eigen::MatrixXd& slopes) {
  return model.restore_B - model.restore_A * slopes;
}

Eigen::MatrixXd residual_covariance(const moments_model& model, const Eigen::MatrixXd& g) {
  Eigen::MatrixXd out = g.transpose() * model.whitened * g;
  if (model.moment_sd > 0.0) out = positive_part(out);
  return out;
}

Eigen::MatrixXd privacy_covariance(const moments_model& model, const Eigen::MatrixXd& g,
                                   const Eigen::VectorXd& h) {
  const auto moved = [](const Eigen::MatrixXd& g, const Eigen::VectorXd& h) {
    const Eigen::VectorXd gh = g.transpose() * h;
    return Eigen::MatrixXd(g.transpose() * g * h.squaredNorm() + gh * gh.transpose());
  };
  Eigen::MatrixXd stays = moved(g, h);
  if (model.noise_directions.cols() > 0)
    stays -= moved(model.noise_directions.transpose() * g, model.noise_directions.transpose() * h);
  return model.moment_sd * model.moment_sd / 2.0 * stays +
         model.mean_sd * model.mean_sd * g.transpose() * g;
}

std::vector<weighted_penalty> evidence_penalties(double edge) {
  std::vector<weighted_penalty> out;
  for (int step = -10; step <= 10; ++step) {
    const double octave = step / 2.0;
    const double away = octave - std::log2(0.8);
    out.push_back({edge / 2.0 * std::pow(2.0, octave), -away * away / 2.0});
  }
  return out;
}

validated_penalties validate_penalties(const Eigen::MatrixXd& covariance, Eigen::Index p,
                                       double n) {
  const Eigen::Index T1 = covariance.cols() - p;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> spectrum =
      eigh(covariance.topLeftCorner(p, p));
  const Eigen::ArrayXd l = spectrum.eigenvalues().array().max(0.0);
  Eigen::ArrayXd cross = Eigen::ArrayXd::Zero(p);
  if (T1 > 0)
    cross = (spectrum.eigenvectors().transpose() * covariance.topRightCorner(p, T1))
                .rowwise()
                .squaredNorm()
                .array();
  const double total = covariance.bottomRightCorner(T1, T1).trace();
  const double top = spectrum.eigenvalues()[p - 1];
  validated_penalties out;
  double least = std::numeric_limits<double>::infinity();
  for (int step = -40; step <= 8; ++step) {
    const double penalty = top * std::pow(10.0, step / 4.0);
    const double freedom = (l / (l + penalty)).sum() + 1.0;
    const double error = total - (cross * (l + 2.0 * penalty) / (l + penalty).square()).sum();
    const double rest = 1.0 - freedom / n;
    const double score =
        freedom >= n - 1.0 ? std::numeric_limits<double>::infinity() : error / (rest * rest);
    if (score < least) {
      least = score;
      out.best = out.penalty.size();
    }
    out.penalty.push_back(penalty);
  }
  return out;
}

}  // namespace dpsc
