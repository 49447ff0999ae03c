// Memory in rows: which offsets are shown, how long rows are, and which dims the labels name.
#include "relayout/show/memory.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace relayout::show {
namespace {

/// The index that a dim has in all elements of the rows; nothing where it changes, or where there are no elements.
std::optional<int64_t> fixed_index(const std::vector<MemoryRow>& rows, int dim) {
  std::optional<int64_t> out;
  for (const MemoryRow& row : rows) {
    for (const MemoryCell& cell : row) {
      if (cell.slot != Slot::element) continue;
      if (out && *out != cell.index[dim]) return std::nullopt;
      out = cell.index[dim];
    }
  }
  return out;
}

bool changes(const std::vector<MemoryRow>& rows, int dim) {
  const bool any = std::ranges::any_of(
      rows, [](const MemoryRow& row) { return std::ranges::count(row, Slot::element, &MemoryCell::slot) > 0; });
  return any && !fixed_index(rows, dim);
}

int64_t longest_label(const std::vector<MemoryRow>& rows, int64_t least) {
  for (const MemoryRow& row : rows) {
    for (const MemoryCell& cell : row) least = std::max(least, static_cast<int64_t>(cell.label.size()));
  }
  return least;
}

}  // namespace

std::vector<Level> levels_of(const Layout& layout) {
  std::vector<Level> out;
  for (int d = 0; d < layout.ndims(); ++d) {
    const std::span<const Digit> digits = layout.digits_under_swizzle(d);
    int64_t place = 1;
    for (std::size_t k = 0; k < digits.size(); ++k) {
      const auto& [extent, stride] = digits[k];
      // A dim of 3 in blocks of 16 has one digit, which reaches further than the dim.
      const bool inner = k + 1 < digits.size() || (k == 0 && extent > layout.dim(d));
      if (extent > 1 && stride != 0) out.push_back({std::abs(stride), place, extent, d, inner});
      place *= extent;
    }
  }
  std::ranges::stable_sort(out, {}, &Level::stride);
  return out;
}

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

bool repeats(const Layout& layout, int dim) {
  return layout.dim(dim) > 1 && std::ranges::all_of(layout.digits_under_swizzle(dim),
                                                    [](const Digit& d) { return d.extent == 1 || d.stride == 0; });
}

Memory::Memory(Layout layout, std::string letters, const MemoryRoom& room)
    : layout_(std::move(layout)), letters_(std::move(letters)), room_(room), levels_(levels_of(layout_)) {
  for (int d = 0; d < layout_.ndims(); ++d) dims_.push_back(d);
  if (layout_.empty()) return;
  Dims index;
  begin_ = layout_.offset_range().first;
  // Under a swizzle the smallest offset of the range need not occur.
  while (layout_.swizzled() && begin_ + 1 < layout_.span() && layout_.inverse(begin_, &index) == Slot::gap) ++begin_;
  fill();
  // Fewer dims make narrower cells, of which more are shown: a dim that then changes after all comes back.
  std::vector<int> back;
  for (std::vector<int> next = changing(back); next != dims_; next = changing(back)) {
    std::ranges::set_difference(next, dims_, std::back_inserter(back));
    dims_ = next;
    fill();
  }
}

void Memory::fill() {
  // No index is longer than the last one of each dim. What is then shown says how long the longest is.
  Dims last_index;
  for (int d = 0; d < layout_.ndims(); ++d) last_index.push_back(layout_.dim(d) - 1);
  label_letters_ = std::max<int64_t>(1, static_cast<int64_t>(label_of(last_index).size()));
  const int64_t reach = layout_.span() - begin_;
  for (int round = 0; round < 2; ++round) {
    columns_ = columns_of(levels_, reach, std::max<int64_t>(1, room_.fit(label_letters_)));
    const int64_t rows = (reach - 1) / columns_ + 1;
    const bool all = rows <= room_.rows;
    first_.clear(), last_.clear();
    for (int64_t row = 0; row < (all ? rows : room_.first_rows); ++row)
      first_.push_back(row_at(begin_ + row * columns_));
    for (int64_t row = all ? rows : rows - room_.last_rows; row < rows; ++row)
      last_.push_back(row_at(begin_ + row * columns_));
    label_letters_ = longest_label(last_, longest_label(first_, 1));
  }
}

MemoryRow Memory::row_at(int64_t begin) const {
  MemoryRow out;
  for (int64_t offset = begin; offset < std::min(layout_.span(), begin + columns_); ++offset) {
    MemoryCell cell;
    cell.offset = offset;
    cell.slot = layout_.inverse(offset, &cell.index);
    if (cell.slot == Slot::element) cell.label = label_of(cell.index);
    out.push_back(std::move(cell));
  }
  return out;
}

bool Memory::shows(Slot slot) const {
  const auto in = [&](const std::vector<MemoryRow>& rows) {
    return std::ranges::any_of(
        rows, [&](const MemoryRow& row) { return std::ranges::count(row, slot, &MemoryCell::slot) > 0; });
  };
  return in(first_) || in(last_);
}

std::string Memory::label_of(const Dims& index) const {
  if (room_.label) return room_.label(index);
  std::string out;
  for (const int dim : dims_) out += (out.empty() ? "" : ",") + std::to_string(index[dim]);
  return out;
}

/// The dims that change in one of the parts, and those that came back; all where none changes.
std::vector<int> Memory::changing(const std::vector<int>& back) const {
  std::vector<int> out, all;
  for (int d = 0; d < layout_.ndims(); ++d) {
    all.push_back(d);
    if (changes(first_, d) || changes(last_, d) || std::ranges::find(back, d) != back.end()) out.push_back(d);
  }
  return out.empty() ? all : out;
}

std::string Memory::names(const std::vector<int>& dims) const {
  std::string out;
  for (const int dim : dims) out += (out.empty() ? "" : ",") + letters_.substr(static_cast<std::size_t>(dim), 1);
  return out;
}

std::string Memory::fixed_text(bool of_last) const {
  std::vector<int> dims;
  Dims values;
  for (int d = 0; d < layout_.ndims(); ++d) {
    const std::optional<int64_t> index = fixed_index(of_last ? last_ : first_, d);
    if (!index || repeats(layout_, d) || std::ranges::find(dims_, d) != dims_.end()) continue;
    dims.push_back(d);
    values.push_back(*index);
  }
  return dims.empty() ? "" : names(dims) + " = " + join(values);
}

std::string Memory::repeated_names() const {
  std::vector<int> dims;
  for (int d = 0; d < layout_.ndims(); ++d) {
    if (repeats(layout_, d) && std::ranges::find(dims_, d) == dims_.end()) dims.push_back(d);
  }
  return names(dims);
}

}  // namespace relayout::show
