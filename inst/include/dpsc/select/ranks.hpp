// Pursuit by rank correlations. Ranks have no units: medians and scales are found for the chosen
// variables only, and bounds that are too wide hide nothing.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../mechanism/location.hpp"
#include "greedy.hpp"

namespace dpsc {

/// Public facts of a pursuit by ranks.
struct rank_facts {
  greedy_facts greedy;        // size, exponent and rho_step
  std::vector<bool> numbers;  // by column, the outcome last; the others are -1 or 1
  double location = 0.0;      // exponent of a draw of a median or a scale; 0: units are the bounds'
  bool locate_picks = false;  // are the chosen variables located, or the outcome alone?
  bool steps = false;         // are residuals of the chosen variables taken?
  bool centred = false;       // is the outcome's mean released, for the -1/1 variables?
};

struct rank_path {
  std::vector<Eigen::Index> order;
  lm_location location;  // of all columns, the outcome last; scale 1/2: not located
};

namespace rank_detail {

/// Values are clipped here, in robust standard deviations, before they enter sums: those of the
/// outcome and its residuals, and those of chosen variables. The outcome itself is clipped at
/// `widest_outcome` times its limit, a variable in residuals at its limit, so that its mean is that
/// of the sums.
constexpr double outcome_reach = 1.2, variable_reach = 1.5, widest_outcome = 10.0 / 3.0;

inline double clipped(double x, double most) { return std::min(std::max(x, -most), most); }

/// A scaled table, n x (p + 1), in which a row with a non-finite value is zero. `each`: numbers of
/// rows of people with several rows, all positive; empty: one row each.
class rank_table {
 public:
  rank_table(const double* table, Eigen::Index n, Eigen::Index p,
             const std::vector<double>& each = {})
      : table_(table), n_(n), p_(p), whole_(static_cast<std::size_t>(n), true) {
    if (n < 2 || p < 1) throw std::invalid_argument("there must be rows and columns");
    for (Eigen::Index j = 0; j <= p; ++j)
      for (Eigen::Index i = 0; i < n; ++i)
        if (!std::isfinite(table[j * n + i])) whole_[static_cast<std::size_t>(i)] = false;
    if (each.empty()) return;
    first_.assign(1, 0);
    for (const double rows : each) {
      if (!(rows >= 1.0)) throw std::invalid_argument("every person needs a row");
      first_.push_back(first_.back() + static_cast<Eigen::Index>(rows));
    }
    if (first_.back() != n) throw std::invalid_argument("people's rows do not add up");
  }
  Eigen::Index n() const { return n_; }
  Eigen::Index p() const { return p_; }
  bool whole(Eigen::Index i) const { return whole_[static_cast<std::size_t>(i)]; }
  double operator()(Eigen::Index i, Eigen::Index j) const {
    return whole(i) ? table_[j * n_ + i] : 0.0;
  }

  bool several() const { return !first_.empty(); }
  Eigen::Index people() const {
    return several() ? static_cast<Eigen::Index>(first_.size()) - 1 : n_;
  }
  /// A person's first row.
  Eigen::Index first(Eigen::Index person) const {
    return several() ? first_[static_cast<std::size_t>(person)] : person;
  }

  /// The sum over people of the mean over their rows, each rounded toward zero.
  template <typename Value>
  std::int64_t sum(const Value& value) const {
    std::int64_t out = 0;
    for (Eigen::Index k = 0; k < people(); ++k) {
      std::int64_t own = 0;
      for (Eigen::Index i = first(k); i < first(k + 1); ++i) own += value(i);
      out += own / static_cast<std::int64_t>(first(k + 1) - first(k));
    }
    return out;
  }

