// Bodies of papers.hpp.
#pragma once

#include "papers.hpp"

namespace dpsc {

double joint_loss(double x, double c) {
  if (!(x >= 0.0 && c >= 0.0)) throw std::domain_error("a loss needs a shift and a curvature");
  if (c <= x || c == 0.0) return x;  // increasing in p up to its end
  // Concave: x (1 + c p - c p^2) + c - 2 c p = 0, the root in [0, 1], without cancellation.
  const double b = 2.0 * c - x * c;
  const double root = std::sqrt(b * b + 4.0 * x * c * (x + c));
  const double p = std::min(1.0, 2.0 * (x + c) / (b + root));
  return p * x + std::log1p(c * p * (1.0 - p));
}

double even_loss(double x, double c) {
  if (!(x >= 0.0 && c >= 0.0)) throw std::domain_error("a loss needs a shift and a curvature");
  if (c <= x || c == 0.0) return x;  // increasing in h up to its end
  const double half = c / 2.0;
  // Concave: x (1 + half - half h^2) = 2 half h, the root in [0, 1], without cancellation.
  const double root = std::sqrt(half * half + half * x * x * (1.0 + half));
  const double h = std::min(1.0, x * (1.0 + half) / (half + root));
  return h * x + std::log1p(half * (1.0 - h * h));
}

double joint_shift(double epsilon, double c, bool replace, slope_kind kind) {
  const auto loss = [&](double x) {
    return (kind == slope_kind::pairs ? joint_loss(x, c) : even_loss(x, c)) + (replace ? x : 0.0);
  };
  if (!(loss(0.0) < epsilon)) return 0.0;
  double low = 0.0, high = epsilon;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; ++i) {
    const double mid = (low + high) / 2.0;
    (loss(mid) <= epsilon ? low : high) = mid;
  }
  return low * (1.0 - 1e-13);
}

