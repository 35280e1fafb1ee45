// Lines of CSV files for R.
#include <Rcpp.h>

#include <dpsc/rows/csv.hpp>

// Cells by column, and the number of bytes read. Cells of malformed lines are missing, and so are
// cells whose bytes cannot be stored in R's strings.
// [[Rcpp::export(rng = false)]]
Rcpp::List csv_cells_cpp(Rcpp::RawVector bytes, int columns, bool last) {
  const char* data = reinterpret_cast<const char*>(RAW(bytes));
  std::size_t rows = 0;
  dpsc::csv_lines(data, bytes.size(), columns, last,
                  [&](const std::vector<dpsc::csv_cell>*) { ++rows; });
  Rcpp::List cells(columns);
  for (int j = 0; j < columns; ++j) cells[j] = Rcpp::CharacterVector(rows);
  std::size_t row = 0;
  const std::size_t used = dpsc::csv_lines(
      data, bytes.size(), columns, last, [&](const std::vector<dpsc::csv_cell>* line) {
        for (int j = 0; j < columns; ++j) {
          const dpsc::csv_cell* cell = line ? &(*line)[j] : nullptr;
          const bool none = !cell || cell->missing() || cell->text.find('\0') != std::string::npos;
          SET_STRING_ELT(VECTOR_ELT(cells, j), row,
                         none ? NA_STRING
                              : Rf_mkCharLenCE(cell->text.data(),
                                               static_cast<int>(cell->text.size()), CE_UTF8));
        }
        ++row;
      });
  return Rcpp::List::create(Rcpp::Named("cells") = cells,
                            Rcpp::Named("used") = static_cast<double>(used));
}

// Names in a header; none if it is malformed.
// [[Rcpp::export(rng = false)]]
Rcpp::CharacterVector csv_header_cpp(Rcpp::RawVector line) {
  std::vector<dpsc::csv_cell> cells;
  Rcpp::CharacterVector out;
  if (!dpsc::csv_cells(reinterpret_cast<const char*>(RAW(line)), line.size(), cells)) return out;
  for (const auto& cell : cells) {
    if (cell.text.find('\0') != std::string::npos) return Rcpp::CharacterVector();
    out.push_back(Rcpp::String(cell.text, CE_UTF8));
  }
  return out;
}
