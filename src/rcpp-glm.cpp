// Private generalised linear models for R. Sums over people stay in C++ until noise has been added.
#include <RcppEigen.h>

#include <dpsc/release/glm_release.hpp>
#include <dpsc/solver/nearest_within.hpp>

#include "r_design.h"
#include "r_noise.h"
#include "r_probe.h"
#include "r_source.h"
#include "r_steps.h"

namespace {

using Rcpp::_;

dpsc::glm_kind as_kind(const std::string& name) {
  if (name == "binomial") return dpsc::glm_kind::binomial;
  if (name == "poisson") return dpsc::glm_kind::poisson;
  if (name == "gaussian") return dpsc::glm_kind::gaussian;
  throw std::invalid_argument("unknown family");
}

dpsc::glm_wishes as_wishes(const Rcpp::List& x) {
  dpsc::glm_wishes out;
  if (x.size() == 0) return out;
  out.any = true;
  out.lasso = Rcpp::as<double>(x["lasso"]);
  out.ridge = Rcpp::as<double>(x["ridge"]);
  out.group = Rcpp::as<double>(x["group"]);
  for (SEXP group : Rcpp::List(x["groups"])) {
    std::vector<int> columns = Rcpp::as<std::vector<int>>(group);
    for (int& j : columns) --j;
    out.groups.push_back(columns);
  }
  out.lower = Rcpp::as<Eigen::VectorXd>(x["lower"]);
  out.upper = Rcpp::as<Eigen::VectorXd>(x["upper"]);
  if (!x.containsElementNamed("A")) return out;
  out.A = Rcpp::as<Eigen::MatrixXd>(x["A"]);
  out.b = Rcpp::as<Eigen::VectorXd>(x["b"]);
  out.equal = Rcpp::as<std::vector<bool>>(x["equal"]);
  return out;
}

dpsc::glm_facts as_facts(const Rcpp::List& x) {
  dpsc::glm_facts facts;
  facts.n = Rcpp::as<double>(x["n"]);
  facts.epsilon = Rcpp::as<double>(x["epsilon"]);
  facts.delta = Rcpp::as<double>(x["delta"]);
  facts.design = as_design(x["design"]);
  facts.names = design_names(x["design"]);
  facts.kind = as_kind(Rcpp::as<std::string>(x["family"]));
  facts.upper = Rcpp::as<double>(x["upper"]);
  facts.intervals = Rcpp::as<bool>(x["intervals"]);
  if (x.containsElementNamed("offset")) facts.offset = Rcpp::as<int>(x["offset"]) - 1;
  if (x.containsElementNamed("dispersed")) facts.dispersed = Rcpp::as<bool>(x["dispersed"]);
  if (x.containsElementNamed("length")) facts.length = Rcpp::as<double>(x["length"]);
  if (x.containsElementNamed("wishes")) facts.wishes = as_wishes(x["wishes"]);
  return facts;
}

Rcpp::NumericVector as_vector(const Eigen::VectorXd& x) {
  return Rcpp::NumericVector(x.data(), x.data() + x.size());
}

Rcpp::List from_release(const dpsc::glm_release& r) {
  Rcpp::List rounds;
  for (const dpsc::whitening_round& round : r.rounds)
    rounds.push_back(Rcpp::List::create(_["radius"] = round.radius, _["weight"] = round.weight,
                                        _["mean"] = as_vector(round.mean),
                                        _["covariance"] = round.covariance, _["sd"] = round.sd));
  Rcpp::List out = Rcpp::List::create(
      _["median"] = as_vector(r.location.median), _["scale"] = as_vector(r.location.scale),
      _["rounds"] = rounds, _["centre"] = as_vector(r.frame.centre), _["whiten"] = r.frame.whiten,
      _["limit"] = r.weighting.limit, _["flat"] = r.weighting.flat, _["span"] = r.span,
      _["ridge"] = r.ridge, _["kappa"] = r.kappa, _["theta"] = as_vector(r.theta),
      _["out.sd"] = r.out_sd, _["information"] = r.information,
      _["information.sd"] = r.information_sd);
  if (r.scores.size() > 0) {
    out["scores"] = r.scores;
    out["scores.sd"] = r.scores_sd;
  }
  return out;
}

dpsc::glm_release as_release(const Rcpp::List& x) {
  dpsc::glm_release r;
  r.location = {Rcpp::as<Eigen::VectorXd>(x["median"]), Rcpp::as<Eigen::VectorXd>(x["scale"])};
  const auto centre = Rcpp::as<Eigen::VectorXd>(x["centre"]);
  r.frame = {centre, Rcpp::as<Eigen::MatrixXd>(x["whiten"]),
             Eigen::VectorXd(Eigen::VectorXd::Zero(centre.size())), 0.0};
  // Releases up to 0.3.0 used the smallest limit.
  r.weighting.limit = x.containsElementNamed("limit") ? Rcpp::as<double>(x["limit"])
                                                      : dpsc::row_limit(centre.size() + 1);
  r.weighting.flat = x.containsElementNamed("flat") && Rcpp::as<bool>(x["flat"]);
  r.span = Rcpp::as<double>(x["span"]);
  r.ridge = Rcpp::as<double>(x["ridge"]);
  r.kappa = Rcpp::as<double>(x["kappa"]);
  r.theta = Rcpp::as<Eigen::VectorXd>(x["theta"]);
  r.out_sd = Rcpp::as<double>(x["out.sd"]);
  r.information = Rcpp::as<Eigen::MatrixXd>(x["information"]);
  r.information_sd = Rcpp::as<double>(x["information.sd"]);
  if (x.containsElementNamed("scores")) {
    r.scores = Rcpp::as<Eigen::MatrixXd>(x["scores"]);
    r.scores_sd = Rcpp::as<double>(x["scores.sd"]);
  }
  // Only weighted fits need them, and files of 0.2.0 may lack them.
  if (!x.containsElementNamed("rounds") || Rf_isNull(x["rounds"])) return r;
  for (SEXP round : Rcpp::List(x["rounds"])) {
    dpsc::whitening_round read;
    read.weight = Rcpp::as<double>(Rcpp::List(round)["weight"]);
    r.rounds.push_back(read);
  }
  return r;
}

dpsc::slope_kind as_slopes(const std::string& name) {
  if (name == "pairs") return dpsc::slope_kind::pairs;
  if (name == "symmetric") return dpsc::slope_kind::symmetric;
  throw std::invalid_argument("unknown slopes");
}

/// Noise from another source, except for the linear term of an objective, which is known.
class known_term : public dpsc::noise {
 public:
  known_term(dpsc::noise& inner, const Eigen::VectorXd& linear) : inner_(inner), linear_(linear) {}

