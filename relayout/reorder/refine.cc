// Refinement of two layouts, a dim at a time.
#include "relayout/reorder/refine.h"

#include <algorithm>
#include <numeric>

namespace relayout {
namespace {

constexpr int64_t kMaxTable = int64_t{1} << 26;
constexpr std::size_t kMaxBoxes = std::size_t{1} << 20;

/// One step of the common mixed radix of a dim.
struct Level {
  int64_t place;  // the index's step
  int64_t next;   // the place of the level above; int64 max at the top
  bool affine;    // offsets are multiples of the offset at `place`
};

/// A run of indices of one dim: what one box has of it.
struct Piece {
  Offsets offset{};
  InlineVector<Axis, kMaxDigits + 1> axes;
};

struct DimRefiner {
  const Layout& src;
  const Layout& dst;
  int d;
  int64_t attribute_stride;
  Tables& tables;
  std::vector<Level> levels;
  std::vector<int32_t> full_tables;  // by level, -1 until made

  Offsets at(int64_t i) const { return {src.dim_offset(d, i), dst.dim_offset(d, i), i * attribute_stride}; }

  void find_levels(int64_t end) {
    std::vector<int64_t> places{1};
    for (const Layout* side : {&src, &dst}) {
      int64_t place = 1;
      for (const Digit& digit : side->digits(d)) {
        if (place < end) places.push_back(place);
        if (place > end / std::max<int64_t>(digit.extent, 1)) break;
        place *= digit.extent;
      }
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    constexpr int64_t kTop = std::numeric_limits<int64_t>::max();
    const auto divides_rest = [&](int64_t value, std::size_t from) {
      return std::all_of(places.begin() + static_cast<std::ptrdiff_t>(from), places.end(), [&](int64_t p) { return p % value == 0; });
    };
    // Invariant: `place` divides all places from k on. A run of places that do not nest becomes a table from
    // their gcd to their lcm.
    int64_t place = 1;
    for (std::size_t k = 1; k < places.size();) {
      if (divides_rest(places[k], k)) {
        levels.push_back({place, places[k], true});
        place = places[k++];
        continue;
      }
      int64_t gcd = places[k], lcm = places[k];
      do {
        gcd = std::gcd(gcd, places[k]);
        const auto next = checked_mul(lcm / std::gcd(lcm, places[k]), places[k]);
        lcm = next && *next < end ? *next : kTop;
        ++k;
      } while (k < places.size() && (lcm == kTop || !divides_rest(lcm, k)));
      for (; k < places.size() && lcm == kTop; ++k) gcd = std::gcd(gcd, places[k]);
      if (gcd > place) levels.push_back({place, gcd, true});
      levels.push_back({gcd, lcm, false});
      place = lcm;
    }
    if (place != kTop) levels.push_back({place, kTop, true});
    full_tables.assign(levels.size(), -1);
  }

  int32_t make_table(int64_t first, int64_t step, int64_t count) {
    if (count > kMaxTable) {
      throw Error(ErrorCode::limit, "reorder: the blocks of dim " + std::to_string(d) + " need a table of " + std::to_string(count) + " entries", "dims[" + std::to_string(d) + "]", std::to_string(count), std::to_string(kMaxTable));
    }
    std::vector<Offsets> table(static_cast<std::size_t>(count));
    const Offsets base = at(first);
    for (int64_t j = 0; j < count; ++j) {
      const Offsets here = at(first + j * step);
      for (std::size_t k = 0; k < kOperands; ++k) table[static_cast<std::size_t>(j)][k] = here[k] - base[k];
    }
    tables.push_back(std::move(table));
    return static_cast<int32_t>(tables.size()) - 1;
  }

  /// `count` steps of a level, from index `first`. Full levels share their table.
  Axis axis(std::size_t level, int64_t first, int64_t count) {
    const Level& l = levels[level];
    if (count == 1) return {};
    if (l.affine) return {count, at(l.place), -1};
    if (first % l.next != 0 || l.next == std::numeric_limits<int64_t>::max()) return {count, {}, make_table(first, l.place, count)};
    if (full_tables[level] < 0) full_tables[level] = make_table(0, l.place, l.next / l.place);
    return {count, {}, full_tables[level]};
  }

  std::vector<Piece> pieces(int64_t begin, int64_t end) {
    find_levels(end);
    std::vector<Piece> out;
    for (int64_t first = begin; first < end;) {
      std::size_t top = 0;  // the coarsest level that starts here and fits
      while (top + 1 < levels.size() && first % levels[top + 1].place == 0 && levels[top + 1].place <= end - first) ++top;
      const Level& l = levels[top];
      int64_t count = (end - first) / l.place;
      if (l.next != std::numeric_limits<int64_t>::max()) count = std::min(count, (l.next - first % l.next) / l.place);
      Piece piece;
      piece.offset = at(first);
      for (std::size_t k = 0; k < top; ++k) piece.axes.push_back(axis(k, 0, levels[k].next / levels[k].place));
      piece.axes.push_back(axis(top, first, count));
      out.push_back(piece);
      first += count * l.place;
    }
    return out;
  }
};

}  // namespace

std::vector<Box> refine(const Layout& src_layout, const Layout& dst_layout, const Dims& attribute_strides, const Dims& begin,
                        const Dims& end, Tables& tables) {
  const Layout src = src_layout.canonical(), dst = dst_layout.canonical();
  for (int d = 0; d < dst.ndims(); ++d) {
    if (begin[d] >= end[d]) return {};
  }
  std::vector<Box> boxes{Box{{src.offset0(), dst.offset0(), 0}, {}}};
  for (int d = 0; d < dst.ndims(); ++d) {
    DimRefiner refiner{src, dst, d, attribute_strides[d], tables, {}, {}};
    const std::vector<Piece> pieces = refiner.pieces(begin[d], end[d]);
    if (pieces.size() * boxes.size() > kMaxBoxes) {
      throw Error(ErrorCode::limit, "reorder: over " + std::to_string(kMaxBoxes) + " boxes", "dims[" + std::to_string(d) + "]", std::to_string(pieces.size() * boxes.size()), std::to_string(kMaxBoxes));
    }
    std::vector<Box> next;
    next.reserve(boxes.size() * pieces.size());
    for (const Box& box : boxes) {
      for (const Piece& piece : pieces) {
        Box joined = box;
        for (std::size_t k = 0; k < kOperands; ++k) joined.offset[k] += piece.offset[k];
        for (const Axis& axis : piece.axes) {
          if (axis.extent > 1) joined.axes.push_back(axis);
        }
        next.push_back(joined);
      }
    }
    boxes = std::move(next);
  }
  return boxes;
}

}  // namespace relayout
