// xla: XLA's layouts: the dims from the innermost to the outermost, then tiles.
//
//     xla:{1,0}                      row-major
//     xla:[3,5]                      the same with extents: row-major is what HLO leaves out
//     xla:{1,0:T(8,128)(2,1)}        tiles of 8 x 128, in which pairs of rows lie side by side (what TPUs do for bf16)
//     xla:[3,5]{1,0:T(2,2)}          the same with extents; index (2,3) is at offset 17
//
// A tile of k extents cuts the k innermost axes, and the tile's own axes become the innermost ones; the next tile cuts
// these. Where an array has fewer axes than a tile, it has axes of extent 1 outside: a scalar in a tile of 128,
// xla:[]{:T(128)}, is an element and 127 elements of padding. Source: XLA, docs/tiled_layout.md, docs/shapes.md and
// ShapeUtil::ArraySize.
#include <algorithm>
#include <set>

#include "relayout/core/format.h"
#include "relayout/core/notations/notation.h"
#include "relayout/core/tag_names.h"

namespace relayout {
namespace {

constexpr int kNoDim = -1;

/// A place of a dim: the indices that differ by `place` are neighbours along this axis of memory.
struct Axis {
  int dim = 0;  // kNoDim: an axis that only a tile has
  int64_t place = 1;
  int64_t extent = 0;  // 0: the outermost digit of its dim, as long as the dim needs
};

/// The axes of memory from the outermost to the innermost, before any tile.
std::vector<Axis> read_order(NotationText& text) {
  std::vector<Axis> axes;
  std::vector<std::size_t> positions;
  while (text.peek() != '}' && text.peek() != ':') {
    if (!axes.empty()) text.expect(',');
    if (static_cast<int>(axes.size()) == kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
    positions.push_back(text.at());
    axes.push_back({static_cast<int>(std::min<int64_t>(text.number("dim", 0), kMaxDims)), 1, 0});
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].dim >= static_cast<int>(axes.size()))
      text.fail(positions[i],
                "of " + std::to_string(axes.size()) + " dims the last is " + std::to_string(axes.size() - 1));
    for (std::size_t k = 0; k < i; ++k) {
      if (axes[k].dim == axes[i].dim) text.fail(positions[i], "this dim stands here a second time");
    }
  }
  std::ranges::reverse(axes);
  return axes;
}

/// Cuts the innermost axes by one tile, "(8,128)".
void cut(NotationText& text, std::vector<Axis>& axes) {
  const std::size_t from = text.at();
  text.expect('(');
  std::vector<int64_t> tile;
  std::vector<std::size_t> positions;
  do {
    positions.push_back(text.at());
    if (text.peek() == '*') text.fail("a tile that joins dims ('*') is not supported");
    tile.push_back(text.number("extent of a tile", 1));
    if (tile.back() > kMaxBlock)
      text.fail(positions.back(), "an extent of a tile of over " + std::to_string(kMaxBlock));
  } while (text.take(','));
  text.expect(')');
  if (tile.size() > axes.size() + static_cast<std::size_t>(kMaxDims))
    text.fail(from, "a tile of " + std::to_string(tile.size()) + " extents, where " + std::to_string(axes.size()) +
                        " axes of memory can be cut");
  if (tile.size() > axes.size()) axes.insert(axes.begin(), tile.size() - axes.size(), Axis{kNoDim, 1, 0});
  const std::size_t first = axes.size() - tile.size();
  std::vector<Axis> inner;
  for (std::size_t k = 0; k < tile.size(); ++k) {
    Axis& axis = axes[first + k];
    if (axis.extent % tile[k] != 0)
      text.fail(positions[k], "an extent of " + std::to_string(tile[k]) + " does not divide the " +
                                  std::to_string(axis.extent) +
                                  " of the tile before, so that padding would lie inside that tile");
    inner.push_back({axis.dim, axis.place, tile[k]});
    const auto place = checked_mul(axis.place, tile[k]);
    if (!place) text.fail(positions[k], "the product of a dim's tiles does not fit 64 bits");
    axis.place = *place;
    axis.extent /= tile[k];
  }
  axes.insert(axes.end(), inner.begin(), inner.end());
  if (std::ranges::count_if(axes, [](const Axis& axis) { return axis.extent > 1; }) > kMaxBlocks)
    text.fail(from, "the tiles cut more than " + std::to_string(kMaxBlocks) + " blocks");
}

/// What may stand behind the order: tiles, and what has nothing to do with offsets or is no layout.
void read_properties(NotationText& text, std::vector<Axis>& axes) {
  while (text.peek() != '}') {
    const std::size_t at = text.at();
    if (text.take('T')) {
      do {
        cut(text, axes);
      } while (text.peek() == '(');
    } else if (text.take("S(")) {  // a memory space
      text.number("memory space", 0);
      text.expect(')');
    } else if (text.take('E')) {
      text.fail(at, "E gives the bits of an element, which the element's type says here (s4 has 4)");
    } else if (text.take('L')) {
      text.fail(at, "L pads the end of the buffer, which is no part of a layout");
    } else if (text.take('D')) {
      text.fail(at, "D makes dims sparse, and sparse formats are no layouts");
    } else {
      text.fail("expected T and tiles, S and a memory space, or '}'");
    }
  }
}

/// A tag has the axes of memory in their order, and the place of each block among the digits of its dim. Extents of 1
/// inside tiles say how many axes there are, and nothing about offsets.
Spelled as_tag(std::vector<Axis> axes, int ndims) {
  Spelled out;
  std::erase_if(axes, [](const Axis& axis) { return axis.extent == 1 || (axis.dim == kNoDim && axis.extent == 0); });
  if (ndims == 0 && axes.empty()) {
    out.strides.emplace();
    return out;
  }
  std::string blocks;
  std::size_t inner = 0;
  const auto is_inner = [](const Axis& axis) { return axis.extent != 0; };
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Axis& axis = axes[k];
    const bool blocked = std::ranges::any_of(axes, [&](const Axis& a) { return a.dim == axis.dim && is_inner(a); });
    if (!is_inner(axis)) {
      out.tag += static_cast<char>((blocked ? 'A' : 'a') + axis.dim);
      continue;
    }
    if (axis.dim == kNoDim) out.blocks_of_no_dim.emplace_back(inner, axis.extent);
    ++inner;
    if (axis.dim == kNoDim) continue;
    blocks += std::to_string(axis.extent) + static_cast<char>('a' + axis.dim);
    out.places.push_back(static_cast<int>(std::ranges::count_if(
        axes, [&](const Axis& a) { return is_inner(a) && a.dim == axis.dim && a.place < axis.place; })));
  }
  out.tag += blocks;
  return out;
}

