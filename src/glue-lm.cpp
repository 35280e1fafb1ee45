// Glue of regressions by moments, of descriptions and of other papers, as one.
#include "rcpp-describe.cpp"
#include "rcpp-lm.cpp"
#include "rcpp-papers.cpp"
