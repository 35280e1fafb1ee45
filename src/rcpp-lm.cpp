// Private linear regression for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/estimate/anderson_rubin.hpp>
#include <dpsc/estimate/penalised.hpp>
#include <dpsc/estimate/sandwich.hpp>
#include <dpsc/release/lm_raw.hpp>
#include <dpsc/release/lm_release.hpp>

#include "r_design.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::lm_facts as_facts(const Rcpp::List& x) {
  dpsc::lm_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  if (x.containsElementNamed("scores")) facts.scores = Rcpp::as<bool>(x["scores"]);
  if (x.containsElementNamed("kept")) facts.kept = Rcpp::as<double>(x["kept"]);
  facts.design = as_design(x["design"]);
  const Rcpp::CharacterVector names = Rcpp::as<Rcpp::List>(x["design"])["names"];
  for (std::size_t j : facts.design.located())
    facts.located.push_back(Rcpp::as<std::string>(names[static_cast<R_xlen_t>(j)]));
  return facts;
}

Rcpp::List from_frame(const dpsc::lm_frame& frame) {
  return Rcpp::List::create(_["centre"] = frame.centre, _["whiten"] = frame.whiten,
                            _["slope"] = frame.slope, _["level"] = frame.level);
}

dpsc::lm_frame as_frame(const Rcpp::List& x, Eigen::Index p) {
  dpsc::lm_frame out{Rcpp::as<Eigen::VectorXd>(x["centre"]), Rcpp::as<Eigen::MatrixXd>(x["whiten"]),
                     Rcpp::as<Eigen::VectorXd>(x["slope"]), Rcpp::as<double>(x["level"])};
  if (out.centre.size() != p || out.whiten.rows() != p || out.whiten.cols() != p ||
      out.slope.size() != p)
    throw std::invalid_argument("a frame does not fit the design");
  return out;
}

Rcpp::List from_round(const dpsc::lm_round& r) {
  return Rcpp::List::create(
      _["centre"] = r.frame.centre, _["whiten"] = r.frame.whiten, _["slope"] = r.frame.slope,
      _["level"] = r.frame.level, _["radius"] = r.radius, _["clip"] = r.clip,
      _["weight"] = r.weight, _["mean"] = r.mean, _["residual"] = r.residual,
      _["covariance"] = r.covariance, _["cross"] = r.cross, _["variance"] = r.variance,
      _["sd"] = Rcpp::NumericVector::create(r.sd_covariance, r.sd_cross, r.sd_variance, r.sd_mean,
                                            r.sd_residual));
}

dpsc::lm_round as_round(const Rcpp::List& x, Eigen::Index p) {
  dpsc::lm_round r;
  r.frame = as_frame(x, p);
  r.radius = Rcpp::as<double>(x["radius"]);
  r.clip = Rcpp::as<double>(x["clip"]);
  r.weight = Rcpp::as<double>(x["weight"]);
  r.mean = Rcpp::as<Eigen::VectorXd>(x["mean"]);
  r.residual = Rcpp::as<double>(x["residual"]);
  r.covariance = Rcpp::as<Eigen::MatrixXd>(x["covariance"]);
  r.cross = Rcpp::as<Eigen::VectorXd>(x["cross"]);
  r.variance = Rcpp::as<double>(x["variance"]);
  const Rcpp::NumericVector sd = x["sd"];
  if (r.mean.size() != p || r.covariance.rows() != p || r.covariance.cols() != p ||
      r.cross.size() != p || sd.size() != 5)
    throw std::invalid_argument("a round does not fit the design");
  r.sd_covariance = sd[0];
  r.sd_cross = sd[1];
  r.sd_variance = sd[2];
  r.sd_mean = sd[3];
  r.sd_residual = sd[4];
  return r;
}

Rcpp::List from_release(const dpsc::lm_release& release) {
  Rcpp::List rounds;
  for (const dpsc::lm_round& round : release.rounds) rounds.push_back(from_round(round));
  Rcpp::List out = Rcpp::List::create(_["median"] = release.location.median,
                                      _["scale"] = release.location.scale, _["rounds"] = rounds);
  if (release.counts)
    out["counts"] =
        Rcpp::NumericVector::create(_["rows"] = release.counts->rows,
                                    _["far"] = release.counts->far, _["sd"] = release.counts->sd);
  if (release.scores) {
    Rcpp::List scores = from_frame(release.scores->frame);
    scores["meat"] = release.scores->meat;
    scores["sd"] = Rcpp::NumericVector::create(release.scores->sd_slopes, release.scores->sd_mixed,
                                               release.scores->sd_constant);
    out["scores"] = scores;
  }
  return out;
}

