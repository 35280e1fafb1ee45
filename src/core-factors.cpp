// Bodies of the core: factors and completion, without privacy.
#include <dpsc/classical/completion.cpp>
#include <dpsc/classical/factor.cpp>
#include <dpsc/classical/interactive.cpp>
