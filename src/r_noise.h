// Noise for a mechanism of the core that is run from R: from the engine that R names, or from a
// noise object passed from R, which records every call or returns recorded answers. Such objects
// are for audits on simulated people only.
#pragma once

#include <RcppEigen.h>

#include <cstdint>
#include <dpsc/noise/noise.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "r_engine.h"

/// A noise object passed from R. Its draws in several runs form one record; a replay returns them
/// from the start and records the requests. PRIVATE until it is closed, which erases the record.
class handed_noise {
 public:
  explicit handed_noise(SEXP rng) : rng_(rng) {}

  /// From now on returns the given outputs, or the recorded ones, in their order.
  void replay(std::vector<Eigen::VectorXd> outputs, std::vector<std::vector<Eigen::Index>> places) {
    outputs_ = std::move(outputs);
    known_places_ = std::move(places);
    if (!replaying_) known_bits_ = std::move(bits_);
    replaying_ = true;
    diverged_ = false;
    calls_.clear();
    places_.clear();
    bits_.clear();
  }

  template <typename Run>
  auto with(Run run) {
    if (closed_) throw std::invalid_argument("this noise was closed");
    if (replaying_) {
      dpsc::replayed_noise known(rest(outputs_, calls_.size()), rest(known_places_, places_.size()),
                                 rest(known_bits_, bits_.size()));
      try {
        return written(known, run);
      } catch (const dpsc::replay_diverged&) {
        diverged_ = true;
        throw;
      }
    }
    return with_engine(rng_, [&](auto& engine) {
      dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
      return written(draws, run);
    });
  }

  void close() {
    *this = handed_noise(R_NilValue);
    closed_ = true;
  }

  bool closed() const { return closed_; }

  /// Did a replay request noise that differs from the record?
  bool diverged() const { return diverged_; }

  const std::vector<dpsc::noise_call>& calls() const { return calls_; }
  const std::vector<std::vector<Eigen::Index>>& places() const { return places_; }

 private:
  template <typename Run>
  auto written(dpsc::noise& draws, Run run) {
    dpsc::recorded_noise recorder(draws);
    auto result = run(static_cast<dpsc::noise&>(recorder));
    append(recorder.calls(), calls_);
    append(recorder.places(), places_);
    append(recorder.bits(), bits_);
    return result;
  }

  template <typename T>
  static void append(const std::vector<T>& more, std::vector<T>& to) {
    to.insert(to.end(), more.begin(), more.end());
  }

  template <typename T>
  static std::vector<T> rest(const std::vector<T>& all, std::size_t used) {
    if (used >= all.size()) return {};
    return {all.begin() + static_cast<std::ptrdiff_t>(used), all.end()};
  }

  Rcpp::RObject rng_;
  bool replaying_ = false, closed_ = false, diverged_ = false;
  std::vector<dpsc::noise_call> calls_;
  std::vector<std::vector<Eigen::Index>> places_, known_places_;
  std::vector<std::uint64_t> bits_, known_bits_;
  std::vector<Eigen::VectorXd> outputs_;
};

/// The noise object behind a pointer; a pointer that was saved and read again has none.
inline handed_noise& handed(SEXP pointer) {
  auto* noise = TYPEOF(pointer) == EXTPTRSXP
                    ? static_cast<handed_noise*>(R_ExternalPtrAddr(pointer))
                    : nullptr;
  if (!noise) throw std::invalid_argument("there is no noise behind this pointer");
  return *noise;
}

/// Calls `run(noise)` with noise from the engine that `rng` names, or from the noise object that it
/// is.
template <typename Run>
auto with_noise(SEXP rng, Run run) {
  if (TYPEOF(rng) == EXTPTRSXP) return handed(rng).with(run);
  return with_engine(rng, [&](auto& engine) {
    dpsc::drawn_noise<std::decay_t<decltype(engine)>> draws(engine);
    return run(static_cast<dpsc::noise&>(draws));
  });
}
