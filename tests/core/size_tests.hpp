// Radius and clip of a regression's rounds: no other size has less noise plus usual bias.
#pragma once

#include <cmath>
#include <dpsc/release/lm_release.hpp>
#include <limits>
#include <random>

#include "harness.hpp"

namespace {

dpsc::lm_plan some_plan(Index p, double numbers, double n, double slope_noise, double edge = 0.0) {
  dpsc::lm_plan plan;
  plan.columns = p;
  plan.numbers = numbers;
  plan.n = n;
  plan.slope_noise = slope_noise;
  plan.edge = edge;
  plan.strength = 2.0 / slope_noise;
  plan.least_reach = dpsc::lm_constants::least_reach;
  plan.least_fall = dpsc::lm_constants::least_fall;
  plan.radius = std::sqrt(static_cast<double>(p));
  plan.shares.rounds = 5;
  plan.tried = true;
  return plan;
}

void test_sizes(int rounds) {
  const double none = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    const Index p = whole(1, 20);
    const double numbers = static_cast<double>(whole(0, p)), d = static_cast<double>(p);
    const double n = std::pow(10.0, uniform(2.0, 6.0)), noise = std::pow(10.0, uniform(-4.0, 1.0));
    const double edge = whole(0, 1) * uniform(0.0, 0.3) / d;
    const dpsc::lm_plan plan = some_plan(p, numbers, n, noise, edge);
    const double weight = uniform(0.1, 5.0), shared = uniform(1.0, 4.0);
    const dpsc::lm_size least{std::sqrt(d) * uniform(1.0, 2.0), uniform(1.0, 2.0)};
    const double most = whole(0, 3) ? none : least.reach * uniform(0.5, 3.0);
    const dpsc::lm_size found = dpsc::balance(plan, weight, shared, least, most);
    CHECK(found.radius >= least.radius && found.reach >= least.reach);
    CHECK(found.reach <= std::max(least.reach, most));
    // Only columns that are not indicators are lengthened by a longer radius.
    const auto price = [&](double radius, double reach) {
      const double longer = std::sqrt(
          std::max(1e-300, (radius * radius - (d - numbers)) / std::max(numbers, 1e-300)));
      const double bias =
          std::pow(dpsc::usual_radius * std::pow(longer, -2.0 * dpsc::usual_power), 2) +
          std::pow(dpsc::usual_slope * std::pow(dpsc::usual_clip / reach, dpsc::usual_power), 2);
      const double near = 1.2 * edge * radius * radius / std::sqrt(shared);
      const double magnified = near < 0.6 ? 1.0 / std::pow(1.0 - near, 2) : none;
      return magnified * std::pow(noise * radius * reach, 2) / shared + weight * n * bias;
    };
    const double best = price(found.radius, found.reach);
    double better = best;
    for (int other = 0; other < 40; ++other) {
      const double step = std::pow(10.0, uniform(-4.0, 0.5));
      const double radius = numbers > 0.0
                                ? std::max(least.radius, found.radius * std::exp(step * uniform()))
                                : found.radius;
      const double reach =
          std::max(least.reach, std::min(most, found.reach * std::exp(step * uniform())));
      better = std::min(better, price(radius, reach));
    }
    // Where noise hides the covariance, the edge is only bounded.
    if (std::isfinite(best)) CHECK(better >= best * (1.0 - 1e-6));
    // With evidence of skewness wide rounds have more noise, and with a larger budget wider clips.
    const double shift = std::pow(10.0, uniform(0.0, 3.0));
    const dpsc::lm_course calm = dpsc::course_of(plan, least.radius, none, 0.0);
    const dpsc::lm_course moved = dpsc::course_of(plan, least.radius, none, shift);
    const dpsc::lm_course richer =
        dpsc::course_of(some_plan(p, numbers, n, 0.7 * noise, edge), least.radius, none, shift);
    if (!calm.tries) continue;
    const auto noisy = [](const dpsc::lm_size& size) { return size.radius * size.reach; };
    CHECK(moved.stays && noisy(moved.wide) >= noisy(calm.wide) * (1.0 - 1e-9));
    CHECK(moved.wide.radius >= calm.tried.radius * (1.0 - 1e-9) || calm.stays);
    CHECK(richer.wide.reach >= moved.wide.reach * (1.0 - 1e-9));
    CHECK(calm.tried.reach >= dpsc::lm_constants::wide_step * calm.narrow.reach);
    // Clips of rounds that stay wide exceed the narrow one's enough for the pool to know it.
    const double second = std::min(calm.narrow.reach, dpsc::lm_constants::most_reach);
    CHECK(calm.stays == ((calm.stays ? calm.wide : calm.narrow).reach > dpsc::least_step * second));
  }
}