  Eigen::VectorXd add(const std::string& label, dpsc::law kind, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd& scale) override {
    return inner_.add(label, kind, exact, scale);
  }
  std::size_t choose(const std::string& label, const dpsc::private_choice& choice) override {
    return inner_.choose(label, choice);
  }
  std::vector<std::size_t> choose_jointly(const std::string& label,
                                          const dpsc::joint_choice& choice) override {
    return inner_.choose_jointly(label, choice);
  }
  Eigen::VectorXd add_real(const std::string& label, dpsc::law kind, const Eigen::VectorXd& exact,
                           double scale) override {
    return inner_.add_real(label, kind, exact, scale);
  }
  Eigen::VectorXd perturb(const std::string&, dpsc::law, double scale,
                          const dpsc::perturbed_objective& objective) override {
    if (linear_.size() != objective.size())
      throw std::invalid_argument("a vector of another dimension");
    return objective.minimiser(linear_ * scale);
  }
  Eigen::VectorXd draw(const std::string& label, const dpsc::normal_law& from) override {
    return inner_.draw(label, from);
  }
  std::vector<Eigen::Index> positions(Eigen::Index n, Eigen::Index m) override {
    return inner_.positions(n, m);
  }
  std::uint64_t sorting_bits() override { return inner_.sorting_bits(); }
  Eigen::VectorXd show(const std::string& label, dpsc::law kind, const Eigen::VectorXd& noisy,
                       const Eigen::VectorXd& scale) override {
    return inner_.show(label, kind, noisy, scale);
  }

