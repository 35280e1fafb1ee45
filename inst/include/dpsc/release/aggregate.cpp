// Bodies of aggregate.hpp.
#pragma once

#include "aggregate.hpp"

namespace dpsc {

std::vector<std::int64_t> quantile_losses(const std::vector<std::int64_t>& counts, int percent) {
  const std::int64_t k = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::int64_t> out;
  out.reserve(counts.size());
  std::int64_t below = 0;
  for (std::int64_t count : counts) {
    const std::int64_t upto = below + count;
    out.push_back(std::max<std::int64_t>({100 * below - percent * k, percent * k - 100 * upto, 0}));
    below = upto;
  }
  return out;
}

std::vector<std::string> aggregate_labels(const aggregate_facts& facts) {
  std::vector<std::string> out;
  for (const std::string& name : facts.names)
    for (int percent : facts.percents)
      out.push_back((percent == 50 ? "median" : std::to_string(percent) + " % quantile") +
                    std::string(" of ") + name);
  return out;
}

aggregate_plan plan_quantiles(const aggregate_facts& facts) {
  const std::vector<std::string> labels = aggregate_labels(facts);
  const double share = 1.0 / static_cast<double>(labels.size());
  total_budget pure(facts.epsilon, 0.0);
  aggregate_plan plan;
  plan.exponent = pure.exponent(share) / 2.0;
  plan.total = facts.epsilon;
  // Many draws cost less under Gaussian composition.
  if (facts.delta > 0.0) {
    const total_budget gaussian(facts.epsilon, facts.delta);
    const double exponent = gaussian.exponent(share) / 2.0;
    if (exponent > plan.exponent) {
      plan.gaussian = true;
      plan.exponent = exponent;
      plan.total = gaussian.total();
      pure = gaussian;
    }
  }
  if (exponent_units(plan.exponent / 100.0, aggregate_shift) == 0) throw budget_too_small();
  for (const std::string& label : labels) {
    step_record record = pure.choice_record(label, 2.0 * plan.exponent);
    record.scale = 1.0 / plan.exponent;
    plan.records.push_back(record);
  }
  return plan;
}

step_record located_mean_record(const std::string& label, const total_budget& budget, double share,
                                aggregate_plan& plan) {
  const double allowed = budget.gaussian() ? budget.mu(share) : budget.epsilon(share);
  const double room = std::floor(std::log2(std::ldexp(1.0, 25) * allowed));
  if (!(room >= 4.0)) throw budget_too_small();
  plan.grid_bits = static_cast<int>(std::min(20.0, room));
  const double sensitivity = std::ldexp(2.0, plan.grid_bits);
  const double none = std::numeric_limits<double>::quiet_NaN();
  if (budget.gaussian()) {
    plan.scale = gaussian_vector_variance(sensitivity, allowed);
    return {label,       "discrete_gaussian",
            sensitivity, std::sqrt(plan.scale),
            none,        gaussian_vector_mu(sensitivity, plan.scale)};
  }
  plan.scale = std::ceil(sensitivity / allowed * (1.0 + gdp_margin));
  return {label, "discrete_laplace", sensitivity, plan.scale, sensitivity / plan.scale, none};
}

aggregate_plan plan_located(const aggregate_facts& facts) {
  const double each = 1.0 / static_cast<double>(facts.names.size());
  const total_budget pure(facts.epsilon, 0.0);
  const total_budget shifts(facts.epsilon, facts.delta);
  const bool gaussian = shifts.gaussian() && shifts.exponent(located_choice_share * each) >
                                                 pure.exponent(located_choice_share * each);
  const total_budget& budget = gaussian ? shifts : pure;
  aggregate_plan plan;
  plan.gaussian = gaussian;
  plan.total = budget.total();
  plan.exponent = budget.exponent(located_choice_share * each) / 2.0;
  if (exponent_units(plan.exponent / 100.0, aggregate_shift) == 0) throw budget_too_small();
  // If all answers are equal, each other cell has the weight exp(-h) relative to their cell.
  const double h = plan.exponent * static_cast<double>(facts.blocks) / 2.0;
  plan.cell_bits = static_cast<int>(
      std::clamp(std::floor(std::log2(located_wrong) + h / std::log(2.0)),
                 static_cast<double>(located_least_bits), static_cast<double>(located_most_bits)));
  for (const std::string& name : facts.names) {
    for (const char* part : {"median of ", "spread of "}) {
      step_record record = budget.choice_record(part + name, 2.0 * plan.exponent);
      record.scale = 1.0 / plan.exponent;
      plan.records.push_back(record);
    }
    plan.records.push_back(
        located_mean_record("mean of " + name, budget, located_mean_share * each, plan));
  }
  return plan;
}

aggregate_plan plan_mean(const aggregate_facts& facts) {
  const auto d = static_cast<double>(facts.names.size());
  const total_budget budget(facts.epsilon, facts.delta);
  aggregate_plan plan;
  plan.gaussian = budget.gaussian();
  plan.total = budget.total();
  // All answers together are one vector, hence one step.
  const double size = plan.gaussian ? std::sqrt(d) : d;
  const double room = std::floor(std::log2(std::ldexp(1.0, 26) * plan.total / size));
  if (!(room >= 4.0)) throw budget_too_small();
  plan.grid_bits = static_cast<int>(std::min(20.0, room));
  const double sensitivity = std::ldexp(size, plan.grid_bits);
  const double none = std::numeric_limits<double>::quiet_NaN();
  plan.scale = plan.gaussian ? gaussian_vector_variance(sensitivity, plan.total)
                             : std::ceil(sensitivity / plan.total * (1.0 + gdp_margin));
  plan.records.push_back({"mean over blocks",
                          plan.gaussian ? "discrete_gaussian" : "discrete_laplace", sensitivity,
                          plan.gaussian ? std::sqrt(plan.scale) : plan.scale,
                          plan.gaussian ? none : sensitivity / plan.scale,
                          plan.gaussian ? gaussian_vector_mu(sensitivity, plan.scale) : none});
  return plan;
}

aggregate_plan plan_aggregate(const aggregate_facts& facts) {
  if (facts.blocks < 1 || facts.names.empty() || (!facts.mean && facts.percents.empty()))
    throw std::invalid_argument("an aggregate needs blocks and statistics");
  if (facts.located) return plan_located(facts);
  return facts.mean ? plan_mean(facts) : plan_quantiles(facts);
}

std::vector<std::int64_t> cell_counts(const Eigen::Ref<const Eigen::VectorXd>& answers, int bits) {
  const double cells = std::ldexp(1.0, bits);
  std::vector<std::int64_t> counts(static_cast<std::size_t>(cells), 0);
  for (Eigen::Index i = 0; i < answers.size(); ++i) {
    const double answer = answers[i];
    // NaN was replaced by its public value earlier; none may pass here.
    const double at = answer > 0.0 ? std::min(std::floor(answer * cells), cells - 1.0) : 0.0;
    ++counts[static_cast<std::size_t>(at)];
  }
  return counts;
}

double drawn_quantile(const Eigen::Ref<const Eigen::VectorXd>& values, int percent,
                      const aggregate_plan& plan, const std::string& label, noise& draws,
                      double place) {
  private_choice choice;
  choice.losses = quantile_losses(cell_counts(values, plan.cell_bits), percent);
  choice.units = exponent_units(plan.exponent / 100.0, aggregate_shift);
  choice.shift = aggregate_shift;
  const auto cell = static_cast<double>(draws.choose(label, choice));
  return std::ldexp(cell + place, -plan.cell_bits);
}

Eigen::MatrixXd run_located(const aggregate_plan& plan,
                            const Eigen::Ref<const Eigen::MatrixXd>& answers, noise& draws) {
  const double steps = std::ldexp(1.0, plan.grid_bits);
  const law kind = plan.gaussian ? law::discrete_gaussian : law::discrete_laplace;
  Eigen::MatrixXd out(answers.cols(), 3);
  for (Eigen::Index j = 0; j < answers.cols(); ++j) {
    const step_record* records = plan.records.data() + 3 * j;
    const double median = drawn_quantile(answers.col(j), 50, plan, records[0].label, draws);
    const Eigen::VectorXd away = (answers.col(j).array() - median).abs();
    // The end of its cell, since a spread that is too small would understate errors.
    const double spread =
        drawn_quantile(away, 50, plan, records[1].label, draws, 1.0) / normal_upper_quartile;
    const double window = std::min(1.0, located_window * spread);
    double sum = 0.0;
    for (Eigen::Index i = 0; i < answers.rows(); ++i) {
      const double at = (answers(i, j) - median) / window;
      // An answer of NaN counts as an answer at the median.
      sum += std::isnan(at) ? 0.0 : std::nearbyint(std::clamp(at, -1.0, 1.0) * steps);
    }
    const Eigen::VectorXd noisy =
        draws.add(records[2].label, kind, Eigen::VectorXd::Constant(1, sum),
                  Eigen::VectorXd::Constant(1, plan.scale));
    out(j, 0) = median + window * noisy[0] / (steps * static_cast<double>(answers.rows()));
    out(j, 1) = median;
    out(j, 2) = spread;
  }
  return out;
}

Eigen::MatrixXd run_aggregate(const aggregate_plan& plan, const aggregate_facts& facts,
                              const Eigen::Ref<const Eigen::MatrixXd>& answers, noise& draws) {
  const Eigen::Index d = answers.cols();
  if (answers.rows() != facts.blocks || d != static_cast<Eigen::Index>(facts.names.size()))
    throw std::invalid_argument("the answers are not those of the plan");
  if (facts.located) return run_located(plan, answers, draws);
  if (facts.mean) {
    const double steps = std::ldexp(1.0, plan.grid_bits);
    Eigen::VectorXd sums = Eigen::VectorXd::Zero(d);
    for (Eigen::Index i = 0; i < answers.rows(); ++i)
      for (Eigen::Index j = 0; j < d; ++j) {
        const double answer = answers(i, j);
        sums[j] += answer > 0.0 ? std::nearbyint(std::min(answer, 1.0) * steps) : 0.0;
      }
    const law kind = plan.gaussian ? law::discrete_gaussian : law::discrete_laplace;
    return draws.add(plan.records[0].label, kind, sums, Eigen::VectorXd::Constant(d, plan.scale)) /
           (steps * static_cast<double>(facts.blocks));
  }
  const auto quantiles = static_cast<Eigen::Index>(facts.percents.size());
  Eigen::MatrixXd out(d, quantiles);
  for (Eigen::Index j = 0; j < d; ++j) {
    for (Eigen::Index q = 0; q < quantiles; ++q) {
      const std::string& label = plan.records[static_cast<std::size_t>(j * quantiles + q)].label;
      const int percent = facts.percents[static_cast<std::size_t>(q)];
      out(j, q) = drawn_quantile(answers.col(j), percent, plan, label, draws);
    }
  }
  return out;
}

}  // namespace dpsc
