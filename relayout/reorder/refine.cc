// Refinement of two layouts, a dim at a time.
#include "relayout/reorder/refine.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

namespace relayout {
namespace {

constexpr int64_t kTop = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxTableEntries = kMaxTableBytes / static_cast<int64_t>(sizeof(Offsets));

/// One step of the common mixed radix of a dim. Each level's `next` is the place of the one above.
struct Level {
  int64_t place;       // the index's step
  int64_t next;        // kTop at the top
  bool affine;         // offsets are multiples of the offset at `place`
  int32_t table = -1;  // of a full level that is not affine, once made
};

/// A run of indices of one dim: what one box has of it. Its axes are a range of a common list.
struct Piece {
  Offsets offset;
  std::size_t first_axis, axes;
};

int64_t entries_of(const Tables& tables) {
  int64_t entries = 0;
  for (const auto& table : tables) entries += static_cast<int64_t>(table.size());
  return entries;
}

/// Cuts one dim: its common mixed radix, and the pieces of a range of indices.
class DimRefiner {
 public:
  DimRefiner(const Layout& src, const Layout& dst, int d, int64_t attribute_stride, int64_t begin, int64_t end)
      : src_(&src), dst_(&dst), d_(d), attribute_stride_(attribute_stride), begin_(begin), end_(end) {
    find_levels();
    cut([&](int64_t, std::size_t, int64_t) { ++pieces_; });
  }

  int64_t pieces() const { return pieces_; }
  /// Entries of the table that would make one piece of all.
  int64_t coarse_entries() const { return (end_ - begin_) / levels_[coarse_level()].place; }

  /// One table for all from the first level that does not cut the range evenly: one piece.
  void coarsen() {
    levels_.resize(coarse_level() + 1);
    levels_.back() = {levels_.back().place, kTop, false};
    pieces_ = 1;
  }

  void make_pieces(Tables& tables, std::vector<Axis>& axes, std::vector<Piece>& out) {
    cut([&](int64_t first, std::size_t top, int64_t count) {
      const std::size_t first_axis = axes.size();
      const auto add = [&](const Axis& axis) {
        if (axis.extent > 1) axes.push_back(axis);
      };
      for (std::size_t k = 0; k < top; ++k) add(axis(k, 0, levels_[k].next / levels_[k].place, tables));
      add(axis(top, first, count, tables));
      out.push_back({at(first), first_axis, axes.size() - first_axis});
    });
  }

 private:
  Offsets at(int64_t i) const { return {src_->dim_offset(d_, i), dst_->dim_offset(d_, i), i * attribute_stride_}; }

