// Bodies of people_answers.hpp.
#pragma once

#include "people_answers.hpp"

namespace dpsc {

people_sums answer_people(const row_source& source, const people_question& question,
                          const ticker& tick) {
  using kind = people_question::kind;
  switch (question.what) {
    case kind::medians:
      return sum_people(source, question, median_counts(question), tick);
    case kind::scales:
      return sum_people(source, question, scale_counts(question), tick);
    case kind::lengths:
    case kind::residuals:
      return sum_people(source, question, limit_counts(question), tick);
    case kind::outer:
      return sum_people(source, question, asked_outer(question), tick);
    case kind::scores:
      return sum_people(source, question, score_sums(question), tick);
  }
  throw std::logic_error("there is no such question");
}

}  // namespace dpsc
