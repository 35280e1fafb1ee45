// Tests of the core's mechanisms: exact probabilities of small draws, the row map against its
// definition, sensitivities against random neighbours, conversions of budgets in both directions,
// the losses of calibrations, weights on people, and sums that do not depend on the form in which
// rows are stored.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <dpsc/accountant/gdp.hpp>
#include <dpsc/mechanism/calibration.hpp>
#include <dpsc/noise/noise.hpp>
#include <dpsc/release/gram_release.hpp>
#include <dpsc/release/weights_release.hpp>
#include <dpsc/rows/remembered.hpp>
#include <dpsc/rows/reordered.hpp>
#include <dpsc/rows/wide.hpp>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "../../inst/reproduction/repeat_gram.hpp"
#include "harness.hpp"

namespace {

// Does the observed share of `n` draws agree with a probability, within six standard errors?
bool is_share(int count, int n, double p) {
  return std::abs(count - n * p) < 6.0 * std::sqrt(n * p * (1.0 - p)) + 1.0;
}

void test_small_laws() {
  const int n = 60000;
  const auto agrees = [&](const auto& law, const auto& log_weight) {
    double total = 0.0;
    for (int k = -60; k <= 60; ++k) total += std::exp(log_weight(k));
    std::array<int, 9> counts{};
    for (int i = 0; i < n; ++i) {
      const std::int64_t x = law(engine);
      if (std::abs(x) <= 4) ++counts[static_cast<std::size_t>(x + 4)];
    }
    bool same = true;
    for (int k = -4; k <= 4; ++k)
      same = same &&
             is_share(counts[static_cast<std::size_t>(k + 4)], n, std::exp(log_weight(k)) / total);
    return same;
  };
  CHECK(agrees(dpsc::discrete_gaussian(1), [](int k) { return -0.5 * k * k; }));
  CHECK(agrees(dpsc::discrete_gaussian(7, 2), [](int k) { return -0.5 * k * k / 3.5; }));
  CHECK(agrees(dpsc::discrete_laplace(1), [](int k) { return -std::abs(k) * 1.0; }));
  CHECK(agrees(dpsc::discrete_laplace(3), [](int k) { return -std::abs(k) / 3.0; }));
  // Three candidates with a prior.
  dpsc::private_choice choice;
  choice.losses = {4, 1, 3};
  choice.units = dpsc::exponent_units(0.5, 20);
  choice.offsets = dpsc::prior_offsets({0.0, -1.5, -0.25}, 20);
  double weight[3], total = 0.0;
  const double prior[] = {0.0, -1.5, -0.25};
  for (int k = 0; k < 3; ++k)
    total += weight[k] = std::exp(prior[k] - 0.5 * static_cast<double>(choice.losses[k]));
  int counts[3] = {0, 0, 0};
  for (int i = 0; i < n; ++i) ++counts[choice.draw(engine)];
  for (int k = 0; k < 3; ++k) CHECK(is_share(counts[k], n, weight[k] / total));
  // Replayed noise returns the recorded answers and refuses other requests.
  dpsc::drawn_noise<test_engine> drawn(engine);
  dpsc::recorded_noise recorder(drawn);
  const VectorXd exact = random_vector(3, 100.0).array().round(),
                 scale = VectorXd::Constant(3, 9.0);
  const VectorXd noisy = recorder.add("sum", dpsc::law::discrete_gaussian, exact, scale);
  CHECK(recorder.calls().at(0).exact == exact && recorder.calls().at(0).output == noisy);
  dpsc::replayed_noise replay({noisy});
  CHECK(replay.add("sum", dpsc::law::discrete_gaussian, VectorXd::Zero(3), scale) == noisy);
  CHECK_THROWS(dpsc::replay_diverged, replay.choose("radius", choice));
  dpsc::replayed_noise other({noisy});
  CHECK_THROWS(dpsc::replay_diverged,
               other.add("sum", dpsc::law::discrete_gaussian, VectorXd::Zero(2), scale));
  CHECK_THROWS(std::invalid_argument,
               drawn.add("sum", dpsc::law::discrete_gaussian, VectorXd::Zero(2), scale));
}

dpsc::table_view table_of(const MatrixXd& x) { return {x.data(), nullptr, x.rows(), x.cols()}; }

// A public scale, loadings and an origin for a row map.
struct made_up_map {
  dpsc::row_scale scale;
  MatrixXd loadings;
  VectorXd origin;

  made_up_map(Index T, Index d)
      : scale{random_vector(T, 50.0), std::pow(10.0, uniform(-2, 3)),
              (random_vector(T).array().abs() * 0.9 + 0.1).matrix()},
        loadings(random_matrix(T, d, std::pow(10.0, uniform(-2, 1)))),
        origin(random_vector(d, 0.5)) {
    scale.half[0] = 1.0;
  }

  // Rows within and beyond the bounds, outcome units.
  MatrixXd rows(Index n) const {
    MatrixXd x = random_matrix(n, scale.centre.size(), 1.3);
    for (Index t = 0; t < x.cols(); ++t)
      x.col(t) = (x.col(t) * scale.half[t] * scale.unit).array() + scale.centre[t];
    return x;
  }
};

void test_row_maps(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index T = whole(1, 12), d = whole(1, 8), n = whole(1, 30);
    const made_up_map made(T, d);
    const dpsc::grid_map grid = dpsc::map_on_grid(made.scale, made.loadings, made.origin);
    grid.map.check();
    const MatrixXd x = made.rows(n);
    dpsc::block_reader reader(table_of(x), grid.map);
    const MatrixXd z = reader.features(0);
    CHECK(z == z.array().round().matrix());
    // The definition in floating point: clip, scale, map; the effect of the grid is small.
    MatrixXd q(n, T);
    for (Index t = 0; t < T; ++t)
      q.col(t) = ((x.col(t).array() - made.scale.centre[t]) / made.scale.unit)
                     .min(made.scale.half[t])
                     .max(-made.scale.half[t]);
    const MatrixXd features = (q * made.loadings).rowwise() - made.origin.transpose();
    const double coarse = static_cast<double>(T) * made.loadings.cwiseAbs().maxCoeff() * 0x1p-19 +
                          static_cast<double>(T) * 0x1p-20 * grid.reach + 2.0 * grid.unit;
    CHECK((z * grid.unit - features).cwiseAbs().maxCoeff() <= coarse);
    CHECK((z * grid.unit).rowwise().norm().maxCoeff() <=
          grid.reach + std::sqrt(static_cast<double>(d)) * 2.0 * grid.unit);
  }
}

