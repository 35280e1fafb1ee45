// The core without R: property tests of samplers, row maps, accountants, mechanisms, estimators and
// solvers, and a fuzz loop. `tools/core` builds and runs it under sanitizers; the seed
// is fixed, and the number of fuzz rounds is the first argument.
#define DPSC_ONE_UNIT  // the core's bodies, too: no library has them
#include <Eigen/Dense>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dpsc/accountant/gaussian.hpp>
#include <dpsc/accountant/zcdp.hpp>
#include <dpsc/engine.hpp>
#include <dpsc/estimate/glm_errors.hpp>
#include <dpsc/estimate/leave_one_out.hpp>
#include <dpsc/mechanism/elementary.hpp>
#include <dpsc/noise/continuous.hpp>
#include <dpsc/noise/discrete.hpp>
#include <dpsc/noise/exact.hpp>
#include <dpsc/noise/noise.hpp>
#include <dpsc/os_engine.hpp>
#include <dpsc/release/gram_release.hpp>
#include <dpsc/select/supports.hpp>
#include <dpsc/solver/capped_l1_qp.hpp>
#include <dpsc/solver/glm_newton.hpp>
#include <dpsc/solver/nested_v.hpp>
#include <dpsc/solver/simplex_batch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "harness.hpp"
#include "mechanism_tests.hpp"
#include "paper_tests.hpp"
#include "penalised_tests.hpp"
#include "pinned_tests.hpp"
#include "rank_tests.hpp"
#include "size_tests.hpp"
#include "slope_tests.hpp"

namespace {

void test_samplers() {
  for (const std::int64_t t : {1, 2, 7, 1000, 1 << 20}) {
    const double p = std::exp(-1.0 / static_cast<double>(t));
    const dpsc::discrete_laplace law(t);
    check_moments([&] { return static_cast<double>(law(engine)); }, 0.0,
                  2 * p / ((1 - p) * (1 - p)));
  }
  for (const std::int64_t v : {1, 4, 50, 12345, 1 << 30}) {
    double total = 0.0, second = 0.0;  // moments by the series; equal to v for large v
    for (int k = -200; k <= 200; ++k) {
      const double w = std::exp(-0.5 * k * k / static_cast<double>(v));
      total += w;
      second += w * k * k;
    }
    const double variance = v > 100 ? static_cast<double>(v) : second / total;
    const dpsc::discrete_gaussian law(v);
    check_moments([&] { return static_cast<double>(law(engine)); }, 0.0, variance);
  }
  // Ends of the allowed ranges: any result will do, as long as no operation overflows.
  const dpsc::discrete_gaussian widest(dpsc::discrete_gaussian::max_variance);
  const dpsc::discrete_gaussian small(1, 1 << 20);
  const dpsc::discrete_gaussian fraction(1 << 30, 1 << 20);
  const dpsc::discrete_laplace longest(std::int64_t{1} << 52);
  bool inside = true;
  for (int i = 0; i < 3000; ++i) {
    inside = inside && std::abs(static_cast<double>(widest(engine))) < 0x1p36;
    inside = inside && std::abs(static_cast<double>(longest(engine))) < 0x1p62;
    inside = inside && small(engine) == 0 && std::abs(static_cast<double>(fraction(engine))) < 4e3;
  }
  CHECK(inside);
  CHECK_THROWS(std::domain_error, dpsc::discrete_gaussian(0));
  CHECK_THROWS(std::domain_error, dpsc::discrete_gaussian(-5));
  constexpr std::int64_t above = dpsc::discrete_gaussian::max_variance + 1;
  CHECK_THROWS(std::domain_error, dpsc::discrete_gaussian(above));
  CHECK_THROWS(std::domain_error, dpsc::discrete_laplace(0));
  CHECK_THROWS(std::domain_error, dpsc::discrete_laplace(std::numeric_limits<std::int64_t>::min()));
  CHECK_THROWS(std::domain_error, dpsc::uniform_below(0, engine));
  // A tape whose bits are all one or all zero is hostile: it may run out, but no other fault is
  // allowed.
  for (const std::uint64_t word : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    dpsc::tape_engine tape(std::vector<std::uint64_t>(100000, word));
    try {
      (void)widest(tape);
    } catch (const std::out_of_range&) {
    } catch (const std::overflow_error&) {
    }
    ++passed;
  }
  check_moments([&] { return dpsc::standard_normal(engine); }, 0.0, 1.0);
  for (const double shape : {1.0, 1.5, 10.0, 1e5})
    check_moments([&] { return dpsc::standard_gamma(shape, engine); }, shape, shape);
  for (const Index d : {1, 2, 10, 100}) {
    // E||v|| = d a and var ||v|| = d a^2 (the classic error is E||v|| = a).
    const double a = 0.7, size = static_cast<double>(d);
    check_moments([&] { return dpsc::gamma_norm_vector(d, a, engine).norm(); }, size * a,
                  size * a * a, 4000);
  }
  CHECK_THROWS(std::domain_error, dpsc::gamma_norm_vector(0, 1.0, engine));
  CHECK_THROWS(std::domain_error, dpsc::gaussian_vector(3, std::nan(""), engine));
  CHECK_THROWS(std::domain_error, dpsc::gaussian_vector(3, 0.0, engine));
}

// Frequencies of a continuous distribution below some points.
void check_law(const std::function<double()>& draw, const std::function<double(double)>& below,
               const std::vector<double>& points, int n = 200000) {
  std::vector<int> found(points.size(), 0);
  for (int i = 0; i < n; ++i) {
    const double x = draw();
    for (std::size_t k = 0; k < points.size(); ++k) found[k] += x < points[k];
  }
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double p = below(points[k]);
    CHECK(std::abs(static_cast<double>(found[k]) / n - p) < 5.0 * std::sqrt(p * (1.0 - p) / n));
  }
}

