// Method "gram" for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/release/gram_release.hpp>

#include "r_gram.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

Rcpp::List from_release(const dpsc::gram_release& release, bool weighted) {
  Rcpp::List out = from_statistics(release.statistics);
  if (weighted) out["share"] = release.share;
  out["rounds"] = from_rounds(release.rounds);
  if (release.intervals.made) out["intervals"] = from_intervals(release.intervals);
  const dpsc::targeted_sum& t = release.target;
  if (t.mean.size() > 0)
    out["target"] =
        Rcpp::List::create(_["mean"] = Rcpp::wrap(t.mean), _["sd"] = t.sd, _["radius"] = t.radius);
  return out;
}

dpsc::gram_release release(const Rcpp::List& facts, const Rcpp::List& scale,
                           const Rcpp::List& options, const dpsc::row_source& source,
                           dpsc::noise& draws) {
  const dpsc::panel_facts panel = as_facts(facts);
  return dpsc::run_gram(dpsc::plan_gram(panel), panel, as_scale(scale), as_options(options), source,
                        draws, interrupter());
}

}  // namespace

// Budget and steps of a release; reads no donors' rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List gram_plan_cpp(const Rcpp::List& facts) {
  const dpsc::panel_facts panel = as_facts(facts);
  const dpsc::gram_plan plan = dpsc::plan_gram(panel);
  const dpsc::moments_step& last = plan.moments.back();
  return Rcpp::List::create(
      _["steps"] = as_steps(plan.records), _["rho"] = plan.rho, _["total"] = plan.total,
      _["calibrated"] = plan.calibration.made(), _["tail"] = plan.calibration.tail,
      _["pre"] = static_cast<int>(plan.features.pre), _["demean"] = plan.features.demean,
      _["loadings"] = plan.features.loadings, _["origin"] = plan.features.origin,
      _["weight"] = plan.features.weight, _["low"] = plan.features.low,
      _["high"] = plan.features.high,
      _["moment_noise"] = last.sigma / (last.limit * last.limit * panel.n));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List gram_release_cpp(SEXP donors, const Rcpp::List& facts, const Rcpp::List& scale,
                            const Rcpp::List& options, SEXP rng) {
  const auto source = as_source(donors);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_release(release(facts, scale, options, *source, draws),
                        facts.containsElementNamed("weights"));
  });
}

// Mean and covariance without noise: NOT PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List raw_statistics_cpp(SEXP donors, double n, int T0, int T1, const Rcpp::List& scale) {
  const auto source = as_source(donors);
  return from_statistics(dpsc::raw_statistics(*source, as_scale(scale), n, T0, T1, interrupter()));
}

// The same for people with weights, in the last column of their rows: NOT PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List raw_weighted_cpp(SEXP donors, double n, int T0, int T1, const Rcpp::List& scale,
                            const Eigen::VectorXd& weights) {
  const auto source = as_source(donors);
  double people = 0.0;
  Rcpp::List out = from_statistics(dpsc::raw_weighted(
      *source, as_scale(scale), as_weights(Rcpp::wrap(weights)), T0, T1, people, interrupter()));
  out["share"] = people / n;
  return out;
}

// Counterfactuals of targets (rows, scaled units) from a release's statistics; `own` marks those
// with a round of their own.
// [[Rcpp::export(rng = false)]]
Rcpp::List gram_estimate_cpp(const Rcpp::List& statistics, const Rcpp::List& options,
                             const Eigen::MatrixXd& targets, const Eigen::VectorXd& size,
                             const Rcpp::Nullable<Rcpp::LogicalVector>& own = R_NilValue) {
  const dpsc::gram_statistics s = as_statistics(statistics);
  const dpsc::counterfactual_estimator estimator(s, as_options(options));
  // If their number is not given, the error of their mean is left out.
  const double donors = options.containsElementNamed("n") ? Rcpp::as<double>(options["n"])
                                                          : std::numeric_limits<double>::infinity();
  dpsc::target_correction correction;
  Rcpp::LogicalVector served(targets.rows());
  if (own.isNotNull() && statistics.containsElementNamed("target")) {
    served = Rcpp::as<Rcpp::LogicalVector>(own);
    const Rcpp::List found = statistics["target"];
    correction = {Rcpp::as<Eigen::VectorXd>(found["mean"]), Rcpp::as<double>(found["sd"])};
  }
  Rcpp::List out(targets.rows());
  for (Eigen::Index i = 0; i < targets.rows(); ++i) {
    const Eigen::VectorXd pre = targets.row(i).head(s.T0());
    const dpsc::target_estimate e = estimator.target(pre, served[i] ? &correction : nullptr);
    out[i] = Rcpp::List::create(
        _["path"] = Rcpp::wrap(e.path), _["prediction"] = e.prediction, _["privacy"] = e.privacy,
        _["released"] = e.released, _["hidden"] = e.hidden, _["disagreement"] = e.disagreement,
        _["leverage"] = e.leverage, _["size"] = size[i], _["penalty"] = e.penalty,
        _["scale"] = e.scale, _["variation"] = e.variation,
        _["apart"] = estimator.apart(pre, size[i], donors));
  }
  return out;
}

// The share of donors whom a small range of errors may hide.
// [[Rcpp::export(rng = false)]]
double unseen_share_cpp(double exponent, double n) { return dpsc::unseen_share(exponent, n); }