// Rows with one common value lie on a sphere around any centre. A radius there contains only these
// rows: at a large budget it must not be chosen, even if nine rows in ten are such rows.
void test_shell() {
  const double n = 20000.0, exponent = 1240.0 / n;
  const int price = dpsc::radius_price_of(n, exponent), bits = dpsc::energy_bits(n, price);
  CHECK(price > 9 && price <= dpsc::most_radius_price);
  CHECK(dpsc::radius_price_of(1000.0, 0.05) == dpsc::radius_price);
  CHECK(dpsc::radius_price_of(1e9, 1.0) == dpsc::most_radius_price);
  // Losses stay below 2^52 for any n.
  for (double many : {1e6, 1e9, 1e11, 3e11, 1e12, 4e12}) {
    const int most = dpsc::radius_price_of(many, 1.0);
    CHECK(most >= dpsc::radius_price &&
          many * (most + 1) * std::ldexp(1.0, dpsc::energy_bits(many, most)) <= 0x1p52);
  }
  MatrixXd z = MatrixXd::Constant(static_cast<Index>(n), 2, 3.0);
  for (Index i = 0; i < 2000; ++i)
    for (Index j = 0; j < 2; ++j) z(i, j) = std::round(uniform(-9000.0, 9000.0));
  std::vector<double> squared;
  for (double r = 5.0; r < 20000.0; r *= std::sqrt(2.0)) squared.push_back(std::floor(r * r));
  dpsc::radius_energy energy(squared, price, bits);
  energy.add(z);
  std::vector<std::uint64_t> words(4096);
  for (std::uint64_t& word : words) word = engine.bits();
  dpsc::tape_engine tape(words);
  dpsc::drawn_noise<dpsc::tape_engine> draws(tape);
  CHECK(squared[dpsc::choose_energy(energy, bits, exponent, "radius", draws)] > 1e6);
}

// The draw of a radius at every price: replacing a row just within the smallest radius by a row
// just within the largest changes its log-ratios by the whole exponent, and not by more.
void test_prices() {
  for (int price = dpsc::radius_price; price <= dpsc::most_radius_price; ++price) {
    const double exponent = uniform(0.05, 3.0);
    const std::vector<double> squared{9.0, 1e4, 1e6, 1e8};
    const int bits = dpsc::energy_bits(5.0, price);
    MatrixXd z = random_matrix(5, 1, 2000.0).array().round(), other = z;
    z(2, 0) = 3.0;
    other(2, 0) = -1e4;
    dpsc::drawn_noise<test_engine> draws(engine);
    dpsc::recorded_noise record(draws);
    for (const MatrixXd* rows : {&z, &other}) {
      dpsc::radius_energy energy(squared, price, bits);
      energy.add(*rows);
      (void)dpsc::choose_energy(energy, bits, exponent, "radius", record);
    }
    const VectorXd moved = record.calls()[1].exact - record.calls()[0].exact;
    const double range = record.calls()[0].scale[0] * (moved.maxCoeff() - moved.minCoeff());
    CHECK(record.calls()[0].scale == record.calls()[1].scale);
    CHECK(range <= exponent);
    CHECK(range > 0.999 * exponent);
  }
}

// Sums over people on neighbours: one replaced row changes them by at most the claimed amount.
void test_sensitivities(int rounds) {
  double most_energy = 0.0, most_gram = 0.0, most_laplace = 0.0;
  for (int round = 0; round < rounds; ++round) {
    const Index T = whole(1, 6);
    MatrixXd z = (random_matrix(5, T, 1000.0)).array().round(), other = z;
    const double far = std::pow(10.0, uniform(0, 6));
    other.row(2) = random_matrix(1, T, far).array().round().matrix();
    if (round % 3 == 0) z.row(2).setZero();
    if (round % 5 == 0) other.row(2) = -z.row(2);
    const int bits = 20;
    const std::vector<double> squared{1e2, 1e4, 1e5, 1e6, 1e8};
    const int price = round % 2 ? dpsc::radius_price : static_cast<int>(whole(1, 30));
    dpsc::radius_energy before(squared, price, bits);
    dpsc::radius_energy after(squared, price, bits);
    before.add(z);
    after.add(other);
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t k = 0; k < squared.size(); ++k) {
      const auto moved = static_cast<double>(after.losses()[k] - before.losses()[k]);
      low = std::min(low, moved);
      high = std::max(high, moved);
    }
    most_energy = std::max(most_energy, (high - low) / std::ldexp(before.price() + 2.0, bits));
    // Sum and Gram matrix of (w, K), in the norms to which the noise is calibrated.
    const double limit = std::ldexp(1.0, static_cast<int>(whole(4, 10)));
    const double constant = std::max(1.0, std::nearbyint(limit * uniform(0.3, 1.0)));
    dpsc::clipped_moments one(T, 400.0, limit), two(T, 400.0, limit);
    one.add(z);
    two.add(other);
    const MatrixXd gram = one.gram() - two.gram();
    const VectorXd sum = constant * (one.sum() - two.sum());
    const double frobenius = std::sqrt(gram.squaredNorm() + 2.0 * sum.squaredNorm());
    const double bound = limit * limit + constant * constant;
    most_gram = std::max(most_gram, frobenius / (std::sqrt(2.0) * bound));
    const MatrixXd upper = gram.triangularView<Eigen::Upper>();
    most_laplace = std::max(
        most_laplace, (upper.lpNorm<1>() + sum.lpNorm<1>()) /
                          dpsc::laplace_gram_sensitivity(limit, constant, static_cast<double>(T)));
  }
  CHECK(most_energy <= 1.0);
  CHECK(most_gram <= 1.0);
  CHECK(most_laplace <= 1.0);
  // The claims are not vacuous: some neighbours come close to them.
  CHECK(most_energy > 0.3);
  CHECK(most_gram > 0.5);
  CHECK(most_laplace > 0.3);
}