// Distributions sampled by comparison of digits: exponential, normal, and a vector with uniform
// direction.
void test_exact_samplers() {
  check_moments([&] { return dpsc::exact_exponential(engine); }, 1.0, 1.0);
  check_moments([&] { return dpsc::exact_normal(engine); }, 0.0, 1.0);
  check_law([&] { return dpsc::exact_exponential(engine); },
            [](double x) { return 1.0 - std::exp(-x); }, {0.01, 0.3, 0.9, 1.0, 1.1, 2.5, 5.0});
  check_law([&] { return dpsc::exact_normal(engine); },
            [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); },
            {-3.0, -2.0, -1.0, -0.99, -0.01, 0.0, 0.5, 1.01, 1.5, 2.2});
  for (const Index d : {1, 2, 3, 30}) {
    const double size = static_cast<double>(d);
    check_moments([&] { return dpsc::exact_spherical(d, 0.7, engine).norm(); }, size * 0.7,
                  size * 0.49, 4000);
    // A coordinate has mean square (d + 1) scale^2.
    check_moments([&] { return dpsc::exact_spherical(d, 1.0, engine)[d - 1]; }, 0.0, size + 1.0,
                  4000);
  }
  // Numbers near zero keep their relative precision: words of zeros are skipped.
  dpsc::tape_engine tape({0, 0, 5, 0x8000000000000000});
  dpsc::lazy_uniform<dpsc::tape_engine> tiny(tape);
  CHECK(tiny.plus(0) == std::ldexp(5.5, -192));
  dpsc::tape_engine other({0x8000000000000000});
  dpsc::lazy_uniform<dpsc::tape_engine> half(other);
  CHECK(half.plus(3) == 3.5);
  CHECK_THROWS(std::domain_error, dpsc::exact_spherical(2, 0.0, engine));
}

// Errors of the functions on which a certificate relies, against extended precision.
void test_elementary() {
  long double exp_off = 0.0L, tanh_off = 0.0L, log_off = 0.0L;
  for (int i = 0; i < 400000; ++i) {
    const double x = (dpsc::uniform_open(engine) - 0.5) * std::ldexp(1400.0, -(i % 24));
    const long double truth = expl(static_cast<long double>(x));
    exp_off = std::max(exp_off, fabsl(dpsc::proven_exp(x) / truth - 1.0L));
    tanh_off = std::max(tanh_off, fabsl(dpsc::proven_tanh(x) - tanhl(static_cast<long double>(x))));
    const double y = std::exp(std::fabs(x) / 2.0);
    log_off = std::max(log_off, fabsl(dpsc::checked_log(y) - logl(static_cast<long double>(y))));
  }
  CHECK(exp_off <= 0x1.0p-51L);
  CHECK(tanh_off <= 0x1.0p-50L);
  CHECK(log_off <= 0x1.0p-43L);
  CHECK(dpsc::proven_exp(0.0) == 1.0);
  CHECK(dpsc::proven_exp(-1e9) == 0.0 && std::isinf(dpsc::proven_exp(1e9)));
  CHECK(std::isnan(dpsc::proven_exp(std::nan(""))));
  CHECK(dpsc::proven_tanh(-1e9) == -1.0 && dpsc::proven_tanh(0.0) == 0.0);
}

// Extreme probabilities of the Bernoulli sampler.
void test_bernoulli() {
  int count = 0;
  const int n = 40000;
  for (int i = 0; i < n; ++i) count += dpsc::bernoulli_exp(3, 2, engine);
  const double p = std::exp(-1.5);
  CHECK(std::abs(count - n * p) < 6 * std::sqrt(n * p * (1 - p)));
  bool always = true, never = true;
  const dpsc::uint128 huge = ~dpsc::uint128{0};
  for (int i = 0; i < 1000; ++i) {
    always = always && dpsc::bernoulli_exp(0, huge, engine);
    never = never && !dpsc::bernoulli_exp(huge, 1, engine);
    (void)dpsc::bernoulli_exp(huge, huge, engine);
  }
  CHECK(always);
  CHECK(never);
  CHECK_THROWS(std::domain_error, dpsc::bernoulli_exp(1, 0, engine));
}

int failing_calls = 0;
void failing_source(unsigned char* out, std::size_t size) {
  if (++failing_calls > 2) throw dpsc::entropy_error();
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<unsigned char>(i * 37 + 11);
}

