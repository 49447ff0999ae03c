// Elements of 4 bits: pairs of them, and blocks of single ones.
#include "relayout/reorder/methods/nibbles.h"

namespace relayout {

bool pair_nibbles(Box& box) {
  const auto run = find_run(box.axes, 1, 1);
  if (run == box.axes.end() || run->extent % 2 != 0 || box.offset[kSrc] % 2 != 0 || box.offset[kDst] % 2 != 0) {
    return false;
  }
  for (auto a = box.axes.begin(); a != box.axes.end(); ++a) {
    if (a->table >= 0 || (a != run && (a->stride[kSrc] % 2 != 0 || a->stride[kDst] % 2 != 0))) return false;
  }
  run->extent /= 2;
  run->stride[kSrc] = run->stride[kDst] = 2;
  for (Operand side : {kSrc, kDst}) {
    box.offset[side] /= 2;
    for (Axis& axis : box.axes) axis.stride[side] /= 2;
  }
  simplify(box);
  return true;
}

Planned<Nibbles> plan_nibbles(Box box) {
  Loops out;
  out.elements = count_elements(box);
  out.piece = {0, 0};
  out.unit_bits = {4, 4};
  out.cols = {take(box.axes, nearest(box.axes, kDst))};
  out.rows = {take(box.axes, nearest(box.axes, kSrc))};
  out.col_count = add_nearest(out.cols, out.cols[0].extent, box.axes, kDst, kNibbleSide);
  out.row_count = add_nearest(out.rows, out.rows[0].extent, box.axes, kSrc, kNibbleSide);
  choose_nibble_blocks(out);
  finish(out, std::move(box));
  return {std::move(out), {}};
}

}  // namespace relayout
