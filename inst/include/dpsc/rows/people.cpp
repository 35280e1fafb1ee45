// Bodies of people.hpp.
#pragma once

#include "people.hpp"

namespace dpsc {

double score_zoom(Eigen::Index p, double score_limit, double limit, double constant,
                  double residual_limit) {
  const double root = std::sqrt(static_cast<double>(p) + 1.0);
  return (score_limit - root / 2.0) * (1.0 - 0x1.0p-40) /
         std::sqrt(limit * limit + constant * constant) / residual_limit;
}

double people_question::score_zoom() const {
  return dpsc::score_zoom(design->p(), score_limit, limit, constant, residual_limit);
}

Eigen::Index people_question::height() const {
  if (what == kind::medians) return static_cast<Eigen::Index>(cells);
  if (what == kind::scales) return static_cast<Eigen::Index>(limits.size());
  if (counts()) return static_cast<Eigen::Index>(limits.size()) + 1;
  return design->p() + (what == kind::outer ? 2 : 1);
}

Eigen::Index people_question::width_of_answer() const {
  if (what == kind::medians || what == kind::scales)
    return static_cast<Eigen::Index>(design->located().size());
  return counts() ? 1 : height();
}

double people_question::largest() const {
  if (counts()) return design->person ? std::ldexp(1.0, share_bits) : 1.0;
  if (what == kind::scores) return score_limit * score_limit;
  const double longest = std::max(limit, residual_limit);
  return longest * longest;
}

double people_there(const people_block& block) {
  double out = 0.0;
  Eigen::Index first = 0;
  for (const Eigen::Index rows : block.people) {
    out += (block.present.segment(first, rows) > 0.0).any();
    first += rows;
  }
  return out;
}

people_sums::people_sums(const people_question& question)
    : sums(Eigen::MatrixXd::Zero(question.height(), question.width_of_answer())) {}

void people_sums::add(const people_question& question, const Eigen::MatrixXd& own, double own_rows,
                      double own_there) {
  if (own.rows() != sums.rows() || own.cols() != sums.cols() || !is_count(own_rows) ||
      !is_count(own_there) || own_there > own_rows)
    throw std::invalid_argument("sums over people do not fit the question");
  const double most = own_rows * question.largest();
  const double one = question.design->person ? std::ldexp(1.0, share_bits) : 1.0;
  bool fits = (own.array().floor() == own.array()).all() && (own.array().abs() <= most).all();
  if (question.counts()) {
    // Lengths and residuals of missing people count as zero, which is within the limits; cells
    // contain only the other people.
    const bool all = question.what == people_question::kind::lengths ||
                     question.what == people_question::kind::residuals;
    fits = fits && (own.array() >= 0.0).all() &&
           (own.colwise().sum().array() == one * (all ? own_rows : own_there)).all();
  } else {
    fits = fits && own == own.transpose() && (own.diagonal().array() >= 0.0).all();
  }
  if (!fits) throw std::invalid_argument("sums over people are out of range");
  sums += own;
  rows += own_rows;
  there += own_there;
}

}  // namespace dpsc
