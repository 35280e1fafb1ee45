// A long loop's hook into its host: a place to be interrupted.
#pragma once

#include <functional>
#include <utility>

namespace dpsc {

/// Calls the host's handler now and then. The handler leaves the loop by throwing.
class runtime {
 public:
  runtime() = default;
  explicit runtime(std::function<void()> handler) : handler_(std::move(handler)) {}

  /// Says that about `work` floating-point operations were done since the last call.
  void tick(double work) {
    pending_ += work;
    if (pending_ < operations_between_calls) return;
    pending_ = 0.0;
    if (handler_) handler_();
  }

 private:
  // A few hundredths of a second: too short for a user to notice, far above the cost of a call.
  static constexpr double operations_between_calls = 3e7;

  std::function<void()> handler_;
  double pending_ = 0.0;
};

}  // namespace dpsc
