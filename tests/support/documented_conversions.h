// The tables of docs/conversions.md as values, for tests that compare the library with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "relayout/core/dtype.h"

namespace relayout::test {

/// One cell: an element of `from` with the bits `source` becomes one of `to` with the bits `want`.
struct DocumentedConversion {
  DType from, to;
  uint64_t source, want;
  std::string text;  // the row of the table
};

namespace documented_detail {

/// The cells of a Markdown row, trimmed.
inline std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  std::string cell;
  std::getline(in, cell, '|');
  while (std::getline(in, cell, '|')) {
    const auto first = cell.find_first_not_of(' ');
    const auto last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

/// The hexadecimal bits of a cell, as in "127 `7f`".
inline uint64_t bits_in(const std::string& cell) {
  const auto open = cell.find('`');
  return std::stoull(cell.substr(open + 1, cell.find('`', open + 1) - open - 1), nullptr, 16);
}

}  // namespace documented_detail

/// All cells of the tables whose header begins "| from | value |"; the other columns name destination types.
/// Throws std::runtime_error where the page is missing or a row does not fit its header.
inline std::vector<DocumentedConversion> documented_conversions() {
  using namespace documented_detail;
  const auto path = std::filesystem::path(__FILE__).parent_path() / "../../docs/conversions.md";
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  std::vector<DocumentedConversion> out;
  std::vector<DType> columns;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != '|') {
      columns.clear();
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() > 2 && cells[0] == "from" && cells[1] == "value") {
      for (std::size_t i = 2; i < cells.size(); ++i) columns.push_back(parse_dtype(cells[i]));
    } else if (!columns.empty() && cells[0].find("---") == std::string::npos) {
      if (cells.size() != columns.size() + 2) throw std::runtime_error("cells missing: " + line);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        out.push_back({parse_dtype(cells[0]), columns[i], bits_in(cells[1]), bits_in(cells[i + 2]), line});
      }
    }
  }
  return out;
}

}  // namespace relayout::test
