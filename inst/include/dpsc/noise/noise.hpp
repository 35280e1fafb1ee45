// The only object that draws random numbers. A mechanism calls it to add noise to exact sums or to
// choose from a grid; its creator determines the source of the bits and whether draws are recorded.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "continuous.hpp"
#include "discrete.hpp"
#include "exact.hpp"
#include "exponential.hpp"
#include "joint.hpp"
#include "positions.hpp"
#include "whole_gaussian.hpp"

namespace dpsc {

/// Noise distributions. `whole_gaussian` is the discrete Gaussian given by an integer standard
/// deviation instead of a variance; `spherical` is gamma-norm noise by exact samplers;
/// `printed_norm` is a paper's mistake, for mechanisms that are NOT PRIVATE.
enum class law {
  discrete_gaussian,
  discrete_laplace,
  exponential,
  gaussian,
  gamma_norm,
  whole_gaussian,
  spherical,
  printed_norm
};

const char* law_name(law which);

/// One noisy step: its request and its result. With `exact` it is PRIVATE, for audits only.
struct noise_call {
  std::string label;
  law kind;
  Eigen::VectorXd scale;   // variances, Laplace scales, or the exponent on a loss of one
  Eigen::VectorXd exact;   // sums without noise, or losses; of a joint choice, list after list
  Eigen::VectorXd offset;  // log-prior of a choice, as it is used
  Eigen::VectorXd output;  // sums with noise, the choices (from 0), or the minimiser
  double log_curvature;    // if the density depends on it; else NaN; infinite: unknown
};

/// A convex objective to which a random linear term is added.
class perturbed_objective {
 public:
  virtual ~perturbed_objective() = default;
  virtual Eigen::Index size() const = 0;
  /// Minimiser of the objective plus term'f.
  virtual Eigen::VectorXd minimiser(const Eigen::VectorXd& term) const = 0;
  /// Gradient of the objective without the term.
  virtual Eigen::VectorXd gradient(const Eigen::VectorXd& f) const = 0;
  /// Log determinant of its Hessian at this point, up to a public constant.
  virtual double log_curvature(const Eigen::VectorXd& f) const = 0;
};

/// A normal distribution whose mean and covariance both depend on people: a draw from a posterior.
class normal_law {
 public:
  virtual ~normal_law() = default;
  virtual Eigen::Index size() const = 0;
  /// The point for given standard normal numbers, on a public grid.
  virtual Eigen::VectorXd point(const Eigen::VectorXd& standard) const = 0;
  /// The standard normal numbers for a given point.
  virtual Eigen::VectorXd standard(const Eigen::VectorXd& point) const = 0;
  /// Log-determinant of the precision over two, up to a public constant.
  virtual double log_curvature() const = 0;
};

class noise {
 public:
  virtual ~noise() = default;

  /// Exact integers plus independent integer noise; `scale` has one integer per entry.
  virtual Eigen::VectorXd add(const std::string& label, law kind, const Eigen::VectorXd& exact,
                              const Eigen::VectorXd& scale) = 0;

  virtual std::size_t choose(const std::string& label, const private_choice& choice) = 0;

  /// One candidate from every list; all lists have the same number of candidates.
  virtual std::vector<std::size_t> choose_jointly(const std::string& label,
                                                  const joint_choice& choice) = 0;

  /// A real vector plus floating-point noise, rounded to a public grid far below the noise.
  /// Rounding hides the low-order bits, through which such noise can reveal its argument (Mironov,
  /// 2012), but it proves nothing.
  virtual Eigen::VectorXd add_real(const std::string& label, law kind, const Eigen::VectorXd& exact,
                                   double scale) = 0;

  /// The minimiser of an objective plus a random linear term. The answer determines the term, which
  /// the noise protects.
  virtual Eigen::VectorXd perturb(const std::string& label, law kind, double scale,
                                  const perturbed_objective& objective) = 0;

  /// A point from a normal distribution. It determines the standard normal numbers, which the noise
  /// protects.
  virtual Eigen::VectorXd draw(const std::string& label, const normal_law& from) = 0;

  /// m of n positions in a random order, independent of data and part of no output. PRIVATE.
  virtual std::vector<Eigen::Index> positions(Eigen::Index n, Eigen::Index m) = 0;

  /// Random bits that are combined with data by position only: subsets of people, seeds. PRIVATE.
  virtual std::uint64_t sorting_bits() = 0;

  /// The released value of a stream's node: its noise, from `sorting_bits()`, was drawn before its
  /// rows arrived.
  virtual Eigen::VectorXd show(const std::string& label, law kind, const Eigen::VectorXd& noisy,
                               const Eigen::VectorXd& scale) = 0;
};

/// An engine whose bits are `sorting_bits()`, for callers that need an engine.
class sorting_engine {
 public:
  explicit sorting_engine(noise& draws) : draws_(draws) {}
  std::uint64_t bits() { return draws_.sorting_bits(); }

 private:
  noise& draws_;
};

/// Noise from an engine of random bits.
template <typename Engine>
class drawn_noise : public noise {
 public:
  explicit drawn_noise(Engine& engine) : engine_(engine) {}

  Eigen::VectorXd add(const std::string&, law kind, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd& scale) override {
    if (scale.size() != exact.size())
      throw std::invalid_argument("noise needs one scale for each sum");
    Eigen::VectorXd out(exact.size());
    for (Eigen::Index i = 0; i < exact.size(); ++i)
      out[i] = exact[i] + static_cast<double>(integer(kind, static_cast<std::int64_t>(scale[i])));
    return out;
  }