dpsc::lm_release as_release(const Rcpp::List& x, const dpsc::lm_design& design) {
  const Eigen::Index p = design.p();
  dpsc::lm_release out;
  out.location = {Rcpp::as<Eigen::VectorXd>(x["median"]), Rcpp::as<Eigen::VectorXd>(x["scale"])};
  const auto variables = static_cast<Eigen::Index>(design.variables.size());
  if (out.location.median.size() != variables || out.location.scale.size() != variables)
    throw std::invalid_argument("the location does not fit the design");
  for (SEXP round : Rcpp::List(x["rounds"])) out.rounds.push_back(as_round(round, p));
  if (out.rounds.empty()) throw std::invalid_argument("a release needs a round");
  if (x.containsElementNamed("counts")) {
    const Rcpp::NumericVector counts = x["counts"];
    if (counts.size() != 3) throw std::invalid_argument("there are two counts");
    out.counts = dpsc::lm_counts{counts[0], counts[1], counts[2]};
  }
  if (x.containsElementNamed("scores")) {
    const Rcpp::List scores = x["scores"];
    const Rcpp::NumericVector sd = scores["sd"];
    dpsc::lm_scores own{as_frame(scores, p), Rcpp::as<Eigen::MatrixXd>(scores["meat"])};
    if (own.meat.rows() != p + 1 || own.meat.cols() != p + 1 || sd.size() != 3)
      throw std::invalid_argument("scores do not fit the design");
    own.sd_slopes = sd[0];
    own.sd_mixed = sd[1];
    own.sd_constant = sd[2];
    out.scores = own;
  }
  return out;
}

/// The inputs that every function of a release needs.
struct reading {
  dpsc::lm_design design;
  dpsc::lm_release release;
  dpsc::lm_units units;
  dpsc::lm_pool pool;
  double rows;

  reading(const Rcpp::List& x, const Rcpp::List& own, double n)
      : design(as_design(own)),
        release(as_release(x, design)),
        units(units_of(design, release.location)),
        pool(release.rounds),
        rows(rows_of(n)) {}

 private:
  static dpsc::lm_units units_of(const dpsc::lm_design& design, const dpsc::lm_location& location) {
    bool closed = true;
    dpsc::lm_units out = dpsc::multiply_out(design, location, closed);
    if (!closed) throw std::invalid_argument("a product needs its lower orders");
    return out;
  }

  double rows_of(double n) const {
    return dpsc::sampling_rows(pool, release.counts, design.weighted, n);
  }
};

Rcpp::List from_estimate(const dpsc::lm_estimate& e) {
  return Rcpp::List::create(
      _["coefficients"] =
          Rcpp::NumericVector(e.coefficients.data(), e.coefficients.data() + e.coefficients.size()),
      _["privacy"] = e.privacy, _["sampling"] = e.sampling, _["residual"] = e.residual,
      _["r.squared"] = e.r_squared,
      _["identified"] =
          Rcpp::NumericVector(e.identified.data(), e.identified.data() + e.identified.size()),
      _["rows"] = e.rows, _["robust"] = e.robust);
}

std::vector<int> as_kept(const Rcpp::IntegerVector& kept, Eigen::Index p) {
  std::vector<int> out;
  for (int k : kept) {
    if (k < 1 || k > p) throw std::invalid_argument("there is no such column");
    out.push_back(k - 1);
  }
  return out;
}

}  // namespace