// The variance that they add to the error of one person, by target (rows, scaled units).
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector unseen_variance_cpp(double clip, double exponent, double n,
                                        const Eigen::MatrixXd& targets, const Eigen::VectorXd& half,
                                        int T0) {
  const Eigen::VectorXd out = dpsc::unseen_variance(clip, exponent, n, targets, half, T0);
  return Rcpp::NumericVector(out.data(), out.data() + out.size());
}

// The shift of a group's counterfactual by a few donors who change far more than others.
// [[Rcpp::export(rng = false)]]
double hidden_shift_cpp(double calm, double clip, double second, double model, double shortened) {
  return dpsc::hidden_shift(calm, clip, second, model, shortened);
}

// Rows under a round's map, for the losses of single people (curator only) and for tests:
// squared norms and sums of absolute values of the clipped integer rows. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List gram_contributions_cpp(SEXP donors, const Rcpp::List& scale, const Rcpp::List& round) {
  const dpsc::grid_map rows =
      dpsc::map_on_grid(as_scale(scale), Rcpp::as<Eigen::MatrixXd>(round["loadings"]),
                        Rcpp::as<Eigen::VectorXd>(round["origin"]));
  const double radius = dpsc::radius_steps(Rcpp::as<double>(round["radius"]), rows);
  dpsc::clipped_moments sums(rows.map.dimension(), radius, Rcpp::as<double>(round["clipped"]));
  std::vector<double> squared, absolute, norm;
  const auto source = as_source(donors);
  source->pass([&](const dpsc::table_view& table) {
    dpsc::block_reader reader(table, rows.map);
    for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
      const Eigen::MatrixXd& z = reader.features(b);
      const Eigen::MatrixXd& w = sums.clip(z);
      for (Eigen::Index i = 0; i < w.rows(); ++i) {
        squared.push_back(w.row(i).squaredNorm());
        absolute.push_back(w.row(i).cwiseAbs().sum());
        norm.push_back(z.row(i).norm() * rows.unit);
      }
    }
  });
  return Rcpp::List::create(_["squared"] = squared, _["absolute"] = absolute, _["norm"] = norm);
}

// Features and clipped rows of a round, integers, for tests. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List row_integers_cpp(SEXP donors, const Rcpp::List& scale, const Eigen::MatrixXd& loadings,
                            const Eigen::VectorXd& origin, double radius, double limit) {
  const dpsc::grid_map rows = dpsc::map_on_grid(as_scale(scale), loadings, origin);
  const dpsc::table_view table = as_table(donors);
  dpsc::block_reader reader(table, rows.map);
  Eigen::MatrixXd z(table.rows, loadings.cols()), w(table.rows, loadings.cols());
  const double steps = dpsc::radius_steps(radius, rows);
  dpsc::clipped_moments sums(loadings.cols(), steps, limit);
  for (Eigen::Index b = 0; b < reader.blocks(); ++b) {
    const Eigen::MatrixXd& block = reader.features(b);
    z.middleRows(reader.first_row(b), block.rows()) = block;
    w.middleRows(reader.first_row(b), block.rows()) = sums.clip(block);
    sums.add(block);
  }
  const dpsc::row_map& map = rows.map;
  return Rcpp::List::create(
      _["features"] = z, _["clipped"] = w, _["sum"] = sums.sum(), _["gram"] = sums.gram(),
      _["unit"] = rows.unit, _["reach"] = rows.reach, _["radius"] = steps,
      _["map"] = Rcpp::List::create(_["centre"] = map.centre, _["scale"] = map.scale,
                                    _["limit"] = map.limit, _["loadings"] = map.loadings,
                                    _["rescale"] = map.rescale, _["origin"] = map.origin));
}

// Losses of the choice of a radius, for tests. PRIVATE.
std::vector<double> radius_losses_cpp(SEXP donors, const Rcpp::List& scale,
                                      const Eigen::MatrixXd& loadings,
                                      const Eigen::VectorXd& origin,
                                      const std::vector<double>& radii, int bits) {
  const dpsc::grid_map rows = dpsc::map_on_grid(as_scale(scale), loadings, origin);
  std::vector<double> squared;
  for (double r : radii) squared.push_back(std::pow(dpsc::radius_steps(r, rows), 2.0));
  dpsc::radius_energy energy(squared, dpsc::radius_price, bits);
  const auto source = as_source(donors);
  dpsc::add_features(*source, rows.map, energy, [](double) {});
  const std::vector<std::int64_t> losses = energy.losses();
  return {losses.begin(), losses.end()};
}
const probe radius_losses_probe("radius_losses", radius_losses_cpp);

// An index (from 1) by the exponential mechanism in integers, for tests of its distribution.
int private_choice_cpp(const std::vector<double>& losses, double units,
                       const std::vector<double>& log_prior, int shift, SEXP rng) {
  dpsc::private_choice choice;
  for (double loss : losses) {
    if (loss != std::floor(loss)) throw std::invalid_argument("losses must be whole numbers");
    choice.losses.push_back(static_cast<std::int64_t>(loss));
  }
  choice.units = static_cast<std::uint64_t>(units);
  choice.offsets = dpsc::prior_offsets(log_prior, shift);
  choice.shift = shift;
  return with_engine(rng, [&](auto& engine) { return static_cast<int>(choice.draw(engine)) + 1; });
}
const probe private_choice_probe("private_choice", private_choice_cpp);
