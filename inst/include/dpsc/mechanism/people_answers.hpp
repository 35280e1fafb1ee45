// Any question about people's rows, answered by one pass: for a process that has the rows, and for
// testing an engine. Sums WITHOUT NOISE.
#pragma once

#include "location.hpp"
#include "regression_scores.hpp"

namespace dpsc {

people_sums answer_people(const row_source& source, const people_question& question,
                          const ticker& tick);

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "people_answers.cpp"
#endif