 private:
  const double* table_;
  Eigen::Index n_, p_;
  std::vector<bool> whole_;
  std::vector<Eigen::Index> first_;
};

/// Centre and unit of a column: its median and `reach` robust standard deviations, or its bounds.
struct column_unit {
  double centre = 0.0, unit = 1.0;
  double operator()(double x) const { return (x - centre) / unit; }
};

/// Finds the median and the scale of column j, if it is a number.
inline column_unit locate(const rank_table& rows, Eigen::Index j, double reach, const rank_facts& f,
                          rank_path& out, noise& draws, const ticker& tick) {
  if (!f.numbers[static_cast<std::size_t>(j)] || !(f.location > 0.0)) return {};
  Eigen::MatrixXd values = Eigen::MatrixXd::Zero(rows.n(), rows.several() ? 3 : 2);
  for (Eigen::Index k = 0; rows.several() && k < rows.people(); ++k)
    values.block(rows.first(k), 2, rows.first(k + 1) - rows.first(k), 1)
        .setConstant(static_cast<double>(k + 1));
  for (Eigen::Index i = 0; i < rows.n(); ++i)
    values(i, 0) =
        rows.whole(i) ? clipped(rows(i, j), 1.0) : std::numeric_limits<double>::quiet_NaN();
  lm_design design;
  design.variables = {{0.0, 1.0, false}, {0.0, 1.0, true}};
  design.columns.push_back({{0}, {1}});
  design.person = rows.several();
  table_view view;
  view.rows = rows.n();
  view.columns = values.cols();
  view.reals = values.data();
  location_plan plan = plan_location(f.location, static_cast<double>(rows.people()), {"a column"});
  plan.scale_price = few_values_price;
  const lm_location found = release_location(matrix_source(view), design, plan, draws, tick);
  out.location.median[j] = found.median[0];
  out.location.scale[j] = found.scale[0];
  // Half: most people share one value.
  if (found.scale[0] == 0.5) return {};
  return {found.median[0], reach * found.scale[0]};
}

/// Pairs of people: each person and the `shifts` next in a circle of all people, in random order.
class rank_pairs {
 public:
  rank_pairs(Eigen::Index n, noise& draws)
      : n_(n),
        shifts_(std::min<Eigen::Index>(
            n - 1, std::max<Eigen::Index>(1, std::min<Eigen::Index>(5, 1000000 / n)))),
        order_(draws.positions(n, n)) {}

  /// A person belongs to twice this number of pairs.
  std::int64_t shifts() const { return shifts_; }

  /// Signs of the differences of all pairs.
  template <typename Value>
  void signs(const Value& value, std::vector<std::int8_t>& out) {
    each_.resize(static_cast<std::size_t>(n_ + shifts_));
    for (Eigen::Index i = 0; i < n_; ++i)
      each_[static_cast<std::size_t>(i)] = value(order_[static_cast<std::size_t>(i)]);
    std::copy_n(each_.begin(), shifts_, each_.begin() + n_);
    out.resize(static_cast<std::size_t>(n_ * shifts_));
    for (Eigen::Index k = 1; k <= shifts_; ++k) {
      const double* a = each_.data();
      const double* b = a + k;
      std::int8_t* sign = out.data() + (k - 1) * n_;
      for (Eigen::Index i = 0; i < n_; ++i)
        sign[i] = static_cast<std::int8_t>((a[i] > b[i]) - (a[i] < b[i]));
    }
  }

  /// The sum of `pair(one, other)` over all pairs.
  template <typename Pair>
  std::int64_t sum(const Pair& pair) const {
    std::int64_t out = 0;
    for (Eigen::Index k = 1; k <= shifts_; ++k)
      for (Eigen::Index i = 0; i < n_; ++i)
        out += pair(order_[static_cast<std::size_t>(i)],
                    order_[static_cast<std::size_t>((i + k) % n_)]);
    return out;
  }

 private:
  Eigen::Index n_, shifts_;
  std::vector<Eigen::Index> order_;
  std::vector<double> each_;
};

/// Absolute rank correlations of columns with residuals; for -1/1 columns of centred residuals the
/// absolute covariance. In units of which a person changes each by at most 2 `unit` either way. Of
/// people with several rows the mean over their rows counts, in pairs over all pairs of rows.
class rank_utilities {
 public:
  rank_utilities(const rank_table& rows, const rank_facts& f, noise& draws)
      : rows_(rows), f_(f), pairs_(rows.people(), draws) {}

