// The only entry point to functions that only tests call.
#include <Rcpp.h>

#include "r_probe.h"

// The value of the probe of that name for these arguments. Without a name: their names.
// [[Rcpp::export(rng = false)]]
SEXP probe_cpp(const std::string& name, const Rcpp::List& arguments) {
  if (name.empty()) {
    std::vector<std::string> names;
    for (const auto& one : all_probes()) names.push_back(one.first);
    return Rcpp::wrap(names);
  }
  const auto found = all_probes().find(name);
  if (found == all_probes().end()) throw std::invalid_argument("no such probe");
  return found->second(arguments);
}