/// The order in braces, with what stands behind it; XLA's default where there is none.
std::vector<Axis> read_layout(NotationText& text, const std::optional<Dims>& dims) {
  std::vector<Axis> axes;
  if (dims && text.done()) {  // row-major
    for (int d = 0; d < dims->size(); ++d) axes.push_back({d, 1, 0});
    return axes;
  }
  const std::size_t at = text.at();
  text.expect('{');
  axes = read_order(text);
  if (dims && dims->size() != static_cast<int>(axes.size())) {
    text.fail(at, std::to_string(axes.size()) + " dims in the layout of a shape of " + std::to_string(dims->size()));
  }
  if (text.take(':')) read_properties(text, axes);
  text.expect('}');
  if (!text.done()) text.fail("expected the end");
  return axes;
}

}  // namespace

Spelled read_xla(NotationText& text) {
  std::optional<Dims> dims;
  if (!text.letters().empty())
    text.fail("a layout has no element type: leave it out, and give it where the type is asked for");
  if (text.take('[')) {
    dims.emplace();
    while (!text.take(']')) {
      if (!dims->empty()) text.expect(',');
      if (dims->size() == kMaxDims) text.fail("more than " + std::to_string(kMaxDims) + " dims");
      dims->push_back(text.number("extent", 0));
    }
  }
  const std::vector<Axis> axes = read_layout(text, dims);
  std::set<int> named;
  for (const Axis& axis : axes) named.insert(axis.dim);
  named.erase(kNoDim);
  Spelled out = as_tag(axes, static_cast<int>(named.size()));
  out.dims = dims;
  return out;
}

}  // namespace relayout