namespace papers_detail {

double output_ridge(const paper_facts& f, double spread) {
  const double h = usual_curvature(f);
  double best = 1.0, least = std::numeric_limits<double>::infinity();
  for (double ridge = 1e-3; ridge < 1e9; ridge *= 1.1) {
    const double bias = 2.0 * std::sqrt(f.d) * ridge / (h + ridge), noise = spread / ridge;
    const double error = bias * bias + noise * noise;
    if (error < least) {
      least = error;
      best = ridge;
    }
  }
  return best;
}

double ridge_floor(const paper_facts& f) {
  return f.calibration == paper_calibration::published ? 1e-6 : least_ridge;
}

double longest(const perturbed_stage& stage, const paper_facts& f) {
  const double L = 60.0 + (f.delta > 0.0 ? -std::log(f.delta) : 0.0);
  switch (stage.law) {
    case vector_law::none:
      return 0.0;
    case vector_law::gaussian:
      return stage.scale * (std::sqrt(f.d) + std::sqrt(2.0 * L));
    default:
      return stage.scale * (f.d + std::sqrt(2.0 * f.d * L) + L);
  }
}

step_record pure_record(const std::string& label, double sensitivity, double scale,
                        double epsilon) {
  return {label, "gamma_norm", sensitivity,
          scale, epsilon,      std::numeric_limits<double>::quiet_NaN()};
}

step_record vector_record(const std::string& label, double sensitivity,
                          const perturbed_stage& noise, double epsilon) {
  step_record out = pure_record(label, sensitivity, noise.scale, epsilon);
  if (noise.law == vector_law::gaussian) out.law = "gaussian";
  return out;
}

/// Noise on a minimiser of sensitivity 2 / ridge: its distribution, its scale times the ridge, the
/// size of such a vector, and its Gaussian shift.
struct output_constants {
  vector_law law;
  double unit, size, mu;
};

/// Both objectives are ridge-strongly convex and differ by one record's gradient on each side.
inline output_constants gaussian_output(const paper_facts& f, double epsilon) {
  const double mu = gdp_budget(epsilon, f.delta);
  return {vector_law::gaussian, 2.0 / mu, std::sqrt(f.d), mu};
}
inline output_constants spherical_output(const paper_facts& f, double epsilon) {
  return {vector_law::spherical, 2.0 / epsilon, std::sqrt(f.d * (f.d + 1.0)),
          std::numeric_limits<double>::quiet_NaN()};
}
/// The kernel exp(-epsilon |N| / (2 GS)) of Thakurta (2013, section 3.2.2): twice the scale.
inline output_constants printed_output(const paper_facts& f, double epsilon) {
  output_constants out = spherical_output(f, epsilon);
  out.unit *= 2.0;
  return out;
}

void plan_output(const paper_facts& f, double epsilon, paper_plan& plan) {
  const bool printed = f.calibration == paper_calibration::published;
  const auto constants = f.delta > 0.0 ? gaussian_output
                         : printed     ? printed_output
                                       : spherical_output;
  const output_constants c = constants(f, epsilon);
  const double ridge = f.ridge > 0.0 ? f.ridge : output_ridge(f, c.unit * c.size);
  plan.stages.push_back({vector_law::none, 0.0, ridge, false});
  plan.output = {c.law, c.unit / ridge, 0.0, false};
  plan.records.push_back(
      vector_record("noise on the coefficients", 2.0 / ridge, plan.output, epsilon));
  plan.records.back().mu = c.mu;
}

void add_objective(const perturbed_stage& stage, double epsilon, paper_plan& plan) {
  plan.stages.push_back(stage);
  plan.records.push_back(vector_record("linear term of the objective", 2.0, stage, epsilon));
}

perturbed_stage joint_stage(double ridge, double epsilon, const glm_family& family) {
  const double shift = joint_shift(epsilon, family.bend() / ridge, true, family.slopes());
  if (!(shift > 0.0)) throw std::domain_error("the ridge is too small for this epsilon");
  return {vector_law::spherical, family.unit() / shift, ridge, false};
}

perturbed_stage joint_stage(double ridge, double epsilon, double delta, int d) {
  const auto fits = [&](double reach) {
    const double c = epsilon - reach / 2.0;
    if (!(c > 0.0) || !(ridge * c >= 1.0)) return false;
    const double corner = spherical_loss(reach, d).delta(epsilon);
    const double edge = spherical_loss(reach / std::sqrt(2.0), d).delta(epsilon);
    return std::max(corner, 2.0 * edge) <= delta * (1.0 - 1e-6);
  };
  double low = 0.0, high = 2.0 * epsilon;
  for (int i = 0; i < 60 && high - low > 1e-9 * high; ++i) {
    const double mid = (low + high) / 2.0;
    (fits(mid) ? low : high) = mid;
  }
  if (!(low > 0.0)) throw std::domain_error("the ridge is too small for this epsilon");
  return {vector_law::spherical, 2.0 / low, ridge, false};
}

void plan_objective(const paper_facts& f, double epsilon, paper_plan& plan) {
  // At a ridge of 2 / epsilon the curvature costs nothing; the approximate variant permits slightly
  // less noise with a larger ridge.
  if (!uses_delta(f)) {
    add_objective(joint_stage(f.ridge > 0.0 ? f.ridge : 2.0 / epsilon, epsilon), epsilon, plan);
    return;
  }
  const int d = static_cast<int>(f.d);
  if (f.ridge > 0.0) {
    add_objective(joint_stage(f.ridge, epsilon, f.delta, d), epsilon, plan);
    return;
  }
  perturbed_stage best = joint_stage(2.0 / epsilon, epsilon);
  for (double ridge = 2.0 / epsilon; ridge < 64.0 / epsilon; ridge *= 1.1) {
    const perturbed_stage next = joint_stage(ridge, epsilon, f.delta, d);
    if (!(next.scale < 0.995 * best.scale)) {
      if (ridge > 4.0 / epsilon) break;
      continue;
    }
    best = next;
  }
  add_objective(best, epsilon, plan);
}

void plan_cms(const paper_facts& f, double epsilon, paper_plan& plan) {
  const double times = f.calibration == paper_calibration::published ? 2.0 : 1.0;
  const auto left = [&](double ridge) {
    return epsilon - times * std::log1p(sup_curvature / ridge);
  };
  perturbed_stage stage;
  stage.ridge = f.ridge;
  double rest = stage.ridge > 0.0 ? left(stage.ridge) : 0.0;
  if (!(rest > 0.0)) {
    stage.ridge = std::max(
        {stage.ridge, sup_curvature / std::expm1(epsilon / (2.0 * times)), ridge_floor(f)});
    rest = epsilon / 2.0;
  }
  stage.law = vector_law::spherical;
  stage.scale = 2.0 / rest;
  add_objective(stage, epsilon, plan);
}

/// The distance between two records' gradients, the smallest ridge, and the factor of the Gaussian
/// scale.
struct kst_constants {
  double apart, ridge, factor;
};

inline kst_constants printed_kst(const paper_facts& f, double epsilon) {
  return {2.0 * f.loss.unit(f.d), 2.0 * f.loss.steepest() / epsilon,
          std::sqrt(8.0 * std::log(2.0 / f.delta) + 4.0 * epsilon)};
}
inline kst_constants tight_kst(const paper_facts& f, double epsilon) {
  const double t = std::sqrt(-2.0 * std::log(f.delta));
  return {f.loss.apart(f.d), f.loss.steepest() / std::expm1(epsilon / 2.0),
          t + std::sqrt(t * t + epsilon)};
}

void plan_kst(const paper_facts& f, double epsilon, paper_plan& plan) {
  const bool printed = f.calibration == paper_calibration::published;
  const kst_constants c = (printed ? printed_kst : tight_kst)(f, epsilon);
  perturbed_stage stage;
  stage.ridge = std::max({f.ridge, c.ridge, ridge_floor(f)});
  if (f.delta > 0.0) {
    stage.law = vector_law::gaussian;
    stage.scale = c.apart * c.factor / epsilon;
  } else {
    stage.law = vector_law::spherical;
    stage.scale = 2.0 * c.apart / epsilon;
  }
  add_objective(stage, epsilon, plan);
  plan.records.back().sensitivity = c.apart;
}

void plan_napp_renyi(const paper_facts& f, double epsilon, paper_plan& plan) {
  const double target = std::log(f.delta) + std::log1p(-1e-6);
  const int d = static_cast<int>(f.d);
  double weight = 0.0;
  for (int k = 1; k <= f.stages; ++k) weight += static_cast<double>(k) * k;
  const auto share = [&](int k) { return static_cast<double>(k) / std::sqrt(weight); };
  const glm_family& family = f.loss.family;
  const auto ridge = [&](int k) {
    return f.ridge > 0.0 ? f.ridge : 2.0 * family.bend() / (epsilon * share(k));
  };
  const auto certified = [&](double reach) {
    std::vector<objective_renyi> stages;
    for (int k = 1; k <= f.stages; ++k)
      stages.emplace_back(family.slopes(), reach * share(k), family.bend() / ridge(k), d);
    const auto moment = [&](double t) {
      double sum = 0.0;
      for (const objective_renyi& stage : stages) sum += stage.log_moment(t);
      return sum;
    };
    return best_order(moment, 0.0, epsilon).log_delta <= target;
  };
  double low = 0.0, high = epsilon;
  while (certified(high)) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < 30 && high - low > 1e-6 * high; ++i) {
    const double mid = (low + high) / 2.0;
    (certified(mid) ? low : high) = mid;
  }
  low *= 1.0 - 1e-6;
  // Pure accounting may be better for few dimensions.
  const auto scale = [&](int k) { return 2.0 * family.unit() / (low * share(k)); };
  if (!(scale(f.stages) < plan.stages.back().scale) || !certified(low)) return;
  plan.approximate = true;
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (int k = 1; k <= f.stages; ++k) {
    const auto at = static_cast<std::size_t>(k - 1);
    plan.stages[at].ridge = ridge(k);
    plan.stages[at].scale = scale(k);
    plan.records[at].scale = plan.stages[at].scale;
    plan.records[at].epsilon = none;
  }
}

