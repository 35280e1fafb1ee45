// A hook in long loops, through which the host can interrupt them.
#pragma once

#include <functional>
#include <utility>

namespace dpsc {

/// Calls the host's handler from time to time. The handler stops the loop by throwing.
class runtime {
 public:
  runtime() = default;
  explicit runtime(std::function<void()> handler) : handler_(std::move(handler)) {}

  /// Reports about `work` floating-point operations since the last call.
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
