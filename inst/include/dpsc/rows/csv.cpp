// Bodies of csv.hpp.
#pragma once

#include "csv.hpp"

namespace dpsc {

bool csv_cells(const char* line, std::size_t size, std::vector<csv_cell>& cells) {
  cells.clear();
  std::size_t at = 0;
  while (true) {
    csv_cell cell;
    if (at < size && line[at] == '"') {
      cell.quoted = true;
      bool closed = false;
      for (++at; at < size && !closed; ++at) {
        if (line[at] != '"') {
          cell.text += line[at];
        } else if (at + 1 < size && line[at + 1] == '"') {
          cell.text += line[at++];
        } else {
          closed = true;
        }
      }
      if (!closed || (at < size && line[at] != ',')) return false;
    } else {
      const std::size_t first = at;
      while (at < size && line[at] != ',') ++at;
      cell.text.assign(line + first, at - first);
    }
    cells.push_back(cell);
    if (at == size) return true;
    ++at;
  }
}

}  // namespace dpsc
