// The only place where R may interrupt long loops of the core.
#pragma once

#include <Rcpp.h>

#include <dpsc/runtime.hpp>
#include <functional>

inline dpsc::runtime r_host() {
  return dpsc::runtime([] { Rcpp::checkUserInterrupt(); });
}

/// The same for code that reports its work through a function.
inline std::function<void(double)> interrupter() {
  return [host = r_host()](double work) mutable { host.tick(work); };
}