void test_budgets(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const double epsilon = std::pow(10.0, uniform(-3, 2)), delta = std::pow(10.0, uniform(-12, -2));
    const double mu = dpsc::gdp_budget(epsilon, delta);
    const double back = dpsc::gdp_epsilon(mu, delta);
    CHECK(back <= epsilon * (1.0 + 1e-6) + 1e-12 && back >= epsilon * (1.0 - 1e-6));
    // Steps that share a budget cost at most the whole budget, and nearly all of it.
    const dpsc::total_budget total(epsilon, delta), pure(epsilon, 0.0);
    CHECK(total.gaussian() && !pure.gaussian() && std::isnan(pure.rho()));
    const double share = uniform(0.0, 1.0);
    const double parts[] = {total.mu(share), total.mu(1.0 - share)};
    const double sum = dpsc::gdp_compose(parts, parts + 2);
    CHECK(std::abs(sum - mu) <= 1e-9 * mu);
    CHECK(std::abs(pure.epsilon(share) + pure.epsilon(1.0 - share) - epsilon) <= 1e-12 * epsilon);
    // An exponent costs at most the share from which it was computed.
    const double exponent = total.exponent(share);
    CHECK(dpsc::exponential_step_mu(exponent) <= total.mu(share));
    CHECK(dpsc::exponential_step_mu(exponent) >= total.mu(share) * (1.0 - 1e-6) - 1e-12);
    const double needed = total.share_of_exponent(exponent, 0.0, 1.0);
    CHECK(needed <= share * (1.0 + 1e-9) && needed >= share * (1.0 - 1e-5) - 1e-12);
    // Noise of a given variance has the cost for which it was calibrated.
    const double bound = std::floor(std::pow(10.0, uniform(1, 6)));
    const double variance = dpsc::gaussian_vector_variance(bound, mu);
    CHECK(variance == std::floor(variance));
    CHECK(dpsc::gaussian_vector_mu(bound, variance) <= mu);
    const double step = dpsc::gaussian_step_variance(bound, mu);
    CHECK(std::fmod(step, 2.0) == 0.0 && dpsc::gaussian_step_mu(bound, step) <= mu);
  }
  // Planned steps fit their budget, for any panel.
  for (const double delta : {0.0, 1e-6}) {
    for (const double n : {5.0, 200.0, 1e6}) {
      const dpsc::total_budget budget(2.0, delta);
      const dpsc::moments_step step = dpsc::plan_moments("m", n, 4, 0.7, budget, 0.25);
      const double cost = delta > 0.0 ? step.record.mu / budget.mu(0.25)
                                      : step.record.epsilon / budget.epsilon(0.25);
      CHECK(cost <= 1.0 && cost > 0.99);
      CHECK(n * step.limit * step.limit < dpsc::exact_integers);
    }
    CHECK_THROWS(dpsc::budget_too_small,
                 dpsc::plan_moments("m", 10.0, 4, 0.7, dpsc::total_budget(1e-12, delta), 0.25));
  }
  CHECK_THROWS(std::domain_error, dpsc::exponential_step_mu(-1.0));
  CHECK_THROWS(std::domain_error, dpsc::gdp_epsilon(1.0, 0.0));
  CHECK_THROWS(std::domain_error, dpsc::gaussian_vector_variance(0.0, 1.0));
  CHECK_THROWS(std::domain_error, dpsc::laplace_gram_sensitivity(-1.0, 1.0, 2.0));
}

// Records the request of each choice and answers with a fixed candidate; sums are returned
// unchanged.
class noting_noise : public dpsc::noise {
 public:
  VectorXd add(const std::string&, dpsc::law, const VectorXd& exact, const VectorXd&) override {
    sums.push_back(exact);
    return VectorXd::Constant(exact.size(), 1e5);  // later steps see no person through it
  }
  std::size_t choose(const std::string&, const dpsc::private_choice& choice) override {
    choices.push_back(choice);
    return choice.losses.size() / 2;
  }
  std::vector<std::size_t> choose_jointly(const std::string&,
                                          const dpsc::joint_choice& choice) override {
    return std::vector<std::size_t>(choice.losses.size(), 0);
  }
  VectorXd add_real(const std::string&, dpsc::law, const VectorXd& exact, double) override {
    return exact;
  }
  VectorXd perturb(const std::string&, dpsc::law, double,
                   const dpsc::perturbed_objective& objective) override {
    return objective.minimiser(VectorXd::Zero(objective.size()));
  }
  std::vector<Index> positions(Index n, Index m) override {
    return dpsc::random_positions(n, m, engine);
  }
  VectorXd draw(const std::string&, const dpsc::normal_law& from) override {
    return from.point(VectorXd::Zero(from.size()));
  }
  std::uint64_t sorting_bits() override { return engine.bits(); }
  VectorXd show(const std::string&, dpsc::law, const VectorXd& noisy, const VectorXd&) override {
    return noisy;
  }
  std::vector<VectorXd> sums;
  std::vector<dpsc::private_choice> choices;
};

void test_weights(int rounds) {
  using way = dpsc::weights_plan::way;
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(2, 12), T0 = whole(1, 5), T1 = whole(1, 3);
    const MatrixXd rows = random_matrix(n, T0 + T1, 1.0).cwiseMax(-1.0).cwiseMin(1.0);
    const VectorXd y = random_matrix(T0, 1, 1.0);
    const dpsc::row_scale scale{VectorXd::Zero(T0 + T1), 1.0, VectorXd::Ones(T0 + T1)};
    const dpsc::table_view table{rows.data(), nullptr, n, T0 + T1};
    const bool gaussian = round % 2 == 0;
    dpsc::weights_plan plan;
    plan.penalty = std::pow(10.0, uniform(-1.0, 1.0));
    dpsc::drawn_noise<test_engine> draws(engine);
    // Without noise: the ridge equations, written over the people, and the bare product.
    const dpsc::weights_release plain = dpsc::release_weights(table, scale, y, plan, draws);
    const MatrixXd x = rows.leftCols(T0);
    const VectorXd left = 2.0 * x * (x.transpose() * plain.weights) + plan.penalty * plain.weights;
    CHECK((left - 2.0 * x * y).norm() < 1e-9 * (1.0 + left.norm()));
    CHECK((plain.counterfactual - rows.rightCols(T1).transpose() * plain.weights).norm() < 1e-12);
    // An objective's linear term follows from its minimiser, and a replay requests the same noise.
    plan.solver = way::perturbed;
    plan.noise.drawn = plan.post.drawn = true;
    plan.noise.kind = plan.post.kind = gaussian ? dpsc::law::gaussian : dpsc::law::gamma_norm;
    plan.noise.scale = plan.post.scale = 0.5;
    dpsc::recorded_noise recorder(draws);
    const dpsc::weights_release noisy = dpsc::release_weights(table, scale, y, plan, recorder);
    CHECK(recorder.calls().size() == 2);
    const dpsc::noise_call& call = recorder.calls().front();
    const VectorXd gradient =
        2.0 * x * (x.transpose() * noisy.weights - y) + plan.penalty * noisy.weights;
    CHECK((call.exact + gradient).norm() < 1e-9 * (1.0 + gradient.norm()));
    const MatrixXd inner = MatrixXd::Identity(n, n) + 2.0 / plan.penalty * (x * x.transpose());
    CHECK(std::abs(call.log_curvature - std::log(inner.determinant())) < 1e-8);
    std::vector<VectorXd> outputs;
    for (const dpsc::noise_call& known : recorder.calls()) outputs.push_back(known.output);
    dpsc::replayed_noise replay(outputs);
    const dpsc::weights_release again = dpsc::release_weights(table, scale, y, plan, replay);
    CHECK(again.weights == noisy.weights && again.counterfactual == noisy.counterfactual);
    // Bounded weights stay in their set, except for the noise that covers the solver's error.
    plan.solver = way::bounded;
    plan.cap = 2.0 / std::sqrt(static_cast<double>(n));
    plan.tolerance = 1e-9;
    const VectorXd bounded = dpsc::release_weights(table, scale, y, plan, draws).weights;
    CHECK(bounded.cwiseAbs().maxCoeff() <= plan.cap && bounded.lpNorm<1>() <= 1.0 + 1e-9);
  }
}

