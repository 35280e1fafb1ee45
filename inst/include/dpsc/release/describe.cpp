// Bodies of describe.hpp.
#pragma once

#include "describe.hpp"

namespace dpsc {

namespace describe_detail {

/// A row's cells by their meaning. NaN is missing; only numbers are clipped to their bounds.
class row_columns {
 public:
  row_columns(const describe_facts& facts, const table_view& table) : facts_(facts), table_(table) {
    int columns = static_cast<int>(facts.numbers.size()) + facts.groups + (facts.person ? 1 : 0);
    for (int levels : facts.levels) columns += levels;
    if (table.columns != columns || (facts.person && table.reals == nullptr))
      throw std::invalid_argument("rows do not fit the columns");
  }

  double cell(Eigen::Index i, Eigen::Index j) const {
    const Eigen::Index at = j * table_.rows + i;
    return table_.reals != nullptr ? table_.reals[at] : static_cast<double>(table_.integers[at]);
  }

  double number(Eigen::Index i, std::size_t j) const {
    const double x = cell(i, static_cast<Eigen::Index>(j));
    if (std::isnan(x)) return x;
    const double inside = std::min(facts_.upper[j], std::max(facts_.lower[j], x));
    return facts_.whole[j] != 0 ? std::nearbyint(inside) : inside;
  }

  /// The position of the indicator, from column `first` on, that is set, or -1.
  int level(Eigen::Index i, Eigen::Index first, int levels) const {
    for (int k = 0; k < levels; ++k)
      if (cell(i, first + k) > 0.5) return k;
    return -1;
  }

  int group(Eigen::Index i) const {
    const Eigen::Index first = table_.columns - facts_.groups - (facts_.person ? 1 : 0);
    return facts_.groups == 0 ? 0 : level(i, first, facts_.groups);
  }

 private:
  const describe_facts& facts_;
  const table_view& table_;
};

/// Calls visit(rows, first, count) for each person, whose rows are the `count` rows from `first`
/// on.
template <typename Visit>
void each_person(const row_source& source, const describe_facts& facts, Visit&& visit) {
  source.pass([&](const table_view& table) {
    const row_columns rows(facts, table);
    for (Eigen::Index first = 0, count = 1; first < table.rows; first += count) {
      if (facts.person) count = rows_of_person(table, first);
      visit(rows, first, count);
    }
  });
}

inline int bits_of_shares(const describe_facts& facts) { return facts.person ? share_bits : 0; }

/// Counts in which the cells of a person's rows have equal shares.
class shared_counts {
 public:
  /// Adds a person by `cell(row)`, which is negative for a row that does not count.
  template <typename Cell, typename Counts>
  void add(Eigen::Index first, Eigen::Index count, double units, Cell&& cell, Counts&& counts) {
    cells_.clear();
    for (Eigen::Index i = first; i < first + count; ++i)
      if (const Eigen::Index k = cell(i); k >= 0) cells_.push_back(k);
    add_person_shares(cells_, counts, units);
  }

 private:
  std::vector<Eigen::Index> cells_;
};

/// Adds a value's powers to the sums of its group, in grid steps.
inline void add_powers(const describe_window& window, const describe_sums& units, double x,
                       double* sums) {
  const double z = window.scaled(x), far = window.from_middle(x), far2 = far * far;
  sums[0] += units.small;
  sums[1] += std::nearbyint(z * units.one);
  sums[2] += std::nearbyint(z * z * units.square);
  sums[3] += std::nearbyint(far2 * far2 * units.rest);
  sums[4] += x < window.low || x > window.high ? units.rest : 0.0;
}

/// Fine points joined into the grid's cells.
inline std::vector<std::int64_t> coarser(const std::vector<double>& fine, const place_grid& grid) {
  std::vector<std::int64_t> out(grid.cells(), 0);
  for (std::size_t k = 0; k < fine.size(); ++k)
    out[grid.cell_of_fine(k)] += static_cast<std::int64_t>(fine[k]);
  return out;
}

/// Every cell's loss as often as the cell is a candidate.
inline std::vector<std::int64_t> repeated(const std::vector<std::int64_t>& losses,
                                          const std::vector<std::uint32_t>& copies) {
  std::vector<std::int64_t> out;
  for (std::size_t k = 0; k < losses.size(); ++k) out.insert(out.end(), copies[k], losses[k]);
  return out;
}

/// The cell of every candidate.
inline std::vector<std::size_t> cells_of_copies(const std::vector<std::uint32_t>& copies) {
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < copies.size(); ++k) out.insert(out.end(), copies[k], k);
  return out;
}

/// A choice from every list: all at once, or one after another. Losses are in units of 2^-bits.
inline std::vector<std::size_t> drawn_from(std::vector<std::vector<std::int64_t>> losses,
                                           const std::vector<double>& exponents, bool joint,
                                           int bits, const std::vector<std::string>& labels,
                                           const std::string& all, noise& draws) {
  if (joint)
    return draws.choose_jointly(all, joint_choice::of(std::move(losses), exponents.front(), bits));
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < losses.size(); ++k) {
    const joint_choice choice = joint_choice::of({losses[k]}, exponents[k], bits);
    out.push_back(draws.choose_jointly(labels[k], choice).front());
  }
  return out;
}

