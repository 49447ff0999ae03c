// Memory in rows for a terminal.
#include "relayout/show/memory_text.h"

#include <algorithm>
#include <array>

#include "relayout/show/drawing.h"
#include "relayout/show/memory.h"

namespace relayout::show {
namespace {

constexpr int64_t kRoom = 70;  // letters for the cells of a row
constexpr std::string_view kPlainAgain = "\x1b[0m";

std::string padded(std::string text, std::size_t width, bool left = false) {
  const std::string blanks(text.size() < width ? width - text.size() : 0, ' ');
  return left ? blanks + text : text + blanks;
}

void drop_blanks_at_end(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
}

/// Black letters on a colour of drawings.
std::string coloured(std::string_view colour, const std::string& text) {
  const std::string_view rgb = paper_colour(colour);
  const auto part = [&](std::size_t at) {
    return std::to_string(std::stoi(std::string(rgb.substr(at, 2)), nullptr, 16));
  };
  return "\x1b[30;48;2;" + part(1) + ";" + part(3) + ";" + part(5) + "m" + text + std::string(kPlainAgain);
}

class Text {
 public:
  Text(const Layout& layout, const std::string& letters, const MemoryTextOptions& options)
      : memory_(layout, letters, room_for(layout, options.label)), colour_(options.colour) {
    offset_width_ = std::max<std::size_t>(6, std::to_string(layout.span() - 1).size());
    for (const std::vector<MemoryRow>* rows : {&memory_.first(), &memory_.last()}) {
      for (const MemoryRow& row : *rows) {
        for (std::size_t k = 0; k + 1 < row.size(); ++k) bars_ = bars_ || bar_behind(row, k);
      }
    }
  }

  std::string text(std::optional<bool> gaps) const {
    std::string legend = "the index at each offset, " + memory_.names(memory_.dims());
    const std::string fixed = memory_.fixed_text(false);
    if (!fixed.empty()) legend += "; " + fixed;
    if (memory_.shows_values()) legend = "the value at each offset";
    if (const std::string same = memory_.repeated_names(); !same.empty()) legend += "; the same for every " + same;
    if (memory_.layout().padded()) legend += "; a dot stands for padding";
    if (gaps.value_or(memory_.shows(Slot::gap))) legend += "; a blank is a gap";
    if (bars_) legend += "; a bar ends a run of " + memory_.names({memory_.levels()[0].dim});
    std::string out = labelled("memory", legend);
    const auto &first = memory_.first(), &last = memory_.last();
    if (const int64_t before = first.front().front().offset; before > 0)
      out += labelled("", "... a gap of " + std::to_string(before));
    for (const MemoryRow& row : first) out += line(row);
    if (last.empty()) return out;
    const int64_t left_out = last.front().front().offset - first.back().back().offset - 1;
    const std::string below = memory_.fixed_text(true);
    out += labelled(
        "", "... " + std::to_string(left_out) + " more" + (below.empty() || below == fixed ? "" : "; below " + below));
    for (const MemoryRow& row : last) out += line(row);
    return out;
  }

 private:
  static MemoryRoom room_for(const Layout& layout, const LabelOf& label) {
    const int64_t between = levels_of(layout).size() > 1 ? 3 : 2;
    return {7, 5, 2, [between](int64_t letters) { return (kRoom + between) / (letters + between); }, label};
  }

  /// Whether cell k and the next are not in one run of the innermost digit.
  bool bar_behind(const MemoryRow& row, std::size_t k) const {
    const MemoryCell &a = row[k], &b = row[k + 1];
    if (a.slot == Slot::gap || b.slot == Slot::gap) return false;
    const std::vector<Level>& levels = memory_.levels();
    return std::any_of(levels.begin() + 1, levels.end(),
                       [&](const Level& level) { return level.of(a.index) != level.of(b.index); });
  }

  std::string cell_text(const MemoryCell& cell, bool at_end) const {
    std::string text = cell.slot == Slot::padding ? "." : cell.label;
    const std::string filled = padded(text, at_end ? 0 : static_cast<std::size_t>(memory_.label_letters()));
    if (!colour_ || cell.slot != Slot::element) return filled;
    const std::vector<Level>& levels = memory_.levels();
    return coloured(levels.size() > 1 ? series(levels[1].of(cell.index)) : std::string(kPlain), filled);
  }

  std::string line(const MemoryRow& row) const {
    std::string out = "  " + padded(std::to_string(row.front().offset), offset_width_, true) + "  ";
    for (std::size_t k = 0; k < row.size(); ++k) {
      out += cell_text(row[k], k + 1 == row.size());
      if (k + 1 < row.size()) out += bars_ ? (bar_behind(row, k) ? " | " : "   ") : "  ";
    }
    drop_blanks_at_end(out);
    return out + "\n";
  }

  Memory memory_;
  bool colour_;
  std::size_t offset_width_;
  bool bars_ = false;
};

}  // namespace

std::string memory_text(const Layout& layout, const std::string& letters, const MemoryTextOptions& options) {
  if (layout.empty() || layout.ndims() == 0) return "";
  return Text(layout, letters, options).text(options.gaps);
}

std::string labelled(std::string_view label, std::string_view text) {
  static constexpr std::size_t kIndent = 12, kColumns = 80;
  std::string out = "  " + padded(std::string(label), kIndent - 2);
  std::size_t room = kColumns - kIndent;
  while (text.size() > room) {
    const std::size_t space = text.rfind(' ', room);
    if (space == std::string_view::npos || space == 0) break;
    out += text.substr(0, space);
    drop_blanks_at_end(out);
    out += "\n" + std::string(kIndent, ' ');
    text.remove_prefix(space + 1);
  }
  out += text;
  drop_blanks_at_end(out);
  std::ranges::replace(out, kNoBreakSpace, ' ');
  return out + "\n";
}

}  // namespace relayout::show
