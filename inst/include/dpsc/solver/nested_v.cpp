// Bodies of nested_v.hpp.
#pragma once

#include "nested_v.hpp"

namespace dpsc {

nested_search::nested_search(const matrix_ref& predictors, const vector_ref& target_predictors,
                             const matrix_ref& outcomes, const vector_ref& target_outcomes,
                             Eigen::Index skip)
    : predictors_(predictors), outcomes_(outcomes), target_(target_outcomes), skip_(skip) {
  if (target_predictors.size() != predictors.cols() || outcomes.rows() != predictors.rows() ||
      target_outcomes.size() != outcomes.cols() || outcomes.cols() < 1)
    throw std::invalid_argument("predictors, outcomes and target do not fit together");
  if (!outcomes.allFinite() || !target_outcomes.allFinite())
    throw std::domain_error("outcomes must be finite");
  predictors_.rowwise() -= target_predictors.transpose();
  scaled_.resize(predictors_.rows(), predictors_.cols());
  origin_.setZero(predictors_.cols());
}

double nested_search::evaluate(const Eigen::VectorXd& importance, bool warm) {
  if (importance.size() != predictors_.cols() || !importance.allFinite() ||
      importance.minCoeff() < 0.0 || !(importance.maxCoeff() > 0.0))
    throw std::invalid_argument("importances must be finite, not negative and not all zero");
  const Eigen::ArrayXd root = (importance.array() / importance.sum()).sqrt();
  for (Eigen::Index k = 0; k < root.size(); ++k) scaled_.col(k) = predictors_.col(k) * root[k];
  const simplex_solution& fit = solver.solve(scaled_, origin_, {}, skip_, warm);
  error_ = target_;
  for (std::size_t i = 0; i < fit.support.size(); ++i)
    error_ -= fit.weights[i] * outcomes_.row(fit.support[i]).transpose();
  return error_.squaredNorm() / static_cast<double>(error_.size());
}

nested_result nested_search::result(const Eigen::VectorXd& importance) {
  nested_result out;
  out.loss = evaluate(importance);
  out.importance = importance / importance.sum();
  out.weights = solver.solution().dense(predictors_.rows());
  out.distance = solver.solution().objective;
  out.kkt = solver.solution().kkt;
  return out;
}

nested_result nested_search::search(const nested_settings& settings) {
  const Eigen::Index K = predictors_.cols();
  std::vector<std::pair<double, Eigen::VectorXd>> tried;
  const auto consider = [&](const Eigen::VectorXd& point) {
    tried.emplace_back(loss_at(point), point);
  };
  consider(Eigen::VectorXd::Zero(K));
  for (Eigen::Index k = 0; k < K && K > 1; ++k) {
    Eigen::VectorXd one = Eigen::VectorXd::Constant(K, -5.0);
    one[k] = 0.0;
    consider(one);
  }
  for (int i = 1; i <= settings.screened; ++i) {
    consider(spread_point(i, K));
  }
  std::stable_sort(tried.begin(), tried.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::pair<double, Eigen::VectorXd> best = tried.front();
  const int starts = std::min<int>(std::max(settings.starts, 1), static_cast<int>(tried.size()));
  const int evaluations = settings.evaluations * static_cast<int>(K);
  for (int s = 0; s < starts && K > 1; ++s) {
    auto found = nelder_mead(tried[static_cast<std::size_t>(s)].second, 2.0, evaluations);
    if (found.first < best.first) best = found;
  }
  if (K > 1) {
    // A collapsed simplex stops early on a kinked loss: start it again where it stopped.
    for (const double size : {1.0, 0.3}) {
      auto found = nelder_mead(best.second, size, evaluations);
      if (found.first < best.first) best = found;
    }
  }
  return result(importance_of(best.second));
}

Eigen::VectorXd nested_search::importance_of(const Eigen::VectorXd& point) {
  const Eigen::ArrayXd logs = (point.array() - point.maxCoeff()).max(floor_);
  const Eigen::ArrayXd raw = logs.exp();
  return raw / raw.sum();
}

Eigen::VectorXd nested_search::spread_point(int i, Eigen::Index K) {
  double phi = 2.0;  // the root of x^(K + 1) = x + 1
  for (int step = 0; step < 60; ++step)
    phi = std::pow(1.0 + phi, 1.0 / (static_cast<double>(K) + 1.0));
  Eigen::VectorXd out(K);
  for (Eigen::Index k = 0; k < K; ++k) {
    const double along = 0.5 + i / std::pow(phi, static_cast<double>(k) + 1.0);
    out[k] = -9.0 * (along - std::floor(along));
  }
  return out;
}

std::pair<double, Eigen::VectorXd> nested_search::nelder_mead(const Eigen::VectorXd& from,
                                                              double size, int evaluations) {
  using vertex = std::pair<double, Eigen::VectorXd>;
  const Eigen::Index K = from.size();
  const double d = static_cast<double>(K);
  const double expand = 1.0 + 2.0 / d, contract = 0.75 - 0.5 / d, shrink = 1.0 - 1.0 / d;
  const auto lower = [](const vertex& a, const vertex& b) { return a.first < b.first; };
  std::vector<vertex> simplex{{loss_at(from), from}};
  for (Eigen::Index k = 0; k < K; ++k) {
    Eigen::VectorXd point = from;
    point[k] += point[k] > -4.0 ? -size : size;
    simplex.emplace_back(loss_at(point), point);
  }
  for (int used = static_cast<int>(K) + 1; used < evaluations;) {
    std::stable_sort(simplex.begin(), simplex.end(), lower);
    if (simplex.back().first - simplex.front().first <= 1e-10 * simplex.front().first) break;
    Eigen::VectorXd centre = Eigen::VectorXd::Zero(K);
    for (std::size_t k = 0; k + 1 < simplex.size(); ++k) centre += simplex[k].second / d;
    vertex& worst = simplex.back();
    const auto along = [&](double by) {
      ++used;
      const Eigen::VectorXd point = centre + by * (centre - worst.second);
      return vertex(loss_at(point), point);
    };
    const double second_worst = simplex[static_cast<std::size_t>(K) - 1].first;
    vertex reflected = along(1.0);
    if (reflected.first < simplex.front().first) {
      vertex expanded = along(expand);
      worst = expanded.first < reflected.first ? expanded : reflected;
      continue;
    }
    if (reflected.first < second_worst) {
      worst = reflected;
      continue;
    }
    vertex contracted = along(reflected.first < worst.first ? contract : -contract);
    if (contracted.first < std::min(reflected.first, worst.first)) {
      worst = contracted;
      continue;
    }
    for (std::size_t i = 1; i < simplex.size(); ++i, ++used) {
      simplex[i].second = simplex[0].second + shrink * (simplex[i].second - simplex[0].second);
      simplex[i].first = loss_at(simplex[i].second);
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(), lower);
}

}  // namespace dpsc