/// Distances from the median in decreasing order, from the bound by factors of sqrt(2), as
/// candidates for the distance beyond which the `beyond` farthest people on one side lie.
struct radii_on_side {
  std::vector<double> radii;
  std::vector<std::int64_t> losses;
};

/// Replacing a person changes the number of people beyond a candidate by at most one.
inline radii_on_side radii_of(const std::vector<double>& fine, double from, bool above,
                              const describe_plan& plan, int bits) {
  const double one = static_cast<double>(fine.size() - 1);
  const double bound = above ? one - from : from;
  radii_on_side out;
  std::vector<double>& radii = out.radii;
  for (int k = describe_constants::radii - 1; k >= 0; --k)
    radii.push_back(bound * std::pow(2.0, -0.5 * k));
  std::vector<std::int64_t> counts(radii.size(), 0);
  std::int64_t left = 0;
  for (std::size_t k = 0; k < fine.size(); ++k) {
    const double far = above ? static_cast<double>(k) - from : from - static_cast<double>(k);
    const auto at = std::lower_bound(radii.begin(), radii.end(), far) - radii.begin();
    const auto here = static_cast<std::int64_t>(fine[k]);
    counts[std::min(static_cast<std::size_t>(at), counts.size() - 1)] += here;
    left += here;
  }
  const std::int64_t beyond = static_cast<std::int64_t>(plan.beyond) << bits;
  for (std::int64_t count : counts) {
    const std::int64_t from_here = left;
    left -= count;
    out.losses.push_back(std::max<std::int64_t>(left - beyond, beyond - from_here));
  }
  for (double& radius : radii) radius /= one;
  return out;
}

inline std::string of_group(const describe_facts& facts, std::size_t j, int g) {
  return facts.numbers[j] + (facts.groups > 0 ? " in group " + std::to_string(g + 1) : "");
}

inline described_number draw_places(const describe_plan& plan, const describe_facts& facts,
                                    const std::vector<double>& fine, std::size_t j, int g,
                                    noise& draws) {
  described_number out;
  const place_grid grid = grid_of(facts, plan, j);
  const round_points points = round_points_of(grid);
  const std::vector<std::int64_t> cells = coarser(fine, grid);
  const std::string name = of_group(facts, j, g);
  std::vector<std::vector<std::int64_t>> losses;
  for (int quantile : facts.quantiles)
    losses.push_back(repeated(place_losses(cells, quantile), points.copies));
  std::vector<double> exponents = plan.exponents;
  for (double& exponent : exponents) exponent /= 1000.0;  // losses are in thousandths of a rank
  const std::vector<std::string> each(losses.size(), "quantile of " + name);
  const std::vector<std::size_t> cell_of = cells_of_copies(points.copies);
  std::vector<double> places;
  for (std::size_t drawn : drawn_from(std::move(losses), exponents, plan.joint,
                                      bits_of_shares(facts), each, "quantiles of " + name, draws))
    places.push_back(points.value[cell_of[drawn]]);
  std::sort(places.begin(), places.end());
  out.quantiles =
      Eigen::Map<Eigen::VectorXd>(places.data(), static_cast<Eigen::Index>(places.size()));
  return out;
}