  double unit() const {
    return 2.0 * static_cast<double>(pairs_.shifts()) * greedy_detail::squared_unit;
  }
  std::int64_t most() const {
    return rows_.people() * 2 * pairs_.shifts() * people::unit * people::unit;
  }

  void set_residuals(const std::vector<double>& r) {
    r_ = r;
    if (!rows_.several())
      pairs_.signs([&](Eigen::Index i) { return r[static_cast<std::size_t>(i)]; }, residual_);
    clipped_.resize(r.size());
    for (std::size_t i = 0; i < r.size(); ++i)
      clipped_[i] = std::llround(clipped(r[i], 1.0) * people::unit);
  }

  std::int64_t operator()(Eigen::Index j) {
    if (f_.centred && !f_.numbers[static_cast<std::size_t>(j)]) {
      const std::int64_t products = rows_.sum([&](Eigen::Index i) {
        return std::llround(clipped(rows_(i, j), 1.0) * people::unit) *
               clipped_[static_cast<std::size_t>(i)];
      });
      return std::abs(products) * 2 * pairs_.shifts();
    }
    if (rows_.several())
      return std::abs(pairs_.sum([&](Eigen::Index i, Eigen::Index k) { return pair(i, k, j); }));
    std::int64_t sum = 0;
    pairs_.signs([&](Eigen::Index i) { return rows_(i, j); }, column_);
    for (std::size_t k = 0; k < column_.size(); ++k)
      sum += static_cast<std::int64_t>(column_[k] * residual_[k]);
    return std::abs(sum) * people::unit * people::unit;
  }

 private:
  /// The mean of two people's signs, in units of 1 / unit^2.
  std::int64_t pair(Eigen::Index one, Eigen::Index other, Eigen::Index j) const {
    std::int64_t sum = 0;
    for (Eigen::Index a = rows_.first(one); a < rows_.first(one + 1); ++a)
      for (Eigen::Index b = rows_.first(other); b < rows_.first(other + 1); ++b)
        sum += sign(rows_(a, j), rows_(b, j)) *
               sign(r_[static_cast<std::size_t>(a)], r_[static_cast<std::size_t>(b)]);
    const double count = static_cast<double>(rows_.first(one + 1) - rows_.first(one)) *
                         static_cast<double>(rows_.first(other + 1) - rows_.first(other));
    return std::llround(static_cast<double>(sum) / count * greedy_detail::squared_unit);
  }

  static std::int64_t sign(double a, double b) { return (a > b) - (a < b); }

