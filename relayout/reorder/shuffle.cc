// Permuting small groups of a box's source.
#include "relayout/reorder/shuffle.h"

#include <algorithm>
#include <cstddef>

#include "relayout/reorder/axes.h"

namespace relayout {

Shuffle shuffle_source(Box& box, int64_t element) {
  // The axes that make up the source's innermost bytes.
  Axes group;
  int64_t bytes = element;
  Axes& axes = box.axes;
  while (bytes < kGroup && kGroup % bytes == 0) {
    const auto axis = stepping(axes, kSrc, bytes);
    if (axis == axes.end()) break;
    const int64_t room = kGroup / bytes;
    if (axis->extent > room) {
      if (axis->extent % room != 0) break;
      Axis outer = *axis;
      outer.extent /= room;
      for (std::size_t k = 0; k < kOperands; ++k) outer.stride[k] *= room;
      axis->extent = room;
      group.push_back(take(axes, axis));
      axes.push_back(outer);
    } else {
      group.push_back(take(axes, axis));
    }
    bytes *= group.back().extent;
  }
  Shuffle out;
  const auto give_back = [&] {
    for (const Axis& axis : group) axes.push_back(axis);
    simplify(box);
    return out;
  };
  const bool aligned =
      std::ranges::all_of(axes, [&](const Axis& a) { return a.table < 0 && a.stride[kSrc] % bytes == 0; });
  if (group.size() < 2 || !aligned || kGroup % bytes != 0) return give_back();
  Axes sorted = group;
  std::ranges::stable_sort(sorted, {}, [](const Axis& a) { return a.stride[kDst]; });
  // The larger element, if there is one.
  if (sorted[0].stride[kDst] != element || sorted[0].stride[kSrc] == element) return give_back();
  out.bytes = bytes;
  int64_t virtual_stride = element;
  std::array<int64_t, kGroup> from{};  // of each element's place in the permuted group
  int64_t count = 1;
  for (Axis& axis : sorted) {
    for (int64_t i = axis.extent - 1; i >= 0; --i) {
      for (int64_t k = 0; k < count; ++k)
        from[static_cast<std::size_t>(i * count + k)] = from[static_cast<std::size_t>(k)] + i * axis.stride[kSrc];
    }
    count *= axis.extent;
    axis.stride[kSrc] = virtual_stride;
    virtual_stride *= axis.extent;
  }
  for (int64_t i = 0; i < kGroup; ++i) {
    const int64_t place = i % bytes;
    out.pattern[static_cast<std::size_t>(i)] =
        static_cast<uint8_t>(i - place + from[static_cast<std::size_t>(place / element)] + place % element);
  }
  group = sorted;
  return give_back();
}

}  // namespace relayout
