// Glue of method gram and its estimates, compiled as one: Rcpp's headers are expensive.
#include "rcpp-cohorts.cpp"
#include "rcpp-columns.cpp"
#include "rcpp-growing.cpp"
#include "rcpp-leave-one-out.cpp"
#include "rcpp-moments.cpp"
#include "rcpp-treated.cpp"
