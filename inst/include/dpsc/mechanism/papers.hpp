// The papers' own perturbed logistic regressions, by name and calibration: output perturbation,
// objective perturbation (Chaudhuri, Monteleoni and Sarwate, 2011; Kifer, Smith and Thakurta, 2012;
// Thakurta, 2013) and NAPP-ERM (Li and Liu). Rows have |x| <= 1; one row is replaced; n is public.
// Proof: inst/proofs/papers.md, sections 4 to 6.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../accountant/spherical.hpp"
#include "budget.hpp"
#include "glm_family.hpp"

namespace dpsc {

/// sup over p in [0, 1] of p x + log(1 + c p (1 - p)): slope and curvature of one logistic record
/// at the same linear predictor. x: shift over noise scale; c: curvature over ridge.
double joint_loss(double x, double c);

/// The same for a slope in [-1, 1] whose curvature is 1 minus its square: sup over h in [0, 1] of
/// h x + log(1 + c (1 - h^2) / 2).
double even_loss(double x, double c);

/// Largest x whose loss x + joint_loss(x, c), for one record in place of another, is at most
/// epsilon; rounded down. 0: the curvature alone costs more than epsilon.
double joint_shift(double epsilon, double c, bool replace = true,
                   slope_kind kind = slope_kind::pairs);

/// The summand of a record, |x| <= 1, outcomes in [-1, 1] before `outcome()`. PUBLIC.
struct paper_loss {
  glm_family family;
  double box = 0.0;  // above 0: half the squared residual, coefficients of (1, z) within it
  double lower = 0.0, upper = 1.0;  // of counts