 private:
  dpsc::noise& inner_;
  const Eigen::VectorXd& linear_;
};

}  // namespace

// Budget and steps of a model; reads no rows.
// [[Rcpp::export(rng = false)]]
Rcpp::List glm_plan_cpp(const Rcpp::List& facts) {
  const dpsc::glm_facts known = as_facts(facts);
  const dpsc::glm_plan plan = dpsc::plan_glm(known);
  const dpsc::glm_shares& s = plan.shares;
  return Rcpp::List::create(
      _["steps"] = as_steps(plan.records), _["located"] = plan.location.made,
      _["rounds"] = s.rounds, _["rho"] = plan.rho, _["reach"] = plan.reach, _["c"] = plan.c,
      _["order"] = plan.order, _["objective.epsilon"] = plan.objective_epsilon,
      _["caps"] = plan.caps, _["longest"] = plan.longest, _["stretch"] = plan.stretch,
      _["beyond"] = plan.beyond, _["identified.from"] = dpsc::identified_from(known, known.n),
      _["shares"] = Rcpp::NumericVector::create(
          _["location"] = s.location, _["radii"] = s.radii, _["moments"] = s.moments,
          _["cap"] = s.cap, _["accuracy"] = s.accuracy, _["information"] = s.information,
          _["scores"] = s.scores));
}

// [[Rcpp::export(rng = false)]]
Rcpp::List glm_release_cpp(SEXP rows, const Rcpp::List& facts, SEXP rng) {
  const auto source = as_source(rows);
  const dpsc::glm_facts known = as_facts(facts);
  const dpsc::glm_plan plan = dpsc::plan_glm(known);
  return with_noise(rng, [&](dpsc::noise& draws) {
    return from_release(dpsc::run_glm(plan, known, *source, draws, interrupter()));
  });
}

// A release with a known linear term (in its scales), with a noise object passed from R: for
// audits, on made-up rows only.
Rcpp::List glm_known_term_cpp(SEXP rows, const Rcpp::List& facts, const Eigen::VectorXd& linear,
                              SEXP noise) {
  const auto source = as_source(rows);
  const dpsc::glm_facts known = as_facts(facts);
  const dpsc::glm_plan plan = dpsc::plan_glm(known);
  return handed(noise).with([&](dpsc::noise& draws) {
    known_term given(draws, linear);
    return from_release(dpsc::run_glm(plan, known, *source, given, interrupter()));
  });
}
const probe glm_known_term_probe("glm_known_term", glm_known_term_cpp);

// Coefficients in the formula's units from a release.
// [[Rcpp::export(rng = false)]]
Rcpp::List glm_estimate_cpp(const Rcpp::List& release, const Rcpp::List& facts) {
  const dpsc::glm_estimate e = dpsc::estimate_glm(as_release(release), as_facts(facts));
  return Rcpp::List::create(_["coefficients"] = as_vector(e.coefficients), _["privacy"] = e.privacy,
                            _["sampling"] = e.sampling, _["identified"] = as_vector(e.identified),
                            _["blur"] = e.blur);
}

// Rows as the objective sees them, given a release: for tests. PRIVATE.
// [[Rcpp::export(rng = false)]]
Rcpp::List glm_rows_cpp(SEXP rows, const Rcpp::List& facts, const Rcpp::List& release) {
  const auto source = as_source(rows);
  const dpsc::glm_facts known = as_facts(facts);
  const dpsc::glm_release made = as_release(release);
  const dpsc::glm_rows read =
      dpsc::glm_release_detail::read_rows(*source, known, made, dpsc::family_of(known, made.span));
  Eigen::MatrixXd x(read.n, read.d()), block;
  Eigen::VectorXd weight(read.n), outcome(read.n), offset = Eigen::VectorXd::Zero(read.n);
  Eigen::Index at = 0;
  for (std::size_t b = 0; b < read.blocks.size(); ++b) {
    read.design(b, block);
    x.middleRows(at, block.rows()) = block;
    weight.segment(at, block.rows()) = read.weight[b];
    outcome.segment(at, block.rows()) = read.outcome[b];
    if (!read.offset.empty()) offset.segment(at, block.rows()) = read.offset[b];
    at += block.rows();
  }
  return Rcpp::List::create(_["x"] = x, _["weight"] = as_vector(weight),
                            _["outcome"] = as_vector(outcome), _["offset"] = as_vector(offset),
                            _["limit"] = read.limit);
}

