// Memory in rows as a drawing.
#include "relayout/show/memory_drawing.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "relayout/core/error.h"
#include "relayout/show/memory.h"

namespace relayout::show {
namespace {

constexpr double kMargin = 12, kHead = 74, kHeight = 24, kLeastWidth = 24, kLetter = 6.7, kWidest = 900;
constexpr std::size_t kLongestTitle = 100;

double offset_width(const Layout& layout) {
  return std::ceil(kLetter * static_cast<double>(std::to_string(std::max<int64_t>(layout.span() - 1, 0)).size())) + 10;
}

double cell_width(int64_t letters) {
  return std::max(kLeastWidth, std::ceil(kLetter * static_cast<double>(letters)) + 8);
}

MemoryRoom room_for(const Layout& layout, LabelOf label) {
  const double room = kWidest - 2 * kMargin - offset_width(layout);
  return {16, 10, 5, [room](int64_t letters) { return static_cast<int64_t>(room / cell_width(letters)); },
          std::move(label)};
}

class Picture {
 public:
  Picture(Drawing& drawing, double top, const Layout& layout, const std::string& letters, std::string title,
          LabelOf label, CellColours colours)
      : drawing_(drawing),
        colours_(std::move(colours)),
        top_(top),
        title_(std::move(title)),
        memory_(layout, letters, room_for(layout, std::move(label))),
        width_(cell_width(memory_.label_letters())),
        left_(kMargin + offset_width(layout)) {
    for (const Level& level : memory_.levels()) (level.inner ? framed_ : around_).push_back(level);
    blocks_ = !framed_.empty();
    if (blocks_) return;
    if (around_.size() <= 2) {
      around_.clear();
      return;
    }
    framed_.assign(around_.begin(), around_.begin() + 2);
    around_.erase(around_.begin(), around_.begin() + 2);
  }

  void draw() {
    if (title_.size() > kLongestTitle) title_ = title_.substr(0, kLongestTitle - 3) + "...";
    words(kMargin, 20, title_, 14, kInk, true);
    right_ = kMargin + 8.6 * static_cast<double>(characters(title_));
    faint(kMargin, 37, words_of_labels());
    legend();
    right_ = std::max(right_, left_ + static_cast<double>(memory_.columns()) * width_);
    double y = kHead;
    y = rows(memory_.first(), y);
    if (!memory_.last().empty()) {
      faint(left_, y + 16, words_of_gap());
      y = rows(memory_.last(), y + kHeight);
    }
    drawing_.resize(std::max(drawing_.width(), std::ceil(right_) + kMargin), std::ceil(top_ + y) + kMargin);
  }

 private:
  using Frame = std::optional<std::vector<int64_t>>;

  void words(double x, double y, const std::string& text, double size, std::string_view fill, bool bold = false,
             Anchor anchor = Anchor::start) {
    drawing_.add(Words{x, top_ + y, text, size, std::string(fill), anchor, bold});
  }
  void faint(double x, double y, const std::string& text) {
    words(x, y, text, 12, kFaint);
    right_ = std::max(right_, x + 7.4 * static_cast<double>(text.size()));
  }

  void box(double x, double y, double width, double height, Slot slot, std::string colour) {
    Box out{x, top_ + y, width, height, std::move(colour), std::string(kPaper)};
    if (slot == Slot::padding) out.fill = kPadding, out.stroke = kGrid, out.hatched = true;
    if (slot == Slot::gap) out.fill = kPaper, out.stroke = kRule, out.dashes = "2 3";
    drawing_.add(std::move(out));
  }

  std::string colour_of(const MemoryCell& cell) const {
    if (colours_.of) {
      const int64_t number = cell.slot == Slot::element ? colours_.of(cell.index) : -1;
      return number < 0 ? std::string(kPlain) : series(number);
    }
    const std::vector<Level>& levels = memory_.levels();
    return levels.size() > 1 && cell.slot == Slot::element ? series(levels[1].of(cell.index)) : std::string(kPlain);
  }

  void cell(const MemoryCell& cell, double x, double y) {
    static constexpr std::string_view kSlots[] = {"element", "padding", "gap"};
    std::string title =
        "offset " + std::to_string(cell.offset) + ": " + std::string(kSlots[static_cast<std::size_t>(cell.slot)]);
    for (int d = 0; d < cell.index.size() && cell.slot != Slot::gap; ++d) {
      title += (d == 0 ? " " : ", ") + memory_.names({d}) + " = " + std::to_string(cell.index[d]);
    }
    drawing_.add(Titled{title});
    box(x, y, width_ - 1, kHeight - 1, cell.slot, colour_of(cell));
    if (!cell.label.empty()) words(x + (width_ - 1) / 2, y + 16, cell.label, 11, kInk, false, Anchor::middle);
    drawing_.add(Ended{});
  }

  /// Rows from y on, with the frames around blocks; returns where they end.
  double rows(const std::vector<MemoryRow>& rows, double y) {
    const double begin = y;
    for (const MemoryRow& row : rows) {
      words(left_ - 8, y + 16, std::to_string(row.front().offset), 11, kFaint, false, Anchor::end);
      for (std::size_t k = 0; k < row.size(); ++k) cell(row[k], left_ + static_cast<double>(k) * width_, y);
      y += kHeight;
    }
    if (!framed_.empty()) frames(rows, begin);
    return y;
  }

  Frame frame_of(const std::vector<MemoryRow>& rows, std::size_t r, std::size_t k) const {
    if (r >= rows.size() || k >= rows[r].size() || rows[r][k].slot == Slot::gap) return {};
    std::vector<int64_t> out;
    for (const Level& level : around_) out.push_back(level.of(rows[r][k].index));
    return out;
  }

