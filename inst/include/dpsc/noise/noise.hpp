// The one object that draws. A mechanism asks it to add noise to exact sums or to choose from a
// grid; who made it decides where the bits come from, and whether anything is written down.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "discrete.hpp"
#include "exponential.hpp"

namespace dpsc {

enum class law { discrete_gaussian, discrete_laplace, exponential };

inline const char* law_name(law which) {
  switch (which) {
    case law::discrete_gaussian:
      return "discrete_gaussian";
    case law::discrete_laplace:
      return "discrete_laplace";
    default:
      return "exponential";
  }
}

/// One noisy step as it was asked for and answered. With `exact` it is PRIVATE: audits only.
struct noise_call {
  std::string label;
  law kind;
  Eigen::VectorXd scale;   // variances, Laplace scales, or the exponent on a loss of one
  Eigen::VectorXd exact;   // sums without noise, or losses
  Eigen::VectorXd offset;  // log-prior of a choice, as it is used
  Eigen::VectorXd output;  // sums with noise, or the choice (from 0)
};

class noise {
 public:
  virtual ~noise() = default;

  /// Exact integers plus independent integer noise; `scale` holds whole numbers, one an entry.
  virtual Eigen::VectorXd add(const std::string& label, law kind, const Eigen::VectorXd& exact,
                              const Eigen::VectorXd& scale) = 0;

  virtual std::size_t choose(const std::string& label, const private_choice& choice) = 0;
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
    for (Eigen::Index i = 0; i < exact.size(); ++i) {
      const auto parameter = static_cast<std::int64_t>(scale[i]);
      const std::int64_t draw = kind == law::discrete_gaussian
                                    ? discrete_gaussian(parameter)(engine_)
                                    : discrete_laplace(parameter)(engine_);
      out[i] = exact[i] + static_cast<double>(draw);
    }
    return out;
  }

  std::size_t choose(const std::string&, const private_choice& choice) override {
    return choice.draw(engine_);
  }

 private:
  Engine& engine_;
};

/// Writes down every call of another noise: for audits on made-up panels.
class recorded_noise : public noise {
 public:
  explicit recorded_noise(noise& inner) : inner_(inner) {}

  Eigen::VectorXd add(const std::string& label, law kind, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd& scale) override {
    calls_.push_back({label, kind, scale, exact, {}, inner_.add(label, kind, exact, scale)});
    return calls_.back().output;
  }

  std::size_t choose(const std::string& label, const private_choice& choice) override {
    const std::size_t k = inner_.choose(label, choice);
    calls_.push_back(as_call(label, choice, k));
    return k;
  }

  const std::vector<noise_call>& calls() const { return calls_; }

  static noise_call as_call(const std::string& label, const private_choice& choice, std::size_t k) {
    const auto size = static_cast<Eigen::Index>(choice.losses.size());
    noise_call call{label,
                    law::exponential,
                    Eigen::VectorXd::Constant(1, choice.exponent()),
                    Eigen::VectorXd(size),
                    Eigen::VectorXd::Zero(size),
                    Eigen::VectorXd::Constant(1, static_cast<double>(k))};
    for (Eigen::Index i = 0; i < size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      call.exact[i] = static_cast<double>(choice.losses[at]);
      if (!choice.offsets.empty())
        call.offset[i] = -std::ldexp(static_cast<double>(choice.offsets[at]), -choice.shift);
    }
    return call;
  }

 private:
  noise& inner_;
  std::vector<noise_call> calls_;
};

/// A panel asked for other noise than the recorded one: its sequence of calls depends on people.
struct replay_diverged : std::runtime_error {
  replay_diverged() : std::runtime_error("the sequence of noise calls depends on the panel") {}
};

/// Gives recorded answers, whatever the panel.
class replayed_noise : public noise {
 public:
  explicit replayed_noise(std::vector<Eigen::VectorXd> outputs) : outputs_(std::move(outputs)) {}

  Eigen::VectorXd add(const std::string&, law, const Eigen::VectorXd& exact,
                      const Eigen::VectorXd&) override {
    const Eigen::VectorXd& known = next();
    if (known.size() != exact.size()) throw replay_diverged();
    return known;
  }

  std::size_t choose(const std::string&, const private_choice& choice) override {
    const Eigen::VectorXd& known = next();
    if (known.size() != 1 || !(known[0] >= 0.0 && known[0] < choice.losses.size()))
      throw replay_diverged();
    return static_cast<std::size_t>(known[0]);
  }

 private:
  const Eigen::VectorXd& next() {
    if (position_ == outputs_.size()) throw replay_diverged();
    return outputs_[position_++];
  }

  std::vector<Eigen::VectorXd> outputs_;
  std::size_t position_ = 0;
};

}  // namespace dpsc