// Slope and curvature of a family's loss, for tests and prediction.
// [[Rcpp::export(rng = false)]]
Rcpp::List glm_loss_cpp(const std::string& family, double span, const Eigen::VectorXd& t,
                        const Eigen::VectorXd& y) {
  const dpsc::glm_family known{as_kind(family), span};
  known.check();
  Rcpp::NumericVector slope(t.size()), curvature(t.size()), mean(t.size());
  for (Eigen::Index i = 0; i < t.size(); ++i) {
    slope[i] = known.slope(t[i], y[i]);
    curvature[i] = known.curvature(t[i], y[i]);
    mean[i] = known.mean(t[i]);
  }
  return Rcpp::List::create(_["slope"] = slope, _["curvature"] = curvature, _["mean"] = mean,
                            _["unit"] = known.unit(), _["bend"] = known.bend());
}

// log E exp(t L), for each t, of spherical Laplace noise at a shift of this length, in scales.
// [[Rcpp::export(rng = false)]]
Rcpp::NumericVector spherical_log_moment_cpp(const Rcpp::NumericVector& t, double length, int d) {
  const dpsc::spherical_loss loss(length, d);
  Rcpp::NumericVector out(t.size());
  for (R_xlen_t i = 0; i < t.size(); ++i) out[i] = loss.log_moment(t[i]);
  return out;
}

// delta(epsilon) of spherical Laplace noise on a statistic that changes by this length.
double spherical_delta_cpp(double epsilon, double length, int d) {
  return dpsc::spherical_loss(length, d).delta(epsilon);
}
const probe spherical_delta_probe("spherical_delta", spherical_delta_cpp);

// A noisy information matrix whose first `weak` coefficients have little curvature, for tests.
Eigen::MatrixXd parted_information_cpp(const Eigen::MatrixXd& noisy, double sd, double least,
                                       int weak) {
  const dpsc::glm_detail::weak_basis basis{Eigen::MatrixXd::Identity(noisy.rows(), noisy.rows()),
                                           weak};
  return dpsc::glm_detail::parted_information(noisy, sd, least, basis);
}
const probe parted_information_probe("parted_information", parted_information_cpp);

// (order - 1) times the Renyi divergence of objective perturbation, t = order - 1.
double objective_log_moment_cpp(const std::string& slopes, double t, double reach, double c,
                                int d) {
  return dpsc::objective_renyi(as_slopes(slopes), reach, c, d).log_moment(t);
}
const probe objective_log_moment_probe("objective_log_moment", objective_log_moment_cpp);

// Largest reach of objective perturbation besides steps of rho-zCDP.
Rcpp::NumericVector calibrate_objective_cpp(const std::string& slopes, double epsilon, double delta,
                                            double rho, double c, int d) {
  const auto out = dpsc::calibrate_objective(as_slopes(slopes), epsilon, delta, rho, c, d);
  return Rcpp::NumericVector::create(_["reach"] = out.reach, _["order"] = out.order,
                                     _["log.delta"] = out.log_delta);
}
const probe calibrate_objective_probe("calibrate_objective", calibrate_objective_cpp);

// The nearest point that satisfies linear constraints, or NULL. RELEASED.
// [[Rcpp::export(rng = false)]]
SEXP nearest_within_cpp(const Eigen::VectorXd& from, const Eigen::MatrixXd& V,
                        const Rcpp::List& limits) {
  const auto point = dpsc::nearest_within(
      from, V,
      {Rcpp::as<Eigen::MatrixXd>(limits["A"]), Rcpp::as<Eigen::VectorXd>(limits["b"]),
       Rcpp::as<std::vector<bool>>(limits["equal"])});
  return point ? Rcpp::wrap(*point) : R_NilValue;
}
