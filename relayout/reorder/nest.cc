// Simplification of boxes, and images of their blocks.
#include "relayout/reorder/nest.h"

#include <algorithm>
#include <numeric>
#include <span>
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
  // The steps of a table are uneven, so axes with tables are sorted last and stay outermost.
  sort_few(axes, [](const Axis& a) { return std::pair(a.table >= 0, a.stride[kDst]); });
  // An axis can only continue an axis of a smaller destination stride. That axis is complete by then, as the axes are
  // sorted by destination stride, so one pass joins all.
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

std::optional<BlockImage> image_of_block(const BoxPlan& box, int64_t rows, int64_t cols) {
  BlockImage out;
  const auto take = [&](const Axes& axes, int64_t block) {
    if (axes.size() > kMaxImageAxes) return false;
    for (std::size_t i = 0; i < axes.size() && block > 1; ++i) {
      const Axis& axis = axes[i];
      const int64_t extent = std::min(axis.extent, block);
      const bool cut = extent < axis.extent && i + 1 < axes.size() && axis.extent % extent != 0;
      if (axis.table >= 0 || axis.stride[kDst] <= 0 || block % extent != 0 || cut) return false;
      if (extent > 1) out.steps[static_cast<std::size_t>(out.all_steps++)] = {extent, axis.stride[kDst], 0};
      block /= extent;
    }
    return true;
  };
  if (!take(box.rows, rows)) return {};
  out.row_steps = out.all_steps;
  if (!take(box.cols, cols)) return {};
  const auto order = std::span(out.by_distance).first(static_cast<std::size_t>(out.all_steps));
  std::iota(order.begin(), order.end(), int8_t{0});
  const auto step = [&](int8_t i) -> BlockImage::Step& { return out.steps[static_cast<std::size_t>(i)]; };
  std::ranges::sort(order, {}, [&](int8_t i) { return step(i).dst; });
  out.run_bytes = box.piece[kDst];
  int64_t next = 0;
  for (const int8_t i : order) {
    BlockImage::Step& s = step(i);
    if (next == 0 && s.dst == out.run_bytes) {
      s.image = out.run_bytes;
      out.run_bytes *= s.extent;
      ++out.in_run;
    } else {
      if (next == 0) next = out.run_bytes + kImageSkew;
      s.image = next;
      next *= s.extent;
      out.runs *= s.extent;
    }
  }
  return out;
}

}  // namespace relayout
