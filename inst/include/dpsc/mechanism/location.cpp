// Bodies of location.hpp.
#pragma once

#include "location.hpp"

namespace dpsc {

std::vector<std::int64_t> median_losses(const std::vector<std::int64_t>& counts,
                                        std::int64_t missing) {
  std::int64_t n = missing;
  for (std::int64_t count : counts) n += count;
  std::vector<std::int64_t> out;
  std::int64_t twice_below = missing;
  for (std::int64_t count : counts) {
    const std::int64_t twice_upto = twice_below + 2 * count;
    out.push_back(std::max<std::int64_t>({twice_below - n, n - twice_upto, 0}));
    twice_below = twice_upto;
  }
  return out;
}

double location_exponent(const total_budget& budget, double share) {
  return budget.exponent(share) / 2.0;
}

location_plan plan_location(double exponent, double n, const std::vector<std::string>& names,
                            double least, int scale_bits) {
  location_plan out;
  out.n = n;
  out.exponent = exponent;
  const double h = out.exponent * n / 2.0;
  if (names.empty() || !(h >= least)) return out;
  out.made = true;
  // A wrong cell far from the median is drawn with probability about cells exp(-h), which counts
  // less than cells that are wider than a variable's deviation.
  const auto bits = [&](double chance) {
    return std::floor((h + std::log(chance)) / std::log(2.0));
  };
  const double few = std::min(few_bits, bits(wrong_of_few));
  out.cell_bits = static_cast<int>(std::min(13.0, std::max({3.0, few, bits(wrong_cell)})));
  const double finest = std::ldexp(1.0, -std::min(10, std::max(out.cell_bits, scale_bits)));
  for (double r = 2.0; r >= finest * 0.999; r *= std::pow(2.0, -0.25))
    out.radii.insert(out.radii.begin(), r);
  for (const char* what : {"median of ", "scale of "})
    for (const std::string& name : names) {
      step_record record;
      record.label = what + name;
      out.records.push_back(record);
    }
  return out;
}

location_plan plan_location(const total_budget& budget, double share, double n,
                            const std::vector<std::string>& names, double least, int scale_bits) {
  location_plan out = plan_location(location_exponent(budget, share), n, names, least, scale_bits);
  for (step_record& record : out.records) {
    record = budget.choice_record(record.label, 2.0 * out.exponent);
    record.sensitivity = 2.0;
    record.scale = 1.0 / out.exponent;
  }
  return out;
}

template <typename Own>
void located_counts<Own>::operator()(const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present,
                                     Eigen::MatrixXd& counts) const {
  for (std::size_t v = 0; v < which_.size(); ++v)
    for (Eigen::Index i = 0; i < grid.rows(); ++i)
      if (present[i] > 0.0) counts(cell(grid, i, v), static_cast<Eigen::Index>(v)) += 1.0;
}

template <typename Own>
void located_counts<Own>::people(const people_block& block, Eigen::MatrixXd& counts) const {
  for (std::size_t v = 0; v < which_.size(); ++v)
    add_shares(
        block, [&](Eigen::Index i) { return cell(block.grid, i, v); },
        counts.col(static_cast<Eigen::Index>(v)));
}

template class located_counts<median_counts>;
template class located_counts<scale_counts>;

median_counts::median_counts(const people_question& question)
    : located_counts(question.design->located()),
      width_(question.width),
      last_(static_cast<std::size_t>(question.cells) - 1) {}

Eigen::Index median_counts::place(double x, std::size_t) const {
  const double one = std::ldexp(1.0, row_bits);
  return static_cast<Eigen::Index>(std::min(last_, static_cast<std::size_t>((x + one) / width_)));
}

scale_counts::scale_counts(const people_question& question)
    : located_counts(question.design->located()),
      middle_(question.middle),
      limits_(question.limits),
      // The first limit not below a multiple of 2^9, at which the search begins.
      begin_((std::size_t{1} << (row_bits + 1 - 9)) + 1) {
  if (middle_.size() != which_.size() || limits_.empty())
    throw std::invalid_argument("a scale needs a middle and limits");
  for (std::size_t k = 0; k < begin_.size(); ++k)
    begin_[k] = static_cast<std::size_t>(
        std::lower_bound(limits_.begin(), limits_.end(), static_cast<double>(k << 9)) -
        limits_.begin());
}

Eigen::Index scale_counts::place(double x, std::size_t v) const {
  const double far = std::fabs(x - middle_[v]);
  std::size_t k = begin_[static_cast<std::size_t>(far) >> 9];
  while (k + 1 < limits_.size() && limits_[k] < far) ++k;
  return static_cast<Eigen::Index>(std::min(limits_.size() - 1, k));
}

std::size_t choose_cell(const people_sums& found, std::size_t v, int bits, double exponent,
                        const std::string& label, noise& draws, std::int64_t price,
                        std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (Eigen::Index k = 0; k < found.sums.rows(); ++k)
    counts.push_back(static_cast<std::int64_t>(found.sums(k, static_cast<Eigen::Index>(v))));
  private_choice choice;
  choice.losses =
      median_losses(counts, static_cast<std::int64_t>(found.rows - found.there) << bits);
  // Back to whole people: counts that change by at most two still do so without their fractions.
  for (std::int64_t& loss : choice.losses) loss >>= bits;
  const std::size_t last = choice.losses.size() - 1;
  for (std::size_t k = 0; k < last; ++k)
    choice.losses[k] += std::min(most, price * static_cast<std::int64_t>(last - k));
  choice.units = exponent_units(exponent / 2.0, location_shift);
  choice.shift = location_shift;
  return draws.choose(label, choice);
}

lm_location release_location(const row_source& source, const lm_design& design,
                             const location_plan& plan, noise& draws, const ticker& tick) {
  const auto count = static_cast<Eigen::Index>(design.variables.size());
  lm_location out{Eigen::VectorXd::Zero(count), Eigen::VectorXd::Ones(count)};
  if (!plan.made) return out;
  const std::vector<std::size_t> which = design.located();
  const double one = std::ldexp(1.0, row_bits);
  const int bits = bits_of_shares(design);
  people_question question;
  question.design = &design;
  question.what = people_question::kind::medians;
  question.cells = std::ldexp(1.0, plan.cell_bits);
  question.width = std::ldexp(1.0, row_bits + 1 - plan.cell_bits);
  const people_sums medians = sum_people(source, question, median_counts(question), tick);
  for (std::size_t v = 0; v < which.size(); ++v) {
    const std::size_t k =
        choose_cell(medians, v, bits, plan.exponent, plan.records[v].label, draws);
    out.median[static_cast<Eigen::Index>(which[v])] =
        (static_cast<double>(k) + 0.5) * question.width / one - 1.0;
  }

  question.what = people_question::kind::scales;
  for (double r : plan.radii) question.limits.push_back(std::floor(r * one));
  for (std::size_t j : which)
    question.middle.push_back(std::nearbyint(out.median[static_cast<Eigen::Index>(j)] * one));
  const people_sums scales = sum_people(source, question, scale_counts(question), tick);
  const auto price = static_cast<std::int64_t>(std::floor(plan.scale_price * plan.n));
  const auto most = static_cast<std::int64_t>(std::floor(plan.n / 2.0));
  for (std::size_t v = 0; v < which.size(); ++v) {
    const std::size_t k = choose_cell(scales, v, bits, plan.exponent,
                                      plan.records[which.size() + v].label, draws, price, most);
    // At the finest radius, or within a median's cell that ends at a bound, half of the people may
    // share one value, such as 0, so the bounds are the better scale. With bounds 0 and 1 and few
    // cells a small radius is more often a wrong draw for a 0/1 column than that of a narrow one.
    const lm_variable& own = design.variables[which[v]];
    const double width = question.width / one;
    const bool ends = std::fabs(out.median[static_cast<Eigen::Index>(which[v])]) > 1.0 - width;
    const bool within = ends && plan.radii[k] <= 0.6 * width;
    const bool unit = own.centre == 0.5 && own.half == 0.5 && plan.cell_bits < sure_bits &&
                      plan.radii[k] < narrow_of_unit;
    const bool one_value = k == 0 || within || unit;
    out.scale[static_cast<Eigen::Index>(which[v])] = one_value ? 0.5 : plan.radii[k] / normal_mad;
  }
  return out;
}

}  // namespace dpsc