// Exact probabilities of the tail factors of an average's errors, from the losses and the prior of
// the draw.
std::vector<double> factor_chances(const VectorXd& errors, const dpsc::calibration_plan& plan) {
  const Index m = errors.size();
  dpsc::placebo_errors people{
      errors.replicate(1, 2), MatrixXd::Constant(m, 2, 1e-4), VectorXd::Ones(m), {}, 1.0};
  noting_noise noted;
  (void)dpsc::release_calibration(people, plan, noted);
  const dpsc::private_choice& choice = noted.choices.at(1);
  std::vector<double> out;
  double sum = 0.0;
  for (std::size_t k = 0; k < choice.losses.size(); ++k) {
    const double cost = static_cast<double>(choice.losses[k]) * static_cast<double>(choice.units) +
                        static_cast<double>(choice.offsets[k]);
    out.push_back(std::exp(-std::ldexp(cost, -choice.shift)));
    sum += out.back();
  }
  for (double& chance : out) chance /= sum;
  return out;
}

// If the draw distinguishes tails well, an interval is hardly ever nine times too long by chance,
// and is still as long as the errors require.
void test_tail_factors() {
  const dpsc::total_budget budget(2.0, 1e-6);
  const double rows = 10000.0;
  const dpsc::calibration_plan plan =
      dpsc::plan_calibration(budget, dpsc::share_calibration(budget, rows, false), rows, false);
  CHECK(plan.factor_exponent * rows > 400.0);
  const std::vector<double> factors = dpsc::tail_factors();
  VectorXd errors(static_cast<Index>(rows));
  for (Index i = 0; i < errors.size(); ++i)
    errors[i] = 0.01 * dpsc::two_sided_quantile((static_cast<double>(i) + 0.5) / rows);
  const auto beyond_nine = [&](const std::vector<double>& chances) {
    double out = 0.0;
    for (std::size_t k = 0; k < chances.size(); ++k)
      if (factors[k] > 9.0) out += chances[k];
    return out;
  };
  CHECK(beyond_nine(factor_chances(errors, plan)) < 1e-3);
  for (Index i = 0; i < errors.size(); i += 10) errors[i] = 0.01 * 1.96 * 9.0;  // one in ten
  CHECK(beyond_nine(factor_chances(errors, plan)) > 0.999);
  // At the least signal a step has the same cost as for all.
  const std::vector<double> few = dpsc::calibration_detail::factor_prior(factors.size(), 20.0);
  for (std::size_t k = 1; k < few.size(); ++k) {
    CHECK(few[k] <= few[k - 1]);
    if (k > 10) CHECK(std::fabs(few[k - 1] - few[k] - 1.1) < 1e-12);
  }
}

void test_calibration(int rounds) {
  using dpsc::calibration_detail::beyond;
  for (int round = 0; round < rounds; ++round) {
    const Index m = whole(2, 40), T1 = whole(1, 4);
    // Losses against counting, with values that are NaN.
    MatrixXd values = random_matrix(m, T1, 3.0).cwiseAbs();
    if (round % 4 == 0) values(0, 0) = std::nan("");
    const std::vector<double> thresholds{0.1, 0.5, 1.0, 2.5, 4.0};
    const double allowed = std::floor(uniform(0.0, 5.0));
    const std::vector<std::int64_t> losses = beyond(values, thresholds, allowed);
    bool same = true;
    for (std::size_t k = 0; k < thresholds.size(); ++k) {
      std::int64_t outside = 0;
      for (Index i = 0; i < values.size(); ++i) outside += !(values.data()[i] <= thresholds[k]);
      same = same &&
             losses[k] == std::max<std::int64_t>(0, outside - static_cast<std::int64_t>(allowed));
    }
    CHECK(same);
    // One person's errors are replaced: each choice changes by at most its claim, the sum by at
    // most its unit.
    const bool group = round % 3 == 0;
    const dpsc::total_budget budget(std::pow(10.0, uniform(-0.5, 1.5)), round % 2 ? 1e-6 : 0.0);
    const double rows = static_cast<double>(m);
    const dpsc::calibration_plan plan =
        dpsc::plan_calibration(budget, dpsc::share_calibration(budget, rows, group), rows, group);
    CHECK(plan.records.size() == (group ? 3U : 5U));
    dpsc::placebo_errors people{random_matrix(m, T1 + 1),
                                random_matrix(m, T1 + 1).cwiseAbs(),
                                random_vector(m).cwiseAbs().array() + 0.5,
                                {},
                                1.0};
    dpsc::placebo_errors others = people;
    others.error.row(0) = random_matrix(1, T1 + 1, std::pow(10.0, uniform(-3, 3)));
    others.variance.row(0) *= uniform(0.0, 5.0);
    if (round % 5 == 0) others.error(0, 0) = std::nan("");
    noting_noise one, two;
    (void)dpsc::release_calibration(people, plan, one);
    (void)dpsc::release_calibration(others, plan, two);
    CHECK(one.choices.size() == (group ? 2U : 4U) && one.choices.size() == two.choices.size());
    for (std::size_t c = 0; c < one.choices.size(); ++c) {
      const std::int64_t parts = c == 2 ? static_cast<std::int64_t>(T1) : 1;
      std::int64_t low = 0, high = 0;
      for (std::size_t k = 0; k < one.choices[c].losses.size(); ++k) {
        const std::int64_t moved = two.choices[c].losses[k] - one.choices[c].losses[k];
        low = std::min(low, moved);
        high = std::max(high, moved);
      }
      CHECK(high - low <= parts);
      // In units of the exponent: at most the exponent in the step's record.
      const double spent = one.choices[c].exponent() * static_cast<double>(parts);
      const double claimed = c == 0  ? plan.clip_exponent
                             : group ? plan.reach_exponent
                                     : plan.factor_exponent;
      CHECK(spent <= claimed * (1.0 + 1e-12));
      CHECK(one.choices[c].offsets == two.choices[c].offsets);
    }
    const double moved = std::abs(one.sums.at(0)[0] - two.sums.at(0)[0]);
    CHECK(moved <= std::ldexp(1.0, plan.second_bits));
    CHECK(one.sums[0][0] == std::floor(one.sums[0][0]));
  }
}