void test_engines() {
  dpsc::os_engine secure;
  std::uint64_t all = 0, any = ~std::uint64_t{0};
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t word = secure.bits();
    all |= word;
    any &= word;
  }
  CHECK(all == ~std::uint64_t{0} && any == 0);
  // The source of entropy fails in the middle of a vector of draws: an exception, and no value.
  dpsc::buffered_engine<failing_source> failing;
  bool drew = false;
  try {
    (void)dpsc::gaussian_vector(5000, 1.0, failing);
    drew = true;
  } catch (const dpsc::entropy_error&) {
  }
  CHECK(!drew && failing_calls == 3);
  CHECK_THROWS(dpsc::entropy_error, failing.bits());
  dpsc::tape_engine tape({1, 2});
  tape.bits();
  tape.bits();
  CHECK_THROWS(std::out_of_range, tape.bits());
}

dpsc::row_map identity_map(Index T, double limit) {
  return {VectorXd::Zero(T), 1.0, VectorXd::Constant(T, limit), MatrixXd::Identity(T, T), 1.0,
          VectorXd::Zero(T), true};
}

// Random integer tables against naive sums in 128-bit integers.
void test_moments(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, round % 10 == 0 ? 2500 : 40), T = whole(1, 7);
    const double limit = std::pow(2.0, static_cast<double>(whole(1, 20)));
    const bool far = whole(0, 3) == 0;
    MatrixXd table = random_matrix(n, T, far ? 1e300 : 1.5 * limit);
    for (Index i = 0; i < std::min<Index>(n, 3); ++i)
      table.row(i).setConstant(i == 0 ? limit : -limit);
    dpsc::block_reader reader(view_of(table), identity_map(T, limit));
    const double radius = std::floor(limit * uniform(0.2, 3.0)) + 1.0;
    const double clipped = std::pow(2.0, static_cast<double>(whole(2, 12)));
    dpsc::clipped_moments moments(T, radius, clipped);
    // A plain version of the first pass: integers, clipped, and their norms.
    std::vector<double> squared;
    for (int k = -6; k <= 6; ++k)
      squared.push_back(std::max(1.0, std::floor(limit * limit * std::pow(2.0, k))));
    const int bits = static_cast<int>(whole(8, 20));
    dpsc::radius_energy energy(squared, dpsc::radius_price, bits);
    std::vector<std::int64_t> naive(squared.size(), 0);
    const auto one = std::int64_t{1} << bits;
    bool integers = true, short_enough = true;
    MatrixXd each = MatrixXd::Zero(T, T);
    VectorXd each_sum = VectorXd::Zero(T);
    for (Index b = 0; b < reader.blocks(); ++b) {
      const MatrixXd z = reader.features(b);
      moments.add(z);
      energy.add(z);
      for (Index i = 0; i < z.rows(); ++i) {
        const Index row = reader.first_row(b) + i;
        __int128 norm = 0;
        for (Index t = 0; t < T; ++t) {
          const double x = std::max(-limit, std::min(limit, table(row, t)));
          integers = integers && z(i, t) == std::nearbyint(x);
          norm += static_cast<__int128>(z(i, t)) * static_cast<__int128>(z(i, t));
        }
        for (std::size_t k = 0; k < squared.size(); ++k) {
          const bool inside = norm <= static_cast<__int128>(squared[k]);
          const double kept =
              std::nearbyint(static_cast<double>(norm) * (static_cast<double>(one) / squared[k]));
          naive[k] += inside ? one - std::min(one, static_cast<std::int64_t>(kept)) : 2 * one;
        }
        // A single row: its clipped norm must be within the limit, in integers, and rows must add
        // up.
        dpsc::clipped_moments alone(T, radius, clipped);
        alone.add(z.row(i));
        short_enough = short_enough && alone.sum().squaredNorm() <= clipped * clipped;
        integers = integers && alone.sum() == alone.sum().array().round().matrix();
        each += alone.gram();
        each_sum += alone.sum();
      }
    }
    CHECK(integers);
    CHECK(short_enough);
    CHECK(each == moments.gram() && each_sum == moments.sum());
    CHECK(energy.losses() == naive);
  }
  dpsc::row_map map = identity_map(3, 8.0);
  map.rescale = 0.3;
  CHECK_THROWS(std::invalid_argument, map.check());
  map = identity_map(3, 0x1p60);
  CHECK_THROWS(std::invalid_argument, map.check());
  map = identity_map(3, 0x1p40);
  CHECK_THROWS(std::overflow_error, map.check());
  map = identity_map(3, 8.0);
  map.origin = VectorXd::Zero(2);
  CHECK_THROWS(std::invalid_argument, map.check());
  map = identity_map(3, 8.0);
  map.loadings(0, 0) = std::nan("");
  CHECK_THROWS(std::invalid_argument, map.check());
  CHECK_THROWS(std::invalid_argument, dpsc::radius_energy({2.0, 1.0}, 1, 20));
  CHECK_THROWS(std::invalid_argument, dpsc::radius_energy({0.5}, 1, 20));
  CHECK_THROWS(std::invalid_argument, dpsc::clipped_moments(2, 0.0, 64.0));
  CHECK_THROWS(std::invalid_argument, dpsc::clipped_moments(2, 1.0, 64.5));
  CHECK_THROWS(std::invalid_argument, dpsc::clipped_moments(20000, 1.0, 64.0));
}