  bool squared() const { return box > 0.0; }
  /// Longest slope of a record. |(1, z)| has d entries of 1 at most.
  double unit(double d) const { return squared() ? 1.0 + d * box : family.unit(); }
  /// Longest difference of two records' gradients at one point (papers.md, Theorem 6).
  double apart(double d) const { return squared() ? 2.0 + d * box : 2.0 * family.unit(); }
  double steepest() const { return squared() ? 1.0 : family.steepest(); }
  /// Rounding error of a record's slope, in its own units.
  double rough(double d) const {
    if (squared()) return unit(d);
    return family.kind == glm_kind::binomial ? 1.0 : std::max(1.0, family.rounding_reach(1.0));
  }
  /// The same for sums of products, per row: twice the bound for sums within and over blocks.
  static constexpr int block = 256;
  double loose(double n) const { return 0x1.0p-52 * (2.0 * block + n / block); }
  double outcome(double y) const {
    if (family.kind == glm_kind::gaussian) return y;
    if (family.kind == glm_kind::binomial) return family.outcome((y + 1.0) / 2.0);
    return family.outcome(lower + (y + 1.0) / 2.0 * (upper - lower));
  }
};

enum class vector_law {
  none,
  spherical,  // density proportional to exp(-|b| / scale)
  gaussian,   // standard deviation `scale`
  printed     // NAPP-ERM as printed: uniform direction, length exponential with mean `scale`
};

/// One minimisation: sum l + (ridge / 2) |theta - centre|^2 + b'theta.
struct perturbed_stage {
  vector_law law = vector_law::none;
  double scale = 0.0;
  double ridge = 0.0;
  bool centred = false;  // at the previous stage's estimate
};

/// PUBLIC.
struct paper_plan {
  std::vector<step_record> records;
  std::vector<perturbed_stage> stages;
  perturbed_stage output;  // noise on the minimiser (law, scale)
  // Noise that covers the solver's error.
  double tolerance = 0.0, cover = 0.0;
  bool holds = true;
  bool approximate = false;  // whether delta is used
  int iterations = 1;        // NAPP-ERM as printed: with the same noise
  double target = 0.0;       // and the weight of its lasso
  paper_loss loss;
};

enum class paper_method { output, objective, kst, cms, napp };
enum class paper_calibration { tight, published };

/// PUBLIC.
struct paper_facts {
  double n = 0.0, d = 0.0, epsilon = 0.0, delta = 0.0;
  paper_method method = paper_method::objective;
  paper_calibration calibration = paper_calibration::tight;
  double ridge = 0.0;  // 0: by a public rule
  int stages = 2;
  int iterations = 20;
  double target = 1.0;
  paper_loss loss;
};

namespace papers_detail {

constexpr double sup_curvature = 0.25;  // of a logistic record
constexpr double accuracy_share = 1e-3;
/// Ridges of tight calibrations are at least this: negligible compared with the rows, but enough
/// for the solver's tolerance if epsilon is large. A larger ridge is always at least as private.
constexpr double least_ridge = 0.05;

/// Curvature of n records that a public rule assumes: |x|^2 spread evenly over d, outcomes near
/// even odds.
inline double usual_curvature(const paper_facts& f) { return 0.19 * f.n / (3.0 * f.d); }

/// The ridge that minimises bias and noise of an output perturbation for coefficients of length 2
/// sqrt d: `spread` / ridge is the noise's size.
double output_ridge(const paper_facts& f, double spread);

/// A lower limit of the ridge: as published, except where the arithmetic fails.
double ridge_floor(const paper_facts& f);

/// Length that a linear term exceeds with probability below exp(-60) delta.
double longest(const perturbed_stage& stage, const paper_facts& f);

step_record pure_record(const std::string& label, double sensitivity, double scale, double epsilon);

/// The record of one draw of a vector, by its distribution.
step_record vector_record(const std::string& label, double sensitivity,
                          const perturbed_stage& noise, double epsilon);

void plan_output(const paper_facts& f, double epsilon, paper_plan& plan);

/// With a large epsilon, delta brings no gain.
inline bool uses_delta(const paper_facts& f) { return f.delta > 0.0 && f.epsilon <= 20.0; }

/// Objective perturbation with a ridge, one minimisation.
void add_objective(const perturbed_stage& stage, double epsilon, paper_plan& plan);

/// At a ridge of 2 / epsilon the curvature costs nothing; below it, slope and curvature share
/// epsilon.
perturbed_stage joint_stage(double ridge, double epsilon, const glm_family& family = {});

/// Approximate: spherical Laplace noise whose loss exceeds epsilon with probability delta
/// (papers.md, Theorem 5b): the ridge ensures that only saturated records can cause this.
perturbed_stage joint_stage(double ridge, double epsilon, double delta, int d);

void plan_objective(const paper_facts& f, double epsilon, paper_plan& plan);

/// Algorithm 2 of Chaudhuri, Monteleoni and Sarwate (2011): the cost of the ridge is subtracted
/// from epsilon; the ridge is raised if nothing is left. The published version counts the
/// curvatures of both the removed and the added record; one of them suffices.
void plan_cms(const paper_facts& f, double epsilon, paper_plan& plan);

/// Algorithm 3.1 of Thakurta (2013), Kifer, Smith and Thakurta (2012), for a replaced row; tight:
/// the same proof with exact constants. On a box it is Algorithm 4.1.
void plan_kst(const paper_facts& f, double epsilon, paper_plan& plan);

/// The stages of NAPP-ERM with Renyi accounting (inst/proofs/glm.md, Theorem 3, of every stage;
/// their moments add): one factor on all scales, found so that the whole is (epsilon,
/// delta)-private.
void plan_napp_renyi(const paper_facts& f, double epsilon, paper_plan& plan);

/// Stages with fresh noise, each centred at the previous estimate. Later stages use earlier ones:
/// stage k has k parts of the budget.
void plan_napp(const paper_facts& f, double epsilon, paper_plan& plan);

/// Ridge and noise scale as the paper prints them (equations 4 and 13, Table 2), for audits. NOT
/// PRIVATE: no guarantee holds.
void plan_napp_printed(const paper_facts& f, double epsilon, paper_plan& plan);

}  // namespace papers_detail

paper_plan plan_paper(const paper_facts& f);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "papers.cpp"
#endif