// People with weights: neighbours replace the weight as well.
void test_weighted_people(int rounds) {
  const dpsc::weight_limits limits{0.5, 4.0};
  CHECK(limits.share(4.0) == 1.0 && limits.share(1e300) == 1.0);
  CHECK(limits.share(-1.0) == 0.125 && limits.share(std::nan("")) == 0.125);
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(2, 40), d = whole(1, 6);
    const double limit = 64.0, constant = static_cast<double>(whole(1, 64));
    MatrixXd z = random_matrix(n, d, 300.0).array().round();
    const dpsc::weight_limits any{0.0, uniform(0.1, 9.0)};
    const auto shares = [&](Index rows) {
      Eigen::ArrayXd out(rows);
      for (Index i = 0; i < rows; ++i) out[i] = any.share(uniform(-1.0, 12.0));
      return out;
    };
    Eigen::ArrayXd share = shares(n);
    // A single row is no longer than the bound, and its Gram matrix consists of integers.
    const double bound = limit * limit + constant * constant;
    dpsc::weighted_moments one(d, 400.0, limit, constant), two = one, alike = one;
    one.add(z, share);
    z.row(0) = random_matrix(1, d, 1e4).array().round();
    share[0] = shares(1)[0];
    two.add(z, share);
    const MatrixXd moved = one.gram() - two.gram();
    CHECK(moved.squaredNorm() <= 2.0 * bound * bound);
    CHECK((moved.array() == moved.array().floor()).all());
    // If all people have the largest weight, the sums are those of equal weights.
    alike.add(z, Eigen::ArrayXd::Ones(n));
    dpsc::clipped_moments plain(d, 400.0, limit);
    plain.add(z);
    CHECK(alike.gram().topLeftCorner(d, d) == plain.gram());
    CHECK(alike.gram().col(d).head(d) == constant * plain.sum());
    CHECK(alike.gram()(d, d) == constant * constant * static_cast<double>(n));

    // Calibration: losses change by at most a person's share, the sum by at most its unit.
    const Index m = whole(2, 40), T1 = whole(1, 4);
    const dpsc::total_budget budget(1.0, 1e-6);
    const double rows = static_cast<double>(m);
    const dpsc::calibration_plan plan =
        dpsc::plan_calibration(budget, dpsc::share_calibration(budget, rows, false), rows, false);
    dpsc::placebo_errors people;
    people.error = random_matrix(m, T1 + 1);
    people.variance = random_matrix(m, T1 + 1).cwiseAbs();
    people.scale = random_vector(m).cwiseAbs().array() + 0.5;
    dpsc::placebo_errors others = people, same = people;
    people.share = shares(m).matrix();
    people.mean_share = others.mean_share = 0.4;
    others.share = people.share;
    others.share[0] = any.share(uniform(0.0, 9.0));
    others.error.row(0) = random_matrix(1, T1 + 1, std::pow(10.0, uniform(-3, 3)));
    noting_noise first, second, ones, none;
    (void)dpsc::release_calibration(people, plan, first);
    (void)dpsc::release_calibration(others, plan, second);
    for (std::size_t c = 0; c < first.choices.size(); ++c) {
      std::int64_t low = 0, high = 0;
      for (std::size_t k = 0; k < first.choices[c].losses.size(); ++k) {
        const std::int64_t by = second.choices[c].losses[k] - first.choices[c].losses[k];
        low = std::min(low, by);
        high = std::max(high, by);
      }
      const double claimed = c == 0 ? plan.clip_exponent : plan.factor_exponent;
      CHECK(static_cast<double>(high - low) * first.choices[c].exponent() <=
            claimed * (1.0 + 1e-12));
    }
    CHECK(std::abs(first.sums.at(0)[0] - second.sums.at(0)[0]) <=
          std::ldexp(1.0, plan.second_bits));
    // If all people have the largest weight, the sums are the same and the losses are in finer
    // units.
    (void)dpsc::release_calibration(same, plan, none);
    same.share = Eigen::VectorXd::Ones(m);
    (void)dpsc::release_calibration(same, plan, ones);
    CHECK(ones.sums == none.sums);
    for (std::size_t c = 0; c < ones.choices.size(); ++c)
      for (std::size_t k = 0; k < ones.choices[c].losses.size(); ++k)
        CHECK(ones.choices[c].losses[k] == none.choices[c].losses[k] << dpsc::weight_bits);
  }
}

// Rows in several successive tables.
class several_tables : public dpsc::row_source {
 public:
  explicit several_tables(std::vector<MatrixXd> parts) : parts_(std::move(parts)) {}
  void pass(const std::function<void(const dpsc::table_view&)>& visit) const override {
    for (const MatrixXd& part : parts_) visit(table_of(part));
  }

 private:
  std::vector<MatrixXd> parts_;
};

// Rows that a source returns as integers on the grid, and whose sums it computes itself.
class gridded : public dpsc::row_source {
 public:
  gridded(const MatrixXd& rows, const dpsc::row_map& map)
      : rows_(rows.rows(), rows.cols()), grid_(dpsc::grid_id(map)) {
    dpsc::block_reader reader(table_of(rows), map);
    for (Index b = 0; b < reader.blocks(); ++b) {
      const MatrixXd& q = reader.scaled(b);
      rows_.middleRows(reader.first_row(b), q.rows()) = q.cast<int>();
    }
  }
  void pass(const dpsc::table_visitor& visit) const override {
    visit({nullptr, rows_.data(), rows_.rows(), rows_.cols(), grid_});
  }
  bool ask(const dpsc::row_map& map, dpsc::radius_energy& into) const override {
    return energy(map, into);
  }
  bool ask(const dpsc::product_map& map, dpsc::radius_energy& into) const override {
    return energy(map, into);
  }
  bool ask(const dpsc::row_map& map, dpsc::clipped_moments& into) const override {
    dpsc::clipped_moments own(map.dimension(), into.radius(), into.limit());
    add(map, own);
    into.add_sums(own.sum(), own.gram(), static_cast<double>(rows_.rows()));
    return true;
  }
  bool ask(const dpsc::product_map& map, dpsc::clipped_sums& into) const override {
    dpsc::clipped_sums own(map.dimension(), into.radius(), into.limit());
    add(map, own);
    into.add_sums(own.sum(), static_cast<double>(rows_.rows()));
    return true;
  }

 private:
  template <typename Map>
  bool energy(const Map& map, dpsc::radius_energy& into) const {
    dpsc::radius_energy own(into.squared_radii(), dpsc::radius_price,
                            static_cast<int>(std::log2(into.one())));
    add(map, own);
    into.add_sums(own.kept(), own.beyond(), static_cast<double>(rows_.rows()));
    return true;
  }
  template <typename Map, typename Accumulator>
  void add(const Map& map, Accumulator& own) const {
    pass([&](const dpsc::table_view& table) {
      dpsc::block_reader reader(table, dpsc::features_of(map));
      for (Index b = 0; b < reader.blocks(); ++b) own.add(dpsc::summed_of(map, reader.features(b)));
    });
  }
  Eigen::MatrixXi rows_;
  std::uint64_t grid_;
};