void test_choices() {
  // Two candidates one unit apart: the better one has odds of exp(exponent).
  dpsc::private_choice choice;
  choice.losses = {3, 2};
  choice.units = dpsc::exponent_units(0.8, 20);
  const int n = 40000;
  int second = 0;
  for (int i = 0; i < n; ++i) second += choice.draw(engine) == 1;
  const double p = 1.0 / (1.0 + std::exp(-choice.exponent()));
  CHECK(std::abs(second - n * p) < 6 * std::sqrt(n * p * (1 - p)));
  // The largest representable numbers: no operation overflows, and the best candidate is chosen.
  choice.losses = {std::int64_t{1} << 53, 0, std::int64_t{1} << 52};
  choice.units = dpsc::exponent_units(1e300, 40);
  choice.offsets = {0, ~std::uint64_t{0}, 5};
  choice.shift = 40;
  CHECK(choice.draw(engine) == 1);
  CHECK(dpsc::exponent_units(0.0, 40) == 0);
  CHECK_THROWS(std::domain_error, dpsc::exponent_units(std::nan(""), 20));
  choice.losses = {-1, 0};
  CHECK_THROWS(std::invalid_argument, choice.draw(engine));
  choice.losses.clear();
  CHECK_THROWS(std::invalid_argument, choice.draw(engine));
}

// Method gram from facts to release on small panels of every kind, with noise from a tape.
void test_gram(int rounds) {
  const dpsc::ticker quiet = [](double) {};
  for (int round = 0; round < rounds; ++round) {
    dpsc::panel_facts facts;
    facts.T0 = whole(2, 8);
    facts.T1 = whole(1, 4);
    const Index n = whole(2, round % 4 == 0 ? 1500 : 60), T = facts.T0 + facts.T1;
    facts.n = static_cast<double>(n);
    facts.epsilon = std::pow(10.0, uniform(-1.0, 2.0));
    facts.delta = whole(0, 1) ? 1e-6 : 0.0;
    facts.y = random_vector(facts.T0, round % 5 ? 0.8 : 3.0);
    if (round % 7 == 0) facts.y.setConstant(0.3);
    const double asked[] = {std::nan(""), 1.0, static_cast<double>(facts.T0 - 1), HUGE_VAL};
    facts.features = asked[whole(0, 3)];
    MatrixXd table = random_matrix(n, T, round % 6 ? 1.0 : 1e200);
    if (round % 3 == 0) table.topRows(n / 2 + 1).setZero();
    const dpsc::row_scale scale{VectorXd::Zero(T), 1.0, VectorXd::Ones(T)};
    dpsc::estimator_options options;
    options.kind = whole(0, 1) ? dpsc::estimator_kind::ridge : dpsc::estimator_kind::did;
    options.half = scale.half;
    std::vector<std::uint64_t> words(200000);
    for (std::uint64_t& word : words) word = engine.bits();
    dpsc::tape_engine tape(words);
    dpsc::drawn_noise<dpsc::tape_engine> drawn(tape);
    dpsc::recorded_noise recorder(drawn);
    const dpsc::matrix_source source(view_of(table));
    dpsc::gram_release release;
    dpsc::gram_plan plan;
    try {
      plan = dpsc::plan_gram(facts);
    } catch (const dpsc::budget_too_small&) {
      continue;
    }
    release = dpsc::run_gram(plan, facts, scale, options, source, recorder, quiet);
    CHECK(recorder.calls().size() == plan.records.size());
    CHECK(release.statistics.mean.allFinite() && release.statistics.covariance.allFinite());
    double cost = 0.0;
    for (const dpsc::step_record& record : plan.records)
      cost += facts.delta > 0.0 ? record.mu * record.mu : record.epsilon;
    CHECK(cost <= (facts.delta > 0.0 ? plan.total * plan.total : plan.total) * (1.0 + 1e-14));
    // Another panel and the same answers: the same release, and the same requests in every call.
    std::vector<VectorXd> outputs;
    for (const dpsc::noise_call& call : recorder.calls()) outputs.push_back(call.output);
    const MatrixXd other = random_matrix(n, T);
    const dpsc::matrix_source there(view_of(other));
    dpsc::replayed_noise replay(outputs);
    dpsc::recorded_noise second(replay);
    const dpsc::gram_release again =
        dpsc::run_gram(plan, facts, scale, options, there, second, quiet);
    CHECK(again.statistics.mean == release.statistics.mean);
    CHECK(again.statistics.covariance == release.statistics.covariance);
    bool same = second.calls().size() == recorder.calls().size();
    for (std::size_t i = 0; same && i < second.calls().size(); ++i)
      same = second.calls()[i].scale == recorder.calls()[i].scale &&
             second.calls()[i].offset == recorder.calls()[i].offset;
    CHECK(same);
    if (release.intervals.made)
      CHECK(std::isfinite(release.intervals.second) && release.intervals.average > 0.0);
    // A target, possibly far from the donors.
    const dpsc::counterfactual_estimator estimator(release.statistics, options);
    const dpsc::target_estimate estimate =
        estimator.target(random_vector(facts.T0, round % 2 ? 1.0 : 1e3));
    CHECK(estimate.path.tail(facts.T1).cwiseAbs().maxCoeff() <= 1.0 + 1e-12);
    outputs.pop_back();
    dpsc::replayed_noise short_replay(outputs);
    bool diverged = false;
    try {
      (void)dpsc::run_gram(plan, facts, scale, options, there, short_replay, quiet);
    } catch (const dpsc::replay_diverged&) {
      diverged = true;
    }
    CHECK(diverged);
    dpsc::tape_engine empty({1, 2, 3});
    dpsc::drawn_noise<dpsc::tape_engine> starved(empty);
    bool stopped = false;
    try {
      (void)dpsc::run_gram(plan, facts, scale, options, source, starved, quiet);
    } catch (const std::out_of_range&) {
      stopped = true;
    }
    CHECK(stopped);
  }
}

