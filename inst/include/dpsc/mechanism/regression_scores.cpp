// Bodies of regression_scores.hpp.
#pragma once

#include "regression_scores.hpp"

namespace dpsc {

lm_counts_plan plan_counts(double n, const total_budget& budget, double share) {
  lm_counts_plan out;
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::string label = "rows that count, residuals far off";
  if (budget.gaussian()) {
    const double sensitivity = std::sqrt(2.0) * (1.0 + 1e-15);
    out.noise = gaussian_vector_variance(sensitivity, budget.mu(share));
    out.sigma = std::sqrt(out.noise);
    out.record = {label,       law_name(out.kind),
                  sensitivity, out.sigma,
                  none,        gaussian_vector_mu(sensitivity, out.noise)};
  } else {
    out.kind = law::discrete_laplace;
    out.noise = std::ceil(2.0 / budget.epsilon(share) * (1.0 + gdp_margin));
    out.sigma = std::sqrt(2.0) * out.noise;
    out.record = {label, law_name(out.kind), 2.0, out.noise, 2.0 / out.noise, none};
  }
  out.made = out.sigma <= worst_count * n;
  return out;
}

lm_counts release_counts(const lm_kept& kept, const lm_counts_plan& plan, noise& draws) {
  const Eigen::VectorXd exact = Eigen::Vector2d(kept.rows, kept.far);
  const Eigen::VectorXd noisy =
      draws.add(plan.record.label, plan.kind, exact, Eigen::VectorXd::Constant(2, plan.noise));
  return {noisy[0], noisy[1], plan.sigma};
}

lm_scores_plan plan_scores(double n, Eigen::Index p, const total_budget& budget, double share) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double d = static_cast<double>(p) + 1.0;
  lm_scores_plan out;
  out.made = true;
  for (int bits = 12; bits >= 6; --bits) {
    out.limit = std::ldexp(1.0, bits);
    const double B = out.limit * out.limit;
    if (!(std::sqrt(d) < out.limit)) break;
    if (!(n * B < exact_integers && B * B < exact_integers)) continue;
    if (budget.gaussian()) {
      out.noise = gaussian_step_variance(B, budget.mu(share));
      out.sigma = std::sqrt(out.noise);
      out.record = {"scores",
                    law_name(out.kind),
                    std::sqrt(2.0) * B,
                    out.sigma,
                    none,
                    gaussian_step_mu(B, out.noise)};
    } else {
      const double sensitivity = laplace_outer_sensitivity(B, d);
      out.kind = law::discrete_laplace;
      out.noise = std::ceil(sensitivity / budget.epsilon(share) * (1.0 + gdp_margin));
      out.sigma = 2.0 * out.noise;
      out.record = {"scores",  law_name(out.kind),      sensitivity,
                    out.noise, sensitivity / out.noise, none};
    }
    if (out.sigma <= largest_sigma) return out;
  }
  throw budget_too_small();
}

lm_score_rows::lm_score_rows(const lm_scores_plan& plan, const lm_round_plan& round, Eigen::Index p)
    : limit2_(plan.limit * plan.limit),
      p_(p),
      of_residual_(score_zoom(p, plan.limit, round.limit, round.constant, round.residual_limit)) {}

const Eigen::MatrixXd& lm_score_rows::rows(const Eigen::MatrixXd& u) {
  g_.resize(u.rows(), p_ + 1);
  factor_ = u.col(p_).array() * of_residual_;
  for (Eigen::Index j = 0; j <= p_; ++j)
    g_.col(j).array() = u.col(j < p_ ? j : p_ + 1).array() * factor_;
  return rounded();
}

const Eigen::MatrixXd& lm_score_rows::people(const Eigen::MatrixXd& u, const people_block& block) {
  each_.resize(u.rows(), p_ + 1);
  // Products are integers: identical rows of a person contribute the same as one row.
  for (Eigen::Index j = 0; j <= p_; ++j)
    each_.col(j).array() = u.col(j < p_ ? j : p_ + 1).array() * u.col(p_).array();
  g_.setZero(static_cast<Eigen::Index>(block.people.size()), p_ + 1);
  Eigen::Index first = 0, at = 0;
  for (const Eigen::Index rows : block.people) {
    const auto there = (block.present.segment(first, rows) > 0.0).count();
    if (there > 0)
      g_.row(at) = each_.middleRows(first, rows).colwise().sum() / static_cast<double>(there);
    first += rows;
    ++at;
  }
  g_ *= of_residual_;
  return rounded();
}

const Eigen::MatrixXd& lm_score_rows::rounded() {
  g_.array() = nearest_integer(g_.array());
  // The proof requires this, for any rounding.
  if (!(squared_row_norms(g_) <= limit2_).all())
    throw std::logic_error("a score is longer than its limit");
  return g_;
}

score_sums::score_sums(const people_question& question)
    : outer_(question), scores_(plan_of(question), limits_of(question), question.design->p()) {}

void score_sums::operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                            Eigen::MatrixXd& sums) {
  sums.selfadjointView<Eigen::Lower>().rankUpdate(
      scores_.rows(outer_.rows(grid, present)).transpose());
}

void score_sums::people(const people_block& block, Eigen::MatrixXd& sums) {
  sums.selfadjointView<Eigen::Lower>().rankUpdate(
      scores_.people(outer_.rows(block.grid, block.present), block).transpose());
}

lm_scores_plan score_sums::plan_of(const people_question& question) {
  lm_scores_plan out;
  out.limit = question.score_limit;
  return out;
}

lm_scores release_scores(const row_source& source, const lm_design& design,
                         const lm_location& location, const lm_frame& frame, const lm_round& last,
                         const lm_round_plan& round, const lm_scores_plan& plan, double n,
                         noise& draws, const ticker& tick) {
  const Eigen::Index p = design.p();
  const lm_columns columns(design, location);
  const lm_features features(columns, frame);
  const double unit = features.unit();
  people_question question;
  question.what = people_question::kind::scores;
  question.design = &design;
  question.location = &location;
  question.map = features.map();
  question.radius = limit_steps(last.radius, unit);
  question.clip = limit_steps(last.clip, unit);
  question.limit = round.limit;
  question.residual_limit = round.residual_limit;
  question.constant = round.constant;
  question.score_limit = plan.limit;
  score_sums sums(question);
  const people_sums exact = sum_people(source, question, sums, tick);
  const Eigen::MatrixXd noisy = add_symmetric(exact.sums.selfadjointView<Eigen::Lower>(),
                                              plan.record.label, plan.kind, plan.noise, draws);
  lm_scores out;
  out.frame = frame;
  const double residual = sums.outer().residual_zoom() / unit * sums.grid();
  Eigen::VectorXd zoom = Eigen::VectorXd::Constant(p + 1, sums.outer().zoom() / unit * residual);
  zoom[p] = round.constant * residual;
  out.meat = zoom.cwiseInverse().asDiagonal() * noisy * zoom.cwiseInverse().asDiagonal();
  out.meat /= n;
  const double off = plan.sigma / std::sqrt(2.0) / n;
  out.sd_slopes = off / (zoom[0] * zoom[0]);
  out.sd_mixed = off / (zoom[0] * zoom[p]);
  out.sd_constant = off / (zoom[p] * zoom[p]);
  return out;
}

}  // namespace dpsc