inline void draw_radii(const describe_plan& plan, const describe_facts& facts,
                       const std::vector<double>& fine, std::size_t j, int g, noise& draws,
                       described_number& out) {
  const place_grid grid = fine_grid(facts, j);
  const auto at = std::find(facts.quantiles.begin(), facts.quantiles.end(), 500);
  const double median = out.quantiles[at - facts.quantiles.begin()];
  const double from = (median - grid.lower) / facts.range(j) * static_cast<double>(grid.fine);
  const int bits = bits_of_shares(facts);
  const radii_on_side sides[] = {radii_of(fine, from, false, plan, bits),
                                 radii_of(fine, from, true, plan, bits)};
  const std::string reach = "reach of " + of_group(facts, j, g);
  const std::vector<std::size_t> found =
      drawn_from({sides[0].losses, sides[1].losses}, {plan.tail, plan.tail}, plan.joint, bits,
                 {reach, reach}, reach, draws);
  for (int side = 0; side < 2; ++side)
    out.radii[side] = facts.range(j) * sides[side].radii[found[static_cast<std::size_t>(side)]];
}

/// Quantiles of a column in all groups, then radii in all groups or in none: the noise of its sums
/// depends on it.
inline std::vector<described_number> locate(const describe_plan& plan, const describe_facts& facts,
                                            const std::vector<double>* cells, std::size_t j,
                                            noise& draws) {
  std::vector<described_number> out;
  bool radii = false;
  for (int g = 0; g < facts.parts(); ++g) {
    out.push_back(draw_places(plan, facts, cells[g], j, g, draws));
    radii = radii || asks_radii(facts, plan, out.back());
  }
  for (int g = 0; radii && g < facts.parts(); ++g)
    draw_radii(plan, facts, cells[g], j, g, draws, out[static_cast<std::size_t>(g)]);
  return out;
}

inline Eigen::VectorXd add_noise(const describe_plan& plan, const describe_sums& sums,
                                 const std::string& label, const Eigen::VectorXd& exact,
                                 noise& draws) {
  const law kind = plan.gaussian ? law::discrete_gaussian : law::discrete_laplace;
  return draws.add(label, kind, exact, Eigen::VectorXd::Constant(exact.size(), sums.scale));
}

/// The noisy table of a factor. For two levels of one group with Laplace noise, sum and difference
/// are released: a replaced row changes both by 2 in total, too, and a share needs only one of
/// them.
inline Eigen::VectorXd noisy_levels(const describe_plan& plan, const std::string& label,
                                    const Eigen::VectorXd& exact, bool several, noise& draws) {
  if (!by_difference(plan, exact.size(), several))
    return add_noise(plan, plan.table, label, exact, draws);
  const Eigen::VectorXd turned = add_noise(
      plan, plan.table, label, Eigen::Vector2d(exact[0] + exact[1], exact[1] - exact[0]), draws);
  return 0.5 * Eigen::Vector2d(turned[0] - turned[1], turned[0] + turned[1]);
}

inline void split_sums(const Eigen::VectorXd& sums, std::size_t j, int parts, described& out) {
  for (int g = 0; g < parts; ++g)
    out.numbers[j * static_cast<std::size_t>(parts) + static_cast<std::size_t>(g)].sums =
        sums.segment(g * describe_constants::powers, describe_constants::powers);
}

}  // namespace describe_detail