void test_capped(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, 30), T = whole(1, 8);
    const double mu = std::pow(10.0, uniform(-2, 6)), cap = uniform(0.02, 1.2);
    MatrixXd x = random_matrix(n, T);
    if (round % 4 == 0) x.rowwise() = x.row(0).eval();
    const VectorXd g = random_vector(n, std::pow(10.0, uniform(-3, 5)));
    const dpsc::capped_l1_qp problem(x, g, mu, cap);
    const auto answer = problem.solve(1e-7);
    CHECK(answer.certified);
    CHECK(answer.point.lpNorm<1>() <= 1.0 + 1e-9);
    CHECK(answer.point.cwiseAbs().maxCoeff() <= cap + 1e-12);
    // Optimality as a variational inequality: F'(f)'(q - f) >= 0 at random points q of the set.
    const VectorXd slope = 2.0 * (x * (x.transpose() * answer.point)) + mu * answer.point - g;
    const dpsc::capped_l1_ball ball(cap);
    const double size = slope.norm() + (2.0 * x.squaredNorm() + mu);
    bool optimal = true;
    for (int k = 0; k < 20; ++k) {
      const VectorXd q = ball.project(random_vector(n, std::pow(10.0, uniform(-2, 1))));
      optimal = optimal && slope.dot(q - answer.point) >= -4.0 * size * (answer.distance + 1e-12);
    }
    CHECK(optimal);
  }
  const MatrixXd x = MatrixXd::Ones(2, 2);
  const VectorXd g = VectorXd::Ones(2), bad = VectorXd::Constant(2, std::nan(""));
  const VectorXd three = VectorXd::Ones(3);
  CHECK_THROWS(std::domain_error, dpsc::capped_l1_qp(x, g, 0.0, 1.0));
  CHECK_THROWS(std::domain_error, dpsc::capped_l1_qp(x, bad, 1.0, 1.0));
  CHECK_THROWS(std::invalid_argument, dpsc::capped_l1_qp(x, three, 1.0, 1.0));
}

/// Nearly collinear columns of many people: 20,000 steps leave the minimum 2.3 gaps away, and the
/// sensitivity of a choice over supports counts on one.
void test_supports() {
  const double lower[5][5] = {
      {1206831398913, 0, 0, 0, 0},
      {1206747391216, 1206663525026, 0, 0, 0},
      {1206816984257, 1206732976560, 1206802668639, 0, 0},
      {1206831398913, 1206747391216, 1206816984257, 1206831398913, 0},
      {1206755084449, 1206671076752, 1206740669793, 1206755084449, 1206679036439}};
  const double products[5] = {-470209441899, -470144721125, -470287870667, -470209441899,
                              -470152580878};
  const double unit = std::ldexp(1.0, -20), ball = 96.33695665342195;
  MatrixXd g(5, 5);
  VectorXd h(5);
  for (Index i = 0; i < 5; ++i) {
    h[i] = products[i] * unit;
    for (Index j = 0; j <= i; ++j) g(i, j) = g(j, i) = lower[i][j] * unit;
  }
  const double gap = (1.0 + ball) * (1.0 + ball) / 2.0 / 1024.0;
  dpsc::runtime host;
  const double found = dpsc::least_squares_in_ball(g, h, 1387844583507 * unit, ball, gap, host);
  CHECK(found <= 569334.43391556898 + gap);
  CHECK(found >= 569334.43391556898 - gap);
  dpsc::runtime stop([] { throw std::runtime_error("interrupted"); });
  stop.tick(3e7 - 1.0);
  CHECK_THROWS(std::runtime_error,
               dpsc::least_squares_in_ball(g, h, 1387844583507 * unit, ball, gap, stop));
}

