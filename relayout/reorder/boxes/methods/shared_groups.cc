// Which bytes of both sides are permuted, and where they come from.
#include "relayout/reorder/boxes/methods/shared_groups.h"

#include <algorithm>
#include <cstddef>

namespace relayout {
namespace {

using AxisList = SmallVector<Axis*, 16>;

/// Cuts the axes that are dense on one side, from elements of `element` bytes on, so that they end at 16 bytes, or at
/// the last power of two before that which is dense. Returns these bytes.
int64_t cut_group(Axes& axes, Operand side, int64_t element) {
  int64_t bytes = element;
  while (bytes < kRegister) {
    const auto axis = stepping(axes, side, bytes);
    if (axis == axes.end()) break;
    const int64_t part = std::min(kRegister / bytes, axis->extent & -axis->extent);
    if (part == 1) break;
    bytes *= part;
    if (part == axis->extent) continue;
    axes.push_back(cut(*axis, part));
  }
  return bytes;
}

/// Changes the strides of a group's axes on one side so that the axes follow each other in this order. Returns, for
/// each byte of the permuted group, where it was before.
std::array<uint8_t, kRegister> reorder_group(const AxisList& order, Operand side, int64_t element, int64_t bytes) {
  std::array<int64_t, kRegister> from{};  // by element
  std::size_t count = 1;
  for (Axis* axis : order) {
    const auto extent = static_cast<std::size_t>(axis->extent);
    for (std::size_t i = extent; i-- > 0;) {
      for (std::size_t k = 0; k < count; ++k)
        from[i * count + k] = from[k] + static_cast<int64_t>(i) * axis->stride[side];
    }
    axis->stride[side] = static_cast<int64_t>(count) * element;
    count *= extent;
  }
  std::array<uint8_t, kRegister> pattern{};
  for (int64_t i = 0; i < kRegister; ++i) {
    const int64_t place = i % bytes;
    pattern[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(i - place + from[static_cast<std::size_t>(place / element)] + place % element);
  }
  return pattern;
}

}  // namespace

SharedGroups share_groups(Box& box, int64_t element) {
  SharedGroups out;
  for (std::size_t i = 0; i < kRegister; ++i) out.src[i] = out.dst[i] = static_cast<uint8_t>(i);
  Axes axes = box.axes;
  auto& bytes = out.bytes;
  for (const Operand side : {kSrc, kDst}) bytes[side] = cut_group(axes, side, element);
  const auto in = [&](const Axis& axis, Operand side) {
    return axis.table < 0 && axis.stride[side] > 0 && axis.stride[side] < bytes[side];
  };
  // The new order of each group: first the axes that are in both groups, by their strides in the destination, then the
  // other axes of the group.
  std::array<AxisList, 2> order;
  AxisList by_dst;
  for (Axis& axis : axes) by_dst.push_back(&axis);
  sort_few(by_dst, [](const Axis* a) { return a->stride[kDst]; });
  for (Axis* axis : by_dst) {
    if (in(*axis, kSrc) && in(*axis, kDst)) {
      order[kSrc].push_back(axis);
      order[kDst].push_back(axis);
    }
  }
  const std::size_t shared = order[kSrc].size();
  if (shared == 0) return out;
  for (Axis* axis : by_dst) {
    if (in(*axis, kSrc) && !in(*axis, kDst)) order[kSrc].push_back(axis);
    if (in(*axis, kDst) && !in(*axis, kSrc)) order[kDst].push_back(axis);
  }
  std::sort(order[kSrc].begin() + static_cast<std::ptrdiff_t>(shared), order[kSrc].end(),
            [](const Axis* a, const Axis* b) { return a->stride[kSrc] < b->stride[kSrc]; });
  bool dense = true;  // a source may overlap itself
  for (const Operand side : {kSrc, kDst}) {
    int64_t size = element;
    for (const Axis* axis : order[side]) size *= axis->extent;
    dense = dense && size == bytes[side];
  }
  if (dense) {
    const auto identity = out.src;
    out.src = reorder_group(order[kSrc], kSrc, element, bytes[kSrc]);
    const auto from = reorder_group(order[kDst], kDst, element, bytes[kDst]);
    for (std::size_t i = 0; i < kRegister; ++i) out.dst[from[i]] = static_cast<uint8_t>(i);
    out.permuted = out.src != identity || out.dst != identity;
  }
  if (!out.permuted) return out;
  box.axes = axes;
  simplify(box);
  return out;
}

}  // namespace relayout
