// Probes: functions of the glue that only tests call. Each is registered here under its name, and R
// calls them through probe_cpp() only.
#pragma once

#include <RcppEigen.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

using probe_call = std::function<SEXP(const Rcpp::List&)>;

inline std::map<std::string, probe_call>& all_probes() {
  static std::map<std::string, probe_call> probes;
  return probes;
}

class probe {
 public:
  template <typename Out, typename... In>
  probe(const char* name, Out (*f)(In...)) {
    all_probes()[name] = [f](const Rcpp::List& x) {
      if (x.size() != static_cast<R_xlen_t>(sizeof...(In)))
        throw std::invalid_argument("another number of arguments");
      return run(f, x, std::index_sequence_for<In...>());
    };
  }

 private:
  // Arguments are converted to the types of the parameters, as in the wrappers that Rcpp generates.
  template <typename Out, typename... In, std::size_t... at>
  static SEXP run(Out (*f)(In...), const Rcpp::List& x, std::index_sequence<at...>) {
    return Rcpp::wrap(f(typename Rcpp::traits::input_parameter<In>::type(SEXP(x[at]))...));
  }
};
