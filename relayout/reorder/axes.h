// Picking axes out of a box, for the choice of its rows, columns and loops (internal to reorder).
#pragma once

#include <cstdint>

#include "relayout/core/dtype.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// A *unit* is what offsets in a box count: a byte or, of types of 4 bits, a nibble. Its bits, and how many units an
/// element has.
inline int unit_bits(DType dtype) { return bits(dtype) < 8 ? bits(dtype) : 8; }
inline int64_t units(DType dtype) { return bits(dtype) / unit_bits(dtype); }

/// Offsets and strides in elements become such in units.
void scale(Offsets& offsets, int64_t src_units, int64_t dst_units);
void scale(Box& box, int64_t src_units, int64_t dst_units);

int64_t count_elements(const Axes& axes);
inline int64_t count_elements(const Box& box) { return count_elements(box.axes); }

/// The affine axis with the least |stride| of an operand, or end().
Axes::iterator nearest(Axes& axes, Operand operand);
/// The affine axis of exactly this stride, or end().
Axes::iterator stepping(Axes& axes, Operand operand, int64_t stride);
/// The affine axis that steps by `src` and `dst` on the two sides, or end().
Axes::iterator find_run(Axes& axes, int64_t src, int64_t dst);
/// Sorts a few values by key(value); values of equal keys keep their order. Takes no memory, as std::stable_sort does.
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
/// Sorts loops by distance(), the shortest innermost and axes with tables outermost: what one turn of a loop leaves of
/// a line or of a page is then used by the next turns, while it is in the cache.
void order_loops(Axes& loops);
/// Removes an axis from the list and returns it; for end(), an axis of extent 1.
Axis take(Axes& axes, Axes::iterator at);

/// Turns axes that walk the source backwards one piece at a time, from pieces of `src` units on, so that the source's
/// rows are dense; the destination then steps backwards from row to row. An axis along which the destination is dense
/// too (pieces of `dst` units) is left, as it can be dense on one side only.
void turn_rows(Box& box, int64_t src, int64_t dst);

/// Axes that follow each other without a gap on one operand, from pieces of `piece` units on. They are fused into one
/// index; the attributes' strides must continue as well.
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
