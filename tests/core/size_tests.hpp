// Radius and clip of a regression's rounds: no other size has less noise plus usual bias.
#pragma once

#include <cmath>
#include <dpsc/release/lm_release.hpp>
#include <limits>

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

}  // namespace