void plan_napp(const paper_facts& f, double epsilon, paper_plan& plan) {
  if (f.stages < 1 || f.stages > 10) throw std::domain_error("from one to ten stages");
  const double parts = f.stages * (f.stages + 1) / 2.0;
  for (int k = 1; k <= f.stages; ++k) {
    const double own = epsilon * k / parts;
    const double ridge = f.ridge > 0.0 ? f.ridge : f.loss.family.bend() / own;
    perturbed_stage stage = joint_stage(ridge, own, f.loss.family);
    stage.centred = k > 1;
    plan.stages.push_back(stage);
    plan.records.push_back(pure_record("linear term, stage " + std::to_string(k),
                                       2.0 * f.loss.unit(f.d), stage.scale, own));
  }
  if (uses_delta(f)) plan_napp_renyi(f, epsilon, plan);
}

void plan_napp_printed(const paper_facts& f, double epsilon, paper_plan& plan) {
  const double half = epsilon / 2.0;  // r = 1/2
  perturbed_stage stage;
  stage.ridge = sup_curvature / half;  // 2 Lambda0
  if (f.delta > 0.0) {
    stage.law = vector_law::gaussian;
    stage.scale = std::sqrt(2.0 * (half - std::log(f.delta))) / half;
  } else {
    stage.law = vector_law::printed;
    stage.scale = 2.0 / half;
  }
  plan.stages.push_back(stage);
  plan.holds = false;
  plan.iterations = f.iterations;
  plan.target = f.target;
  const double none = std::numeric_limits<double>::quiet_NaN();
  plan.records.push_back({"linear term as printed",
                          f.delta > 0.0 ? "gaussian" : "exponential length", none, stage.scale,
                          none, none});
}

}  // namespace papers_detail

