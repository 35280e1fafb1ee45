// People far from the rest of their group: their share and distance, released with a round's mean
// and moments at no further cost. Proof: inst/proofs/treated.md, section 2 (Lemma 9).
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "../mechanism/moments.hpp"
#include "../rows/source.hpp"
#include "../rows/sums.hpp"

namespace dpsc {

/// Found by simulation (bench/protect.R); none depends on data.
namespace tail_constants {
// The length from which people count as far, in units of the radius of a round and of the donors;
// the first knot, in units of this length. Each further knot is twice as far.
constexpr double bend = 1.0, first = 2.0;
constexpr int most_knots = 8;
}  // namespace tail_constants

/// From `bend` on, a person's average residual (the sum of the last T1 features over the root of
/// T1) is described by the person's weights on `knots`. RELEASED.
struct tail_knots {
  double bend = 0.0;
  Eigen::VectorXd knots;

  tail_knots() = default;
  /// `least` is the smallest bend of all rounds, so that all rounds have the same number of knots;
  /// `reach` is a length that no features exceed.
  tail_knots(double bend, double least, double reach);
};

/// Mean and moments of clipped rows, and for each knot the net share of people there: people above
/// the centre minus people below it. RELEASED.
struct tail_moments : noisy_moments {
  Eigen::VectorXd tail;
  double tail_sd = 0.0;
  Eigen::MatrixXd both;  // second moments of people's weights, on both sides of the centre
  double both_sd = 0.0;  // of the noise on its diagonal
};

namespace treated_detail {

/// The unit vector (near, far) with near + ratio far = position, for positions from 1 to the ratio.
struct unit_pair {
  double near = 1.0, far = 0.0;

  unit_pair(double position, double ratio);
};

/// Sum and Gram matrix of rows that leave their clip for the knots as they get farther away.
///
/// Between the bend and the first knot a row is `near` times the clipped row, and `far` on the
/// knot; between two knots it has these weights on both. So no row is longer than the limit, and
/// beyond the bend weights times knots add up to the row's average residual.
class bent_moments {
 public:
  bent_moments(Eigen::Index dimension, double radius, double limit, tail_knots steps,
               Eigen::Index T1);

  void add(const Eigen::MatrixXd& z);

  const Eigen::VectorXd& sum() const { return sum_; }
  Eigen::MatrixXd gram() const { return gram_.selfadjointView<Eigen::Lower>(); }
  double zoom() const { return rows_.zoom(); }
  /// A weight of one, in whole numbers.
  double one() const { return one_; }

 private:
  clipped_sums rows_;
  tail_knots steps_;
  Eigen::Index T1_;
  double one_;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd gram_;
};

}  // namespace treated_detail

/// As release_moments(), with the same noise, for rows with a tail.
tail_moments release_tail(const row_source& source, const grid_map& rows, double n, double radius,
                          const moments_step& step, const tail_knots& at, Eigen::Index T1,
                          noise& draws, const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "treated_tail.cpp"
#endif
