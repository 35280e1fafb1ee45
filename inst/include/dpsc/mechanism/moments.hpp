// Two private releases about people's feature vectors: a radius that contains them, and their mean
// and second moments within it. Proofs: inst/proofs/gram.md, sections 2 and 3.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../noise/noise.hpp"
#include "../noise/symmetric.hpp"
#include "../rows/source.hpp"
#include "../rows/sums.hpp"
#include "../rows/weighted.hpp"
#include "budget.hpp"

namespace dpsc {

/// Receives the amount of work done; may throw to stop.
using ticker = std::function<void(double)>;

/// Standard deviations stay below 2^27 grid units, so that 128-bit integers suffice for every
/// sampler.
constexpr double largest_sigma = 134217728.0;
constexpr double exact_integers = 9007199254740992.0;  // 2^53

// A radius ----------------------------------------------------------------------------------------

/// Least and largest cost of a row outside, relative to the energy of a row on the radius.
constexpr int radius_price = 1, most_radius_price = 30;

/// A public rule for the price. Identical rows, such as rows of zeros, all have the same distance
/// from any centre. At a low price a radius of this length wins as soon as six in ten rows are
/// identical, and the other rows would be ignored. A larger budget permits a higher price.
constexpr double radius_signal = 60.0;

int radius_price_of(double n, double exponent);

constexpr int choice_shift = 40;

/// Bits of a row's energy, so that sums over n rows at this price are exact.
int energy_bits(double n, int price);

/// Candidate radii: down from high by factors of sqrt 2, in increasing order.
std::vector<double> radius_grid(double low, double high);

/// A radius in grid steps of the features: an integer, at least one.
double radius_steps(double radius, const grid_map& rows);

/// Draws a radius by the retained part of the rows: losses change within a range of price + 2.
std::size_t choose_energy(const radius_energy& energy, int bits, double exponent,
                          const std::string& label, noise& draws);

/// Squares of radii in grid steps.
std::vector<double> squared_steps(const std::vector<double>& radii, const grid_map& rows);

/// The radius at which the rows inside have the most squared norm per squared radius.
double choose_radius(const row_source& source, const grid_map& rows, double n,
                     const std::vector<double>& radii, double exponent, int price,
                     const std::string& label, noise& draws, const ticker& tick);

// Joint moments -----------------------------------------------------------------------------------

/// The joint release of sum and Gram matrix, before anything is drawn. PUBLIC.
struct moments_step {
  law kind;
  double limit;     // R: whole grid units
  double constant;  // K
  double noise;     // variance on the diagonal (half of it off), or Laplace scale
  double sigma;     // standard deviation of the noise on the diagonal
  step_record record;
};

/// Plans the finest grid whose noise the exact sampler can draw, and whose sums are exact.
moments_step plan_moments(const std::string& label, double n, Eigen::Index d, double kappa,
                          const total_budget& budget, double share);

/// Noisy mean and second moments per person, scaled units, and the noise's standard deviations: for
/// the mean, and for the diagonal of the second moments (off-diagonal entries have half the
/// variance). RELEASED.
struct noisy_moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd second;
  double mean_sd;
  double second_sd;
};

/// Sum and Gram matrix of (w, K), w the rows clipped to a radius, under one noise (Lemma 4).
noisy_moments release_moments(const row_source& source, const grid_map& rows, double n,
                              double radius, const moments_step& step, noise& draws,
                              const ticker& tick);

/// The same for people with weights, per unit of weight; their mean share is released, too.
noisy_moments release_weighted(const row_source& source, const grid_map& rows, double n,
                               double radius, const moments_step& step,
                               const weight_limits& weights, mean_share& share, noise& draws,
                               const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "moments.cpp"
#endif