// More people never have larger expected errors, also where the last rounds become wide.
void test_expected_errors(int rounds) {
  const double none = std::numeric_limits<double>::infinity();
  int wide = 0;
  for (int round = 0; round < rounds; ++round) {
    const Index p = whole(1, 20);
    const double numbers = static_cast<double>(whole(0, p)), d = static_cast<double>(p);
    const double edge = whole(0, 1) * uniform(0.0, 0.3) / d, radius = std::sqrt(d);
    const double start = std::pow(10.0, uniform(-2.0, -0.5)) / radius;
    double before = none;
    for (double more = 1.0; more < 1e6; more *= 1.2) {
      const double root = std::sqrt(more);
      dpsc::lm_plan plan = some_plan(p, numbers, 1e4 * more, start / root, edge / root);
      const dpsc::lm_course course = dpsc::course_of(plan, radius, none, 0.0);
      if (!course.tries) continue;
      wide += course.stays;
      const double now =
          dpsc::outlook_of(plan, course.stays ? course.wide : course.narrow, course.rounds).square;
      CHECK(now <= before * (1.0 + 1e-9));
      before = now;
    }
  }
  CHECK(wide > rounds);
}

// Against sums over a fine grid of normal errors.
void test_clipped_errors() {
  for (double c = 0.5; c < 6.0; c += 0.25) {
    double square = 0.0, inside = 0.0, whole = 0.0;
    for (double z = -9.0; z < 9.0; z += 1e-3) {
      const double weight = std::exp(-0.5 * z * z);
      whole += weight;
      inside += std::fabs(z) <= c ? weight : 0.0;
      square += weight * std::min(z * z, c * c);
    }
    const double slow = square / whole / std::pow(inside / whole, 2);
    CHECK(std::fabs(dpsc::clipped_square(c) / slow - 1.0) < 2e-3);
  }
}

// The radius contains the mean of the rarer value's rows in any next frame, by the rows themselves.
void test_group_radius(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const Index p = whole(1, 5), n = whole(200, 400);
    dpsc::lm_design design;
    for (Index j = 0; j <= p; ++j) design.variables.push_back({0.0, 1.0, false});
    for (int j = 0; j < p; ++j) design.columns.push_back({{j}, {1}});
    const dpsc::lm_location location{VectorXd::Zero(p + 1), VectorXd::Ones(p + 1)};
    // Column 0 has two values, its bounds; the others depend on it.
    const Index rare = whole(10, n / 3);
    MatrixXd rows = 0.1 * random_matrix(n, p);
    for (Index i = 0; i < n; ++i) {
      rows(i, 0) = i < rare ? 1.0 : -1.0;
      for (Index j = 1; j < p; ++j) rows(i, j) += 0.05 * static_cast<double>(j) * rows(i, 0);
    }
    const VectorXd mean = rows.colwise().mean();
    const MatrixXd from = rows.rowwise() - mean.transpose();
    const MatrixXd covariance = from.transpose() * from / static_cast<double>(n);
    const auto frame_of = [&](double stretch) {
      dpsc::lm_frame frame = dpsc::lm_frame::start(p);
      frame.whiten = MatrixXd::Identity(p, p) + 0.2 * random_matrix(p, p);
      frame.whiten *= stretch;
      return frame;
    };
    dpsc::lm_round last;
    last.frame = frame_of(1.0);
    last.frame.centre = mean;
    last.mean = VectorXd::Zero(p);
    last.covariance = last.frame.whiten.transpose() * covariance * last.frame.whiten;
    dpsc::lm_plan plan;
    plan.longest = 1e6;
    const dpsc::lm_frame next = frame_of(uniform(0.5, 4.0));
    const double radius = dpsc::radius_of(plan, design, location, last, next);
    const double group = (from.topRows(rare) * next.whiten).colwise().mean().squaredNorm();
    const double q = static_cast<double>(rare) / static_cast<double>(n);
    const double length = group * q / (1.0 - q), others = static_cast<double>(p) - 1.0;
    CHECK(length > 16.0 || radius * radius >= (group + others) * (1.0 - 1e-9));
    if (length >= 1.0 && length <= 16.0)
      CHECK(std::fabs(radius * radius / (group + others) - 1.0) < 1e-9);
  }
}

