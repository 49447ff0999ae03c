// Sub-byte elements: runs of them as bytes, and blocks of single ones.
#include "relayout/reorder/boxes/methods/sub_byte.h"

namespace relayout {

bool join_to_bytes(Box& box, int bits, Tables* tables) {
  const int64_t period = byte_period(bits);
  const auto run = find_run(box.axes, 1, 1);
  if (run == box.axes.end() || run->extent % period != 0 || box.offset[kSrc] % period != 0 ||
      box.offset[kDst] % period != 0) {
    return false;
  }
  for (auto a = box.axes.begin(); a != box.axes.end(); ++a) {
    if (a == run) continue;
    for (const Operand side : {kSrc, kDst}) {
      const bool whole = a->table < 0 ? a->stride[side] % period == 0
                                      : tables && (*tables)[static_cast<std::size_t>(a->table)].steps_by(side, period);
      if (!whole) return false;
    }
  }
  const auto bytes = [&](int64_t elements) { return elements / period * (period * bits / 8); };
  run->extent = bytes(run->extent);
  for (Operand side : {kSrc, kDst}) {
    box.offset[side] = bytes(box.offset[side]);
    for (Axis& axis : box.axes) axis.stride[side] = bytes(axis.stride[side]);
    run->stride[side] = 1;
  }
  for (Axis& axis : box.axes) {
    if (axis.table < 0) continue;
    Table table = (*tables)[static_cast<std::size_t>(axis.table)];
    for (const Operand side : {kSrc, kDst}) table.change(side, bytes);
    tables->push_back(std::move(table));
    axis.table = static_cast<int32_t>(tables->size()) - 1;
  }
  simplify(box);
  return true;
}

Planned<SubByte> plan_sub_byte(Box box, int bits) {
  Loops out;
  out.elements = count_elements(box);
  out.piece = {0, 0};
  out.unit_bits = {static_cast<int8_t>(bits), static_cast<int8_t>(bits)};
  out.along_dst.axes = {take(box.axes, nearest(box.axes, kDst))};
  out.along_src.axes = {take(box.axes, nearest(box.axes, kSrc))};
  out.along_dst.count = add_nearest(out.along_dst.axes, out.along_dst.axes[0].extent, box.axes, kDst, kSubByteSide);
  out.along_src.count = add_nearest(out.along_src.axes, out.along_src.axes[0].extent, box.axes, kSrc, kSubByteSide);
  choose_sub_byte_blocks(out);
  finish(out, std::move(box));
  return {std::move(out), {}};
}

std::optional<uint8_t> byte_of_equal(DType dtype, uint64_t element) {
  if (bits(dtype) >= 8) return std::nullopt;
  const uint64_t mask = (uint64_t{1} << bits(dtype)) - 1;
  element &= mask;
  if (8 % bits(dtype) == 0) return static_cast<uint8_t>(element * (255 / mask));
  if (element == 0 || element == mask) return element == 0 ? 0 : 255;
  return std::nullopt;
}

}  // namespace relayout
