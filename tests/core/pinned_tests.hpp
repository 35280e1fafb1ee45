// Noisy integers from a fixed stream of bits, with pinned values: every compiler and machine must
// draw these. The reference is g++ 12 on x86-64.
#pragma once

#include <dpsc/noise/noise.hpp>
#include <dpsc/noise/positions.hpp>
#include <dpsc/release/gram_release.hpp>

#include "harness.hpp"

namespace {

// FNV-1a hash of the bits of numbers.
class fingerprint {
 public:
  void add(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    for (int k = 0; k < 8; ++k) value_ = (value_ ^ (bits >> (8 * k) & 255)) * 0x100000001b3ULL;
  }
  void add(const VectorXd& x) {
    for (Index i = 0; i < x.size(); ++i) add(x[i]);
  }
  unsigned long long value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

void check_pinned(const char* what, const fingerprint& found, unsigned long long pinned) {
  if (found.value() != pinned) std::printf("  %s: %016llx\n", what, found.value());
  CHECK(found.value() == pinned);
}

void test_pinned_samplers() {
  test_engine bits(1);
  dpsc::drawn_noise<test_engine> draws(bits);
  fingerprint gaussian, laplace, places;
  for (const double scale : {1.0, 40.0, 12345.0, 1e9, 1e15}) {
    const VectorXd zero = VectorXd::Zero(100), same = VectorXd::Constant(100, scale);
    gaussian.add(draws.add("", dpsc::law::discrete_gaussian, zero, same));
    laplace.add(draws.add("", dpsc::law::discrete_laplace, zero, same));
  }
  for (const Index at : draws.positions(5000, 300)) places.add(static_cast<double>(at));
  check_pinned("discrete Gaussian", gaussian, 0x450e7e9556848a7b);
  check_pinned("discrete Laplace", laplace, 0x50bfe60f45c5cff4);
  check_pinned("positions", places, 0x1e16176dafc4be05);
}

// A release of people with exact numbers: the sums and their noise, for the first round, which
// floating point does not affect, and for all rounds, whose coordinates are eigenvectors on a grid.
void test_pinned_release() {
  const Index n = 400, T0 = 5, T1 = 2;
  MatrixXd table(n, T0 + T1);
  for (Index i = 0; i < n; ++i)
    for (Index t = 0; t < T0 + T1; ++t)
      table(i, t) = static_cast<double>((i * 37 + t * t * 11 + i * t) % 129 - 64) / 64.0;
  dpsc::panel_facts facts;
  facts.n = static_cast<double>(n);
  facts.T0 = static_cast<int>(T0);
  facts.T1 = static_cast<int>(T1);
  facts.epsilon = 4.0;
  facts.delta = 1e-6;
  facts.y = table.row(0).head(T0);
  const dpsc::row_scale scale{VectorXd::Zero(T0 + T1), 1.0, VectorXd::Ones(T0 + T1)};
  dpsc::estimator_options options;
  options.half = scale.half;
  test_engine bits(2);
  dpsc::drawn_noise<test_engine> draws(bits);
  dpsc::recorded_noise record(draws);
  const dpsc::matrix_source source(view_of(table));
  const dpsc::gram_release release =
      dpsc::run_gram(dpsc::plan_gram(facts), facts, scale, options, source, record, [](double) {});
  fingerprint first, all, released;
  for (std::size_t k = 0; k < record.calls().size(); ++k) {
    if (k < 2) first.add(record.calls()[k].output);
    all.add(record.calls()[k].output);
  }
  released.add(release.statistics.mean);
  check_pinned("first round", first, 0x1b9c41a230ae693f);
  check_pinned("all rounds", all, 0xdd09a0924ff56479);
  std::printf("  released mean: %016llx\n", released.value());
}

}  // namespace