// Cells of a median: as many as a wrong one, drawn where all people share a cell, permits.
void test_median_cells() {
  int before = 0;
  for (double h = 6.0; h < 30.0; h += 0.01) {
    const double n = 1000.0;
    const dpsc::location_plan plan = dpsc::plan_location(2.0 * h / n, n, {"x"}, 6.0, 6);
    CHECK(plan.made && plan.cell_bits >= std::max(3, before));
    before = plan.cell_bits;
    std::vector<std::int64_t> counts(std::size_t{1} << plan.cell_bits, 0);
    counts[3] = 1000;
    double wrong = 0.0;
    for (std::int64_t loss : dpsc::median_losses(counts, 0))
      wrong += loss > 0 ? std::exp(-plan.exponent * static_cast<double>(loss) / 2.0) : 0.0;
    CHECK(wrong <= (plan.cell_bits > 6 ? dpsc::wrong_cell : dpsc::wrong_of_few) * 1.001);
  }
  CHECK(before == 13);
}

// The first round's size grows with the number of people and the budget, within its limits.
void test_first_size() {
  using namespace dpsc::lm_constants;
  for (int p : {1, 2, 5, 20})
    for (double delta : {0.0, 1e-6})
      for (double epsilon : {0.3, 1.0, 8.0}) {
        double before = 0.0;
        for (double n = 100.0; n < 1e7; n *= 1.3) {
          dpsc::lm_facts facts;
          facts.n = n;
          facts.epsilon = epsilon;
          facts.delta = delta;
          for (int j = 0; j <= p; ++j) facts.design.variables.push_back({0.0, 1.0, false});
          for (int j = 0; j < p; ++j) facts.design.columns.push_back({{j}, {1}});
          facts.located.assign(static_cast<std::size_t>(p) + 1, "x");
          const dpsc::lm_plan plan = dpsc::plan_lm(facts);
          const double radius = plan.first_radius / std::sqrt(static_cast<double>(p));
          CHECK(radius >= first_radius_least * (1.0 - 1e-12));
          CHECK(radius <= first_radius * (1.0 + 1e-12));
          const double wider = (radius - first_radius_least) / (first_radius - first_radius_least);
          CHECK(std::fabs(plan.first_reach - first_reach_least -
                          wider * (first_reach - first_reach_least)) < 1e-9);
          CHECK(std::fabs(plan.least_reach - noisy_reach - wider * (least_reach - noisy_reach)) <
                1e-9);
          CHECK(std::fabs(plan.least_fall - noisy_fall - wider * (least_fall - noisy_fall)) < 1e-9);
          const double later = plan.radius / std::sqrt(static_cast<double>(p));
          CHECK(later >= (noisy_radius + wider * (1.0 - noisy_radius)) * (1.0 - 1e-12));
          CHECK(plan.shares.rounds == (delta > 0.0 ? rounds : rounds_pure));
          // More rounds, or a share for location, may lower the budget of a round.
          CHECK(radius >= 0.8 * before);
          before = radius;
        }
        CHECK(before > 0.999 * first_radius);
      }
}

// Slopes that follow the noise of the cross moments make residuals too small, by the amount that is
// added back.
void test_followed_noise() {
  const Eigen::Array3d l{0.6, 1.0, 1.7}, c{0.4, -0.2, 0.05}, kept{1.0, 0.7, 0.2};
  const double v = 0.02, residual = 0.5, total = residual + (c.square() / l).sum();
  std::mt19937_64 bits(7);
  std::normal_distribution<double> normal(0.0, std::sqrt(v));
  const int draws = 200000;
  double mean = 0.0;
  for (int i = 0; i < draws; ++i) {
    Eigen::Array3d noisy = c;
    for (int k = 0; k < 3; ++k) noisy[k] += normal(bits);
    const Eigen::Array3d theta = kept * noisy / l;
    mean += total - 2.0 * (theta * noisy).sum() + (l * theta.square()).sum() +
            dpsc::pooled_detail::followed_noise(l, noisy, theta, v);
  }
  mean /= draws;
  // Shrunken slopes leave a part of the signal.
  const double left = ((1.0 - kept).square() * c.square() / l).sum();
  CHECK(std::fabs(mean - residual - left) < 1e-3);
  // Without noise, or without slopes, nothing is added.
  CHECK(dpsc::pooled_detail::followed_noise(l, c, c / l, 0.0) == 0.0);
  CHECK(dpsc::pooled_detail::followed_noise(l, c, 0.0 * c, v) == 0.0);
}

}  // namespace
