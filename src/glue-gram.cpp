// Glue of method gram and what follows it, compiled as one: Rcpp's headers are dear.
#include "rcpp-cohorts.cpp"
#include "rcpp-columns.cpp"
#include "rcpp-growing.cpp"
#include "rcpp-leave-one-out.cpp"
#include "rcpp-moments.cpp"
#include "rcpp-treated.cpp"
