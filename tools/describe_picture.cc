// The picture of memory that `relayout describe` ends with.
//
//     memory    the index at each offset, c,h,w; n = 0; a dot stands for padding; a bar ends a run of c
//          0  0,0,0 | 1,0,0 ...
//
// It leaves out dims whose index does not change, and rows between the first and the last.
#include "tools/describe_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "tools/common.h"

namespace relayout::tools {
namespace {

constexpr int kRoom = 70;  // for the cells of a row
constexpr int64_t kRows = 7, kFirstRows = 5, kLastRows = 2;

/// A digit that has more than one value: index / place % extent, `stride` apart in memory.
struct Level {
  int64_t stride, place, extent;
  int dim;
};

struct Cell {
  Slot slot;
  Dims index;
};

struct Row {
  int64_t offset;
  std::vector<Cell> cells;
};

/// What is shown: the first rows, and the last ones where some between them are left out.
struct Shown {
  std::vector<Row> first, last;
};

/// The digits from the smallest step in memory to the largest.
std::vector<Level> levels_of(const Layout& layout) {
  std::vector<Level> out;
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t place = 1;
    for (const Digit& digit : layout.digits_under_swizzle(d)) {
      if (digit.extent > 1 && digit.stride != 0) out.push_back({std::abs(digit.stride), place, digit.extent, d});
      place *= digit.extent;
    }
  }
  std::ranges::stable_sort(out, {}, &Level::stride);
  return out;
}

/// How many cells a row has: whole runs, so that blocks and pixels line up, and at most `fit`.
int64_t columns_of(const std::vector<Level>& levels, int64_t span, int64_t fit) {
  if (span <= fit) return std::max<int64_t>(1, span);
  int64_t run = 1, longer = span;
  for (const Level& level : levels) {
    if (level.stride <= fit) run = level.stride;
    if (level.stride > fit) longer = std::min(longer, level.stride);
  }
  int64_t best = run;
  for (int64_t columns = run; columns <= fit; columns += run) {
    if (longer % columns == 0) best = columns;
  }
  return best >= std::min<int64_t>(8, fit) ? best : std::max<int64_t>(1, fit / run * run);
}

Row row_of(const Layout& layout, int64_t begin, int64_t columns) {
  Row out{begin, {}};
  for (int64_t offset = begin; offset < std::min(layout.span(), begin + columns); ++offset) {
    Cell cell;
    cell.slot = layout.inverse(offset, &cell.index);
    out.cells.push_back(std::move(cell));
  }
  return out;
}

/// Rows from the first offset on that has an index.
Shown shown(const Layout& layout, int64_t columns) {
  const int64_t begin = layout.offset_range().first, rows = (layout.span() - begin - 1) / columns + 1;
  const bool all = rows <= kRows;
  Shown out;
  for (int64_t row = 0; row < (all ? rows : kFirstRows); ++row)
    out.first.push_back(row_of(layout, begin + row * columns, columns));
  for (int64_t row = all ? rows : rows - kLastRows; row < rows; ++row)
    out.last.push_back(row_of(layout, begin + row * columns, columns));
  return out;
}

/// Whether all indices of a dim share an offset.
bool repeats(const Layout& layout, int dim) {
  return layout.dim(dim) > 1 && std::ranges::all_of(layout.digits_under_swizzle(dim),
                                                    [](const Digit& d) { return d.extent == 1 || d.stride == 0; });
}

/// The index that a dim has in all elements of the rows; none where it changes, or where there are no elements.
std::optional<int64_t> fixed_index(const std::vector<Row>& rows, int dim) {
  std::optional<int64_t> out;
  for (const Row& row : rows) {
    for (const Cell& cell : row.cells) {
      if (cell.slot != Slot::element) continue;
      const int64_t index = cell.index[static_cast<std::size_t>(dim)];
      if (out && *out != index) return std::nullopt;
      out = index;
    }
  }
  return out;
}

bool changes(const std::vector<Row>& rows, int dim) {
  const bool any = std::ranges::any_of(rows, [](const Row& row) {
    return std::ranges::any_of(row.cells, [](const Cell& cell) { return cell.slot == Slot::element; });
  });
  return any && !fixed_index(rows, dim);
}

std::string label(const Cell& cell, const std::vector<int>& dims) {
  if (cell.slot != Slot::element) return cell.slot == Slot::padding ? "." : "";
  std::string out;
  for (const int dim : dims) {
    out += (out.empty() ? "" : ",") + std::to_string(cell.index[static_cast<std::size_t>(dim)]);
  }
  return out;
}

/// The picture of one layout: the dims in its cells and the rows.
class Picture {
 public:
  Picture(const Layout& layout, const std::string& letters) : layout_(layout), letters_(letters) {
    for (int d = 0; d < layout.ndims(); ++d) dims_.push_back(d);
    levels_ = levels_of(layout);
    fill();
    // Fewer dims make narrower cells, of which more are shown: a dim that then changes after all comes back.
    std::vector<int> back;
    for (std::vector<int> next = changing(back); next != dims_; next = changing(back)) {
      std::ranges::set_difference(next, dims_, std::back_inserter(back));
      dims_ = next;
      fill();
    }
    offset_width_ = std::max(6, static_cast<int>(std::to_string(layout.span() - 1).size()));
    for (const std::vector<Row>* rows : {&shown_.first, &shown_.last}) {
      for (const Row& row : *rows) {
        for (std::size_t k = 0; k + 1 < row.cells.size(); ++k) bars_ = bars_ || bar_behind(row, k);
      }
    }
  }