  std::vector<int64_t> common_places() const {
    std::vector<int64_t> places{1};
    for (const Layout* side : {src_, dst_}) {
      int64_t place = 1;
      for (const Digit& digit : side->digits(d_)) {
        if (place < end_ && place > 1) places.push_back(place);
        if (place > end_ / std::max<int64_t>(digit.extent, 1)) break;
        place *= digit.extent;
      }
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
  }

  void find_levels() {
    const std::vector<int64_t> places = common_places();
    const auto divides_rest = [&](int64_t value, std::size_t from) {
      return std::all_of(places.begin() + static_cast<std::ptrdiff_t>(from), places.end(),
                         [&](int64_t p) { return p % value == 0; });
    };
    levels_.reserve(places.size());
    // Invariant: `place` divides all places from k on. A run of places that do not nest becomes a table from
    // their gcd to their lcm, or to the top where the lcm is out of the range.
    int64_t place = 1;
    for (std::size_t k = 1; k < places.size();) {
      if (divides_rest(places[k], k)) {
        levels_.push_back({place, places[k], true});
        place = places[k++];
        continue;
      }
      int64_t gcd = places[k], lcm = places[k];
      do {
        gcd = std::gcd(gcd, places[k]);
        const auto next = checked_mul(lcm / std::gcd(lcm, places[k]), places[k]);
        lcm = next && *next < end_ ? *next : kTop;
        ++k;
      } while (k < places.size() && (lcm == kTop || !divides_rest(lcm, k)));
      if (gcd > place) levels_.push_back({place, gcd, true});
      levels_.push_back({gcd, lcm, false});
      place = lcm;
    }
    if (place != kTop) levels_.push_back({place, kTop, true});
  }

  /// The first level above which the range does not start and end at whole steps.
  std::size_t coarse_level() const {
    std::size_t level = 0;
    while (level + 1 < levels_.size() && begin_ % levels_[level].next == 0 && end_ % levels_[level].next == 0) ++level;
    return level;
  }

  /// Calls f(first index, top level, steps of that level) for each piece: the coarsest level that starts at an index
  /// and fits is taken as often as it does.
  template <typename F>
  void cut(const F& f) const {
    for (int64_t first = begin_; first < end_;) {
      std::size_t top = 0;
      while (top + 1 < levels_.size() && first % levels_[top + 1].place == 0 &&
             levels_[top + 1].place <= end_ - first) {
        ++top;
      }
      const Level& l = levels_[top];
      int64_t count = (end_ - first) / l.place;
      if (l.next != kTop) count = std::min(count, (l.next - first % l.next) / l.place);
      f(first, top, count);
      first += count * l.place;
    }
  }

  int32_t make_table(int64_t first, int64_t step, int64_t count, Tables& tables) const {
    if (count > kMaxTableEntries - entries_of(tables)) {
      const std::string bytes = std::to_string(static_cast<double>(count) * sizeof(Offsets));
      const std::string need = bytes.substr(0, bytes.find('.')), dim = "dims[" + std::to_string(d_) + "]";
      const std::string limit = std::to_string(kMaxTableBytes);
      throw Error(ErrorCode::limit,
                  "reorder: the blocks of dim " + std::to_string(d_) + " need a table of " + need +
                      " bytes; all tables together may take " + limit,
                  dim, need, limit);
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
  Axis axis(std::size_t level, int64_t first, int64_t count, Tables& tables) {
    Level& l = levels_[level];
    if (count == 1) return {};
    if (l.affine) return {count, at(l.place), -1};
    if (first % l.next != 0 || l.next == kTop) return {count, {}, make_table(first, l.place, count, tables)};
    if (l.table < 0) l.table = make_table(0, l.place, l.next / l.place, tables);
    return {count, {}, l.table};
  }

  const Layout *src_, *dst_;
  int d_;
  int64_t attribute_stride_, begin_, end_;
  std::vector<Level> levels_;
  int64_t pieces_ = 0;
};

/// Makes tables of dims, the shortest first, until the boxes are few enough.
void bound_boxes(std::vector<DimRefiner>& dims, const Tables& tables) {
  int64_t left = kMaxTableEntries - entries_of(tables);
  double boxes = 1;
  for (const DimRefiner& dim : dims) boxes *= static_cast<double>(dim.pieces());
  while (boxes > kMaxBoxes) {
    DimRefiner* best = nullptr;
    for (DimRefiner& dim : dims) {
      if (dim.pieces() > 1 && (!best || dim.coarse_entries() < best->coarse_entries())) best = &dim;
    }
    if (best->coarse_entries() > left) {
      const std::string need = std::to_string(boxes), limit = std::to_string(kMaxBoxes);
      throw Error(ErrorCode::limit, "reorder: the tails need " + need + " boxes; at most " + limit + " are made",
                  "dims", need, limit);
    }
    left -= best->coarse_entries();
    boxes /= static_cast<double>(best->pieces());
    best->coarsen();
  }
}

}  // namespace

std::vector<Box> refine(const Layout& src_layout, const Layout& dst_layout, const Dims& attribute_strides,
                        const Dims& begin, const Dims& end, Tables& tables) {
  const auto ndims = static_cast<std::size_t>(begin.size());
  for (int d = 0; d < begin.size(); ++d) {
    if (begin[d] >= end[d]) return {};
  }
  const Layout src = src_layout.canonical(), dst = dst_layout.canonical();
  std::vector<DimRefiner> dims;
  dims.reserve(ndims);
  for (int d = 0; d < dst.ndims(); ++d) dims.emplace_back(src, dst, d, attribute_strides[d], begin[d], end[d]);
  bound_boxes(dims, tables);

  std::vector<Axis> axes;
  std::vector<Piece> pieces;
  std::array<std::size_t, kMaxDims + 1> first_piece{};  // by dim
  std::size_t count = 1;
  for (std::size_t d = 0; d < ndims; ++d) {
    dims[d].make_pieces(tables, axes, pieces);
    first_piece[d + 1] = pieces.size();
    count *= pieces.size() - first_piece[d];
  }
  // A box for each choice of one piece a dim, the last dim's pieces changing fastest.
  std::vector<Box> boxes;
  boxes.reserve(count);
  std::array<std::size_t, kMaxDims + 1> at = first_piece;
  for (std::size_t b = 0; b < count; ++b) {
    Box& box = boxes.emplace_back(Box{{src.offset0(), dst.offset0(), 0}, {}});
    std::size_t box_axes = 0;
    for (std::size_t d = 0; d < ndims; ++d) box_axes += pieces[at[d]].axes;
    box.axes.reserve(box_axes);
    for (std::size_t d = 0; d < ndims; ++d) {
      const Piece& piece = pieces[at[d]];
      for (std::size_t k = 0; k < kOperands; ++k) box.offset[k] += piece.offset[k];
      for (std::size_t k = 0; k < piece.axes; ++k) box.axes.push_back(axes[piece.first_axis + k]);
    }
    for (std::size_t d = ndims; d-- > 0;) {
      if (++at[d] < first_piece[d + 1]) break;
      at[d] = first_piece[d];
    }
  }
  return boxes;
}

}  // namespace relayout
