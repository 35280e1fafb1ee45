// Bodies of the core: other papers' mechanisms, and aggregates.
#include <dpsc/mechanism/papers.cpp>
#include <dpsc/release/aggregate.cpp>
#include <dpsc/release/paper_release.cpp>