  /// The sides of cells at which a block ends.
  void frames(const std::vector<MemoryRow>& rows, double begin) {
    std::string path;
    const std::string down = "v" + point(kHeight), across = "h" + point(width_);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t k = 0; k < rows[r].size(); ++k) {
        const Frame frame = frame_of(rows, r, k);
        if (!frame) continue;
        const double x = left_ + static_cast<double>(k) * width_ - 0.5,
                     y = top_ + begin + static_cast<double>(r) * kHeight - 0.5;
        const auto side = [&](const Frame& other, double from_x, double from_y, const std::string& step) {
          if (other != frame) path += "M" + point(from_x) + " " + point(from_y) + step;
        };
        side(k > 0 ? frame_of(rows, r, k - 1) : Frame(), x, y, down);
        side(frame_of(rows, r, k + 1), x + width_, y, down);
        side(r > 0 ? frame_of(rows, r - 1, k) : Frame(), x, y, across);
        side(frame_of(rows, r + 1, k), x, y + kHeight, across);
      }
    }
    drawing_.add(Line{.points = path, .width = 2, .square = true});
  }

  std::string words_of_labels() const {
    const Layout& layout = memory_.layout();
    if (memory_.first().empty()) return "no elements";
    std::string out = layout.ndims() == 0 ? "one element, which has no index"
                                          : "in each cell the index " + memory_.names(memory_.dims());
    if (memory_.shows_values()) return "in each cell its value";
    const std::string fixed = memory_.fixed_text(false), below = memory_.fixed_text(true);
    if (!fixed.empty()) out += "; " + fixed + (below.empty() || below == fixed ? " everywhere" : " at first");
    if (const std::string same = memory_.repeated_names(); !same.empty()) out += "; the same for every " + same;
    const int64_t before = memory_.first().front().front().offset;
    return before == 0 ? out : out + "; offsets 0 to " + std::to_string(before - 1) + " are a gap";
  }

  /// What stands where rows are left out.
  std::string words_of_gap() const {
    const std::string below = memory_.fixed_text(true);
    return "... offsets " + std::to_string(memory_.first().back().back().offset + 1) + " to " +
           std::to_string(memory_.last().front().front().offset - 1) + " are not shown" +
           (below.empty() || below == memory_.fixed_text(false) ? "" : "; below " + below);
  }

  /// "4i16o4i": a block as tags write it, the innermost part last.
  std::string block_name() const {
    std::string out;
    for (auto level = framed_.rbegin(); level != framed_.rend(); ++level)
      out += std::to_string(level->extent) + memory_.names({level->dim});
    return out;
  }

  void legend() {
    if (memory_.first().empty()) return;
    double x = kMargin;
    const auto entry = [&](const std::string& text) {
      words(x + 6, 57, text, 12, kInk);
      x += 6 + 7.25 * static_cast<double>(text.size()) + 20;
    };
    const auto sample = [&](Slot slot, const std::string& text) {
      box(x, 44, 22, kHeight - 7, slot, std::string(kPlain));
      x += 22;
      entry(text);
    };
    legend_of_colours(x, entry, sample);
    if (!framed_.empty()) {
      drawing_.add(Box{x + 1, top_ + 45, 20, kHeight - 9, "", std::string(kInk), 2});
      x += 22;
      entry(blocks_ ? "a block of " + block_name()
                    : "all " + memory_.names({framed_[1].dim, framed_[0].dim}) + " of one " +
                          memory_.names({around_[0].dim}));
    }
    if (memory_.shows(Slot::padding)) sample(Slot::padding, "padding");
    if (memory_.shows(Slot::gap)) sample(Slot::gap, "gap: no index");
    right_ = std::max(right_, x - kMargin);
  }

  template <typename Entry, typename Sample>
  void legend_of_colours(double& x, const Entry& entry, const Sample& sample) {
    if (!colours_.of && memory_.levels().size() < 2) return sample(Slot::element, "element");
    const int64_t count = colours_.of ? colours_.count : memory_.levels()[1].extent;
    for (int64_t k = 0; k < std::min<int64_t>(count, kSeries); ++k) {
      drawing_.add(Box{x, top_ + 44, 9, kHeight - 7, series(k)});
      x += 9;
    }
    const auto in_turn = [&]() -> std::string { return count > kSeries ? ", in turn" : ""; };
    if (colours_.of) return entry("a colour for each " + colours_.words + in_turn());
    const Level& level = memory_.levels()[1];
    std::string part = memory_.names({level.dim});
    if (level.place > 1) part += "/" + std::to_string(level.place);
    if (level.inner) part += "%" + std::to_string(level.extent);
    entry("a colour for each " + part + in_turn());
  }

  Drawing& drawing_;
  CellColours colours_;
  double top_;
  std::string title_;
  Memory memory_;
  double width_, left_, right_ = 0;
  std::vector<Level> framed_, around_;  // the digits inside a frame, and those that tell frames apart
  bool blocks_ = false;
};

}  // namespace

void draw_memory(Drawing& drawing, double top, const Layout& layout, const std::string& letters,
                 const std::string& title, LabelOf label, CellColours colours) {
  Picture(drawing, top, layout, letters, title, std::move(label), std::move(colours)).draw();
}

Drawing memory_drawing(const Layout& layout, const std::string& letters, const std::string& title) {
  Drawing out(0, 0, title, true);
  draw_memory(out, 0, layout, letters, title);
  return out;
}

}  // namespace relayout::show
