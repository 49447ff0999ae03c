// Picking axes out of a box, for the choice of its rows, columns and loops (internal to reorder).
#pragma once

#include <cstdint>

#include "relayout/core/dtype.h"
#include "relayout/reorder/nest.h"

namespace relayout {

/// What offsets of a type count, in bits: bytes, or nibbles. And how many of them an element has.
inline int unit_bits(DType dtype) { return bits(dtype) < 8 ? bits(dtype) : 8; }
inline int64_t units(DType dtype) { return bits(dtype) / unit_bits(dtype); }

/// Offsets and strides from elements to units.
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
/// Sorts a few values by key(value), those of equal keys as they were. Without memory of its own.
template <typename Values, typename Key>
void sort_few(Values& values, Key key) {
  for (auto next = values.begin(); next != values.end(); ++next) {
    const auto value = *next;
    auto at = next;
    for (; at != values.begin() && key(value) < key(*(at - 1)); --at) *at = *(at - 1);
    *at = value;
  }
}
/// How far a loop's steps go: on the nearer side, as the other one's are whole lines mostly; the destination's distance
/// counts four times, as what follows it already makes a block. 0, as of a broadcast, is the shortest.
int64_t distance(const Axis& loop);
/// The affine axis of the least distance, or end().
Axes::iterator shortest(Axes& axes);
/// Sorts loops by the distance of their steps, the shortest innermost, tables before all: lines, and pages, of which a
/// turn uses a part are used up by the next ones.
void order_loops(Axes& loops);
/// Removes an axis; one of extent 1 for end().
Axis take(Axes& axes, Axes::iterator at);

/// Where the source's rows lie backwards, the axes that they are of are turned, so that they are dense; it is the
/// destination that steps backwards then, from row to row. Not what is the destination's run as well.
void turn_rows(Box& box, int64_t src, int64_t dst);

/// Fused axes of one operand that follow each other without a gap from pieces of `piece` units on, with one stride of
/// the attributes.
struct DenseAxes {
  Operand operand;
  int64_t piece, count = 1;
  Axes fused = {};

  Axes::iterator next(Axes& axes) const;
  void add(Axes& axes, Axes::iterator axis);
  int64_t bytes() const { return piece * count; }
};

}  // namespace relayout