paper_plan plan_paper(const paper_facts& f) {
  using namespace papers_detail;
  paper_plan plan;
  plan.loss = f.loss;
  const bool printed =
      f.method == paper_method::napp && f.calibration == paper_calibration::published;
  const double epsilon = printed ? f.epsilon : f.epsilon * (1.0 - accuracy_share);
  switch (f.method) {
    case paper_method::output:
      plan_output(f, epsilon, plan);
      break;
    case paper_method::objective:
      plan_objective(f, epsilon, plan);
      break;
    case paper_method::kst:
      plan_kst(f, epsilon, plan);
      break;
    case paper_method::cms:
      plan_cms(f, epsilon, plan);
      break;
    case paper_method::napp:
      (printed ? plan_napp_printed : plan_napp)(f, epsilon, plan);
      break;
  }
  for (const perturbed_stage& stage : plan.stages)
    plan.approximate = plan.approximate || stage.law == vector_law::gaussian;
  plan.approximate = plan.approximate || plan.output.law == vector_law::gaussian ||
                     (f.method == paper_method::objective && uses_delta(f));
  // Tolerance of the gradient at the solver's point: at least 1e3 times its rounding error.
  plan.tolerance = (f.n + 1.0) * f.loss.rough(f.d) * (f.loss.squared() ? f.loss.loose(f.n) : 1e-10);
  for (const perturbed_stage& stage : plan.stages) plan.tolerance += 0x1.0p-40 * longest(stage, f);
  if (!printed) {
    double least = std::numeric_limits<double>::infinity();
    for (const perturbed_stage& stage : plan.stages) least = std::min(least, stage.ridge);
    const double share = f.epsilon * accuracy_share / static_cast<double>(plan.stages.size());
    const double sensitivity = 2.0 * plan.tolerance / least;
    plan.cover = sensitivity / share;
    for (std::size_t k = 0; k < plan.stages.size(); ++k)
      plan.records.push_back(pure_record("accuracy of the solver", sensitivity, plan.cover, share));
  }
  return plan;
}

}  // namespace dpsc
