// Cutting a space into boxes, dim by dim: see grid.h.
#include "relayout/execute/own/elementwise/grid.h"

#include <algorithm>
#include <cstdlib>

namespace relayout::execute {
namespace {

using Operands = std::span<const Layout* const>;

/// Indices of one dim that lie in axes, innermost first.
struct Range {
  GridOffsets offset;
  std::vector<GridAxis> axes;
};

/// The offsets of index i of dim d, without offset0.
GridOffsets at(Operands operands, int d, int64_t i) {
  GridOffsets out{};
  const bool repeats = operands[0]->dim(d) != 1;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const bool one = repeats && operands[k]->dim(d) == 1;
    out[k] = operands[k]->dim_offset(d, one ? 0 : i);
  }
  return out;
}

GridOffsets difference(const GridOffsets& a, const GridOffsets& b) {
  GridOffsets out{};
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = a[k] - b[k];
  return out;
}

/// Where the digits of the operands begin in the index of dim d: 1 and every place value below the extent, ascending.
std::vector<int64_t> places_of(Operands operands, int d) {
  const int64_t extent = operands[0]->dim(d);
  std::vector<int64_t> out{1};
  for (const Layout* layout : operands) {
    if (layout->dim(d) != extent) continue;
    int64_t place = 1;
    for (const Digit& digit : layout->digits(d)) {
      place *= digit.extent;
      if (place >= extent) break;
      out.push_back(place);
    }
  }
  std::ranges::sort(out);
  const auto rest = std::ranges::unique(out);
  out.erase(rest.begin(), rest.end());
  return out;
}

/// How many of the places divide all larger ones: these are digits of one mixed radix.
std::size_t nested(const std::vector<int64_t>& places) {
  const auto divides_rest = [&](std::size_t k) {
    return std::all_of(places.begin() + static_cast<std::ptrdiff_t>(k), places.end(),
                       [&](int64_t place) { return place % places[k] == 0; });
  };
  std::size_t count = 1;
  while (count < places.size() && divides_rest(count)) ++count;
  return count;
}

/// Cuts dim d into ranges: each is as long as its first index and the digits allow.
std::vector<Range> ranges_of(Operands operands, int d, std::size_t most) {
  const int64_t extent = operands[0]->dim(d);
  const std::vector<int64_t> places = places_of(operands, d);
  const std::size_t levels = nested(places);
  std::vector<Range> out;
  for (int64_t first = 0; first < extent && out.size() <= most;) {
    const int64_t left = extent - first;
    std::size_t top = 0;
    while (top + 1 < levels && first % places[top + 1] == 0 && places[top + 1] <= left) ++top;
    int64_t count = left / places[top];
    for (std::size_t k = top + 1; k < places.size(); ++k) {
      count = std::min(count, (places[k] - first % places[k]) / places[top]);
    }
    Range range{at(operands, d, first), {}};
    for (std::size_t k = 0; k < top; ++k) {
      range.axes.push_back({places[k + 1] / places[k], difference(at(operands, d, first + places[k]), range.offset)});
    }
    if (count > 1) range.axes.push_back({count, difference(at(operands, d, first + places[top]), range.offset)});
    first += count * places[top];
    out.push_back(std::move(range));
  }
  return out;
}

/// Drops axes of one index, sorts the others by the first operand's steps, and joins those that continue each other.
void simplify(GridBox& box) {
  std::erase_if(box.axes, [](const GridAxis& axis) { return axis.extent == 1; });
  std::ranges::stable_sort(
      box.axes, [](const GridAxis& a, const GridAxis& b) { return std::abs(a.step[0]) > std::abs(b.step[0]); });
  std::vector<GridAxis> joined;
  for (const GridAxis& axis : box.axes) {
    const bool continues = !joined.empty() && std::ranges::equal(joined.back().step, axis.step, {}, {},
                                                                 [&](int64_t s) { return s * axis.extent; });
    if (continues) {
      joined.back() = {joined.back().extent * axis.extent, axis.step};
    } else {
      joined.push_back(axis);
    }
  }
  box.axes = std::move(joined);
}

}  // namespace

int64_t GridBox::elements() const {
  int64_t out = 1;
  for (const GridAxis& axis : axes) out *= axis.extent;
  return out;
}

std::optional<std::vector<GridBox>> grid(Operands operands, std::size_t most) {
  const Layout& space = *operands[0];
  std::vector<GridBox> boxes;
  if (space.empty()) return boxes;
  GridOffsets start{};
  for (std::size_t k = 0; k < operands.size(); ++k) start[k] = operands[k]->offset0();
  boxes.push_back({start, {}});
  for (int d = 0; d < space.ndims(); ++d) {
    const std::vector<Range> ranges = ranges_of(operands, d, most);
    if (boxes.size() * ranges.size() > most) return std::nullopt;
    std::vector<GridBox> cut;
    for (const GridBox& box : boxes) {
      for (const Range& range : ranges) {
        GridBox& part = cut.emplace_back(box);
        for (std::size_t k = 0; k < part.offset.size(); ++k) part.offset[k] += range.offset[k];
        part.axes.insert(part.axes.end(), range.axes.begin(), range.axes.end());
      }
    }
    boxes = std::move(cut);
  }
  for (GridBox& box : boxes) simplify(box);
  return boxes;
}

}  // namespace relayout::execute