  std::size_t choose(const std::string&, const private_choice& choice) override {
    return choice.draw(engine_);
  }

  std::vector<std::size_t> choose_jointly(const std::string&, const joint_choice& choice) override {
    return choice.draw(engine_);
  }

  Eigen::VectorXd add_real(const std::string&, law kind, const Eigen::VectorXd& exact,
                           double scale) override {
    const double grid = std::exp2(std::floor(std::log2(scale)) - 20.0);
    const Eigen::VectorXd noisy = exact + term(kind, exact.size(), scale);
    return noisy.unaryExpr([grid](double x) { return std::nearbyint(x / grid) * grid; });
  }

  Eigen::VectorXd perturb(const std::string&, law kind, double scale,
                          const perturbed_objective& objective) override {
    return objective.minimiser(term(kind, objective.size(), scale));
  }

  Eigen::VectorXd draw(const std::string&, const normal_law& from) override {
    return from.point(gaussian_vector(from.size(), 1.0, engine_));
  }

  std::vector<Eigen::Index> positions(Eigen::Index n, Eigen::Index m) override {
    return random_positions(n, m, engine_);
  }

  std::uint64_t sorting_bits() override { return engine_.bits(); }

  Eigen::VectorXd show(const std::string&, law, const Eigen::VectorXd& noisy,
                       const Eigen::VectorXd&) override {
    return noisy;
  }

 private:
  std::int64_t integer(law kind, std::int64_t parameter) {
    if (kind == law::whole_gaussian) return whole_sigma_gaussian(parameter)(engine_);
    return kind == law::discrete_gaussian ? discrete_gaussian(parameter)(engine_)
                                          : discrete_laplace(parameter)(engine_);
  }

  Eigen::VectorXd term(law kind, Eigen::Index size, double scale) {
    if (kind == law::gaussian) return gaussian_vector(size, scale, engine_);
    if (kind == law::spherical) return exact_spherical(size, scale, engine_);
    if (kind == law::gamma_norm) return gamma_norm_vector(size, scale, engine_);
    const Eigen::VectorXd direction = gaussian_vector(size, 1.0, engine_).normalized();
    return direction * scale * standard_gamma(1.0, engine_);
  }

  Engine& engine_;
};

/// Records every call of another noise object: for audits on simulated panels.
class recorded_noise : public noise {
 public:
  explicit recorded_noise(noise& inner) : inner_(inner) {}

  Eigen::VectorXd add(const std::string& label, law kind, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd& scale) override;

  Eigen::VectorXd add_real(const std::string& label, law kind, const Eigen::VectorXd& exact,
                           double scale) override;

  Eigen::VectorXd perturb(const std::string& label, law kind, double scale,
                          const perturbed_objective& objective) override;

  std::size_t choose(const std::string& label, const private_choice& choice) override;

  std::vector<std::size_t> choose_jointly(const std::string& label,
                                          const joint_choice& choice) override;

  Eigen::VectorXd draw(const std::string& label, const normal_law& from) override;

  std::vector<Eigen::Index> positions(Eigen::Index n, Eigen::Index m) override;

  std::uint64_t sorting_bits() override;

  /// Exact values are replaced by noisy ones: the noise is the same in a replay.
  Eigen::VectorXd show(const std::string& label, law kind, const Eigen::VectorXd& noisy,
                       const Eigen::VectorXd& scale) override;

  const std::vector<noise_call>& calls() const { return calls_; }

  /// Positions that were drawn, in their order. PRIVATE.
  const std::vector<std::vector<Eigen::Index>>& places() const { return places_; }

  const std::vector<std::uint64_t>& bits() const { return bits_; }

  static noise_call as_call(const std::string& label, const private_choice& choice, std::size_t k);

 private:
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  noise& inner_;
  std::vector<noise_call> calls_;
  std::vector<std::vector<Eigen::Index>> places_;
  std::vector<std::uint64_t> bits_;
};

/// The noise requested for a panel differs from the record: the sequence of calls depends on
/// people.
struct replay_diverged : std::runtime_error {
  replay_diverged() : std::runtime_error("the sequence of noise calls depends on the panel") {}
};

/// Returns recorded answers for any panel.
class replayed_noise : public noise {
 public:
  explicit replayed_noise(std::vector<Eigen::VectorXd> outputs,
                          std::vector<std::vector<Eigen::Index>> places = {},
                          std::vector<std::uint64_t> bits = {});

  Eigen::VectorXd add(const std::string&, law, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd&) override;

  Eigen::VectorXd add_real(const std::string&, law, const Eigen::VectorXd& exact, double) override;

  Eigen::VectorXd perturb(const std::string&, law, double,
                          const perturbed_objective& objective) override;

  std::size_t choose(const std::string&, const private_choice& choice) override;

  std::vector<std::size_t> choose_jointly(const std::string&, const joint_choice& choice) override;

  Eigen::VectorXd draw(const std::string&, const normal_law& from) override;

  std::vector<Eigen::Index> positions(Eigen::Index n, Eigen::Index m) override;

  std::uint64_t sorting_bits() override;

  Eigen::VectorXd show(const std::string&, law, const Eigen::VectorXd& noisy,
                       const Eigen::VectorXd&) override;

 private:
  const Eigen::VectorXd& next(Eigen::Index size);

  std::vector<Eigen::VectorXd> outputs_;
  std::vector<std::vector<Eigen::Index>> places_;
  std::vector<std::uint64_t> bits_;
  std::size_t position_ = 0, place_ = 0, bit_ = 0;
};

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "noise.cpp"
#endif