// Budget and steps of a regression; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_plan_cpp(const Rcpp::List& facts) {
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  // Whether the largest radius contains the smallest group of a 0/1 regressor, if its share is
  // given.
  const double share = facts.containsElementNamed("share") ? Rcpp::as<double>(facts["share"]) : 0.5;
  const double group =
      std::sqrt(dpsc::group_square(share, 1.0, 1.0, static_cast<double>(known.design.p())));
  const bool held = share == 0.5 || group <= plan.longest;
  const double radius = held ? std::max(plan.radius, group) : plan.radius;
  const dpsc::lm_course course =
      dpsc::course_of(plan, radius, std::numeric_limits<double>::infinity(), 0.0);
  const dpsc::lm_size& size = course.stays ? course.wide : course.narrow;
  const dpsc::lm_outlook outlook = dpsc::outlook_of(plan, size, course.rounds);
  Rcpp::List rounds;
  for (const dpsc::lm_round_plan& round : plan.rounds)
    rounds.push_back(Rcpp::List::create(_["limit"] = round.limit,
                                        _["residual_limit"] = round.residual_limit,
                                        _["constant"] = round.constant, _["noise"] = round.noise));
  return Rcpp::List::create(
      _["steps"] = as_steps(plan.records), _["total"] = plan.total, _["rho"] = plan.rho,
      _["signal"] = plan.signal, _["resolved"] = plan.resolved, _["located"] = plan.location.made,
      _["rounds"] = rounds, _["held"] = held, _["square"] = outlook.square,
      _["privacy"] = outlook.privacy, _["allowance"] = dpsc::planned_allowance(plan, radius),
      _["shares"] = Rcpp::NumericVector::create(
          _["location"] = plan.shares.location, _["moments"] = plan.shares.moments,
          _["counts"] = plan.shares.counts, _["scores"] = plan.shares.scores));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List lm_release_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng) {
  const auto source = as_source(rows);
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_release(dpsc::run_lm(plan, known, *source, draws, interrupter()));
  });
}

// Coefficients in the formula's units from a release; `kept`: columns of a submodel, or NULL.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_estimate_cpp(const Rcpp::List& release, const Rcpp::List& design, double n,
                           const Rcpp::Nullable<Rcpp::IntegerVector>& kept) {
  const reading own(release, design, n);
  if (kept.isNotNull())
    return from_estimate(dpsc::estimate_part(own.pool, own.units, own.rows,
                                             as_kept(Rcpp::IntegerVector(kept), own.design.p())));
  dpsc::lm_estimate fit = dpsc::estimate_full(own.pool, own.units, own.rows);
  if (own.release.scores) dpsc::apply_scores(own.pool, own.units, *own.release.scores, n, fit);
  return from_estimate(fit);
}

// Limits of every slope that are valid without knowledge of the curvature; infinite if there are
// none.
// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd lm_anderson_cpp(const Rcpp::List& release, const Rcpp::List& design, double n,
                                double quantile) {
  const reading own(release, design, n);
  return dpsc::anderson_rubin(own.pool, own.units, own.rows, quantile);
}

// Moments of the columns, from a release.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_moments_cpp(const Rcpp::List& release, const Rcpp::List& design, double n) {
  const reading own(release, design, n);
  const dpsc::column_moments m = dpsc::pooled_columns(own.pool, own.units, own.rows);
  return Rcpp::List::create(_["mean"] = m.mean, _["covariance"] = m.covariance,
                            _["cross"] = m.cross, _["response_mean"] = m.response_mean,
                            _["response"] = m.response, _["doubt"] = m.doubt);
}

// [[Rcpp::export(rng = false)]]
Eigen::MatrixXd penalised_path_cpp(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& cross,
                                   double alpha, const std::vector<double>& penalties) {
  return dpsc::penalised_path(covariance, cross, alpha, penalties);
}

// Largest discrepancy between a release and the values that follow from its plan and its noisy
// moments.
// [[Rcpp::export(rng = false)]]
double lm_discrepancy_cpp(const Rcpp::List& release, const Rcpp::List& facts) {
  const dpsc::lm_facts known = as_facts(facts);
  return dpsc::release_discrepancy(dpsc::plan_lm(known), known, as_release(release, known.design));
}

// Does every product have its columns of lower order?
bool lm_closed_cpp(const Rcpp::List& design) {
  const dpsc::lm_design known = as_design(design);
  const auto count = static_cast<Eigen::Index>(known.variables.size());
  bool closed = true;
  // Any location without zeros will do.
  dpsc::multiply_out(
      known, {Eigen::VectorXd::LinSpaced(count, 0.31, 0.37), Eigen::VectorXd::Ones(count)}, closed);
  return closed;
}
const probe lm_closed_probe("lm_closed", lm_closed_cpp);

// Mean and covariance of the columns without noise, and, on request, the coefficients'
// heteroskedasticity-robust covariance: NOT PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_raw_cpp(SEXP rows, const Rcpp::List& design, bool scores) {
  const auto source = as_source(rows);
  const dpsc::lm_design known = as_design(design);
  const dpsc::raw_columns raw(*source, known);
  Rcpp::List out = Rcpp::List::create(_["mean"] = raw.mean, _["covariance"] = raw.covariance,
                                      _["rows"] = raw.rows, _["weight"] = raw.weight);
  if (scores) {
    std::vector<int> all;
    for (int k = 0; k < known.p(); ++k) all.push_back(k);
    const Eigen::VectorXd fit =
        dpsc::estimate_raw(raw.mean, raw.covariance, raw.rows, all).coefficients;
    out["sandwich"] = dpsc::raw_sandwich(*source, known, raw, fit);
  }
  return out;
}

