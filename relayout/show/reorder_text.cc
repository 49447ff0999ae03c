// The words of a reorder, laid out.
#include "relayout/show/reorder_text.h"

#include <algorithm>
#include <cmath>

#include "relayout/show/memory_text.h"

namespace relayout::show {
namespace {

constexpr double kBorder = 12, kLineHeight = 18, kLetterWidth = 7.3, kMostWidth = 900, kSwatch = 14, kLabels = 70;

/// The words of each line, with what a step is in a column of its own.
std::vector<std::string> aligned(const std::vector<NestLine>& nest) {
  std::vector<std::string> out;
  std::size_t widest = 0;
  for (const NestLine& line : nest) {
    out.push_back(std::string(2 * static_cast<std::size_t>(line.depth), ' ') + line.words);
    if (!line.steps.empty()) widest = std::max(widest, out.back().size());
  }
  for (std::size_t i = 0; i < nest.size(); ++i) {
    if (nest[i].steps.empty()) continue;
    out[i].resize(widest + 3, ' ');
    out[i] += nest[i].steps;
  }
  return out;
}

/// Cuts words at blanks into lines of at most so many letters.
std::vector<std::string> wrapped(std::string_view text, std::size_t most) {
  std::vector<std::string> out;
  while (text.size() > most) {
    const std::size_t space = text.rfind(' ', most);
    if (space == std::string_view::npos || space == 0) break;
    out.emplace_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  out.emplace_back(text);
  return out;
}

std::string more_words(const ReorderView& view) {
  return view.more == 0 ? "" : "and " + std::to_string(view.more) + " more boxes";
}

}  // namespace

std::string reorder_text(const ReorderView& view, const Layout& dst, const std::string& letters, bool colour) {
  const auto bold = [&](const std::string& text) { return colour ? "\x1b[1m" + text + "\x1b[0m" : text; };
  const ReorderWords words = reorder_words(view, dst, letters);
  std::string out = bold("Reorder") + "\n" + labelled("as a whole", words.summary);
  for (const BoxWords& box : words.boxes) {
    out += "\n" + bold(box.heading) + "\n";
    for (const auto& [label, text] : box.lines) out += labelled(label, text);
    bool first = true;
    for (const std::string& line : aligned(box.nest)) {
      out += (first ? "  nest      " : "            ") + line + "\n";
      first = false;
    }
  }
  if (view.more > 0) out += "\n" + more_words(view) + "\n";
  return out;
}

void draw_reorder(Drawing& drawing, double top, const ReorderView& view, const Layout& dst,
                  const std::string& letters) {
  double y = top + 20, right = drawing.width() - kBorder;
  const auto write = [&](double x, const std::string& text, std::string_view fill, bool bold) {
    drawing.add(Words{x, y, text, bold ? 13.0 : 12.0, std::string(fill), Anchor::start, bold});
    right = std::max(right, x + (bold ? 8.0 : kLetterWidth) * static_cast<double>(text.size()));
  };
  const auto fit = static_cast<std::size_t>((kMostWidth - 2 * kBorder - kLabels) / kLetterWidth);
  const ReorderWords words = reorder_words(view, dst, letters);
  for (const std::string& line : wrapped("Reorder: " + words.summary, fit)) {
    write(kBorder, line, kInk, true);
    y += kLineHeight;
  }
  for (std::size_t i = 0; i < words.boxes.size(); ++i) {
    const BoxWords& box = words.boxes[i];
    y += 8;
    const bool moves = i < view.boxes.size();
    drawing.add(Box{kBorder, y - 11, kSwatch, kSwatch, moves ? series(static_cast<int64_t>(i)) : std::string(kPadding),
                    std::string(kGrid), 1, "", !moves});
    write(kBorder + kSwatch + 8, box.heading, kInk, true);
    for (const auto& [label, text] : box.lines) {
      y += kLineHeight;
      write(kBorder, label, kFaint, false);
      for (const std::string& line : wrapped(text, fit)) {
        write(kBorder + kLabels, line, kInk, false);
        y += kLineHeight;
      }
      y -= kLineHeight;
    }
    for (const NestLine& line : box.nest) {
      y += kLineHeight;
      const double x = kBorder + kLabels + 16.0 * line.depth;
      write(x, line.words, kInk, false);
      if (!line.steps.empty())
        write(x + kLetterWidth * static_cast<double>(line.words.size()) + 24, line.steps, kFaint, false);
    }
    y += kLineHeight;
  }
  if (view.more > 0) write(kBorder, more_words(view), kFaint, false);
  drawing.resize(std::max(drawing.width(), std::ceil(right) + kBorder), std::ceil(y) + kBorder);
}

CellColours colours_of(const ReorderView& view) {
  if (view.boxes.size() < 2) return {};
  const auto box_of = [&view](const Dims& index) -> int64_t {
    for (std::size_t i = 0; i < view.boxes.size(); ++i) {
      const BoxOutline& box = view.boxes[i];
      bool inside = box.origin.size() == index.size();
      for (int d = 0; d < index.size() && inside; ++d)
        inside = index[d] >= box.origin[d] && index[d] < box.origin[d] + box.extents[d];
      if (inside) return static_cast<int64_t>(i);
    }
    return -1;
  };
  return {box_of, "box", static_cast<int64_t>(view.boxes.size())};
}

}  // namespace relayout::show
