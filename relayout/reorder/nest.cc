// Simplification of boxes.
#include "relayout/reorder/nest.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "relayout/reorder/axes.h"

namespace relayout {
namespace {

/// Whether `outer` goes on where `inner` ends, on every operand.
bool continues(const Axis& outer, const Axis& inner) {
  if (outer.table >= 0 || inner.table >= 0) return false;
  for (std::size_t k = 0; k < kOperands; ++k) {
    const auto end = checked_mul(inner.stride[k], inner.extent);
    if (!end || outer.stride[k] != *end) return false;
  }
  return true;
}

}  // namespace

std::string_view name(KernelShape shape) {
  switch (shape) {
    case KernelShape::copy: return "copy";
    case KernelShape::transpose: return "transpose";
    case KernelShape::gather: return "gather";
    case KernelShape::fill: return "fill";
  }
  return "";
}

void simplify(Box& box) {
  Axes& axes = box.axes;
  erase_if(axes, [](const Axis& axis) { return axis.extent == 1; });
  for (Axis& axis : axes) {
    if (axis.table >= 0 || axis.stride[kDst] >= 0) continue;
    for (std::size_t k = 0; k < kOperands; ++k) {
      box.offset[k] += (axis.extent - 1) * axis.stride[k];
      axis.stride[k] = -axis.stride[k];
    }
  }
  // A table's steps are uneven: it stays outside.
  sort_few(axes, [](const Axis& a) { return std::pair(a.table >= 0, a.stride[kDst]); });
  // An axis continues one of smaller destination stride. In this order that one is complete by then, so that one pass
  // joins all.
  std::size_t kept = 0;
  for (const Axis& axis : axes) {
    const auto inner = std::find_if(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(kept),
                                    [&](const Axis& a) { return continues(axis, a); });
    if (inner != axes.begin() + static_cast<std::ptrdiff_t>(kept)) {
      inner->extent *= axis.extent;
    } else {
      axes[kept++] = axis;
    }
  }
  axes.resize(kept);
  std::ranges::reverse(axes);
}

}  // namespace relayout
