// Padding: what one store fills, and whether that is whole lines.
#include "relayout/reorder/boxes/methods/fill.h"

#include <limits>

#include "relayout/reorder/boxes/methods/sub_byte.h"

namespace relayout {
namespace {

constexpr int64_t kNoLast = std::numeric_limits<int64_t>::max();

/// Chooses which of 64 bytes one store fills: those of the innermost axes and of some steps of the next axis. The other
/// steps of that axis are the columns.
void choose_mask(Loops& loops, Fill& method, Axes& axes) {
  int64_t bytes = loops.piece[kDst];
  method.mask = (uint64_t{1} << bytes) - 1;
  while (true) {
    const auto axis = nearest(axes, kDst);
    if (axis == axes.end()) return;
    const int64_t stride = axis->stride[kDst], steps = std::min(axis->extent, (kCacheLine - bytes) / stride + 1);
    if (steps == 1) return;
    const uint64_t one = method.mask;
    for (int64_t i = 1; i < steps; ++i) method.mask |= one << (i * stride);
    bytes += (steps - 1) * stride;
    const Axis taken = take(axes, axis);
    if (steps == taken.extent) continue;
    loops.along_dst.count = ceil_div(taken.extent, steps);
    loops.along_dst.axes = {{loops.along_dst.count, {0, steps * stride, 0}, -1}};
    method.last_col = (taken.extent - steps) * stride;
    return;
  }
}

}  // namespace

Planned<Fill> plan_fill(Box box, DType dtype, uint64_t fill_bits) {
  Planned<Fill> out{{}, {0, kNoLast, false}};
  Loops& loops = out.loops;
  loops.elements = count_elements(box);
  const int64_t element = bits(dtype) / 8;
  loops.piece = {element, element};
  if (bits(dtype) < 8) {
    const bool bytes = byte_of_equal(dtype, fill_bits) && join_to_bytes(box, bits(dtype));
    loops.piece[kSrc] = loops.piece[kDst] = bytes ? 1 : 0;
    if (!bytes) loops.unit_bits[kSrc] = loops.unit_bits[kDst] = static_cast<int8_t>(bits(dtype));
  }
  if (loops.piece[kDst] > 0) choose_mask(loops, out.method, box.axes);
  // Where choose_mask() chose no columns, they are the innermost axes; and rows are the next ones.
  if (loops.along_dst.axes.empty()) loops.along_dst.count = add_nearest(loops.along_dst.axes, 1, box.axes, kDst);
  loops.along_src.count = add_nearest(loops.along_src.axes, 1, box.axes, kDst);
  loops.along_dst.block = kMaxBlockSide;
  // The last column may overlap the one before it, so both must be in the same block.
  while (loops.along_dst.count > loops.along_dst.block && loops.along_dst.count % loops.along_dst.block == 1)
    --loops.along_dst.block;
  // A block has about 256 KiB.
  loops.along_src.block = std::clamp<int64_t>(2 * kInL2 / kCacheLine / loops.along_dst.count, 1, kMaxBlockSide);
  finish(loops, std::move(box));
  return out;
}

bool fills_lines(const Loops& loops, const Fill& method) {
  const auto by_lines = [](const Axes& axes) {
    return std::ranges::all_of(axes, [](const Axis& a) { return a.table < 0 && a.stride[kDst] % kCacheLine == 0; });
  };
  const bool overlaps = method.last_col != kNoLast && method.last_col % kCacheLine != 0;
  return method.mask == ~uint64_t{0} && loops.offset[kDst] % kCacheLine == 0 && !overlaps &&
         by_lines(loops.along_dst.axes) && by_lines(loops.along_src.axes) && by_lines(loops.loops);
}

}  // namespace relayout
