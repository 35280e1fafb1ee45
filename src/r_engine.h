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
  r_engine() { ++alive(); }
  ~r_engine() { --alive(); }
  r_engine(const r_engine&) = delete;
  r_engine& operator=(const r_engine&) = delete;

  /// The number of live engines: until all are gone, their state is not in R's .Random.seed.
  static int& alive() {
    static int count = 0;
    return count;
  }

  std::uint64_t bits() {
    std::uint64_t word = 0;  // 16 bits per draw: R's default generator has 32 good bits
    for (int i = 0; i < 4; ++i)
      word = (word << 16) | static_cast<std::uint64_t>(unif_rand() * 65536.0);
    return word;
  }

 private:
  Rcpp::RNGScope scope_;
};

/// Needed wherever R code runs during the life of an engine: that code may draw, or read the seed
/// again, and the engine would then repeat its own draws.
class r_code_runs {
 public:
  r_code_runs() : engine_(r_engine::alive() > 0) {
    if (engine_) PutRNGstate();
  }
  ~r_code_runs() {
    if (engine_) GetRNGstate();
  }
  r_code_runs(const r_code_runs&) = delete;
  r_code_runs& operator=(const r_code_runs&) = delete;

 private:
  bool engine_;
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