/// The certificate of a minimum against twice the precision, for tables of any size: nearly
/// collinear columns, points near the minimum and far from it.
void test_certificate(int rounds) {
  const double n = 0x1.0p31;
  for (int round = 0; round < rounds; ++round) {
    const Index k = whole(1, 8), kinds = 2 * k + 1;
    const double count = std::floor(n / static_cast<double>(kinds));
    MatrixXd x(kinds, k + 1);
    for (Index i = 0; i < kinds; ++i) {
      const double own = uniform(-1, 1);
      for (Index j = 0; j <= k; ++j)
        x(i, j) =
            std::round(1024.0 * std::max(-1.0, std::min(1.0, own + uniform(-0.01, 0.01)))) / 1024.0;
    }
    const MatrixXd g = count * x.leftCols(k).transpose() * x.leftCols(k);
    const VectorXd h = count * x.leftCols(k).transpose() * x.col(k);
    const double ball = std::pow(10.0, uniform(-2, 3));
    const double gap = (1.0 + ball) * (1.0 + ball) / 2048.0;
    const MatrixXd definite = g + 1e-9 * g.trace() * MatrixXd::Identity(k, k);
    VectorXd theta = dpsc::onto_l1_ball(VectorXd(definite.ldlt().solve(h)), ball);
    if (round % 2) theta = dpsc::onto_l1_ball(random_vector(k) * ball, ball);
    VectorXd gradient(k), row(k + 1), point(k + 1);
    point << theta, -1.0;
    for (Index j = 0; j < k; ++j) {
      row << g.col(j), h[j];
      gradient[j] = dpsc::accurate_dot(row.data(), point.data(), k + 1);
    }
    const double exact = dpsc::accurate_dot(gradient.data(), theta.data(), k) +
                         ball * gradient.lpNorm<Eigen::Infinity>();
    const double share = static_cast<double>(k + 4) * n * 0x1.0p-41;
    CHECK(std::fabs(dpsc::frank_wolfe_gap(g, h, ball, theta) - exact) <= share * gap);
  }
}

void test_leave_one_out(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(3, 30), T0 = whole(1, 12), T1 = whole(1, 4);
    MatrixXd rows = random_matrix(n, T0 + T1);
    if (round % 5 == 0) rows.leftCols(T0).setConstant(0.25);
    if (round % 7 == 0) rows.row(0).setConstant(50.0);
    const double penalty = std::pow(10.0, uniform(-6, 2));
    const double softness = round % 3 ? 4.0 : std::numeric_limits<double>::infinity();
    const VectorXd pre = random_vector(T0);
    const auto fit = [&](const MatrixXd& some, double per_donor) {
      return dpsc::deleted_ridge(dpsc::moments_of(some), T0, per_donor, softness);
    };
    const dpsc::deleted_ridge ridge = fit(rows, penalty);
    const dpsc::deleted_errors own = ridge.errors(rows);
    // Without row i, at the same penalty on the sum of squares.
    const Index i = whole(0, n - 1);
    MatrixXd others(n - 1, T0 + T1);
    others << rows.topRows(i), rows.bottomRows(n - 1 - i);
    const dpsc::deleted_ridge without =
        fit(others, penalty * static_cast<double>(n) / static_cast<double>(n - 1));
    const VectorXd left = rows.row(i).tail(T1).transpose() -
                          without.predict(rows.row(i).head(T0).transpose()).tail(T1);
    CHECK((own.error.row(i).tail(T1).transpose() - left).norm() <= 1e-6 * (1.0 + left.norm()));
    CHECK(own.leverage.minCoeff() > 0.0 && own.leverage.maxCoeff() < 1.0);
    const dpsc::deleted_limits limits = ridge.limits(rows, pre);
    CHECK(limits.low.maxCoeff() <= 0.0 && limits.high.minCoeff() >= 0.0);
    CHECK(limits.band.minCoeff() >= 0.0);
    dpsc::deleted_counts counts(ridge);
    counts.add(rows, T0);
    CHECK((counts.counts().colwise().sum().array() == static_cast<double>(n)).all());
  }
  const dpsc::donor_moments two{VectorXd::Zero(2), MatrixXd::Identity(2, 2), 2.0};
  CHECK_THROWS(std::domain_error, dpsc::deleted_ridge(two, 1, 0.0, 4.0));
  CHECK_THROWS(std::domain_error, dpsc::deleted_ridge(two, 1, std::nan(""), 4.0));
  CHECK_THROWS(std::invalid_argument, dpsc::deleted_ridge(two, 2, 1.0, 4.0));
}