inline MatrixXd picked(const dpsc::row_source& source, const dpsc::row_positions& which) {
  MatrixXd out(0, 0);
  source.rows_at(which, [&](const dpsc::table_view& table) {
    MatrixXd next(out.rows() + table.rows, table.columns);
    const MatrixXd own = Eigen::Map<const MatrixXd>(table.reals, table.rows, table.columns);
    if (out.rows() > 0) next.topRows(out.rows()) = out;
    next.bottomRows(table.rows) = own;
    out.swap(next);
  });
  return out;
}

// A path does not depend on whether errors are requested, and requested columns equal those of the
// whole result.
void check_columns(const dpsc::gram_statistics& s, dpsc::estimator_options options,
                   const VectorXd& pre) {
  const VectorXd path = dpsc::counterfactual_estimator(s, options).target(pre).path;
  options.errors = false;
  const dpsc::target_estimate bare = dpsc::counterfactual_estimator(s, options).target(pre);
  CHECK(bare.path == path);
  CHECK(bare.prediction.isZero(0.0) && bare.privacy.isZero(0.0));
  std::vector<Index> from, to;
  for (Index i = 0; i < s.mean.size(); ++i) (i < s.pre ? from : to).push_back(i);
  const dpsc::moments_model all(s), named(s, from, to);
  const MatrixXd shape = all.restore_A.transpose() * all.restore_A;
  const dpsc::column_prediction one = dpsc::predict_columns(all, all.edge, shape);
  CHECK(one.slopes == dpsc::predict_columns(named, named.edge, shape).slopes);
  // Slopes solve the penalised normal equations.
  const Index p = all.pre(), T1 = all.post();
  const MatrixXd left = all.covariance.topLeftCorner(p, p) + all.edge * shape;
  const MatrixXd right = all.covariance.topRightCorner(p, T1);
  CHECK((left * one.slopes - right).norm() <= 1e-8 * (1.0 + right.norm()));
  // Statistics in another order, and without parts that do not affect the others.
  std::reverse(to.begin(), to.end());
  const dpsc::moments_model turned(s, from, to);
  CHECK((dpsc::predict_columns(turned, all.edge, shape).slopes.rowwise().reverse() - one.slopes)
            .norm() <= 1e-10 * (1.0 + one.slopes.norm()));
  to = {s.mean.size()};
  CHECK_THROWS(std::out_of_range, dpsc::moments_model(s, from, to));
}

// The same people as a matrix of doubles, as integers, or in parts: with the same tape, the same
// release.
void test_sources(int rounds) {
  const dpsc::ticker quiet = [](double) {};
  int targets = 0;
  for (int round = 0; round < rounds; ++round) {
    dpsc::panel_facts facts;
    facts.T0 = whole(2, 6);
    facts.T1 = whole(1, 3);
    const Index n = whole(3, 1500), T = facts.T0 + facts.T1;
    facts.n = static_cast<double>(n);
    facts.epsilon = 2.0;
    facts.delta = round % 2 ? 1e-6 : 0.0;
    facts.y = random_vector(facts.T0, 0.5);
    facts.group = round % 3 == 0;
    facts.targeted = true;
    const MatrixXd table = random_matrix(n, T, 900.0).array().round();
    const Eigen::MatrixXi whole_numbers = table.cast<int>();
    const Index cut = whole(1, n - 1);
    const dpsc::matrix_source reals(table_of(table));
    const dpsc::matrix_source integers({nullptr, whole_numbers.data(), n, T});
    const several_tables parts({table.topRows(cut), table.bottomRows(n - cut)});
    const dpsc::row_scale scale{VectorXd::Zero(T), 1000.0, VectorXd::Ones(T)};
    dpsc::estimator_options options;
    options.half = scale.half;
    std::vector<std::uint64_t> words(200000);
    for (std::uint64_t& word : words) word = engine.bits();
    const dpsc::gram_plan plan = dpsc::plan_gram(facts);
    const auto run = [&](const dpsc::row_source& source) {
      dpsc::tape_engine tape(words);
      dpsc::drawn_noise<dpsc::tape_engine> draws(tape);
      return dpsc::run_gram(plan, facts, scale, options, source, draws, quiet);
    };
    std::vector<std::unique_ptr<dpsc::row_source>> pieces;
    pieces.push_back(std::make_unique<several_tables>(std::vector<MatrixXd>{table.topRows(cut)}));
    const dpsc::row_map map =
        dpsc::map_on_grid(scale, MatrixXd::Identity(T, T), VectorXd::Zero(T)).map;
    pieces.push_back(std::make_unique<gridded>(table.bottomRows(n - cut), map));
    const dpsc::joined_source joined(std::move(pieces));
    const dpsc::gram_release one = run(reals), two = run(integers), three = run(parts),
                             four = run(joined);
    CHECK(one.statistics.mean == four.statistics.mean);
    CHECK(one.statistics.covariance == four.statistics.covariance);
    CHECK(one.intervals.band == four.intervals.band);
    CHECK(one.target.mean.size() == (plan.target.made() ? facts.T1 : 0));
    targets += plan.target.made();
    CHECK(one.target.mean == two.target.mean && one.target.mean == three.target.mean);
    CHECK(one.target.mean == four.target.mean);
    // Rows on a grid can only be used with that grid.
    dpsc::row_map other = map;
    other.scale *= 2.0;
    CHECK(dpsc::grid_id(other) != dpsc::grid_id(map));
    const dpsc::table_view foreign{nullptr, whole_numbers.data(), n, T, dpsc::grid_id(map)};
    CHECK_THROWS(std::invalid_argument, dpsc::block_reader(foreign, other));
    // Rows at some places are the rows of one table, however it is split.
    CHECK(picked(reals, {}) == table && picked(parts, {}) == table);
    for (Index m : {Index{1}, n / 2, n}) {
      dpsc::row_positions which{false, dpsc::random_positions(n, m, engine)};
      std::sort(which.at.begin(), which.at.end());
      MatrixXd expected(m, T);
      for (Index i = 0; i < m; ++i)
        expected.row(i) = table.row(which.at[static_cast<std::size_t>(i)]);
      if (m > 0) CHECK(picked(reals, which) == expected && picked(parts, which) == expected);
    }
    CHECK(one.statistics.mean == two.statistics.mean);
    CHECK(one.statistics.covariance == two.statistics.covariance);
    CHECK(one.statistics.mean == three.statistics.mean);
    CHECK(one.statistics.covariance == three.statistics.covariance);
    // The reproduction's rows keep their features and are queried repeatedly.
    const reproduction::remembered_rows kept(table_of(table));
    for (int again = 0; again < 2; ++again) {
      const dpsc::gram_release five = run(kept);
      CHECK(one.statistics.mean == five.statistics.mean);
      CHECK(one.statistics.covariance == five.statistics.covariance);
      CHECK(one.intervals.band == five.intervals.band);
    }
    CHECK(one.intervals.made == plan.calibration.made());
    check_columns(one.statistics, options, facts.y);
    CHECK(one.intervals.second == two.intervals.second);
    CHECK(one.intervals.second == three.intervals.second);
    CHECK(one.intervals.band == three.intervals.band);
  }
  CHECK(rounds < 20 || targets > 0);
}

