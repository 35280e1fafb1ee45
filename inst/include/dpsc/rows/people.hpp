// Questions of a regression whose answers are integer sums over people: by one pass over their
// rows, or by the source of the rows.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "design.hpp"
#include "sums.hpp"

namespace dpsc {

/// Grid steps of a score, at most `score_limit` long, per step of (w, k) and of the residual.
double score_zoom(Eigen::Index p, double score_limit, double limit, double constant,
                  double residual_limit);

/// The questions. PUBLIC or RELEASED. Limits are integers.
struct people_question {
  enum class kind {
    medians,    // people in cells of equal width, one column per located variable
    scales,     // people by the first limit not below |q - middle|, one column per variable
    lengths,    // people by the first limit not below |z|^2, z the first p features
    residuals,  // people by the first limit not below a |z_p| min(1, radius / |z|)
    outer,      // the Gram matrix of clipped rows (w, r, k)
    scores      // the Gram matrix of (w, k) r
  };
  kind what = kind::medians;
  const lm_design* design = nullptr;
  const lm_location* location = nullptr;  // for `lengths` and later kinds
  double width = 0.0;                     // of a cell, grid units
  double cells = 0.0;
  std::vector<double> middle;  // of located variables, grid units
  std::vector<double> limits;  // increasing
  row_map map;                 // from columns of the model and the response to features
  double radius = 0.0, clip = 0.0;
  double limit = 0.0, residual_limit = 0.0, constant = 0.0;  // R, R_r, K of a round
  double score_limit = 0.0;

  /// Grid steps of clipped rows, of clipped residuals and of scores per step of the original.
  double zoom() const { return clipped_moments::zoom(design->p(), radius, limit); }
  double residual_zoom() const { return residual_limit / clip; }
  double score_zoom() const;

  bool counts() const { return what != kind::outer && what != kind::scores; }
  /// Rows and columns of the answer.
  Eigen::Index height() const;
  Eigen::Index width_of_answer() const;
  /// The largest entry that one row can add.
  double largest() const;
};

/// The answer, without noise. PRIVATE.
struct people_sums {
  double rows = 0.0, there = 0.0;  // people, and people who are not missing
  Eigen::MatrixXd sums;

  explicit people_sums(const people_question& question);

  /// Adds the sums of a pass that were computed elsewhere, or refuses them if no rows can have such
  /// sums.
  void add(const people_question& question, const Eigen::MatrixXd& own, double own_rows,
           double own_there);
};

/// For people with several rows, counts are in units of 2^-20 of a person.
constexpr int share_bits = 20;

/// A block of rows, and each person's number of rows.
struct people_block {
  const Eigen::MatrixXd& grid;
  const Eigen::ArrayXd& present;
  const std::vector<Eigen::Index>& people;
};

/// The number of people with a present row.
double people_there(const people_block& block);

/// Queries every part of a source; if a part has no sums, its rows go to `add(grid, present,
/// sums)`, and people with several rows to `add.people(block, sums)`: counts are then in shares of
/// a person (person.hpp).
template <typename Add, typename Tick>
people_sums sum_people(const row_source& source, const people_question& question, Add&& add,
                       Tick&& tick) {
  people_sums out(question);
  lm_reader reader(*question.design);
  const auto p = static_cast<double>(question.design->p());
  source.each_part([&](const row_source& part) {
    if (part.ask(question, out)) return;
    reader.pass(part, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
      if (question.design->person) {
        const people_block block{grid, present, reader.people()};
        out.rows += static_cast<double>(block.people.size());
        out.there += people_there(block);
        add.people(block, out.sums);
      } else {
        out.rows += static_cast<double>(grid.rows());
        out.there += static_cast<double>((present > 0.0).count());
        add(grid, present, out.sums);
      }
      tick(static_cast<double>(grid.rows()) * (p + 1.0) * (p + 8.0));
    });
  });
  return out;
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "people.cpp"
#endif
