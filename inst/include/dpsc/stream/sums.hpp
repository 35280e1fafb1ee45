// One running sum with any kind of noise.
#pragma once

#include <variant>

#include "calibrate.hpp"

namespace dpsc {

class running_sums {
 public:
  running_sums() = default;
  explicit running_sums(const stream_plan& plan) : noise_(plan.noise()) {
    const Eigen::Index d = plan.facts.dimension();
    const std::int64_t horizon = plan.facts.horizon;
    if (plan.facts.noise == "tree")
      sums_ = tree_sums(d, horizon);
    else if (plan.facts.noise == "toeplitz")
      sums_ = toeplitz_sums(d, horizon, plan.grid);
    else
      sums_ = buffered_sums(d, horizon, plan.grid);
  }

  template <typename Engine>
  void step(const std::int64_t* x, Engine& engine, exposure_observer* observer = nullptr) {
    std::visit([&](auto& sums) { sums.step(x, noise_, engine, observer); }, sums_);
  }
  void estimate(Eigen::VectorXd& out) const {
    std::visit([&](const auto& sums) { sums.estimate(out); }, sums_);
  }
  std::int64_t steps() const {
    return std::visit([](const auto& sums) { return sums.steps(); }, sums_);
  }
  /// Standard deviation of coordinate i of the estimate.
  double sd(Eigen::Index i) const {
    const double variance = std::visit([](const auto& sums) { return sums.variance(); }, sums_);
    return std::sqrt(variance * noise_.variance(i));
  }
  const coordinate_noise& noise() const { return noise_; }
  tree_sums* tree() { return std::get_if<tree_sums>(&sums_); }
  const tree_sums* tree() const { return std::get_if<tree_sums>(&sums_); }

  void write(state_writer& out) const {
    out.put(static_cast<std::int32_t>(sums_.index()));
    noise_.write(out);
    std::visit([&](const auto& sums) { sums.write(out); }, sums_);
  }
  void read(state_reader& in) {
    std::int32_t which = 0;
    in.get(which);
    noise_.read(in);
    if (which == 0)
      sums_ = tree_sums();
    else if (which == 1)
      sums_ = toeplitz_sums();
    else if (which == 2)
      sums_ = buffered_sums();
    else
      throw state_error("the checkpoint is damaged");
    std::visit([&](auto& sums) { sums.read(in); }, sums_);
    if (std::visit([](const auto& sums) { return sums.dimension(); }, sums_) != noise_.dimension())
      throw state_error("the checkpoint is damaged");
  }

 private:
  std::variant<tree_sums, toeplitz_sums, buffered_sums> sums_;
  coordinate_noise noise_;
};

}  // namespace dpsc
