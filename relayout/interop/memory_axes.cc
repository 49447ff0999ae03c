// The axes of memory, and why they do not fill it: see memory_axes.h.
#include "relayout/interop/memory_axes.h"

#include <algorithm>

#include "relayout/core/format.h"

namespace relayout {

std::vector<MemoryAxis> memory_axes(const Layout& layout) {
  std::vector<MemoryAxis> axes;
  for (int d = 0; d < layout.ndims(); ++d) {
    int64_t place = 1;
    for (const Digit& digit : layout.digits(d)) {
      if (digit.extent > 1) axes.push_back({d, place, digit.extent, digit.stride});
      place *= digit.extent;
    }
  }
  std::ranges::stable_sort(axes, [](const MemoryAxis& a, const MemoryAxis& b) { return a.stride > b.stride; });
  return axes;
}

std::optional<NotFilled> not_filled(const Layout& layout) {
  if (layout.swizzled()) {
    const std::string swizzle = layout.swizzle().text();
    return NotFilled{"the layout ends in " + swizzle + ", an exclusive or of bits of the offset", "swizzle", swizzle,
                     "none"};
  }
  const std::vector<MemoryAxis> axes = memory_axes(layout);
  // Before the offset, which such a stride brings with it.
  if (!layout.empty() && !axes.empty() && axes.back().stride < 0) {
    const std::string stride = std::to_string(axes.back().stride), dim = std::to_string(axes.back().dim);
    return NotFilled{"dim " + dim + " has the stride " + stride, "strides[" + dim + "]", stride, "1 or more"};
  }
  if (layout.offset0() != 0) {
    const std::string offset = std::to_string(layout.offset0());
    return NotFilled{"the layout begins at offset " + offset, "offset0", offset, "0"};
  }
  if (layout.empty()) return std::nullopt;
  int64_t filled = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    const std::string stride = std::to_string(axis->stride), inside = std::to_string(filled);
    const std::string subject = "dim " + std::to_string(axis->dim) + " has the stride " + stride;
    const std::string field = "strides[" + std::to_string(axis->dim) + "]";
    if (axis->stride <= 0) return NotFilled{subject, field, stride, "1 or more"};
    if (axis->stride > filled)
      return NotFilled{subject + " where the axes inside fill " + inside + " elements, which leaves a gap", field,
                       stride, inside};
    if (axis->stride < filled)
      return NotFilled{subject + " within the " + inside + " elements that the axes inside fill", field, stride,
                       inside};
    filled *= axis->extent;
  }
  return std::nullopt;
}

std::optional<NotFilled> not_a_tag(const Layout& layout) {
  if (auto reason = not_filled(layout)) return reason;
  if (tag_of(layout)) return std::nullopt;
  for (int d = 0; d < layout.ndims(); ++d) {
    const auto digits = layout.digits(d);
    for (std::size_t k = 1; k < digits.size(); ++k) {
      if (digits[k].extent == 1 || digits[k - 1].extent == 1 || digits[k].stride > digits[k - 1].stride) continue;
      return NotFilled{"dim " + std::to_string(d) + " steps by " + std::to_string(digits[k - 1].stride) +
                           " inside its blocks and by " + std::to_string(digits[k].stride) +
                           " between them, and in a tag a block's steps are the smaller ones",
                       "digits[" + std::to_string(d) + "]", std::to_string(digits[k].stride),
                       "over " + std::to_string(digits[k - 1].stride)};
    }
  }
  return NotFilled{"its blocks are not innermost in memory, or are padded beyond the next multiple", "digits", "",
                   "blocks that fill the innermost elements"};
}

}  // namespace relayout