  std::string text(bool gaps) const {
    std::string legend = "the index at each offset, " + names(dims_);
    if (const std::string fixed = fixed_text(shown_.first); !fixed.empty()) legend += "; " + fixed;
    if (const std::string same = repeated_names(); !same.empty()) legend += "; the same for every " + same;
    if (layout_.padded()) legend += "; a dot stands for padding";
    if (gaps) legend += "; a blank is a gap";
    if (bars_) legend += "; a bar ends a run of " + names({levels_[0].dim});
    std::string out = labelled("memory", legend);
    if (const int64_t before = shown_.first.front().offset; before > 0) {
      out += labelled("", fmt::format("... a gap of {}", before));
    }
    for (const Row& row : shown_.first) out += line(row);
    if (shown_.last.empty()) return out;
    const Row& before = shown_.first.back();
    const int64_t left_out = shown_.last.front().offset - before.offset - static_cast<int64_t>(before.cells.size());
    const std::string fixed = fixed_text(shown_.last);
    const bool same = fixed.empty() || fixed == fixed_text(shown_.first);
    out += labelled("", fmt::format("... {} more{}", left_out, same ? "" : "; below " + fixed));
    for (const Row& row : shown_.last) out += line(row);
    return out;
  }

 private:
  void fill() {
    // No index is longer than the last one of each dim. What is then shown says how long the longest is.
    width_ = 0;
    for (const int dim : dims_) width_ += static_cast<int>(std::to_string(layout_.dim(dim) - 1).size()) + 1;
    width_ = std::max(1, width_ - 1);
    for (int round = 0; round < 2; ++round) {
      const int between = levels_.size() > 1 ? 3 : 2;
      const int64_t reach = layout_.span() - layout_.offset_range().first;
      shown_ = shown(layout_, columns_of(levels_, reach, std::max(1, (kRoom + between) / (width_ + between))));
      std::size_t widest = 1;
      for (const std::vector<Row>* rows : {&shown_.first, &shown_.last}) {
        for (const Row& row : *rows) {
          for (const Cell& cell : row.cells) widest = std::max(widest, label(cell, dims_).size());
        }
      }
      width_ = static_cast<int>(widest);
    }
  }

  /// The dims that change in one of the parts, and those that came back; all where none changes.
  std::vector<int> changing(const std::vector<int>& back) const {
    std::vector<int> out, all;
    for (int d = 0; d < layout_.ndims(); ++d) {
      all.push_back(d);
      if (changes(shown_.first, d) || changes(shown_.last, d) || std::ranges::find(back, d) != back.end())
        out.push_back(d);
    }
    return out.empty() ? all : out;
  }

  std::string names(const std::vector<int>& dims) const {
    std::string out;
    for (const int dim : dims) out += (out.empty() ? "" : ",") + letters_.substr(static_cast<std::size_t>(dim), 1);
    return out;
  }

  /// "n,c = 0,1": the dims that are left out, with their index in these rows.
  std::string fixed_text(const std::vector<Row>& rows) const {
    std::vector<int> dims;
    Dims values;
    for (int d = 0; d < layout_.ndims(); ++d) {
      const std::optional<int64_t> index = fixed_index(rows, d);
      if (!index || repeats(layout_, d) || std::ranges::find(dims_, d) != dims_.end()) continue;
      dims.push_back(d);
      values.push_back(*index);
    }
    return dims.empty() ? "" : names(dims) + " = " + join(values);
  }

  /// The dims that are left out because they repeat values.
  std::string repeated_names() const {
    std::vector<int> dims;
    for (int d = 0; d < layout_.ndims(); ++d) {
      if (repeats(layout_, d) && std::ranges::find(dims_, d) == dims_.end()) dims.push_back(d);
    }
    return names(dims);
  }

  /// Whether cell k and the next are not in one run of the innermost digit.
  bool bar_behind(const Row& row, std::size_t k) const {
    const Cell &a = row.cells[k], &b = row.cells[k + 1];
    if (a.slot == Slot::gap || b.slot == Slot::gap) return false;
    return std::ranges::any_of(levels_.begin() + 1, levels_.end(), [&](const Level& level) {
      const auto at = static_cast<std::size_t>(level.dim);
      return a.index[at] / level.place % level.extent != b.index[at] / level.place % level.extent;
    });
  }

  std::string line(const Row& row) const {
    std::string out = fmt::format("  {:>{}}  ", row.offset, offset_width_);
    for (std::size_t k = 0; k < row.cells.size(); ++k) {
      out += fmt::format("{:<{}}", label(row.cells[k], dims_), width_);
      if (k + 1 < row.cells.size()) out += bars_ ? (bar_behind(row, k) ? " | " : "   ") : "  ";
    }
    while (out.back() == ' ') out.pop_back();
    return out + "\n";
  }

  const Layout& layout_;
  const std::string& letters_;
  std::vector<Level> levels_;
  std::vector<int> dims_;
  int width_ = 1, offset_width_ = 6;
  bool bars_ = false;
  Shown shown_;
};

}  // namespace

std::string picture_text(const Layout& layout, const std::string& letters, bool gaps) {
  if (layout.empty() || layout.ndims() == 0) return "";
  return Picture(layout, letters).text(gaps);
}

}  // namespace relayout::tools
