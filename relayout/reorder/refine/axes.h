// Picking axes out of a box, for the choice of its rows, columns and loops (internal to reorder).
#pragma once

#include <cstdint>

#include "relayout/core/dtype.h"
#include "relayout/reorder/refine/nest.h"

namespace relayout {

/// A *unit* is what offsets in a box count: a byte or, of sub-byte types, an element. Its bits, and how many units an
/// element has.
inline int unit_bits(DType dtype) { return bits(dtype) < 8 ? bits(dtype) : 8; }
inline int64_t units(DType dtype) { return bits(dtype) / unit_bits(dtype); }

/// Converts offsets and strides from elements to units.
void scale(Offsets& offsets, int64_t src_units, int64_t dst_units);
void scale(Box& box, int64_t src_units, int64_t dst_units);

/// Simplifies a box: axes of extent 1 are dropped, two axes that continue each other on every operand become one, and
/// an axis that walks the destination backwards is turned. The result is ordered by destination stride, largest first,
/// tables before all. The set of offset tuples stays the same. Cost: quadratic in the axes.
void simplify(Box& box);

/// Some units of one operand. reach() has those between the first and the last element, of `unit` units each, that axes
/// without tables step to from `start` on.
struct Interval {
  int64_t begin, end;
  bool operator==(const Interval&) const = default;
};
Interval reach(const Offsets& start, const Axes& axes, Operand operand, int64_t unit);

int64_t count_elements(const Axes& axes);
inline int64_t count_elements(const Box& box) { return count_elements(box.axes); }

/// The affine axis with the least |stride| of an operand, or end().
Axes::iterator nearest(Axes& axes, Operand operand);
/// The affine axis of exactly this stride, or end().
Axes::iterator stepping(Axes& axes, Operand operand, int64_t stride);
/// The affine axis that steps by `src` and `dst` on the two sides, or end().
Axes::iterator find_run(Axes& axes, int64_t src, int64_t dst);
/// Sorts a few values by key(value); values of equal keys keep their order. Unlike std::stable_sort, it allocates no
/// memory.
template <typename Values, typename Key>
void sort_few(Values& values, Key key) {
  for (auto next = values.begin(); next != values.end(); ++next) {
    const auto value = *next;
    auto at = next;
    for (; at != values.begin() && key(value) < key(*(at - 1)); --at) *at = *(at - 1);
    *at = value;
  }
}
/// How far a loop steps, to order loops by: the shorter of the distances in the source and in the destination. A loop
/// of short steps on one side comes back to lines of that side that are still in the cache. The destination's distance
/// counts four times: most of what lies near in the destination is in the block already. A loop that does not step on
/// one side (a broadcast) has distance 0.
int64_t distance(const Axis& loop);
/// The affine axis of the least distance, or end().
Axes::iterator shortest(Axes& axes);
/// Sorts loops by distance(), the shortest innermost and axes with tables outermost. The next turns of a loop then use
/// the rest of a line or of a page while it is still in the cache.
void order_loops(Axes& loops);
/// Removes an axis from the list and returns it; for end(), an axis of extent 1.
Axis take(Axes& axes, Axes::iterator at);
/// Cuts an axis into steps of `steps` indices, which divide its extent: it keeps these steps, and the axis that steps
/// over them is returned.
Axis cut(Axis& axis, int64_t steps);
/// Cuts axis `at` of a box after `extent` indices and returns the box of the others.
Box cut_off(Box& box, std::size_t at, int64_t extent);

/// Turns axes that walk backwards through dense memory of the source, starting with pieces of `src` units. The source's
/// rows are then dense, and the destination steps backwards from row to row. This stops at an axis along which the
/// destination is dense (pieces of `dst` units), because turning it would only make the destination go backwards.
void turn_along_src(Box& box, int64_t src, int64_t dst);

/// Axes that follow each other without a gap on one operand, the first one stepping by `piece` units. They are fused
/// into one index, so the attributes' strides must continue as well.
struct DenseAxes {
  Operand operand;
  int64_t piece, count = 1;
  Axes fused = {};

  /// The axis that goes on where these end, or end().
  Axes::iterator next(Axes& axes) const;
  /// Moves it from `axes` to these.
  void add(Axes& axes, Axes::iterator axis);
  int64_t bytes() const { return piece * count; }
};

}  // namespace relayout
