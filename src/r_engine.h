// The only place that chooses an engine for R: the operating system, R's generator, or a tape.
#pragma once

#include <Rcpp.h>

#include <cstdint>
#include <cstring>
#include <dpsc/engine.hpp>
#include <dpsc/os_engine.hpp>
#include <string>
#include <vector>

/// R's generator under set.seed(): for simulation only, never private.
class r_engine {
 public:
  std::uint64_t bits() {
    std::uint64_t word = 0;  // 16 bits a draw: R's default generator has 32 good ones
    for (int i = 0; i < 4; ++i)
      word = (word << 16) | static_cast<std::uint64_t>(unif_rand() * 65536.0);
    return word;
  }

 private:
  Rcpp::RNGScope scope_;
};

/// Calls `f(engine)` with the engine that `rng` names: "secure", "R", or a raw vector (a tape).
template <typename Function>
auto with_engine(SEXP rng, Function f) {
  if (TYPEOF(rng) == RAWSXP) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(Rf_xlength(rng)) / 8);
    if (!words.empty()) std::memcpy(words.data(), RAW(rng), words.size() * 8);
    dpsc::tape_engine engine(std::move(words));
    return f(engine);
  }
  const std::string name = Rcpp::as<std::string>(rng);
  if (name == "secure") {
    dpsc::os_engine engine;
    return f(engine);
  }
  if (name == "R") {
    r_engine engine;
    return f(engine);
  }
  throw std::invalid_argument("unknown source of randomness");
}