  const rank_table& rows_;
  const rank_facts& f_;
  rank_pairs pairs_;
  std::vector<double> r_;
  std::vector<std::int8_t> residual_, column_;
  std::vector<std::int64_t> clipped_;
};

/// Subtracts a variable's step from the residuals: noisy sums of clipped products, as in pursue().
/// A slope is shrunk by its noise.
inline void take_step(const rank_table& rows, Eigen::Index j, const column_unit& in,
                      double rho_step, std::vector<double>& r, noise& draws) {
  const auto n = static_cast<double>(rows.people());
  const auto x = [&](Eigen::Index i) {
    return std::llround(clipped(in(rows(i, j)), 1.0) * people::unit);
  };
  const auto y = [&](Eigen::Index i) {
    return std::llround(clipped(r[static_cast<std::size_t>(i)], 1.0) * people::unit);
  };
  std::vector<std::int64_t> sums = {rows.sum([&](Eigen::Index i) { return x(i) * y(i); }),
                                    rows.sum([&](Eigen::Index i) { return x(i) * x(i); }),
                                    rows.sum([&](Eigen::Index i) { return x(i) * people::unit; })};
  greedy_detail::release("step", sums, 3.0 * greedy_detail::squared_unit, rho_step, draws);
  const auto each = [&](int k) {
    return static_cast<double>(sums[static_cast<std::size_t>(k)]) / greedy_detail::squared_unit / n;
  };
  const double mean = each(2), spread = std::max(each(1) - mean * mean, 0.05);
  const double most = 1.0 / std::sqrt(spread);
  double slope = clipped(each(0) / spread, most);
  const double sd = std::isinf(rho_step) ? 0.0 : 3.0 / std::sqrt(2.0 * rho_step) / n / spread;
  if (slope != 0.0) slope *= std::max(0.0, 1.0 - sd * sd / (slope * slope));
  for (Eigen::Index i = 0; i < rows.n(); ++i)
    r[static_cast<std::size_t>(i)] -= slope * (clipped(in(rows(i, j)), 1.0) - mean);
}

}  // namespace rank_detail

/// Variables by the exponential mechanism on their rank correlations with the residuals. Cost:
/// size exponent^2/8, rho_step for each step (all picks but the last) and for the mean, and two
/// draws for each located column (proofs/selection.md, Theorem 1a).
/// @param each numbers of rows of people with several rows, as in rank_table.
inline rank_path pursue_ranks(const double* table, Eigen::Index n, Eigen::Index p,
                              const rank_facts& f, noise& draws, const ticker& tick,
                              const std::vector<double>& each = {}) {
  namespace detail = rank_detail;
  const detail::rank_table rows(table, n, p, each);
  if (static_cast<Eigen::Index>(f.numbers.size()) != p + 1)
    throw std::invalid_argument("the kinds of columns do not fit the table");
  rank_path out;
  out.location = {Eigen::VectorXd::Zero(p + 1), Eigen::VectorXd::Constant(p + 1, 0.5)};
  const detail::column_unit outcome =
      detail::locate(rows, p, detail::outcome_reach, f, out, draws, tick);
  std::vector<double> r(static_cast<std::size_t>(n));
  for (Eigen::Index i = 0; i < n; ++i)
    r[static_cast<std::size_t>(i)] = detail::clipped(outcome(rows(i, p)), detail::widest_outcome);
  if (f.centred) {
    std::vector<std::int64_t> sum(1, rows.sum([&](Eigen::Index i) {
      return std::llround(detail::clipped(r[static_cast<std::size_t>(i)], 1.0) * people::unit);
    }));
    greedy_detail::release("mean", sum, 2.0 * people::unit, f.greedy.rho_step, draws);
    const double mean =
        static_cast<double>(sum[0]) / people::unit / static_cast<double>(rows.people());
    for (double& x : r) x -= mean;
  }
  detail::rank_utilities utility(rows, f, draws);
  std::vector<Eigen::Index> left;
  std::vector<std::int64_t> loss;
  for (Eigen::Index j = 0; j < p; ++j) left.push_back(j);
  while (static_cast<Eigen::Index>(out.order.size()) < f.greedy.size && !left.empty()) {
    if (out.order.empty() || f.steps) {
      utility.set_residuals(r);
      loss.clear();
      for (const Eigen::Index j : left) loss.push_back(utility.most() - utility(j));
    }
    // Utilities change by at most 2 units either way, so their differences by at most 4.
    const std::size_t k = choose("pick", loss, f.greedy.exponent, 4.0 * utility.unit(), draws);
    const Eigen::Index j = left[k];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
    loss.erase(loss.begin() + static_cast<std::ptrdiff_t>(k));
    out.order.push_back(j);
    detail::column_unit unit;
    if (f.locate_picks) unit = detail::locate(rows, j, detail::variable_reach, f, out, draws, tick);
    if (f.steps && static_cast<Eigen::Index>(out.order.size()) < f.greedy.size)
      detail::take_step(rows, j, unit, f.greedy.rho_step, r, draws);
  }
  return out;
}

}  // namespace dpsc
