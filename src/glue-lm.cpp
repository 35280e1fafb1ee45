// Glue of regressions by moments and of other papers, as one.
#include "rcpp-lm.cpp"
#include "rcpp-papers.cpp"