// [[Rcpp::export(rng = false)]]
Rcpp::List lm_raw_estimate_cpp(const Rcpp::List& raw, const Rcpp::IntegerVector& kept) {
  const auto mean = Rcpp::as<Eigen::VectorXd>(raw["mean"]);
  dpsc::lm_estimate fit =
      dpsc::estimate_raw(mean, Rcpp::as<Eigen::MatrixXd>(raw["covariance"]),
                         Rcpp::as<double>(raw["rows"]), as_kept(kept, mean.size() - 1));
  if (raw.containsElementNamed("sandwich") && kept.size() == mean.size() - 1) {
    fit.sampling = Rcpp::as<Eigen::MatrixXd>(raw["sandwich"]);
    fit.robust = true;
  }
  return from_estimate(fit);
}

// Integer rows of a round, for tests. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List lm_rows_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& release, int round) {
  const auto source = as_source(rows);
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  const dpsc::lm_location location{Rcpp::as<Eigen::VectorXd>(release["median"]),
                                   Rcpp::as<Eigen::VectorXd>(release["scale"])};
  const Eigen::Index p = known.design.p();
  const dpsc::lm_round made =
      as_round(Rcpp::as<Rcpp::List>(release["rounds"])[static_cast<R_xlen_t>(round - 1)], p);
  const dpsc::lm_round_plan& step = plan.rounds[static_cast<std::size_t>(round - 1)];
  dpsc::lm_reader reader(known.design);
  dpsc::lm_columns columns(known.design, location);
  dpsc::lm_features features(columns, made.frame);
  const double unit = features.unit();
  dpsc::lm_outer outer(step, p, dpsc::limit_steps(made.radius, unit),
                       dpsc::limit_steps(made.clip, unit));
  Eigen::MatrixXd out(0, p + 2);
  reader.pass(*source, [&](const Eigen::MatrixXd& grid, const Eigen::ArrayXd& present) {
    const Eigen::MatrixXd& u = outer.rows(features.features(columns.columns(grid)), present);
    Eigen::MatrixXd joined(out.rows() + u.rows(), p + 2);
    joined << out, u;
    out.swap(joined);
  });
  return Rcpp::List::create(_["rows"] = out, _["bound"] = step.bound(), _["limit"] = step.limit,
                            _["residual_limit"] = step.residual_limit,
                            _["constant"] = step.constant);
}

// Integer scores of made-up integer rows (w, r, k), for tests.
Rcpp::List lm_score_rows_cpp(const Eigen::MatrixXd& row, const Rcpp::List& facts) {
  const dpsc::lm_facts known = as_facts(facts);
  const dpsc::lm_plan plan = dpsc::plan_lm(known);
  if (!plan.scores.made || row.cols() != known.design.p() + 2)
    throw std::invalid_argument("rows do not fit the scores");
  dpsc::lm_score_rows sums(plan.scores, plan.rounds.back(), known.design.p());
  return Rcpp::List::create(_["scores"] = sums.rows(row), _["limit"] = plan.scores.limit);
}
const probe lm_score_rows_probe("lm_score_rows", lm_score_rows_cpp);

// The level beyond clips from levels under clips, for tests.
Rcpp::List extrapolate_level_cpp(const Eigen::MatrixXd& levels, double deviation, double range) {
  std::vector<dpsc::clipped_level> all;
  for (Eigen::Index t = 0; t < levels.rows(); ++t)
    all.push_back({levels(t, 0), levels(t, 1), levels(t, 2), levels(t, 3) > 0.0});
  const dpsc::lm_tail tail = dpsc::extrapolate_level(all, deviation, range);
  return Rcpp::List::create(_["level"] = tail.level, _["variance"] = tail.variance,
                            _["left"] = tail.left, _["left.variance"] = tail.left_variance);
}
const probe extrapolate_level_probe("extrapolate_level", extrapolate_level_cpp);

// Losses of a median from counts, for tests.
std::vector<double> median_losses_cpp(const std::vector<double>& counts, double missing) {
  const std::vector<std::int64_t> whole(counts.begin(), counts.end());
  const std::vector<std::int64_t> out =
      dpsc::median_losses(whole, static_cast<std::int64_t>(missing));
  return {out.begin(), out.end()};
}
const probe median_losses_probe("median_losses", median_losses_cpp);
