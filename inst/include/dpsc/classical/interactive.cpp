// Bodies of interactive.hpp.
#pragma once

#include "interactive.hpp"

namespace dpsc {

interactive_effects::interactive_effects(const Eigen::Ref<const Eigen::MatrixXd>& donors,
                                         const Eigen::Ref<const Eigen::VectorXd>& target,
                                         Eigen::Index T0, panel_covariates given, runtime place)
    : host(std::move(place)), donors_(donors), target_(target), T0_(T0), given_(std::move(given)) {
  const Eigen::Index n = donors_.rows();
  if (target_.size() != donors_.cols() || given_.units.rows() != n + 1 ||
      given_.varying.rows() != n + 1)
    throw std::invalid_argument("covariates and outcomes do not fit together");
  if (slopes_wanted() == 0) return;
  const panel_covariates own = given_.rows(n);
  const effects_projection effects(own.units);
  outcomes_ = effects.residual(donors_);
  columns_ = varying_residuals(effects, own, donors_.cols(), {});
}

interactive_fit interactive_effects::fit(Eigen::Index rank) {
  interactive_fit out = slopes(rank);
  const factor_model model = model_of(out.slopes, rank);
  const Eigen::VectorXd path = own_path(out.slopes);
  out.factors = model.fit(target_ - path, T0_, std::min(rank, model.rank()));
  out.factors.counterfactual += path;
  return out;
}

Eigen::VectorXd interactive_effects::cross_validate(Eigen::Index most) {
  if (slopes_wanted() == 0) {
    const factor_model model = model_of({}, most);
    return model.cross_validate(target_, T0_, model.rank());
  }
  std::vector<double> errors;
  for (Eigen::Index r = 0; r <= most; ++r) {
    const Eigen::VectorXd beta = slopes(r).slopes;
    const factor_model model = model_of(beta, r);
    if (model.rank() < r) break;
    errors.push_back(model.cross_validate(target_ - own_path(beta), T0_, r)[r]);
  }
  return Eigen::Map<Eigen::VectorXd>(errors.data(), static_cast<Eigen::Index>(errors.size()));
}

factor_model interactive_effects::model_of(const Eigen::VectorXd& beta, Eigen::Index most) const {
  const Eigen::Index n = donors_.rows();
  return {donors_ - given_.rows(n).explained(beta, donors_.cols()), most, given_.units};
}

Eigen::VectorXd interactive_effects::own_path(const Eigen::VectorXd& beta) const {
  return given_.explained(beta, donors_.cols()).bottomRows(1).transpose();
}

Eigen::MatrixXd interactive_effects::less(const Eigen::VectorXd& beta) const {
  const Eigen::VectorXd said = columns_ * beta;
  return outcomes_ - Eigen::Map<const Eigen::MatrixXd>(said.data(), donors_.rows(), donors_.cols());
}

interactive_effects::state interactive_effects::at(const Eigen::VectorXd& beta, Eigen::Index rank) {
  const Eigen::MatrixXd values = less(beta);
  state out;
  out.parts = leading_parts(values, std::min({rank, values.rows(), values.cols()}));
  out.parts.drop_rounding(donors_.cwiseAbs().maxCoeff(), values.size());
  out.left = values - (values * out.parts.factors) * out.parts.factors.transpose();
  const double T = static_cast<double>(std::min(values.rows(), values.cols()));
  host.tick(static_cast<double>(values.size()) * T * 2.0 + 10.0 * T * T * T);
  return out;
}

Eigen::VectorXd interactive_effects::step(const state& now, bool both) const {
  Eigen::MatrixXd columns = columns_;
  for (Eigen::Index k = 0; k < columns.cols(); ++k) {
    Eigen::Map<Eigen::MatrixXd> x(columns.col(k).data(), donors_.rows(), donors_.cols());
    x -= ((x * now.parts.factors) * now.parts.factors.transpose()).eval();
    if (both) x -= (now.parts.units * (now.parts.units.transpose() * x)).eval();
    // The factors explain the whole covariate, so its slope stays unchanged.
    if (x.norm() <= 1e-8 * columns_.col(k).norm()) x.setZero();
  }
  return few_slopes(columns, cells_of(now.left));
}

interactive_fit interactive_effects::slopes(Eigen::Index rank,
                                            const interactive_settings& settings) {
  interactive_fit out;
  if (slopes_wanted() == 0) return out;
  out.slopes = few_slopes(columns_, cells_of(outcomes_));
  if (rank > 0) {
    state now = at(out.slopes, rank);
    double size = now.left.squaredNorm();
    const double goal = settings.tolerance * outcomes_.norm();
    bool both = true;
    while (out.iterations < settings.iterations) {
      ++out.iterations;
      const Eigen::VectorXd move = step(now, both);
      const Eigen::VectorXd next = out.slopes + move;
      state then = at(next, rank);
      const double reached = then.left.squaredNorm();
      const bool still = (columns_ * move).norm() <= goal;
      if (reached > size * (1.0 + 1e-14) && !still) {
        // The factor step alone cannot increase the objective, except by rounding.
        if (!both) break;
        both = false;
        continue;
      }
      both = true;
      out.slopes = next;
      now = std::move(then);
      size = reached;
      if (still) break;
    }
    out.kkt = correlation(now.left);
    return out;
  }
  out.kkt = correlation(less(out.slopes));
  return out;
}

double interactive_effects::correlation(const Eigen::MatrixXd& left) const {
  const double size = left.norm();
  double out = 0.0;
  for (Eigen::Index k = 0; k < columns_.cols() && size > 0.0; ++k) {
    const double norm = columns_.col(k).norm();
    if (norm > 0.0)
      out = std::max(out, std::abs(columns_.col(k).dot(cells_of(left))) / (norm * size));
  }
  return out;
}

}  // namespace dpsc
