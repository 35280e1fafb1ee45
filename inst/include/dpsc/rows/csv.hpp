// Lines of a CSV file as cells of text, by rules that no cell can change: one line, one row.
//
// A line ends at a line feed and nowhere else; one carriage return before it is part of the end.
// Cells are separated by commas. A cell that begins with a quote goes to the next single quote, and
// two quotes in it stand for one; it may hold commas, but not the end of a line. Any other cell is
// taken as it stands, quotes within it as well. A line is malformed where a quote is not closed,
// where something stands between a closing quote and the comma, or where there are more or fewer
// cells than columns: nothing of such a line is used, and no other line is read in another way.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace dpsc {

/// A cell of a line; text in quotes is never missing.
struct csv_cell {
  std::string text;
  bool quoted = false;

  /// Nothing, or NA, as programs write missing values.
  bool missing() const { return !quoted && (text.empty() || text == "NA"); }
};

/// Cells of a line without its end; `cells` is written over.
/// @return false if a quote makes the line malformed.
bool csv_cells(const char* line, std::size_t size, std::vector<csv_cell>& cells);

/// Calls `row(cells)` for every line of `data`, with a null pointer for a malformed one.
/// @param columns how many cells a line must have.
/// @param last is there nothing after `data`? Then text after the last line feed is a line as well.
/// @return how much of `data` was read: whole lines.
template <typename Row>
std::size_t csv_lines(const char* data, std::size_t size, std::size_t columns, bool last, Row row) {
  std::vector<csv_cell> cells;
  std::size_t at = 0;
  while (at < size) {
    const void* found = std::memchr(data + at, '\n', size - at);
    if (!found && !last) break;
    const std::size_t end = found ? static_cast<const char*>(found) - data : size;
    std::size_t length = end - at;
    if (length > 0 && data[end - 1] == '\r') --length;
    const bool well = csv_cells(data + at, length, cells) && cells.size() == columns;
    row(well ? &cells : nullptr);
    at = found ? end + 1 : size;
  }
  return at;
}

}  // namespace dpsc

#ifdef DPSC_ONE_UNIT
#include "csv.cpp"
#endif