// Products of features by their definition: integers, short enough for exact squares.
void test_products(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index T = whole(2, 6), d = whole(2, 5), n = 30;
    const double size = std::pow(10.0, whole(-3, 3));
    const dpsc::row_scale scale{VectorXd::Zero(T), 1.0, VectorXd::Ones(T)};
    MatrixXd loadings = random_matrix(T, d);
    loadings.col(0) *= size;
    const dpsc::grid_map grid = dpsc::map_on_grid(scale, loadings, random_vector(d, 0.3));
    const dpsc::grid_products products = dpsc::products_on_grid(grid);
    products.map.check();
    CHECK(products.map.lift <= 1.0 && products.map.lift * products.unit == grid.unit);
    MatrixXd rows = random_matrix(n, T, 3.0);
    rows.row(0) = loadings.col(0).array().sign() * 1e300;
    rows.row(1) = -rows.row(0);
    const MatrixXd table = rows;
    dpsc::block_reader reader(table_of(table), grid.map);
    const MatrixXd z = reader.features(0);
    const MatrixXd v = products.map.rows(z);
    CHECK(v.array().floor().isApprox(v.array(), 0.0));
    CHECK((dpsc::squared_row_norms(v) < 0x1.0p53).all());
    for (Index i = 0; i < n; ++i)
      for (Index t = 0; t + 1 < d; ++t) {
        const double exact = (1.0 + z(i, 0) * grid.unit) * z(i, t + 1) * products.map.lift;
        CHECK(std::fabs(v(i, t) - exact) <= 0.5 + 1e-6);
      }
    dpsc::product_map longer = products.map;
    longer.lift *= 0x1.0p60;
    CHECK_THROWS(std::invalid_argument, longer.check());
    longer.lift = 0.3;
    CHECK_THROWS(std::invalid_argument, longer.check());
  }
}

// Every list of m of n places is equally likely, for any n: no 64-bit word is favoured.
void test_positions(int rounds) {
  for (Index n = 1; n <= 5; ++n)
    for (Index m = 0; m <= n; ++m) {
      std::map<std::vector<Index>, double> seen;
      double lists = 1.0;
      for (Index i = 0; i < m; ++i) lists *= static_cast<double>(n - i);
      const double expected = 50.0 * rounds;
      const double draws = expected * lists;
      for (double k = 0.0; k < draws; ++k) ++seen[dpsc::random_positions(n, m, engine)];
      CHECK(static_cast<double>(seen.size()) == lists);
      for (const auto& [list, count] : seen) {
        CHECK(std::set<Index>(list.begin(), list.end()).size() == list.size());
        CHECK(std::fabs(count - expected) <= 5.5 * std::sqrt(expected));
      }
    }
  const std::vector<Index> many = dpsc::random_positions(Index{1} << 40, 1000, engine);
  CHECK(std::set<Index>(many.begin(), many.end()).size() == 1000);
  CHECK(*std::min_element(many.begin(), many.end()) >= 0);
  CHECK(*std::max_element(many.begin(), many.end()) < Index{1} << 40);
  CHECK_THROWS(std::invalid_argument, dpsc::random_positions(Index{3}, Index{4}, engine));
  // The number of calibrating rows: enough for every budget, all rows of small panels, and never
  // more than may leave their source.
  for (double epsilon : {1e-4, 0.01, 0.1, 1.0, 8.0})
    for (double delta : {0.0, 1e-6})
      for (double n : {3.0, 10000.0, 10001.0, 30000.0, 1e6}) {
        const dpsc::total_budget budget(epsilon, delta);
        const double m = dpsc::rows_to_calibrate(budget, n);
        CHECK(m == std::floor(m) && m <= n && m <= 1e5 && (m >= 10000.0 || m == n));
        if (delta > 0.0 && m < n && m < 1e5) CHECK(m * budget.total() >= 400.0);
      }
}

// Columns in another order: the same rows, on the grid of the reordered map.
void test_reordered(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, 40), T = whole(2, 6);
    const MatrixXd rows = random_matrix(n, T);
    std::vector<Index> order;
    for (Index t = 0; t < T; ++t) order.insert(order.begin() + whole(0, t), t);
    MatrixXd moved(n, T);
    for (Index t = 0; t < T; ++t) moved.col(t) = rows.col(order[static_cast<std::size_t>(t)]);
    const dpsc::matrix_source source({rows.data(), nullptr, n, T, 0});
    const dpsc::reordered_source other(source, order, 5, 9);
    other.pass([&](const dpsc::table_view& table) {
      CHECK(table.grid == 0 && table.rows == n);
      CHECK(Eigen::Map<const MatrixXd>(table.reals, n, T) == moved);
    });
    dpsc::row_positions which{false, dpsc::random_positions(n, whole(0, n), engine)};
    std::sort(which.at.begin(), which.at.end());
    std::size_t seen = 0;
    CHECK(other.rows_at(which, [&](const dpsc::table_view& table) {
      for (Index i = 0; i < table.rows; ++i, ++seen)
        for (Index t = 0; t < T; ++t)
          CHECK(table.reals[t * table.rows + i] == moved(which.at[seen], t));
    }) == n);
    CHECK(seen == which.at.size());
    // Integers, on the declared grid.
    const Eigen::MatrixXi whole_rows = (rows * 100.0).cast<int>();
    const dpsc::matrix_source gridded({nullptr, whole_rows.data(), n, T, 5});
    dpsc::reordered_source(gridded, order, 5, 9).pass([&](const dpsc::table_view& table) {
      CHECK(table.grid == 9);
      for (Index t = 0; t < T; ++t)
        CHECK(table.integers[t * n] == whole_rows(0, order[static_cast<std::size_t>(t)]));
    });
    const auto ignore = [](const dpsc::table_view&) {};
    CHECK_THROWS(std::invalid_argument,
                 (dpsc::reordered_source(gridded, order, 6, 9).pass(ignore), 0));
    order.pop_back();
    CHECK_THROWS(std::invalid_argument,
                 (dpsc::reordered_source(source, order, 5, 9).pass(ignore), 0));
  }
}

// A source that counts how often its rows are read.
class counted_source : public dpsc::row_source {
 public:
  explicit counted_source(dpsc::table_view table) : table_(table) {}
  void pass(const dpsc::table_visitor& visit) const override {
    ++passes;
    visit(table_);
  }
  mutable int passes = 0;

 private:
  dpsc::table_view table_;
};

