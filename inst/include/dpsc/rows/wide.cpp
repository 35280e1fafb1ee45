// Bodies of wide.hpp.
#pragma once

#include "wide.hpp"

#include <algorithm>
#include <vector>

// On Windows g++ does not align such vectors on the stack.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define DPSC_WIDE __attribute__((target("avx2,fma")))
#endif

namespace dpsc {

bool has_wide_vectors() {
#ifdef DPSC_WIDE
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

#ifdef DPSC_WIDE
namespace wide_detail {

using Eigen::Index;
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

__attribute__((target("avx2"))) inline four load(const double* x) {
  return *reinterpret_cast<const four*>(x);
}
__attribute__((target("avx2"))) inline four at(double x) { return four{x, x, x, x}; }

// Rows of a block whose columns stay in the first-level cache during multiplication.
constexpr Index few_rows = 256;

// Products of three columns with four, summed over rows.
DPSC_WIDE inline void multiply_columns(const double* const* a, const double* const* b, Index rows,
                                       double* sums) {
  four s00 = {}, s01 = {}, s02 = {}, s03 = {}, s10 = {}, s11 = {}, s12 = {}, s13 = {}, s20 = {},
       s21 = {}, s22 = {}, s23 = {};
  Index i = 0;
  for (; i + 4 <= rows; i += 4) {
    const four a0 = load(a[0] + i), a1 = load(a[1] + i), a2 = load(a[2] + i);
    four x = load(b[0] + i);
    s00 += a0 * x, s10 += a1 * x, s20 += a2 * x;
    x = load(b[1] + i);
    s01 += a0 * x, s11 += a1 * x, s21 += a2 * x;
    x = load(b[2] + i);
    s02 += a0 * x, s12 += a1 * x, s22 += a2 * x;
    x = load(b[3] + i);
    s03 += a0 * x, s13 += a1 * x, s23 += a2 * x;
  }
  const four s[12] = {s00, s01, s02, s03, s10, s11, s12, s13, s20, s21, s22, s23};
  for (int k = 0; k < 12; ++k) {
    sums[k] = (s[k][0] + s[k][1]) + (s[k][2] + s[k][3]);
    for (Index r = i; r < rows; ++r) sums[k] += a[k / 4][r] * b[k % 4][r];
  }
}

DPSC_WIDE void add_gram(const Eigen::MatrixXd& z, Eigen::MatrixXd& gram) {
  const Index n = z.rows(), d = z.cols();
  const double *a[3], *b[4];
  double sums[12];
  for (Index first = 0; first < n; first += few_rows) {
    const Index rows = std::min(few_rows, n - first);
    // Places beyond the last column repeat this column and are not added.
    const auto column = [&](Index j) { return z.data() + std::min(j, d - 1) * n + first; };
    for (Index j = 0; j < d; j += 4) {
      for (int k = 0; k < 4; ++k) b[k] = column(j + k);
      for (Index i = j / 3 * 3; i < d; i += 3) {
        for (int k = 0; k < 3; ++k) a[k] = column(i + k);
        multiply_columns(a, b, rows, sums);
        for (int k = 0; k < 12; ++k) {
          const Index row = i + k / 4, col = j + k % 4;
          if (row >= col && row < d && col < d) gram(row, col) += sums[k];
        }
      }
    }
  }
}

// Twelve rows, and four columns of the loadings, side by side.
DPSC_WIDE inline void multiply_rows(const double* q, const double* loadings, Index periods,
                                    four* out) {
  four s00 = {}, s01 = {}, s02 = {}, s10 = {}, s11 = {}, s12 = {}, s20 = {}, s21 = {}, s22 = {},
       s30 = {}, s31 = {}, s32 = {};
  for (Index t = 0; t < periods; ++t, q += 12, loadings += 4) {
    const four q0 = load(q), q1 = load(q + 4), q2 = load(q + 8);
    four x = at(loadings[0]);
    s00 += q0 * x, s01 += q1 * x, s02 += q2 * x;
    x = at(loadings[1]);
    s10 += q0 * x, s11 += q1 * x, s12 += q2 * x;
    x = at(loadings[2]);
    s20 += q0 * x, s21 += q1 * x, s22 += q2 * x;
    x = at(loadings[3]);
    s30 += q0 * x, s31 += q1 * x, s32 += q2 * x;
  }
  const four s[12] = {s00, s01, s02, s10, s11, s12, s20, s21, s22, s30, s31, s32};
  for (int k = 0; k < 12; ++k) out[k] = s[k];
}

DPSC_WIDE void map_rows(const Eigen::MatrixXd& q, const row_map& map, Eigen::MatrixXd& out) {
  const Index n = q.rows(), T = q.cols(), d = map.dimension();
  std::vector<double> strip(static_cast<std::size_t>(12 * T)),
      panels(static_cast<std::size_t>((d + 3) / 4 * 4 * T));
  for (Index j = 0; j < d; ++j)
    for (Index t = 0; t < T; ++t)
      panels[static_cast<std::size_t>(j / 4 * 4 * T + 4 * t + j % 4)] = map.loadings(t, j);
  four found[12];
  constexpr double magic = 6755399441055744.0;  // as in nearest_integer()
  for (Index first = 0; first < n; first += 12) {
    const Index rows = std::min<Index>(12, n - first);
    if (rows < 12) std::fill(strip.begin(), strip.end(), 0.0);
    for (Index t = 0; t < T; ++t)
      std::copy_n(q.data() + t * n + first, rows, strip.data() + 12 * t);
    for (Index j = 0; j < d; j += 4) {
      multiply_rows(strip.data(), panels.data() + j * T, T, found);
      for (Index k = 0; k < std::min<Index>(4, d - j); ++k) {
        double whole[12];
        for (int part = 0; part < 3; ++part) {
          const four z = (found[3 * k + part] * map.rescale + magic) - magic - map.origin[j + k];
          for (int i = 0; i < 4; ++i) whole[4 * part + i] = z[i];
        }
        std::copy_n(whole, rows, out.data() + (j + k) * n + first);
      }
    }
  }
}

// Without fused multiplication, as on processors that lack it.
__attribute__((target("avx2"))) void multiply_lanes(const double* matrix, Index rows, Index cols,
                                                    const double* u, double* y) {
  static_assert(lanes == 8, "two vectors of four");
  for (Index r = 0; r < rows; ++r, matrix += cols, y += lanes) {
    four low = {}, high = {};
    const double* x = u;
    Index j = 0;
    for (; j + 4 <= cols; j += 4, x += 4 * lanes) {
      const four m0 = at(matrix[j]), m1 = at(matrix[j + 1]), m2 = at(matrix[j + 2]),
                 m3 = at(matrix[j + 3]);
      low += (load(x) * m0 + load(x + 8) * m1) + (load(x + 16) * m2 + load(x + 24) * m3);
      high += (load(x + 4) * m0 + load(x + 12) * m1) + (load(x + 20) * m2 + load(x + 28) * m3);
    }
    for (; j < cols; ++j, x += lanes) {
      const four m = at(matrix[j]);
      low += load(x) * m;
      high += load(x + 4) * m;
    }
    *reinterpret_cast<four*>(y) = low;
    *reinterpret_cast<four*>(y + 4) = high;
  }
}

}  // namespace wide_detail
#endif

void add_whole_gram(const Eigen::MatrixXd& z, Eigen::MatrixXd& gram, bool wide) {
#ifdef DPSC_WIDE
  if (wide) return wide_detail::add_gram(z, gram);
#endif
  static_cast<void>(wide);
  gram.selfadjointView<Eigen::Lower>().rankUpdate(z.transpose());
}

void map_whole_rows(const Eigen::MatrixXd& q, const row_map& map, Eigen::MatrixXd& out, bool wide) {
  out.resize(q.rows(), map.dimension());
#ifdef DPSC_WIDE
  if (wide) return wide_detail::map_rows(q, map, out);
#endif
  static_cast<void>(wide);
  out.noalias() = q * map.loadings;
  for (Eigen::Index j = 0; j < map.dimension(); ++j) {
    auto column = out.col(j).array();
    column = nearest_integer((column * map.rescale).eval()) - map.origin[j];
  }
}

void multiply_lanes(const double* matrix, Eigen::Index rows, Eigen::Index cols, const double* u,
                    double* y, bool wide) {
#ifdef DPSC_WIDE
  if (wide) return wide_detail::multiply_lanes(matrix, rows, cols, u, y);
#endif
  static_cast<void>(wide);
  using values = Eigen::Array<double, 1, lanes>;
  const auto at = [u](Eigen::Index j) { return Eigen::Map<const values>(u + j * lanes); };
  for (Eigen::Index r = 0; r < rows; ++r, matrix += cols, y += lanes) {
    values sum = values::Zero();
    Eigen::Index j = 0;
    for (; j + 4 <= cols; j += 4)
      sum += (at(j) * matrix[j] + at(j + 1) * matrix[j + 1]) +
             (at(j + 2) * matrix[j + 2] + at(j + 3) * matrix[j + 3]);
    for (; j < cols; ++j) sum += at(j) * matrix[j];
    Eigen::Map<values>(y, lanes) = sum;
  }
}

}  // namespace dpsc