void test_simplex(int rounds) {
  dpsc::simplex_ls solver;
  for (int round = 0; round < rounds; ++round) {
    const Index n = whole(1, 40), m = whole(1, 12);
    MatrixXd donors = random_matrix(n, m, std::pow(10.0, uniform(-3, 4)));
    // Degenerate panels: two equal donors, all donors equal, constant columns, the target among the
    // donors.
    if (round % 5 == 0 && n > 2) donors.row(1) = donors.row(0);
    if (round % 7 == 0) donors.rowwise() = donors.row(0).eval();
    if (round % 11 == 0) donors.col(0).setConstant(1.0);
    VectorXd target = random_vector(m, donors.cwiseAbs().maxCoeff());
    if (round % 3 == 0) target = donors.row(whole(0, n - 1)).transpose();
    dpsc::simplex_options options;
    options.demean = round % 2 == 1;
    options.lambda = round % 6 == 5 ? uniform(0.0, 1.0) : 0.0;
    const Index skip = n > 1 && round % 4 == 3 ? whole(0, n - 1) : -1;
    const dpsc::simplex_solution& fit = solver.solve(donors, target, options, skip);
    const VectorXd w = fit.dense(n);
    CHECK(w.allFinite() && w.minCoeff() >= 0.0 && std::abs(w.sum() - 1.0) < 1e-9);
    CHECK(skip < 0 || w[skip] == 0.0);
    // No vertex and no mixture does better.
    MatrixXd d = donors;
    VectorXd y = target;
    if (options.demean) {
      d.colwise() -= donors.rowwise().mean().eval();
      y.array() -= target.mean();
    }
    const VectorXd own = (d.rowwise() - y.transpose()).rowwise().squaredNorm();
    const auto value = [&](const VectorXd& v) {
      return (d.transpose() * v - y).squaredNorm() + options.lambda * own.dot(v);
    };
    // If all donors equal the target, all results are rounding errors of their magnitude.
    const double ulp = 8.0 * std::numeric_limits<double>::epsilon() * donors.cwiseAbs().maxCoeff();
    const double at = value(w);
    const double slack = 1e-8 * own.maxCoeff() + static_cast<double>(m) * ulp * ulp;
    bool best = true;
    for (int k = 0; k < 20; ++k) {
      VectorXd v = random_vector(n).cwiseAbs();  // a vertex, or any mixture
      if (k < 10) v = VectorXd::Unit(n, whole(0, n - 1));
      if (skip >= 0) v[skip] = 0.0;
      if (v.sum() > 0.0) best = best && at <= value(v / v.sum()) + slack;
    }
    CHECK(best);
  }
  const MatrixXd donors = random_matrix(9, 6);
  const auto placebo = dpsc::placebo_paths(solver, donors, 4, {});
  CHECK(placebo.paths.allFinite());
  const VectorXd target = donors.row(0).transpose();
  const auto without = dpsc::leave_out_paths(solver, donors, target, 4, {}, {1, 2});
  CHECK(without.paths.rows() == 2 && without.paths.allFinite());
}

void test_accountant(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const double delta = std::pow(10.0, uniform(-250, -0.1));
    const double epsilon = std::pow(10.0, uniform(-4, 3));
    const double rho = dpsc::cdp_rho(epsilon, delta);
    CHECK(rho > 0.0 && dpsc::log_cdp_delta(rho, epsilon) <= std::log(delta));
    CHECK(std::abs(dpsc::cdp_epsilon(rho, delta) - epsilon) < 1e-6 * epsilon + 1e-9);
    CHECK(dpsc::log_cdp_delta(rho * 1.01, epsilon) >= dpsc::log_cdp_delta(rho, epsilon));
    const double mu = dpsc::gaussian_mu(epsilon, delta);
    CHECK(mu > 0.0 && std::isfinite(mu));
    // The exact curve of Gaussian noise cannot cost more than its zCDP, mu^2 / 2.
    CHECK(mu * mu / 2.0 >= rho * (1.0 - 1e-6));
  }
  CHECK(std::abs(dpsc::log_normal_cdf(0.0) + std::log(2.0)) < 1e-15);
  CHECK(std::isfinite(dpsc::log_normal_cdf(-1e150)) && dpsc::log_normal_cdf(40.0) <= 0.0);
  CHECK_THROWS(std::domain_error, dpsc::cdp_rho(-1.0, 0.1));
  CHECK_THROWS(std::domain_error, dpsc::cdp_rho(1.0, 0.0));
  CHECK_THROWS(std::domain_error, dpsc::log_cdp_delta(std::nan(""), 1.0));
  CHECK_THROWS(std::domain_error, dpsc::gaussian_mu(1.0, 1.0));
}

// Every exception must be a std::exception, and nothing may be read out of range.
double any_number() {
  static const double odd[] = {0.0,    -0.0,   1.0,    -1.0,    1e300,        -1e300,   5e-324,
                               0x1p52, 0x1p53, 0x1p62, 0x1p-40, std::nan(""), HUGE_VAL, -HUGE_VAL};
  if (whole(0, 2) == 0) return odd[whole(0, 13)];
  return std::ldexp(uniform(), static_cast<int>(whole(-60, 60)));
}