// Features that are kept between questions: the same sums with one pass less, unless the map
// differs; and the same sums if memory suffices for some blocks only.
void test_remembered(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, 3000), T = whole(2, 6), d = whole(1, 4);
    const MatrixXd rows = random_matrix(n, T);
    const counted_source source({rows.data(), nullptr, n, T, 0});
    const dpsc::row_scale scale{VectorXd::Zero(T), 1.0, VectorXd::Ones(T)};
    const auto map = [&] {
      return dpsc::map_on_grid(scale, random_matrix(T, d), random_matrix(d, 1)).map;
    };
    const dpsc::row_map one = map(), other = map();
    int ticks = 0;
    const auto tick = [&](double) { ++ticks; };
    const auto same = [&](const dpsc::row_source& from, const dpsc::row_map& asked) {
      const double reach = std::ldexp(1.0, 22);
      dpsc::radius_energy plain({reach, reach * 16.0}, 3, 10), kept = plain;
      dpsc::clipped_moments sums(d, 3000.0, 200.0), again = sums;
      const dpsc::matrix_source direct({rows.data(), nullptr, n, T, 0});
      dpsc::add_features(direct, one, plain, tick);
      dpsc::add_features(direct, asked, sums, tick);
      dpsc::add_features(from, one, kept, tick);
      dpsc::add_features(from, asked, again, tick);
      CHECK(plain.losses() == kept.losses());
      CHECK(sums.sum() == again.sum() && sums.gram() == again.gram());
    };
    const dpsc::remembered_source twice(source, tick);
    same(twice, one);
    CHECK(source.passes == 1);
    same(twice, other);
    CHECK(source.passes == 3);
    // Memory for the first block only, and for none.
    same(dpsc::remembered_source(source, tick, 4096.0 * static_cast<double>(d)), one);
    same(dpsc::remembered_source(source, tick, 0.0), one);
    CHECK(ticks > 0);
  }
}

// Vectors of any width give the same integers, and the same bits if the order of summation is
// fixed.
void test_wide(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, 300), T = whole(1, 14), d = whole(1, 14);
    const MatrixXd q = random_matrix(n, T, 0x1p20).array().round();
    const dpsc::row_scale scale{VectorXd::Zero(T), 1.0, VectorXd::Ones(T)};
    const dpsc::row_map map =
        dpsc::map_on_grid(scale, random_matrix(T, d), random_matrix(d, 1)).map;
    MatrixXd some, others;
    dpsc::map_whole_rows(q, map, some, dpsc::has_wide_vectors());
    dpsc::map_whole_rows(q, map, others, false);
    CHECK(some == others);
    const MatrixXd z = random_matrix(n, d, 4096.0).array().round();
    MatrixXd gram = MatrixXd::Ones(d, d), again = gram;
    dpsc::add_whole_gram(z, gram, dpsc::has_wide_vectors());
    dpsc::add_whole_gram(z, again, false);
    const auto exact = z.cast<std::int64_t>();
    CHECK(gram == again);
    const Index j = whole(0, d - 1), i = whole(j, d - 1);
    CHECK(static_cast<std::int64_t>(gram(i, j)) == 1 + exact.col(i).dot(exact.col(j)));
  }
}

// The estimates of several rows side by side equal the plain formulas, and have the same bits at
// any position and with any other rows.
void test_side_by_side(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index T0 = whole(1, 9), p = whole(1, T0), T1 = whole(1, 9), forms = T1 + 1;
    dpsc::prediction_constants c;
    c.basis = random_matrix(T0, p);
    c.mean = random_vector(p);
    c.after = random_vector(T1, 0.3);
    c.flat = random_vector(p).normalized();
    c.half = VectorXd::Ones(T1);
    c.before = whole(1, T0);
    c.mean_noise = 1e-3;
    c.form_noise = 1e-2;
    const auto definite = [&] {
      const MatrixXd root = random_matrix(p, p);
      return MatrixXd(root * root.transpose());
    };
    const Index fits = whole(1, 5);
    for (Index k = 0; k < fits; ++k) {
      dpsc::prediction_fit fit;
      fit.penalty = 1.0;
      fit.log_prior = uniform();
      // Occasionally a row that is unlikely under every penalty.
      fit.log_det = whole(0, 3) == 0 ? 60.0 : uniform();
      fit.solve = definite();
      fit.along = random_matrix(T1 + 2 * forms, p, 0.1);
      fit.length = definite();
      fit.lost = 0.1 * definite();
      fit.g2 = random_vector(forms).cwiseAbs();
      fit.lost2 = 0.1 * fit.g2;
      fit.prediction_of = random_vector(forms).cwiseAbs();
      c.fits.push_back(fit);
    }
    const MatrixXd pre = random_matrix(T0, dpsc::lanes);
    std::vector<dpsc::row_estimate> all, plain, alone;
    dpsc::row_predictor(c).predict(pre, all);
    dpsc::row_predictor(c, false).predict(pre, plain);
    const Index lane = whole(0, dpsc::lanes - 1);
    MatrixXd others = random_matrix(T0, lane + 1);
    others.col(0) = pre.col(lane);
    dpsc::row_predictor(c).predict(others, alone);
    const dpsc::row_estimate& own = all[static_cast<std::size_t>(lane)];
    CHECK(alone.size() == static_cast<std::size_t>(lane + 1));
    CHECK(own.post == alone[0].post && own.variance == alone[0].variance &&
          own.variation == alone[0].variation);

    const dpsc::row_features at = c.features(pre.col(lane));
    const VectorXd weights = c.evidence_weights(at.u);
    VectorXd post = VectorXd::Zero(T1), variance = VectorXd::Zero(forms);
    for (std::size_t k = 0; k < c.fits.size(); ++k)
      post += weights[static_cast<Index>(k)] * (c.after + c.fits[k].along.topRows(T1) * at.u);
    for (std::size_t k = 0; k < c.fits.size(); ++k) {
      const dpsc::prediction_fit& fit = c.fits[k];
      const VectorXd along = fit.along * at.u, apart = c.after + along.head(T1) - post;
      const double length = at.u.dot(fit.length * at.u), lost = at.u.dot(fit.lost * at.u);
      VectorXd one = fit.prediction_of + c.form_noise * (length * fit.g2 - lost * fit.lost2 +
                                                         along.segment(T1, forms).cwiseAbs2() -
                                                         along.tail(forms).cwiseAbs2());
      one[0] += apart.mean() * apart.mean();
      one.tail(T1) += apart.cwiseAbs2();
      variance += weights[static_cast<Index>(k)] * one;
    }
    c.finish(post, at, c.mean_noise);
    variance = variance.cwiseMin(2.0);
    CHECK((own.post - post).cwiseAbs().maxCoeff() < 1e-9);
    CHECK((own.variance - variance).cwiseAbs().maxCoeff() < 1e-9);
    const dpsc::row_estimate& narrow = plain[static_cast<std::size_t>(lane)];
    CHECK((own.post - narrow.post).cwiseAbs().maxCoeff() < 1e-12);
    CHECK((own.variance - narrow.variance).cwiseAbs().maxCoeff() < 1e-12);
  }
}

}  // namespace
