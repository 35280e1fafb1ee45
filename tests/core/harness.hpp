// Helpers of tests.cpp: a generator, checks, and random numbers of every kind.
#pragma once

#include <Eigen/Dense>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dpsc/engine.hpp>
#include <dpsc/noise/discrete.hpp>
#include <dpsc/rows/source.hpp>
#include <functional>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// SplitMix64: small, and good enough for tests.
class test_engine {
 public:
  explicit test_engine(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

test_engine engine(20240607);
int passed = 0, failed = 0;

void check(bool ok, const char* what, int line) {
  ++(ok ? passed : failed);
  if (!ok) std::printf("FAILED at line %d: %s\n", line, what);
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define CHECK_THROWS(type, expression)               \
  do {                                               \
    bool thrown = false;                             \
    try {                                            \
      (void)(expression);                            \
    } catch (const type&) {                          \
      thrown = true;                                 \
    }                                                \
    check(thrown, "throws: " #expression, __LINE__); \
  } while (false)

double uniform(double low = -1.0, double high = 1.0) {
  return low + (high - low) * dpsc::uniform_open(engine);
}
Index whole(Index low, Index high) {
  return low + static_cast<Index>(
                   dpsc::uniform_below(static_cast<dpsc::uint128>(high - low + 1), engine));
}
MatrixXd random_matrix(Index n, Index m, double size = 1.0) {
  return MatrixXd::NullaryExpr(n, m, [&](Index, Index) { return uniform(-size, size); });
}
VectorXd random_vector(Index n, double size = 1.0) { return random_matrix(n, 1, size).col(0); }

// Mean and variance of many draws against known ones, at six standard errors.
void check_moments(const std::function<double()>& draw, double mean, double variance,
                   int n = 20000) {
  double sum = 0.0, square = 0.0, fourth = 0.0;
  for (int i = 0; i < n; ++i) {
    const double x = draw() - mean;
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  CHECK(std::abs(sum / n) < 6.0 * std::sqrt(variance / n));
  const double spread = std::sqrt(std::max(fourth / n - variance * variance, 0.0) / n);
  CHECK(std::abs(square / n - variance) < 6.0 * spread + 1e-9);
}

dpsc::table_view view_of(const MatrixXd& table) {
  return {table.data(), nullptr, table.rows(), table.cols()};
}

}  // namespace
