// Minimise F(f) = f'Hf / 2 - g'f with H = 2 XX' + mu I over C = {||f||_1 <= 1, |f_j| <= cap}, and
// bound the distance of the answer from the exact minimiser f*.
//
// The certificate. Let v be any point, d = v - p with p = P_C(v - t (Hv - g)), t > 0. By the
// definition of a projection <v - t (Hv - g) - p, f* - p> <= 0, and f* is optimal:
// <H f* - g, p - f*> >= 0. The first plus t times the second, with e = p - f*, reads
//   <d - t H (v - f*), e> >= 0,  and v - f* = d + e, so  t e'He <= <d - t Hd, e>.
// Since H >= mu I:  ||p - f*|| <= ||d / t - H d|| / mu.  It holds for every v and t, needs no
// estimate of an eigenvalue, and is linear in the residual (a duality gap would be quadratic, and
// blind below the square root of the rounding error).
//
// Termination. Nesterov's method with constant momentum has, for t = 1 / L and L >= ||H||, F(f_k) -
// F* <= (1 - sqrt(mu / L))^k (F(0) - F* + mu / 2), so any tolerance is reached within a number of
// iterations that is known beforehand (`iteration_bound`). Newton steps on the active set usually
// end the search much earlier; they never replace the main sequence, so the bound remains valid.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../runtime.hpp"

namespace dpsc {

/// The set C = {||f||_1 <= 1, |f_j| <= cap}.
class capped_l1_ball {
 public:
  explicit capped_l1_ball(double cap);

  double cap() const { return cap_; }

  /// Nearest point of C: sign(z) min(cap, max(|z| - theta, 0)), theta >= 0 as small as possible.
  Eigen::VectorXd project(const Eigen::VectorXd& z, double* multiplier = nullptr) const;

 private:
  // Root of excess(theta) = sum min(cap, max(|z| - theta, 0)) - 1, decreasing and piecewise linear.
  // Newton's step is exact as soon as theta is on the right piece; bisection guards it.
  double threshold(const Eigen::VectorXd& z) const;

  double cap_;
};

/// A point of C and a proof of its quality.
struct capped_l1_solution {
  Eigen::VectorXd point;
  double distance = std::numeric_limits<double>::infinity();  // bound on ||point - f*||
  double iterations = 0.0;
  bool certified = false;  // distance <= the tolerance, or the floor set by rounding
};

class capped_l1_qp {
 public:
  /// @param x n x T0. @param linear g, length n. Both must outlive the object.
  capped_l1_qp(const Eigen::Ref<const Eigen::MatrixXd>& x,
               const Eigen::Ref<const Eigen::VectorXd>& linear, double mu, double cap);

  capped_l1_solution solve(double tolerance, runtime host = runtime()) const;

  /// Iterations after which the certificate is below `goal` in exact arithmetic:
  /// F(0) - F* <= ||g||, since ||f*|| <= 1; when the last iterates are within r of f*, then
  /// ||v - p|| <= 4 r, and the certificate is at most 4 r L / mu.
  double iteration_bound(double goal) const;

  /// Possible effect of rounding on a certificate. The residual d/t - Hd is computed from Hv, Hp
  /// and g: each has error below (n + T0 + 8) u ||X||_F^2, resp. u times the numbers; the sum that
  /// fixes theta has n terms.
  double rounding() const;

 private:
  struct step {
    Eigen::VectorXd p, hp, target;
    double theta = 0.0, distance = 0.0;
  };

  Eigen::VectorXd times_h(const Eigen::VectorXd& f) const;

  step projected_step(const Eigen::VectorXd& v, const Eigen::VectorXd& hv) const;

  static void offer(const step& s, double goal, capped_l1_solution& best);

  // Semismooth Newton on v = P_C(v - t (Hv - g)): the face is guessed from a projected step, the
  // problem is solved on it exactly, and so on. Ends at a face that was tried before, or after a
  // few attempts.
  void newton(const Eigen::VectorXd& start, const Eigen::VectorXd& h_start, double goal,
              capped_l1_solution& best, runtime& host) const;

  // 0: zero; +-1: free with that sign; +-2: at the cap. Without the sum constraint zero is no kink.
  std::vector<signed char> classify(const step& s) const;

  Eigen::VectorXd solve_on_face(const std::vector<signed char>& face, bool on_sum) const;

  // (2 xx' + mu I)^-1 b through the smaller of the two Gram matrices, refined: the identity for the
  // T0 x T0 case subtracts nearly equal numbers when mu is small.
  Eigen::MatrixXd solve_regularised(const Eigen::MatrixXd& x, const Eigen::MatrixXd& b) const;

  Eigen::Ref<const Eigen::MatrixXd> x_;
  Eigen::Ref<const Eigen::VectorXd> g_;
  double mu_, largest_, spread_;
  capped_l1_ball set_;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "capped_l1_qp.cpp"
#endif
