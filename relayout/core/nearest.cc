// Levenshtein's distance, row by row.
#include "relayout/core/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace relayout {
namespace {

char small_letter(char ch) { return ch >= 'A' && ch <= 'Z' ? static_cast<char>(ch + 32) : ch; }

/// Insertions, deletions and replacements that lead from one text to the other, case aside.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (small_letter(a[i]) != small_letter(b[j]));
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest(std::string_view text, std::span<const std::string_view> names) {
  std::string_view best;
  // Up to a third of the letters may be wrong; a text that is far too long is near nothing.
  std::size_t least = std::min<std::size_t>(text.size() / 3, 3) + 1;
  for (std::string_view name : names) {
    if (text.size() > name.size() + 3) continue;
    if (const std::size_t apart = edits(text, name); apart < least) {
      best = name;
      least = apart;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> names) {
  const std::string_view near = nearest(text, names);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

}  // namespace relayout
