// Columns side by side, as many as a line has room for.
#include "tools/showing/column_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/command/words.h"

namespace relayout::tools {

std::string column_table(const std::vector<std::string>& labels, const std::vector<std::vector<std::string>>& columns) {
  static constexpr std::size_t kColumns = 80, kLabel = 10;
  std::vector<bool> shown(labels.size(), false);
  for (std::size_t row = 0; row < labels.size(); ++row)
    shown[row] = std::ranges::any_of(columns, [&](const auto& cells) { return !cells[row].empty(); });
  std::string out;
  for (std::size_t first = 0; first < columns.size();) {
    std::size_t last = first, width = kLabel;
    std::vector<std::size_t> widths;
    for (; last < columns.size(); ++last) {
      std::size_t cell = 5;
      for (const std::string& text : columns[last]) cell = std::max(cell, text.size() + 2);
      if (last > first && width + cell > kColumns) break;
      width += cell;
      widths.push_back(cell);
    }
    for (std::size_t row = 0; row < labels.size(); ++row) {
      if (!shown[row]) continue;
      std::string line = fmt::format("  {:<{}}", labels[row], kLabel - 2);
      for (std::size_t k = first; k < last; ++k) line += fmt::format("{:>{}}", columns[k][row], widths[k - first]);
      while (line.back() == ' ') line.pop_back();
      out += (row == 0 ? bold(line) : line) + "\n";
    }
    out += "\n";
    first = last;
  }
  return out;
}

}  // namespace relayout::tools
