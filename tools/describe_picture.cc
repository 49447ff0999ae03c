// The picture of memory that `relayout describe` ends with.
#include "tools/describe_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "relayout/core/print.h"
#include "tools/common.h"

namespace relayout::tools {
namespace {

/// How many cells a row of the picture has: whole runs of the innermost digit, so that blocks and pixels line up.
int picture_columns(const Layout& layout, int fit) {
  std::vector<int64_t> strides;
  for (int d = 0; d < layout.ndims(); ++d) {
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1 && std::abs(digit.stride) > 1) strides.push_back(std::abs(digit.stride));
    }
  }
  const int64_t run = strides.empty() ? layout.span() : std::ranges::min(strides);
  int64_t columns = 1;
  for (int64_t divisor = 1; divisor <= fit; ++divisor) {
    if (run % divisor == 0) columns = divisor;
  }
  if (columns < std::min<int64_t>(run, 4)) columns = std::min<int64_t>(run, fit);
  while (columns % run == 0 && columns * 2 <= std::min(fit, 16)) columns *= 2;
  return static_cast<int>(std::max<int64_t>(1, columns));
}

}  // namespace

std::string picture_text(const Layout& layout, const std::string& letters, bool gaps) {
  static constexpr std::size_t kRoom = 70;
  static constexpr int kRows = 6;
  if (layout.empty() || layout.ndims() == 0) return "";
  std::string legend;
  for (int d = 0; d < layout.ndims(); ++d) {
    legend += (d > 0 ? "," : "") + letters.substr(static_cast<std::size_t>(d), 1);
  }
  // A picture with one cell in each line shows how wide a cell is.
  const std::size_t cell = memory_picture(layout, 1, 8 * kRows).find('\n') + 2;
  const int columns = picture_columns(layout, static_cast<int>(std::max<std::size_t>(1, (kRoom + 2) / cell)));
  const std::string picture = memory_picture(layout, columns, kRows);
  std::string out =
      labelled("memory", "the index at each offset, " + legend + (layout.padded() ? "; a dot stands for padding" : "") +
                             (gaps || layout.offset_range().first > 0 ? "; a blank is a gap" : ""));
  int64_t offset = 0;
  for (std::size_t at = 0; at < picture.size(); offset += columns) {
    const std::size_t end = std::min(picture.find('\n', at), picture.size());
    std::string line = fmt::format("  {:>6}  {}", offset, std::string_view(picture).substr(at, end - at));
    while (line.back() == ' ') line.pop_back();
    out += line + "\n";
    at = end + 1;
  }
  if (offset < layout.span()) out += labelled("", fmt::format("... {} more", layout.span() - offset));
  return out;
}

}  // namespace relayout::tools