describe_counts count_columns(const row_source& source, const describe_facts& facts,
                              const describe_plan& plan) {
  using namespace describe_detail;
  const auto parts = static_cast<std::size_t>(facts.parts());
  describe_counts out;
  std::vector<place_grid> grids;
  for (std::size_t j = 0; j < facts.numbers.size(); ++j) {
    grids.push_back(fine_grid(facts, j));
    out.cells.resize(out.cells.size() + parts, std::vector<double>(grids[j].fine + 1, 0.0));
  }
  Eigen::Index entries = 0;
  for (int levels : facts.levels) entries += levels * facts.parts();
  out.table = Eigen::VectorXd::Zero(entries);
  out.sizes = Eigen::VectorXd::Zero(facts.groups > 1 ? facts.groups : 0);
  shared_counts people;
  std::vector<Eigen::Index> groups;
  each_person(source, facts, [&](const row_columns& rows, Eigen::Index from, Eigen::Index count) {
    groups.clear();
    for (Eigen::Index i = from; i < from + count; ++i) groups.push_back(rows.group(i));
    const auto group = [&](Eigen::Index i) { return groups[static_cast<std::size_t>(i - from)]; };
    if (out.sizes.size() > 0) people.add(from, count, plan.sizes.one, group, out.sizes);
    for (std::size_t j = 0; j < facts.numbers.size(); ++j) {
      const auto points = static_cast<Eigen::Index>(grids[j].fine + 1);
      const auto cell = [&](Eigen::Index i) {
        const double x = group(i) < 0 ? std::nan("") : rows.number(i, j);
        if (std::isnan(x)) return Eigen::Index{-1};
        return group(i) * points + static_cast<Eigen::Index>(grids[j].fine_of(x));
      };
      people.add(from, count, std::ldexp(1.0, bits_of_shares(facts)), cell,
                 [&](Eigen::Index k) -> double& {
                   return out.cells[j * parts + static_cast<std::size_t>(k / points)]
                                   [static_cast<std::size_t>(k % points)];
                 });
    }
    Eigen::Index entry = 0, first = static_cast<Eigen::Index>(facts.numbers.size());
    for (int levels : facts.levels) {
      const auto place = [&](Eigen::Index i) {
        const int k = group(i) < 0 ? -1 : rows.level(i, first, levels);
        return k < 0 ? Eigen::Index{-1} : entry + group(i) * levels + k;
      };
      people.add(from, count, plan.table.one, place, out.table);
      entry += levels * facts.parts();
      first += levels;
    }
  });
  return out;
}

Eigen::VectorXd sum_powers(const row_source& source, const describe_facts& facts,
                           const describe_sums& units, std::size_t number,
                           const std::vector<describe_window>& windows) {
  using namespace describe_detail;
  constexpr int powers = describe_constants::powers;
  Eigen::VectorXd out = Eigen::VectorXd::Zero(facts.parts() * powers), own = out;
  std::vector<int> groups;
  each_person(source, facts, [&](const row_columns& rows, Eigen::Index first, Eigen::Index count) {
    groups.clear();
    for (Eigen::Index i = first; i < first + count; ++i) {
      const int g = rows.group(i);
      const double x = g < 0 ? std::nan("") : rows.number(i, number);
      if (std::isnan(x)) continue;
      groups.push_back(g);
      add_powers(windows[static_cast<std::size_t>(g)], units, x, own.data() + g * powers);
    }
    if (groups.empty() && facts.parts() == 1) {
      // With one group a missing value counts as the median, which changes no limit of the sums.
      const double z = windows[0].scaled(windows[0].middle);
      out[1] += std::nearbyint(z * units.one);
      out[2] += std::nearbyint(z * z * units.square);
    }
    // The mean over rows, toward zero: so that it is at most as long. A group's second turn adds 0.
    for (const int g : groups)
      for (int k = g * powers; k < (g + 1) * powers; ++k) {
        out[k] += std::trunc(own[k] / static_cast<double>(groups.size()));
        own[k] = 0.0;
      }
  });
  return out;
}

described run_describe(const describe_plan& plan, const describe_facts& facts,
                       const row_source& source, noise& draws) {
  using namespace describe_detail;
  const int parts = facts.parts();
  const describe_counts counts = count_columns(source, facts, plan);
  described out;
  if (facts.groups > 1)
    out.sizes = add_noise(plan, plan.sizes, "sizes of groups", counts.sizes, draws);
  Eigen::Index entry = 0;
  out.table.resize(counts.table.size());
  for (std::size_t f = 0; f < facts.factors.size(); ++f) {
    const Eigen::Index entries = facts.levels[f] * parts;
    out.table.segment(entry, entries) =
        noisy_levels(plan, "levels of " + facts.factors[f], counts.table.segment(entry, entries),
                     parts > 1, draws);
    entry += entries;
  }
  for (std::size_t j = 0; j < facts.numbers.size(); ++j) {
    std::vector<describe_window> windows;
    for (const described_number& found :
         locate(plan, facts, &counts.cells[j * static_cast<std::size_t>(parts)], j, draws)) {
      out.numbers.push_back(found);
      windows.push_back(window_of(facts, plan, found, j));
    }
    const describe_sums& units = plan.powers(out.numbers.back().reached());
    const Eigen::VectorXd sums = sum_powers(source, facts, units, j, windows);
    split_sums(add_noise(plan, units, "moments of " + facts.numbers[j], sums, draws), j, parts,
               out);
  }
  return out;
}

}  // namespace dpsc
