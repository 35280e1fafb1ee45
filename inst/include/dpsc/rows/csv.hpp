// Lines of a CSV file as cells of text, by rules that no cell can change: one line, one row.
//
// A line ends at a line feed and nowhere else; one carriage return before it is part of the end.
// Cells are separated by commas. A cell that begins with a quote goes to the next single quote, and
// two quotes in it stand for one; it may contain commas, but not the end of a line. Any other cell
// is read literally, including quotes within it. A line is malformed if a quote is not closed, if
// there is text between a closing quote and the comma, or if the number of cells differs from the
// number of columns: no part of such a line is used, and no other line is affected.
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

  /// Is the cell empty, or NA, the usual forms of a missing value?
  bool missing() const { return !quoted && (text.empty() || text == "NA"); }
};

/// Cells of a line without its end; `cells` is overwritten.
/// @return false if a quote makes the line malformed.
bool csv_cells(const char* line, std::size_t size, std::vector<csv_cell>& cells);

/// Calls `row(cells)` for every line of `data`, with a null pointer for a malformed one.
/// @param columns the required number of cells. @param last is `data` the end of the file? Then
///   text after the last line feed is a line as well. @return the number of bytes read: whole
///   lines.
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
