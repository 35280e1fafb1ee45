// Repeated runs of the vertical methods on one panel, for the simulations of Rho, Cummings and
// Misra (2023), section 8. Simulation only: it returns errors against the truth, never a release.
//
// Both published methods release weights f = centre - spread * v with noise v whose direction is
// uniform (objective perturbation in the eigenbasis of X X', output perturbation in any basis), and
// then (X_post + W)' f. A rotation changes neither law, so one run costs n normal draws and n T1
// products, with no system to solve. W' f is drawn from its exact law given f: W = R G / ||G||,
// G of independent normals, G'f is ||f|| times T1 normals, and the rest of ||G||^2 is chi-squared
// with (n - 1) T1 degrees of freedom.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <dpsc/noise/continuous.hpp>
#include <dpsc/runtime.hpp>
#include <dpsc/solver/capped_l1_qp.hpp>
#include <stdexcept>
#include <string>

namespace reproduction {

using dpsc::capped_l1_qp;
using dpsc::require_scale;
using dpsc::runtime;
using dpsc::standard_gamma;
using dpsc::standard_normal;
using dpsc::uniform_open;

/// SplitMix64 (Steele, Lea and Flood, 2014): fast bits for simulation, seeded by another engine.
/// Not cryptographic: never for a release.
class simulation_engine {
 public:
  template <typename Engine>
  explicit simulation_engine(Engine& seed) : state_(seed.bits()) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// A noise distribution with uniform direction.
struct radial_law {
  enum class kind { none, gaussian, gamma_norm, radial_laplace };

  kind what = kind::none;
  double scale = 0.0;

  /// `radial_laplace`, |Laplace| times a direction, is the noise of the authors' public code. It is
  /// NOT PRIVATE for d >= 2: its density is infinite at its centre.
  static radial_law named(const std::string& name, double scale) {
    radial_law law;
    law.scale = scale;
    if (name == "none") return law;
    require_scale(scale);
    if (name == "gaussian")
      law.what = kind::gaussian;
    else if (name == "gamma_norm")
      law.what = kind::gamma_norm;
    else if (name == "radial_laplace")
      law.what = kind::radial_laplace;
    else
      throw std::invalid_argument("unknown law of noise");
    return law;
  }

  /// Length of the noise over the length `normal` of the standard normal vector that points to it.
  template <typename Engine>
  double stretch(double dimension, double normal, Engine& engine) const {
    switch (what) {
      case kind::none:
        return 0.0;
      case kind::gaussian:
        return scale;
      case kind::gamma_norm:
        return scale * standard_gamma(dimension, engine) / normal;
      default:
        return -scale * std::log(uniform_open(engine)) / normal;
    }
  }
};

/// Two standard normals from one Box-Muller pair at a time.
template <typename Engine>
void fill_normals(Eigen::VectorXd& z, Engine& engine) {
  constexpr double two_pi = 6.283185307179586476925286766559;
  for (Eigen::Index i = 0; i < z.size(); i += 2) {
    const double radius = std::sqrt(-2.0 * std::log(uniform_open(engine)));
    const double angle = two_pi * uniform_open(engine);
    z[i] = radius * std::cos(angle);
    if (i + 1 < z.size()) z[i + 1] = radius * std::sin(angle);
  }
}

template <typename Engine>
double chi_squared(Eigen::Index degrees, Engine& engine) {
  if (degrees >= 2) return 2.0 * standard_gamma(static_cast<double>(degrees) / 2.0, engine);
  const double z = degrees == 1 ? standard_normal(engine) : 0.0;
  return z * z;
}

/// Noise of dimension z.size() in place; z is its workspace.
template <typename Engine>
void draw_noise(const radial_law& law, Eigen::VectorXd& z, Engine& engine) {
  if (law.what == radial_law::kind::none) {
    z.setZero();
    return;
  }
  fill_normals(z, engine);
  z *= law.stretch(static_cast<double>(z.size()), z.norm(), engine);
}

/// Step 2 of Algorithms 2 and 3, and its error.
class noisy_projection {
 public:
  /// @param post n x T1, in the basis of the weights. @param truth T1.
  noisy_projection(const Eigen::Ref<const Eigen::MatrixXd>& post,
                   const Eigen::Ref<const Eigen::VectorXd>& truth, const radial_law& law)
      : post_(post), truth_(truth), law_(law), normals_(truth.size()), error_(truth.size()) {
    if (post.cols() != truth.size() || truth.size() < 1)
      throw std::invalid_argument("the truth must have one value a period");
  }

  /// ||(X_post + W)' f - truth|| / sqrt(T1)
  template <typename Engine>
  double error(const Eigen::VectorXd& f, Engine& engine) {
    error_.noalias() = post_.transpose() * f;
    error_ -= truth_;
    if (law_.what != radial_law::kind::none) {
      fill_normals(normals_, engine);
      const double rest = law_.what == radial_law::kind::gaussian
                              ? 0.0
                              : chi_squared((post_.rows() - 1) * truth_.size(), engine);
      const double normal = std::sqrt(normals_.squaredNorm() + rest);
      error_ +=
          f.norm() * law_.stretch(static_cast<double>(post_.size()), normal, engine) * normals_;
    }
    return error_.norm() / std::sqrt(static_cast<double>(truth_.size()));
  }

 private:
  Eigen::Ref<const Eigen::MatrixXd> post_;
  Eigen::Ref<const Eigen::VectorXd> truth_;
  radial_law law_;
  Eigen::VectorXd normals_, error_;
};

/// Errors of `runs` releases with weights centre - spread * v.
template <typename Engine>
Eigen::VectorXd repeat_linear(const Eigen::Ref<const Eigen::VectorXd>& centre,
                              const Eigen::Ref<const Eigen::VectorXd>& spread,
                              const radial_law& law, noisy_projection& second, Eigen::Index runs,
                              Engine& engine, runtime host = runtime()) {
  if (centre.size() != spread.size()) throw std::invalid_argument("sizes differ");
  Eigen::VectorXd noise(centre.size()), f(centre.size()), errors(runs);
  for (Eigen::Index i = 0; i < runs; ++i) {
    draw_noise(law, noise, engine);
    f = centre - spread.cwiseProduct(noise);
    errors[i] = second.error(f, engine);
    host.tick(100.0 * static_cast<double>(centre.size()));
  }
  return errors;
}

/// Errors of `runs` releases by repaired objective perturbation: a minimiser over the capped L1
/// ball. The covering noise (far below the solver's tolerance times 1e4) is left out.
template <typename Engine>
Eigen::VectorXd repeat_bounded(const Eigen::Ref<const Eigen::MatrixXd>& x,
                               const Eigen::Ref<const Eigen::VectorXd>& linear, double mu,
                               double cap, double tolerance, const radial_law& law,
                               noisy_projection& second, Eigen::Index runs, Engine& engine,
                               runtime host = runtime()) {
  Eigen::VectorXd noise(linear.size()), drawn = linear, errors(runs);
  const capped_l1_qp problem(x, drawn, mu, cap);  // refers to `drawn`
  for (Eigen::Index i = 0; i < runs; ++i) {
    draw_noise(law, noise, engine);
    drawn = linear - noise;
    errors[i] = second.error(problem.solve(tolerance, host).point, engine);
    host.tick(1e5);
  }
  return errors;
}

}  // namespace reproduction