void fuzz_round() {
  const Index n = whole(0, 12), T = whole(0, 5), d = whole(0, 5);
  const auto matrix = [](Index rows, Index columns) -> MatrixXd {
    return MatrixXd::NullaryExpr(rows, columns, [](Index, Index) { return any_number(); });
  };
  const auto vector = [&](Index size) -> VectorXd { return matrix(size, 1).col(0); };
  switch (whole(0, 4)) {
    case 0: {
      const double rescale = std::ldexp(1.0, static_cast<int>(whole(-40, 2)));
      const VectorXd limit = vector(whole(0, 9) ? T : d).array().abs().floor();
      const dpsc::row_map map{vector(T),       any_number(),
                              limit,           matrix(T, d).array().floor(),
                              rescale,         vector(d).array().floor(),
                              whole(0, 3) != 0};
      const MatrixXd table = matrix(n, T);
      dpsc::block_reader reader(view_of(table), map);
      dpsc::clipped_moments moments(d, any_number(), std::floor(any_number()));
      for (Index b = 0; b < reader.blocks(); ++b) moments.add(reader.features(b));
      break;
    }
    case 1: {
      const double bound = any_number();
      if (!(std::abs(bound) < 0x1p62)) break;
      (void)dpsc::discrete_gaussian(static_cast<std::int64_t>(bound))(engine);
      break;
    }
    case 2: {
      const MatrixXd x = matrix(n, T).array().max(-1e3).min(1e3);
      const VectorXd g = vector(whole(0, 9) ? n : n + 1).array().max(-1e6).min(1e6);
      const double mu = any_number(), cap = any_number();
      if (mu > 1e-2 || !(mu > 0.0)) (void)dpsc::capped_l1_qp(x, g, mu, cap).solve(1e-6);
      break;
    }
    case 3: {
      dpsc::simplex_ls solver;
      const MatrixXd donors = matrix(n, T);
      (void)solver.solve(donors, vector(whole(0, 9) ? T : d), {}, whole(-2, n));
      break;
    }
    default:
      (void)dpsc::log_gaussian_delta(any_number(), any_number());
      (void)dpsc::cdp_epsilon(any_number(), any_number());
      (void)dpsc::gaussian_mu(any_number(), any_number());
  }
}

void fuzz(int rounds) {
  int refused = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      fuzz_round();
    } catch (const std::exception&) {
      ++refused;
    }
  }
  std::printf("fuzzing: %d rounds, %d inputs refused\n", rounds, refused);
  ++passed;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20000;
  const int properties = rounds < 1000 ? 20 : 200;
  const std::pair<const char*, std::function<void()>> tests[] = {
      {"samplers", test_samplers},
      {"exact samplers", test_exact_samplers},
      {"elementary functions", test_elementary},
      {"Bernoulli", test_bernoulli},
      {"engines", test_engines},
      {"moments", [&] { test_moments(properties); }},
      {"choices", test_choices},
      {"small laws", test_small_laws},
      {"row maps", [&] { test_row_maps(properties); }},
      {"sensitivities", [&] { test_sensitivities(properties); }},
      {"shell", [] { test_shell(); }},
      {"prices of radii", test_prices},
      {"budgets", [&] { test_budgets(properties); }},
      {"calibration", [&] { test_calibration(properties); }},
      {"weights of people", [&] { test_weighted_people(properties); }},
      {"tail factors", test_tail_factors},
      {"weights", [&] { test_weights(properties); }},
      {"sources", [&] { test_sources(properties / 4); }},
      {"reordered rows", [&] { test_reordered(properties / 4); }},
      {"remembered rows", [&] { test_remembered(properties / 4); }},
      {"wide vectors", [&] { test_wide(properties); }},
      {"rows side by side", [&] { test_side_by_side(properties); }},
      {"positions", [&] { test_positions(properties / 20); }},
      {"products of features", [&] { test_products(properties / 4); }},
      {"method gram", [&] { test_gram(properties); }},
      {"capped L1 solver", [&] { test_capped(properties); }},
      {"supports", test_supports},
      {"ranks", [&] { test_ranks(50 * properties); }},
      {"shortened rows of streams", [&] { test_shortened_rows(5 * properties); }},
      {"slopes of streams", [&] { test_stream_slopes(properties); }},
      {"sizes of rounds", [&] { test_sizes(5 * properties); }},
      {"expected errors of regressions", [&] { test_expected_errors(properties / 4); }},
      {"errors under clips", test_clipped_errors},
      {"cells of medians", test_median_cells},
      {"sizes of the first round", test_first_size},
      {"residuals at slopes that follow noise", test_followed_noise},
      {"radii of groups", [&] { test_group_radius(5 * properties); }},
      {"certificate of supports", [&] { test_certificate(properties); }},
      {"leave one out", [&] { test_leave_one_out(properties); }},
      {"simplex solver", [&] { test_simplex(properties); }},
      {"weights of rows", [&] { test_row_weights(50 * properties); }},
      {"means of capped counts", [&] { test_capped_means(properties); }},
      {"penalised fits", [&] { test_penalised(4 * properties); }},
      {"penalised fits of hostile rows", [&] { test_hostile(4 * properties); }},
      {"papers' methods", [&] { test_papers(properties); }},
      {"accountant", [&] { test_accountant(properties); }},
      {"pinned samplers", test_pinned_samplers},
      {"pinned release", test_pinned_release},
      {"fuzzing", [&] { fuzz(rounds); }}};
  for (const auto& test : tests) {
    const int before = failed;
    test.second();
    std::printf("%-18s %s\n", test.first, failed == before ? "ok" : "FAILED");
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
