// The distance is computed row by row; an exchange of neighbours looks two rows back.
#include "relayout/core/nearest.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "relayout/core/letters.h"

namespace relayout {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Those of the last two texts that a begins with, and of the next one, to each that b begins with.
  std::array<std::vector<std::size_t>, 3> rows;
  rows.fill(std::vector<std::size_t>(b.size() + 1));
  std::iota(rows[1].begin(), rows[1].end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    auto& [before, last, next] = rows;
    next[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const auto same = [&](std::size_t x, std::size_t y) { return small_letter(a[x]) == small_letter(b[y]); };
      next[j + 1] = std::min({last[j] + (same(i, j) ? 0 : 1), last[j + 1] + 1, next[j] + 1});
      if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j)) next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
    }
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  }
  return rows[1].back();
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
  std::string_view best;
  // Up to a third of the letters may be wrong; a text that is far too long is near nothing.
  std::size_t least = std::min<std::size_t>(text.size() / 3, 3) + 1;
  for (std::string_view name : names) {
    if (text.size() > name.size() + 3) continue;
    if (const std::size_t apart = edit_distance(text, name); apart < least) {
      best = name;
      least = apart;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> names) {
  const std::string_view near = nearest_name(text, names);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

}  // namespace relayout
