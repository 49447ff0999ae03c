// Simplification of boxes.
#include "relayout/reorder/nest.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace relayout {
namespace {

/// Whether `outer` goes on where `inner` ends, on every operand.
bool continues(const Axis& outer, const Axis& inner) {
  if (outer.table >= 0 || inner.table >= 0) return false;
  for (std::size_t k = 0; k < kOperands; ++k) {
    if (outer.stride[k] != inner.stride[k] * inner.extent) return false;
  }
  return true;
}

bool fuse_one(Axes& axes) {
  for (int i = 0; i < axes.size(); ++i) {
    for (int j = 0; j < axes.size(); ++j) {
      if (i == j || !continues(axes[i], axes[j])) continue;
      axes[j].extent *= axes[i].extent;
      axes.erase(i);
      return true;
    }
  }
  return false;
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
  for (int i = box.axes.size() - 1; i >= 0; --i) {
    Axis& axis = box.axes[i];
    if (axis.extent == 1) {
      box.axes.erase(i);
    } else if (axis.table < 0 && axis.stride[kDst] < 0) {
      for (std::size_t k = 0; k < kOperands; ++k) {
        box.offset[k] += (axis.extent - 1) * axis.stride[k];
        axis.stride[k] = -axis.stride[k];
      }
    }
  }
  while (fuse_one(box.axes)) {
  }
  std::ranges::stable_sort(box.axes, [](const Axis& a, const Axis& b) {
    // A table's steps are uneven: it stays outside.
    return std::pair(a.table >= 0, a.stride[kDst]) > std::pair(b.table >= 0, b.stride[kDst]);
  });
}

}  // namespace relayout
