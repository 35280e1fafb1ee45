// Bodies of the core: factor models and matrix completion, without privacy; errors of generalised
// linear models.
#include <dpsc/classical/completion.cpp>
#include <dpsc/classical/factor.cpp>
#include <dpsc/classical/interactive.cpp>
#include <dpsc/estimate/glm_errors.cpp>
